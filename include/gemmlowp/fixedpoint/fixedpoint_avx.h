// The raw operations on 256-bit vectors of x86, with AVX2: __m256i holds eight 32-bit integers, and int16x16_m256i,
// to be told from it, sixteen 16-bit ones. The 128-bit vectors are there too.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_FIXEDPOINT_AVX_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_FIXEDPOINT_AVX_H
#define QGEMM_GEMMLOWP_FIXEDPOINT_AVX_H

#include <immintrin.h>

#include "fixedpoint.h"
#include "fixedpoint_sse.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
// __m256i as a template argument loses attributes that do not matter there.
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace gemmlowp {
inline namespace by_libqgemm {

struct int16x16_m256i {
  __m256i v;
};

inline int16x16_m256i to_int16x16_m256i(__m256i w) {
  int16x16_m256i result;
  result.v = w;
  return result;
}

// ---- Eight 32-bit integers ----

template <>
struct FixedPointRawTypeTraits<__m256i> {
  typedef std::int32_t ScalarRawType;
  static constexpr int kLanes = 8;
};

template <>
inline __m256i Dup<__m256i>(std::int32_t x) {
  return _mm256_set1_epi32(x);
}

template <>
inline __m256i BitAnd(__m256i a, __m256i b) {
  return _mm256_and_si256(a, b);
}

template <>
inline __m256i BitOr(__m256i a, __m256i b) {
  return _mm256_or_si256(a, b);
}

template <>
inline __m256i BitXor(__m256i a, __m256i b) {
  return _mm256_xor_si256(a, b);
}

template <>
inline __m256i Add(__m256i a, __m256i b) {
  return _mm256_add_epi32(a, b);
}

template <>
inline __m256i Sub(__m256i a, __m256i b) {
  return _mm256_sub_epi32(a, b);
}

template <>
inline __m256i Mul(__m256i a, __m256i b) {
  return _mm256_mullo_epi32(a, b);
}

template <>
inline __m256i ShiftRight(__m256i a, int offset) {
  return _mm256_sra_epi32(a, _mm_cvtsi32_si128(offset));
}

template <>
inline __m256i MaskIfEqual(__m256i a, __m256i b) {
  return _mm256_cmpeq_epi32(a, b);
}

template <>
inline __m256i MaskIfGreaterThan(__m256i a, __m256i b) {
  return _mm256_cmpgt_epi32(a, b);
}

template <>
inline __m256i SelectUsingMask(__m256i if_mask, __m256i then_val, __m256i else_val) {
  return _mm256_or_si256(_mm256_and_si256(if_mask, then_val), _mm256_andnot_si256(if_mask, else_val));
}

template <>
inline __m256i ShiftLeft(__m256i a, int offset) {
  return SaturatedShift(a, _mm256_sll_epi32(a, _mm_cvtsi32_si128(offset)), offset);
}

template <>
inline bool All(__m256i a) {
  return _mm256_movemask_epi8(_mm256_cmpeq_epi32(a, _mm256_setzero_si256())) == 0;
}

template <>
inline bool Any(__m256i a) {
  return _mm256_testz_si256(a, a) == 0;
}

template <>
inline __m256i SaturatingRoundingDoublingHighMul(__m256i a, __m256i b) {
  // 64-bit products of the even and of the odd lanes; the 32 bits from bit 31 on are the result.
  const __m256i half = _mm256_set1_epi64x(std::int64_t{1} << 30);
  const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(a, b), half);
  const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)), half);
  const __m256i result = _mm256_blend_epi16(_mm256_srli_epi64(even, 31), _mm256_add_epi64(odd, odd), 0xCC);
  // The minimum comes from nothing but the overflow of minimum times minimum: make it the maximum.
  const __m256i minimum = _mm256_set1_epi32(std::numeric_limits<std::int32_t>::min());
  return _mm256_xor_si256(result, _mm256_cmpeq_epi32(result, minimum));
}

// ---- Sixteen 16-bit integers ----

template <>
struct FixedPointRawTypeTraits<int16x16_m256i> {
  typedef std::int16_t ScalarRawType;
  static constexpr int kLanes = 16;
};

template <>
inline int16x16_m256i Dup<int16x16_m256i>(std::int16_t x) {
  return to_int16x16_m256i(_mm256_set1_epi16(x));
}

template <>
inline int16x16_m256i BitAnd(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_and_si256(a.v, b.v));
}

template <>
inline int16x16_m256i BitOr(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_or_si256(a.v, b.v));
}

template <>
inline int16x16_m256i BitXor(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_xor_si256(a.v, b.v));
}

template <>
inline int16x16_m256i Add(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_add_epi16(a.v, b.v));
}

template <>
inline int16x16_m256i Sub(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_sub_epi16(a.v, b.v));
}

template <>
inline int16x16_m256i Mul(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_mullo_epi16(a.v, b.v));
}

template <>
inline int16x16_m256i ShiftRight(int16x16_m256i a, int offset) {
  return to_int16x16_m256i(_mm256_sra_epi16(a.v, _mm_cvtsi32_si128(offset)));
}

template <>
inline int16x16_m256i MaskIfEqual(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_cmpeq_epi16(a.v, b.v));
}

template <>
inline int16x16_m256i MaskIfGreaterThan(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_cmpgt_epi16(a.v, b.v));
}

template <>
inline int16x16_m256i SelectUsingMask(int16x16_m256i if_mask, int16x16_m256i then_val, int16x16_m256i else_val) {
  return to_int16x16_m256i(SelectUsingMask(if_mask.v, then_val.v, else_val.v));
}

template <>
inline int16x16_m256i ShiftLeft(int16x16_m256i a, int offset) {
  return SaturatedShift(a, to_int16x16_m256i(_mm256_sll_epi16(a.v, _mm_cvtsi32_si128(offset))), offset);
}

template <>
inline bool All(int16x16_m256i a) {
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(a.v, _mm256_setzero_si256())) == 0;
}

template <>
inline bool Any(int16x16_m256i a) {
  return Any(a.v);
}

template <>
inline int16x16_m256i SaturatingAdd(int16x16_m256i a, int16x16_m256i b) {
  return to_int16x16_m256i(_mm256_adds_epi16(a.v, b.v));
}

template <>
inline int16x16_m256i SaturatingRoundingDoublingHighMul(int16x16_m256i a, int16x16_m256i b) {
  // As in 32 bits, the minimum is an overflow.
  const __m256i result = _mm256_mulhrs_epi16(a.v, b.v);
  const __m256i minimum = _mm256_set1_epi16(std::numeric_limits<std::int16_t>::min());
  return to_int16x16_m256i(_mm256_xor_si256(result, _mm256_cmpeq_epi16(result, minimum)));
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif
