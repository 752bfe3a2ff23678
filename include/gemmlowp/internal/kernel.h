// How a kernel of gemmlowp's wants its operands: what programs name of gemmlowp's internal/kernel.h.
//
// These types are accepted where gemmlowp takes a kernel, and have no effect. A kernel of one's own, which would have a
// function Run(), is not to be had here.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_KERNEL_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_KERNEL_H
#define QGEMM_GEMMLOWP_KERNEL_H

#include <cstdint>

#include "common.h"

namespace gemmlowp {
inline namespace by_libqgemm {

enum class CellOrder { DepthMajor, WidthMajor, Diagonal };

template <int tWidth, int tDepth, CellOrder tOrder = CellOrder::DepthMajor>
struct CellFormat {
  static constexpr int kWidth = tWidth;
  static constexpr int kDepth = tDepth;
  static constexpr CellOrder kOrder = tOrder;
  static constexpr int kSize = tWidth * tDepth;
};

template <typename tCellFormat, int tCells>
struct KernelSideFormat {
  typedef tCellFormat Cell;
  typedef std::uint8_t Scalar;
  typedef std::uint8_t InputScalar;
  static constexpr int kCells = tCells;
  static constexpr int kWidth = tCells * Cell::kWidth;
  static constexpr int kDepth = Cell::kDepth;
};

template <typename tCellFormat, int tCells>
struct KernelSideFormatInt8 : KernelSideFormat<tCellFormat, tCells> {
  typedef std::int8_t Scalar;
};

template <typename tCellFormat, int tCells>
struct KernelSideFormatInt8Inputs : KernelSideFormat<tCellFormat, tCells> {
  typedef std::int8_t Scalar;
  typedef std::int8_t InputScalar;
};

template <typename tLhs, typename tRhs>
struct KernelFormat {
  typedef tLhs Lhs;
  typedef tRhs Rhs;
  static_assert(Lhs::kDepth == Rhs::kDepth, "the cells of both sides are equally deep");
  static constexpr int kDepth = Lhs::kDepth;
  static constexpr int kRows = Lhs::kWidth;
  static constexpr int kCols = Rhs::kWidth;
};

struct KernelBase {
  virtual const char* Name() const = 0;
  virtual ~KernelBase() {}
};

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
