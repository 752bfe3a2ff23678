// A pipeline, which C++ knows as a tuple of types, as the array of stages that the C interface takes.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_STAGES_H
#define QGEMM_GEMMLOWP_STAGES_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include <qgemm/qgemm.h>

#include "../public/map.h"
#include "../public/output_stages.h"
#include "abort.h"

namespace libqgemm {

// ---- What a pipeline gives ----

template <typename Stage>
struct Gives {
  typedef std::int32_t Type;
};

template <>
struct Gives<gemmlowp::OutputStageSaturatingCastToUint8> {
  typedef std::uint8_t Type;
};

template <>
struct Gives<gemmlowp::OutputStageTruncatingCastToUint8> {
  typedef std::uint8_t Type;
};

template <>
struct Gives<gemmlowp::OutputStageSaturatingCastToInt8> {
  typedef std::int8_t Type;
};

template <>
struct Gives<gemmlowp::OutputStageSaturatingCastToInt16> {
  typedef std::int16_t Type;
};

// What comes out of the stages `Pipeline` if `Input` goes in.
template <typename Input, typename Pipeline>
struct PipelineGives;

template <typename Input>
struct PipelineGives<Input, std::tuple<>> {
  typedef Input Type;
};

template <typename Input, typename First, typename... Rest>
struct PipelineGives<Input, std::tuple<First, Rest...>> {
  static_assert(std::is_same<Input, std::int32_t>::value, "a cast must be the last stage of an output pipeline");
  typedef typename PipelineGives<typename Gives<First>::Type, std::tuple<Rest...>>::Type Type;
};

// ---- Parameters ----

// Memory for entries that are not of type int32 in the caller's.
typedef std::vector<std::int32_t> Widened;

inline qgemm_i32_values Values(std::int32_t value) { return {nullptr, 0, value, QGEMM_UNIFORM}; }

inline qgemm_i32_values ValuesAt(const std::int32_t* data, int size, gemmlowp::VectorShape shape) {
  const std::uint32_t axis = shape == gemmlowp::VectorShape::Col ? QGEMM_PER_ROW : QGEMM_PER_COL;
  return {data, size, 0, axis};
}

template <typename T, gemmlowp::VectorShape shape>
qgemm_i32_values Values(const gemmlowp::VectorDup<T, shape>& vector, Widened*) {
  return Values(vector(0));
}

template <gemmlowp::VectorShape shape>
qgemm_i32_values Values(const gemmlowp::VectorMap<const std::int32_t, shape>& vector, Widened*) {
  return ValuesAt(vector.data(), vector.size(), shape);
}

template <gemmlowp::VectorShape shape>
qgemm_i32_values Values(const gemmlowp::VectorMap<std::int32_t, shape>& vector, Widened*) {
  return ValuesAt(vector.data(), vector.size(), shape);
}

template <typename T, gemmlowp::VectorShape shape>
qgemm_i32_values Values(const gemmlowp::VectorMap<T, shape>& vector, Widened* widened) {
  static_assert(std::numeric_limits<T>::is_integer && std::numeric_limits<T>::digits <= 31,
                "the entries of a vector must fit into int32");
  // The C interface reports a null pointer.
  if (vector.data() == nullptr) return ValuesAt(nullptr, vector.size(), shape);
  widened->assign(vector.data(), vector.data() + vector.size());
  return ValuesAt(widened->data(), vector.size(), shape);
}

// ---- Stages ----

inline void Describe(const gemmlowp::OutputStageQuantizeDownInt32ToUint8Scale& from, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_QUANTIZE_DOWN;
  to->u.quantize_down.offset = Values(from.result_offset);
  to->u.quantize_down.multiplier = Values(from.result_mult_int);
  to->u.quantize_down.shift = Values(from.result_shift);
}

template <gemmlowp::VectorShape shape>
void Describe(const gemmlowp::OutputStageQuantizeDownInt32ToUint8ScalePC<shape>& from, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_QUANTIZE_DOWN;
  to->u.quantize_down.offset = Values(from.result_offset, nullptr);
  to->u.quantize_down.multiplier = Values(from.result_mult_int, nullptr);
  to->u.quantize_down.shift = Values(from.result_shift);
}

inline void Describe(const gemmlowp::OutputStageQuantizeDownInt32ByFixedPoint& from, qgemm_stage* to, Widened*) {
  // Negated, a negative shift would be a fine exponent.
  AbortUnless(from.result_shift >= 0, "the result_shift of a fixed-point stage is negative, but must be 0 to 31");
  to->kind = QGEMM_STAGE_SCALE;
  to->u.scale.multiplier = Values(from.result_fixedpoint_multiplier);
  to->u.scale.exponent = Values(-from.result_shift);
  to->u.scale.offset_after = from.result_offset_after_shift;
  to->u.scale.rounding = QGEMM_ROUND_TWICE;
}

inline void Describe(const gemmlowp::OutputStageScaleInt32ByFixedPointAndExponent& from, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_SCALE;
  to->u.scale.multiplier = Values(from.result_fixedpoint_multiplier);
  to->u.scale.exponent = Values(from.result_exponent);
  to->u.scale.offset_after = from.result_offset_after_shift;
  to->u.scale.rounding = QGEMM_ROUND_TWICE;
}

template <gemmlowp::VectorShape shape>
void Describe(const gemmlowp::OutputStageScaleInt32ByFixedPointAndExponentPC<shape>& from, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_SCALE;
  to->u.scale.multiplier = Values(from.result_fixedpoint_multiplier, nullptr);
  to->u.scale.exponent = Values(from.result_exponent, nullptr);
  to->u.scale.offset_after = from.result_offset_after_shift;
  to->u.scale.rounding = QGEMM_ROUND_TWICE;
}

template <typename VectorType>
void Describe(const gemmlowp::OutputStageBiasAddition<VectorType>& from, qgemm_stage* to, Widened* widened) {
  to->kind = QGEMM_STAGE_BIAS;
  to->u.bias.bias = Values(from.bias_vector, widened);
}

inline void Describe(const gemmlowp::OutputStageClamp& from, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_CLAMP;
  to->u.clamp.min = from.min;
  to->u.clamp.max = from.max;
}

inline void Describe(const gemmlowp::OutputStageTanh& from, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_TANH;
  to->u.tanh.zero = from.real_zero_as_int32;
  to->u.tanh.amplitude = from.real_amplitude_as_int32;
}

// To which type, the result says.
inline void Describe(const gemmlowp::OutputStageSaturatingCastToUint8&, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_CAST_SATURATING;
}

inline void Describe(const gemmlowp::OutputStageSaturatingCastToInt8&, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_CAST_SATURATING;
}

inline void Describe(const gemmlowp::OutputStageSaturatingCastToInt16&, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_CAST_SATURATING;
}

inline void Describe(const gemmlowp::OutputStageTruncatingCastToUint8&, qgemm_stage* to, Widened*) {
  to->kind = QGEMM_STAGE_CAST_TRUNCATING;
}

// ---- The pipeline ----

template <typename Pipeline>
class Stages {
 public:
  static constexpr std::size_t kCount = std::tuple_size<Pipeline>::value;

  // Valid as long as the vectors that `pipeline` views.
  explicit Stages(const Pipeline& pipeline) {
    // What is reserved has to be 0.
    std::memset(stages_, 0, sizeof stages_);
    DescribeFrom(pipeline, std::integral_constant<std::size_t, 0>());
  }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  const qgemm_stage* data() const { return stages_; }

 private:
  template <std::size_t first>
  void DescribeFrom(const Pipeline& pipeline, std::integral_constant<std::size_t, first>) {
    Describe(std::get<first>(pipeline), &stages_[first], &widened_[first]);
    DescribeFrom(pipeline, std::integral_constant<std::size_t, first + 1>());
  }
  void DescribeFrom(const Pipeline&, std::integral_constant<std::size_t, kCount>) {}

  // One more than there are, because there may be none.
  qgemm_stage stages_[kCount + 1];
  Widened widened_[kCount + 1];
};

}  // namespace libqgemm

#endif
