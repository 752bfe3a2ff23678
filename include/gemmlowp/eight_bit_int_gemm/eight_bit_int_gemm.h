// gemmlowp's EightBitIntGemm, computed by libqgemm.
//
// A program written for gemmlowp's header of this name compiles unchanged: put the directory "gemmlowp" that holds this
// header before gemmlowp's in the include path, and link with libqgemm instead of libeight_bit_int_gemm. It gets the
// same bytes, sooner. The same directory serves #include "eight_bit_int_gemm/eight_bit_int_gemm.h"; its parent serves
// #include <gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h>.
//
// What differs:
//   - Calls from several threads run at the same time; gemmlowp has them wait for each other.
//   - FreePersistentResources() keeps the number of threads that was set; gemmlowp goes back to 1.
//   - The float overload with k = 0 writes zeros; gemmlowp writes what its scratch memory happens to hold.
//   - BitDepthSetting::A5B7 rounds a to 7 bits and b to 5, as gemmlowp did until 2017; since then it computes A8B8.
//   - Arguments with which gemmlowp would read or write where it must not end the program, and say why.
//
// Everything here is inline, needs C++11 and no exceptions, and is the same for all compiler flags.

#ifndef QGEMM_GEMMLOWP_EIGHT_BIT_INT_GEMM_H
#define QGEMM_GEMMLOWP_EIGHT_BIT_INT_GEMM_H

#ifdef GEMMLOWP_EIGHT_BIT_INT_GEMM_EIGHT_BIT_INT_GEMM_H_
#error "gemmlowp's own eight_bit_int_gemm.h is included already: use either that one or libqgemm's"
#endif

#include <cstdint>

#include <qgemm/qgemm.h>

#include "../libqgemm/abort.h"

namespace gemmlowp {
namespace eight_bit_int_gemm {
inline namespace by_libqgemm {

// How many bits of a and of b count: all 8 of both; or, in spite of the name, 7 of a and 5 of b. See QGEMM_A5B7 in qgemm.h,
// also for how to have what gemmlowp computes today.
enum class BitDepthSetting { A8B8, A5B7 };

// Multiplies bytes and scales the result down to bytes. For all arguments see qgemm_eight_bit_int_gemm_u8() in
// qgemm.h. In short: a is m x k, b is k x n and c is m x n; "transposed" means row-major, else column-major; offsets
// are added.
//
//   acc(i,j) = sum over l of (a(i,l) + a_offset) * (b(l,j) + b_offset), approximately with A5B7
//   c(i,j)   = clamp((acc(i,j) + c_offset) * c_mult_int / 2^c_shift, 0, 255)
inline void EightBitIntGemm(bool transpose_a, bool transpose_b, bool transpose_c, int m, int n, int k,
                            const std::uint8_t* a, std::int32_t a_offset, int lda,
                            const std::uint8_t* b, std::int32_t b_offset, int ldb,
                            std::uint8_t* c, std::int32_t c_offset, std::int32_t c_mult_int, std::int32_t c_shift,
                            int ldc, BitDepthSetting bit_depth) {
  libqgemm::AbortOnError(qgemm_eight_bit_int_gemm_u8(transpose_a, transpose_b, transpose_c, m, n, k, a, a_offset, lda,
                                                     b, b_offset, ldb, c, c_offset, c_mult_int, c_shift, ldc,
                                                     static_cast<std::uint32_t>(bit_depth)));
}

// Multiplies bytes into floats. What gemmlowp calls c_offset is a factor: c(i,j) = acc(i,j) * c_offset.
inline void EightBitIntGemm(bool transpose_a, bool transpose_b, bool transpose_c, int m, int n, int k,
                            const std::uint8_t* a, std::int32_t a_offset, int lda,
                            const std::uint8_t* b, std::int32_t b_offset, int ldb,
                            float* c, float c_offset, int ldc, BitDepthSetting bit_depth) {
  libqgemm::AbortOnError(qgemm_eight_bit_int_gemm_f32(transpose_a, transpose_b, transpose_c, m, n, k, a, a_offset, lda,
                                                      b, b_offset, ldb, c, c_offset, ldc,
                                                      static_cast<std::uint32_t>(bit_depth)));
}

// Sets how many threads a call may use: 1 at first, 0 for one on each processor.
inline void SetMaxNumThreads(int n) { libqgemm::AbortOnError(qgemm_set_max_num_threads(n)); }

// Ends the threads and frees the memory that are kept from call to call. The next call makes them anew.
inline void FreePersistentResources() { qgemm_free_persistent_resources(); }

}  // namespace by_libqgemm
}  // namespace eight_bit_int_gemm
}  // namespace gemmlowp

#endif  // QGEMM_GEMMLOWP_EIGHT_BIT_INT_GEMM_H
