// All the ways in which programs include gemmlowp's headers, a product, and tasks of the program's own.

#include "fixedpoint/fixedpoint.h"
#include "gemmlowp/public/gemmlowp.h"
#include "internal/detect_platform.h"
#include "profiling/instrumentation.h"
#include "public/gemmlowp.h"
#include "third_party/gemmlowp/public/gemmlowp.h"
#include <gemmlowp/fixedpoint.h>
#include <gemmlowp/public/gemmlowp.h>

namespace {

bool GemmIsRight() {
  const std::uint8_t a[] = {11, 12, 13, 14, 15, 16};
  const std::uint8_t b[] = {7, 8, 9, 10, 11, 12};
  std::uint8_t c[4];
  gemmlowp::GemmContext context;
  context.set_max_num_threads(2);
  const gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::RowMajor> lhs(a, 2, 3), rhs(b, 3, 2);
  gemmlowp::MatrixMap<std::uint8_t, gemmlowp::MapOrder::RowMajor> result(c, 2, 2);
  gemmlowp::Gemm<std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(&context, lhs, rhs, &result, -10, 0, 0, 1, 1);
  return c[0] == 29 && c[1] == 32 && c[2] == 70 && c[3] == 77;
}

bool PoolWorks() {
  struct Halve : gemmlowp::Task {
    explicit Halve(std::int32_t* number) : number(number) {}
    void Run() override { *number = gemmlowp::SaturatingRoundingDoublingHighMul(*number, 1 << 30); }
    std::int32_t* number;
  };
  std::int32_t numbers[] = {2, 4, 6};
  gemmlowp::WorkersPool pool;
  pool.Execute({new Halve(&numbers[0]), new Halve(&numbers[1]), new Halve(&numbers[2])});
  return numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 3;
}

}  // namespace

int main() { return GemmIsRight() && PoolWorks() ? 0 : 1; }
