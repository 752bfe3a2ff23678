// What BitDepthParams say, in the words of the C interface.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_BIT_DEPTH_PARAMS_H
#define QGEMM_GEMMLOWP_BIT_DEPTH_PARAMS_H

#include <cstdint>
#include <limits>

#include <qgemm/qgemm.h>

#include "../public/bit_depth.h"

namespace libqgemm {

// void, if there is such a type.
template <typename Type>
struct VoidFor {
  typedef void Type_;
};

// ---- Promises ----

template <typename Params, typename = void>
struct LhsRangeOf {
  typedef gemmlowp::OperandRange<INT32_MIN, INT32_MAX> Range;
};

template <typename Params>
struct LhsRangeOf<Params, typename VoidFor<typename Params::LhsRange>::Type_> {
  typedef typename Params::LhsRange Range;
};

template <typename Params, typename = void>
struct RhsRangeOf {
  typedef gemmlowp::OperandRange<INT32_MIN, INT32_MAX> Range;
};

template <typename Params>
struct RhsRangeOf<Params, typename VoidFor<typename Params::RhsRange>::Type_> {
  typedef typename Params::RhsRange Range;
};

// The least and the greatest element of an operand: 0 and 0, if nothing is promised that makes sense for its type.
template <typename Scalar, typename Range>
struct Promise {
  typedef std::numeric_limits<Scalar> Limits;
  static constexpr bool kIsOne = Range::kMinValue >= Limits::min() && Range::kMaxValue <= Limits::max();
  static constexpr std::int32_t kLeast = kIsOne ? Range::kMinValue : 0;
  static constexpr std::int32_t kGreatest = kIsOne ? Range::kMaxValue : 0;
};

// ---- Fewer bits ----

constexpr std::uint32_t RoundingOf(gemmlowp::RoundingMode mode) {
  return mode == gemmlowp::RoundingMode::ProbabilisticXorshift ? QGEMM_REQUANTIZE_XORSHIFT
         : mode == gemmlowp::RoundingMode::ProbabilisticAddmod ? QGEMM_REQUANTIZE_ADD_MOD
                                                               : QGEMM_REQUANTIZE_NEAREST;
}

template <typename Params, typename = void>
struct RoundingStrategyOf {
  typedef gemmlowp::DefaultRoundingStrategyForLessThan8Bit Strategy;
};

template <typename Params>
struct RoundingStrategyOf<Params, typename VoidFor<typename Params::RoundingStrategy>::Type_> {
  typedef typename Params::RoundingStrategy Strategy;
};

// All 8, where the parameters say nothing of bits.
template <typename Params, typename = void>
struct BitsOf {
  static constexpr bool kAreAll = true;
  static qgemm_bit_depth Depth(std::uint32_t) { return QGEMM_BIT_DEPTH_INIT; }
};

template <typename Params>
struct BitsOf<Params,
              typename VoidFor<decltype(Params::LhsBitDepth::kBits + Params::RhsBitDepth::kBits)>::Type_> {
  typedef typename RoundingStrategyOf<Params>::Strategy Strategy;
  static constexpr int kLhs = Params::LhsBitDepth::kBits, kRhs = Params::RhsBitDepth::kBits;
  static constexpr bool kAreAll = kLhs == 8 && kRhs == 8;
  static_assert(1 <= kLhs && kLhs <= 8 && 1 <= kRhs && kRhs <= 8, "1 to 8 bits");
  static_assert(kAreAll || (Strategy::kRoundingModeForSmallSizes != gemmlowp::RoundingMode::Exact &&
                            Strategy::kRoundingModeForLargeSizes != gemmlowp::RoundingMode::Exact),
                "to round to less than 8 bits is not exact");

  // As gemmlowp has it, no depth is below 0; in C that stands for another threshold.
  static qgemm_bit_depth Depth(std::uint32_t flags) {
    return {sizeof(qgemm_bit_depth),
            kLhs,
            kRhs,
            RoundingOf(Strategy::kRoundingModeForSmallSizes),
            RoundingOf(Strategy::kRoundingModeForLargeSizes),
            Strategy::kRoundingModeSizeThreshold > 0 ? Strategy::kRoundingModeSizeThreshold : 1,
            flags,
            0};
  }
};

}  // namespace libqgemm

#endif
