// Products that gemmlowp leaves undefined end the program, in every build, and say why.

#include <climits>

#include "public/gemmlowp.h"

#include "../aborts.h"

using namespace gemmlowp;

namespace {

std::uint8_t g_bytes[64];
std::int32_t g_ints[64];

typedef VectorMap<const std::int32_t, VectorShape::Col> ColVector;

template <typename Scalar, typename... Stages>
void Multiply(MatrixMap<Scalar, MapOrder::RowMajor> result, const Stages&... stages) {
  GemmContext context;
  const MatrixMap<const std::uint8_t, MapOrder::RowMajor> lhs(g_bytes, 4, 3), rhs(g_bytes + 16, 3, 5);
  GemmWithOutputPipeline<std::uint8_t, Scalar, DefaultL8R8BitDepthParams>(&context, lhs, rhs, &result, 0, 0,
                                                                         std::make_tuple(stages...));
}

const MatrixMap<std::int32_t, MapOrder::RowMajor> kGood(g_ints, 4, 5);

void NegativeShift() { Multiply(kGood, OutputStageQuantizeDownInt32ByFixedPoint{1 << 30, -1, 0}); }
void LeastShift() { Multiply(kGood, OutputStageQuantizeDownInt32ByFixedPoint{1 << 30, INT_MIN, 0}); }
void FarShift() { Multiply(kGood, OutputStageQuantizeDownInt32ByFixedPoint{1 << 30, 32, 0}); }
void NegativeLegacyShift() { Multiply(kGood, OutputStageQuantizeDownInt32ToUint8Scale{0, 1, -1}); }
void FarExponent() { Multiply(kGood, OutputStageScaleInt32ByFixedPointAndExponent{1 << 30, 31, 0}); }
void NegativeAmplitude() { Multiply(kGood, OutputStageTanh{0, -1}); }

void FarExponentOfOneRow() {
  const std::int32_t multipliers[4] = {1, 2, 3, 4}, exponents[4] = {0, 1, -32, 2};
  OutputStageScaleInt32ByFixedPointAndExponentPC<VectorShape::Col> scale;
  scale.result_fixedpoint_multiplier = ColVector(multipliers, 4);
  scale.result_exponent = ColVector(exponents, 4);
  scale.result_offset_after_shift = 0;
  Multiply(kGood, scale);
}

void ShortBias() {
  OutputStageBiasAddition<ColVector> bias;
  bias.bias_vector = ColVector(g_ints + 40, 3);
  Multiply(kGood, bias);
}

template <typename T>
void NullBias() {
  OutputStageBiasAddition<VectorMap<const T, VectorShape::Col>> bias;
  bias.bias_vector = VectorMap<const T, VectorShape::Col>(nullptr, 4);
  Multiply(kGood, bias);
}

void WrongShape() { Multiply(MatrixMap<std::int32_t, MapOrder::RowMajor>(g_ints, 4, 6)); }
void ShortStride() { Multiply(MatrixMap<std::int32_t, MapOrder::RowMajor>(g_ints, 4, 5, 4)); }
void NoStride() { Multiply(MatrixMap<std::int32_t, MapOrder::RowMajor>(g_ints, 4, 5, 0)); }
void NegativeStride() { Multiply(MatrixMap<std::int32_t, MapOrder::RowMajor>(g_ints + 20, 4, 5, -5)); }

void ResultOverOperand() {
  Multiply(MatrixMap<std::uint8_t, MapOrder::RowMajor>(g_bytes + 2, 4, 5), OutputStageSaturatingCastToUint8());
}

void NegativeThreads() {
  GemmContext context;
  context.set_max_num_threads(-1);
  MatrixMap<std::int32_t, MapOrder::RowMajor> result(kGood);
  const MatrixMap<const std::uint8_t, MapOrder::RowMajor> lhs(g_bytes, 4, 3), rhs(g_bytes + 16, 3, 5);
  GemmWithOutputPipeline<std::uint8_t, std::int32_t, DefaultL8R8BitDepthParams>(&context, lhs, rhs, &result, 0, 0,
                                                                               std::make_tuple());
}

// The sentence has to have this part.
void CheckSentence(void (*function)(), const char* part) {
  const std::string printed = PrintedByAbort(function);
  std::printf("%s", printed.c_str());
  if (printed.compare(0, 10, "libqgemm: ") != 0 || printed.find(part) == std::string::npos) {
    std::fprintf(stderr, "that should say something of \"%s\"\n", part);
    std::exit(1);
  }
}

}  // namespace

int main() {
  CheckSentence(NegativeShift, "result_shift");
  CheckSentence(LeastShift, "result_shift");
  CheckSentence(FarShift, "-32");
  CheckSentence(NegativeLegacyShift, "shift");
  CheckSentence(FarExponent, "31");
  CheckSentence(FarExponentOfOneRow, "-32");
  CheckSentence(NegativeAmplitude, "amplitude");
  CheckSentence(ShortBias, "3");
  CheckSentence(NullBias<std::int32_t>, "null");
  CheckSentence(NullBias<std::uint8_t>, "null");
  CheckSentence(WrongShape, "result->cols");
  CheckSentence(ShortStride, "stride");
  CheckSentence(NoStride, "stride");
  CheckSentence(NegativeStride, "stride");
  CheckSentence(ResultOverOperand, "result");
  CheckSentence(NegativeThreads, "threads");
  return 0;
}
