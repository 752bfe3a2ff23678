// ONNX Runtime's QLinearMatMul, QLinearConv and MatMulInteger of 2019: a context for each call.

#include "public/gemmlowp.h"

#include "../differential.h"

namespace {

typedef gemmlowp::VectorMap<const std::int32_t, gemmlowp::VectorShape::Col> ColVectorMap;

std::tuple<gemmlowp::OutputStageBiasAddition<ColVectorMap>, gemmlowp::OutputStageQuantizeDownInt32ByFixedPoint,
           gemmlowp::OutputStageSaturatingCastToUint8>
MakePipelineWithBias(const std::int32_t* bias, int rows, std::int32_t result_offset, std::int32_t result_mult_int,
                     std::int32_t result_shift) {
  gemmlowp::OutputStageBiasAddition<ColVectorMap> bias_addition_stage;
  bias_addition_stage.bias_vector = ColVectorMap(bias, rows);
  gemmlowp::OutputStageQuantizeDownInt32ByFixedPoint quantize_down_stage;
  quantize_down_stage.result_offset_after_shift = result_offset;
  quantize_down_stage.result_fixedpoint_multiplier = result_mult_int;
  quantize_down_stage.result_shift = result_shift;
  gemmlowp::OutputStageSaturatingCastToUint8 saturating_cast_stage;
  return std::make_tuple(bias_addition_stage, quantize_down_stage, saturating_cast_stage);
}

std::tuple<gemmlowp::OutputStageQuantizeDownInt32ByFixedPoint, gemmlowp::OutputStageSaturatingCastToUint8>
MakePipelineWithOutBias(std::int32_t result_offset, std::int32_t result_mult_int, std::int32_t result_shift) {
  gemmlowp::OutputStageQuantizeDownInt32ByFixedPoint quantize_down_stage;
  quantize_down_stage.result_offset_after_shift = result_offset;
  quantize_down_stage.result_fixedpoint_multiplier = result_mult_int;
  quantize_down_stage.result_shift = result_shift;
  gemmlowp::OutputStageSaturatingCastToUint8 saturating_cast_stage;
  return std::make_tuple(quantize_down_stage, saturating_cast_stage);
}

template <typename OutputType, typename OutputPipeline>
void GemmlowpMultiply(const std::uint8_t* lhs_data, const std::uint8_t* rhs_data, OutputType* result_data,
                      int lhs_offset, int rhs_offset, int m, int n, int k, const OutputPipeline& pipeline) {
  const auto matOrder = gemmlowp::MapOrder::RowMajor;
  gemmlowp::MatrixMap<const std::uint8_t, matOrder> lhs(lhs_data, m, k);
  gemmlowp::MatrixMap<const std::uint8_t, matOrder> rhs(rhs_data, k, n);
  gemmlowp::MatrixMap<OutputType, matOrder> result(result_data, m, n);
  gemmlowp::GemmContext gemm_context;
  gemmlowp::GemmWithOutputPipeline<std::uint8_t, OutputType, gemmlowp::DefaultL8R8BitDepthParams>(
      &gemm_context, lhs, rhs, &result, -lhs_offset, -rhs_offset, pipeline);
}

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {5};
  for (int i = 0; i < 40; ++i) {
    const int m = 1 + below(&seed, 80), n = 1 + below(&seed, 80), k = 1 + below(&seed, 80);
    const std::vector<std::uint8_t> lhs = RandomBytes(&seed, m * k), rhs = RandomBytes(&seed, k * n);
    const std::vector<std::int32_t> bias = RandomInts(&seed, m, 20000);
    const int lhs_offset = below(&seed, 256), rhs_offset = below(&seed, 256);
    const std::int32_t multiplier = (1 << 30) + below(&seed, 1 << 30), shift = below(&seed, 4) + 5;

    Guarded<std::uint8_t> biased(m * n), unbiased(m * n);
    Guarded<std::int32_t> integer(m * n);
    GemmlowpMultiply(lhs.data(), rhs.data(), biased.data(), lhs_offset, rhs_offset, m, n, k,
                     MakePipelineWithBias(bias.data(), m, 128, multiplier, shift));
    GemmlowpMultiply(lhs.data(), rhs.data(), unbiased.data(), lhs_offset, rhs_offset, m, n, k,
                     MakePipelineWithOutBias(128, multiplier, shift));
    GemmlowpMultiply(lhs.data(), rhs.data(), integer.data(), lhs_offset, rhs_offset, m, n, k, std::make_tuple());
    lines.Add("QLinearConv", biased.Hashed());
    lines.Add("QLinearMatMul", unbiased.Hashed());
    lines.Add("MatMulInteger", integer.Hashed());
  }
  return lines.Finish(argc, argv);
}
