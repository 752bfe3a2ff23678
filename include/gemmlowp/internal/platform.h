// Processors and time, asked of the system: what programs use of gemmlowp's internal/platform.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_PLATFORM_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_PLATFORM_H
#define QGEMM_GEMMLOWP_PLATFORM_H

#ifdef _WIN32
#include <chrono>
#include <thread>
#else
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#endif

#include "detect_platform.h"

namespace gemmlowp {
inline namespace by_libqgemm {

inline int CountProcessors() {
#ifdef _WIN32
  const long count = static_cast<long>(std::thread::hardware_concurrency());
#else
  const long count = sysconf(_SC_NPROCESSORS_CONF);
#endif
  return count < 1 ? 1 : static_cast<int>(count);
}

// `max_threads`, or for 0 the number of processors, which is counted once.
inline int GetHardwareConcurrency(int max_threads) {
  if (max_threads != 0) return max_threads;
  static const int processors = CountProcessors();
  return processors;
}

// Seconds since some moment in the past, never going back.
inline double real_time_in_seconds() {
#ifdef _WIN32
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#endif
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
