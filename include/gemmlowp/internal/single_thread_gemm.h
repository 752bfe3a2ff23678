// A product on the thread that asks for it: gemmlowp's internal/single_thread_gemm.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_SINGLE_THREAD_GEMM_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_SINGLE_THREAD_GEMM_H
#define QGEMM_GEMMLOWP_SINGLE_THREAD_GEMM_H

#include <cassert>

#include "../libqgemm/multiply.h"
#include "../libqgemm/own_context.h"
#include "../public/map.h"
#include "allocator.h"
#include "kernel.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// What products keep from one to the next. One product at a time.
class SingleThreadGemmContext {
 public:
  Allocator* allocator() { return &allocator_; }

  // Kept, and returned, and otherwise without effect: libqgemm knows the caches.
  void set_l1_bytes_to_use(int n) { l1_bytes_to_use_ = n; }
  void set_l2_bytes_to_use(int n) { l2_bytes_to_use_ = n; }
  void set_l2_rhs_factor(float n) { l2_rhs_factor_ = n; }
  int l1_bytes_to_use() const { return l1_bytes_to_use_; }
  int l2_bytes_to_use() const { return l2_bytes_to_use_; }
  float l2_rhs_factor() const { return l2_rhs_factor_; }

  // Not gemmlowp's: where the products are really computed.
  libqgemm::OwnContext* own_context() { return &own_context_; }

 protected:
  Allocator allocator_;
  int l1_bytes_to_use_ = kDefaultL1CacheSize;
  int l2_bytes_to_use_ = kDefaultL2CacheSize;
  float l2_rhs_factor_ = kDefaultL2RhsFactor;

 private:
  libqgemm::OwnContext own_context_;
};

template <typename KernelFormat, typename InputScalar, typename OutputScalar, typename BitDepthParams,
          MapOrder LhsOrder, MapOrder RhsOrder, MapOrder ResultOrder, typename LhsOffset, typename RhsOffset,
          typename OutputPipelineType>
void SingleThreadGemm(SingleThreadGemmContext* context, const KernelBase&,
                      const MatrixMap<const InputScalar, LhsOrder>& lhs,
                      const MatrixMap<const InputScalar, RhsOrder>& rhs, MatrixMap<OutputScalar, ResultOrder>* result,
                      const LhsOffset& lhs_offset, const RhsOffset& rhs_offset,
                      const OutputPipelineType& output_pipeline) {
  libqgemm::Multiply<BitDepthParams>(context->own_context()->WithThreads(1), lhs, rhs, *result, lhs_offset, rhs_offset,
                                     output_pipeline, QGEMM_REQUANTIZE_ALWAYS);
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
