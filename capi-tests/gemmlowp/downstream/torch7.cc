// A wrapper for Torch7: biases of 8 bits, and a clamp before the legacy stage. gemmlowp's headers take such biases in
// scalar code and for AVX2 only.

#include "public/gemmlowp.h"

#include "../differential.h"

namespace {

typedef gemmlowp::VectorMap<std::uint8_t, gemmlowp::VectorShape::Col> BiasMap;

void Gemm8(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* bias, bool is_rectified, int m, int n, int k,
           std::uint8_t* c) {
  const auto order = gemmlowp::MapOrder::RowMajor;
  gemmlowp::MatrixMap<const std::uint8_t, order> lhs(a, m, k), rhs(b, k, n);
  gemmlowp::MatrixMap<std::uint8_t, order> result(c, m, n);
  gemmlowp::OutputStageBiasAddition<BiasMap> bias_stage;
  bias_stage.bias_vector = BiasMap(bias, m);
  gemmlowp::OutputStageClamp clamp_stage;
  clamp_stage.min = is_rectified ? 128 : 0;
  clamp_stage.max = 255;
  gemmlowp::OutputStageQuantizeDownInt32ToUint8Scale quantize_down_stage;
  quantize_down_stage.result_offset = 128;
  quantize_down_stage.result_mult_int = 5;
  quantize_down_stage.result_shift = 3;
  gemmlowp::OutputStageSaturatingCastToUint8 cast_stage;
  gemmlowp::GemmContext context;
  gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(
      &context, lhs, rhs, &result, -128, -128,
      std::make_tuple(bias_stage, clamp_stage, quantize_down_stage, cast_stage));
}

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {8};
  for (int i = 0; i < 40; ++i) {
    const int m = 1 + below(&seed, 50), n = 1 + below(&seed, 50), k = 1 + below(&seed, 8);
    std::vector<std::uint8_t> a = RandomBytes(&seed, m * k), b = RandomBytes(&seed, k * n);
    // Close to the zero point, so that sums are close to 0.
    for (std::uint8_t& byte : a) byte = static_cast<std::uint8_t>(120 + byte % 16);
    for (std::uint8_t& byte : b) byte = static_cast<std::uint8_t>(124 + byte % 8);
    std::vector<std::uint8_t> bias = RandomBytes(&seed, m);
    Guarded<std::uint8_t> c(m * n);
    Gemm8(a.data(), b.data(), bias.data(), i % 2 == 0, m, n, k, c.data());
    lines.Add("gemm8", c.Hashed());
  }
  return lines.Finish(argc, argv);
}
