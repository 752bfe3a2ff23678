// exp, tanh, logistic and their parts, on fixed-point numbers.
//
// Each formula is exact in the number it approximates with; what makes the bits is where it rounds. So the order of the
// operations below is part of the contract, and every constant is given by its raw value in 32 bits.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_FIXEDPOINT_FUNCTIONS_H
#define QGEMM_GEMMLOWP_FIXEDPOINT_FUNCTIONS_H

#include "fixedpoint_number.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// The constant that has this raw value in 32 bits, in `Number`'s format.
template <typename Number>
Number ConstantFromRaw32(std::int32_t raw_in_32_bits) {
  return Number::FromScalarRaw(RescaleConstantInitializer<Number>(raw_in_32_bits));
}

// exp(a) for -1/4 <= a < 0.
//
// Around the middle, with x = a + 1/8, by Taylor's series up to the fourth power:
//   exp(a) = exp(-1/8) (1 + x + (x^2 + (x^3 + x^4 / 4) / 3) / 2)
template <typename Raw>
FixedPoint<Raw, 0> exp_on_interval_between_negative_one_quarter_and_0_excl(FixedPoint<Raw, 0> a) {
  typedef FixedPoint<Raw, 0> F;
  const F exp_of_middle = ConstantFromRaw32<F>(1895147668);  // exp(-1/8)
  const F one_third = ConstantFromRaw32<F>(715827883);
  const F x = a + F::template ConstantPOT<-3>();
  const F x2 = x * x;
  const F x3 = x2 * x;
  const F x4 = x2 * x2;
  const F cubic = (SaturatingRoundingMultiplyByPOT<-2>(x4) + x3) * one_third;
  const F square = SaturatingRoundingMultiplyByPOT<-1>(cubic + x2);
  return AddSaturatingIf16Bit(exp_of_middle, exp_of_middle * (x + square));
}

// `product`, times exp(-2^Exponent) where `remainder`, of `Input`'s format, has the bit that is worth 2^Exponent.
template <typename Input, int Exponent>
FixedPoint<typename Input::RawType, 0> TimesExpWhereBit(FixedPoint<typename Input::RawType, 0> product,
                                                       typename Input::RawType remainder,
                                                       std::int32_t exp_in_32_bits) {
  typedef FixedPoint<typename Input::RawType, 0> F;
  typedef typename Input::ScalarRawType Scalar;
  if (Exponent >= Input::kIntegerBits) return product;
  const int bit = Exponent < Input::kIntegerBits ? Input::kFractionalBits + Exponent : 0;
  const typename Input::RawType is_set =
      MaskIfNonZero(BitAnd(remainder, Dup<typename Input::RawType>(static_cast<Scalar>(std::int32_t{1} << bit))));
  return SelectUsingMask(is_set, product * ConstantFromRaw32<F>(exp_in_32_bits), product);
}

// exp(a) for a <= 0; 0 for a < -32.
//
// a = r - s, with -1/4 <= r < 0 and s a multiple of 1/4: exp(r), times exp(-2^k) for each bit 2^k of s.
template <typename Raw, int IntegerBits>
FixedPoint<Raw, 0> exp_on_negative_values(FixedPoint<Raw, IntegerBits> a) {
  typedef FixedPoint<Raw, IntegerBits> Input;
  typedef FixedPoint<Raw, 0> F;
  typedef typename Input::ScalarRawType Scalar;
  const Input quarter = Input::template ConstantPOT<-2>();
  const Input below_quarter = quarter - Input::FromScalarRaw(1);
  const Input r = (a & below_quarter) - quarter;
  const Raw s = (r - a).raw();

  F result = exp_on_interval_between_negative_one_quarter_and_0_excl(Rescale<0>(r));
  result = TimesExpWhereBit<Input, -2>(result, s, 1672461947);
  result = TimesExpWhereBit<Input, -1>(result, s, 1302514674);
  result = TimesExpWhereBit<Input, 0>(result, s, 790015084);
  result = TimesExpWhereBit<Input, 1>(result, s, 290630308);
  result = TimesExpWhereBit<Input, 2>(result, s, 39332535);
  result = TimesExpWhereBit<Input, 3>(result, s, 720401);
  result = TimesExpWhereBit<Input, 4>(result, s, 242);
  if (IntegerBits > 5) {
    const int bit = IntegerBits > 5 ? Input::kFractionalBits + 5 : 0;
    const Input lowest = Input::FromScalarRaw(static_cast<Scalar>(-(std::int32_t{1} << bit)));  // -32
    result = SelectUsingMask(MaskIfLessThan(a, lowest), F::Zero(), result);
  }
  return SelectUsingMask(MaskIfZero(a), F::One(), result);
}

