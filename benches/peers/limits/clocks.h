// Times, and the order statistics of what was measured.
#ifndef CLOCKS_H
#define CLOCKS_H
#include <stdlib.h>
#include <time.h>

// CPU time of the calling thread: being preempted on a busy machine does not count.
static inline double thread_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static inline int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static inline void sort_samples(double *samples, int count) { qsort(samples, count, sizeof *samples, by_size); }

#endif
