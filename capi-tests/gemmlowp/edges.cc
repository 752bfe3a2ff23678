// What gemmlowp's headers do not define, or do not have on every processor, and libqgemm's promise: compared with a
// definition of its own, in 64-bit arithmetic, one number at a time.

#include <climits>
#include <functional>

#include "public/gemmlowp.h"

#include "differential.h"

using namespace gemmlowp;

namespace {

typedef std::int64_t i64;

// ---- The definition ----

i64 Wrapped(i64 x) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }
i64 Between(i64 low, i64 x, i64 high) { return x < low ? low : x > high ? high : x; }
i64 Saturated(i64 x) { return Between(INT_MIN, x, INT_MAX); }

// x / 2^shift to nearest, ties away from zero.
i64 Divided(i64 x, int shift) {
  const i64 divisor = INT64_C(1) << shift, doubled = (x < 0 ? -2 * x : 2 * x) + divisor;
  return (x < 0 ? -1 : 1) * (doubled / (2 * divisor));
}

// x * 2^exponent * multiplier / 2^31, saturating on the left, rounded twice on the right.
i64 Scaled(i64 x, i64 multiplier, int exponent) {
  const i64 shifted = exponent > 0 ? Saturated(x * (INT64_C(1) << exponent)) : x;
  const i64 doubled = shifted * multiplier + (INT64_C(1) << 30);
  // To nearest, ties up: the floor of that by 2^31.
  i64 high = doubled / (INT64_C(1) << 31);
  if (high * (INT64_C(1) << 31) > doubled) --high;
  return exponent < 0 ? Divided(Saturated(high), -exponent) : Saturated(high);
}

// A matrix of one of the types, with values.
template <typename Scalar>
struct Values {
  Values(int rows, int cols) : rows(rows), cols(cols), elements(static_cast<std::size_t>(rows * cols)) {}

  static Values Random(seed* seed, int rows, int cols) {
    Values values(rows, cols);
    for (Scalar& element : values.elements) element = static_cast<Scalar>(next_u32(seed));
    return values;
  }

  i64 operator()(int row, int col) const { return elements[static_cast<std::size_t>(row * cols + col)]; }
  MatrixMap<const Scalar, MapOrder::RowMajor> map() const { return {elements.data(), rows, cols}; }
  MatrixMap<Scalar, MapOrder::RowMajor> map() { return {elements.data(), rows, cols}; }

  int rows, cols;
  std::vector<Scalar> elements;
};

// What becomes of the sum at (row, col).
typedef std::function<i64(i64 sum, int row, int col)> Definition;

int g_compared = 0;

// Multiplies and compares with the definition.
template <typename BitDepthParams, typename Result, typename InputScalar, typename Pipeline, typename Context>
void CompareOn(Context* context, const Values<InputScalar>& lhs, const Values<InputScalar>& rhs, int lhs_offset,
               int rhs_offset, const Pipeline& pipeline, const Definition& definition) {
  Values<Result> result(lhs.rows, rhs.cols);
  MatrixMap<Result, MapOrder::RowMajor> map = result.map();
  GemmWithOutputPipeline<InputScalar, Result, BitDepthParams>(context, lhs.map(), rhs.map(), &map, lhs_offset,
                                                              rhs_offset, pipeline);
  for (int row = 0; row < lhs.rows; ++row) {
    for (int col = 0; col < rhs.cols; ++col) {
      i64 sum = 0;
      for (int l = 0; l < lhs.cols; ++l) sum = Wrapped(sum + (lhs(row, l) + lhs_offset) * (rhs(l, col) + rhs_offset));
      const i64 expected = definition(sum, row, col);
      if (result(row, col) != expected) {
        std::fprintf(stderr, "comparison %d, %d x %d x %d: (%d, %d) is %lld, but should be %lld\n", g_compared,
                     lhs.rows, lhs.cols, rhs.cols, row, col, static_cast<long long>(result(row, col)),
                     static_cast<long long>(expected));
        std::exit(1);
      }
    }
  }
  ++g_compared;
}

template <typename BitDepthParams, typename Result, typename InputScalar, typename Pipeline>
void Compare(const Values<InputScalar>& lhs, const Values<InputScalar>& rhs, int lhs_offset, int rhs_offset,
             const Pipeline& pipeline, const Definition& definition) {
  GemmContext context;
  CompareOn<BitDepthParams, Result>(&context, lhs, rhs, lhs_offset, rhs_offset, pipeline, definition);
}

