// Fixed-point numbers: an integer and, in its type, the place of the binary point.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_FIXEDPOINT_NUMBER_H
#define QGEMM_GEMMLOWP_FIXEDPOINT_NUMBER_H

#include "fixedpoint_raw.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// The number raw / 2^kFractionalBits, from -2^IntegerBits to just below 2^IntegerBits; for a vector type, one in each
// lane. In 32 bits with 5 integer bits, 1 is 2^26:  sign | 5 integer bits | 26 fractional bits
template <typename Raw, int IntegerBits>
class FixedPoint {
 public:
  typedef Raw RawType;
  typedef FixedPointRawTypeTraits<RawType> RawTypeTraits;
  typedef typename RawTypeTraits::ScalarRawType ScalarRawType;
  typedef FixedPoint<ScalarRawType, IntegerBits> ScalarFixedPointType;

  static constexpr int kTotalBits = 8 * sizeof(ScalarRawType);
  static constexpr int kIntegerBits = IntegerBits;
  static constexpr int kFractionalBits = kTotalBits - 1 - kIntegerBits;
  static_assert(kIntegerBits >= 0 && kIntegerBits < kTotalBits, "the integer bits and the sign do not fit");

  static ScalarRawType ScalarRawMin() { return std::numeric_limits<ScalarRawType>::min(); }
  static ScalarRawType ScalarRawMax() { return std::numeric_limits<ScalarRawType>::max(); }
  static RawType RawMin() { return Dup<RawType>(ScalarRawMin()); }
  static RawType RawMax() { return Dup<RawType>(ScalarRawMax()); }

  static FixedPoint FromRaw(RawType x) {
    FixedPoint result;
    result.raw_ = x;
    return result;
  }

  static FixedPoint FromScalarRaw(ScalarRawType x) { return FromRaw(Dup<RawType>(x)); }

  static FixedPoint FromScalarFixedPoint(ScalarFixedPointType x) { return FromScalarRaw(x.raw()); }

  // 2^Exponent.
  template <int Exponent>
  static FixedPoint ConstantPOT() {
    static_assert(Exponent < kIntegerBits, "the constant is too large for the format");
    static_assert(Exponent >= -kFractionalBits, "the constant is too small for the format");
    return FromScalarRaw(static_cast<ScalarRawType>(std::int64_t{1} << (kFractionalBits + Exponent)));
  }

  static FixedPoint Zero() { return FromScalarRaw(0); }

  // 1, or the nearest number below where there are no integer bits.
  static FixedPoint One() {
    return FromScalarRaw(kIntegerBits == 0 ? ScalarRawMax()
                                           : static_cast<ScalarRawType>(std::int64_t{1} << kFractionalBits));
  }

  // The nearest number, ties away from zero; beyond the range, its limit.
  static FixedPoint FromDouble(double x) {
    const double scaled = std::round(x * static_cast<double>(std::int64_t{1} << kFractionalBits));
    if (scaled >= static_cast<double>(ScalarRawMax())) return FromScalarRaw(ScalarRawMax());
    if (scaled > static_cast<double>(ScalarRawMin())) return FromScalarRaw(static_cast<ScalarRawType>(scaled));
    return FromScalarRaw(ScalarRawMin());  // NaN too.
  }

  RawType raw() const { return raw_; }
  RawType& raw() { return raw_; }

 private:
  RawType raw_;
};

