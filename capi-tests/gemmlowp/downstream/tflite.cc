// TensorFlow Lite's back end for gemmlowp, and its older operators that split their work over gemmlowp's threads.

#include "fixedpoint/fixedpoint.h"
#include "internal/detect_platform.h"
#include "profiling/instrumentation.h"
#include "public/gemmlowp.h"

#include "../differential.h"

namespace {

typedef gemmlowp::VectorMap<const std::int32_t, gemmlowp::VectorShape::Col> ColVectorMap;

struct Params {
  std::int32_t multiplier, exponent, zero_point, clamp_min, clamp_max;
  const std::int32_t *bias, *multipliers, *exponents;
};

// The cast for a result of this type.
template <typename Scalar>
struct SaturatingCast;
template <>
struct SaturatingCast<std::uint8_t> {
  typedef gemmlowp::OutputStageSaturatingCastToUint8 Type;
};
template <>
struct SaturatingCast<std::int8_t> {
  typedef gemmlowp::OutputStageSaturatingCastToInt8 Type;
};
template <>
struct SaturatingCast<std::int16_t> {
  typedef gemmlowp::OutputStageSaturatingCastToInt16 Type;
};

template <typename Scalar, typename Scale>
void Run(gemmlowp::GemmContext* context, const std::vector<std::uint8_t>& weights,
         const std::vector<std::uint8_t>& input, int rows, int depth, int cols, const Scale& scale,
         const Params& params, Lines* lines) {
  gemmlowp::ScopedProfilingLabel label("gemm");
  using gemmlowp::MapOrder;
  const gemmlowp::MatrixMap<const std::uint8_t, MapOrder::RowMajor> lhs(weights.data(), rows, depth);
  const gemmlowp::MatrixMap<const std::uint8_t, MapOrder::ColMajor> rhs(input.data(), depth, cols);
  Guarded<Scalar> memory(rows * cols);
  gemmlowp::MatrixMap<Scalar, MapOrder::ColMajor> result(memory.data(), rows, cols);

  gemmlowp::OutputStageClamp clamp_stage;
  clamp_stage.min = params.clamp_min;
  clamp_stage.max = params.clamp_max;
  const typename SaturatingCast<Scalar>::Type cast_stage = {};
  typedef gemmlowp::L8R8WithLhsNonzeroBitDepthParams BitDepthParams;
  if (params.bias != nullptr) {
    gemmlowp::OutputStageBiasAddition<ColVectorMap> bias_stage;
    bias_stage.bias_vector = ColVectorMap(params.bias, lhs.rows());
    const auto pipeline = std::make_tuple(bias_stage, scale, clamp_stage, cast_stage);
    gemmlowp::GemmWithOutputPipeline<std::uint8_t, Scalar, BitDepthParams>(context, lhs, rhs, &result, -128, -3,
                                                                           pipeline);
  } else {
    const auto pipeline = std::make_tuple(scale, clamp_stage, cast_stage);
    gemmlowp::GemmWithOutputPipeline<std::uint8_t, Scalar, BitDepthParams>(context, lhs, rhs, &result, -128, -3,
                                                                           pipeline);
  }
  lines->Add(params.bias != nullptr ? "with bias" : "without bias", memory.Hashed());
}

template <typename Scalar>
void RunBoth(gemmlowp::GemmContext* context, const std::vector<std::uint8_t>& weights,
             const std::vector<std::uint8_t>& input, int rows, int depth, int cols, const Params& params,
             Lines* lines) {
  gemmlowp::OutputStageScaleInt32ByFixedPointAndExponent uniform;
  uniform.result_fixedpoint_multiplier = params.multiplier;
  uniform.result_exponent = params.exponent;
  uniform.result_offset_after_shift = params.zero_point;
  Run<Scalar>(context, weights, input, rows, depth, cols, uniform, params, lines);

  gemmlowp::OutputStageScaleInt32ByFixedPointAndExponentPC<gemmlowp::VectorShape::Col> per_channel;
  per_channel.result_fixedpoint_multiplier = ColVectorMap(params.multipliers, rows);
  per_channel.result_exponent = ColVectorMap(params.exponents, rows);
  per_channel.result_offset_after_shift = params.zero_point;
  Run<Scalar>(context, weights, input, rows, depth, cols, per_channel, params, lines);
}

// A fully connected layer by hand, whose rows are split over the context's threads.
struct FullyConnectedTask : public gemmlowp::Task {
  FullyConnectedTask(const std::uint8_t* weights, const std::uint8_t* input, int depth, int start, int end,
                     std::int32_t* output)
      : weights_(weights), input_(input), depth_(depth), start_(start), end_(end), output_(output) {}

