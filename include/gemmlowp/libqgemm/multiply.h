// A product of maps, computed by the C interface.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_MULTIPLY_H
#define QGEMM_GEMMLOWP_MULTIPLY_H

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <qgemm/qgemm.h>

#include "../public/map.h"
#include "abort.h"
#include "bit_depth_params.h"
#include "stages.h"

namespace libqgemm {

template <typename Scalar>
struct TypeOf {
  static_assert(std::is_void<Scalar>::value, "matrices are of uint8_t or int8_t, results also of int16_t or int32_t");
};

template <>
struct TypeOf<std::uint8_t> {
  static constexpr std::uint32_t kValue = QGEMM_TYPE_U8;
};

template <>
struct TypeOf<std::int8_t> {
  static constexpr std::uint32_t kValue = QGEMM_TYPE_S8;
};

template <>
struct TypeOf<std::int16_t> {
  static constexpr std::uint32_t kValue = QGEMM_TYPE_S16;
};

template <>
struct TypeOf<std::int32_t> {
  static constexpr std::uint32_t kValue = QGEMM_TYPE_S32;
};

constexpr std::uint32_t OrderOf(gemmlowp::MapOrder order) {
  return order == gemmlowp::MapOrder::RowMajor ? QGEMM_ROW_MAJOR : QGEMM_COL_MAJOR;
}

// Whether there are two rows (columns, if column-major), so that the stride of `map` means something. Else it may be
// anything; in C it is then 0.
template <typename Scalar, gemmlowp::MapOrder order>
bool HasStride(const gemmlowp::MatrixMap<Scalar, order>& map) {
  return (order == gemmlowp::MapOrder::RowMajor ? map.rows() : map.cols()) > 1;
}

// A side of the product. Where the stride of a map is 0 or negative, so that its rows or columns are all the same or go
// backwards, which C has no way to say, this holds a copy of the elements.
template <typename Scalar>
class Side {
 public:
  template <gemmlowp::MapOrder order, typename Offset, typename Range>
  Side(const gemmlowp::MatrixMap<const Scalar, order>& map, const Offset& offset, Range)
      : operand_{sizeof operand_,
                 map.data(),
                 nullptr,
                 map.rows(),
                 map.cols(),
                 HasStride(map) ? map.stride() : 0,
                 TypeOf<Scalar>::kValue,
                 OrderOf(order),
                 Values(offset, &widened_),
                 Promise<Scalar, Range>::kLeast,
                 Promise<Scalar, Range>::kGreatest} {
    if (HasStride(map) && map.stride() <= 0) Copy(map);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  const qgemm_operand* operand() const { return &operand_; }

 private:
  template <gemmlowp::MapOrder order>
  void Copy(const gemmlowp::MatrixMap<const Scalar, order>& map) {
    for (int row = 0; row < map.rows(); ++row) {
      for (int col = 0; col < map.cols(); ++col) copy_.push_back(map(row, col));
    }
    operand_.data = copy_.data();
    operand_.stride = 0;
    operand_.order = QGEMM_ROW_MAJOR;
  }

  Widened widened_;
  std::vector<Scalar> copy_;
  qgemm_operand operand_;
};

// result = pipeline((lhs + lhs_offset) * (rhs + rhs_offset)). As in gemmlowp, nothing happens where there is nothing to
// sum: also if the depth alone is 0. With fewer bits, if BitDepthParams say so, always or, without QGEMM_REQUANTIZE_ALWAYS,
// where that pays.
template <typename BitDepthParams, typename InputScalar, typename OutputScalar, gemmlowp::MapOrder LhsOrder, gemmlowp::MapOrder RhsOrder,
          gemmlowp::MapOrder ResultOrder, typename LhsOffset, typename RhsOffset, typename Pipeline>
void Multiply(const qgemm_context* context, const gemmlowp::MatrixMap<const InputScalar, LhsOrder>& lhs,
              const gemmlowp::MatrixMap<const InputScalar, RhsOrder>& rhs,
              const gemmlowp::MatrixMap<OutputScalar, ResultOrder>& result, const LhsOffset& lhs_offset,
              const RhsOffset& rhs_offset, const Pipeline& pipeline, std::uint32_t requantize) {
  static_assert(std::is_same<InputScalar, std::uint8_t>::value || std::is_same<InputScalar, std::int8_t>::value,
                "operands are of uint8_t or int8_t");
  static_assert(std::is_same<typename PipelineGives<std::int32_t, Pipeline>::Type, OutputScalar>::value,
                "the result is not of the type that the output pipeline gives");
  if (result.rows() == 0 || result.cols() == 0 || lhs.cols() == 0) return;

  AbortUnless(!HasStride(result) || result.stride() != 0, "the stride of the result is 0");
  const Side<InputScalar> left(lhs, lhs_offset, typename LhsRangeOf<BitDepthParams>::Range());
  const Side<InputScalar> right(rhs, rhs_offset, typename RhsRangeOf<BitDepthParams>::Range());
  const qgemm_result target = {sizeof target,
                               result.data(),
                               result.rows(),
                               result.cols(),
                               HasStride(result) ? result.stride() : 0,
                               TypeOf<OutputScalar>::kValue,
                               OrderOf(ResultOrder)};
  const Stages<Pipeline> stages(pipeline);
  const qgemm_bit_depth depth = BitsOf<BitDepthParams>::Depth(requantize);
  qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
  if (!BitsOf<BitDepthParams>::kAreAll) options.bit_depth = &depth;
  AbortOnError(qgemm_gemm(context, left.operand(), right.operand(), &target, stages.data(), Stages<Pipeline>::kCount,
                          &options));
}

}  // namespace libqgemm

#endif
