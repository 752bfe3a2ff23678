// Assertions, locks and profiling labels: gemmlowp's profiling/instrumentation.h.
//
// The labels do nothing, with or without GEMMLOWP_PROFILING: profilers of today find their way without them.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_PROFILING_INSTRUMENTATION_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_INSTRUMENTATION_H
#define QGEMM_GEMMLOWP_INSTRUMENTATION_H

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "../internal/detect_platform.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// Ends the program with `msg` unless `condition` holds; NDEBUG or not.
inline void ReleaseBuildAssertion(bool condition, const char* msg) {
  if (!condition) {
    std::fprintf(stderr, "gemmlowp error: %s\n", msg);
    std::abort();
  }
}

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds `mutex` while it exists.
struct ScopedLock {
  ScopedLock(Mutex* mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~ScopedLock() { mutex_->Unlock(); }
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

 private:
  Mutex* mutex_;
};

// Locks that programs share with gemmlowp by name. libqgemm itself holds neither.
class GlobalMutexes {
 public:
  static Mutex* Profiler() {
    static Mutex mutex;
    return &mutex;
  }

  static Mutex* EightBitIntGemm() {
    static Mutex mutex;
    return &mutex;
  }
};

struct ScopedProfilingLabel {
  explicit ScopedProfilingLabel(const char*) {}
  // Not trivial, so that no compiler calls a label an unused variable.
  ~ScopedProfilingLabel() {}
  void Update(const char*) {}
};

inline void RegisterCurrentThreadForProfiling() {}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