// 1 / d for 1/2 <= d <= 1, with two integer bits.
//
// Newton's iteration x + x (1 - d x), three times, from the line 48/17 - 32/17 d.
template <typename Raw>
FixedPoint<Raw, 2> ReciprocalOfOneHalfToOne(FixedPoint<Raw, 0> d) {
  typedef FixedPoint<Raw, 2> F2;
  const F2 start = ConstantFromRaw32<F2>(1515870810);    // 48/17
  const F2 slope = ConstantFromRaw32<F2>(-1010580540);  // -32/17
  F2 x = start + d * slope;
  for (int i = 0; i < 3; i++) {
    x = x + Rescale<2>(x * (F2::One() - d * x));
  }
  return x;
}

// 1 / (1 + a) for 0 <= a <= 1: half the reciprocal of (1 + a) / 2.
template <typename Raw>
FixedPoint<Raw, 0> one_over_one_plus_x_for_x_in_0_1(FixedPoint<Raw, 0> a) {
  return Rescale<0>(ExactMulByPot<-1>(ReciprocalOfOneHalfToOne(RoundingHalfSum(a, FixedPoint<Raw, 0>::One()))));
}

// (1 - a) / (1 + a) for 0 <= a <= 1: the reciprocal of (1 + a) / 2, less 1.
template <typename Raw>
FixedPoint<Raw, 0> one_minus_x_over_one_plus_x_for_x_in_0_1(FixedPoint<Raw, 0> a) {
  const FixedPoint<Raw, 2> reciprocal = ReciprocalOfOneHalfToOne(RoundingHalfSum(a, FixedPoint<Raw, 0>::One()));
  return Rescale<0>(reciprocal - FixedPoint<Raw, 2>::One());
}

// -tanh(a) for a <= 0: (1 - e) / (1 + e) with e = exp(2a).
template <typename Raw, int IntegerBits>
FixedPoint<Raw, 0> neg_tanh_on_negative_values(FixedPoint<Raw, IntegerBits> a) {
  return one_minus_x_over_one_plus_x_for_x_in_0_1(exp_on_negative_values(ExactMulByPot<1>(a)));
}

// tanh(a); exactly odd, and 0 at 0.
template <typename Raw, int IntegerBits>
FixedPoint<Raw, 0> tanh(FixedPoint<Raw, IntegerBits> a) {
  typedef FixedPoint<Raw, 0> F;
  const Raw is_negative = MaskIfLessThan(a, FixedPoint<Raw, IntegerBits>::Zero());
  const F of_magnitude = neg_tanh_on_negative_values(SelectUsingMask(is_negative, a, -a));
  return SelectUsingMask(MaskIfZero(a), F::Zero(), SelectUsingMask(is_negative, -of_magnitude, of_magnitude));
}

// 1 / (1 + exp(-a)) for a >= 0.
template <typename Raw, int IntegerBits>
FixedPoint<Raw, 0> logistic_on_positive_values(FixedPoint<Raw, IntegerBits> a) {
  return one_over_one_plus_x_for_x_in_0_1(exp_on_negative_values(-a));
}

// 1 / (1 + exp(-a)); logistic(-a) is exactly One() - logistic(a), and logistic(0) is 1/2.
template <typename Raw, int IntegerBits>
FixedPoint<Raw, 0> logistic(FixedPoint<Raw, IntegerBits> a) {
  typedef FixedPoint<Raw, 0> F;
  const Raw is_positive = MaskIfGreaterThan(a, FixedPoint<Raw, IntegerBits>::Zero());
  const F of_magnitude = logistic_on_positive_values(SelectUsingMask(is_positive, a, -a));
  const F unless_zero = SelectUsingMask(is_positive, of_magnitude, F::One() - of_magnitude);
  return SelectUsingMask(MaskIfZero(a), F::template ConstantPOT<-1>(), unless_zero);
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
