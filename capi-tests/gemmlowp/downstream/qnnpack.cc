// The benchmarks of QNNPACK, XNNPACK and PyTorch: a MultiThreadGemmContext, and a bias for each column.

#include <gemmlowp/public/gemmlowp.h>

#include "../differential.h"

namespace {

struct GemmlowpOutputPipeline {
  typedef gemmlowp::VectorMap<const std::int32_t, gemmlowp::VectorShape::Row> RowVectorMap;
  typedef std::tuple<gemmlowp::OutputStageBiasAddition<RowVectorMap>,
                     gemmlowp::OutputStageQuantizeDownInt32ToUint8ScaleByFixedPoint, gemmlowp::OutputStageClamp,
                     gemmlowp::OutputStageSaturatingCastToUint8>
      Pipeline;

  static Pipeline Make(const std::int32_t* bias, int cols, std::int32_t output_offset, std::int32_t multiplier,
                       std::int32_t shift, std::int32_t min, std::int32_t max) {
    gemmlowp::OutputStageBiasAddition<RowVectorMap> bias_addition;
    bias_addition.bias_vector = RowVectorMap(bias, cols);
    gemmlowp::OutputStageQuantizeDownInt32ToUint8ScaleByFixedPoint quantize_down;
    quantize_down.result_fixedpoint_multiplier = multiplier;
    quantize_down.result_shift = shift;
    quantize_down.result_offset_after_shift = output_offset;
    gemmlowp::OutputStageClamp clamp;
    clamp.min = min;
    clamp.max = max;
    return std::make_tuple(bias_addition, quantize_down, clamp, gemmlowp::OutputStageSaturatingCastToUint8());
  }
};

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {3};
  for (int threads = 0; threads < 4; ++threads) {
    gemmlowp::MultiThreadGemmContext context;
    context.set_max_num_threads(threads);
    for (int i = 0; i < 12; ++i) {
      const int mc = 1 + below(&seed, 200), nc = 1 + below(&seed, 100), kc = 1 + below(&seed, 100);
      const std::vector<std::uint8_t> a = RandomBytes(&seed, mc * kc), k = RandomBytes(&seed, nc * kc);
      const std::vector<std::int32_t> b = RandomInts(&seed, nc, 10000);
      Guarded<std::uint8_t> c(mc * nc);
      gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::RowMajor> am(a.data(), mc, kc, kc);
      gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::ColMajor> bm(k.data(), kc, nc, kc);
      gemmlowp::MatrixMap<std::uint8_t, gemmlowp::MapOrder::RowMajor> cm(c.data(), mc, nc, nc);
      const auto pipeline = GemmlowpOutputPipeline::Make(b.data(), nc, 127, 0x40000000, 6, 1, 254);
      gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t, gemmlowp::L8R8WithLhsNonzeroBitDepthParams>(
          &context, am, bm, &cm, -127, -127, pipeline);
      lines.Add("q8gemm", c.Hashed());
    }
  }
  return lines.Finish(argc, argv);
}
