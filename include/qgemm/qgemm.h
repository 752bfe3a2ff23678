/**
 * @file qgemm.h
 * libqgemm: fast products of quantized matrices, exact to the bit.
 *
 * A quantized matrix has bytes for elements; the byte x stands for the number scale * (x - zero_point). libqgemm sums
 * products of such bytes exactly, modulo 2 to the 32, and passes the sums through any stages, down to bytes again or to
 * floats: qgemm_gemm(). Results are the same, byte for byte, on every processor and for any number of threads, and those
 * of gemmlowp wherever gemmlowp has such stages. qgemm_eight_bit_int_gemm_u8() is for those who come from its
 * EightBitIntGemm.
 *
 * A whole program, which prints "29 32" and "70 77":
 *
 * @code{.c}
 * #include <qgemm/qgemm.h>
 * #include <stdio.h>
 *
 * int main(void)
 * {
 *     const uint8_t a[] = {11, 12, 13, 14, 15, 16};  // 2 x 3, row-major, zero point 10
 *     const int8_t b[] = {7, 8, 9, 10, 11, 12};      // 3 x 2, row-major, zero point 0
 *     uint8_t c[4];                                  // 2 x 2, row-major: (a - 10) * b / 2
 *
 *     qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
 *     lhs.data = a, lhs.rows = 2, lhs.cols = 3, lhs.type = QGEMM_TYPE_U8, lhs.offset.value = -10;
 *     rhs.data = b, rhs.rows = 3, rhs.cols = 2, rhs.type = QGEMM_TYPE_S8;
 *     qgemm_result result = QGEMM_RESULT_INIT;
 *     result.data = c, result.rows = 2, result.cols = 2, result.type = QGEMM_TYPE_U8;
 *     const qgemm_stage stages[] = {
 *         {.kind = QGEMM_STAGE_SCALE, .u.scale.multiplier.value = 1 << 30},  // 2^30 / 2^31 is 1/2
 *         {.kind = QGEMM_STAGE_CAST_SATURATING},
 *     };
 *     qgemm_status status = qgemm_gemm(NULL, &lhs, &rhs, &result, stages, 2, NULL);
 *     if (status != QGEMM_STATUS_OK)
 *         return fprintf(stderr, "%s: %s\n", qgemm_status_message(status), qgemm_last_error()), 1;
 *     printf("%d %d\n%d %d\n", c[0], c[1], c[2], c[3]);
 *     return 0;
 * }
 * @endcode
 *
 *     cc program.c $(pkg-config --cflags --libs qgemm)
 *
 * or, in CMake, find_package(qgemm) and link to qgemm::qgemm, or to qgemm::static for the static library.
 *
 * **Sizes** are m, n and k: lhs is m x k, rhs is k x n, and the result is m x n. Each may be 0.
 *
 * **Storage.** A matrix is row-major (the elements of a row are contiguous) or column-major (those of a column are).
 * **Strides** count elements, not bytes: from the start of one row to the start of the next, or of one
 * column to the next. They may be longer than a row or column; what lies in the gaps is neither read nor written.
 *
 * **Offsets** are added to elements. For a matrix with a zero point pass its negative: -128 for zero point 128.
 *
 * **Structs** that begin with struct_size may grow in later versions. Begin with their QGEMM_..._INIT, or set all to zero
 * and struct_size to the sizeof; what an older program does not know counts as zero.
 *
 * **Errors.** A function that can fail returns a qgemm_status. Arguments are checked before any memory is touched, so a
 * call that fails leaves its result as it was (QGEMM_STATUS_INTERNAL excepted). qgemm_status_message() says in a few
 * words what a status means, qgemm_last_error() which argument of this thread's last failed call was wrong, and how.
 * Wrong sizes, strides and null pointers never end the process; a pointer that reaches less far than it says may.
 *
 * **Threads.** Every function may be called by any thread at any time, also by several at once. A product runs on the
 * thread that calls it, and on no other unless qgemm_set_max_num_threads() or the call's context allows more.
 *
 * **Environment.** QGEMM_ISA names a kernel to use in place of the best: see qgemm_kernel_name(). QGEMM_VERBOSE=1 prints a
 * line of CSV to stdout for each product: function, kernel, threads that it may use, sizes, types and orders (and how many
 * bits count, if not all), stages, time. QGEMM_A5B7 is about the setting of that name.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef QGEMM_QGEMM_H
#define QGEMM_QGEMM_H

/* Rendered from src/capi/ by cbindgen: QGEMM_BLESS=1 cargo test --test header */

#include <stddef.h>
#include <stdint.h>

/** The version of this header. That of the library is qgemm_version(). */
#define QGEMM_VERSION "0.1.0"
/** The first number of QGEMM_VERSION. */
#define QGEMM_VERSION_MAJOR 0
/** The second number of QGEMM_VERSION. */
#define QGEMM_VERSION_MINOR 1
/** The third number of QGEMM_VERSION. */
#define QGEMM_VERSION_PATCH 0

/** Lets the compiler warn where a returned status is ignored. Define it empty before the #include to have no warnings. */
#ifndef QGEMM_NODISCARD
#if defined(__cplusplus) && __cplusplus >= 201703L
#define QGEMM_NODISCARD [[nodiscard]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L
#define QGEMM_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define QGEMM_NODISCARD __attribute__((warn_unused_result))
#else
#define QGEMM_NODISCARD
#endif
#endif

/** A null pointer, as the language likes it. */
#ifdef __cplusplus
#define QGEMM_NULL nullptr
#else
#define QGEMM_NULL NULL
#endif

/** For a qgemm_operand to begin with: no elements, all offsets 0. */
#define QGEMM_OPERAND_INIT {sizeof(qgemm_operand), QGEMM_NULL, QGEMM_NULL, 0, 0, 0, 0, 0, {QGEMM_NULL, 0, 0, 0}, 0, 0}
/** For a qgemm_result to begin with: no elements. */
#define QGEMM_RESULT_INIT {sizeof(qgemm_result), QGEMM_NULL, 0, 0, 0, 0, 0}
/** For a qgemm_gemm_options to begin with: no options. */
#define QGEMM_GEMM_OPTIONS_INIT {sizeof(qgemm_gemm_options), 0, 0, QGEMM_NULL, 0, QGEMM_NULL}
/** For a qgemm_bit_depth to begin with: all 8 bits of both sides. */
#define QGEMM_BIT_DEPTH_INIT {sizeof(qgemm_bit_depth), 0, 0, 0, 0, 0, 0, 0}
/** For a qgemm_layer to begin with: no weights. */
#define QGEMM_LAYER_INIT {sizeof(qgemm_layer), QGEMM_NULL, QGEMM_NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, QGEMM_NULL, \
                          QGEMM_NULL, QGEMM_NULL, 0}
/** For a qgemm_context_options to begin with: one thread, the calling one. */
#define QGEMM_CONTEXT_OPTIONS_INIT {sizeof(qgemm_context_options), 1, 0, QGEMM_NULL, QGEMM_NULL}
/** For a qgemm_add_options to begin with: as TFLite. Type and scales are to be set. */
#define QGEMM_ADD_OPTIONS_INIT {sizeof(qgemm_add_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/** For a qgemm_conv_desc to begin with: 1 x 1, one pixel at a time, no padding, one group. Channels and types are to be set. */
#define QGEMM_CONV_DESC_INIT {sizeof(qgemm_conv_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/** For a qgemm_conv_images to begin with: no images. */
#define QGEMM_CONV_IMAGES_INIT {sizeof(qgemm_conv_images), 0, 0, 0}
/** For a qgemm_pack_options to begin with: for row-major results, into memory of the library's. The side is to be set. */
#define QGEMM_PACK_OPTIONS_INIT {sizeof(qgemm_pack_options), 0, 0, 0, 0, QGEMM_NULL, 0, 0, QGEMM_NULL, QGEMM_NULL}
/** For a qgemm_quantization to begin with. The type and the scales are to be set. */
#define QGEMM_QUANTIZATION_INIT {sizeof(qgemm_quantization), 0, 0, QGEMM_NULL, QGEMM_NULL, 0, 0}
/** For a qgemm_requantization to begin with. Types and multipliers are to be set. */
#define QGEMM_REQUANTIZATION_INIT \
    {sizeof(qgemm_requantization), 0, 0, 0, 0, QGEMM_NULL, QGEMM_NULL, QGEMM_NULL, QGEMM_NULL, QGEMM_NULL, 0, 0}
/** For a qgemm_floats to begin with: no elements. The side is to be set. */
#define QGEMM_FLOATS_INIT {sizeof(qgemm_floats), QGEMM_NULL, 0, 0, 0, 0, 0}
/** For a qgemm_line_quantization to begin with. The type is to be set, and where scales and offsets go. */
#define QGEMM_LINE_QUANTIZATION_INIT {sizeof(qgemm_line_quantization), 0, 0, 0, 0, 0, 0, QGEMM_NULL, QGEMM_NULL}

/** Element type: 0 to 255. */
#define QGEMM_TYPE_U8 1

/** Element type: -128 to 127, two's complement. */
#define QGEMM_TYPE_S8 2

/** Element type: -32768 to 32767, two's complement. */
#define QGEMM_TYPE_S16 3

/** Element type: a 32-bit integer, two's complement. */
#define QGEMM_TYPE_S32 4

/** Element type: a float of 32 bits. */
#define QGEMM_TYPE_F32 5

/** Element type: bf16, the upper 16 bits of a float of 32. */
#define QGEMM_TYPE_BF16 6

/** Element type: a float of 16 bits, IEEE's binary16. */
#define QGEMM_TYPE_F16 7

/** Storage order: the elements of a row are contiguous. */
#define QGEMM_ROW_MAJOR 0

/** Storage order: the elements of a column are contiguous. */
#define QGEMM_COL_MAJOR 1

/** Axis of a parameter: one value for all. */
#define QGEMM_UNIFORM 0

/** Axis of a parameter: data[i] for row i. gemmlowp's VectorShape Col. */
#define QGEMM_PER_ROW 1

/** Axis of a parameter: data[j] for column j. gemmlowp's VectorShape Row. */
#define QGEMM_PER_COL 2

/** Axis of a tensor that a stage reads, and of nothing else: an element for each of the result's. */
#define QGEMM_PER_ELEMENT 3

/** Stage: adds u.bias.bias to integers, wrapping around. gemmlowp's OutputStageBiasAddition. */
#define QGEMM_STAGE_BIAS 1

/**
 * Stage: (x + offset) * multiplier / 2^shift by u.quantize_down, rounded to nearest, ties away from zero; sum and product
 * wrap around. gemmlowp's OutputStageQuantizeDownInt32ToUint8Scale.
 */
#define QGEMM_STAGE_QUANTIZE_DOWN 2

/**
 * Stage: x * multiplier / 2^31 * 2^exponent + offset_after by u.scale. gemmlowp's
 * OutputStageScaleInt32ByFixedPointAndExponent; with minus the shift for an exponent its
 * OutputStageQuantizeDownInt32ByFixedPoint.
 */
#define QGEMM_STAGE_SCALE 3

/** Stage: confines integers to u.clamp.min and u.clamp.max; to max where min is greater. gemmlowp's OutputStageClamp. */
#define QGEMM_STAGE_CLAMP 4

/** Stage: zero + amplitude * tanh((x - zero) / amplitude) by u.tanh, in fixed point. gemmlowp's OutputStageTanh. */
#define QGEMM_STAGE_TANH 5

/**
 * Stage: result_zero + result_amplitude * logistic((x - zero) / amplitude) by u.logistic, in fixed point, where
 * logistic(t) is 1 / (1 + exp(-t)).
 */
#define QGEMM_STAGE_LOGISTIC 6

/** Stage: rounds (float)x * scale to an integer, ties to even, saturating, and adds offset_after, by u.scale_f32. */
#define QGEMM_STAGE_SCALE_F32 7

/** Stage: adds another quantized tensor to integers: x + scaled(r - zero_point), by u.residual. */
#define QGEMM_STAGE_RESIDUAL 8

/** Stage: integers become floats: (float)x * scale, each step rounded to nearest, ties to even, by u.dequantize. */
#define QGEMM_STAGE_DEQUANTIZE 9

/** Stage: adds u.bias_f32.bias to floats. */
#define QGEMM_STAGE_BIAS_F32 10

/** Stage: confines floats to u.clamp_f32.min and u.clamp_f32.max; to max where min is greater. */
#define QGEMM_STAGE_CLAMP_F32 11

/** Stage: adds another tensor to floats: x + (float)(r - zero_point) * scale, by u.residual_f32. */
#define QGEMM_STAGE_RESIDUAL_F32 12

/** Stage: floats become integers: x * scale rounded, ties to even, saturating, plus zero_point, by u.quantize. */
#define QGEMM_STAGE_QUANTIZE 13

/** Stage, the last: integers become those of the result's type, u8, s8 or s16; out of range, the nearest in range. */
#define QGEMM_STAGE_CAST_SATURATING 14

/** Stage, the last: integers become those of the result's type, u8, s8 or s16, by their low bits. */
#define QGEMM_STAGE_CAST_TRUNCATING 15

/**
 * Stage: floats times u.multiply_f32.scale. With a scale per row here and one per column in the DEQUANTIZE before it, both
 * sides have scales of their own.
 */
#define QGEMM_STAGE_MULTIPLY_F32 16

/**
 * Stage: a function of floats, by u.activation_f32. Each result is the exact one, rounded to nearest after an error of at
 * most 0.01 units in the last place; the same bits on every processor.
 */
#define QGEMM_STAGE_ACTIVATION_F32 17

/**
 * Stage: floats x become x + y, x - y, x * y, x / y, or the lesser or the greater of both, where
 * y = (float)(r - zero_point) * scale, r being another tensor, by u.binary_f32.
 */
#define QGEMM_STAGE_BINARY_F32 18

/**
 * Stage: floats become integers: x * scale + (float)zero_point, each step rounded to 32 bits, then rounded to an integer,
 * ties to even, saturating, by u.quantize_zero_first. As oneDNN's compiled kernels, scale being one over the result's; its
 * reference divides by the scale of the result instead: to do so, have a BINARY_F32 with QGEMM_BINARY_DIV before this, and
 * a scale of 1 here. QUANTIZE adds the zero point after rounding: the results differ, by 1, only where x * scale ends in a
 * half, or so near to one that the sum with the zero point rounds to it.
 */
#define QGEMM_STAGE_QUANTIZE_ZERO_FIRST 19

/** Stage: integers, confined to those of 8 bits, become the table's entries of u.table. */
#define QGEMM_STAGE_TABLE 20

/** Operation: x + y. */
#define QGEMM_BINARY_ADD 1

/** Operation: x - y. */
#define QGEMM_BINARY_SUB 2

/** Operation: x * y. */
#define QGEMM_BINARY_MUL 3

/** Operation: x / y. */
#define QGEMM_BINARY_DIV 4

/** Operation: y if it is less than x, else x; so x if y is NaN. */
#define QGEMM_BINARY_MIN 5

/** Operation: y if it is greater than x, else x; so x if y is NaN. */
#define QGEMM_BINARY_MAX 6

/**
 * Rounding: twice, as gemmlowp and TFLite's reference do. x, shifted left by a positive exponent (saturating), is multiplied
 * to the upper half of a 64-bit product, doubled, rounded to nearest with ties up; then divided by a power of two for a
 * negative exponent, rounded to nearest with ties away from zero.
 */
#define QGEMM_ROUND_TWICE 0

/** Rounding: as QGEMM_ROUND_TWICE, but the ties of the division go up: ruy on x86, TFLite's NEON kernels. */
#define QGEMM_ROUND_TWICE_UP 1

/**
 * Rounding: once, to nearest, ties up: (x * multiplier + 2^(30 - exponent)) >> (31 - exponent) in 64 bits, saturated.
 * TFLite's single rounding, ruy on Arm.
 */
#define QGEMM_ROUND_ONCE 2

/** Function: max(x, 0), and where alpha is not 0, alpha * x below 0 (leaky). */
#define QGEMM_FUNCTION_RELU 1

/** Function: tanh(x). */
#define QGEMM_FUNCTION_TANH 2

/** Function: 1 / (1 + exp(-x)), the sigmoid. */
#define QGEMM_FUNCTION_LOGISTIC 3

/** Function: x / 2 * (1 + erf(x / sqrt(2))). */
#define QGEMM_FUNCTION_GELU_ERF 4

/** Function: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))). */
#define QGEMM_FUNCTION_GELU_TANH 5

/** Function: x / (1 + exp(-alpha * x)); alpha is 1 for SiLU. */
#define QGEMM_FUNCTION_SWISH 6

/** Function: x * min(max(alpha * x + beta, 0), 1); alpha is 1/6 and beta 1/2 in MobileNet. */
#define QGEMM_FUNCTION_HARDSWISH 7

/** Function: min(max(alpha * x + beta, 0), 1). */
#define QGEMM_FUNCTION_HARDSIGMOID 8

/** Function: x, and below 0 alpha * (exp(x) - 1). */
#define QGEMM_FUNCTION_ELU 9

/** Function: exp(x). */
#define QGEMM_FUNCTION_EXP 10

/** Function: x * tanh(ln(1 + exp(x))). */
#define QGEMM_FUNCTION_MISH 11

/** Function: alpha * x + beta. */
#define QGEMM_FUNCTION_LINEAR 12

/** Function: min(max(x, alpha), beta). */
#define QGEMM_FUNCTION_CLIP 13

/** Rounding to fewer bits: to nearest. */
#define QGEMM_REQUANTIZE_NEAREST 1

/** Rounding to fewer bits: up or down, without bias, by a generator of shifts and exclusive ors. */
#define QGEMM_REQUANTIZE_XORSHIFT 2

/** Rounding to fewer bits: up or down, without bias, by a generator of additions modulo 255. */
#define QGEMM_REQUANTIZE_ADD_MOD 3

/**
 * Rounding to fewer bits: to nearest, and what that adds to the means of rows of lhs and columns of rhs is taken off the
 * sums again. As a rule the most accurate, at any depth.
 */
