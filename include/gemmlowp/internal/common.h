// Rounding of sizes, and hints about caches: what programs use of gemmlowp's internal/common.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_COMMON_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_COMMON_H
#define QGEMM_GEMMLOWP_COMMON_H

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "../profiling/instrumentation.h"
#include "detect_platform.h"
#include "platform.h"

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define QGEMM_GEMMLOWP_MEMORY_SANITIZER
#endif
#endif

namespace gemmlowp {
inline namespace by_libqgemm {

// Starting values for a context of the program's own, in bytes. libqgemm measures the caches itself and ignores them.
const int kDefaultCacheLineSize = 64;
const int kDefaultL1CacheSize = 32 * 1024;
const int kDefaultL2CacheSize = 4 * 1024 * 1024;
const float kDefaultL2RhsFactor = 1.0f;

// Asks for the cache line at `ptr`.
inline void Prefetch(const void* ptr) {
#ifdef __GNUC__
  __builtin_prefetch(ptr);
#else
  (void)ptr;
#endif
}

// The largest multiple of Modulus that is not above `i`, which is not negative.
template <unsigned Modulus, typename Integer>
Integer RoundDown(Integer i) {
  return static_cast<Integer>(i - i % Modulus);
}

// The smallest multiple of Modulus that is not below `i`, which is not negative.
template <unsigned Modulus, typename Integer>
Integer RoundUp(Integer i) {
  return RoundDown<Modulus>(static_cast<Integer>(i + Modulus - 1));
}

// a / b, rounded up; a >= 0, b > 0.
template <typename Integer>
Integer CeilQuotient(Integer a, Integer b) {
  return static_cast<Integer>((a + b - 1) / b);
}

// The smallest power of two that is not below `n`; 0 for 0 and below.
template <typename Integer>
Integer RoundUpToPowerOfTwo(Integer n) {
  if (n <= 0) return 0;
  std::uint64_t power = 1;
  while (power < static_cast<std::uint64_t>(n)) power *= 2;
  return static_cast<Integer>(power);
}

// Whether N has one bit at most: 0 counts as a power of two, as it does in gemmlowp.
template <int N>
struct IsPowerOfTwo {
  static constexpr bool value = (N & (N - 1)) == 0;
};

// Tells MemorySanitizer that `size` elements at `ptr` were written by code that it cannot see.
template <typename T>
void MarkMemoryAsInitialized(T* ptr, int size) {
#ifdef QGEMM_GEMMLOWP_MEMORY_SANITIZER
  __msan_unpoison(ptr, static_cast<std::size_t>(size) * sizeof(T));
#else
  (void)ptr;
  (void)size;
#endif
}

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
