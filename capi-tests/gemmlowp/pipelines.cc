// Compares libqgemm with gemmlowp's headers: random products through random pipelines of output stages, in all orders,
// with strides, offsets and biases of every kind.
//
// This one source is compiled twice, with either's headers. Parameters stay within what gemmlowp defines; edges.cc has
// the rest. WITHOUT_WHAT_SSE4_LACKS leaves out the stages that gemmlowp's headers do not have when compiled for SSE4.1.

#include <algorithm>
#include <climits>
#include <deque>

#include "public/gemmlowp.h"

#include "differential.h"

using namespace gemmlowp;

namespace {

// How many pipelines, and how many products of each.
const int kPipelines = 32;
const int kProducts = 200;
const int kMostGap = 40;

// ---- Random pipelines ----

constexpr std::uint32_t Mixed(std::uint32_t x) { return (x ^ (x >> 13)) * 0x9e3779b1u; }

// A number that looks random, below `end`.
constexpr int Drawn(int pipeline, int index, int end) {
  return static_cast<int>((Mixed(Mixed(Mixed(static_cast<std::uint32_t>(1 + pipeline * 31 + index)))) >> 8) %
                          static_cast<std::uint32_t>(end));
}

typedef std::tuple<OutputStageQuantizeDownInt32ToUint8Scale,
                   OutputStageQuantizeDownInt32ToUint8ScalePC<VectorShape::Col>,
                   OutputStageQuantizeDownInt32ToUint8ScalePC<VectorShape::Row>,
                   OutputStageQuantizeDownInt32ByFixedPoint,
                   OutputStageScaleInt32ByFixedPointAndExponent,
                   OutputStageBiasAddition<VectorMap<const std::int32_t, VectorShape::Col>>,
                   OutputStageBiasAddition<VectorMap<std::int32_t, VectorShape::Row>>,
                   OutputStageClamp,
                   OutputStageTanh
#ifndef WITHOUT_WHAT_SSE4_LACKS
                   ,
                   OutputStageScaleInt32ByFixedPointAndExponentPC<VectorShape::Col>,
                   OutputStageScaleInt32ByFixedPointAndExponentPC<VectorShape::Row>,
                   OutputStageBiasAddition<VectorMap<std::uint8_t, VectorShape::Col>>,
                   OutputStageBiasAddition<VectorMap<const std::int16_t, VectorShape::Row>>
#endif
                   >
    Int32Stages;

// Each pipeline has one of these casts, or none.
template <int which>
struct Cast {
  typedef std::int32_t Scalar;
  template <typename... Stages>
  using After = std::tuple<Stages...>;
};

template <typename Stage, typename tScalar>
struct RealCast {
  typedef tScalar Scalar;
  template <typename... Stages>
  using After = std::tuple<Stages..., Stage>;
};

template <>
struct Cast<1> : RealCast<OutputStageSaturatingCastToUint8, std::uint8_t> {};
template <>
struct Cast<2> : RealCast<OutputStageSaturatingCastToInt16, std::int16_t> {};
#ifdef WITHOUT_WHAT_SSE4_LACKS
const int kCasts = 3;
#else
template <>
struct Cast<3> : RealCast<OutputStageSaturatingCastToInt8, std::int8_t> {};
template <>
struct Cast<4> : RealCast<OutputStageTruncatingCastToUint8, std::uint8_t> {};
const int kCasts = 5;
#endif

// `missing` stages and a cast, after those that are drawn already.
template <int pipeline, int missing, typename... Stages>
struct Draw : Draw<pipeline, missing - 1, Stages...,
                   typename std::tuple_element<
                       Drawn(pipeline, missing, static_cast<int>(std::tuple_size<Int32Stages>::value)),
                       Int32Stages>::type> {};

template <int pipeline, typename... Stages>
struct Draw<pipeline, 0, Stages...> {
  typedef ::Cast<Drawn(pipeline, 10, kCasts)> Cast;
  typedef typename Cast::Scalar ResultScalar;
  typedef typename Cast::template After<Stages...> Pipeline;
};

// ---- Random parameters ----

// Memory that vectors view.
struct Storage {
  std::deque<std::vector<std::int32_t>> int32;
  std::deque<std::vector<std::int16_t>> int16;
  std::deque<std::vector<std::uint8_t>> uint8;