#define QGEMM_REQUANTIZE_COMPENSATED 4

/** Flag of a bit depth: requantize also products that are too small, or too flat, for it to pay. */
#define QGEMM_REQUANTIZE_ALWAYS 1

/**
 * Flag of a product: fail with QGEMM_STATUS_OVERFLOW where a sum could leave 32 bits, instead of wrapping around. Judged
 * before anything is computed, by the depth, the types or the ranges that were promised, the offsets and, where an
 * operand is packed, its values.
 */
#define QGEMM_CHECK_OVERFLOW 1

/**
 * Flag of a product: fail with QGEMM_STATUS_RANGE where an element is less than its operand's least or greater than its
 * greatest. All elements are looked at, those of packed operands having been so when they were packed, before anything
 * is computed.
 */
#define QGEMM_CHECK_RANGE 2

/**
 * Derivation of a multiplier: (double)lhs_scale * (double)rhs_scale / (double)result_scale, below 2 to the 30. As TFLite
 * and TFLite Micro, for each channel.
 */
#define QGEMM_DERIVE_TFLITE 0

/**
 * Derivation of a multiplier: (double)(lhs_scale * rhs_scale) / (double)result_scale, the product in float, below 2 to
 * the 30. As TFLite's older kernels, for whole tensors of unsigned bytes.
 */
#define QGEMM_DERIVE_TFLITE_LEGACY 1

/** Derivation of a multiplier: lhs_scale * rhs_scale / result_scale in float, from 2 to the -32 to below 256. As XNNPACK. */
#define QGEMM_DERIVE_XNNPACK 2

/**
 * Derivation of a multiplier: lhs_scale * rhs_scale / result_scale in float, from 2 to the -32 to below 1. As QNNPACK, and
 * the example in gemmlowp's documentation.
 */
#define QGEMM_DERIVE_QNNPACK 3

/** Requantization by ranges: in double, rounded once, to nearest, ties to even. Off by no more than 0.501 codes. */
#define QGEMM_RANGES_EXACT 0

/**
 * Requantization by ranges: TensorFlow's Requantize, in fixed point of 64 bits; the result's range stays as it is, though
 * no code may stand for 0. Where TensorFlow's products overflow, these do not.
 */
#define QGEMM_RANGES_TENSORFLOW 1

/**
 * Requantization by ranges: nnlib's Requantize_32to8, in fixed point of 32 bits, ties up; in double where the codes of the
 * result are nearer to each other than those of the sums. The range of the sums has to be symmetric.
 */
#define QGEMM_RANGES_NNLIB 2

/**
 * Addition as TFLite's reference: ADD and SUB of u8 and s8 (which it shifts to the left by 20 first) and of s16 (by 15, zero
 * points 0). Each of three products with a fixed-point number is rounded twice: ties up, and then ties away from zero.
 */
#define QGEMM_ADD_TFLITE 0

/** Addition as TFLite does it where it was built for single rounding: each product is rounded once, ties up. */
#define QGEMM_ADD_TFLITE_SINGLE 1

/**
 * Addition as XNNPACK, of u8 and s8: multipliers of 21 bits, the sum rounded once, ties up. a_scale / c_scale and b_scale /
 * c_scale are 2^-10 to just below 256.
 */
#define QGEMM_ADD_XNNPACK 2

/**
 * Addition as QNNPACK, of u8 and s8: multipliers of 22 bits, the sum rounded once, ties away from zero. a_scale / c_scale
 * and b_scale / c_scale are 2^-14 to just below 256, the greater of them at least 2^-10.
 */
#define QGEMM_ADD_QNNPACK 3

/**
 * Addition in float, the sum rounded once, ties to even:
 * (a - a_zero_point) * (a_scale / c_scale) + (b - b_zero_point) * (b_scale / c_scale). The quotients are below 2^64.
 */
#define QGEMM_ADD_F32 4

/** Flag of an addition: b is subtracted. In TFLite's modes its multiplier becomes negative, as in TFLite's SUB. */
#define QGEMM_ADD_SUBTRACT 1

/**
 * Sums of 32 bits: nnlib's QuantizedAdd_8p8to32, integers only. The tensor whose codes are farther apart is multiplied by
 * 0x7F80, the other by as much less, rounded; max is 2^31 / 0x7F80 of the greater distance. Off by no more than 0.01 codes
 * of that tensor; 128 such sums may be added up. 0 has to be in both ranges.
 */
#define QGEMM_ADD32_NNLIB 0

/**
 * Sums of 32 bits: nnlib's QuantizedBiasAdd_8p8to32, in float, rounded to nearest; max is 2^17 times the greatest
 * magnitude in the ranges, as with the next. 0 has to be in both ranges.
 */
#define QGEMM_ADD32_NNLIB_BIAS 1

/**
 * Sums of 32 bits: TensorFlow's QuantizedBiasAdd, and the template QuantizedAdd in its quantization_utils.h. Every code is
 * requantized by itself, and what stands for 0, which is 0 or -1, is added. Off by up to 4.
 */
#define QGEMM_ADD32_TENSORFLOW_HELPER 2

/**
 * Sums of 32 bits: TensorFlow's operation QuantizedAdd; max is 2^14 times the greatest magnitude. Off by up to 0.41 codes of
 * a tensor.
 */
#define QGEMM_ADD32_TENSORFLOW_OPERATION 3

/** Sums of 32 bits: max is 2^17 times the greatest magnitude, and the sum is rounded once, to nearest, ties to even. */
#define QGEMM_ADD32_EXACT 4

/** Codes of 8 bits: in double, rounded once, to nearest, ties to even. */
#define QGEMM_ADD8_EXACT 0

/**
 * Codes of 8 bits: nnlib's QuantizedAdd_8p8to8 for tensors of the same shape, in multipliers of 14 bits. Off by some 0.55
 * codes where the range is as wide as a's and b's together, and by 0.08 of how many times narrower it is.
 */
#define QGEMM_ADD8_NNLIB_FLAT 1

/**
 * Codes of 8 bits: the QuantizedAdd_8p8to8 that nnlib had before, in a multiplier of 7 bits and a fraction, without its
 * overflows. It truncates them: with g for the width of the narrower of a's and b's ranges, of that of the result's, it is
 * off by less than 1 + 3 * g + 1 / (128 * g) codes, as a rule by less than 2.
 */
#define QGEMM_ADD8_NNLIB_SPEC 2

/** Flag of a guess: its min stays, and what is less becomes the least code. */
#define QGEMM_ADD8_FIXED_MIN 1

/** Flag of a guess: its max stays, and what is greater becomes the greatest code. */
#define QGEMM_ADD8_FIXED_MAX 2

/** Quantizing: x / scale, rounded to float, and then to the nearest integer, ties to even. As ONNX's QuantizeLinear. */
#define QGEMM_QUANTIZE_DIVIDE 0

/** Quantizing: x * (1 / scale), both rounded to float, and then to the nearest integer, ties to even. */
#define QGEMM_QUANTIZE_MULTIPLY 1

/** Quantizing: x / scale, rounded to float, and then to the nearest integer, ties away from zero. As TFLite's Quantize. */
#define QGEMM_QUANTIZE_DIVIDE_AWAY 2

/** Requantizing: in fixed point, by multipliers and exponents, rounded as QGEMM_ROUND_TWICE says. As TFLite's reference. */
#define QGEMM_REQUANTIZE_TWICE 0

/** Requantizing: in fixed point, by multipliers and exponents, rounded as QGEMM_ROUND_TWICE_UP says. */
#define QGEMM_REQUANTIZE_TWICE_UP 1

/** Requantizing: in fixed point, by multipliers and exponents, rounded as QGEMM_ROUND_ONCE says. */
#define QGEMM_REQUANTIZE_ONCE 2

/**
 * Requantizing: x as a float times a scale, each rounded, and then to the nearest integer, ties to even; then the zero point.
 * As XNNPACK, FBGEMM and ONNX Runtime.
 */
#define QGEMM_REQUANTIZE_F32 3

/**
 * Requantizing: x as a float times a scale, plus the zero point, each rounded, and then to the nearest integer, ties to even.
 * As oneDNN.
 */
#define QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST 4

/**
 * Scheme: the integers stand for all from the least real number to the greatest, widened to include 0, as
 * qgemm_choose_quantization() has it.
 */
#define QGEMM_SCHEME_AFFINE 0

/**
 * Scheme: the zero point is 0, of unsigned integers the middle, (least + greatest + 1) / 2 rounded down; the scale is the
 * greatest magnitude of the real numbers divided by (greatest - zero point), in float: max|x| / 127.
 */
#define QGEMM_SCHEME_SYMMETRIC 1

/**
 * Scheme: the scale as with QGEMM_SCHEME_AFFINE; the zero point is least - min / scale in float, rounded to nearest, ties to even.
 * With type QGEMM_TYPE_U8 and QGEMM_QUANTIZE_DIVIDE that is ONNX's DynamicQuantizeLinear.
 */
#define QGEMM_SCHEME_DYNAMIC_LINEAR 2

/** How many entries a table has: entry b is for the element whose byte is b, so that of -1, as of 255, is the last. */
#define QGEMM_TABLE_SIZE 256

/** Side of a product: the left-hand matrix. */
#define QGEMM_LHS 1

/** Side of a product: the right-hand matrix. */
#define QGEMM_RHS 2

/** The caller's memory for packed operands, and files of them that are mapped, must begin at a multiple of this. */
#define QGEMM_PACKED_ALIGNMENT 64

/** Scheme: scales and offsets are given, and not found. */
#define QGEMM_SCHEME_GIVEN 3

/** How many bytes a saved plan has. */
#define QGEMM_CONV_PLAN_SIZE 148

/** Bit depth setting: both operands with all their 8 bits, exact. */
#define QGEMM_A8B8 0

/**
 * Bit depth setting: a with 7 bits, b with 5, rounded as qgemm_bit_depth says, with all its defaults; so products with
 * 2 * m * n < 100 * (m + n) stay exact.
 *
 * The name says it the other way round: gemmlowp once computed b by a, and when it turned that around it did not rename
 * the setting. Since 2017 gemmlowp computes A5B7 as A8B8. To have that here, pass QGEMM_A8B8; or, where the program
 * cannot be changed, set the environment variable QGEMM_A5B7 to "exact" before its first product.
 */
#define QGEMM_A5B7 1

/**
 * What became of a call. Whatever is not QGEMM_STATUS_OK left the result untouched, QGEMM_STATUS_INTERNAL excepted.
 *
 * Later versions may add values; none is ever renumbered.
 */
enum qgemm_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /** The result is complete. */
    QGEMM_STATUS_OK = 0,
    /** A pointer is null that must not be, such as that of a matrix with elements. */
    QGEMM_STATUS_NULL_POINTER = 1,
    /** A dimension is negative, or not that of the other matrices. */
    QGEMM_STATUS_SHAPE = 2,
    /** A stride is shorter than the line it steps over. */
    QGEMM_STATUS_STRIDE = 3,
    /** An element type that is none, or not possible there. */
    QGEMM_STATUS_TYPE = 4,
    /** A stage does not take what the one before it gives, or the result is not what the last one gives. */
    QGEMM_STATUS_STAGE_ORDER = 5,
    /** A shift is outside 0 to 31, or an exponent outside -31 to 30. */
    QGEMM_STATUS_SHIFT_RANGE = 6,
    /** A parameter has fewer values than there are rows or columns. */
    QGEMM_STATUS_VECTOR_LENGTH = 7,
    /** A matrix reaches beyond the address space. */
    QGEMM_STATUS_TOO_LARGE = 8,
    /** Memory for packing was not to be had. */
    QGEMM_STATUS_OUT_OF_MEMORY = 9,
    /** A struct_size is none that the struct ever had, or what lies beyond the known part is not 0. */
    QGEMM_STATUS_STRUCT_SIZE = 10,
    /** QGEMM_ISA names no kernel, or one that this processor does not run. */
    QGEMM_STATUS_UNSUPPORTED = 11,
    /** A defect of libqgemm itself. The result may be half written. */
    QGEMM_STATUS_INTERNAL = 12,
    /** A bit depth setting has no such value. */
    QGEMM_STATUS_BIT_DEPTH = 13,
    /** The result would be written over an input. */
    QGEMM_STATUS_OVERLAP = 14,
    /** A number of threads is negative. */
    QGEMM_STATUS_THREADS = 15,
    /** A pointer is not aligned as its elements have to be. */
    QGEMM_STATUS_ALIGNMENT = 16,
    /** A sum could leave 32 bits, and QGEMM_CHECK_OVERFLOW was asked for. */
    QGEMM_STATUS_OVERFLOW = 17,
    /** A parameter is out of its range. */
    QGEMM_STATUS_PARAMETER = 18,
    /** A workspace, or other memory of the caller's, is too small. */
    QGEMM_STATUS_WORKSPACE = 19,
    /** What should be a packed operand, or a plan, is none, or a damaged one. */
    QGEMM_STATUS_PACKED_DAMAGED = 20,
    /** An operand was packed for other kernels, another byte order, or another version of the format. */
    QGEMM_STATUS_PACKED_LAYOUT = 21,
    /** An option has no such value, or what is reserved is not 0. */
    QGEMM_STATUS_OPTION = 22,
    /**
     * An element is outside of the range that was promised, and QGEMM_CHECK_RANGE was asked for; or
     *    it does not fit the bits that it is to be packed in.
     */
    QGEMM_STATUS_RANGE = 23,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum qgemm_status qgemm_status;
#else
typedef int32_t qgemm_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Threads and scratch memory for products, which last from call to call. Made by qgemm_context_create(), freed by
 * qgemm_context_free().
 *
 * Any number of threads may use one context at once. While its own threads have one product, others are computed by
 * the threads that call for them: where that is not wanted, let every caller have a context of its own.
 *
 * In a child of fork() a context computes every product on the calling thread alone, and never calls parallel_for. The
 * child may make contexts that do more.
 */
typedef struct qgemm_context qgemm_context;

/**
 * Where a filter lies on images of one size: made by qgemm_conv_plan_create() or qgemm_conv_plan_load(), freed by
 * qgemm_conv_plan_free().
 *
 * It knows neither images nor weights, and never changes: any number of threads may use it at once, for any images of its
 * size, with any weights of its filter.
 */
typedef struct qgemm_conv_plan qgemm_conv_plan;

/**
 * An operand as the kernels read it, packed once for many products: made by qgemm_pack() or qgemm_packed_load(), named
 * in qgemm_operand's field packed, freed by qgemm_packed_free().
 *
 * It keeps what it needs: the matrix that it was packed from may change or go. It never changes itself, so any number
 * of threads and products may use it at once. Results are the same, byte for byte, as with the matrix itself. Offsets
 * are not part of it: every product brings its own.
 *
 * It is one piece of memory, the packed form, which holds no addresses: qgemm_packed_bytes() gives it, to be written to
 * a file, and qgemm_packed_load() takes it back, from memory or a mapped file, without a copy. It is of use wherever
 * the kernel reads the same layout, the byte order is the same, and the version of the format; elsewhere it is refused
 * with QGEMM_STATUS_PACKED_LAYOUT. The portable form of qgemm_packed_save_portable() is the same on all machines, and
 * smaller; to load it is to pack it again, for the kernel at work.
 *
 * Both forms begin with the byte 0x89 and "QGEMM", say which version of the format they have, which is 3, and carry
 * checksums, so that whatever is truncated or damaged is refused with QGEMM_STATUS_PACKED_DAMAGED. Checksums are no
 * signatures: who forges a file chooses what numbers are multiplied, but never makes libqgemm touch other memory. A
 * later libqgemm may have another version of the format, and then refuses this one: keep the matrix too.
 */
typedef struct qgemm_packed qgemm_packed;

/**
 * A product or a convolution with all that is known of it before its elements are: checked and prepared once, by
 * qgemm_gemm_prepare() or qgemm_conv_prepare(), run as often as there are elements, by qgemm_prepared_run(), and freed by
 * qgemm_prepared_free(). For small ones that takes half the time of a call of qgemm_gemm() or qgemm_conv_run(), or less.
 *
 * It never changes: any number of threads may run it at once, unless it was given a workspace.
 */
typedef struct qgemm_prepared qgemm_prepared;

/** An integer parameter: one value, or one for each row or each column. All zeros are the value 0 for all. */
typedef struct qgemm_i32_values {
    /** The values, one for each row or column. Read only if axis is not QGEMM_UNIFORM. */
    const int32_t *data;
    /** How many values data has: at least as many as there are rows or columns; what lies beyond those is not read. */
    int64_t len;
    /** The value if axis is QGEMM_UNIFORM. */
    int32_t value;
    /** QGEMM_UNIFORM, QGEMM_PER_ROW or QGEMM_PER_COL. */
    uint32_t axis;
} qgemm_i32_values;

/**
 * One side of a product: lhs is m x k, rhs is k x n.
 *
 * Set all of it to zero with QGEMM_OPERAND_INIT first, then what matters.
 */
typedef struct qgemm_operand {
    /** sizeof(qgemm_operand). */
    size_t struct_size;
    /** The elements. May be NULL if there are none. */
    const void *data;
    /**
     * The elements in packed form, and data NULL; or NULL. Rows, cols and type may then be 0, or have to be what was packed;
     * stride and order do not matter.
     */
    const struct qgemm_packed *packed;
    /** How many rows, at least 0. */
    int64_t rows;
    /** How many columns, at least 0. */
    int64_t cols;
    /**
     * Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next; 0 for no gaps.
     * Less than the length of a row is allowed: rows then overlap.
     */
    int64_t stride;
    /** QGEMM_TYPE_U8 or QGEMM_TYPE_S8. */
    uint32_t type;
    /** QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR. */
    uint32_t order;
    /**
     * Added to every element before it is multiplied: minus the zero point. Of lhs uniform or per row, of rhs uniform or
     * per column.
     */
    struct qgemm_i32_values offset;
    /**
     * What no element is less than, if the caller promises that. If it and greatest are 0, nothing is promised.
     *
     * Products may count on what is promised, to be faster. Where an element breaks the promise, results may then be
     * wrong, but nothing worse happens; QGEMM_CHECK_RANGE makes it an error. Of a packed operand the range is known:
     * qgemm_pack() looks at the elements, and ignores the promise.
     */
    int32_t least;
    /** What no element is greater than: not less than least, and both among the numbers of the type. */
    int32_t greatest;
} qgemm_operand;

