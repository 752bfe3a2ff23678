// The ways in which programs include the headers, all at once, and a name out of each.

#include "fixedpoint/fixedpoint.h"
#include "internal/common.h"
#include "internal/detect_platform.h"
#include "profiling/instrumentation.h"

#include "gemmlowp/fixedpoint/fixedpoint.h"
#include "gemmlowp/internal/common.h"
#include "gemmlowp/internal/detect_platform.h"
#include "gemmlowp/profiling/instrumentation.h"

#include <gemmlowp/fixedpoint.h>
#include <gemmlowp/fixedpoint/fixedpoint.h>
#include <gemmlowp/internal/detect_platform.h>
#include <gemmlowp/profiling/instrumentation.h>

int main() {
  gemmlowp::ScopedProfilingLabel label("main");
  const auto half = gemmlowp::FixedPoint<std::int32_t, 0>::FromDouble(0.5);
  return gemmlowp::RoundUp<2>(gemmlowp::tanh(half).raw() - gemmlowp::tanh(half).raw());
}
