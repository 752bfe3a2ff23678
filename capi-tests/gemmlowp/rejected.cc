// Must not compile, with -DREJECTED and a number: what gemmlowp's headers reject. Without, it does.

#include "public/gemmlowp.h"

using namespace gemmlowp;

template <typename Result, typename... Stages>
void Multiply(const Stages&... stages) {
  static const std::uint8_t bytes[1] = {0};
  Result element[1];
  GemmContext context;
  const MatrixMap<const std::uint8_t, MapOrder::RowMajor> map(bytes, 1, 1);
  MatrixMap<Result, MapOrder::RowMajor> result(element, 1, 1);
  GemmWithOutputPipeline<std::uint8_t, Result, DefaultL8R8BitDepthParams>(&context, map, map, &result, 0, 0,
                                                                         std::make_tuple(stages...));
}

int main() {
#if !defined(REJECTED)
  Multiply<std::uint8_t>(OutputStageClamp(), OutputStageSaturatingCastToUint8());
#elif REJECTED == 1
  Multiply<std::uint8_t>(OutputStageSaturatingCastToUint8(), OutputStageClamp());
#elif REJECTED == 2
  Multiply<std::uint8_t>(OutputStageSaturatingCastToUint8(), OutputStageSaturatingCastToUint8());
#elif REJECTED == 3
  Multiply<std::uint8_t>(OutputStageClamp());
#elif REJECTED == 4
  Multiply<std::int32_t>(OutputStageSaturatingCastToInt8());
#elif REJECTED == 5
  Multiply<std::uint8_t>(OutputStageSaturatingCastToInt8());
#elif REJECTED == 6
  Multiply<std::int32_t>(OutputStageClamp(), "no stage at all");
#endif
}
