// Matrices with memory of their own, and random ones, for tests and benchmarks: what programs use of gemmlowp's
// test/test.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_TEST_TEST_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_TEST_H
#define QGEMM_GEMMLOWP_TEST_H

#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "../profiling/profiler.h"
#include "../public/gemmlowp.h"

#define GEMMLOWP_STRINGIFY2(x) #x
#define GEMMLOWP_STRINGIFY(x) GEMMLOWP_STRINGIFY2(x)

// Ends the program unless `b` holds.
#define Check(b) gemmlowp::ReleaseBuildAssertion(b, "test failed at " __FILE__ ":" GEMMLOWP_STRINGIFY(__LINE__))

namespace gemmlowp {
inline namespace by_libqgemm {

// A map of elements that belong to it, without gaps.
template <typename tScalar, MapOrder tOrder>
class Matrix : public MatrixMap<tScalar, tOrder> {
 public:
  typedef MatrixMap<tScalar, tOrder> Map;
  typedef MatrixMap<const tScalar, tOrder> ConstMap;
  typedef tScalar Scalar;
  static constexpr MapOrder Order = tOrder;

  Matrix() {}
  Matrix(int rows, int cols) { Resize(rows, cols); }
  Matrix(const Matrix& other) : Map(other), storage(other.storage) { this->data_ = storage.data(); }
  Matrix& operator=(const Matrix& other) {
    Resize(other.rows(), other.cols());
    storage = other.storage;
    this->data_ = storage.data();
    return *this;
  }

  friend bool operator==(const Matrix& a, const Matrix& b) {
    return a.rows() == b.rows() && a.cols() == b.cols() && a.storage == b.storage;
  }

  void Resize(int rows, int cols) {
    storage.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
    static_cast<Map&>(*this) = Map(storage.data(), rows, cols);
  }

  int size() const { return static_cast<int>(storage.size()); }
  Map& map() { return *this; }
  ConstMap const_map() const { return ConstMap(this->data_, this->rows_, this->cols_, this->stride_); }

 protected:
  std::vector<Scalar> storage;
};

inline std::mt19937& RandomEngine() {
  static std::mt19937 engine;
  return engine;
}

// 0 to INT_MAX.
inline int Random() {
  return std::uniform_int_distribution<int>(0, std::numeric_limits<int>::max())(RandomEngine());
}

template <typename MatrixType>
void MakeConstant(MatrixType* m, typename MatrixType::Scalar val) {
  for (int col = 0; col < m->cols(); ++col) {
    for (int row = 0; row < m->rows(); ++row) (*m)(row, col) = val;
  }
}

template <typename MatrixType>
void MakeZero(MatrixType* m) {
  MakeConstant(m, 0);
}

// Any values within the range.
template <typename OperandRange, typename MatrixType>
void MakeRandom(MatrixType* m) {
  std::uniform_int_distribution<int> values(OperandRange::kMinValue, OperandRange::kMaxValue);
  for (int col = 0; col < m->cols(); ++col) {
    for (int row = 0; row < m->rows(); ++row) {
      (*m)(row, col) = static_cast<typename MatrixType::Scalar>(values(RandomEngine()));
    }
  }
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
