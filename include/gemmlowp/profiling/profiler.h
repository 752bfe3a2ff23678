// For programs that start and stop gemmlowp's profiler. There is none here: see instrumentation.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_PROFILING_PROFILER_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_PROFILER_H
#define QGEMM_GEMMLOWP_PROFILER_H

#include "instrumentation.h"

namespace gemmlowp {
inline namespace by_libqgemm {

inline void StartProfiling() {}
inline void FinishProfiling() {}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
