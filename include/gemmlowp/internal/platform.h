// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Processors and time, asked of the system: what programs use of gemmlowp's internal/platform.h.

#ifdef GEMMLOWP_INTERNAL_PLATFORM_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_PLATFORM_H
#define QGEMM_GEMMLOWP_PLATFORM_H

#include <chrono>
#include <thread>

#include "detect_platform.h"

namespace gemmlowp {

// `max_threads`, or for 0 the number of processors, which is counted once.
inline int GetHardwareConcurrency(int max_threads) {
  if (max_threads != 0) return max_threads;
  static const unsigned processors = std::thread::hardware_concurrency();
  return processors == 0 ? 1 : static_cast<int>(processors);
}

// Seconds since some moment in the past, never going back.
inline double real_time_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace gemmlowp

#endif
