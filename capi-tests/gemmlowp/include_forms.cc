// The ways in which programs include gemmlowp's headers, all at once, with the macros that they define first.

#define GEMMLOWP_ALLOW_SLOW_SCALAR_FALLBACK
#define GEMMLOWP_SSE4_64

#include "eight_bit_int_gemm/eight_bit_int_gemm.h"
#include "fixedpoint/fixedpoint.h"
#include "internal/allocator.h"
#include "internal/common.h"
#include "internal/detect_platform.h"
#include "internal/kernel.h"
#include "internal/kernel_default.h"
#include "internal/kernel_reference.h"
#include "internal/multi_thread_gemm.h"
#include "internal/single_thread_gemm.h"
#include "profiling/instrumentation.h"
#include "profiling/profiler.h"
#include "profiling/pthread_everywhere.h"
#include "public/bit_depth.h"
#include "public/gemmlowp.h"
#include "public/map.h"
#include "public/output_stages.h"

#include "gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h"
#include "gemmlowp/profiling/profiler.h"
#include "gemmlowp/public/gemmlowp.h"
#include "gemmlowp/public/map.h"
#include "gemmlowp/test/test.h"

#include <gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h>
#include <gemmlowp/fixedpoint.h>
#include <gemmlowp/public/gemmlowp.h>

#include "third_party/gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h"
#include "third_party/gemmlowp/fixedpoint/fixedpoint.h"
#include "third_party/gemmlowp/internal/detect_platform.h"
#include "third_party/gemmlowp/profiling/instrumentation.h"
#include "third_party/gemmlowp/public/bit_depth.h"
#include "third_party/gemmlowp/public/gemmlowp.h"
#include "third_party/gemmlowp/public/map.h"
#include "third_party/gemmlowp/public/output_stages.h"

// As DeepBench measures.
template <gemmlowp::MapOrder LhsOrder, gemmlowp::MapOrder RhsOrder>
int Multiply(int m, int n, int k) {
  gemmlowp::GemmContext context;
  context.set_max_num_threads(0);
  gemmlowp::Matrix<std::uint8_t, LhsOrder> lhs(m, k);
  gemmlowp::Matrix<std::uint8_t, RhsOrder> rhs(k, n);
  gemmlowp::Matrix<std::uint8_t, gemmlowp::MapOrder::ColMajor> result(m, n);
  gemmlowp::MakeRandom<gemmlowp::OperandRange<0, 255>>(&lhs);
  gemmlowp::MakeZero(&rhs);
  gemmlowp::MakeConstant(&result, 7);
  gemmlowp::Gemm<std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(&context, lhs.const_map(), rhs.const_map(),
                                                                    &result.map(), 0, 0, 40, 3, 1);
  const auto copy = result;
  Check(copy == result);
  return result(m - 1, n - 1);
}

int main() {
  gemmlowp::ScopedProfilingLabel label("main");
  gemmlowp::RegisterCurrentThreadForProfiling();
  gemmlowp::StartProfiling();
  const int byte = Multiply<gemmlowp::MapOrder::RowMajor, gemmlowp::MapOrder::ColMajor>(3, 5, 7);
  gemmlowp::FinishProfiling();
  gemmlowp::ReleaseBuildAssertion(gemmlowp::DefaultKernel<gemmlowp::DefaultL8R8BitDepthParams>().Name() != nullptr, "");
  return byte == 60 ? 0 : 1;
}