// a * b: the integer bits add up, and ties of the rounding go up.
template <typename Raw, int A, int B>
FixedPoint<Raw, A + B> operator*(FixedPoint<Raw, A> a, FixedPoint<Raw, B> b) {
  return FixedPoint<Raw, A + B>::FromRaw(SaturatingRoundingDoublingHighMul(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> operator+(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(Add(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> operator-(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(Sub(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> operator-(FixedPoint<Raw, IntegerBits> a) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(Neg(a.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> operator~(FixedPoint<Raw, IntegerBits> a) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(BitNot(a.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> operator&(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(BitAnd(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> operator|(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(BitOr(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> operator^(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(BitXor(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
bool operator==(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return All(MaskIfEqual(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
bool operator!=(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return !(a == b);
}

// The raw operations of the same names, on numbers of one format.

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> RoundingHalfSum(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(RoundingHalfSum(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> SaturatingAdd(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(SaturatingAdd(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> AddSaturatingIf16Bit(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(AddSaturatingIf16Bit(a.raw(), b.raw()));
}

template <typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> SelectUsingMask(Raw if_mask, FixedPoint<Raw, IntegerBits> then_val,
                                             FixedPoint<Raw, IntegerBits> else_val) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(SelectUsingMask(if_mask, then_val.raw(), else_val.raw()));
}

template <typename Raw, int IntegerBits>
Raw MaskIfZero(FixedPoint<Raw, IntegerBits> a) {
  return MaskIfZero(a.raw());
}

template <typename Raw, int IntegerBits>
Raw MaskIfNonZero(FixedPoint<Raw, IntegerBits> a) {
  return MaskIfNonZero(a.raw());
}

template <typename Raw, int IntegerBits>
Raw MaskIfEqual(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return MaskIfEqual(a.raw(), b.raw());
}

template <typename Raw, int IntegerBits>
Raw MaskIfNotEqual(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return MaskIfNotEqual(a.raw(), b.raw());
}

template <typename Raw, int IntegerBits>
Raw MaskIfGreaterThan(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return MaskIfGreaterThan(a.raw(), b.raw());
}

template <typename Raw, int IntegerBits>
Raw MaskIfGreaterThanOrEqual(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return MaskIfGreaterThanOrEqual(a.raw(), b.raw());
}

template <typename Raw, int IntegerBits>
Raw MaskIfLessThan(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return MaskIfLessThan(a.raw(), b.raw());
}

template <typename Raw, int IntegerBits>
Raw MaskIfLessThanOrEqual(FixedPoint<Raw, IntegerBits> a, FixedPoint<Raw, IntegerBits> b) {
  return MaskIfLessThanOrEqual(a.raw(), b.raw());
}

// x * 2^Exponent in the same format, saturating or rounding.
template <int Exponent, typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits> SaturatingRoundingMultiplyByPOT(FixedPoint<Raw, IntegerBits> x) {
  return FixedPoint<Raw, IntegerBits>::FromRaw(SaturatingRoundingMultiplyByPOT<Exponent>(x.raw()));
}

// x * 2^Exponent, exactly: the point moves, the bits stay.
template <int Exponent, typename Raw, int IntegerBits>
FixedPoint<Raw, IntegerBits + Exponent> ExactMulByPot(FixedPoint<Raw, IntegerBits> x) {
  return FixedPoint<Raw, IntegerBits + Exponent>::FromRaw(x.raw());
}

// x in another format, saturating or rounding.
template <int To, typename Raw, int From>
FixedPoint<Raw, To> Rescale(FixedPoint<Raw, From> x) {
  return FixedPoint<Raw, To>::FromRaw(SaturatingRoundingMultiplyByPOT<From - To>(x.raw()));
}

// The number itself, exactly.
template <typename Raw, int IntegerBits>
double ToDouble(FixedPoint<Raw, IntegerBits> x) {
  static_assert(FixedPointRawTypeTraits<Raw>::kLanes == 1, "ToDouble is for one number at a time");
  return std::ldexp(static_cast<double>(x.raw()), -FixedPoint<Raw, IntegerBits>::kFractionalBits);
}

// A constant of `Number`'s format, given by the raw value that it has in 32 bits.
template <typename Number>
inline typename Number::ScalarRawType RescaleConstantInitializer(std::int32_t raw_in_32_bits) {
  return static_cast<typename Number::ScalarRawType>(
      RoundingDivideByPOT(raw_in_32_bits, 32 - 8 * static_cast<int>(sizeof(typename Number::ScalarRawType))));
}

#ifdef GEMMLOWP_ENABLE_FIXEDPOINT_CONSTANTS_CHECKS

// `raw`, which is asserted to be what `value` gives.
template <typename Number>
Number CheckedFixedPointConstant(std::int32_t raw, double value) {
  const Number result = Number::FromScalarRaw(static_cast<typename Number::ScalarRawType>(raw));
  assert(result == Number::FromDouble(value));
  (void)value;
  return result;
}

#define GEMMLOWP_CHECKED_FIXEDPOINT_CONSTANT(Number, raw_in_32_bits, value) \
  (gemmlowp::CheckedFixedPointConstant<Number>(gemmlowp::RescaleConstantInitializer<Number>(raw_in_32_bits), value))

#else

#define GEMMLOWP_CHECKED_FIXEDPOINT_CONSTANT(Number, raw_in_32_bits, value) \
  (Number::FromScalarRaw(gemmlowp::RescaleConstantInitializer<Number>(raw_in_32_bits)))

#endif

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
