// What programs build from fixedpoint.h: kernels in the shape of those of TensorFlow Lite and its like. Each one takes
// the raw values of its inputs, one or a vector of them, and uses the header as its authors do.

#ifndef FIXEDPOINT_KERNELS_H
#define FIXEDPOINT_KERNELS_H

#include <cstdint>
#include <limits>
#include <vector>

#include "fixedpoint/fixedpoint.h"

// x * multiplier * 2^(shift - 31), rounded twice. Shifts left by a product, as many do, so it must not overflow.
template <typename T>
T QuantizedProduct(T x, std::int32_t multiplier, int shift) {
  const int left = shift > 0 ? shift : 0;
  const int right = shift > 0 ? 0 : -shift;
  const T shifted = gemmlowp::Mul(x, gemmlowp::Dup<T>(std::int32_t{1} << left));
  return gemmlowp::RoundingDivideByPOT(
      gemmlowp::SaturatingRoundingDoublingHighMul(shifted, gemmlowp::Dup<T>(multiplier)), right);
}

// `x`, between `low` and `high`.
template <typename T>
T Clamped(T x, std::int32_t low, std::int32_t high) {
  using namespace gemmlowp;
  const T above_low = SelectUsingMask(MaskIfLessThan(x, Dup<T>(low)), Dup<T>(low), x);
  return SelectUsingMask(MaskIfGreaterThan(above_low, Dup<T>(high)), Dup<T>(high), above_low);
}

// x * 2^exponent, saturating or rounding, for an exponent that is known only at run time.
template <typename T>
T MultipliedByPOT(T x, int exponent) {
  using namespace gemmlowp;
  typedef typename FixedPointRawTypeTraits<T>::ScalarRawType Scalar;
  if (exponent <= 0) return RoundingDivideByPOT(x, -exponent);
  const Scalar highest = static_cast<Scalar>((1 << (8 * sizeof(Scalar) - 1 - exponent)) - 1);
  const T too_high = MaskIfGreaterThan(x, Dup<T>(highest));
  const T too_low = MaskIfLessThan(x, Dup<T>(static_cast<Scalar>(-highest)));
  T result = Mul(x, Dup<T>(static_cast<Scalar>(std::int64_t{1} << exponent)));
  result = SelectUsingMask(too_high, Dup<T>(std::numeric_limits<Scalar>::max()), result);
  return SelectUsingMask(too_low, Dup<T>(std::numeric_limits<Scalar>::min()), result);
}

// A sum of a convolution, with bias, as an 8-bit number.
template <typename T>
T Requantized(T sum, std::int32_t bias, std::int32_t multiplier, int shift, std::int32_t zero_point) {
  const T scaled = QuantizedProduct(gemmlowp::Add(sum, gemmlowp::Dup<T>(bias)), multiplier, shift);
  return Clamped(gemmlowp::Add(scaled, gemmlowp::Dup<T>(zero_point)), -128, 127);
}

// The sum of two 8-bit numbers of different scales.
template <typename T>
T SumOfQuantized(T a, T b) {
  const T wide_a = gemmlowp::ShiftLeft(gemmlowp::Add(a, gemmlowp::Dup<T>(7)), 20);
  const T wide_b = gemmlowp::ShiftLeft(gemmlowp::Add(b, gemmlowp::Dup<T>(-3)), 20);
  const T sum = gemmlowp::Add(QuantizedProduct(wide_a, 1073741824, 0), QuantizedProduct(wide_b, 1717986918, -1));
  return Clamped(gemmlowp::Sub(QuantizedProduct(sum, 1288490189, -18), gemmlowp::Dup<T>(4)), -128, 127);
}

// logistic and tanh of numbers with 4 integer bits, as 8-bit numbers.
template <typename T>
T LogisticTo8Bits(T raw) {
  const gemmlowp::FixedPoint<T, 0> y = gemmlowp::logistic(gemmlowp::FixedPoint<T, 4>::FromRaw(raw));
  return Clamped(gemmlowp::RoundingDivideByPOT(y.raw(), 23), 0, 255);
}

template <typename T>
T TanhTo8Bits(T raw) {
  const gemmlowp::FixedPoint<T, 0> y = gemmlowp::tanh(gemmlowp::FixedPoint<T, 4>::FromRaw(raw));
  return Clamped(gemmlowp::Add(gemmlowp::RoundingDivideByPOT(y.raw(), 24), gemmlowp::Dup<T>(128)), 0, 255);
}

// The state and the output of an LSTM cell in 16 bits: four gates and the previous state.
template <typename T>
T LstmState(T input_gate, T input, T forget_gate, T state) {
  typedef gemmlowp::FixedPoint<T, 0> F0;
  typedef gemmlowp::FixedPoint<T, 3> F3;
  typedef gemmlowp::FixedPoint<T, 4> FS;
  const F0 added = gemmlowp::logistic(F3::FromRaw(input_gate)) * gemmlowp::tanh(F3::FromRaw(input));
  const FS kept = gemmlowp::logistic(F3::FromRaw(forget_gate)) * FS::FromRaw(state);
  return gemmlowp::SaturatingAdd(gemmlowp::Rescale<4>(added), kept).raw();
}

template <typename T>
T LstmOutput(T output_gate, T state) {
  typedef gemmlowp::FixedPoint<T, 3> F3;
  const F3 narrowed = gemmlowp::Rescale<3>(gemmlowp::FixedPoint<T, 4>::FromRaw(state));
  const gemmlowp::FixedPoint<T, 0> y = gemmlowp::logistic(F3::FromRaw(output_gate)) * gemmlowp::tanh(narrowed);
  return gemmlowp::RoundingDivideByPOT(y.raw(), 8);
}