  std::deque<std::vector<std::int32_t>>& Of(std::int32_t) { return int32; }
  std::deque<std::vector<std::int16_t>>& Of(std::int16_t) { return int16; }
  std::deque<std::vector<std::uint8_t>>& Of(std::uint8_t) { return uint8; }
};

// Beyond this, numbers wrap.
const std::int64_t kAll = INT64_C(1) << 31;

std::int64_t Sum(std::int64_t a, std::int64_t b) { return std::min(a + b, kAll); }
std::int64_t Product(std::int64_t a, std::int64_t b) { return a != 0 && b > kAll / a ? kAll : a * b; }
std::int64_t Magnitude(std::int32_t x) { return std::abs(static_cast<std::int64_t>(x)); }

class Parameters {
 public:
  Parameters(seed* seed, int rows, int cols, Storage* storage)
      : seed_(seed), rows_(rows), cols_(cols), storage_(storage) {}

  // Numbers of any magnitude, but not the least of all, whose product with itself gemmlowp's vectors get wrong.
  std::int32_t Int() {
    const int shift = below(seed_, 32);
    const std::int32_t any = static_cast<std::int32_t>(next_u32(seed_)) >> shift;
    return any == INT_MIN ? INT_MAX : any;
  }

  template <typename T, VectorShape shape, typename Draw>
  VectorMap<T, shape> Vector(Draw draw) {
    typedef typename std::remove_const<T>::type Entry;
    std::vector<Entry> entries(static_cast<std::size_t>((shape == VectorShape::Col ? rows_ : cols_) + below(seed_, 3)));
    for (Entry& entry : entries) entry = static_cast<Entry>(draw());
    auto& kept = storage_->Of(Entry());
    kept.push_back(entries);
    return VectorMap<T, shape>(kept.back().data(), static_cast<int>(entries.size()));
  }

  // An exponent; none that overflows a number of this magnitude.
  std::int32_t Exponent(std::int64_t magnitude) {
    std::int32_t exponent = below(seed_, 3) == 0 ? below(seed_, 62) - 31 : below(seed_, 20) - 14;
    while (exponent > 0 && (magnitude << exponent) >= kAll) --exponent;
    return exponent;
  }

  // Each stage is told how large its input may be, and tells how large its output may be.

  void Randomize(OutputStageQuantizeDownInt32ToUint8Scale* stage, std::int64_t* magnitude) {
    stage->result_offset = Int();
    stage->result_mult_int = below(seed_, 3) == 0 ? Int() : below(seed_, 1000);
    stage->result_shift = below(seed_, 32);
    *magnitude = Sum(*magnitude, Magnitude(stage->result_offset));
    *magnitude = (Product(*magnitude, Magnitude(stage->result_mult_int)) >> stage->result_shift) + 1;
  }

  template <VectorShape shape>
  void Randomize(OutputStageQuantizeDownInt32ToUint8ScalePC<shape>* stage, std::int64_t* magnitude) {
    stage->result_offset = Vector<const std::int32_t, shape>([this] { return Int(); });
    stage->result_mult_int = Vector<const std::int32_t, shape>([this] { return Int() >> 12; });
    stage->result_shift = below(seed_, 32);
    *magnitude = (kAll >> stage->result_shift) + 1;
  }

  void Randomize(OutputStageQuantizeDownInt32ByFixedPoint* stage, std::int64_t* magnitude) {
    stage->result_fixedpoint_multiplier = Int();
    stage->result_shift = below(seed_, 2) == 0 ? below(seed_, 32) : below(seed_, 12);
    stage->result_offset_after_shift = below(seed_, 300) - 40;
    *magnitude = Sum((*magnitude >> stage->result_shift) + 1, 300);
  }

  void Randomize(OutputStageScaleInt32ByFixedPointAndExponent* stage, std::int64_t* magnitude) {
    stage->result_fixedpoint_multiplier = Int();
    stage->result_exponent = Exponent(*magnitude);
    stage->result_offset_after_shift = Int();
    *magnitude = kAll;
  }