/**
 * The result of a product, m x n.
 *
 * Set all of it to zero with QGEMM_RESULT_INIT first, then what matters.
 */
typedef struct qgemm_result {
    /** sizeof(qgemm_result). */
    size_t struct_size;
    /** Where the elements go, aligned as their type has to be. May be NULL if there are none. */
    void *data;
    /** How many rows: as many as lhs. */
    int64_t rows;
    /** How many columns: as many as rhs. */
    int64_t cols;
    /**
     * Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next, at least the
     * length of one; 0 for no gaps.
     */
    int64_t stride;
    /** QGEMM_TYPE_U8, _S8, _S16, _S32, _F32, _BF16 or _F16. */
    uint32_t type;
    /** QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR. */
    uint32_t order;
} qgemm_result;

/** Parameters of QGEMM_STAGE_BIAS. */
typedef struct qgemm_stage_bias {
    /** What is added. */
    struct qgemm_i32_values bias;
} qgemm_stage_bias;

/** Parameters of QGEMM_STAGE_QUANTIZE_DOWN. */
typedef struct qgemm_stage_quantize_down {
    /** Added first. */
    struct qgemm_i32_values offset;
    /** What the sum is multiplied by. */
    struct qgemm_i32_values multiplier;
    /** Which power of two the product is divided by: 0 to 31. */
    struct qgemm_i32_values shift;
} qgemm_stage_quantize_down;

/** Parameters of QGEMM_STAGE_SCALE. */
typedef struct qgemm_stage_scale {
    /** A fraction of 2^31, usually at least 2^30: see qgemm_quantize_multiplier(). */
    struct qgemm_i32_values multiplier;
    /** The power of two that goes with it: -31 to 30. */
    struct qgemm_i32_values exponent;
    /** Added after rounding, wrapping around: the zero point of the result. */
    int32_t offset_after;
    /** QGEMM_ROUND_TWICE, QGEMM_ROUND_TWICE_UP or QGEMM_ROUND_ONCE. */
    uint32_t rounding;
} qgemm_stage_scale;

/** Parameters of QGEMM_STAGE_CLAMP. */
typedef struct qgemm_stage_clamp {
    /** The least integer that is left as it is. */
    int32_t min;
    /** The greatest. */
    int32_t max;
} qgemm_stage_clamp;

/** Parameters of QGEMM_STAGE_TANH. */
typedef struct qgemm_stage_tanh {
    /** The integer that stands for 0, before and after. */
    int32_t zero;
    /** By how much the integer that stands for 1 exceeds that: at least 0; zero plus and minus 8 times that fit 32 bits. */
    int32_t amplitude;
} qgemm_stage_tanh;

/** Parameters of QGEMM_STAGE_LOGISTIC. */
typedef struct qgemm_stage_logistic {
    /** The integer that stands for 0 before. */
    int32_t zero;
    /** By how much the integer that stands for 1 before exceeds that. */
    int32_t amplitude;
    /** The integer that stands for 0 after. */
    int32_t result_zero;
    /** By how much the integer that stands for 1 after exceeds that. */
    int32_t result_amplitude;
} qgemm_stage_logistic;

/** A parameter of floats: one value, or one for each row or each column. All zeros are the value 0 for all. */
typedef struct qgemm_f32_values {
    /** The values, one for each row or column. Read only if axis is not QGEMM_UNIFORM. */
    const float *data;
    /** How many values data has: at least as many as there are rows or columns; what lies beyond those is not read. */
    int64_t len;
    /** The value if axis is QGEMM_UNIFORM. */
    float value;
    /** QGEMM_UNIFORM, QGEMM_PER_ROW or QGEMM_PER_COL. */
    uint32_t axis;
} qgemm_f32_values;

/** Parameters of QGEMM_STAGE_SCALE_F32. */
typedef struct qgemm_stage_scale_f32 {
    /** What is multiplied by: finite. */
    struct qgemm_f32_values scale;
    /** Added after rounding, wrapping around: the zero point of the result. */
    int32_t offset_after;
} qgemm_stage_scale_f32;

/** Parameters of QGEMM_STAGE_RESIDUAL. */
typedef struct qgemm_stage_residual {
    /**
     * The elements r, as many rows and columns as the result. They may be those of the result itself, if order, stride and
     * size of an element are the same: then it is added to.
     */
    const void *data;
    /** Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next; 0 for no gaps. */
    int64_t stride;
    /** QGEMM_TYPE_U8, _S8, _S16 or _S32. */
    uint32_t type;
    /** QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR. */
    uint32_t order;
    /** Subtracted from every element, wrapping around. */
    int32_t zero_point;
    /** As that of QGEMM_STAGE_SCALE. */
    int32_t multiplier;
    /** As that of QGEMM_STAGE_SCALE. */
    int32_t exponent;
    /** As that of QGEMM_STAGE_SCALE. */
    uint32_t rounding;
} qgemm_stage_residual;

/** Parameters of QGEMM_STAGE_DEQUANTIZE. */
typedef struct qgemm_stage_dequantize {
    /** What is multiplied by, usually the product of both operands' scales: finite. */
    struct qgemm_f32_values scale;
} qgemm_stage_dequantize;

/** Parameters of QGEMM_STAGE_BIAS_F32. */
typedef struct qgemm_stage_bias_f32 {
    /** What is added: finite. */
    struct qgemm_f32_values bias;
} qgemm_stage_bias_f32;

/** Parameters of QGEMM_STAGE_CLAMP_F32. NaN stays NaN. */
typedef struct qgemm_stage_clamp_f32 {
    /** The least number that is left as it is; may be minus infinity, but not NaN. */
    float min;
    /** The greatest; may be infinity, but not NaN. */
    float max;
} qgemm_stage_clamp_f32;

/** Parameters of QGEMM_STAGE_RESIDUAL_F32. */
typedef struct qgemm_stage_residual_f32 {
    /** As that of QGEMM_STAGE_RESIDUAL. */
    const void *data;
    /** As that of QGEMM_STAGE_RESIDUAL. */
    int64_t stride;
    /** QGEMM_TYPE_U8, _S8, _S16, _S32, _F32, _BF16 or _F16. */
    uint32_t type;
    /** QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR. */
    uint32_t order;
    /** Subtracted from every element, wrapping around; 0 for floats. */
    int32_t zero_point;
    /** What the difference is multiplied by: finite. */
    float scale;
} qgemm_stage_residual_f32;

/** Parameters of QGEMM_STAGE_QUANTIZE. */
typedef struct qgemm_stage_quantize {
    /** What is multiplied by, usually one over the result's scale: finite. */
    struct qgemm_f32_values scale;
    /** Added after rounding, wrapping around. */
    int32_t zero_point;
} qgemm_stage_quantize;

/** Parameters of QGEMM_STAGE_MULTIPLY_F32. */
typedef struct qgemm_stage_multiply_f32 {
    /** What is multiplied by: finite. */
    struct qgemm_f32_values scale;
} qgemm_stage_multiply_f32;

/** Parameters of QGEMM_STAGE_ACTIVATION_F32. */
typedef struct qgemm_stage_activation_f32 {
    /** One of QGEMM_FUNCTION_RELU to QGEMM_FUNCTION_CLIP. */
    uint32_t function;
    /** As the function says; finite where it says so, and of QGEMM_FUNCTION_CLIP not NaN. Else not looked at. */
    float alpha;
    /** As alpha. */
    float beta;
} qgemm_stage_activation_f32;

/** Parameters of QGEMM_STAGE_BINARY_F32. */
typedef struct qgemm_stage_binary_f32 {
    /**
     * The elements r. With axis QGEMM_PER_ELEMENT as those of QGEMM_STAGE_RESIDUAL_F32; else one after the other, and none of
     * them in the result.
     */
    const void *data;
    /** As that of QGEMM_STAGE_RESIDUAL, with axis QGEMM_PER_ELEMENT; else not looked at. */
    int64_t stride;
    /** QGEMM_TYPE_U8, _S8, _S16, _S32, _F32, _BF16 or _F16. */
    uint32_t type;
    /** QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR, with axis QGEMM_PER_ELEMENT; else not looked at. */
    uint32_t order;
    /** Subtracted from every element, wrapping around; 0 for floats. */
    int32_t zero_point;
    /** What the difference is multiplied by: finite. */
    float scale;
    /** One of QGEMM_BINARY_ADD to QGEMM_BINARY_MAX. */
    uint32_t operation;
    /**
     * QGEMM_PER_ELEMENT; QGEMM_PER_ROW or QGEMM_PER_COL for as many elements as there are rows or columns; QGEMM_UNIFORM for
     * one.
     */
    uint32_t axis;
} qgemm_stage_binary_f32;

/** Parameters of QGEMM_STAGE_QUANTIZE_ZERO_FIRST. */
typedef struct qgemm_stage_quantize_zero_first {
    /** What is multiplied by, usually one over the result's scale: finite. */
    struct qgemm_f32_values scale;
    /** Added before rounding. */
    int32_t zero_point;
} qgemm_stage_quantize_zero_first;

/** Parameters of QGEMM_STAGE_TABLE. */
typedef struct qgemm_stage_table {
    /** 256 bytes: that of a number x is entries[(uint8_t)x]. */
    const void *entries;
    /** QGEMM_TYPE_U8 or QGEMM_TYPE_S8: which numbers are looked up. Others become the nearest of these. */
    uint32_t from_type;
    /** QGEMM_TYPE_U8 or QGEMM_TYPE_S8: what the entries are. */
    uint32_t to_type;
} qgemm_stage_table;

/** The parameters of a stage: those that its kind names. */
typedef union qgemm_stage_parameters {
    /** Of QGEMM_STAGE_BIAS. */
    struct qgemm_stage_bias bias;
    /** Of QGEMM_STAGE_QUANTIZE_DOWN. */
    struct qgemm_stage_quantize_down quantize_down;
    /** Of QGEMM_STAGE_SCALE. */
    struct qgemm_stage_scale scale;
    /** Of QGEMM_STAGE_CLAMP. */
    struct qgemm_stage_clamp clamp;
    /** Of QGEMM_STAGE_TANH. */
    struct qgemm_stage_tanh tanh;
    /** Of QGEMM_STAGE_LOGISTIC. */
    struct qgemm_stage_logistic logistic;
    /** Of QGEMM_STAGE_SCALE_F32. */
    struct qgemm_stage_scale_f32 scale_f32;
    /** Of QGEMM_STAGE_RESIDUAL. */
    struct qgemm_stage_residual residual;
    /** Of QGEMM_STAGE_DEQUANTIZE. */
    struct qgemm_stage_dequantize dequantize;
    /** Of QGEMM_STAGE_BIAS_F32. */
    struct qgemm_stage_bias_f32 bias_f32;
    /** Of QGEMM_STAGE_CLAMP_F32. */
    struct qgemm_stage_clamp_f32 clamp_f32;
    /** Of QGEMM_STAGE_RESIDUAL_F32. */
    struct qgemm_stage_residual_f32 residual_f32;
    /** Of QGEMM_STAGE_QUANTIZE. */
    struct qgemm_stage_quantize quantize;
    /** Of QGEMM_STAGE_MULTIPLY_F32. */
    struct qgemm_stage_multiply_f32 multiply_f32;
    /** Of QGEMM_STAGE_ACTIVATION_F32. */
    struct qgemm_stage_activation_f32 activation_f32;
    /** Of QGEMM_STAGE_BINARY_F32. */
    struct qgemm_stage_binary_f32 binary_f32;
    /** Of QGEMM_STAGE_QUANTIZE_ZERO_FIRST. */
    struct qgemm_stage_quantize_zero_first quantize_zero_first;
    /** Of QGEMM_STAGE_TABLE. */
    struct qgemm_stage_table table;
    /** Makes room for kinds to come. */
    uint64_t reserved[16];
} qgemm_stage_parameters;

/**
 * One step from sums to results: 136 bytes in every version.
 *
 * A pipeline starts with the sums, integers of 32 bits. Stages follow in any number and order, as long as each takes what the
 * one before it gives:
 *
 *   - integers to integers: BIAS, QUANTIZE_DOWN, SCALE, CLAMP, TANH, LOGISTIC, SCALE_F32, RESIDUAL, TABLE
 *   - integers to floats: DEQUANTIZE
 *   - floats to floats: BIAS_F32, CLAMP_F32, RESIDUAL_F32, MULTIPLY_F32, ACTIVATION_F32, BINARY_F32
 *   - floats to integers: QUANTIZE, QUANTIZE_ZERO_FIRST
 *   - integers to u8, s8 or s16: CAST_SATURATING, CAST_TRUNCATING, and then nothing more
 *
 * What the last one gives has to be the result's type; no stage at all gives QGEMM_TYPE_S32. Floats may become any of
 * QGEMM_TYPE_F32, QGEMM_TYPE_BF16 and QGEMM_TYPE_F16: these are rounded to nearest, ties to even.
 *
 * What oneDNN calls attributes are operands, options and stages here, and all of them are run-time arguments:
 *
 *   - zero points of source and weights: minus offset of qgemm_operand, for all or for each row of lhs and column of rhs;
 *     of groups along k: zero_points of qgemm_pack_options
 *   - scales of source and weights: DEQUANTIZE by their product where both are for whole tensors, or the weights' per
 *     channel, or DEQUANTIZE by the weights' per column and MULTIPLY_F32 by the source's per row; of groups along k: scales
 *     of qgemm_pack_options
 *   - bias s32: BIAS before DEQUANTIZE; bias f32: BIAS_F32; of other types: BINARY_F32 with QGEMM_PER_COL
 *   - eltwise: ACTIVATION_F32, and CLAMP_F32 for clip; linear is QGEMM_FUNCTION_LINEAR, or MULTIPLY_F32 and BIAS_F32
 *   - sum, with its scale and zero point: RESIDUAL_F32, from the result itself or any other place
 *   - binary: BINARY_F32, its tensor of the result's shape, or broadcast along rows, columns or both
 *   - scale and zero point of the destination: QUANTIZE_ZERO_FIRST, and CAST_SATURATING; for floats MULTIPLY_F32
 *   - rounding mode: to nearest, ties to even, whatever the thread's floating point environment is
 *   - dnnl_gemm_u8s8s32: qgemm_gemm_u8s8s32()
 *   - prelu, the fusion of a depthwise convolution, dropout, stochastic rounding, and scales of other types than f32 are not
 *     here
 *
 * Those post-ops are stages in the list's order.
 */
typedef struct qgemm_stage {
    /** Which stage: QGEMM_STAGE_BIAS to QGEMM_STAGE_TABLE. */
    uint32_t kind;
    /** 0. */
    uint32_t reserved;
    /** The parameters; only those of this kind are looked at. */
    union qgemm_stage_parameters u;
} qgemm_stage;

/**
 * How many bits of the elements count: gemmlowp's less-than-8-bit computation, as it was until 2017. All zeros, beside
 * the size, are 8 bits. gemmlowp's L7R5, which EightBitIntGemm called A5B7, is
 *
 *     qgemm_bit_depth l7r5 = QGEMM_BIT_DEPTH_INIT;
 *     l7r5.lhs_bits = 7, l7r5.rhs_bits = 5;
 *     options.bit_depth = &l7r5;
 *
 * An element x, seen as 0 to 255 (of type s8: x + 128), becomes q = (x * L + r) / 255, rounded down, where L = 2^bits - 1
 * is the greatest q. With all 8 bits q is x. What is added, r, rounds: 127 to nearest; 0 to 254, from a generator, to
 * either side, so that on average q * 255 / L is x. Sums are scaled back up in four terms, a and b being the offsets
 * (of type s8: less 128), and ~ a rounding to nearest:
 *
 *     sum(i,j) = ~(sum of lhs_q * rhs_q * 255 * 255 / (L * R)) + ~(b(j) * sum of lhs_q * 255 / L)
 *              + ~(a(i) * sum of rhs_q * 255 / R)              + k * a(i) * b(j)
 *
 * Elements 0 and 255, of type s8 -128 and 127, and offsets stay exact; other elements are off by less than 255 / L, to
 * nearest by no more than half of that. In deep sums the errors of elements average out, but to nearest only where the
 * elements differ: hence the threshold. Below it, with the default rounding, the sums are those of gemmlowp before 2017,
 * bit for bit; from there on gemmlowp's own depended on how it cut the matrices. The accuracy is measured by what lies in
 * benches/bit_depths: on a layer of GoogLeNet scaled down to u8 with L7R5, results are off by 1 in the median, and by no
 * more than 8.
 *
 * Nearest can be compensated: with X the sum of a row of lhs, offsets included, X' that of what it was rounded to, and
 * e = (X' - X) / k, and so Y, Y' and f of a column of rhs,
 *
 *     sum'(i,j) = sum(i,j) - ~(e(i) * (Y(j) + Y'(j)) / 2 + (X(i) + X'(i)) / 2 * f(j))
 *
 * in float: each of the four factors is rounded from double, the products and their sum by themselves, ~ ties to even. On that
 * layer results are then off by no more than 5, and from 8 x 4 bits on they meet gemmlowp's criteria; see benches/bit_depths,
 * which also shows why no threshold is right for all data.
 *
 * What r is depends on the side, the row or column and the depth alone, so that the bytes of the result do not depend
 * on kernel, threads, storage orders, or whether an operand is packed. A packed operand is unpacked first, block by
 * block: that is slower than the same operand as it lies.
 *
 * Products with 2 * m * n < 100 * (m + n) are computed with all 8 bits, as in gemmlowp: all by vectors, and squares of
 * less than 100. Sums that wrap around at 32 bits do so in each of the four terms; QGEMM_CHECK_OVERFLOW bounds all of
 * them together, by k * (255 + |a|) * (255 + |b|), whatever the elements of a packed operand are.
 */
