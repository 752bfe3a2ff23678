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
 * thread that calls it, and on no other unless qgemm_set_max_num_threads() or the call's context allows more.
 *
 * **Environment.** QGEMM_ISA names a kernel to use in place of the best: see qgemm_kernel_name().
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

/** For a qgemm_context_options to begin with: one thread, the calling one. */
#define QGEMM_CONTEXT_OPTIONS_INIT {sizeof(qgemm_context_options), 1, 0, QGEMM_NULL, QGEMM_NULL}

/** Bit depth setting: both operands with all their 8 bits, exact. */
#define QGEMM_A8B8 0

/**
 * Bit depth setting: gemmlowp's 7 bits for a and 5 bits for b. Accepted, and for now computed as QGEMM_A8B8, as
 * gemmlowp itself has done since 2017.
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
    /** A workspace is too small. */
    QGEMM_STATUS_WORKSPACE = 19,
    /** An option has no such value, or what is reserved is not 0. */
    QGEMM_STATUS_OPTION = 22,
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
     * run on; at most 256.
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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QGEMM_QGEMM_H */
