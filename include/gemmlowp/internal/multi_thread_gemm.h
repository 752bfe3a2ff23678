// A product on several threads: gemmlowp's internal/multi_thread_gemm.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_MULTI_THREAD_GEMM_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_MULTI_THREAD_GEMM_H
#define QGEMM_GEMMLOWP_MULTI_THREAD_GEMM_H

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "../libqgemm/foreign_pool.h"
#include "../libqgemm/multiply.h"
#include "../libqgemm/own_context.h"
#include "single_thread_gemm.h"
#include "workers_pool.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// For contexts with a workers_pool() of the program's own, which products then run on. That returns a pointer to
// something with Execute(const std::vector<Task*>&), which runs and deletes the tasks, or with
// Execute(int count, TaskType* tasks), which only runs them. A context need not derive from this: any type will do that
// has max_num_threads() and workers_pool().
class MultiThreadGemmContextBase : public SingleThreadGemmContext {
 public:
  // 1 at first; 0 for one on each processor.
  void set_max_num_threads(int n) { max_num_threads_ = n; }
  int max_num_threads() const { return max_num_threads_; }

 protected:
  int max_num_threads_ = 1;
};

class MultiThreadGemmContext : public MultiThreadGemmContextBase {
 public:
  // For the program's own tasks. Products run on threads of the library.
  WorkersPool* workers_pool() { return &workers_pool_; }

 private:
  WorkersPool workers_pool_;
};

// How many threads gemmlowp takes for a product of this size; kept because programs ask it for work of their own. They
// get 16 rows each, or KernelRows if more, and 65536 multiplications.
template <int KernelRows>
int HowManyThreads(int max_num_threads, int rows, int cols, int depth) {
  if (max_num_threads == 1) return 1;
  const int most = std::min(GetHardwareConcurrency(max_num_threads), CeilQuotient(rows, std::max(KernelRows, 16)));
  const std::uint64_t multiplications =
      static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols) * static_cast<std::uint64_t>(depth);
  return std::max(1, static_cast<int>(std::min<std::uint64_t>(multiplications / 65536, std::max(most, 0))));
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

namespace libqgemm {

// Whether `Context` has the pool of gemmlowp's own contexts: the function may be inherited, but not replaced.
template <typename Context, typename = void>
struct HasGemmlowpsPool : std::false_type {};

typedef gemmlowp::WorkersPool* (gemmlowp::MultiThreadGemmContext::*GemmlowpsPool)();

template <typename Context>
struct HasGemmlowpsPool<
    Context, typename std::enable_if<std::is_same<decltype(&Context::workers_pool), GemmlowpsPool>::value>::type>
    : std::true_type {};

// Where a gemmlowp context keeps its qgemm_context; a context that is only like one gets another for each product.
inline OwnContext* OwnContextOf(gemmlowp::SingleThreadGemmContext* context, OwnContext*) {
  return context->own_context();
}
inline OwnContext* OwnContextOf(void*, OwnContext* temporary) { return temporary; }

// A product on as many threads as the context allows.
template <typename BitDepthParams, typename Context, typename Lhs, typename Rhs, typename Result, typename LhsOffset,
          typename RhsOffset, typename Pipeline>
void MultiplyOnThreads(Context* context, const Lhs& lhs, const Rhs& rhs, const Result& result,
                       const LhsOffset& lhs_offset, const RhsOffset& rhs_offset, const Pipeline& pipeline,
                       std::uint32_t requantize) {
  OwnContext temporary;
  OwnContext* const own = OwnContextOf(context, &temporary);
  const int threads = context->max_num_threads();
  const bool is_foreign = threads != 1 && !HasGemmlowpsPool<Context>::value;
  Multiply<BitDepthParams>(is_foreign ? own->With(threads, RunOnPoolOf<Context>, context) : own->WithThreads(threads),
                           lhs, rhs, result, lhs_offset, rhs_offset, pipeline, requantize);
}

}  // namespace libqgemm

namespace gemmlowp {
inline namespace by_libqgemm {

template <typename KernelFormat, typename InputScalar, typename OutputScalar, typename BitDepthParams,
          MapOrder LhsOrder, MapOrder RhsOrder, MapOrder ResultOrder, typename LhsOffset, typename RhsOffset,
          typename OutputPipelineType, typename GemmContextType>
void MultiThreadGemm(GemmContextType* context, const KernelBase&, const MatrixMap<const InputScalar, LhsOrder>& lhs,
                     const MatrixMap<const InputScalar, RhsOrder>& rhs, MatrixMap<OutputScalar, ResultOrder>* result,
                     const LhsOffset& lhs_offset, const RhsOffset& rhs_offset,
                     const OutputPipelineType& output_pipeline) {
  libqgemm::MultiplyOnThreads<BitDepthParams>(context, lhs, rhs, *result, lhs_offset, rhs_offset, output_pipeline,
                                              QGEMM_REQUANTIZE_ALWAYS);
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