typedef struct qgemm_bit_depth {
    /** sizeof(qgemm_bit_depth). */
    size_t struct_size;
    /** Bits of the elements of lhs: 1 to 8; 0 for all 8. */
    uint32_t lhs_bits;
    /** Bits of those of rhs. */
    uint32_t rhs_bits;
    /**
     * QGEMM_REQUANTIZE_NEAREST, _XORSHIFT, _ADD_MOD or _COMPENSATED for products of a depth k below the threshold; 0 for
     * _NEAREST.
     */
    uint32_t rounding_below;
    /** One of these for products from the threshold on; 0 for QGEMM_REQUANTIZE_ADD_MOD. */
    uint32_t rounding_from;
    /** A depth, at least 0; 0 for gemmlowp's, 384. */
    int64_t threshold;
    /** 0 or QGEMM_REQUANTIZE_ALWAYS. */
    uint32_t flags;
    /** 0. */
    uint32_t reserved;
} qgemm_bit_depth;

/**
 * What a product may be told beside its matrices.
 *
 * Set all of it to zero with QGEMM_GEMM_OPTIONS_INIT first, then what matters.
 */
typedef struct qgemm_gemm_options {
    /** sizeof(qgemm_gemm_options). */
    size_t struct_size;
    /** 0, or QGEMM_CHECK_OVERFLOW, QGEMM_CHECK_RANGE or both, added up. */
    uint32_t flags;
    /** 0. */
    uint32_t reserved;
    /** Memory for this call to work in, used by nobody else meanwhile; NULL for the context's own. */
    void *workspace;
    /**
     * Bytes of workspace, at least what qgemm_gemm_workspace_size() says; with a bit_depth, what
     * qgemm_gemm_workspace_size_with() says.
     */
    size_t workspace_size;
    /** How many bits of the elements count; NULL for all 8, exactly. */
    const struct qgemm_bit_depth *bit_depth;
} qgemm_gemm_options;

/**
 * A fully connected layer of a quantized network, as in Jacob et al., "Quantization and Training of Neural Networks for
 * Efficient Integer-Arithmetic-Only Inference" (2017), section 2.4.
 *
 * Set all of it to zero with QGEMM_LAYER_INIT first, then what matters.
 */
typedef struct qgemm_layer {
    /** sizeof(qgemm_layer). */
    size_t struct_size;
    /** units x depth elements, a row for each unit; or NULL if packed is given. May be NULL if there are none. */
    const void *weights;
    /**
     * The weights in packed form, as the rhs of a product: depth x units, that is, packed from these rows as
     * QGEMM_COL_MAJOR; without groups. NULL if weights is given.
     */
    const struct qgemm_packed *packed;
    /** How many results there are for each row of the input, at least 0. */
    int64_t units;
    /** How many elements a row of the input has, at least 0. */
    int64_t depth;
    /** Elements from the start of one row of weights to the next, at least 1; 0 for no gaps. Not looked at if packed. */
    int64_t weights_stride;
    /** QGEMM_TYPE_U8 or QGEMM_TYPE_S8; if packed, it may also be 0. */
    uint32_t weights_type;
    /** QGEMM_TYPE_U8 or QGEMM_TYPE_S8. */
    uint32_t input_type;
    /** QGEMM_TYPE_U8, QGEMM_TYPE_S8 or QGEMM_TYPE_S16. */
    uint32_t output_type;
    /**
     * QGEMM_ROUND_TWICE: as TFLite's reference kernels; QGEMM_ROUND_ONCE: as these with TFLITE_SINGLE_ROUNDING;
     * QGEMM_ROUND_TWICE_UP: as ruy on x86.
     */
    uint32_t rounding;
    /** The weight that stands for 0. */
    int32_t weights_zero_point;
    /** The element of the input that stands for 0. */
    int32_t input_zero_point;
    /** The result that stands for 0. */
    int32_t output_zero_point;
    /** The least result, one of output_type: where the activation function begins, as TFLite has it. */
    int32_t output_min;
    /** The greatest result, one of output_type and not less than output_min. */
    int32_t output_max;
    /** 0. */
    int32_t reserved;
    /** As many integers as there are units, of the scale of input times weights; NULL for 0. */
    const int32_t *bias;
    /**
     * As many multipliers as multiplier_count says, and each with its exponent: what brings the sums to the scale of the
     * output. See qgemm_multipliers_from_scales().
     */
    const int32_t *multipliers;
    /** -31 to 30. */
    const int32_t *exponents;
    /** 1 for all units, or one for each unit. */
    int64_t multiplier_count;
} qgemm_layer;

/**
 * The real numbers that the codes of a tensor are spread over, as TensorFlow and nnlib quantize: the least code stands for
 * min, the greatest for max, and code q of 0 to 255 for min + q * (max - min) / 255. If both are 0, every code stands
 * for 0. Elsewhere min is less than max, both are finite, and a float holds their difference.
 *
 * Sums of 32 bits are 2^32 codes, (max - min) / 2^32 apart, of which the one that is nearest to 0 stands for 0; if min
 * is -max, that is the code 0.
 */
typedef struct qgemm_range {
    /** What the least code stands for. */
    float min;
    /** What the greatest code stands for. */
    float max;
} qgemm_range;

/**
 * Two tensors to be added, and their sum, all of one type.
 *
 * Set all of it to zero with QGEMM_ADD_OPTIONS_INIT first, then what matters.
 */
typedef struct qgemm_add_options {
    /** sizeof(qgemm_add_options). */
    size_t struct_size;
    /** QGEMM_TYPE_U8, _S8 or _S16. */
    uint32_t type;
    /** QGEMM_ADD_TFLITE, _TFLITE_SINGLE, _XNNPACK, _QNNPACK or _F32. */
    uint32_t mode;
    /** What 1 in a stands for: above 0, finite and normal, as the other scales. */
    float a_scale;
    /** What in a stands for 0: a number of the type, as the other zero points; of type s16, 0 but with QGEMM_ADD_F32. */
    int32_t a_zero_point;
    /** What 1 in b stands for. */
    float b_scale;
    /** What in b stands for 0. */
    int32_t b_zero_point;
    /** What 1 in the sum stands for; in TFLite's modes more than the greater of the others / 2^19, of type s16 / 2^14. */
    float c_scale;
    /** What in the sum stands for 0. */
    int32_t c_zero_point;
    /** What the sum is confined to, an activation perhaps: numbers of the type. If both are 0, to the type. */
    int32_t c_least;
    /** Not less than c_least. */
    int32_t c_greatest;
    /** 0 or QGEMM_ADD_SUBTRACT. */
    uint32_t flags;
    /** 0. */
    uint32_t reserved;
} qgemm_add_options;

/** What qgemm_add_prepare() found. It holds no pointers, and may be copied and kept. */
typedef struct qgemm_add_parameters {
    /** As in qgemm_add_options. */
    uint32_t type;
    /** As in qgemm_add_options. */
    uint32_t mode;
    /** Of a, b and c. */
    int32_t zero_points[3];
    /**
     * In TFLite's modes those of a, b and the sum, fractions of 2^31; in QGEMM_ADD_F32 the bits of the floats for a and b;
     * else those of a and b, and what is added.
     */
    int32_t multipliers[3];
    /** How far the products with them are shifted to the right: 0 to 31. */
    int32_t shifts[3];
    /** What the sum is confined to. */
    int32_t least;
    /** What the sum is confined to. */
    int32_t greatest;
    /**
     * Which shorter formula gives the same for every pair of bytes, and for which of the parameters above that was found: with
     * others it does not count. 0 for none.
     */
    uint32_t form;
} qgemm_add_parameters;

/**
 * A tensor as outer * channels * inner contiguous elements: element (o, c, i) is number (o * channels + c) * inner + i.
 * Whatever axis of a tensor the channels are, outer is the product of the dimensions before it and inner that of those
 * after it. Parameters for a whole tensor: outer = 1, channels = 1, and inner the number of elements.
 *
 * This struct stays as it is.
 */
typedef struct qgemm_channels {
    /** At least 0. */
    int64_t outer;
    /** How many scales, zero points and so on there are: at least 1 if there are elements. */
    int64_t channels;
    /** At least 0. */
    int64_t inner;
} qgemm_channels;

/**
 * How integers stand for real numbers: (q - zero point) * scale, with those of their channel. Begin with
 * QGEMM_QUANTIZATION_INIT.
 */
typedef struct qgemm_quantization {
    /** sizeof(qgemm_quantization). */
    size_t struct_size;
    /** QGEMM_TYPE_U8, _S8 or _S16; to dequantize also QGEMM_TYPE_S32. */
    uint32_t type;
    /** How real numbers are rounded: QGEMM_QUANTIZE_DIVIDE, _MULTIPLY or _DIVIDE_AWAY. Only looked at by qgemm_quantize_f32(). */
    uint32_t rounding;
    /** A scale for each channel: finite, and at least FLT_MIN. */
    const float *scales;
    /** A zero point for each channel, each among the integers of the type; NULL for 0 everywhere. */
    const int32_t *zero_points;
    /** The least integer that may come of quantizing. If it and greatest are 0, all of the type may. -64 or 0 for 7 bits. */
    int32_t least;
    /** The greatest: more than least. 63 or 127 for 7 bits. */
    int32_t greatest;
} qgemm_quantization;

/** How integers become integers of another scale. Begin with QGEMM_REQUANTIZATION_INIT. */
typedef struct qgemm_requantization {
    /** sizeof(qgemm_requantization). */
    size_t struct_size;
    /** What is requantized: QGEMM_TYPE_U8, _S8, _S16 or _S32. */
    uint32_t from_type;
    /** What it becomes: QGEMM_TYPE_U8, _S8 or _S16. */
    uint32_t to_type;
    /** QGEMM_REQUANTIZE_TWICE to QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST. */
    uint32_t arithmetic;
    /** 0. */
    uint32_t reserved;
    /** For each channel what is subtracted first, wrapping around at 32 bits; NULL for 0 everywhere. */
    const int32_t *from_zero_points;
    /** For each channel what is added last, among the integers of to_type; NULL for 0 everywhere. */
    const int32_t *to_zero_points;
    /**
     * For arithmetic in fixed point: for each channel a multiplier, as of qgemm_quantize_multiplier() and
     * qgemm_multiplier_from_scales(), which with 1 for its rhs_scale derives the quotient of two scales.
     */
    const int32_t *multipliers;
    /** And an exponent, -31 to 30. */
    const int32_t *exponents;
    /**
     * For arithmetic in floats: for each channel what is multiplied by, the scale of from over that of to; finite and at least
     * FLT_MIN.
     */
    const float *scales;
    /** As in qgemm_quantization. */
    int32_t least;
    /** As in qgemm_quantization. */
    int32_t greatest;
} qgemm_requantization;

/** A function that a table is made of: of x, and of whatever user points at. */
typedef float (*qgemm_real_function)(float x, void *user);

/** Bytes and the real numbers that they stand for: (q - zero_point) * scale. This struct stays as it is. */
typedef struct qgemm_code {
    /** QGEMM_TYPE_U8 or QGEMM_TYPE_S8. */
    uint32_t type;
    /** Finite, and at least FLT_MIN. */
    float scale;
    /** Among the numbers of the type. */
    int32_t zero_point;
} qgemm_code;

/** What an operand is to be packed for. Begin with QGEMM_PACK_OPTIONS_INIT, and set at least side. */
typedef struct qgemm_pack_options {
    /** sizeof(qgemm_pack_options). */
    size_t struct_size;
    /** QGEMM_LHS or QGEMM_RHS: where the operand will stand. No other is possible. */
    uint32_t side;
    /** QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR: the order of the results to come. The other one is possible too, but slower. */
    uint32_t result_order;
    /**
     * QGEMM_TYPE_U8 or QGEMM_TYPE_S8: the type of the other operand to come; 0 for QGEMM_TYPE_U8. The other one is possible
     * too, but slower.
     */
    uint32_t other_type;
    /**
     * How many bits each element takes, 1 to 7; 0 or 8 for all that it has. Then every element of type QGEMM_TYPE_U8 has to
     * be 0 to 2^bits - 1, and of QGEMM_TYPE_S8 -2^(bits-1) to 2^(bits-1) - 1. The results are those of the same elements
     * packed in 8 bits.
     */
    uint32_t bits;
    /** Memory to pack into, at a multiple of QGEMM_PACKED_ALIGNMENT; NULL for memory of the library's. */
    void *memory;
    /** Bytes of memory, at least what qgemm_pack_size() says; 0 if memory is NULL. */
    size_t memory_size;
    /**
     * How many elements along k share a scale, at least 1: the first so many, the next so many, and at the end what is left.
     * 0 for no groups. See qgemm_gemm() for what a product with groups is.
     */
    size_t group_size;
    /**
     * If there are groups, a scale for each of them, of each row of lhs or column of rhs: scales[line * groups + group], where
     * groups is k / group_size, rounded up. Else NULL.
     */
    const float *scales;
    /** As many zero points, in the same order; NULL for 0 everywhere. */
    const int32_t *zero_points;
} qgemm_pack_options;

/** A matrix of floats that is to be one side of a product. Begin with QGEMM_FLOATS_INIT. */
typedef struct qgemm_floats {
    /** sizeof(qgemm_floats). */
    size_t struct_size;
    /** The elements. May be NULL if there are none. */
    const float *data;
    /** How many rows, at least 0. */
    int64_t rows;
    /** How many columns, at least 0. */
    int64_t cols;
    /** Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next; 0 for no gaps. */
    int64_t stride;
    /** QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR. */
    uint32_t order;
    /** QGEMM_LHS, whose lines are its rows, or QGEMM_RHS, whose lines are its columns. */
    uint32_t side;
} qgemm_floats;

/**
 * How each line of such a matrix is quantized: an element x becomes the byte rounded(x / scale) - offset, confined. Begin with
 * QGEMM_LINE_QUANTIZATION_INIT.
 */
typedef struct qgemm_line_quantization {
    /** sizeof(qgemm_line_quantization). */
    size_t struct_size;
    /** QGEMM_TYPE_U8 or QGEMM_TYPE_S8: that of the bytes. */
    uint32_t type;
    /**
     * How scale and zero point of a line follow from its elements: QGEMM_SCHEME_AFFINE, _SYMMETRIC or _DYNAMIC_LINEAR; NaN and
     * infinities do not count. Or QGEMM_SCHEME_GIVEN.
     */
    uint32_t scheme;
    /** QGEMM_QUANTIZE_DIVIDE, _MULTIPLY or _DIVIDE_AWAY. */
    uint32_t rounding;
    /** 0. */
    uint32_t reserved;
    /** The least byte to use. If it and greatest are 0, all of the type are used; to be packed in fewer bits, all of these. */
    int32_t least;
    /** The greatest: more than least. */
    int32_t greatest;
    /** Receives a scale for each line, for QGEMM_STAGE_DEQUANTIZE; or gives them: finite, and at least FLT_MIN. */
    float *scales;
    /** Receives an offset for each line, minus its zero point, for qgemm_operand; or gives them. */
    int32_t *offsets;
} qgemm_line_quantization;

/**
 * A filter and how it moves over images: all that packed weights depend on. Begin with QGEMM_CONV_DESC_INIT, and set
 * channels, types and what is to be different.
 *
 * The filter lies on filter_height x filter_width pixels, dilation_height and dilation_width pixels apart. It begins pad_top
 * pixels above an image and pad_left to the left of it, moves by stride_height and stride_width, and ends no more than
 * pad_bottom below it and pad_right to the right. A result has, for n pixels of height (and likewise of width),
 *
 *     (n + pad_top + pad_bottom - dilation_height * (filter_height - 1) - 1) / stride_height + 1
 *
 * pixels, rounded down; none, if the filter is longer than the image with its padding. Padding may be wider than the filter:
 * then there are results that only the padding contributes to, which is nothing. With groups, the channels of an image and of
 * the result are cut into so many parts: those of the result's first part are sums over the image's first part, and so on.
 */
typedef struct qgemm_conv_desc {
    /** sizeof(qgemm_conv_desc). */
    size_t struct_size;
    /** Channels of an image, at least 0. */
    int64_t input_channels;
    /** Channels of the result, at least 0. */
    int64_t output_channels;
    /** Rows of the filter; 0 for 1. */
    int64_t filter_height;
    /** Columns of the filter; 0 for 1. */
    int64_t filter_width;
    /** Rows of pixels from one position of the filter to the next; 0 for 1. */
    int64_t stride_height;
    /** Columns of pixels from one position of the filter to the next; 0 for 1. */
    int64_t stride_width;
    /** Rows of pixels from one row of the filter to the next; 0 for 1. */
    int64_t dilation_height;
    /** Columns of pixels from one column of the filter to the next; 0 for 1. */
    int64_t dilation_width;
    /** Rows of padding above an image, at least 0. */
    int64_t pad_top;
    /** Columns of padding to the left of an image, at least 0. */
    int64_t pad_left;
    /** Rows of padding below an image, at least 0. */
    int64_t pad_bottom;
    /** Columns of padding to the right of an image, at least 0. */
    int64_t pad_right;
    /**
     * Groups of channels, a divisor of input_channels and of output_channels; 0 for 1. As many as input_channels make the
     * convolution depthwise: channel c of an image is what the channels c * multiplier to c * multiplier + multiplier - 1 of the
     * result are sums over, where multiplier is output_channels / input_channels.
     */
    int64_t groups;
    /** Type of an image's elements: QGEMM_TYPE_U8 or QGEMM_TYPE_S8. */
    uint32_t input_type;
    /** Type of the weights: QGEMM_TYPE_U8 or QGEMM_TYPE_S8. */
    uint32_t weights_type;
} qgemm_conv_desc;

/** How many images are convolved together, and how large they are. Begin with QGEMM_CONV_IMAGES_INIT. */
typedef struct qgemm_conv_images {
    /** sizeof(qgemm_conv_images). */
    size_t struct_size;
    /** How many images, at least 0. */
    int64_t batch;
    /** Rows of pixels of each, at least 0. */
    int64_t height;
    /** Columns of pixels of each, at least 0. */
    int64_t width;
} qgemm_conv_images;

