// What fixedpoint.h computes, in hashes: one line for each function and type. Built against gemmlowp's headers and
// against libqgemm's, the program prints the same.
//
//   fixedpoint_diff         prints the hashes. Vectors leave out inputs for which gemmlowp's vectors are not as its
//                           scalars are.
//   fixedpoint_diff lanes   leaves nothing out, and checks that vectors hash as their scalars do. For libqgemm's only.
//
// Good places to start reading: main(), then Raw().

#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "fixedpoint/fixedpoint.h"
#include "fixedpoint_inputs.h"
#include "fixedpoint_kernels.h"
#include "internal/common.h"
#include "internal/detect_platform.h"
#include "profiling/instrumentation.h"

namespace {

using gemmlowp::FixedPoint;

// ---- Where gemmlowp's vectors are not as its scalars are ----

template <typename S>
bool NotBothMinimal(S a, S b) {
  return a != std::numeric_limits<S>::min() || b != std::numeric_limits<S>::min();
}

template <typename S>
bool NotNegativeTie(S a, S b) {
  const std::int64_t sum = std::int64_t{a} + b;
  return sum >= 0 || sum % 2 == 0;
}

template <typename S>
bool FitsShifted(S x, int offset) {
  const std::int64_t shifted = std::int64_t{x} * (std::int64_t{1} << offset);
  return shifted >= std::numeric_limits<S>::min() && shifted <= std::numeric_limits<S>::max();
}

// ---- fixedpoint_raw.h ----

template <typename T, int Exponent, int Last>
struct MultiplyByPOT {
  static void Try(Hash* hash) {
    Apply<T>(hash, Singles<Scalar<T>>(), [](T a) { return gemmlowp::SaturatingRoundingMultiplyByPOT<Exponent>(a); });
    MultiplyByPOT<T, Exponent + 1, Last>::Try(hash);
  }
};

template <typename T, int Last>
struct MultiplyByPOT<T, Last, Last> {
  static void Try(Hash*) {}
};

template <typename T>
void RawShifts() {
  const std::vector<Scalar<T>>& singles = Singles<Scalar<T>>();
  Hash left, right, divided, multiplied;
  for (int offset = 0; offset <= 30; offset++) {
    Apply<T>(&left, Singles<T>([=](Scalar<T> x) { return FitsShifted(x, offset); }),
             [=](T a) { return gemmlowp::ShiftLeft(a, offset); });
  }
  for (int offset = 0; offset < Bits<T>(); offset++) {
    Apply<T>(&right, singles, [=](T a) { return gemmlowp::ShiftRight(a, offset); });
    Apply<T>(&divided, singles, [=](T a) { return gemmlowp::RoundingDivideByPOT(a, offset); });
  }
  MultiplyByPOT<T, 1 - Bits<T>(), Bits<T>() - 1>::Try(&multiplied);
  left.Print<T>("ShiftLeft");
  right.Print<T>("ShiftRight");
  divided.Print<T>("RoundingDivideByPOT");
  multiplied.Print<T>("SaturatingRoundingMultiplyByPOT");
}

template <typename T>
void RawMasks() {
  const std::vector<Scalar<T>>& singles = Singles<Scalar<T>>();
  const Pairs<Scalar<T>>& pairs = AllPairs<Scalar<T>>();
  Try<T>("MaskIfZero", singles, [](T a) { return gemmlowp::MaskIfZero(a); });
  Try<T>("MaskIfNonZero", singles, [](T a) { return gemmlowp::MaskIfNonZero(a); });
  Try<T>("MaskIfEqual", pairs, [](T a, T b) { return gemmlowp::MaskIfEqual(a, b); });
  Try<T>("MaskIfNotEqual", pairs, [](T a, T b) { return gemmlowp::MaskIfNotEqual(a, b); });
  Try<T>("MaskIfGreaterThan", pairs, [](T a, T b) { return gemmlowp::MaskIfGreaterThan(a, b); });
  Try<T>("MaskIfGreaterThanOrEqual", pairs, [](T a, T b) { return gemmlowp::MaskIfGreaterThanOrEqual(a, b); });
  Try<T>("MaskIfLessThan", pairs, [](T a, T b) { return gemmlowp::MaskIfLessThan(a, b); });
  Try<T>("MaskIfLessThanOrEqual", pairs, [](T a, T b) { return gemmlowp::MaskIfLessThanOrEqual(a, b); });
  Try<T>("SelectUsingMask", pairs, [](T a, T b) {
    return gemmlowp::SelectUsingMask(gemmlowp::MaskIfGreaterThan(a, b), gemmlowp::BitNot(a), b);
  });
}

// Any and All of masks with each set of lanes. On x86 gemmlowp's All of a vector is always true; with AVX2 so is Any.
template <typename T>
void RawAllAny() {
  Hash hash;
  const int full = (1 << Lanes<T>()) - 1;
  for (int set = 0; set <= full; set++) {
    std::vector<Scalar<T>> lanes;
    for (int lane = 0; lane < Lanes<T>(); lane++) lanes.push_back(static_cast<Scalar<T>>(set >> lane & 1 ? -1 : 0));
    const bool all = gemmlowp::All(Load<T>(lanes, 0));
    const bool any = gemmlowp::Any(Load<T>(lanes, 0));
    if (!IsVector<T>() || set == full) hash.Add(all);
    if (sizeof(T) < 32 || set != 0) hash.Add(any);
    if (every_input && (all != (set == full) || any != (set != 0))) {
      std::printf("All or Any of the lanes %x is wrong\n", static_cast<unsigned>(set));
      disagreements++;
    }
  }
  if (!every_input) hash.Print<T>("All, Any");
}

template <typename T>
void RawSums() {
  const Pairs<Scalar<T>>& pairs = AllPairs<Scalar<T>>();
  Try<T>("Neg", Singles<Scalar<T>>(), [](T a) { return gemmlowp::Neg(a); });
  Try<T>("Add", pairs, [](T a, T b) { return gemmlowp::Add(a, b); });
  Try<T>("Sub", pairs, [](T a, T b) { return gemmlowp::Sub(a, b); });
  Try<T>("Mul", pairs, [](T a, T b) { return gemmlowp::Mul(a, b); });
  Try<T>("AddSaturatingIf16Bit", pairs, [](T a, T b) { return gemmlowp::AddSaturatingIf16Bit(a, b); });
  Try<T>("RoundingHalfSum", PairsIf<T>(NotNegativeTie<Scalar<T>>),
         [](T a, T b) { return gemmlowp::RoundingHalfSum(a, b); });
  Try<T>("SaturatingRoundingDoublingHighMul", PairsIf<T>(NotBothMinimal<Scalar<T>>),
         [](T a, T b) { return gemmlowp::SaturatingRoundingDoublingHighMul(a, b); });
}

template <typename T>
void RawBits() {
  const Pairs<Scalar<T>>& pairs = AllPairs<Scalar<T>>();
  Try<T>("Dup", Singles<Scalar<T>>(), [](T a) { return gemmlowp::BitXor(a, gemmlowp::Dup<T>(12345)); });
  Try<T>("BitNot", Singles<Scalar<T>>(), [](T a) { return gemmlowp::BitNot(a); });
  Try<T>("BitAnd", pairs, [](T a, T b) { return gemmlowp::BitAnd(a, b); });
  Try<T>("BitOr", pairs, [](T a, T b) { return gemmlowp::BitOr(a, b); });
  Try<T>("BitXor", pairs, [](T a, T b) { return gemmlowp::BitXor(a, b); });
}

template <typename T>
void Raw() {
  RawBits<T>();
  RawSums<T>();
  RawShifts<T>();
  RawMasks<T>();
  RawAllAny<T>();
}

void Saturating8BitAdd() {
  Hash hash;
  for (int a = -128; a <= 127; a++) {
    for (int b = -128; b <= 127; b++) {
      hash.Add(gemmlowp::SaturatingAdd(static_cast<std::int8_t>(a), static_cast<std::int8_t>(b)));
    }
  }
  hash.Print<std::int32_t>("SaturatingAdd of int8");
}

// ---- fixedpoint_number.h ----

std::string InFormat(const std::string& name, int integer_bits) {
  return name + " with " + std::to_string(integer_bits) + " integer bits";
}

template <typename T, int I>
void NumberOperators() {
  typedef FixedPoint<T, I> F;
  const Pairs<Scalar<T>>& pairs = AllPairs<Scalar<T>>();
  Hash hash;
  const auto apply = [&](F (*f)(F, F)) {
    Apply<T>(&hash, pairs, [=](T a, T b) { return f(F::FromRaw(a), F::FromRaw(b)).raw(); });
  };
  apply([](F a, F b) { return a + b; });
  apply([](F a, F b) { return a - b; });
  apply([](F a, F b) { return -(a & b); });
  apply([](F a, F b) { return ~(a | b); });
  apply([](F a, F b) { return a ^ b; });
  apply([](F a, F b) { return gemmlowp::AddSaturatingIf16Bit(a, b); });
  hash.Print<T>(InFormat("operators", I));

  Hash products;
  const Pairs<Scalar<T>> factors = PairsIf<T>(NotBothMinimal<Scalar<T>>);
  Apply<T>(&products, factors, [](T a, T b) { return (F::FromRaw(a) * FixedPoint<T, 0>::FromRaw(b)).raw(); });
  Apply<T>(&products, factors, [](T a, T b) { return (FixedPoint<T, 1>::FromRaw(a) * F::FromRaw(b)).raw(); });
  products.Print<T>(InFormat("operator*", I));

  Try<T>(InFormat("RoundingHalfSum", I), PairsIf<T>(NotNegativeTie<Scalar<T>>),
         [](T a, T b) { return gemmlowp::RoundingHalfSum(F::FromRaw(a), F::FromRaw(b)).raw(); });
}

template <typename T, int I>
void NumberMasks() {
  typedef FixedPoint<T, I> F;
  Hash hash;
  const auto apply = [&](T (*f)(F, F)) {
    Apply<T>(&hash, AllPairs<Scalar<T>>(), [=](T a, T b) { return f(F::FromRaw(a), F::FromRaw(b)); });
  };
  apply([](F a, F b) { return gemmlowp::SelectUsingMask(gemmlowp::MaskIfZero(a), a, b).raw(); });
  apply([](F a, F b) { return gemmlowp::SelectUsingMask(gemmlowp::MaskIfNonZero(b), b, a).raw(); });
  apply([](F a, F b) { return gemmlowp::MaskIfEqual(a, b); });
  apply([](F a, F b) { return gemmlowp::MaskIfNotEqual(a, b); });
  apply([](F a, F b) { return gemmlowp::MaskIfGreaterThan(a, b); });
  apply([](F a, F b) { return gemmlowp::MaskIfGreaterThanOrEqual(a, b); });
  apply([](F a, F b) { return gemmlowp::MaskIfLessThan(a, b); });
  apply([](F a, F b) { return gemmlowp::MaskIfLessThanOrEqual(a, b); });
  hash.Print<T>(InFormat("masks", I));
}

// The numbers that a format has names for: in every lane, so one lane tells.
template <typename T, int I>
void NumberConstants() {
  typedef FixedPoint<T, I> F;
  typedef typename F::ScalarFixedPointType ScalarF;
  constexpr int lowest = -F::kFractionalBits;
  const int bits = F::kTotalBits + 100 * F::kIntegerBits + 10000 * F::kFractionalBits;
  Hash hash;
  hash.Add(bits);
  for (F x : {F::Zero(), F::One(), F::FromScalarRaw(F::ScalarRawMin()), F::FromScalarRaw(F::ScalarRawMax()),
              F::FromScalarFixedPoint(ScalarF::FromScalarRaw(-99)), F::template ConstantPOT<lowest>(),
              F::template ConstantPOT<I - 1>(), F::template ConstantPOT<(I + lowest) / 2>()}) {
    x.raw() = gemmlowp::BitXor(x.raw(), gemmlowp::Dup<T>(77));
    AddLanes<T>(&hash, x.raw(), 1);
  }
  hash.Print<T>(InFormat("constants", I));
}

template <typename T, int I>
void NumberRescale() {
  typedef FixedPoint<T, I> F;
  constexpr int widest = Bits<T>() - 1;
  Hash hash;
  const auto apply = [&](T (*f)(F)) { Apply<T>(&hash, Singles<Scalar<T>>(), [=](T a) { return f(F::FromRaw(a)); }); };
  apply([](F a) { return gemmlowp::Rescale<0>(a).raw(); });
  apply([](F a) { return gemmlowp::Rescale<I / 2>(a).raw(); });
  apply([](F a) { return gemmlowp::Rescale<I>(a).raw(); });
  apply([](F a) { return gemmlowp::Rescale<(I + widest) / 2>(a).raw(); });
  apply([](F a) { return gemmlowp::Rescale<widest>(a).raw(); });
  apply([](F a) { return gemmlowp::ExactMulByPot<-I>(a).raw(); });
  apply([](F a) { return gemmlowp::ExactMulByPot<widest - I>(a).raw(); });
  apply([](F a) { return gemmlowp::SaturatingRoundingMultiplyByPOT<5>(a).raw(); });
  apply([](F a) { return gemmlowp::SaturatingRoundingMultiplyByPOT<-5>(a).raw(); });
  hash.Print<T>(InFormat("Rescale, ExactMulByPot", I));
}

// From and to double, and comparison: for one number at a time.
template <typename S, int I>
void NumberDoubles() {
  typedef FixedPoint<S, I> F;
  const double unit = std::ldexp(1.0, -F::kFractionalBits);
  Hash to, from, compared;
  for (S x : Singles<S>()) {
    const double exact = gemmlowp::ToDouble(F::FromRaw(x));
    std::int64_t bits;
    std::memcpy(&bits, &exact, sizeof(bits));
    to.Add(bits);
    for (double nearby : {-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0}) from.Add(F::FromDouble(exact + nearby * unit).raw());
    compared.Add(F::FromRaw(x) == F::FromDouble(exact));
    compared.Add(F::FromRaw(x) != F::FromScalarRaw(5));
  }
  for (double far : {1e9, -1e9, 1e300, -1e300, 1e-300, HUGE_VAL, -HUGE_VAL}) from.Add(F::FromDouble(far).raw());
  to.Print<S>(InFormat("ToDouble", I));
  from.Print<S>(InFormat("FromDouble", I));
  compared.Print<S>(InFormat("== and !=", I));
}

template <typename T, int I>
void Number() {
  NumberConstants<T, I>();
  NumberOperators<T, I>();
  NumberMasks<T, I>();
  NumberRescale<T, I>();
}

// The functions that are for 16 bits alone.
template <typename T>
void SaturatingSums() {
  typedef FixedPoint<T, 3> F;
  const Pairs<Scalar<T>>& pairs = AllPairs<Scalar<T>>();
  Try<T>("SaturatingAdd", pairs, [](T a, T b) { return gemmlowp::SaturatingAdd(a, b); });
  Try<T>("SaturatingAdd of numbers", pairs,
         [](T a, T b) { return gemmlowp::SaturatingAdd(F::FromRaw(a), F::FromRaw(b)).raw(); });
}

void ConstantsFrom32Bits() {
  Hash in_32, in_16;
  for (std::int32_t raw : Singles<std::int32_t>()) {
    typedef FixedPoint<std::int32_t, 3> F32;
    typedef FixedPoint<std::int16_t, 3> F16;
    in_32.Add(gemmlowp::RescaleConstantInitializer<F32>(raw));
    in_16.Add(gemmlowp::RescaleConstantInitializer<F16>(raw));
    in_32.Add(GEMMLOWP_CHECKED_FIXEDPOINT_CONSTANT(F32, raw, gemmlowp::ToDouble(F32::FromRaw(raw))).raw());
  }
  in_32.Print<std::int32_t>("RescaleConstantInitializer");
  in_16.Print<std::int16_t>("RescaleConstantInitializer");
}

// ---- fixedpoint_functions.h ----

template <typename S>
bool NotNegative(S x) {
  return x >= 0;
}

template <typename S>
bool Everywhere(S) {
  return true;
}

template <typename T, int I>
void Functions() {
  typedef FixedPoint<T, I> F;
  const auto all = Singles<T>(Everywhere<Scalar<T>>);
  Try<T>(InFormat("exp_on_negative_values", I), all,
         [](T a) { return gemmlowp::exp_on_negative_values(F::FromRaw(a)).raw(); });
  Try<T>(InFormat("neg_tanh_on_negative_values", I), Singles<T>([](Scalar<T> x) { return x <= 0; }),
         [](T a) { return gemmlowp::neg_tanh_on_negative_values(F::FromRaw(a)).raw(); });
  Try<T>(InFormat("tanh", I), all, [](T a) { return gemmlowp::tanh(F::FromRaw(a)).raw(); });
  Try<T>(InFormat("logistic_on_positive_values", I), Singles<T>(NotNegative<Scalar<T>>),
         [](T a) { return gemmlowp::logistic_on_positive_values(F::FromRaw(a)).raw(); });
  Try<T>(InFormat("logistic", I), all, [](T a) { return gemmlowp::logistic(F::FromRaw(a)).raw(); });
}

template <typename T>
void FunctionsOfFractions() {
  typedef FixedPoint<T, 0> F;
  Try<T>("exp_on_interval_between_negative_one_quarter_and_0_excl", Singles<Scalar<T>>(), [](T a) {
    return gemmlowp::exp_on_interval_between_negative_one_quarter_and_0_excl(F::FromRaw(a)).raw();
  });
  Try<T>("one_over_one_plus_x_for_x_in_0_1", Singles<T>(NotNegative<Scalar<T>>),
         [](T a) { return gemmlowp::one_over_one_plus_x_for_x_in_0_1(F::FromRaw(a)).raw(); });
  Try<T>("one_minus_x_over_one_plus_x_for_x_in_0_1", Singles<T>(NotNegative<Scalar<T>>),
         [](T a) { return gemmlowp::one_minus_x_over_one_plus_x_for_x_in_0_1(F::FromRaw(a)).raw(); });
}

// ---- fixedpoint_kernels.h ----

template <typename T>
void KernelsOfAllTypes() {
  Hash hash;
  for (int exponent = 1 - Bits<T>(); exponent < Bits<T>() - 1; exponent++) {
    Apply<T>(&hash, Singles<Scalar<T>>(), [=](T a) { return MultipliedByPOT(a, exponent); });
  }
  hash.Print<T>("kernel: multiplied by a power of two");
}

template <typename T>
void Kernels32() {
  const auto small = Singles<T>([](Scalar<T> x) { return FitsShifted(x, 8); });
  const auto bytes = PairsIf<T>([](Scalar<T> a, Scalar<T> b) { return a >= -128 && a < 128 && b >= -128 && b < 128; });
  Hash products;
  for (int shift = -31; shift <= 8; shift++) {
    Apply<T>(&products, small, [=](T a) { return QuantizedProduct(a, 1518500250, shift); });
    Apply<T>(&products, small, [=](T a) { return QuantizedProduct(a, 2147483647, shift); });
  }
  products.Print<T>("kernel: quantized product");
  Try<T>("kernel: requantized", small, [](T a) { return Requantized(a, -1234567, 1342177280, -9, -5); });
  Try<T>("kernel: sum of quantized", bytes, [](T a, T b) { return SumOfQuantized(a, b); });
  Try<T>("kernel: logistic to 8 bits", Singles<Scalar<T>>(), [](T a) { return LogisticTo8Bits(a); });
  Try<T>("kernel: tanh to 8 bits", Singles<Scalar<T>>(), [](T a) { return TanhTo8Bits(a); });
}

template <typename T>
void Kernels16() {
  const Pairs<Scalar<T>>& pairs = AllPairs<Scalar<T>>();
  Try<T>("kernel: LSTM state", pairs,
         [](T a, T b) { return LstmState(a, b, gemmlowp::BitNot(b), gemmlowp::BitXor(a, b)); });
  Try<T>("kernel: LSTM output", pairs, [](T a, T b) { return LstmOutput(a, b); });
  Try<T>("kernel: hard swish", Singles<Scalar<T>>(), [](T a) { return HardSwish(a); });
}

void KernelsOfScalars() {
  Hash softmax, root, logarithm;
  for (int i = 0; i < 1000; i++) {
    std::vector<std::int32_t> row(1 + below(&randoms, 100));
    for (std::int32_t& x : row) x = below(&randoms, 256) - 128;
    for (std::int32_t y : Softmax(row, 1073741824 + 524288 * i, 20 + i % 3)) softmax.Add(y);
  }
  for (std::int32_t x : Singles<std::int32_t>()) {
    if (x > 0) root.Add(InverseSquareRoot(x));
    if (x >= 1 << 26) logarithm.Add(Logarithm(x));
  }
  softmax.Print<std::int32_t>("kernel: softmax");
  root.Print<std::int32_t>("kernel: inverse square root");
  logarithm.Print<std::int32_t>("kernel: logarithm");
}

// ---- Each type, and the other headers ----

template <typename T>
void Type32() {
  Raw<T>();
  Number<T, 0>();
  Number<T, 3>();
  Number<T, 12>();
  Number<T, 29>();
  FunctionsOfFractions<T>();
  Functions<T, 0>();
  Functions<T, 1>();
  Functions<T, 2>();
  Functions<T, 4>();
  Functions<T, 5>();
  Functions<T, 6>();
  Functions<T, 12>();
  Functions<T, 26>();
  KernelsOfAllTypes<T>();
  Kernels32<T>();
}

template <typename T>
void Type16() {
  Raw<T>();
  SaturatingSums<T>();
  Number<T, 0>();
  Number<T, 3>();
  Number<T, 12>();
  FunctionsOfFractions<T>();
  Functions<T, 0>();
  Functions<T, 1>();
  Functions<T, 2>();
  Functions<T, 3>();
  Functions<T, 4>();
  Functions<T, 5>();
  Functions<T, 6>();
  Functions<T, 11>();
  KernelsOfAllTypes<T>();
  Kernels16<T>();
}

void Scalars() {
  Type32<std::int32_t>();
  Type16<std::int16_t>();
  NumberDoubles<std::int32_t, 0>();
  NumberDoubles<std::int32_t, 5>();
  NumberDoubles<std::int32_t, 31>();
  NumberDoubles<std::int16_t, 0>();
  NumberDoubles<std::int16_t, 4>();
  NumberDoubles<std::int16_t, 15>();
  ConstantsFrom32Bits();
  Saturating8BitAdd();
  KernelsOfScalars();
}

void Vectors() {
#ifdef GEMMLOWP_NEON
  Type32<int32x4_t>();
  Type16<int16x8_t>();
#endif
#ifdef GEMMLOWP_SSE4
  Type32<__m128i>();
  Type16<gemmlowp::int16x8_m128i>();
#endif
#ifdef GEMMLOWP_AVX2
  Type32<__m256i>();
  Type16<gemmlowp::int16x16_m256i>();
#endif
}

void Sizes() {
  Hash hash;
  for (int i = 0; i < 5000; i++) {
    hash.Add(gemmlowp::RoundUp<4>(i));
    hash.Add(gemmlowp::RoundUp<48>(static_cast<std::int64_t>(i)));
    hash.Add(gemmlowp::RoundDown<12>(i));
    hash.Add(gemmlowp::RoundDown<64>(-i));
    hash.Add(gemmlowp::CeilQuotient(i, 1 + i % 37));
    hash.Add(static_cast<std::int64_t>(gemmlowp::CeilQuotient(static_cast<std::size_t>(i), std::size_t{12})));
    hash.Add(gemmlowp::RoundUpToPowerOfTwo(i * 200001));
    hash.Add(gemmlowp::RoundUpToPowerOfTwo(-i));
  }
  hash.Add(gemmlowp::IsPowerOfTwo<0>::value);
  hash.Add(gemmlowp::IsPowerOfTwo<48>::value);
  hash.Add(gemmlowp::IsPowerOfTwo<64>::value);
  hash.Add(gemmlowp::GetHardwareConcurrency(3));
  hash.Add(gemmlowp::GetHardwareConcurrency(0) >= 1);
  hash.Add(gemmlowp::real_time_in_seconds() <= gemmlowp::real_time_in_seconds());
  hash.Add(gemmlowp::kDefaultCacheLineSize);
  int line[16] = {0};
  gemmlowp::Prefetch(line);
  gemmlowp::MarkMemoryAsInitialized(line, 16);
  hash.Print<std::int32_t>("common.h");
}

int Locked(gemmlowp::Mutex* mutex) {
  gemmlowp::ScopedProfilingLabel label("locked");
  gemmlowp::ScopedLock lock(mutex);
  label.Update("still locked");
  return 1;
}

void Instrumentation() {
  gemmlowp::RegisterCurrentThreadForProfiling();
  gemmlowp::ReleaseBuildAssertion(true, "never seen");
  gemmlowp::Mutex mutex;
  mutex.Lock();
  mutex.Unlock();
  Hash hash;
  hash.Add(Locked(&mutex) + Locked(&mutex));
  hash.Add(Locked(gemmlowp::GlobalMutexes::Profiler()) + Locked(gemmlowp::GlobalMutexes::EightBitIntGemm()));
  hash.Print<std::int32_t>("instrumentation.h");
}

// Which macros are defined: a macro that is not is its own name.
#define TEXT(macro) #macro
#define SHOW(macro) std::printf("%s is %s\n", #macro, std::strcmp(#macro, TEXT(macro)) == 0 ? "not defined" : "defined")

void Platform() {
  SHOW(GEMMLOWP_ALLOW_INLINE_ASM);
  SHOW(GEMMLOWP_ANDROID);
  SHOW(GEMMLOWP_ARM);
  SHOW(GEMMLOWP_ARM_32);
  SHOW(GEMMLOWP_ARM_64);
  SHOW(GEMMLOWP_AVX2);
  SHOW(GEMMLOWP_AVX2_64);
  SHOW(GEMMLOWP_NEON);
  SHOW(GEMMLOWP_NEON_32);
  SHOW(GEMMLOWP_NEON_64);
  SHOW(GEMMLOWP_SSE3);
  SHOW(GEMMLOWP_SSE3_64);
  SHOW(GEMMLOWP_SSE4);
  SHOW(GEMMLOWP_SSE4_32);
  SHOW(GEMMLOWP_SSE4_64);
  SHOW(GEMMLOWP_X86);
  SHOW(GEMMLOWP_X86_32);
  SHOW(GEMMLOWP_X86_64);
}

}  // namespace

int main(int argc, char**) {
#if defined(GEMMLOWP_AVX2) && defined(__GNUC__)
  if (!__builtin_cpu_supports("avx2")) {
    std::printf("skipped: this processor has no AVX2\n");
    return 77;
  }
#endif
  every_input = argc > 1;
  Platform();
  // Once is enough: the scalars are the same beside vectors of x86, which come from builds of their own.
#if defined(GEMMLOWP_SSE4) || defined(GEMMLOWP_AVX2)
  if (every_input) Scalars();
#else
  Scalars();
#endif
  Vectors();
  Sizes();
  Instrumentation();
  std::printf("%" PRIu64 " values\n", total);
  return disagreements == 0 ? 0 : 1;
}
