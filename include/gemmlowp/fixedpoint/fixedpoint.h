// gemmlowp's fixed-point arithmetic, written anew for libqgemm: the same names, the same bits.
//
// A good order to read in:
//   fixedpoint_raw.h        integers and masks, in one lane or many: rounding, saturation, selection
//   fixedpoint_number.h     FixedPoint<Raw, IntegerBits>, and its operators
//   fixedpoint_functions.h  exp, tanh, logistic and their parts
//   fixedpoint_sse.h        the raw operations on __m128i and int16x8_m128i, with SSE4.1
//   fixedpoint_avx.h        the raw operations on __m256i and int16x16_m256i, with AVX2 and GEMMLOWP_ENABLE_AVX2
//   fixedpoint_neon.h       the raw operations on int32x4_t and int16x8_t
//
// Where gemmlowp is undefined, or its vector types disagree with its scalars, the rule here is: what overflows wraps,
// left shifts saturate, and every lane of a vector gets what the scalar would get. What that changes:
//   - ShiftLeft of a vector that overflows saturates; gemmlowp's wraps. Any offset from 0 on is defined.
//   - RoundingHalfSum of a vector rounds ties away from zero; gemmlowp's rounds them up.
//   - SaturatingRoundingDoublingHighMul of a vector is maximal for two minimal numbers; gemmlowp's is minimal on x86.
//   - All of a vector is true only if all its lanes are nonzero, and Any only if one is; on x86 gemmlowp's All is
//     always true, and with AVX2 its Any.
//   - ==, !=, RawMin and RawMax also work on vectors, and Mul on those of Arm. == is true if all lanes are equal.
//   - FixedPointRawTypeTraits<__m256i>::kLanes is 8; gemmlowp says 4.
//   - tanh and logistic of the most negative number, + - * of integers that overflow: defined, by wrapping.
//
// C++11, all inline, no library to link with.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_FIXEDPOINT_H_
#error "gemmlowp's own fixedpoint.h is included already: include either that one or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_FIXEDPOINT_H
#define QGEMM_GEMMLOWP_FIXEDPOINT_H

#include "../internal/detect_platform.h"
#include "fixedpoint_functions.h"
#include "fixedpoint_number.h"
#include "fixedpoint_raw.h"

#if defined(GEMMLOWP_NEON)
#include "fixedpoint_neon.h"
#elif defined(GEMMLOWP_AVX2)
#include "fixedpoint_avx.h"
#elif defined(GEMMLOWP_SSE4)
#include "fixedpoint_sse.h"
#endif

#endif