  template <VectorShape shape>
  void Randomize(OutputStageScaleInt32ByFixedPointAndExponentPC<shape>* stage, std::int64_t* magnitude) {
    stage->result_fixedpoint_multiplier = Vector<const std::int32_t, shape>([this] { return Int(); });
    stage->result_exponent = Vector<const std::int32_t, shape>([this, magnitude] { return Exponent(*magnitude); });
    stage->result_offset_after_shift = below(seed_, 300) - 40;
    *magnitude = kAll;
  }

  template <typename T, VectorShape shape>
  void Randomize(OutputStageBiasAddition<VectorMap<T, shape>>* stage, std::int64_t* magnitude) {
    std::int64_t most = 0;
    stage->bias_vector = Vector<T, shape>([this, &most] {
      const T entry = static_cast<T>(Int());
      most = std::max(most, Magnitude(entry));
      return entry;
    });
    *magnitude = Sum(*magnitude, most);
  }

  void Randomize(OutputStageClamp* stage, std::int64_t* magnitude) {
    stage->min = Int();
    stage->max = Int();
    // Now and then the wrong way round.
    if (below(seed_, 8) != 0 && stage->min > stage->max) std::swap(stage->min, stage->max);
    *magnitude = std::max(Magnitude(stage->min), Magnitude(stage->max));
  }

  void Randomize(OutputStageTanh* stage, std::int64_t* magnitude) {
    stage->real_amplitude_as_int32 = (Int() & INT_MAX) >> (4 + below(seed_, 16));
    stage->real_zero_as_int32 = Int() >> 1;
    while (Magnitude(stage->real_zero_as_int32) + 8 * INT64_C(1) * stage->real_amplitude_as_int32 > INT_MAX) {
      stage->real_zero_as_int32 /= 2;
      stage->real_amplitude_as_int32 /= 2;
    }
    *magnitude = Sum(Magnitude(stage->real_zero_as_int32), stage->real_amplitude_as_int32);
  }

  // Casts have none.
  template <typename Stage>
  void Randomize(Stage*, std::int64_t*) {}

 private:
  seed* seed_;
  int rows_, cols_;
  Storage* storage_;
};

template <std::size_t stage, typename Pipeline>
typename std::enable_if<stage == std::tuple_size<Pipeline>::value>::type RandomizeFrom(Parameters*, Pipeline*,
                                                                                      std::int64_t*) {}

template <std::size_t stage, typename Pipeline>
typename std::enable_if<stage != std::tuple_size<Pipeline>::value>::type RandomizeFrom(Parameters* parameters,
                                                                                      Pipeline* pipeline,
                                                                                      std::int64_t* magnitude) {
  parameters->Randomize(&std::get<stage>(*pipeline), magnitude);
  RandomizeFrom<stage + 1>(parameters, pipeline, magnitude);
}

// ---- Random matrices ----

int RandomLength(seed* seed) {
  switch (below(seed, 12)) {
    case 0: return below(seed, 3);
    case 1: {
      const int multiple = 8 * (1 + below(seed, 5));
      return multiple - 1 + below(seed, 3);
    }
    case 2: return 1 + below(seed, 130);
    default: return 1 + below(seed, 24);
  }
}

// A map of memory of its own.
template <typename Scalar, MapOrder order>
struct Input {
  Input(seed* seed, int rows, int cols) {
    const int lines = order == MapOrder::RowMajor ? rows : cols, length = order == MapOrder::RowMajor ? cols : rows;
    int stride = length;
    switch (below(seed, 6)) {
      case 0: stride = length + below(seed, kMostGap); break;
      case 1: stride = below(seed, length + 1); break;
      case 2: stride = -below(seed, length + 5); break;
      default: break;
    }
    const int reach = lines * std::abs(stride);
    bytes = RandomBytes(seed, static_cast<std::size_t>(reach + length));
    if (below(seed, 5) == 0) std::fill(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(255));
    const std::uint8_t* first = bytes.data() + (stride < 0 ? reach : 0);
    // A stride may be anything where it steps over nothing.
    if (lines <= 1) stride = static_cast<int>(next_u32(seed));
    map = MatrixMap<const Scalar, order>(first, rows, cols, stride);
  }

