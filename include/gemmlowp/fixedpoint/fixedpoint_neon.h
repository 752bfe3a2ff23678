// The raw operations on 128-bit vectors of Arm: int32x4_t and int16x8_t.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_FIXEDPOINT_NEON_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_FIXEDPOINT_NEON_H
#define QGEMM_GEMMLOWP_FIXEDPOINT_NEON_H

#include <arm_neon.h>

#include "fixedpoint.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// ---- Four 32-bit integers ----

template <>
struct FixedPointRawTypeTraits<int32x4_t> {
  typedef std::int32_t ScalarRawType;
  static constexpr int kLanes = 4;
};

template <>
inline int32x4_t Dup<int32x4_t>(std::int32_t x) {
  return vdupq_n_s32(x);
}

template <>
inline int32x4_t BitAnd(int32x4_t a, int32x4_t b) {
  return vandq_s32(a, b);
}

template <>
inline int32x4_t BitOr(int32x4_t a, int32x4_t b) {
  return vorrq_s32(a, b);
}

template <>
inline int32x4_t BitXor(int32x4_t a, int32x4_t b) {
  return veorq_s32(a, b);
}

template <>
inline int32x4_t Add(int32x4_t a, int32x4_t b) {
  return vaddq_s32(a, b);
}

template <>
inline int32x4_t Sub(int32x4_t a, int32x4_t b) {
  return vsubq_s32(a, b);
}

template <>
inline int32x4_t Mul(int32x4_t a, int32x4_t b) {
  return vmulq_s32(a, b);
}

template <>
inline int32x4_t ShiftLeft(int32x4_t a, int32x4_t offset) {
  return vqshlq_s32(a, offset);
}

template <>
inline int32x4_t ShiftLeft(int32x4_t a, int offset) {
  return vqshlq_s32(a, vdupq_n_s32(static_cast<std::int32_t>(offset)));
}

template <>
inline int32x4_t ShiftRight(int32x4_t a, int offset) {
  return vshlq_s32(a, vdupq_n_s32(static_cast<std::int32_t>(-offset)));
}

template <>
inline int32x4_t MaskIfEqual(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_u32(vceqq_s32(a, b));
}

template <>
inline int32x4_t MaskIfGreaterThan(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_u32(vcgtq_s32(a, b));
}

template <>
inline int32x4_t SelectUsingMask(int32x4_t if_mask, int32x4_t then_val, int32x4_t else_val) {
  return vbslq_s32(vreinterpretq_u32_s32(if_mask), then_val, else_val);
}

template <>
inline bool Any(int32x4_t a) {
  const uint32x4_t bits = vreinterpretq_u32_s32(a);
  const uint32x2_t halves = vorr_u32(vget_low_u32(bits), vget_high_u32(bits));
  return (vget_lane_u32(halves, 0) | vget_lane_u32(halves, 1)) != 0;
}

template <>
inline bool All(int32x4_t a) {
  return !Any(MaskIfZero(a));
}

template <>
inline int32x4_t SaturatingRoundingDoublingHighMul(int32x4_t a, int32x4_t b) {
  return vqrdmulhq_s32(a, b);
}

// With an exponent for each lane. The shift rounds ties up; one less, where x is negative and is shifted at all, rounds
// them down. The minimum has no less, and is no tie.
template <>
inline int32x4_t RoundingDivideByPOT(int32x4_t x, int32x4_t exponent) {
  const int32x4_t left = vnegq_s32(exponent);
  const int32x4_t less = vshrq_n_s32(vandq_s32(x, left), 31);
  return vrshlq_s32(vqaddq_s32(x, less), left);
}

template <>
inline int32x4_t RoundingDivideByPOT(int32x4_t x, int exponent) {
  return RoundingDivideByPOT(x, vdupq_n_s32(static_cast<std::int32_t>(exponent)));
}

// ---- Eight 16-bit integers ----

template <>
struct FixedPointRawTypeTraits<int16x8_t> {
  typedef std::int16_t ScalarRawType;
  static constexpr int kLanes = 8;
};

template <>
inline int16x8_t Dup<int16x8_t>(std::int16_t x) {
  return vdupq_n_s16(x);
}

template <>
inline int16x8_t BitAnd(int16x8_t a, int16x8_t b) {
  return vandq_s16(a, b);
}

template <>
inline int16x8_t BitOr(int16x8_t a, int16x8_t b) {
  return vorrq_s16(a, b);
}

template <>
inline int16x8_t BitXor(int16x8_t a, int16x8_t b) {
  return veorq_s16(a, b);
}

template <>
inline int16x8_t Add(int16x8_t a, int16x8_t b) {
  return vaddq_s16(a, b);
}

template <>
inline int16x8_t Sub(int16x8_t a, int16x8_t b) {
  return vsubq_s16(a, b);
}

template <>
inline int16x8_t Mul(int16x8_t a, int16x8_t b) {
  return vmulq_s16(a, b);
}

template <>
inline int16x8_t ShiftLeft(int16x8_t a, int16x8_t offset) {
  return vqshlq_s16(a, offset);
}

template <>
inline int16x8_t ShiftLeft(int16x8_t a, int offset) {
  return vqshlq_s16(a, vdupq_n_s16(static_cast<std::int16_t>(offset)));
}

template <>
inline int16x8_t ShiftRight(int16x8_t a, int offset) {
  return vshlq_s16(a, vdupq_n_s16(static_cast<std::int16_t>(-offset)));
}

template <>
inline int16x8_t MaskIfEqual(int16x8_t a, int16x8_t b) {
  return vreinterpretq_s16_u16(vceqq_s16(a, b));
}

template <>
inline int16x8_t MaskIfGreaterThan(int16x8_t a, int16x8_t b) {
  return vreinterpretq_s16_u16(vcgtq_s16(a, b));
}

template <>
inline int16x8_t SelectUsingMask(int16x8_t if_mask, int16x8_t then_val, int16x8_t else_val) {
  return vbslq_s16(vreinterpretq_u16_s16(if_mask), then_val, else_val);
}

template <>
inline bool Any(int16x8_t a) {
  return Any(vreinterpretq_s32_s16(a));
}

template <>
inline bool All(int16x8_t a) {
  return !Any(MaskIfZero(a));
}

template <>
inline int16x8_t SaturatingAdd(int16x8_t a, int16x8_t b) {
  return vqaddq_s16(a, b);
}

template <>
inline int16x8_t SaturatingRoundingDoublingHighMul(int16x8_t a, int16x8_t b) {
  return vqrdmulhq_s16(a, b);
}

// With an exponent for each lane. The shift rounds ties up; one less, where x is negative and is shifted at all, rounds
// them down. The minimum has no less, and is no tie.
template <>
inline int16x8_t RoundingDivideByPOT(int16x8_t x, int16x8_t exponent) {
  const int16x8_t left = vnegq_s16(exponent);
  const int16x8_t less = vshrq_n_s16(vandq_s16(x, left), 15);
  return vrshlq_s16(vqaddq_s16(x, less), left);
}

template <>
inline int16x8_t RoundingDivideByPOT(int16x8_t x, int exponent) {
  return RoundingDivideByPOT(x, vdupq_n_s16(static_cast<std::int16_t>(exponent)));
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