/**
 * What a parallel_for of the host's calls. It does not throw.
 *
 * @param argument  what parallel_for was given
 * @param index     any number less than the tasks that parallel_for was asked for
 */
typedef void (*qgemm_task)(void *argument, size_t index);

/**
 * A loop that runs on the host's threads. It calls task(argument, i) for each i less than tasks, in any order, on any
 * threads, be it on the calling one alone, and returns when the last call has returned.
 *
 * If it leaves out some calls, or all, or makes some twice, the result is still right: what is not done when it returns
 * is done by the thread that called it, and nothing is done twice. But it must not return while a call is under way,
 * make one later, or throw.
 *
 * @param user      that of qgemm_context_options
 * @param tasks     how many calls to make
 * @param task      what to call
 * @param argument  what to call it with
 */
typedef void (*qgemm_parallel_for)(void *user, size_t tasks, qgemm_task task, void *argument);

/** What a context is to be like. Begin with QGEMM_CONTEXT_OPTIONS_INIT, and set what is to be different. */
typedef struct qgemm_context_options {
    /** sizeof(qgemm_context_options) */
    size_t struct_size;
    /**
     * How many threads a product may use, the calling one included: 0 for one on each processor that this process may
     * run on; at most 256. The context's own are, on Linux, kept off the processor of the thread that calls.
     */
    int32_t threads;
    /** 0 */
    uint32_t reserved;
    /**
     * NULL for threads of the context's own, or a loop that runs on those of the host. It is asked for at most as many
     * calls as threads says, and by as many threads at once as use the context.
     */
    qgemm_parallel_for parallel_for;
    /** What to call parallel_for with. */
    void *user;
} qgemm_context_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that is running, as "MAJOR.MINOR.PATCH": a static string. QGEMM_VERSION is that of the
 * header.
 */
const char *qgemm_version(void);

/**
 * The kernel that multiplies: "amx", "avx512vnni", "avxvnni", "avx512bw", "avx2", on Arm "i8mm", "dotprod", "neon", or "scalar",
 * a static string.
 *
 * It is the best that this processor runs, or the one that the environment variable QGEMM_ISA names, read once. All
 * kernels give the same bytes. NULL if QGEMM_ISA names none that this processor runs: then qgemm_last_error() says so,
 * and every product fails with QGEMM_STATUS_UNSUPPORTED.
 */
const char *qgemm_kernel_name(void);

/**
 * What a status means, in a few words: a static string, for every number, known or not. For the argument at fault see
 * qgemm_last_error().
 */
const char *qgemm_status_message(int32_t status);

/**
 * Why the last call that failed on this thread did so: one sentence that names the argument, what was passed and what
 * was expected. Empty if none has failed. Valid until another call fails on this thread, or the thread ends; calls that
 * succeed leave it alone.
 */
const char *qgemm_last_error(void);

/**
 * Multiplies two matrices and passes every sum through a pipeline of stages: gemmlowp's GemmWithOutputPipeline and
 * GemmWithOutputPipelinePC.
 *
 *     sum(i,j)    = sum over l of (lhs(i,l) + lhs_offset(i)) * (rhs(l,j) + rhs_offset(j))
 *     result(i,j) = the last stage of ... of the first stage of sum(i,j)
 *
 * If one of the operands was packed with groups of elements along k, that have scales, and zero points perhaps, the sums are
 * floats, and begin the pipeline as such: the first stage has to take floats, and with no stage the result is one of floats.
 * With those of rhs,
 *
 *     part(i,j,g) = sum over l in g of (lhs(i,l) + lhs_offset(i)) * (rhs(l,j) + rhs_offset(j) - zero_point(j,g))
 *     sum(i,j)    = sum over g, from the first on, of (float)part(i,j,g) * scale(j,g)
 *
 * where each conversion, each multiplication and each addition rounds to 32 bits, and the sum begins with 0; with those of
 * lhs alike. What follows is then true of the parts.
 *
 * Sums wrap around at 32 bits, which cannot happen up to a depth of 33025 if the offsets are minus zero points of the
 * operands' types; QGEMM_CHECK_OVERFLOW makes it an error. If there is nothing to sum, k being 0, the sums are 0 and pass
 * through the stages. The bytes of the result do not depend on the kernel, the number of threads, the storage orders or
 * whether an operand is packed. With options->bit_depth sums are approximate: see there.
 *
 * The result may not overlap an operand or a parameter, nor a residual unless in the very same place.
 *
 * @param context      the threads and the memory to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param lhs          left-hand matrix, m x k
 * @param rhs          right-hand matrix, k x n
 * @param result       where the result goes, m x n
 * @param stages       stage_count stages; may be NULL if there are none
 * @param stage_count  how many, any number
 * @param options      NULL for none
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, OPTION (what is not known or
 *         reserved), SHAPE (negative, or not that of the other matrices), STRIDE, TYPE, TOO_LARGE, VECTOR_LENGTH,
 *         STAGE_ORDER, SHIFT_RANGE, PARAMETER, BIT_DEPTH, OVERLAP, PACKED_LAYOUT (packed as the other side), OPTION (groups
 *         with scales on both sides, or with a bit_depth), OVERFLOW and RANGE (if asked for), WORKSPACE (too small),
 *         OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre All matrices and parameters reach as far as their sizes and strides say, and nobody writes to them, or reads the
 * result, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_gemm(const struct qgemm_context *context,
                        const struct qgemm_operand *lhs,
                        const struct qgemm_operand *rhs,
                        const struct qgemm_result *result,
                        const struct qgemm_stage *stages,
                        size_t stage_count,
                        const struct qgemm_gemm_options *options);

/**
 * How much memory a product needs to work in: for callers who bring their own.
 *
 * The answer holds for these shapes, types, orders and promised ranges, and offsets 0 or not, as long as the context stays
 * the same and has the same number of threads, and for products with all 8 bits: for others see
 * qgemm_gemm_workspace_size_with().
 *
 * @param context  as in qgemm_gemm()
 * @param lhs      as in qgemm_gemm(); the elements are not read
 * @param rhs      as in qgemm_gemm(); the elements are not read
 * @param result   as in qgemm_gemm(); nothing is written
 * @param size     receives the number of bytes
 * @return QGEMM_STATUS_OK, or why size was not written; details in qgemm_last_error()
 *
 * @pre As for qgemm_gemm().
 */
QGEMM_NODISCARD
qgemm_status qgemm_gemm_workspace_size(const struct qgemm_context *context,
                                       const struct qgemm_operand *lhs,
                                       const struct qgemm_operand *rhs,
                                       const struct qgemm_result *result,
                                       size_t *size);

/**
 * As qgemm_gemm_workspace_size(), for a product with options: with a bit_depth it may take more.
 *
 * @param context  as in qgemm_gemm()
 * @param lhs      as in qgemm_gemm(); the elements are not read
 * @param rhs      as in qgemm_gemm(); the elements are not read
 * @param result   as in qgemm_gemm(); nothing is written
 * @param options  as in qgemm_gemm(); workspace and workspace_size do not matter
 * @param size     receives the number of bytes
 * @return QGEMM_STATUS_OK, or why size was not written; details in qgemm_last_error()
 *
 * @pre As for qgemm_gemm().
 */
QGEMM_NODISCARD
qgemm_status qgemm_gemm_workspace_size_with(const struct qgemm_context *context,
                                            const struct qgemm_operand *lhs,
                                            const struct qgemm_operand *rhs,
                                            const struct qgemm_result *result,
                                            const struct qgemm_gemm_options *options,
                                            size_t *size);

/**
 * Multiplies a matrix of unsigned bytes by one of signed bytes: dnnl_gemm_u8s8s32 of oneDNN, but exact on every processor.
 *
 *     c(i,j) = alpha * sum over l of (a(i,l) - ao) * (b(l,j) - bo) + beta * c(i,j) + offset(i,j)
 *
 * Everything is row-major: the rows of a matrix begin lda, ldb or ldc elements one after the other. Where alpha is 1 and
 * beta is 0 or 1, the arithmetic is on int32_t and wraps around. Else it is in double: the sum over l, which still wraps
 * around at 32 bits, times alpha, and that plus beta * c(i,j), and that plus the offset, is rounded to the nearest integer,
 * ties to even, and confined to int32_t. Where beta is 0, c is not read.
 *
 * It runs on the threads that qgemm_set_max_num_threads() is about. a, b and c do not overlap, nor co and c.
 *
 * @param transa   'N' or 'n': a is m x k; 'T' or 't': it lies as its transpose, k x m
 * @param transb   'N' or 'n': b is k x n; 'T' or 't': it lies as its transpose, n x k
 * @param offsetc  'F' or 'f': offset(i,j) is co[0]; 'C' or 'c': it is co[i]; 'R' or 'r': it is co[j]
 * @param m        rows of c, at least 0
 * @param n        columns of c, at least 0
 * @param k        how many products are summed, at least 0
 * @param alpha    finite
 * @param a        left-hand matrix
 * @param lda      at least the length of a's rows as they lie: k, or m if transposed
 * @param ao       the zero point of a
 * @param b        right-hand matrix
 * @param ldb      at least the length of b's rows as they lie: n, or k if transposed
 * @param bo       the zero point of b
 * @param beta     finite
 * @param c        the result, and what is added to
 * @param ldc      at least n
 * @param co       1, m or n offsets, as offsetc says; NULL for 0
 * @return QGEMM_STATUS_OK, or why nothing was written: OPTION (transa, transb, offsetc), SHAPE, STRIDE, NULL_POINTER,
 *         ALIGNMENT, TOO_LARGE, PARAMETER (alpha, beta), OVERLAP, OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in
 *         qgemm_last_error()
 *
 * @pre All matrices and co reach as far as the sizes and strides say, and nobody writes to them, or reads c, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_gemm_u8s8s32(char transa,
                                char transb,
                                char offsetc,
                                int64_t m,
                                int64_t n,
                                int64_t k,
                                float alpha,
                                const uint8_t *a,
                                int64_t lda,
                                uint8_t ao,
                                const int8_t *b,
                                int64_t ldb,
                                int8_t bo,
                                float beta,
                                int32_t *c,
                                int64_t ldc,
                                const int32_t *co);

/**
 * As qgemm_gemm_u8s8s32(), both matrices of signed bytes: dnnl_gemm_s8s8s32 of oneDNN.
 *
 * @param transa   as in qgemm_gemm_u8s8s32()
 * @param transb   as in qgemm_gemm_u8s8s32()
 * @param offsetc  as in qgemm_gemm_u8s8s32()
 * @param m        as in qgemm_gemm_u8s8s32()
 * @param n        as in qgemm_gemm_u8s8s32()
 * @param k        as in qgemm_gemm_u8s8s32()
 * @param alpha    as in qgemm_gemm_u8s8s32()
 * @param a        left-hand matrix
 * @param lda      as in qgemm_gemm_u8s8s32()
 * @param ao       the zero point of a
 * @param b        right-hand matrix
 * @param ldb      as in qgemm_gemm_u8s8s32()
 * @param bo       the zero point of b
 * @param beta     as in qgemm_gemm_u8s8s32()
 * @param c        as in qgemm_gemm_u8s8s32()
 * @param ldc      as in qgemm_gemm_u8s8s32()
 * @param co       as in qgemm_gemm_u8s8s32()
 * @return as qgemm_gemm_u8s8s32()
 *
 * @pre As for qgemm_gemm_u8s8s32().
 */
QGEMM_NODISCARD
qgemm_status qgemm_gemm_s8s8s32(char transa,
                                char transb,
                                char offsetc,
                                int64_t m,
                                int64_t n,
                                int64_t k,
                                float alpha,
                                const int8_t *a,
                                int64_t lda,
                                int8_t ao,
                                const int8_t *b,
                                int64_t ldb,
                                int8_t bo,
                                float beta,
                                int32_t *c,
                                int64_t ldc,
                                const int32_t *co);

/**
 * As qgemm_gemm_u8s8s32(), both matrices of unsigned bytes.
 *
 * @param transa   as in qgemm_gemm_u8s8s32()
 * @param transb   as in qgemm_gemm_u8s8s32()
 * @param offsetc  as in qgemm_gemm_u8s8s32()
 * @param m        as in qgemm_gemm_u8s8s32()
 * @param n        as in qgemm_gemm_u8s8s32()
 * @param k        as in qgemm_gemm_u8s8s32()
 * @param alpha    as in qgemm_gemm_u8s8s32()
 * @param a        left-hand matrix
 * @param lda      as in qgemm_gemm_u8s8s32()
 * @param ao       the zero point of a
 * @param b        right-hand matrix
 * @param ldb      as in qgemm_gemm_u8s8s32()
 * @param bo       the zero point of b
 * @param beta     as in qgemm_gemm_u8s8s32()
 * @param c        as in qgemm_gemm_u8s8s32()
 * @param ldc      as in qgemm_gemm_u8s8s32()
 * @param co       as in qgemm_gemm_u8s8s32()
 * @return as qgemm_gemm_u8s8s32()
 *
 * @pre As for qgemm_gemm_u8s8s32().
 */
QGEMM_NODISCARD
qgemm_status qgemm_gemm_u8u8s32(char transa,
                                char transb,
                                char offsetc,
                                int64_t m,
                                int64_t n,
                                int64_t k,
                                float alpha,
                                const uint8_t *a,
                                int64_t lda,
                                uint8_t ao,
                                const uint8_t *b,
                                int64_t ldb,
                                uint8_t bo,
                                float beta,
                                int32_t *c,
                                int64_t ldc,
                                const int32_t *co);

/**
 * Computes a fully connected layer: bit-exact with the reference kernels of TFLite and TFLite Micro for 8 bits.
 *
 *     sum(b,u)    = bias(u) + sum over d of (input(b,d) - input_zero_point) * (weights(u,d) - weights_zero_point)
 *     output(b,u) = min(max(scaled(sum(b,u)) + output_zero_point, output_min), output_max)
 *
 * where scaled is sum * multiplier / 2^31 * 2^exponent as the rounding says; sums wrap around at 32 bits. Of a positive
 * exponent TFLite's reference wraps around where it leaves 32 bits on the way; here it saturates.
 *
 * @param context        the threads and the memory to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param layer          weights and parameters
 * @param batch          rows of input and output, at least 0
 * @param input          batch x depth elements, row-major; may be NULL if there are none
 * @param input_stride   elements from the start of one row to the next, at least 1; 0 for no gaps
 * @param output         batch x units elements, row-major; may be NULL if there are none. It overlaps nothing that is read
 * @param output_stride  elements from the start of one row to the next, at least units; 0 for no gaps
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, OPTION (reserved, rounding, or
 *         weights both plain and packed), SHAPE, STRIDE, TYPE, TOO_LARGE, SHIFT_RANGE (an exponent), PARAMETER (output_min
 *         and output_max), VECTOR_LENGTH (multiplier_count), OVERLAP, PACKED_LAYOUT (packed as a lhs), STAGE_ORDER (packed
 *         with groups), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre All that layer points at, input and output reach as far as their sizes and strides say, and nobody writes to them, or
 * reads the output, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_fully_connected(const struct qgemm_context *context,
                                   const struct qgemm_layer *layer,
                                   int64_t batch,
                                   const void *input,
                                   int64_t input_stride,
                                   void *output,
                                   int64_t output_stride);

/**
 * Turns a real multiplier into integers: real = multiplier * 2^(exponent - 31), rounded to nearest, ties up.
 *
 * As TFLite's QuantizeMultiplier. The multiplier is 2^30 to 2^31 - 1 and the exponent -31 to 30; for what rounds to less
 * than 2^-32 both are 0.
 *
 * @param real        at least 0, and less than 2^30 - 1/4, from where on it rounds to 2^30
 * @param multiplier  the result
 * @param exponent    the result
 * @return QGEMM_STATUS_OK, or why nothing was written: PARAMETER (real is NaN or out of its range), NULL_POINTER
 *
 * @pre multiplier and exponent may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_quantize_multiplier(double real,
                                       int32_t *multiplier,
                                       int32_t *exponent);

/**
 * Turns a real multiplier below 1 into integers: real = multiplier / 2^31 / 2^right_shift, rounded to nearest, ties up.
 *
 * As QuantizeMultiplierSmallerThanOne of gemmlowp's documentation. The multiplier is 2^30 to 2^31 - 1 and the shift 0 to
 * 31; for what rounds to less than 2^-32 both are 0, though gemmlowp shifts on. What rounds to 1 becomes
 * (2^31 - 1) / 2^31, though gemmlowp asserts that there is no such thing.
 *
 * @param real         above 0 and below 1
 * @param multiplier   the result
 * @param right_shift  the result: minus the exponent that qgemm_quantize_multiplier() gives
 * @return QGEMM_STATUS_OK, or why nothing was written: PARAMETER (real is NaN or out of its range), NULL_POINTER
 *
 * @pre multiplier and right_shift may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_quantize_multiplier_smaller_than_one(double real,
                                                        int32_t *multiplier,
                                                        int32_t *right_shift);

/**
 * Computes lhs_scale * rhs_scale / result_scale, which brings the sums of a product to the scale of its result, and turns
 * it into integers as qgemm_quantize_multiplier() does.
 *
 * Frameworks differ in how they compute it, and so in the last bits of their results; the derivation says whose way to
 * take. With QGEMM_DERIVE_XNNPACK and QGEMM_DERIVE_QNNPACK the integers are exactly the float.
 *
 * @param derivation    QGEMM_DERIVE_TFLITE, QGEMM_DERIVE_TFLITE_LEGACY, QGEMM_DERIVE_XNNPACK or QGEMM_DERIVE_QNNPACK
 * @param lhs_scale     what 1 stands for in the left-hand matrix; above 0 and finite
 * @param rhs_scale     what 1 stands for in the right-hand matrix, or in this channel of it; above 0 and finite
 * @param result_scale  what 1 stands for in the result; above 0 and finite
 * @param multiplier    a result, or NULL if it is not wanted
 * @param exponent      a result, or NULL if it is not wanted
 * @param scale         the multiplier as a float, rounded to nearest; or NULL if it is not wanted
 * @return QGEMM_STATUS_OK, or why nothing was written: OPTION (an unknown derivation), PARAMETER (a scale, or what comes
 *         of them, is out of its range)
 *
 * @pre multiplier, exponent and scale may be written to, unless they are null.
 */