  std::vector<std::uint8_t> bytes;
  MatrixMap<const Scalar, order> map;
};

constexpr MapOrder OrderOf(int bit) { return bit != 0 ? MapOrder::RowMajor : MapOrder::ColMajor; }

std::int32_t RandomOffset(seed* seed) {
  return below(seed, 4) == 0 ? static_cast<std::int32_t>(next_u32(seed)) : -below(seed, 256);
}

// ---- Products ----

// One product; returns the hash of what lies in and around its result.
template <int which>
std::uint64_t Run(seed* seed, GemmContext* context, int rows, int depth, int cols) {
  typedef Draw<which, Drawn(which, 11, 6)> Drawing;
  typedef typename Drawing::Pipeline Pipeline;
  typedef typename Drawing::ResultScalar ResultScalar;
  const MapOrder result_order = OrderOf(which & 4);

  const Input<std::uint8_t, OrderOf(which & 1)> lhs(seed, rows, depth);
  const Input<std::uint8_t, OrderOf(which & 2)> rhs(seed, depth, cols);
  const int lines = result_order == MapOrder::RowMajor ? rows : cols;
  const int length = result_order == MapOrder::RowMajor ? cols : rows;
  const int stride = length + (below(seed, 2) == 0 ? 0 : below(seed, kMostGap));
  Guarded<ResultScalar> memory(static_cast<std::size_t>(lines * stride));
  MatrixMap<ResultScalar, result_order> result(memory.data(), rows, cols, lines > 1 ? stride : below(seed, 9) - 4);

  Storage storage;
  Parameters parameters(seed, rows, cols, &storage);
  const std::int32_t lhs_offset = RandomOffset(seed), rhs_offset = RandomOffset(seed);
  const bool per_line = below(seed, 2) == 0;
  std::int64_t magnitude = kAll;
  if (!per_line) {
    magnitude = Product(depth, Product(255 + Magnitude(lhs_offset), 255 + Magnitude(rhs_offset)));
  }
  Pipeline pipeline;
  RandomizeFrom<0>(&parameters, &pipeline, &magnitude);
  context->set_max_num_threads(below(seed, 3) + 1);
  if (per_line) {
    const auto lhs_offsets =
        parameters.Vector<const std::int32_t, VectorShape::Col>([seed] { return RandomOffset(seed); });
    const auto rhs_offsets =
        parameters.Vector<const std::int32_t, VectorShape::Row>([seed] { return RandomOffset(seed); });
    GemmWithOutputPipelinePC<std::uint8_t, ResultScalar, DefaultL8R8BitDepthParams>(
        context, lhs.map, rhs.map, &result, lhs_offsets, rhs_offsets, pipeline);
  } else {
    GemmWithOutputPipeline<std::uint8_t, ResultScalar, DefaultL8R8BitDepthParams>(context, lhs.map, rhs.map, &result,
                                                                                 lhs_offset, rhs_offset, pipeline);
  }
  return memory.Hashed();
}

template <int which>
void RunAll(Lines* lines) {
  seed seed = {static_cast<std::uint64_t>(20171018 + which)};
  GemmContext context;
  for (int i = 0; i < kProducts; ++i) {
    int rows, depth, cols;
    do {
      rows = RandomLength(&seed), depth = RandomLength(&seed), cols = RandomLength(&seed);
    } while (rows * depth * cols > 300000);
    const std::uint64_t hash = Run<which>(&seed, &context, rows, depth, cols);
    std::ostringstream name;
    name << "pipeline " << which << ", product " << i << ", " << rows << " x " << depth << " x " << cols;
    lines->Add(name.str(), hash);
  }
}

template <int which>
struct Table {
  static void Run(Lines* lines) {
    RunAll<which>(lines);
    Table<which + 1>::Run(lines);
  }
};

template <>
struct Table<kPipelines> {
  static void Run(Lines*) {}
};

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  Table<0>::Run(&lines);
  return lines.Finish(argc, argv);
}
