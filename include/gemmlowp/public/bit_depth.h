// Which values the bytes of a product may have: gemmlowp's public/bit_depth.h.
//
// gemmlowp chooses a kernel by these ranges, and its results may be wrong where a byte is outside. libqgemm takes them
// as hints at most: results are exact for every byte.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_PUBLIC_BIT_DEPTH_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_BIT_DEPTH_H
#define QGEMM_GEMMLOWP_BIT_DEPTH_H

namespace gemmlowp {
inline namespace by_libqgemm {

// From tMinValue to tMaxValue, both included.
template <int tMinValue, int tMaxValue>
struct OperandRange {
  static constexpr int kMinValue = tMinValue;
  static constexpr int kMaxValue = tMaxValue;
  static_assert(tMinValue < tMaxValue, "a range has at least two values");
};

using Uint8Range = OperandRange<0, 255>;
using Uint8RangeExcludingZero = OperandRange<1, 255>;
using Int8Range = OperandRange<-128, 127>;
using Int8RangeExcludingLow = OperandRange<-127, 127>;

template <typename tLhsRange, typename tRhsRange>
struct BitDepthParams {
  using LhsRange = tLhsRange;
  using RhsRange = tRhsRange;
};

using DefaultL8R8BitDepthParams = BitDepthParams<Uint8Range, Uint8Range>;
using L8R8WithLhsNonzeroBitDepthParams = BitDepthParams<Uint8RangeExcludingZero, Uint8Range>;
using SignedL8R8WithLhsNonzeroBitDepthParams = BitDepthParams<Int8RangeExcludingLow, Int8Range>;

// A name that stayed when gemmlowp gave up depths of less than 8 bits.
using DefaultL7R5BitDepthParams = DefaultL8R8BitDepthParams;

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
