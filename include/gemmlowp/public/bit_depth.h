// Which values the bytes of a product may have, or how many of their bits count: gemmlowp's public/bit_depth.h.
//
// Products take a type for this, which may have members of two kinds:
//
//   LhsRange, RhsRange         an OperandRange each: the program promises that no element is outside. libqgemm may count
//                              on it, to be faster; where it is not so, results may be wrong, but nothing worse happens.
//                              A range that is not one of the operand's type promises nothing.
//   LhsBitDepth, RhsBitDepth,  a BitDepth each, and a strategy: elements are rounded to so many bits, as in gemmlowp
//   RoundingStrategy           until 2017. See qgemm_bit_depth in qgemm.h. Without a strategy, the one for less than 8.
//
// Since 2017 gemmlowp has the names of the first kind alone, and DefaultL7R5BitDepthParams is DefaultL8R8BitDepthParams.
// Here it is what it says, and results are approximate: 7 bits of lhs, 5 of rhs. Gemm(), GemmWithOutputPipeline() and
// GemmWithOutputPipelinePC() round only where that pays, if 2 * rows * cols >= 100 * (rows + cols); SingleThreadGemm()
// and MultiThreadGemm() always do.
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

// So many bits, which hold numbers up to kMaxValue.
template <int tBits>
struct BitDepth {
  static constexpr int kBits = tBits;
  static constexpr int kMaxValue = (1 << tBits) - 1;
  static_assert(1 <= tBits && tBits <= 8, "1 to 8 bits");
};

// How bytes are rounded to fewer bits. Exact is for all 8.
enum class RoundingMode { Exact, Nearest, ProbabilisticXorshift, ProbabilisticAddmod };

struct ExactRoundingStrategyFor8Bit {
  static constexpr RoundingMode kRoundingModeForSmallSizes = RoundingMode::Exact;
  static constexpr RoundingMode kRoundingModeForLargeSizes = RoundingMode::Exact;
  static constexpr int kRoundingModeSizeThreshold = 0;
};

// The size is the depth. To nearest is the better the more the elements of a line differ, but its errors add up in deep
// sums, where they do not.
struct DefaultRoundingStrategyForLessThan8Bit {
  static constexpr RoundingMode kRoundingModeForSmallSizes = RoundingMode::Nearest;
  static constexpr RoundingMode kRoundingModeForLargeSizes = RoundingMode::ProbabilisticAddmod;
  static constexpr int kRoundingModeSizeThreshold = 384;
};

// Elements may have all values, which then are rounded.
struct DefaultL7R5BitDepthParams : BitDepthParams<Uint8Range, Uint8Range> {
  using LhsBitDepth = BitDepth<7>;
  using RhsBitDepth = BitDepth<5>;
  using RoundingStrategy = DefaultRoundingStrategyForLessThan8Bit;
};

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