// x * relu6(x + 3) / 6 in 16 bits.
template <typename T>
T HardSwish(T x) {
  using namespace gemmlowp;
  const T output_scaled = SaturatingRoundingDoublingHighMul(x, Dup<T>(23456));
  const T saturated = SaturatingRoundingMultiplyByPOT<3>(SaturatingRoundingDoublingHighMul(x, Dup<T>(29127)));
  const T zero_to_one = BitAnd(ShiftRight(SaturatingAdd(saturated, Dup<T>(32767)), 1), Dup<T>(32767));
  return RoundingDivideByPOT(SaturatingRoundingDoublingHighMul(zero_to_one, output_scaled), 1);
}

inline int CountLeadingZeros(std::uint32_t x) {
  int zeros = 0;
  for (std::uint32_t bit = 0x80000000u; bit != 0 && (x & bit) == 0; bit >>= 1) zeros++;
  return zeros;
}

// The softmax of a row of 8-bit numbers, as 8-bit numbers.
inline std::vector<std::int32_t> Softmax(const std::vector<std::int32_t>& row, std::int32_t multiplier, int shift) {
  typedef gemmlowp::FixedPoint<std::int32_t, 5> Difference;
  typedef gemmlowp::FixedPoint<std::int32_t, 12> Sum;
  typedef gemmlowp::FixedPoint<std::int32_t, 0> F0;
  std::int32_t largest = -128;
  for (std::int32_t x : row) largest = x > largest ? x : largest;

  const auto exp_of = [=](std::int32_t x) {
    return gemmlowp::exp_on_negative_values(Difference::FromRaw(QuantizedProduct(x - largest, multiplier, shift)));
  };
  Sum sum = Sum::Zero();
  for (std::int32_t x : row) sum = sum + gemmlowp::Rescale<12>(exp_of(x));

  const int headroom = CountLeadingZeros(static_cast<std::uint32_t>(sum.raw()));
  const std::uint32_t shifted = (static_cast<std::uint32_t>(sum.raw()) << headroom) - (std::uint32_t{1} << 31);
  const F0 scale = gemmlowp::one_over_one_plus_x_for_x_in_0_1(F0::FromRaw(static_cast<std::int32_t>(shifted)));
  std::vector<std::int32_t> result;
  for (std::int32_t x : row) {
    const std::int32_t unsaturated = gemmlowp::RoundingDivideByPOT((scale * exp_of(x)).raw(), 12 - headroom + 31 - 8);
    result.push_back(Clamped(unsaturated - 128, -128, 127));
  }
  return result;
}

// 1 / sqrt(x) for x > 0, as a multiplier: by Newton's iteration, from 1, on a number between 1/4 and 1.
inline std::int32_t InverseSquareRoot(std::int32_t x) {
  typedef gemmlowp::FixedPoint<std::int32_t, 3> F3;
  typedef gemmlowp::FixedPoint<std::int32_t, 0> F0;
  const int zeros = CountLeadingZeros(static_cast<std::uint32_t>(x)) - 1;
  const F3 scaled = F3::FromRaw(gemmlowp::RoundingDivideByPOT(x << (zeros & ~1), 3));
  const F3 half = gemmlowp::SaturatingRoundingMultiplyByPOT<-1>(scaled);
  const F3 three_halves = GEMMLOWP_CHECKED_FIXEDPOINT_CONSTANT(F3, (1 << 28) + (1 << 27), 1.5);
  F3 y = F3::One();
  for (int i = 0; i < 5; i++) {
    const F3 cube = gemmlowp::Rescale<3>(y * y * y);
    y = gemmlowp::Rescale<3>(three_halves * y - half * cube);
  }
  const F0 half_sqrt_2 = GEMMLOWP_CHECKED_FIXEDPOINT_CONSTANT(F0, 1518500250, 0.70710678118654752);
  return (y * half_sqrt_2).raw();
}

// log(x) for x >= 1 with 5 integer bits, with the fractions that log-softmax uses.
inline std::int32_t Logarithm(std::int32_t raw) {
  typedef gemmlowp::FixedPoint<std::int32_t, 5> F5;
  typedef gemmlowp::FixedPoint<std::int32_t, 0> F0;
  const F0 log_2 = GEMMLOWP_CHECKED_FIXEDPOINT_CONSTANT(F0, 1488522236, 0.69314718055994531);
  const F0 sqrt_half = GEMMLOWP_CHECKED_FIXEDPOINT_CONSTANT(F0, 1518500250, 0.70710678118654752);
  const F0 quarter = gemmlowp::SaturatingRoundingMultiplyByPOT<-2>(F0::One());
  const int zeros = CountLeadingZeros(static_cast<std::uint32_t>(raw)) - 1;
  const F0 mantissa = F0::FromRaw(raw << zeros);
  const std::int32_t is_large = gemmlowp::MaskIfGreaterThan(mantissa, sqrt_half);
  const F0 z = gemmlowp::SelectUsingMask(is_large, mantissa, gemmlowp::RoundingHalfSum(mantissa, quarter));
  const F0 square = z * z;
  const F5 exponent = gemmlowp::SaturatingAdd(static_cast<std::int16_t>(5), static_cast<std::int16_t>(-zeros)) > 0
                          ? F5::FromDouble(5 - zeros)
                          : F5::Zero();
  const F5 log = gemmlowp::Rescale<5>(exponent * log_2) + gemmlowp::Rescale<5>(square - z);
  return (log & ~F5::FromRaw(3)).raw();
}

#endif
