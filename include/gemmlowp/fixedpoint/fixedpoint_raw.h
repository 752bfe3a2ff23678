// Arithmetic on the integers that hold fixed-point numbers: one integer, or a vector of them.
//
// The first half is what each type defines for itself: here for signed integers, in fixedpoint_sse.h and its neighbours
// for vectors. The second half is built from the first and works on every type, lane by lane.
//
// A mask is an integer with all bits set, for true, or none, for false.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_FIXEDPOINT_RAW_H
#define QGEMM_GEMMLOWP_FIXEDPOINT_RAW_H

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gemmlowp {
inline namespace by_libqgemm {

// The integer in a lane of `T`, and the number of lanes. Specialize it, and the first half, for further types.
template <typename T>
struct FixedPointRawTypeTraits {};

template <>
struct FixedPointRawTypeTraits<std::int32_t> {
  typedef std::int32_t ScalarRawType;
  static constexpr int kLanes = 1;
};

template <>
struct FixedPointRawTypeTraits<std::int16_t> {
  typedef std::int16_t ScalarRawType;
  static constexpr int kLanes = 1;
};

// ---- What each type defines ----

// `x` in every lane.
template <typename T>
T Dup(typename FixedPointRawTypeTraits<T>::ScalarRawType x) {
  return x;
}

template <typename T>
T BitAnd(T a, T b) {
  return static_cast<T>(a & b);
}

template <typename T>
T BitOr(T a, T b) {
  return static_cast<T>(a | b);
}

template <typename T>
T BitXor(T a, T b) {
  return static_cast<T>(a ^ b);
}

// a + b, wrapping.
template <typename T>
T Add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// a - b, wrapping.
template <typename T>
T Sub(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// a * b, wrapping.
template <typename T>
T Mul(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// a * 2^offset, saturating; offset >= 0.
template <typename T, typename Offset>
T ShiftLeft(T a, Offset offset) {
  const int wanted = static_cast<int>(offset);
  assert(wanted >= 0);
  // Shifted by all bits but the sign, whatever is not 0 has reached its limit.
  const int bits = std::min(wanted, static_cast<int>(8 * sizeof(T)) - 1);
  const T max = std::numeric_limits<T>::max();
  const T min = std::numeric_limits<T>::min();
  if (a > (max >> bits)) return max;
  if (a < (min >> bits)) return min;
  return static_cast<T>(static_cast<std::uint64_t>(a) << bits);
}

// floor(a / 2^offset); offset 0 to the number of bits, less one.
template <typename T>
T ShiftRight(T a, int offset) {
  return static_cast<T>(a >> offset);
}

template <typename T>
T MaskIfEqual(T a, T b) {
  return static_cast<T>(a == b ? -1 : 0);
}

template <typename T>
T MaskIfGreaterThan(T a, T b) {
  return static_cast<T>(a > b ? -1 : 0);
}

// Whether all lanes are nonzero.
template <typename T>
bool All(T a) {
  return a != 0;
}

// Whether a lane is nonzero.
template <typename T>
bool Any(T a) {
  return a != 0;
}

// a + b, saturating. For 8-bit and 16-bit integers only.
template <typename T>
T SaturatingAdd(T, T) {
  static_assert(std::is_same<T, void>::value, "SaturatingAdd is for std::int8_t and std::int16_t");
}

template <>
inline std::int16_t SaturatingAdd(std::int16_t a, std::int16_t b) {
  return static_cast<std::int16_t>(std::min(std::max(a + b, -32768), 32767));
}

template <>
inline std::int8_t SaturatingAdd(std::int8_t a, std::int8_t b) {
  return static_cast<std::int8_t>(std::min(std::max(a + b, -128), 127));
}

// The product of two fixed-point fractions. For integers of n bits it is floor((a b + 2^(n-2)) / 2^(n-1)): ties go up.
// Both minimal, which is -1 times -1, gives the maximum.
template <typename T>
T SaturatingRoundingDoublingHighMul(T, T) {
  static_assert(std::is_same<T, void>::value,
                "SaturatingRoundingDoublingHighMul is for std::int16_t and std::int32_t");
}

template <>
inline std::int32_t SaturatingRoundingDoublingHighMul(std::int32_t a, std::int32_t b) {
  const std::int64_t rounded = (static_cast<std::int64_t>(a) * b + (std::int64_t{1} << 30)) >> 31;
  return static_cast<std::int32_t>(std::min<std::int64_t>(rounded, std::numeric_limits<std::int32_t>::max()));
}

template <>
inline std::int16_t SaturatingRoundingDoublingHighMul(std::int16_t a, std::int16_t b) {
  const std::int32_t rounded = (std::int32_t{a} * b + (1 << 14)) >> 15;
  return static_cast<std::int16_t>(std::min(rounded, 32767));
}

// ---- What follows for all types ----

template <typename T>
T BitNot(T a) {
  return BitXor(a, MaskIfEqual(a, a));
}

// -a, wrapping.
template <typename T>
T Neg(T a) {
  return Sub(BitXor(a, a), a);
}

// The bits of `then_val` where the mask is set, of `else_val` elsewhere.
template <typename T>
T SelectUsingMask(T if_mask, T then_val, T else_val) {
  return BitXor(else_val, BitAnd(if_mask, BitXor(then_val, else_val)));
}

template <typename T>
T MaskIfZero(T a) {
  return MaskIfEqual(a, BitXor(a, a));
}

template <typename T>
T MaskIfNonZero(T a) {
  return BitNot(MaskIfZero(a));
}

template <typename T>
T MaskIfNotEqual(T a, T b) {
  return BitNot(MaskIfEqual(a, b));
}

template <typename T>
T MaskIfLessThan(T a, T b) {
  return MaskIfGreaterThan(b, a);
}

template <typename T>
T MaskIfGreaterThanOrEqual(T a, T b) {
  return BitNot(MaskIfGreaterThan(b, a));
}

template <typename T>
T MaskIfLessThanOrEqual(T a, T b) {
  return BitNot(MaskIfGreaterThan(a, b));
}

// (a + b) / 2, rounded to nearest, ties away from zero. Nothing overflows.
template <typename T>
T RoundingHalfSum(T a, T b) {
  const T differing = BitXor(a, b);
  const T floor = Add(BitAnd(a, b), ShiftRight(differing, 1));
  // Odd sums lie between `floor` and the next integer: up for those above zero, down for those below.
  const T odd = BitAnd(differing, Dup<T>(1));
  return Add(floor, BitAnd(odd, MaskIfGreaterThanOrEqual(floor, Dup<T>(0))));
}

template <typename T, bool Is16Bit>
struct AddSaturatingIf16BitImpl {
  static T Run(T a, T b) { return Add(a, b); }
};

template <typename T>
struct AddSaturatingIf16BitImpl<T, true> {
  static T Run(T a, T b) { return SaturatingAdd(a, b); }
};

// a + b, saturating in 16 bits and wrapping in 32.
template <typename T>
T AddSaturatingIf16Bit(T a, T b) {
  return AddSaturatingIf16BitImpl<T, sizeof(typename FixedPointRawTypeTraits<T>::ScalarRawType) == 2>::Run(a, b);
}

// x / 2^exponent, rounded to nearest, ties away from zero; exponent 0 to 31, or to 15 for 16-bit integers.
template <typename T, typename Exponent>
inline T RoundingDivideByPOT(T x, Exponent exponent) {
  typedef typename FixedPointRawTypeTraits<T>::ScalarRawType Scalar;
  assert(exponent >= 0);
  assert(exponent <= 31);
  const T low_bits = Dup<T>(static_cast<Scalar>((std::int64_t{1} << exponent) - 1));
  // Just below a half; at a half for negative x, whose ties stay down. A mask is -1.
  const T threshold = Sub(ShiftRight(low_bits, 1), MaskIfLessThan(x, Dup<T>(0)));
  return Sub(ShiftRight(x, exponent), MaskIfGreaterThan(BitAnd(x, low_bits), threshold));
}

template <int Exponent, typename T, int ExponentSign = (Exponent > 0) - (Exponent < 0)>
struct ImplSaturatingRoundingMultiplyByPOT {};

template <int Exponent, typename T>
struct ImplSaturatingRoundingMultiplyByPOT<Exponent, T, 0> {
  static T eval(T x) { return x; }
};

template <int Exponent, typename T>
struct ImplSaturatingRoundingMultiplyByPOT<Exponent, T, 1> {
  static T eval(T x) { return ShiftLeft(x, Exponent); }
};

template <int Exponent, typename T>
struct ImplSaturatingRoundingMultiplyByPOT<Exponent, T, -1> {
  static T eval(T x) { return RoundingDivideByPOT(x, -Exponent); }
};

// x * 2^Exponent: ShiftLeft or RoundingDivideByPOT.
template <int Exponent, typename T>
T SaturatingRoundingMultiplyByPOT(T x) {
  return ImplSaturatingRoundingMultiplyByPOT<Exponent, T>::eval(x);
}

// For the vector types: `shifted`, where shifting it back gives `a`; elsewhere the limit on the side of `a`.
template <typename T>
T SaturatedShift(T a, T shifted, int offset) {
  typedef typename FixedPointRawTypeTraits<T>::ScalarRawType Scalar;
  const T sign = ShiftRight(a, static_cast<int>(8 * sizeof(Scalar)) - 1);
  const T limit = BitXor(sign, Dup<T>(std::numeric_limits<Scalar>::max()));
  return SelectUsingMask(MaskIfEqual(ShiftRight(shifted, offset), a), shifted, limit);
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
