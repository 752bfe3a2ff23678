// The two clocks, and the CPU on which one thread is measured.
#pragma once
#include <sched.h>
#include <time.h>

inline double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

inline double wall_seconds() { return seconds(CLOCK_MONOTONIC); }

// CPU time of the calling thread: being preempted on a busy machine does not count.
inline double thread_seconds() { return seconds(CLOCK_THREAD_CPUTIME_ID); }

inline void pin_to_first_allowed_cpu() {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &allowed)) {
      CPU_SET(cpu, &one);
      break;
    }
  sched_setaffinity(0, sizeof one, &one);
}
