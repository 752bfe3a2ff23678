// What becomes of the sums of a product before they are stored: gemmlowp's public/output_stages.h.
//
// A pipeline is a std::tuple of stages. Each takes an int32 and gives one, but for the casts, which give the type that
// they name and come last; without a cast the result is int32. gemmlowp takes up to six stages; here there may be more.
//
// Arithmetic on int32 wraps around; "nearest" is the nearest integer. A column vector has an entry for each row of the
// result, a row vector one for each column.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_PUBLIC_OUTPUT_STAGES_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_OUTPUT_STAGES_H
#define QGEMM_GEMMLOWP_OUTPUT_STAGES_H

#include <cstdint>
#include <tuple>

#include "../internal/common.h"
#include "map.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// nearest((x + result_offset) * result_mult_int / 2^result_shift), ties away from zero; shifts are 0 to 31.
struct OutputStageQuantizeDownInt32ToUint8Scale {
  std::int32_t result_offset;
  std::int32_t result_mult_int;
  std::int32_t result_shift;
};

// The same with an offset and a multiplier for each row or column.
template <VectorShape tShape>
struct OutputStageQuantizeDownInt32ToUint8ScalePC {
  VectorMap<const std::int32_t, tShape> result_offset;
  VectorMap<const std::int32_t, tShape> result_mult_int;
  std::int32_t result_shift;
};

// y = nearest(x * result_fixedpoint_multiplier / 2^31), ties up; only the square of -2^31 saturates.
// Then nearest(y / 2^result_shift), ties away from zero, + result_offset_after_shift; shifts are 0 to 31.
//
// Two roundings: 5 * 2^30 / 2^31 = 2.5 becomes 3, and 3 / 2 becomes 2, though 5 / 4 is nearer to 1.
struct OutputStageQuantizeDownInt32ByFixedPoint {
  std::int32_t result_fixedpoint_multiplier;
  std::int32_t result_shift;
  std::int32_t result_offset_after_shift;
};

using OutputStageQuantizeDownInt32ToUint8ScaleByFixedPoint = OutputStageQuantizeDownInt32ByFixedPoint;

// The same for an exponent of either sign, -31 to 30: for a positive one, x is first shifted left by it and the last
// division left out. A shift that overflows saturates; in gemmlowp that depends on instruction set and position.
struct OutputStageScaleInt32ByFixedPointAndExponent {
  std::int32_t result_fixedpoint_multiplier;
  std::int32_t result_exponent;
  std::int32_t result_offset_after_shift;
};

// The same with a multiplier and an exponent for each row or column.
template <VectorShape tShape>
struct OutputStageScaleInt32ByFixedPointAndExponentPC {
  VectorMap<const std::int32_t, tShape> result_fixedpoint_multiplier;
  VectorMap<const std::int32_t, tShape> result_exponent;
  std::int32_t result_offset_after_shift;
};

// x + bias_vector(row or column). A vector's entries may be of any integer type that int32 has room for.
template <typename VectorType>
struct OutputStageBiasAddition {
  VectorType bias_vector;
};

// max if x > max, else min if x < min; max for every x if min > max.
struct OutputStageClamp {
  std::int32_t min;
  std::int32_t max;
};

// zero + amplitude * tanh((x - zero) / amplitude) in fixed-point arithmetic, +- amplitude for x beyond 8 amplitudes.
// amplitude >= 0, and zero +- 8 amplitudes are within int32.
struct OutputStageTanh {
  std::int32_t real_zero_as_int32;
  std::int32_t real_amplitude_as_int32;
};

// Casts: to the nearest value that the type has.
struct OutputStageSaturatingCastToUint8 {};
struct OutputStageSaturatingCastToInt8 {};
struct OutputStageSaturatingCastToInt16 {};

// To the low 8 bits: as good as saturating, after a clamp to 0 to 255.
struct OutputStageTruncatingCastToUint8 {};

// The pipeline of EightBitIntGemm.
inline std::tuple<OutputStageQuantizeDownInt32ToUint8Scale, OutputStageSaturatingCastToUint8>
MakeStandardOutputPipeline(std::int32_t result_offset, std::int32_t result_mult_int, std::int32_t result_shift) {
  const OutputStageQuantizeDownInt32ToUint8Scale quantize_down = {result_offset, result_mult_int, result_shift};
  return std::make_tuple(quantize_down, OutputStageSaturatingCastToUint8());
}

template <VectorShape tShape>
std::tuple<OutputStageQuantizeDownInt32ToUint8ScalePC<tShape>, OutputStageSaturatingCastToUint8>
MakeStandardOutputPipeline(const VectorMap<const std::int32_t, tShape>& result_offset,
                           const VectorMap<const std::int32_t, tShape>& result_mult_int, std::int32_t result_shift) {
  const OutputStageQuantizeDownInt32ToUint8ScalePC<tShape> quantize_down = {result_offset, result_mult_int,
                                                                            result_shift};
  return std::make_tuple(quantize_down, OutputStageSaturatingCastToUint8());
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