// A 1 x 1 product with this sum, which is offset by a bias, for single numbers through a stage.
template <typename Stage>
void CompareNumber(std::int32_t number, const Stage& stage, i64 expected) {
  Values<std::uint8_t> zero(1, 1);
  OutputStageBiasAddition<VectorMap<const std::int32_t, VectorShape::Col>> bias;
  bias.bias_vector = VectorMap<const std::int32_t, VectorShape::Col>(&number, 1);
  Compare<DefaultL8R8BitDepthParams, std::int32_t>(zero, zero, 0, 0, std::make_tuple(bias, stage),
                                                   [expected](i64, int, int) { return expected; });
}

// ---- Single numbers, worked out by hand ----

void LeftShiftsSaturate() {
  // gemmlowp's own vectors wrap to -16744448 here, where its scalars saturate.
  CompareNumber(266342400, OutputStageScaleInt32ByFixedPointAndExponent{1 << 30, 4, 0}, 1073741824);
  CompareNumber(-266342400, OutputStageScaleInt32ByFixedPointAndExponent{1 << 30, 4, 0}, -1073741824);
  CompareNumber(1, OutputStageScaleInt32ByFixedPointAndExponent{1 << 30, 30, 0}, 536870912);
  CompareNumber(2, OutputStageScaleInt32ByFixedPointAndExponent{1 << 30, 30, 0}, 1073741824);
  CompareNumber(-2, OutputStageScaleInt32ByFixedPointAndExponent{1 << 30, 30, 0}, -1073741824);
  CompareNumber(INT_MIN, OutputStageScaleInt32ByFixedPointAndExponent{INT_MIN, 0, 0}, INT_MAX);
  CompareNumber(INT_MIN, OutputStageScaleInt32ByFixedPointAndExponent{INT_MIN, 7, 0}, INT_MAX);
}

void RoundingIsTwofold() {
  CompareNumber(5, OutputStageQuantizeDownInt32ByFixedPoint{1 << 30, 1, 0}, 2);
  CompareNumber(-6, OutputStageQuantizeDownInt32ByFixedPoint{1 << 30, 1, 0}, -2);
  CompareNumber(-1, OutputStageQuantizeDownInt32ToUint8Scale{0, 1, 1}, -1);
  CompareNumber(-3, OutputStageQuantizeDownInt32ToUint8Scale{0, 1, 1}, -2);
  CompareNumber(INT_MIN, OutputStageQuantizeDownInt32ToUint8Scale{0, 1, 31}, -1);
  CompareNumber(INT_MAX, OutputStageQuantizeDownInt32ByFixedPoint{1 << 30, 31, 5}, 6);
}

void SumsWrap() {
  CompareNumber(INT_MAX, OutputStageQuantizeDownInt32ToUint8Scale{1, 1, 0}, INT_MIN);
  CompareNumber(65536, OutputStageQuantizeDownInt32ToUint8Scale{0, 65536, 0}, 0);
  CompareNumber(INT_MAX, OutputStageQuantizeDownInt32ByFixedPoint{INT_MAX, 0, INT_MAX}, -3);
}

void ClampsTheWrongWayRoundGiveTheMaximum() {
  CompareNumber(5, OutputStageClamp{100, -100}, -100);
  CompareNumber(1000, OutputStageClamp{100, -100}, -100);
}

void TanhOfNoAmplitudeIsZero() {
  CompareNumber(5, OutputStageTanh{77, 0}, 77);
  CompareNumber(INT_MIN, OutputStageTanh{-77, 0}, -77);
}

// ---- Random products ----