  void Run() override {
    for (int row = start_; row < end_; ++row) {
      std::int32_t sum = 0;
      for (int i = 0; i < depth_; ++i) sum += weights_[row * depth_ + i] * input_[i];
      output_[row] = gemmlowp::RoundingDivideByPOT(gemmlowp::SaturatingRoundingDoublingHighMul(sum, 1518500250), 3);
    }
  }

  const std::uint8_t *weights_, *input_;
  int depth_, start_, end_;
  std::int32_t* output_;
};

void FullyConnected(gemmlowp::GemmContext* context, const std::vector<std::uint8_t>& weights,
                    const std::vector<std::uint8_t>& input, int rows, int depth, Lines* lines) {
  Guarded<std::int32_t> output(rows);
  const int threads = gemmlowp::HowManyThreads<4>(context->max_num_threads(), rows, 1, depth);
  const int rows_per_thread = gemmlowp::RoundUp<4>(gemmlowp::CeilQuotient(rows, threads));
  std::vector<gemmlowp::Task*> tasks;
  for (int start = 0; start < rows; start += rows_per_thread) {
    const int end = std::min(rows, start + rows_per_thread);
    tasks.push_back(
        new FullyConnectedTask(weights.data(), input.data(), depth, start, end, output.data()));
  }
  context->workers_pool()->Execute(tasks);
  lines->Add("fully connected", output.Hashed());

  // The newer way leaves the tasks to the caller.
  std::vector<FullyConnectedTask> halves;
  halves.emplace_back(weights.data(), input.data(), depth, 0, rows / 2, output.data());
  halves.emplace_back(weights.data(), input.data(), depth, rows / 2, rows, output.data());
  context->workers_pool()->Execute(static_cast<int>(halves.size()), halves.data());
  lines->Add("in halves", output.Hashed());
}

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {2};
  gemmlowp::GemmContext context;
  for (int i = 0; i < 30; ++i) {
    context.set_max_num_threads(1 + i % 4);
    const int rows = 1 + below(&seed, 120), depth = 1 + below(&seed, 200), cols = 1 + below(&seed, 60);
    std::vector<std::uint8_t> weights = RandomBytes(&seed, rows * depth);
    for (std::uint8_t& weight : weights) weight |= weight == 0;
    const std::vector<std::uint8_t> input = RandomBytes(&seed, depth * cols);
    const std::vector<std::int32_t> bias = RandomInts(&seed, rows, 10000);
    std::vector<std::int32_t> multipliers = RandomInts(&seed, rows, 1 << 29), exponents = RandomInts(&seed, rows, 3);
    for (std::int32_t& multiplier : multipliers) multiplier = (1 << 30) + (multiplier & 0x3fffffff);
    for (std::int32_t& exponent : exponents) exponent -= 8;
    const Params params = {(1 << 30) + below(&seed, 1 << 30), below(&seed, 4) - 10, below(&seed, 256), 10, 240,
                           i % 3 == 0 ? nullptr : bias.data(), multipliers.data(), exponents.data()};
    RunBoth<std::uint8_t>(&context, weights, input, rows, depth, cols, params, &lines);
    RunBoth<std::int8_t>(&context, weights, input, rows, depth, cols, params, &lines);
    RunBoth<std::int16_t>(&context, weights, input, rows, depth, cols, params, &lines);
    FullyConnected(&context, weights, input, rows, depth, &lines);
  }
  return lines.Finish(argc, argv);
}