QGEMM_NODISCARD
qgemm_status qgemm_multiplier_from_scales(uint32_t derivation,
                                          float lhs_scale,
                                          float rhs_scale,
                                          float result_scale,
                                          int32_t *multiplier,
                                          int32_t *exponent,
                                          float *scale);

/**
 * As qgemm_multiplier_from_scales(), for each channel of the right-hand matrix: what a layer with a scale for each row of
 * its weights takes.
 *
 * @param derivation    as in qgemm_multiplier_from_scales()
 * @param lhs_scale     what 1 stands for in the left-hand matrix; above 0 and finite
 * @param rhs_scales    count scales, one for each channel; above 0 and finite. May be NULL if there are none
 * @param count         how many channels, at least 0
 * @param result_scale  what 1 stands for in the result; above 0 and finite
 * @param multipliers   count results, or NULL if they are not wanted
 * @param exponents     count results, or NULL if they are not wanted
 * @param scales        the multipliers as floats, rounded to nearest; or NULL if they are not wanted
 * @return QGEMM_STATUS_OK, or why nothing was written: OPTION (an unknown derivation), SHAPE (count is negative),
 *         NULL_POINTER, ALIGNMENT, TOO_LARGE, PARAMETER (a scale, or what comes of them, is out of its range)
 *
 * @pre There are count scales; multipliers, exponents and scales have room for as many, unless they are null.
 */
QGEMM_NODISCARD
qgemm_status qgemm_multipliers_from_scales(uint32_t derivation,
                                           float lhs_scale,
                                           const float *rhs_scales,
                                           int64_t count,
                                           float result_scale,
                                           int32_t *multipliers,
                                           int32_t *exponents,
                                           float *scales);

/**
 * Chooses scale and zero point, so that the integers from qmin to qmax stand for the real numbers from min to max.
 *
 * As ChooseQuantizationParams of gemmlowp's documentation, for any qmin and qmax. Where 0 is not between min and max,
 * the range is widened to include it; and it is shifted by at most half a scale so that an integer stands for 0 exactly:
 *
 *     scale      = (max - min) / (qmax - qmin)
 *     zero_point = round(qmin - min / scale), ties away from zero, confined to qmin..qmax
 *
 * A number x is then quantized as round(x / scale) + zero_point, confined to qmin..qmax. If min and max are both 0, the
 * scale is 1 and the zero point the integer nearest to 0. A scale is never less than FLT_MIN.
 *
 * @param min         the least real number; finite
 * @param max         the greatest; finite, and at least min
 * @param qmin        the least integer: 0 for uint8_t, -128 or -127 for int8_t
 * @param qmax        the greatest, and greater than qmin: 255 for uint8_t, 127 for int8_t
 * @param scale       the result, in float arithmetic
 * @param zero_point  the result
 * @return QGEMM_STATUS_OK, or why nothing was written: PARAMETER (also if max - min is more than a float holds),
 *         NULL_POINTER
 *
 * @pre scale and zero_point may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_choose_quantization(float min,
                                       float max,
                                       int32_t qmin,
                                       int32_t qmax,
                                       float *scale,
                                       int32_t *zero_point);

/**
 * Scales one number as a product's stage does every sum: x * multiplier * 2^(exponent - 31), rounded and saturated.
 *
 * With QGEMM_ROUND_ONCE that is (x * multiplier + 2^(30 - exponent)) >> (31 - exponent), in 64 bits, confined to int32_t
 * at the end. With the others x * 2^exponent is confined to int32_t first, where exponent is positive; then comes
 * (that * multiplier + 2^30) >> 31, and then, where exponent is negative, the division by 2^-exponent.
 *
 * @param x           the number
 * @param multiplier  any; what qgemm_quantize_multiplier() gives is 0 or at least 2^30
 * @param exponent    -31 to 30
 * @param rounding    QGEMM_ROUND_TWICE, QGEMM_ROUND_TWICE_UP or QGEMM_ROUND_ONCE
 * @param result      the result
 * @return QGEMM_STATUS_OK, or why nothing was written: SHIFT_RANGE (exponent), OPTION (rounding), NULL_POINTER
 *
 * @pre result may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_scale_s32(int32_t x,
                             int32_t multiplier,
                             int32_t exponent,
                             uint32_t rounding,
                             int32_t *result);

/**
 * Finds the range that sums need: what the least of them stands for and what the greatest does, widened to include 0.
 * TensorFlow's RequantizationRange, which forgets the latter where all are negative, and nnlib's.
 *
 * @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param x        the sums; may be NULL if there are none
 * @param size     how many, at least 0
 * @param x_range  what the sums stand for
 * @param range    the result; min and max are 0 if all sums stand for 0, or there are none
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE (size), TOO_LARGE, PARAMETER
 *         (x_range is none), UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre x has size elements, nobody writes to them during the call, and range may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_requantization_range_s32(const struct qgemm_context *context,
                                            const int32_t *x,
                                            int64_t size,
                                            struct qgemm_range x_range,
                                            struct qgemm_range *range);

/**
 * Brings sums of 32 bits to codes of 8 or 16: those of what they stand for, or the nearest that there are.
 *
 * But for QGEMM_RANGES_TENSORFLOW the result's range is first widened, at one end and as little as possible, so that
 * a code stands for 0, unless 0 is so near to an end that none can.
 *
 * @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param mode     QGEMM_RANGES_EXACT, _TENSORFLOW or _NNLIB
 * @param x        the sums; may be NULL if there are none
 * @param size     how many, at least 0
 * @param x_range  what they stand for
 * @param y_range  what the codes are to stand for; 0 is in it. If min and max are 0, all become the least code
 * @param type     QGEMM_TYPE_U8, _S8 or, with QGEMM_RANGES_EXACT, _S16
 * @param y        where size codes go; it may not overlap x
 * @param actual   the range that they have: y_range, widened; or NULL if it is not wanted
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE (size), TOO_LARGE, TYPE, OPTION
 *         (mode), PARAMETER (a range is none, or not as the mode asks for; 0 is not in y_range; TensorFlow's: x_range is
 *         2^36 times as wide as y_range), OVERLAP, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre x and y have size elements, nobody else writes to them or reads y during the call, and actual, unless it is null, may be
 * written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_requantize_s32(const struct qgemm_context *context,
                                  uint32_t mode,
                                  const int32_t *x,
                                  int64_t size,
                                  struct qgemm_range x_range,
                                  struct qgemm_range y_range,
                                  uint32_t type,
                                  void *y,
                                  struct qgemm_range *actual);

/**
 * As qgemm_requantization_range_s32() followed by qgemm_requantize_s32() with what it found: TensorFlow's and nnlib's
 * QuantizeDownAndShrinkRange.
 *
 * @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param mode     QGEMM_RANGES_EXACT, _TENSORFLOW or _NNLIB
 * @param x        the sums; may be NULL if there are none
 * @param size     how many, at least 0
 * @param x_range  what they stand for
 * @param type     QGEMM_TYPE_U8, _S8 or, with QGEMM_RANGES_EXACT, _S16
 * @param y        where size codes go; it may not overlap x
 * @param actual   the range that they have
 * @return as qgemm_requantize_s32()
 *
 * @pre x and y have size elements, nobody else writes to them or reads y during the call, and actual may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_quantize_down_and_shrink_range(const struct qgemm_context *context,
                                                  uint32_t mode,
                                                  const int32_t *x,
                                                  int64_t size,
                                                  struct qgemm_range x_range,
                                                  uint32_t type,
                                                  void *y,
                                                  struct qgemm_range *actual);

/**
 * Computes from scales and zero points how tensors are added.
 *
 *     c stands for c_scale * (c - c_zero_point), the nearest there is to
 *     a_scale * (a - a_zero_point) + b_scale * (b - b_zero_point)
 *
 * confined to c_least to c_greatest. The modes differ in what they take for nearest, by no more than 1. As long as neither
 * a_scale nor b_scale is greater than c_scale, they are off by no more than 0.5 + 2^-10; else what exceeds 0.5 is as many
 * times as great as the greater of these is greater than c_scale (QGEMM_ADD_F32: plus 2^-22 of what is added).
 *
 * This takes some 0.1 ms for bytes: all pairs of them are added, to find out whether a formula that takes less time gives the
 * same.
 *
 * @param options     what is to be added
 * @param parameters  the result
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, TYPE (also s16 in a mode that
 *         has none), OPTION (mode, flags, or what is reserved), PARAMETER (a scale or zero point is none, the scales are too
 *         different for the mode, or c_least and c_greatest are not of the type, or in the wrong order); details in
 *         qgemm_last_error()
 *
 * @pre parameters may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_add_prepare(const struct qgemm_add_options *options,
                               struct qgemm_add_parameters *parameters);

/**
 * Adds contiguous tensors, element by element. The bytes of the result do not depend on the kernel or the number of threads.
 *
 * @param context     the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param parameters  what qgemm_add_prepare() found
 * @param a           size elements of the type; may be NULL if there are none
 * @param b           size elements
 * @param size        how many, at least 0
 * @param c           where size elements go; it may be a, or b, but not overlap them otherwise
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE and OPTION and SHIFT_RANGE (what
 *         parameters hold is not what was found), SHAPE (size), TOO_LARGE, OVERLAP, UNSUPPORTED (QGEMM_ISA); details in
 *         qgemm_last_error()
 *
 * @pre All have so many elements, and nobody else writes to them or reads c during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_add(const struct qgemm_context *context,
                       const struct qgemm_add_parameters *parameters,
                       const void *a,
                       const void *b,
                       int64_t size,
                       void *c);

/**
 * Adds tensors of up to 8 dimensions, of which each may lie in memory in its own way, and a or b be broadcast:
 *
 *     c[sum of i[d] * c_strides[d]] = a[sum of i[d] * a_strides[d]] + b[sum of i[d] * b_strides[d]]
 *
 * for all i with 0 <= i[d] < sizes[d]. Along a dimension in which a tensor is broadcast its stride is 0; where sizes[d] is
 * 1 the strides do not matter. It is fast where c is contiguous along some dimension, and a and b are there, too, or
 * broadcast.
 *
 * @param context     the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param parameters  what qgemm_add_prepare() found
 * @param rank        how many dimensions: 0 to 8; 0 for a single element
 * @param sizes       those of c, each at least 0
 * @param a           the elements; may be NULL if there are none
 * @param a_strides   elements from one to the next in each dimension, at least 0; or NULL: row-major without gaps
 * @param b           the elements
 * @param b_strides   as a_strides
 * @param c           where the elements go. It may be a if the strides are the same, or b; but between its first and its last
 *                    element there may be none of them otherwise
 * @param c_strides   as a_strides; that of each dimension of more than 1 reaches over all elements along those with lesser
 *                    strides
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE and OPTION and SHIFT_RANGE (what
 *         parameters hold is not what was found), SHAPE (a size), PARAMETER (rank), STRIDE, TOO_LARGE, OVERLAP, UNSUPPORTED
 *         (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre sizes, and the strides unless they are null, have rank values, all tensors reach as far as these say, and nobody else
 * writes to them or reads c during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_add_nd(const struct qgemm_context *context,
                          const struct qgemm_add_parameters *parameters,
                          int32_t rank,
                          const int64_t *sizes,
                          const void *a,
                          const int64_t *a_strides,
                          const void *b,
                          const int64_t *b_strides,
                          void *c,
                          const int64_t *c_strides);

/**
 * Adds bytes, as sums of 32 bits whose range is chosen by the rule: QuantizedAdd of 8 bits and 8 to 32.
 *
 *     c[i] stands for what a[i] stands for + what b[i] stands for
 *
 * So does code 0 for 0. If min and max of both ranges are 0, so they are of c's, and its codes are 0.
 *
 * @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param rule     QGEMM_ADD32_NNLIB, _NNLIB_BIAS, _TENSORFLOW_HELPER, _TENSORFLOW_OPERATION or _EXACT
 * @param a        size bytes; may be NULL if there are none
 * @param a_range  what they stand for
 * @param b        size bytes
 * @param b_range  what they stand for
 * @param size     how many, at least 0
 * @param c        where size sums go; it may not overlap a or b
 * @param c_range  what the sums stand for
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE (size), TOO_LARGE, OPTION (rule),
 *         PARAMETER (a range is none; with a rule of nnlib's it is not around 0, or so narrow that a float does not hold 255
 *         divided by its width; the result's is more than floats hold), OVERLAP, UNSUPPORTED (QGEMM_ISA); details in
 *         qgemm_last_error()
 *
 * @pre All have so many elements, nobody else writes to them or reads c during the call, and c_range may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_add_8p8to32(const struct qgemm_context *context,
                               uint32_t rule,
                               const uint8_t *a,
                               struct qgemm_range a_range,
                               const uint8_t *b,
                               struct qgemm_range b_range,
                               int64_t size,
                               int32_t *c,
                               struct qgemm_range *c_range);

/**
 * Adds a row of bytes to each row of a matrix of bytes, as qgemm_add_8p8to32() does: QuantizedBiasAdd.
 *
 *     c[i * depth + j] stands for what a[i * depth + j] stands for + what bias[j] stands for
 *
 * @param context     the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param rule        QGEMM_ADD32_NNLIB_BIAS for nnlib's, QGEMM_ADD32_TENSORFLOW_HELPER for TensorFlow's, or another of
 *                    qgemm_add_8p8to32()
 * @param a           rows x depth bytes, row-major and without gaps; may be NULL if there are none
 * @param a_range     what they stand for
 * @param bias        depth bytes
 * @param bias_range  what they stand for
 * @param rows        how many rows, at least 0
 * @param depth       how many in each, at least 0
 * @param c           where rows x depth sums go; it may not overlap a or bias
 * @param c_range     what the sums stand for
 * @return as qgemm_add_8p8to32(), which calls the bias b
 *
 * @pre All have so many elements, nobody else writes to them or reads c during the call, and c_range may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_bias_add_8p8to32(const struct qgemm_context *context,
                                    uint32_t rule,
                                    const uint8_t *a,
                                    struct qgemm_range a_range,
                                    const uint8_t *bias,
                                    struct qgemm_range bias_range,
                                    int64_t rows,
                                    int64_t depth,
                                    int32_t *c,
                                    struct qgemm_range *c_range);

/**
 * Adds bytes to bytes, in a range that is guessed: QuantizedAdd of 8 bits and 8 to 8.
 *
 * The codes are those of the guess. Where a sum is outside of it, the range is widened to what was found, and all is done
 * once more: at most twice. Nothing is remembered: the same bytes, ranges and guess give the same result, and what
 * c_range says is the guess that fits best another time. guess and c_range may be the same.
 *
 * The range is widened at an end that is not fixed so that a code stands for 0, but for QGEMM_ADD8_NNLIB_SPEC, and where
 * 0 is so near to an end that none can.
 *
 * * QGEMM_ADD8_EXACT without a guess looks at all sums first, and then has just the range that they need. Codes are taken
 *   at face value, whether one stands for 0 or not.
 * * QGEMM_ADD8_NNLIB_FLAT without a guess begins with an eighth of all that sums could be, and with 1/32 of it at least
 *   unless fixed; what is found is padded by 15 %, as in nnlib.
 * * QGEMM_ADD8_NNLIB_SPEC without a guess begins with 0 to 0.5, as nnlib did; and always with a range as wide as a's and
 *   as b's, for it has no gain above 1. One of these may be up to 256 times as wide as the other.
 *
 * The order of a and b makes no difference. Both may be the same, but c may not overlap them: they are read twice.
 *
 * @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param mode     QGEMM_ADD8_EXACT, _NNLIB_FLAT or _NNLIB_SPEC
 * @param a        size bytes; may be NULL if there are none
 * @param a_range  what they stand for; 0 is in it, but for QGEMM_ADD8_EXACT, with which it need not be
 * @param b        size bytes
 * @param b_range  what they stand for; as a_range
 * @param size     how many, at least 0
 * @param guess    a range for the result, with 0 in it; or NULL
 * @param flags    0, or QGEMM_ADD8_FIXED_MIN, QGEMM_ADD8_FIXED_MAX or both, added up, if there is a guess
 * @param c        where size codes go
 * @param c_range  what they stand for
 * @param passes   how often the codes were computed, or looked at: 0 if there are none, else 1 or 2; or NULL
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER (also guess, with flags), ALIGNMENT, SHAPE (size),
 *         TOO_LARGE, OPTION (mode, flags), PARAMETER (a range is none, is not around 0, or one is too narrow or too wide for the
 *         mode), OVERLAP, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre All have so many elements, nobody else writes to them or reads c during the call; guess may be read, and c_range and
 * passes may be written to, unless they are null.
 */
QGEMM_NODISCARD
qgemm_status qgemm_add_8p8to8(const struct qgemm_context *context,
                              uint32_t mode,
                              const uint8_t *a,
                              struct qgemm_range a_range,
                              const uint8_t *b,
                              struct qgemm_range b_range,
                              int64_t size,
                              const struct qgemm_range *guess,
                              uint32_t flags,
                              uint8_t *c,
                              struct qgemm_range *c_range,
                              int32_t *passes);

/**
 * Quantizes floats: rounded(x / scale) + zero point, confined to the integers that there may be. NaN becomes the zero point,
 * confined, as 0 does.
 *
 * @param context       the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param from          the floats; NULL if there are none
 * @param to            receives as many integers of quantization->type; may not overlap from
 * @param channels      how many there are, and which of them belong together
 * @param quantization  their scales and zero points
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, TYPE, OPTION (rounding),
 *         PARAMETER (a scale, a zero point, least or greatest), TOO_LARGE, OVERLAP, UNSUPPORTED (QGEMM_ISA)
 *
 * @pre from and to reach as far as the channels say, and scales and zero points are as many as there are channels. Nobody writes to
 * what is read, or uses what is written, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_quantize_f32(const struct qgemm_context *context,
                                const float *from,
                                void *to,
                                const struct qgemm_channels *channels,
                                const struct qgemm_quantization *quantization);

/**
 * Makes floats of integers: (q - zero point) * scale. The difference, which wraps around at 32 bits, is rounded to float, and so
 * is the product. As ONNX's DequantizeLinear.
 *
 * @param context       the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param from          integers of quantization->type; NULL if there are none
 * @param to            receives as many floats; may not overlap from, but lie in the very same place if they are QGEMM_TYPE_S32
 * @param channels      how many there are, and which of them belong together
 * @param quantization  their scales and zero points
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, TYPE, PARAMETER (a scale,
 *         or a zero point), TOO_LARGE, OVERLAP, UNSUPPORTED (QGEMM_ISA)
 *
 * @pre As for qgemm_quantize_f32().
 */