// int8 operands, every byte, also where the parameters promise that there is no -128; int8 results by row.
void Int8(seed* seed) {
  for (int i = 0; i < 60; ++i) {
    const int m = 1 + below(seed, 70), n = 1 + below(seed, 70), k = 1 + below(seed, 90);
    auto lhs = Values<std::int8_t>::Random(seed, m, k), rhs = Values<std::int8_t>::Random(seed, k, n);
    if (i % 4 == 0) {
      for (std::int8_t& element : lhs.elements) element = -128;
      for (std::int8_t& element : rhs.elements) element = -128;
    }
    const int lhs_offset = below(seed, 257) - 128, rhs_offset = below(seed, 257) - 128;
    Compare<SignedL8R8WithLhsNonzeroBitDepthParams, std::int32_t>(lhs, rhs, lhs_offset, rhs_offset, std::make_tuple(),
                                                                 [](i64 sum, int, int) { return sum; });

    std::vector<std::int32_t> multipliers(m), exponents(m);
    for (std::int32_t& multiplier : multipliers) multiplier = static_cast<std::int32_t>(next_u32(seed));
    for (std::int32_t& exponent : exponents) exponent = below(seed, 62) - 31;
    const std::vector<std::int32_t> bias = RandomInts(seed, static_cast<std::size_t>(n), 100000);
    OutputStageScaleInt32ByFixedPointAndExponentPC<VectorShape::Col> scale;
    scale.result_fixedpoint_multiplier = VectorMap<const std::int32_t, VectorShape::Col>(multipliers.data(), m);
    scale.result_exponent = VectorMap<const std::int32_t, VectorShape::Col>(exponents.data(), m);
    scale.result_offset_after_shift = -5;
    OutputStageBiasAddition<VectorMap<const std::int32_t, VectorShape::Row>> bias_stage;
    bias_stage.bias_vector = VectorMap<const std::int32_t, VectorShape::Row>(bias.data(), n);
    const OutputStageClamp clamp = {-100, 120};
    Compare<SignedL8R8WithLhsNonzeroBitDepthParams, std::int8_t>(
        lhs, rhs, lhs_offset, rhs_offset,
        std::make_tuple(bias_stage, scale, clamp, OutputStageSaturatingCastToInt8()),
        [&](i64 sum, int row, int col) {
          const i64 biased = Wrapped(sum + bias[static_cast<std::size_t>(col)]);
          const std::size_t channel = static_cast<std::size_t>(row);
          return Between(-100, Wrapped(Scaled(biased, multipliers[channel], exponents[channel]) - 5), 120);
        });
  }
}

// By column, with left shifts that saturate.
void ExponentsByColumn(seed* seed) {
  for (int i = 0; i < 60; ++i) {
    const int m = 1 + below(seed, 40), n = 1 + below(seed, 70), k = 1 + below(seed, 300);
    const auto lhs = Values<std::uint8_t>::Random(seed, m, k), rhs = Values<std::uint8_t>::Random(seed, k, n);
    std::vector<std::int32_t> multipliers(n), exponents(n);
    for (std::int32_t& multiplier : multipliers) multiplier = static_cast<std::int32_t>(next_u32(seed));
    for (std::int32_t& exponent : exponents) exponent = below(seed, 62) - 31;
    OutputStageScaleInt32ByFixedPointAndExponentPC<VectorShape::Row> scale;
    scale.result_fixedpoint_multiplier = VectorMap<const std::int32_t, VectorShape::Row>(multipliers.data(), n);
    scale.result_exponent = VectorMap<const std::int32_t, VectorShape::Row>(exponents.data(), n);
    scale.result_offset_after_shift = INT_MAX;
    Compare<DefaultL8R8BitDepthParams, std::int32_t>(
        lhs, rhs, -128, -77, std::make_tuple(scale), [&](i64 sum, int, int col) {
          const std::size_t channel = static_cast<std::size_t>(col);
          return Wrapped(Scaled(sum, multipliers[channel], exponents[channel]) + INT_MAX);
        });
  }
}

void SumsBeyondInt32Wrap() {
  Values<std::uint8_t> lhs(3, 40000), rhs(40000, 2);
  for (std::uint8_t& element : lhs.elements) element = 255;
  for (std::uint8_t& element : rhs.elements) element = 255;
  Compare<DefaultL8R8BitDepthParams, std::int32_t>(lhs, rhs, 0, 0, std::make_tuple(),
                                                   [](i64 sum, int, int) { return sum; });
  Compare<DefaultL8R8BitDepthParams, std::int32_t>(lhs, rhs, 255, 255, std::make_tuple(),
                                                   [](i64 sum, int, int) { return sum; });
}

