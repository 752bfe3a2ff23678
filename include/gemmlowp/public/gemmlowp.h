// gemmlowp's matrix products, computed by libqgemm: gemmlowp's public/gemmlowp.h.
//
// A program written for gemmlowp's header of this name compiles unchanged: put the directory "gemmlowp" that holds this
// one before gemmlowp's in the include path, and link with libqgemm; in CMake, link to qgemm::gemmlowp. It gets the
// same bytes, sooner, on any processor, whatever it is compiled for.
//
// What differs:
//   - int8 operands and results, per-channel stages, the truncating cast, biases of 8 and 16 bits, more than six
//     stages, and operand ranges of less than 8 bits work everywhere.
//   - BitDepthParams promise things about the operands; where an element breaks the promise, results may be wrong, but
//     nothing worse happens. DefaultL7R5BitDepthParams round to fewer bits, as gemmlowp did until 2017: see bit_depth.h.
//   - Left shifts that overflow saturate: see OutputStageScaleInt32ByFixedPointAndExponent.
//   - Where gemmlowp would read or write outside of matrices and vectors, or has no defined result (a shift out of
//     range, a negative amplitude of tanh), the program ends and says why, in release builds too.
//   - Cache sizes that are set, and kernels that are named, have no effect.
//
// A program may consist of files compiled with these headers and others, also libraries, compiled with gemmlowp's: what
// both define has different names for the linker.
//
// Everything here is inline and needs C++11 and no exceptions.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_PUBLIC_GEMMLOWP_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_GEMMLOWP_H
#define QGEMM_GEMMLOWP_GEMMLOWP_H

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "../fixedpoint/fixedpoint.h"
#include "../internal/common.h"
#include "../internal/kernel_default.h"
#include "../internal/multi_thread_gemm.h"
#include "bit_depth.h"
#include "map.h"
#include "output_stages.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// What products keep from one to the next: threads and memory. One product at a time; contexts are independent.
class GemmContext : public MultiThreadGemmContext {};

// Multiplies two matrices and sends the sums through a pipeline of output stages.
//
//   acc(i,j)    = sum over l of (lhs(i,l) + lhs_offset(i)) * (rhs(l,j) + rhs_offset(j)), wrapping
//   result(i,j) = output_pipeline(acc(i,j))
//
// Offsets are added: for a zero point pass its negative. They are vectors with an entry for each row of lhs and for
// each column of rhs. If the depth is 0 the result is left as it is.
template <typename InputScalar, typename OutputScalar, typename BitDepthParams, MapOrder LhsOrder, MapOrder RhsOrder,
          MapOrder ResultOrder, typename LhsOffset, typename RhsOffset, typename OutputPipelineType,
          typename GemmContextType>
void GemmWithOutputPipelinePC(GemmContextType* context, const MatrixMap<const InputScalar, LhsOrder>& lhs,
                              const MatrixMap<const InputScalar, RhsOrder>& rhs,
                              MatrixMap<OutputScalar, ResultOrder>* result, const LhsOffset& lhs_offset,
                              const RhsOffset& rhs_offset, const OutputPipelineType& output_pipeline) {
  libqgemm::MultiplyOnThreads<BitDepthParams>(context, lhs, rhs, *result, lhs_offset, rhs_offset, output_pipeline, 0);
}

// The same with one offset for all rows and one for all columns.
template <typename InputScalar, typename OutputScalar, typename BitDepthParams, MapOrder LhsOrder, MapOrder RhsOrder,
          MapOrder ResultOrder, typename OutputPipelineType, typename GemmContextType>
void GemmWithOutputPipeline(GemmContextType* context, const MatrixMap<const InputScalar, LhsOrder>& lhs,
                            const MatrixMap<const InputScalar, RhsOrder>& rhs,
                            MatrixMap<OutputScalar, ResultOrder>* result, int lhs_offset, int rhs_offset,
                            const OutputPipelineType& output_pipeline) {
  GemmWithOutputPipelinePC<InputScalar, OutputScalar, BitDepthParams>(
      context, lhs, rhs, result, VectorDup<const std::int32_t, VectorShape::Col>(lhs_offset, lhs.rows()),
      VectorDup<const std::int32_t, VectorShape::Row>(rhs_offset, rhs.cols()), output_pipeline);
}

// The product of EightBitIntGemm: the sums are scaled down to bytes by MakeStandardOutputPipeline().
template <typename Scalar, typename BitDepthParams, MapOrder LhsOrder, MapOrder RhsOrder, MapOrder ResultOrder,
          typename GemmContextType>
void Gemm(GemmContextType* context, const MatrixMap<const Scalar, LhsOrder>& lhs,
          const MatrixMap<const Scalar, RhsOrder>& rhs, MatrixMap<Scalar, ResultOrder>* result, int lhs_offset,
          int rhs_offset, int result_offset, int result_mult_int, int result_shift) {
  GemmWithOutputPipeline<Scalar, Scalar, BitDepthParams>(
      context, lhs, rhs, result, lhs_offset, rhs_offset,
      MakeStandardOutputPipeline(result_offset, result_mult_int, result_shift));
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