QGEMM_NODISCARD
qgemm_status qgemm_dequantize(const struct qgemm_context *context,
                              const void *from,
                              float *to,
                              const struct qgemm_channels *channels,
                              const struct qgemm_quantization *quantization);

/**
 * Makes integers of integers: rounded((q - from_zero_point) * multiplier) + to_zero_point, confined to the integers that there
 * may be. From sums of products to bytes or 16 bits; and from bytes to bytes of another scale, zero point or type, as TFLite's
 * Quantize does.
 *
 * @param context         the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param from            integers of from_type; NULL if there are none
 * @param to              receives as many integers of to_type; may not overlap from, but lie in the very same place if one takes
 *                        as many bytes as the other
 * @param channels        how many there are, and which of them belong together
 * @param requantization  what is done with them
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, TYPE, OPTION (arithmetic, or
 *         reserved), SHIFT_RANGE (an exponent), PARAMETER (a scale, a zero point, least or greatest), TOO_LARGE, OVERLAP,
 *         UNSUPPORTED (QGEMM_ISA)
 *
 * @pre As for qgemm_quantize_f32().
 */
QGEMM_NODISCARD
qgemm_status qgemm_requantize(const struct qgemm_context *context,
                              const void *from,
                              void *to,
                              const struct qgemm_channels *channels,
                              const struct qgemm_requantization *requantization);

/**
 * Finds the least and the greatest float of each channel, in one pass. NaN and infinities do not count; where there are no
 * numbers, both are 0. A zero is never negative.
 *
 * @param context   the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param from      the floats; NULL if there are none
 * @param channels  how many there are, and which of them belong together
 * @param min       receives the least of each channel
 * @param max       receives the greatest of each
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE, TOO_LARGE, OVERLAP (of any two),
 *         UNSUPPORTED (QGEMM_ISA)
 *
 * @pre from reaches as far as the channels say, and min and max have room for as many as there are channels. Nobody writes to
 * what is read, or uses what is written, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_min_max_f32(const struct qgemm_context *context,
                               const float *from,
                               const struct qgemm_channels *channels,
                               float *min,
                               float *max);

/**
 * Chooses a scale and a zero point for each channel, from its elements: qgemm_min_max_f32(), and what the scheme makes of that.
 *
 * NaN and infinities do not count. Where all numbers are 0, or there are none, the scale is 1. A scale is finite and never less than
 * FLT_MIN. 0 is always represented exactly.
 *
 * @param context      the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param from         the floats; NULL if there are none
 * @param channels     how many there are, and which of them belong together
 * @param scheme       QGEMM_SCHEME_AFFINE, QGEMM_SCHEME_SYMMETRIC or QGEMM_SCHEME_DYNAMIC_LINEAR
 * @param type         QGEMM_TYPE_U8, _S8 or _S16
 * @param least        the least integer to use; if it and greatest are 0, all of the type are used
 * @param greatest     the greatest: more than least
 * @param scales       receives the scale of each channel
 * @param zero_points  receives the zero point of each, from least to greatest
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE, TYPE, OPTION (scheme), PARAMETER (least or
 *         greatest), TOO_LARGE, OVERLAP (of any two), UNSUPPORTED (QGEMM_ISA)
 *
 * @pre As for qgemm_min_max_f32().
 */
QGEMM_NODISCARD
qgemm_status qgemm_choose_quantization_of(const struct qgemm_context *context,
                                          const float *from,
                                          const struct qgemm_channels *channels,
                                          uint32_t scheme,
                                          uint32_t type,
                                          int32_t least,
                                          int32_t greatest,
                                          float *scales,
                                          int32_t *zero_points);

/**
 * Makes the table of any function: of each byte the real number x, rounded to float; f(x, user); and the byte that stands for that.
 * That is the integer nearest to f(x) / scale, in double, ties to even, plus the zero point, confined to the type. NaN becomes the
 * zero point.
 *
 * @param f      the function; called 256 times, on this thread, for the bytes from 0 to 255. It has to return
 * @param user   passed on to f
 * @param from   what the bytes stand for
 * @param to     what the entries stand for
 * @param table  receives QGEMM_TABLE_SIZE entries, bytes of to->type
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE, PARAMETER (a scale or a zero point)
 *
 * @pre f may be called with user. The table may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_table_build(qgemm_real_function f,
                               void *user,
                               const struct qgemm_code *from,
                               const struct qgemm_code *to,
                               uint8_t *table);

/**
 * Makes the table of a well-known function, as qgemm_table_build() does, but all in double: the value is off by less than 1e-13 of
 * itself, or of 1 where that is more, before it is rounded. It is the same on every machine.
 *
 * @param function  QGEMM_FUNCTION_RELU to QGEMM_FUNCTION_CLIP
 * @param alpha     finite; some functions have such a parameter, the others do not look at it
 * @param beta      as alpha
 * @param from      what the bytes stand for
 * @param to        what the entries stand for
 * @param table     receives QGEMM_TABLE_SIZE entries, bytes of to->type
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE, OPTION (an unknown function), PARAMETER (a
 *         scale, a zero point, alpha or beta)
 *
 * @pre The table may be written to.
 */
QGEMM_NODISCARD
qgemm_status qgemm_table_build_function(uint32_t function,
                                        float alpha,
                                        float beta,
                                        const struct qgemm_code *from,
                                        const struct qgemm_code *to,
                                        uint8_t *table);

/**
 * Looks up bytes in a table: to[i] = table[from[i]].
 *
 * @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param table    QGEMM_TABLE_SIZE entries
 * @param from     the bytes, of either type; NULL if there are none
 * @param to       receives as many; in the very place of from, or apart from it
 * @param count    how many, at least 0
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, SHAPE (count is negative), TOO_LARGE, OVERLAP, UNSUPPORTED
 *         (QGEMM_ISA)
 *
 * @pre The table has its entries, and from and to as many bytes as count says. Nobody writes to what is read, or uses what is written,
 * during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_table_apply(const struct qgemm_context *context,
                               const uint8_t *table,
                               const void *from,
                               void *to,
                               int64_t count);

/**
 * How much memory a packed operand takes at most: for callers who bring their own, and to know before.
 *
 * The answer depends on the kernel, the numbers of rows and columns, whether there is an offset for each of them, and
 * the options. It is more than the elements take, by a few percent if there are many, or by twice as much where a kernel
 * wants one side as numbers of 16 bits. Where the elements decide how they are packed, it may turn out to take a little
 * less, as qgemm_packed_bytes() says. Elements of fewer bits take just these, and groups 8 bytes each on top, or 12 if
 * they have zero points; the elements of a group are filled up to a multiple of 8.
 *
 * @param operand  as in qgemm_pack(); the elements are not read
 * @param options  as in qgemm_pack(); memory and memory_size do not matter
 * @param size     receives the number of bytes
 * @return QGEMM_STATUS_OK, or why size was not written: as qgemm_pack(); details in qgemm_last_error()
 *
 * @pre As for qgemm_pack().
 */
QGEMM_NODISCARD
qgemm_status qgemm_pack_size(const struct qgemm_operand *operand,
                             const struct qgemm_pack_options *options,
                             size_t *size);

/**
 * Packs an operand: a matrix of weights, as a rule, that will be multiplied by many others.
 *
 * lhs is m x k, rhs is k x n; either may be packed, or both. The operand's offset is not packed: products are told
 * theirs as ever. But for QGEMM_CHECK_OVERFLOW the largest sum that the elements can give is found here once for all,
 * exactly for the offset that is given here; for other offsets, later, it is estimated, from above. Also found are the
 * least and the greatest element, for QGEMM_CHECK_RANGE and for products that small numbers make faster.
 *
 * The packed operand lies in the caller's memory if options names any, which then begins with it and must stay as it is
 * until qgemm_packed_free(), else in memory of the library's. Packing runs on the calling thread.
 *
 * From 2 MiB on, the library asks the system for huge pages. In small ones, as memory of the caller's may lie in, products
 * of some rows took up to 1.4 times as long.
 *
 * @param operand  the matrix to pack; its field packed NULL. It may have no rows or no columns
 * @param options  what it will be used for, and where it is to be
 * @param packed   receives the packed operand
 * @return QGEMM_STATUS_OK, or why neither packed nor memory was written: NULL_POINTER, ALIGNMENT (also of memory),
 *         STRUCT_SIZE, SHAPE, STRIDE, TYPE, VECTOR_LENGTH, PARAMETER (least or greatest is none, or a scale is not finite),
 *         OPTION, TOO_LARGE, WORKSPACE (memory_size is too small), OVERLAP (of memory with what is read), RANGE (an element
 *         does not fit the bits in options), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in
 *         qgemm_last_error()
 *
 * @pre The elements, the offsets, the scales and the zero points reach as far as sizes and stride say, and nobody writes to them
 * during the call. Nobody else uses the memory in options.
 */
QGEMM_NODISCARD
qgemm_status qgemm_pack(const struct qgemm_operand *operand,
                        const struct qgemm_pack_options *options,
                        struct qgemm_packed **packed);

/**
 * Frees a packed operand. The caller's memory, if it lies there, is the caller's again.
 *
 * @param packed  what qgemm_pack() or qgemm_packed_load() made, or NULL, which does nothing
 *
 * @pre No call that was given it is under way, and none is given it again.
 */
void qgemm_packed_free(struct qgemm_packed *packed);

/**
 * The packed form of an operand: what to write to a file, for qgemm_packed_load() on machines with the same kernel.
 *
 * Nothing is copied: these are the bytes that products read. They begin at a multiple of QGEMM_PACKED_ALIGNMENT.
 *
 * @param packed  the operand
 * @param bytes   receives where they are; valid until qgemm_packed_free()
 * @param size    receives how many they are
 * @return QGEMM_STATUS_OK, or why neither was written: NULL_POINTER, ALIGNMENT; details in qgemm_last_error()
 *
 * @pre packed was not freed.
 */
QGEMM_NODISCARD
qgemm_status qgemm_packed_bytes(const struct qgemm_packed *packed, const void **bytes, size_t *size);

/**
 * How many bytes the portable form of an operand takes: those of the elements, and a few more.
 *
 * @param packed  the operand
 * @param size    receives the number of bytes
 * @return QGEMM_STATUS_OK, or why size was not written: NULL_POINTER, ALIGNMENT; details in qgemm_last_error()
 *
 * @pre packed was not freed.
 */
QGEMM_NODISCARD
qgemm_status qgemm_packed_portable_size(const struct qgemm_packed *packed, size_t *size);

/**
 * Writes the portable form of an operand, which any machine can load with qgemm_packed_load(). It is the same whichever
 * kernel packed the operand: the elements as they were, and what they were packed for.
 *
 * @param packed  the operand
 * @param bytes   where to write it, at any address
 * @param size    how many bytes there are, at least what qgemm_packed_portable_size() says; no more than that are
 *                written
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, TOO_LARGE, WORKSPACE (size is too small), OVERLAP
 *         (bytes overlaps the packed operand); details in qgemm_last_error()
 *
 * @pre packed was not freed, and nobody else uses the bytes during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_packed_save_portable(const struct qgemm_packed *packed, void *bytes, size_t size);

/**
 * Makes a packed operand of what qgemm_packed_bytes() or qgemm_packed_save_portable() gave, in this process or another.
 *
 * The packed form is used where it lies, and must stay there, as it is, until qgemm_packed_free(); it has to begin at a
 * multiple of QGEMM_PACKED_ALIGNMENT, as a mapped file does. The portable form may begin anywhere; it is packed into
 * memory of the library's, for what it was packed for before it was saved, and is not needed any more after the call.
 *
 * The bytes need not be trusted: all of them are read and compared with their checksums, and whatever they hold, no
 * product reads or writes beside them. They have no more at their end than what was saved.
 *
 * @param bytes   either form
 * @param size    how many bytes it has: no fewer, and no more
 * @param packed  receives the packed operand
 * @return QGEMM_STATUS_OK, or why packed was not written: NULL_POINTER, ALIGNMENT, TOO_LARGE, PACKED_DAMAGED (the bytes
 *         are not what was saved, or too few, or too many), PACKED_LAYOUT (they are sound, but for other kernels,
 *         another byte order or another version of the format), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in
 *         qgemm_last_error()
 *
 * @pre The bytes can be read. Nobody writes to them during the call, nor, if they are of the packed form, before
 * qgemm_packed_free(); nor does a file shrink that is mapped there.
 */
QGEMM_NODISCARD
qgemm_status qgemm_packed_load(const void *bytes, size_t size, struct qgemm_packed **packed);

/**
 * Quantizes one side of a product line by line: dynamic quantization, of activations as a rule, each row of which gets a scale
 * and an offset of its own, in one pass over memory.
 *
 * What comes of it are the elements of a qgemm_operand of the same rows, columns and order, with stride 0; the offsets are its
 * field offset, per row of lhs or per column of rhs. The stage QGEMM_STAGE_DEQUANTIZE of a product takes the scales, those of rows or
 * those of columns; the other side's are multiplied by after it. Nothing is allocated. For one product this is quicker than to pack
 * the operand with qgemm_pack_f32(), which has to prove more of it.
 *
 * @param context       the threads to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param floats        the matrix
 * @param quantization  how, and where scales and offsets go
 * @param to            receives rows * cols bytes, in the order of the floats, without gaps
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, STRIDE, TYPE, OPTION (order, side,
 *         scheme, rounding, reserved), PARAMETER (least or greatest, a scale or an offset), TOO_LARGE, OVERLAP, UNSUPPORTED
 *         (QGEMM_ISA)
 *
 * @pre The floats reach as far as sizes and stride say, to has room for all bytes, scales and offsets for all lines. Nobody writes to
 * what is read, or uses what is written, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_quantize_lines_f32(const struct qgemm_context *context,
                                      const struct qgemm_floats *floats,
                                      const struct qgemm_line_quantization *quantization,
                                      void *to);

/**
 * Quantizes one side of a product line by line and packs it, as qgemm_quantize_lines_f32() and qgemm_pack() do one after the
 * other: weights, as a rule, that will be multiplied by many. With QGEMM_SCHEME_SYMMETRIC and QGEMM_TYPE_S8 it is what oneDNN calls
 * a reorder of weights with a scale for each output channel.
 *
 * If options names groups, each has a scale and a zero point of its own, which become part of the packed operand: options->scales
 * and zero_points have to be NULL, quantization->scales has room for those of all groups, in the order of options->scales, and
 * quantization->offsets receives zero points, not minus zero points, or is NULL if they are all 0, which only QGEMM_SCHEME_SYMMETRIC
 * with QGEMM_TYPE_S8 makes sure of. Without groups the products are told the offsets as ever.
 *
 * The bytes lie in the context's memory in between, as many as there are elements, until the next call uses it or
 * qgemm_free_persistent_resources() or qgemm_context_free() frees it. How much memory the packed operand takes says
 * qgemm_pack_size(), for an operand of this shape and type, of which the elements are not read.
 *
 * @param context       the threads and the memory to use; NULL for those that qgemm_set_max_num_threads() is about
 * @param floats        the matrix; its side is that of options
 * @param quantization  how it is quantized, and where scales and offsets go
 * @param options       what it will be used for, and where it is to be
 * @param packed        receives the packed operand
 * @return QGEMM_STATUS_OK, or why packed was not written: as qgemm_quantize_lines_f32() and qgemm_pack(). Scales and offsets were
 *         written only if it is OUT_OF_MEMORY
 *
 * @pre As for qgemm_quantize_lines_f32() and qgemm_pack().
 */
QGEMM_NODISCARD
qgemm_status qgemm_pack_f32(const struct qgemm_context *context,
                            const struct qgemm_floats *floats,
                            const struct qgemm_line_quantization *quantization,
                            const struct qgemm_pack_options *options,
                            struct qgemm_packed **packed);

/**
 * Makes a plan of a convolution.
 *
 * @param desc    the filter
 * @param images  how many images, and how large. There may be none, or the filter may be larger than they are: then the result
 *                has no elements
 * @param plan    receives the plan
 * @return QGEMM_STATUS_OK, or why plan was not written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE (a number is negative), TYPE,
 *         PARAMETER (groups), TOO_LARGE (there are more pixels, with padding, in a row or a column than 2^31 - 1, or more elements
 *         of images, weights or results than addresses), OUT_OF_MEMORY; details in qgemm_last_error()
 *
 * @pre The structs have as many bytes as they say.
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_plan_create(const struct qgemm_conv_desc *desc,
                                    const struct qgemm_conv_images *images,
                                    struct qgemm_conv_plan **plan);

/**
 * Frees a plan.
 *
 * @param plan  what qgemm_conv_plan_create() or qgemm_conv_plan_load() made, or NULL, which does nothing
 *
 * @pre No call that was given it is under way, and none is given it again.
 */
void qgemm_conv_plan_free(struct qgemm_conv_plan *plan);

/**
 * How large the images are that a convolution gives.
 *
 * @param plan    the plan
 * @param height  receives the rows of pixels
 * @param width   receives the columns of pixels
 * @return QGEMM_STATUS_OK, or why neither was written: NULL_POINTER, ALIGNMENT; details in qgemm_last_error()
 *
 * @pre plan was not freed.
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_output_size(const struct qgemm_conv_plan *plan, int64_t *height, int64_t *width);

/**
 * Writes a plan as QGEMM_CONV_PLAN_SIZE bytes, the same on all machines, for qgemm_conv_plan_load().
 *
 * @param plan   the plan
 * @param bytes  where to write it, at any address
 * @param size   how many bytes there are, at least QGEMM_CONV_PLAN_SIZE; no more than that are written
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, TOO_LARGE, WORKSPACE (size is too small); details in
 *         qgemm_last_error()
 *
 * @pre plan was not freed, and nobody else uses the bytes during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_plan_save(const struct qgemm_conv_plan *plan,
                                  void *bytes,
                                  size_t size);

/**
 * Makes a plan of what qgemm_conv_plan_save() wrote, in this process or another. The bytes need not be trusted, and are not
 * needed any more after the call.
 *
 * @param bytes  a saved plan, at any address
 * @param size   how many bytes it has: no fewer, and no more
 * @param plan   receives the plan
 * @return QGEMM_STATUS_OK, or why plan was not written: NULL_POINTER, ALIGNMENT (of plan), TOO_LARGE, PACKED_DAMAGED (the bytes
 *         are not what was saved, or of another version), OUT_OF_MEMORY; details in qgemm_last_error()
 *
 * @pre The bytes can be read, and nobody writes to them during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_plan_load(const void *bytes,
                                  size_t size,
                                  struct qgemm_conv_plan **plan);

/**
 * How much memory packed weights take at most: for callers who bring their own, and to know before.
 *
 * @param desc     as in qgemm_conv_pack()
 * @param weights  as in qgemm_conv_pack(); the elements are not read
 * @param options  as in qgemm_conv_pack(); memory and memory_size do not matter
 * @param size     receives the number of bytes
 * @return QGEMM_STATUS_OK, or why size was not written: as qgemm_conv_pack(); details in qgemm_last_error()
 *
 * @pre As for qgemm_conv_pack().
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_pack_size(const struct qgemm_conv_desc *desc,
                                  const struct qgemm_operand *weights,
                                  const struct qgemm_pack_options *options,
                                  size_t *size);

/**
 * Packs the weights of a convolution, for images of any number and size.
 *
 * Weights are a matrix with a row for each product that is summed, filter_height * filter_width * (input_channels / groups), in
 * this order, the channels of a group last; and a column for each channel of the result. So weights with the output channel first
 * (OHWI: TFLite's convolution) are column-major, and those with the output channel last (HWIO: TensorFlow's; and 1HWC, TFLite's
 * depthwise convolution) are row-major. In the matrix rows, cols, type and stride may be 0, for what desc says.
 *
 * What comes out is saved and loaded as every packed operand is, see qgemm_packed. As there, the offset is not packed, but
 * it may help to make the convolution faster to tell it here.
 *
 * @param desc     the filter
 * @param weights  the weights, not packed; their offset uniform or QGEMM_PER_COL, a value for each channel of the result
 * @param options  how many bits an element takes, and where the packed weights are to be; its side 0 or QGEMM_RHS, its other_type 0
 *                 or desc's input_type, without groups of elements. NULL for 8 bits, in memory of the library's
 * @param packed   receives the packed weights
 * @return QGEMM_STATUS_OK, or why neither packed nor memory was written: as qgemm_conv_plan_create() and qgemm_pack(); details in
 *         qgemm_last_error()
 *
 * @pre As for qgemm_pack().
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_pack(const struct qgemm_conv_desc *desc,
                             const struct qgemm_operand *weights,
                             const struct qgemm_pack_options *options,
                             struct qgemm_packed **packed);

/**
 * Convolves images and passes every sum through a pipeline of stages.
 *
 *     sum(p,o)    = sum over taps t and channels c of (pixel(p,t)[c] + image_offset) * (weight(t,c,o) + weights_offset(o))
 *     result(p,o) = the last stage of ... of the first stage of sum(p,o)
 *
 * where pixel(p,t) is the pixel under the tap t where the filter is at its position p, and a tap beside an image adds nothing:
 * the zero point, minus image_offset, lies there. If any tap is, the zero point has to be a number of the image's type.
 *
 * An image is a matrix with a row for each pixel, image by image, row by row (NHWC), and a column for each channel; the result
 * too. Their stride goes from one pixel to the next, so it may skip channels. Stages and results are those of qgemm_gemm(), a
 * column being a channel of the result: scales, biases and the like for each channel have the axis QGEMM_PER_COL, and a residual is
 * a tensor of the result's shape. Sums wrap around at 32 bits, and the bytes of the result do not depend on the kernel or the
 * number of threads, as there; flags and workspace mean what they do there.
 *
 * In the matrices rows, cols, type and stride may be 0, for what the plan says; but the result has to have a type.
 *
 * @param context      as in qgemm_gemm()
 * @param plan         the filter and the size of images
 * @param image        the images, row-major; their offset uniform
 * @param weights      the weights, packed by qgemm_conv_pack(), or as they would be given to it; their offset uniform or
 *                     QGEMM_PER_COL
 * @param result       where the result goes, row-major
 * @param stages       as in qgemm_gemm()
 * @param stage_count  as in qgemm_gemm()
 * @param options      as in qgemm_gemm(), without a bit_depth; NULL for none
 * @return QGEMM_STATUS_OK, or why nothing was written: as qgemm_gemm(); PARAMETER (there is padding, and the image's zero point is
 *         no number of its type), OPTION (a matrix is column-major, a bit_depth, or weights that were packed with groups);
 *         details in qgemm_last_error()
 *
 * @pre As for qgemm_gemm(); plan was not freed.
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_run(const struct qgemm_context *context,
                            const struct qgemm_conv_plan *plan,
                            const struct qgemm_operand *image,
                            const struct qgemm_operand *weights,
                            const struct qgemm_result *result,
                            const struct qgemm_stage *stages,
                            size_t stage_count,
                            const struct qgemm_gemm_options *options);

/**
 * How much memory a convolution needs to work in: for callers who bring their own. As qgemm_gemm_workspace_size().
 *
 * @param context  as in qgemm_conv_run()
 * @param plan     as in qgemm_conv_run()
 * @param image    as in qgemm_conv_run(); the elements are not read
 * @param weights  as in qgemm_conv_run(); the elements are not read
 * @param result   as in qgemm_conv_run(); nothing is written
 * @param size     receives the number of bytes
 * @return QGEMM_STATUS_OK, or why size was not written; details in qgemm_last_error()
 *
 * @pre As for qgemm_conv_run().
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_workspace_size(const struct qgemm_context *context,
                                       const struct qgemm_conv_plan *plan,
                                       const struct qgemm_operand *image,
                                       const struct qgemm_operand *weights,
                                       const struct qgemm_result *result,
                                       size_t *size);

/**
 * Prepares a product: qgemm_gemm() with all of its arguments but the elements.
 *
 * What the arguments point at has to stay where and as it is until the prepared call is freed, the structs themselves excepted:
 * the context, packed operands, and the values of offsets and stages. Tensors that stages read (residuals and the like) have to
 * stay where they are, and are read by each run.
 *
 * @param context      as in qgemm_gemm(); freed after the prepared call
 * @param lhs          as in qgemm_gemm(). Its data is used by runs that are given none; it may be NULL
 * @param rhs          as in qgemm_gemm(); its data likewise
 * @param result       as in qgemm_gemm(); its data likewise
 * @param stages       as in qgemm_gemm()
 * @param stage_count  as in qgemm_gemm()
 * @param options      as in qgemm_gemm(). Whether sums overflow is judged here, whether elements are in range by each run. If there is
 *                     a workspace, each run uses it, so that no two may be under way at once
 * @param prepared     receives the prepared call
 * @return QGEMM_STATUS_OK, or why prepared was not written: as qgemm_gemm(), but for OVERLAP and RANGE; details in qgemm_last_error()
 *
 * @pre As for qgemm_gemm(), for the time that is said above.
 */
QGEMM_NODISCARD
qgemm_status qgemm_gemm_prepare(const struct qgemm_context *context,
                                const struct qgemm_operand *lhs,
                                const struct qgemm_operand *rhs,
                                const struct qgemm_result *result,
                                const struct qgemm_stage *stages,
                                size_t stage_count,
                                const struct qgemm_gemm_options *options,
                                struct qgemm_prepared **prepared);

/**
 * Prepares a convolution: qgemm_conv_run() with all of its arguments but the elements.
 *
 * What the arguments point at has to stay as qgemm_gemm_prepare() says, and so does the plan. Weights had better be packed by
 * qgemm_conv_pack(), those of a depthwise convolution, too: they are made ready here, so that no run has to.
 *
 * @param context      as in qgemm_conv_run(); freed after the prepared call
 * @param plan         as in qgemm_conv_run(); freed after the prepared call
 * @param image        as in qgemm_conv_run(). Its data is used by runs that are given none; it may be NULL
 * @param weights      as in qgemm_conv_run(); their data likewise
 * @param result       as in qgemm_conv_run(); its data likewise
 * @param stages       as in qgemm_conv_run()
 * @param stage_count  as in qgemm_conv_run()
 * @param options      as in qgemm_conv_run(), and as qgemm_gemm_prepare() says
 * @param prepared     receives the prepared call
 * @return QGEMM_STATUS_OK, or why prepared was not written: as qgemm_conv_run(), but for OVERLAP and RANGE; details in
 *         qgemm_last_error()
 *
 * @pre As for qgemm_conv_run(), for the time that is said at qgemm_gemm_prepare().
 */
QGEMM_NODISCARD
qgemm_status qgemm_conv_prepare(const struct qgemm_context *context,
                                const struct qgemm_conv_plan *plan,
                                const struct qgemm_operand *image,
                                const struct qgemm_operand *weights,
                                const struct qgemm_result *result,
                                const struct qgemm_stage *stages,
                                size_t stage_count,
                                const struct qgemm_gemm_options *options,
                                struct qgemm_prepared **prepared);

/**
 * Runs a prepared call: computes what qgemm_gemm() or qgemm_conv_run() would of the arguments that it was made with and these elements.
 *
 * @param prepared  the prepared call
 * @param lhs       the elements of lhs, or of the image; NULL for those that it was prepared with, or if they are packed
 * @param rhs       the elements of rhs, or the weights; NULL likewise
 * @param result    where the result goes; NULL for the place that it was prepared with
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER (there are no elements, here or there), OPTION (elements beside
 *         packed ones), ALIGNMENT (of result), TOO_LARGE, OVERLAP, RANGE (if asked for), WORKSPACE (the number of threads has
 *         changed), OUT_OF_MEMORY; details in qgemm_last_error()
 *
 * @pre prepared was not freed. The elements reach as far as its sizes and strides say, and nobody writes to them, or reads the
 * result, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_prepared_run(const struct qgemm_prepared *prepared,
                                const void *lhs,
                                const void *rhs,
                                void *result);

/**
 * Frees a prepared call.
 *
 * @param prepared  what qgemm_gemm_prepare() or qgemm_conv_prepare() made, or NULL, which does nothing
 *
 * @pre No run of it is under way, and none is begun again.
 */
void qgemm_prepared_free(struct qgemm_prepared *prepared);

/**
 * Makes a context. Threads of its own start at once, and sleep between products. Should the system refuse to start so
 * many, there are fewer.
 *
 * @param options  what it is to be like; NULL for one thread, as QGEMM_CONTEXT_OPTIONS_INIT says
 * @param context  where to write its address
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER (context), ALIGNMENT, STRUCT_SIZE, THREADS
 *         (negative), OPTION (reserved is not 0), UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre As long as the context is there, parallel_for does what is said at qgemm_parallel_for, whatever thread calls it.
 */
QGEMM_NODISCARD
qgemm_status qgemm_context_create(const struct qgemm_context_options *options, struct qgemm_context **context);

/**
 * Frees a context, and returns when its threads have ended.
 *
 * @param context  what qgemm_context_create() made, or NULL, which does nothing
 *
 * @pre No call that was given the context is under way, and none is given it again.
 */
void qgemm_context_free(struct qgemm_context *context);

/**
 * Sets how many threads a later product may use, the calling one included: 1 at first, as in gemmlowp; 0 for one on
 * each processor that this process may run on; at most 256.
 *
 * The threads are private to libqgemm, start when first needed, and sleep between products. The number changes no
 * result. May be called at any time, also while other threads multiply: their calls go on with what they have. A call
 * that finds the threads busy with another thread's product does its work alone.
 *
 * @param max_num_threads  how many threads, at least 0
 * @return QGEMM_STATUS_THREADS if negative
 */
QGEMM_NODISCARD
qgemm_status qgemm_set_max_num_threads(int32_t max_num_threads);

/**
 * Ends libqgemm's threads and frees its scratch memory, which otherwise lasts from call to call, but for 8 KiB that each
 * calling thread keeps until it ends. The next product starts them anew; the number of threads that was set stays. May be
 * called at any time: products that are under way on other threads finish first. Harmless if there is nothing to free.
 */
void qgemm_free_persistent_resources(void);

/**
 * Multiplies two matrices of bytes and scales the result down to bytes: gemmlowp's EightBitIntGemm, to the byte if
 * bit_depth is QGEMM_A8B8.
 *
 *     acc(i,j) = sum over l of (a(i,l) + a_offset) * (b(l,j) + b_offset)
 *     c(i,j)   = clamp((acc(i,j) + c_offset) * c_mult_int / 2^c_shift, 0, 255)
 *
 * a is m x k, b is k x n, c is m x n. All arithmetic is on int32_t and wraps around, up to and including the product by
 * c_mult_int; the division rounds to nearest, ties away from zero.
 *
 * "Transposed" is only a storage order, as in gemmlowp: 0 means column-major (the elements of a column are contiguous,
 * and lda elements lie between the starts of two columns), anything else row-major (and lda lies between rows). A stride
 * is ignored where there is only one such column or row. Strides of a and b may be shorter than a column or row, so that
 * these overlap; a and b may overlap each other. Nothing but the m x n elements of c is written, nothing but the
 * elements of a and b read.
 *
 * If m, n or k is 0, c is left as it is, also where k alone is 0, as in gemmlowp. A pointer may be null if its matrix
 * has no elements. May be called by several threads at once.
 *
 * @param transpose_a  storage order of a: 0 column-major, else row-major
 * @param transpose_b  storage order of b
 * @param transpose_c  storage order of c
 * @param m            rows of a and c, at least 0
 * @param n            columns of b and c, at least 0
 * @param k            columns of a and rows of b, at least 0; beyond 33025 the sum may wrap around
 * @param a            left-hand matrix
 * @param a_offset     added to every element of a: minus its zero point
 * @param lda          elements from one column (row) of a to the next, at least 0
 * @param b            right-hand matrix
 * @param b_offset     added to every element of b: minus its zero point
 * @param ldb          elements from one column (row) of b to the next, at least 0
 * @param c            the result
 * @param c_offset     added to every sum
 * @param c_mult_int   what that is multiplied by
 * @param c_shift      what power of two that is divided by: 0 to 31
 * @param ldc          elements from one column (row) of c to the next, at least the length of one
 * @param bit_depth    QGEMM_A8B8 or QGEMM_A5B7
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, SHAPE, STRIDE, SHIFT_RANGE, BIT_DEPTH, TOO_LARGE,
 *         OVERLAP (c overlaps a or b), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre a, b and c reach as far as the sizes and strides say, and nobody writes to them, or reads c, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_eight_bit_int_gemm_u8(int32_t transpose_a,
                                         int32_t transpose_b,
                                         int32_t transpose_c,
                                         int32_t m,
                                         int32_t n,
                                         int32_t k,
                                         const uint8_t *a,
                                         int32_t a_offset,
                                         int32_t lda,
                                         const uint8_t *b,
                                         int32_t b_offset,
                                         int32_t ldb,
                                         uint8_t *c,
                                         int32_t c_offset,
                                         int32_t c_mult_int,
                                         int32_t c_shift,
                                         int32_t ldc,
                                         uint32_t bit_depth);

/**
 * Multiplies two matrices of bytes into one of floats: gemmlowp's EightBitIntGemm for float results.
 *
 *     acc(i,j) = sum over l of (a(i,l) + a_offset) * (b(l,j) + b_offset)
 *     c(i,j)   = (float)acc(i,j) * c_scale
 *
 * As qgemm_eight_bit_int_gemm_u8() in all else. Two roundings, each to nearest even: of the sum to float, of the product
 * by the scale. The scale is what gemmlowp calls c_offset. If k is 0, the sums are 0 and c is written.
 *
 * @param transpose_a  storage order of a: 0 column-major, else row-major
 * @param transpose_b  storage order of b
 * @param transpose_c  storage order of c
 * @param m            rows of a and c, at least 0
 * @param n            columns of b and c, at least 0
 * @param k            columns of a and rows of b, at least 0; beyond 33025 the sum may wrap around
 * @param a            left-hand matrix
 * @param a_offset     added to every element of a: minus its zero point
 * @param lda          elements from one column (row) of a to the next, at least 0
 * @param b            right-hand matrix
 * @param b_offset     added to every element of b: minus its zero point
 * @param ldb          elements from one column (row) of b to the next, at least 0
 * @param c            the result, at an address that is a multiple of 4
 * @param c_scale      what every sum is multiplied by
 * @param ldc          elements from one column (row) of c to the next, at least the length of one
 * @param bit_depth    QGEMM_A8B8 or QGEMM_A5B7
 * @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE, STRIDE, BIT_DEPTH, TOO_LARGE,
 *         OVERLAP (c overlaps a or b), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
 *
 * @pre a, b and c reach as far as the sizes and strides say, and nobody writes to them, or reads c, during the call.
 */
QGEMM_NODISCARD
qgemm_status qgemm_eight_bit_int_gemm_f32(int32_t transpose_a,
                                          int32_t transpose_b,
                                          int32_t transpose_c,
                                          int32_t m,
                                          int32_t n,
                                          int32_t k,
                                          const uint8_t *a,
                                          int32_t a_offset,
                                          int32_t lda,
                                          const uint8_t *b,
                                          int32_t b_offset,
                                          int32_t ldb,
                                          float *c,
                                          float c_scale,
                                          int32_t ldc,
                                          uint32_t bit_depth);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QGEMM_QGEMM_H */
