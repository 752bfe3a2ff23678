/**
 * @file qgemm.h
 * libqgemm: fast products of quantized matrices, exact to the bit.
 *
 * A quantized matrix has bytes for elements; the byte x stands for the number scale * (x - zero_point). libqgemm sums
 * products of such bytes exactly, modulo 2 to the 32, and then scales the sums down to bytes again, or to floats. The
 * results are those of gemmlowp's EightBitIntGemm, byte for byte, on every processor and for any number of threads.
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
 *     const uint8_t b[] = {7, 8, 9, 10, 11, 12};     // 3 x 2, row-major, zero point 0
 *     uint8_t c[4];                                  // 2 x 2, row-major: (a - 10) * b / 2
 *     qgemm_status status = qgemm_eight_bit_int_gemm_u8(1, 1, 1, 2, 2, 3, a, -10, 3, b, 0, 2,
 *                                                       c, 0, 1, 1, 2, QGEMM_A8B8);
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
 * **Sizes** are m, n and k: a is m x k, b is k x n, and c = a * b is m x n. Each may be 0.
 *
 * **Storage.** A matrix is row-major (the elements of a row are contiguous) or column-major (those of a column are).
 * **Strides** (lda, ldb, ldc) count elements, not bytes: from the start of one row to the start of the next, or of one
 * column to the next. They may be longer than a row or column; what lies in the gaps is neither read nor written.
 *
 * **Offsets** are added to elements. For a matrix with a zero point pass its negative: -128 for zero point 128.
 *
 * **Errors.** A function that can fail returns a qgemm_status. Arguments are checked before any memory is touched, so a
 * call that fails leaves its result as it was (QGEMM_STATUS_INTERNAL excepted). qgemm_status_message() says in a few
 * words what a status means, qgemm_last_error() which argument of this thread's last failed call was wrong, and how.
 * Wrong sizes, strides and null pointers never end the process; a pointer that reaches less far than it says may.
 *
 * **Threads.** Every function may be called by any thread at any time, also by several at once. A product runs on the
 * thread that calls it, and on no other unless qgemm_set_max_num_threads() has allowed more.
 *
 * **Environment.** QGEMM_ISA names a kernel to use in place of the best: see qgemm_kernel_name().
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef QGEMM_QGEMM_H
#define QGEMM_QGEMM_H

/* Rendered from src/capi/ by cbindgen: QGEMM_BLESS=1 cargo test --test header */

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

/** Bit depth setting: both operands with all their 8 bits, exact. */
#define QGEMM_A8B8 0

/**
 * Bit depth setting: gemmlowp's 7 bits for a and 5 bits for b. Accepted, and for now computed as QGEMM_A8B8, as
 * gemmlowp itself has done since 2017.
 */
#define QGEMM_A5B7 1

/**
 * Rounding of a scaled number: after the product, ties up, and after a shift to the right once more, ties away from zero.
 * As gemmlowp and TFLite's reference kernels.
 */
#define QGEMM_ROUND_TWICE 0

/**
 * Rounding of a scaled number: after the product, ties up, and after a shift to the right once more, ties up. As ruy on
 * x86 and TFLite's helpers for NEON.
 */
#define QGEMM_ROUND_TWICE_UP 1

/** Rounding of a scaled number: once, ties up. As ruy on Arm, TFLite with single rounding, XNNPACK in integers. */
#define QGEMM_ROUND_ONCE 2

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
    /** A pointer is null though its matrix has elements, or a result is to be written there. */
    QGEMM_STATUS_NULL_POINTER = 1,
    /** A dimension is negative. */
    QGEMM_STATUS_SHAPE = 2,
    /** A stride is shorter than the line it steps over. */
    QGEMM_STATUS_STRIDE = 3,
    /** A shift is outside 0 to 31. */
    QGEMM_STATUS_SHIFT_RANGE = 6,
    /** A matrix reaches beyond the address space. */
    QGEMM_STATUS_TOO_LARGE = 8,
    /** Memory for packing was not to be had. */
    QGEMM_STATUS_OUT_OF_MEMORY = 9,
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
    /** A parameter is out of its range. */
    QGEMM_STATUS_PARAMETER = 18,
    /** An option has no such value. */
    QGEMM_STATUS_OPTION = 22,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum qgemm_status qgemm_status;
#else
typedef int32_t qgemm_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that is running, as "MAJOR.MINOR.PATCH": a static string. QGEMM_VERSION is that of the
 * header.
 */
const char *qgemm_version(void);

/**
 * The kernel that multiplies: "avx512vnni", "avxvnni", "avx512bw", "avx2" or "scalar", a static string.
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
 * Multiplies two matrices of bytes and scales the result down to bytes: gemmlowp's EightBitIntGemm, to the byte.
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
 * @return QGEMM_STATUS_OK, or why nothing was written: PARAMETER (exponent), OPTION (rounding), NULL_POINTER
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
 * Ends libqgemm's threads and frees its scratch memory, which otherwise lasts from call to call. The next product starts
 * them anew; the number of threads that was set stays. May be called at any time: products that are under way on other
 * threads finish first. Harmless if there is nothing to free.
 */
void qgemm_free_persistent_resources(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QGEMM_QGEMM_H */
