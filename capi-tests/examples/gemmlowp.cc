// A layer of a quantized network, as a user of gemmlowp writes it: outputs = relu6(weights * inputs + bias).
//
// A real number r is stored as the byte q for which r = scale * (q - zero_point). Scales and zero points are worked out
// in real numbers, once; the layer itself is computed in integers.
//
// In CMake: target_link_libraries(program PRIVATE qgemm::gemmlowp). The source compiles with gemmlowp's headers, too.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include "public/gemmlowp.h"

using gemmlowp::MapOrder;
using gemmlowp::VectorShape;

// How real numbers between two bounds, of which 0 is one or lies between, are stored.
struct Quantization {
  float scale;
  int zero_point;

  Quantization(float low, float high)
      : scale((high - low) / 255), zero_point(static_cast<int>(std::lround(-low / scale))) {}

  std::uint8_t Quantized(float real) const {
    const long q = std::lround(real / scale) + zero_point;
    return static_cast<std::uint8_t>(std::min(std::max(q, 0L), 255L));
  }

  float Real(std::uint8_t q) const { return scale * static_cast<float>(q - zero_point); }
};

const int kOutputs = 4, kInputs = 6, kBatch = 3;

// Rows are outputs, columns are inputs.
const float kWeights[kOutputs * kInputs] = {
    0.20f,  -0.55f, 0.90f, 0.05f,  -0.30f, 0.75f,   //
    -0.80f, 0.10f,  0.35f, -0.60f, 0.95f,  0.00f,   //
    1.00f,  0.45f,  0.15f, 0.70f,  -0.95f, -0.10f,  //
    -0.25f, 0.65f,  0.85f, 0.30f,  -0.40f, 0.50f,
};
const float kBias[kOutputs] = {0.1f, -0.2f, 0.3f, 2.5f};

// One after the other, the inputs of each member of the batch.
const float kBatchOfInputs[kInputs * kBatch] = {
    0.5f, 1.5f,  2.5f, -1.0f, 0.0f, 3.0f,   //
    2.0f, -1.5f, 0.5f, 1.0f,  4.0f, -0.5f,  //
    1.0f, 3.0f,  2.0f, 2.5f,  0.5f, 1.0f,
};

// What the layer gives for input i of the batch, in real arithmetic.
float RealOutput(int output, int member) {
  float sum = kBias[output];
  for (int i = 0; i < kInputs; ++i) sum += kWeights[output * kInputs + i] * kBatchOfInputs[member * kInputs + i];
  return std::min(std::max(sum, 0.f), 6.f);
}

int main() {
  const Quantization weights(-1.f, 1.f), inputs(-2.f, 5.f), outputs(0.f, 6.f);
  std::vector<std::uint8_t> weight_bytes, input_bytes;
  for (float weight : kWeights) weight_bytes.push_back(weights.Quantized(weight));
  for (float input : kBatchOfInputs) input_bytes.push_back(inputs.Quantized(input));

  // The bias is added to sums of products, so it has their scale.
  std::vector<std::int32_t> bias;
  const float bias_scale = weights.scale * inputs.scale;
  for (float real : kBias) bias.push_back(static_cast<std::int32_t>(std::lround(real / bias_scale)));

  // From the scale of the sums to that of the outputs: a fraction of 2^31 and a power of two.
  int exponent;
  const double fraction = std::frexp(static_cast<double>(bias_scale) / outputs.scale, &exponent);

  typedef gemmlowp::VectorMap<const std::int32_t, VectorShape::Col> BiasVector;
  gemmlowp::OutputStageBiasAddition<BiasVector> bias_stage;
  bias_stage.bias_vector = BiasVector(bias.data(), kOutputs);
  gemmlowp::OutputStageScaleInt32ByFixedPointAndExponent scale_stage;
  scale_stage.result_fixedpoint_multiplier = static_cast<std::int32_t>(std::lround(fraction * 2147483648.0));
  scale_stage.result_exponent = exponent;
  scale_stage.result_offset_after_shift = outputs.zero_point;
  // relu6: there are no bytes for numbers below 0 or above 6, so the cast cuts them off.
  const auto pipeline = std::make_tuple(bias_stage, scale_stage, gemmlowp::OutputStageSaturatingCastToUint8());

  std::vector<std::uint8_t> output_bytes(kOutputs * kBatch);
  const gemmlowp::MatrixMap<const std::uint8_t, MapOrder::RowMajor> lhs(weight_bytes.data(), kOutputs, kInputs);
  const gemmlowp::MatrixMap<const std::uint8_t, MapOrder::ColMajor> rhs(input_bytes.data(), kInputs, kBatch);
  gemmlowp::MatrixMap<std::uint8_t, MapOrder::ColMajor> result(output_bytes.data(), kOutputs, kBatch);

  // Make one, and keep it: it holds threads and memory.
  gemmlowp::GemmContext context;
  context.set_max_num_threads(2);
  // Offsets are added to bytes: hence minus the zero points.
  gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(
      &context, lhs, rhs, &result, -weights.zero_point, -inputs.zero_point, pipeline);

  float worst = 0;
  for (int member = 0; member < kBatch; ++member) {
    for (int output = 0; output < kOutputs; ++output) {
      const float real = RealOutput(output, member), quantized = outputs.Real(result(output, member));
      std::printf("%6.3f (%6.3f)%s", quantized, real, output + 1 < kOutputs ? "  " : "\n");
      worst = std::max(worst, std::fabs(quantized - real));
    }
  }
  return worst < 0.06f ? 0 : 1;
}
