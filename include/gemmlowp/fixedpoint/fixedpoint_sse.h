// The raw operations on 128-bit vectors of x86, with SSE4.1: __m128i holds four 32-bit integers, and int16x8_m128i,
// to be told from it, eight 16-bit ones.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_FIXEDPOINT_SSE_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_FIXEDPOINT_SSE_H
#define QGEMM_GEMMLOWP_FIXEDPOINT_SSE_H

#include <smmintrin.h>

#include "fixedpoint.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
// __m128i as a template argument loses attributes that do not matter there.
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace gemmlowp {
inline namespace by_libqgemm {

struct int16x8_m128i {
  __m128i v;
};

inline int16x8_m128i to_int16x8_m128i(__m128i w) {
  int16x8_m128i result;
  result.v = w;
  return result;
}

// ---- Four 32-bit integers ----

template <>
struct FixedPointRawTypeTraits<__m128i> {
  typedef std::int32_t ScalarRawType;
  static constexpr int kLanes = 4;
};

template <>
inline __m128i Dup<__m128i>(std::int32_t x) {
  return _mm_set1_epi32(x);
}

template <>
inline __m128i BitAnd(__m128i a, __m128i b) {
  return _mm_and_si128(a, b);
}

template <>
inline __m128i BitOr(__m128i a, __m128i b) {
  return _mm_or_si128(a, b);
}

template <>
inline __m128i BitXor(__m128i a, __m128i b) {
  return _mm_xor_si128(a, b);
}

template <>
inline __m128i Add(__m128i a, __m128i b) {
  return _mm_add_epi32(a, b);
}

template <>
inline __m128i Sub(__m128i a, __m128i b) {
  return _mm_sub_epi32(a, b);
}

template <>
inline __m128i Mul(__m128i a, __m128i b) {
  return _mm_mullo_epi32(a, b);
}

template <>
inline __m128i ShiftRight(__m128i a, int offset) {
  return _mm_sra_epi32(a, _mm_cvtsi32_si128(offset));
}

template <>
inline __m128i MaskIfEqual(__m128i a, __m128i b) {
  return _mm_cmpeq_epi32(a, b);
}

template <>
inline __m128i MaskIfGreaterThan(__m128i a, __m128i b) {
  return _mm_cmpgt_epi32(a, b);
}

template <>
inline __m128i SelectUsingMask(__m128i if_mask, __m128i then_val, __m128i else_val) {
  return _mm_or_si128(_mm_and_si128(if_mask, then_val), _mm_andnot_si128(if_mask, else_val));
}

template <>
inline __m128i ShiftLeft(__m128i a, int offset) {
  return SaturatedShift(a, _mm_sll_epi32(a, _mm_cvtsi32_si128(offset)), offset);
}

template <>
inline bool All(__m128i a) {
  return _mm_movemask_epi8(_mm_cmpeq_epi32(a, _mm_setzero_si128())) == 0;
}

template <>
inline bool Any(__m128i a) {
  return _mm_testz_si128(a, a) == 0;
}

template <>
inline __m128i SaturatingRoundingDoublingHighMul(__m128i a, __m128i b) {
  // 64-bit products of the even and of the odd lanes; the 32 bits from bit 31 on are the result.
  const __m128i half = _mm_set1_epi64x(std::int64_t{1} << 30);
  const __m128i even = _mm_add_epi64(_mm_mul_epi32(a, b), half);
  const __m128i odd = _mm_add_epi64(_mm_mul_epi32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32)), half);
  const __m128i result = _mm_blend_epi16(_mm_srli_epi64(even, 31), _mm_add_epi64(odd, odd), 0xCC);
  // The minimum comes from nothing but the overflow of minimum times minimum: make it the maximum.
  const __m128i minimum = _mm_set1_epi32(std::numeric_limits<std::int32_t>::min());
  return _mm_xor_si128(result, _mm_cmpeq_epi32(result, minimum));
}

// ---- Eight 16-bit integers ----

template <>
struct FixedPointRawTypeTraits<int16x8_m128i> {
  typedef std::int16_t ScalarRawType;
  static constexpr int kLanes = 8;
};

template <>
inline int16x8_m128i Dup<int16x8_m128i>(std::int16_t x) {
  return to_int16x8_m128i(_mm_set1_epi16(x));
}

template <>
inline int16x8_m128i BitAnd(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_and_si128(a.v, b.v));
}

template <>
inline int16x8_m128i BitOr(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_or_si128(a.v, b.v));
}

template <>
inline int16x8_m128i BitXor(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_xor_si128(a.v, b.v));
}

template <>
inline int16x8_m128i Add(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_add_epi16(a.v, b.v));
}

template <>
inline int16x8_m128i Sub(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_sub_epi16(a.v, b.v));
}

template <>
inline int16x8_m128i Mul(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_mullo_epi16(a.v, b.v));
}

template <>
inline int16x8_m128i ShiftRight(int16x8_m128i a, int offset) {
  return to_int16x8_m128i(_mm_sra_epi16(a.v, _mm_cvtsi32_si128(offset)));
}

template <>
inline int16x8_m128i MaskIfEqual(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_cmpeq_epi16(a.v, b.v));
}

template <>
inline int16x8_m128i MaskIfGreaterThan(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_cmpgt_epi16(a.v, b.v));
}

template <>
inline int16x8_m128i SelectUsingMask(int16x8_m128i if_mask, int16x8_m128i then_val, int16x8_m128i else_val) {
  return to_int16x8_m128i(SelectUsingMask(if_mask.v, then_val.v, else_val.v));
}

template <>
inline int16x8_m128i ShiftLeft(int16x8_m128i a, int offset) {
  return SaturatedShift(a, to_int16x8_m128i(_mm_sll_epi16(a.v, _mm_cvtsi32_si128(offset))), offset);
}

template <>
inline bool All(int16x8_m128i a) {
  return _mm_movemask_epi8(_mm_cmpeq_epi16(a.v, _mm_setzero_si128())) == 0;
}

template <>
inline bool Any(int16x8_m128i a) {
  return Any(a.v);
}

template <>
inline int16x8_m128i SaturatingAdd(int16x8_m128i a, int16x8_m128i b) {
  return to_int16x8_m128i(_mm_adds_epi16(a.v, b.v));
}

template <>
inline int16x8_m128i SaturatingRoundingDoublingHighMul(int16x8_m128i a, int16x8_m128i b) {
  // As in 32 bits, the minimum is an overflow.
  const __m128i result = _mm_mulhrs_epi16(a.v, b.v);
  const __m128i minimum = _mm_set1_epi16(std::numeric_limits<std::int16_t>::min());
  return to_int16x8_m128i(_mm_xor_si128(result, _mm_cmpeq_epi16(result, minimum)));
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#endif
