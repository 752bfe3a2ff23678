// Views of the caller's memory as matrices and vectors: gemmlowp's public/map.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_PUBLIC_MAP_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_MAP_H
#define QGEMM_GEMMLOWP_MAP_H

#include <cassert>
#include <cstddef>
#include <type_traits>

#include "../internal/common.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// What is contiguous in memory: the elements of a column, or those of a row.
enum class MapOrder { ColMajor, RowMajor };

// A matrix in the caller's memory. Programs derive from it and set the protected members.
template <typename tScalar, MapOrder tOrder>
class MatrixMap {
 public:
  typedef tScalar Scalar;
  static constexpr MapOrder kOrder = tOrder;

 protected:
  Scalar* data_;
  int rows_, cols_;
  // Elements from one column (row, if row-major) to the next.
  int stride_;

 public:
  MatrixMap() : MatrixMap(nullptr, 0, 0, 0) {}
  MatrixMap(Scalar* data, int rows, int cols)
      : MatrixMap(data, rows, cols, kOrder == MapOrder::ColMajor ? rows : cols) {}
  MatrixMap(Scalar* data, int rows, int cols, int stride) : data_(data), rows_(rows), cols_(cols), stride_(stride) {}

  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int stride() const { return stride_; }
  // Elements from one row to the next, and from one column to the next.
  int rows_stride() const { return kOrder == MapOrder::ColMajor ? 1 : stride_; }
  int cols_stride() const { return kOrder == MapOrder::RowMajor ? 1 : stride_; }

  Scalar* data() const { return data_; }
  Scalar* data(int row, int col) const {
    return data_ + static_cast<std::ptrdiff_t>(row) * rows_stride() + static_cast<std::ptrdiff_t>(col) * cols_stride();
  }
  Scalar& operator()(int row, int col) const { return *data(row, col); }

  MatrixMap block(int start_row, int start_col, int block_rows, int block_cols) const {
    assert(start_row >= 0 && start_row + block_rows <= rows_);
    assert(start_col >= 0 && start_col + block_cols <= cols_);
    return MatrixMap(data(start_row, start_col), block_rows, block_cols, stride_);
  }
};

// A column vector has an entry for each row of the matrix that it goes with, a row vector one for each column.
enum class VectorShape { Col, Row };

// A vector in the caller's memory.
template <typename tScalar, VectorShape tShape>
class VectorMap {
 public:
  typedef tScalar Scalar;
  static constexpr VectorShape kShape = tShape;

 protected:
  Scalar* data_;
  int size_;

 public:
  VectorMap() : VectorMap(nullptr, 0) {}
  VectorMap(Scalar* data, int size) : data_(data), size_(size) {}

  int size() const { return size_; }
  Scalar* data() const { return data_; }
  Scalar* data(int index) const { return data_ + index; }
  Scalar& operator()(int index) const { return data_[index]; }

  VectorMap block(int start, int len) const {
    assert(start >= 0 && start + len <= size_);
    return VectorMap(data(start), len);
  }
};

// A vector all of whose entries are the same.
template <typename tScalar, VectorShape tShape>
class VectorDup {
 public:
  typedef tScalar Scalar;
  static constexpr VectorShape kShape = tShape;

 protected:
  // Never const, so that vectors can be assigned.
  typename std::remove_const<Scalar>::type data_;
  int size_;

 public:
  VectorDup() : VectorDup(0, 0) {}
  VectorDup(Scalar data, int size) : data_(data), size_(size) {}

  int size() const { return size_; }
  const Scalar& operator()(int) const { return data_; }

  VectorDup block(int start, int len) const {
    assert(start >= 0 && start + len <= size_);
    (void)start;
    return VectorDup(data_, len);
  }
};

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