// Ranges for which gemmlowp has no kernel, a promise that is broken where nothing comes of it, and one that makes no sense
// for the type.
void OperandRanges(seed* seed) {
  const auto any_lhs = Values<std::uint8_t>::Random(seed, 33, 47), any_rhs = Values<std::uint8_t>::Random(seed, 47, 21);
  const Definition raw = [](i64 sum, int, int) { return sum; };
  auto lhs = any_lhs, rhs = any_rhs;
  typedef BitDepthParams<OperandRange<0, 127>, OperandRange<0, 31>> SevenByFive;
  for (std::uint8_t& element : lhs.elements) element &= 127;
  for (std::uint8_t& element : rhs.elements) element &= 31;
  Compare<SevenByFive, std::int32_t>(lhs, rhs, -3, 4, std::make_tuple(), raw);
  typedef BitDepthParams<OperandRange<0, 15>, OperandRange<0, 15>> FourByFour;
  for (std::uint8_t& element : lhs.elements) element &= 15;
  for (std::uint8_t& element : rhs.elements) element &= 15;
  Compare<FourByFour, std::int32_t>(lhs, rhs, -3, 4, std::make_tuple(), raw);
  // On the other side the promise would be broken, and sums of 16 bits would not do.
  typedef BitDepthParams<OperandRange<0, 15>, Uint8Range> SmallLhs;
  typedef BitDepthParams<Uint8Range, OperandRange<0, 15>> SmallRhs;
  lhs.elements.assign(lhs.elements.size(), 15);
  rhs.elements.assign(rhs.elements.size(), 255);
  Compare<SmallLhs, std::int32_t>(lhs, rhs, -3, 4, std::make_tuple(), raw);
  lhs.elements.assign(lhs.elements.size(), 255);
  rhs.elements.assign(rhs.elements.size(), 15);
  Compare<SmallRhs, std::int32_t>(lhs, rhs, -3, 4, std::make_tuple(), raw);
  Compare<L8R8WithLhsNonzeroBitDepthParams, std::int32_t>(any_lhs, any_rhs, -3, 4, std::make_tuple(), raw);
  Compare<SignedL8R8WithLhsNonzeroBitDepthParams, std::int32_t>(any_lhs, any_rhs, -3, 4, std::make_tuple(), raw);
}

// Nine stages, a bias that is the same everywhere, and biases of other types.
void MoreStagesThanSix(seed* seed) {
  const int m = 19, n = 23;
  const auto lhs = Values<std::uint8_t>::Random(seed, m, 31), rhs = Values<std::uint8_t>::Random(seed, 31, n);
  const std::vector<std::int8_t> small(m, -100);
  const std::vector<std::uint16_t> large(n, 65535);
  OutputStageBiasAddition<VectorDup<const std::int32_t, VectorShape::Col>> same;
  same.bias_vector = VectorDup<const std::int32_t, VectorShape::Col>(-54321, m);
  OutputStageBiasAddition<VectorMap<const std::int8_t, VectorShape::Col>> narrow;
  narrow.bias_vector = VectorMap<const std::int8_t, VectorShape::Col>(small.data(), m);
  OutputStageBiasAddition<VectorMap<const std::uint16_t, VectorShape::Row>> wide;
  wide.bias_vector = VectorMap<const std::uint16_t, VectorShape::Row>(large.data(), n);
  const OutputStageScaleInt32ByFixedPointAndExponent half = {1 << 30, 0, 0};
  const OutputStageSaturatingCastToInt16 cast = {};
  Compare<DefaultL8R8BitDepthParams, std::int16_t>(
      lhs, rhs, -9, -8, std::make_tuple(same, half, narrow, half, wide, half, half, half, cast),
      [](i64 sum, int, int) {
        i64 x = Scaled(sum - 54321, 1 << 30, 0);
        x = Scaled(x - 100, 1 << 30, 0) + 65535;
        for (int i = 0; i < 3; ++i) x = Scaled(x, 1 << 30, 0);
        return Between(-32768, x, 32767);
      });
}

void NoDepthLeavesTheResultAlone() {
  GemmContext context;
  const Values<std::uint8_t> lhs(3, 0), rhs(0, 4);
  Values<std::int32_t> raw(3, 4);
  Values<std::int8_t> cast(3, 4);
  raw.elements.assign(12, 77);
  cast.elements.assign(12, -77);
  auto raw_map = raw.map();
  auto cast_map = cast.map();
  GemmWithOutputPipeline<std::uint8_t, std::int32_t, DefaultL8R8BitDepthParams>(
      &context, lhs.map(), rhs.map(), &raw_map, 5, 5, std::make_tuple());
  GemmWithOutputPipeline<std::uint8_t, std::int8_t, DefaultL8R8BitDepthParams>(
      &context, lhs.map(), rhs.map(), &cast_map, 5, 5, std::make_tuple(OutputStageSaturatingCastToInt8()));
  for (std::int32_t element : raw.elements) ReleaseBuildAssertion(element == 77, "an int32 result was written");
  for (std::int8_t element : cast.elements) ReleaseBuildAssertion(element == -77, "an int8 result was written");
}

// ---- Contexts that gemmlowp's headers refuse ----

// Takes tasks in an array, and leaves them alone.
struct ArrayPool {
  int executed = 0;

  template <typename TaskType>
  void Execute(int count, TaskType* tasks) {
    ++executed;
    for (int i = 0; i < count; ++i) tasks[i].Run();
  }
};

// Derives from nothing.
struct DuckTypedContext {
  int threads;
  ArrayPool pool;
  int max_num_threads() const { return threads; }
  ArrayPool* workers_pool() { return &pool; }
};

// Replaces the pool of a context that has one.
struct ReplacingContext : GemmContext {
  ArrayPool pool;
  ArrayPool* workers_pool() { return &pool; }
};

void PoolsOfTheProgramHaveTheWork(seed* seed) {
  // Worth several threads whatever the kernel.
  const auto lhs = Values<std::uint8_t>::Random(seed, 600, 500), rhs = Values<std::uint8_t>::Random(seed, 500, 400);
  const Definition raw = [](i64 sum, int, int) { return sum; };
  DuckTypedContext duck_typed = {1, {}};
  CompareOn<DefaultL8R8BitDepthParams, std::int32_t>(&duck_typed, lhs, rhs, 1, 2, std::make_tuple(), raw);
  ReleaseBuildAssertion(duck_typed.pool.executed == 0, "a pool was used though one thread is the most");
  duck_typed.threads = 4;
  CompareOn<DefaultL8R8BitDepthParams, std::int32_t>(&duck_typed, lhs, rhs, 1, 2, std::make_tuple(), raw);
  ReleaseBuildAssertion(duck_typed.pool.executed > 0, "a duck-typed context's pool was not used");

  ReplacingContext replacing;
  replacing.set_max_num_threads(3);
  CompareOn<DefaultL8R8BitDepthParams, std::int32_t>(&replacing, lhs, rhs, 1, 2, std::make_tuple(), raw);
  const int executed = replacing.pool.executed;
  ReleaseBuildAssertion(executed > 0, "a pool that replaces another was not used");
  // As what it derives from, it has the other.
  CompareOn<DefaultL8R8BitDepthParams, std::int32_t>(static_cast<GemmContext*>(&replacing), lhs, rhs, 1, 2,
                                                     std::make_tuple(), raw);
  ReleaseBuildAssertion(replacing.pool.executed == executed, "a pool was used that the context does not show");
}

// A context may be copied: the copies share nothing but the settings.
void CopiesOfContextsAreIndependent(seed* seed) {
  struct Copied : SingleThreadGemmContext {
    ArrayPool pool;
    int max_num_threads() const { return 2; }
    ArrayPool* workers_pool() { return &pool; }
  };
  const auto lhs = Values<std::uint8_t>::Random(seed, 600, 500), rhs = Values<std::uint8_t>::Random(seed, 500, 400);
  const Definition raw = [](i64 sum, int, int) { return sum; };
  Copied first;
  CompareOn<DefaultL8R8BitDepthParams, std::int32_t>(&first, lhs, rhs, 1, 2, std::make_tuple(), raw);
  Copied second(first);
  second.pool.executed = 0;
  CompareOn<DefaultL8R8BitDepthParams, std::int32_t>(&second, lhs, rhs, 1, 2, std::make_tuple(), raw);
  ReleaseBuildAssertion(second.pool.executed > 0, "a copied context did not use its own pool");
}

}  // namespace

int main() {
  SkipUnlessSupported();
  seed seed = {20171118};
  LeftShiftsSaturate();
  RoundingIsTwofold();
  SumsWrap();
  ClampsTheWrongWayRoundGiveTheMaximum();
  TanhOfNoAmplitudeIsZero();
  Int8(&seed);
  ExponentsByColumn(&seed);
  SumsBeyondInt32Wrap();
  OperandRanges(&seed);
  MoreStagesThanSix(&seed);
  NoDepthLeavesTheResultAlone();
  PoolsOfTheProgramHaveTheWork(&seed);
  CopiesOfContextsAreIndependent(&seed);
  std::printf("%d products as defined\n", g_compared);
  return 0;
}
