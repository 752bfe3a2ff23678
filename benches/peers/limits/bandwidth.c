// How fast memory can be read, from L1 to DRAM: what bounds a matrix-vector product (2 operations a byte of
// weights). One line of CSV for each size and kind of page, the sum over the threads.
// usage: bandwidth [threads]
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "clocks.h"
#include "threads.h"

#if defined(__AVX512F__)
typedef int vector __attribute__((vector_size(64)));
#define OR "vpord"
#define REG "v"
#elif defined(__AVX2__)
typedef int vector __attribute__((vector_size(32)));
#define OR "vpor"
#define REG "x"
#else
#error "only AVX2 and AVX-512 are written down here"
#endif

enum { WIDTH = sizeof(vector), SAMPLES = 11 };
static const size_t kSizes[] = {16 << 10, 28 << 10, 256 << 10, 768 << 10, 2 << 20,
                                4 << 20,  8 << 20,  16 << 20,  24 << 20,  256 << 20};
enum { SIZES = sizeof kSizes / sizeof *kSizes };

static double rates[2][SIZES][SAMPLES][MAX_THREADS];  // GB/s; without and with huge pages

static void read_all(const char *bytes, size_t size, int times) {
  vector a = {0}, b = a, c = a, d = a;
  while (times--)
    for (const char *p = bytes; p < bytes + size; p += 8 * WIDTH)
      __asm__ volatile(
          OR " (%4), %0, %0\n\t" OR " %c5(%4), %1, %1\n\t" OR " 2*%c5(%4), %2, %2\n\t" OR " 3*%c5(%4), %3, %3\n\t"
          OR " 4*%c5(%4), %0, %0\n\t" OR " 5*%c5(%4), %1, %1\n\t" OR " 6*%c5(%4), %2, %2\n\t" OR " 7*%c5(%4), %3, %3"
          : "+" REG(a), "+" REG(b), "+" REG(c), "+" REG(d)
          : "r"(p), "i"(WIDTH)
          : "memory");
}

static void sample_all(int thread) {
  const size_t most = kSizes[SIZES - 1];
  for (int huge = 0; huge < 2; huge++) {
    char *bytes = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
      perror("mmap");
      exit(1);
    }
    madvise(bytes, most, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(bytes, 1, most);
    for (int sample = 0; sample < SAMPLES; sample++)
      for (int s = 0; s < SIZES; s++) {
        const size_t size = kSizes[s];
        const int times = size < most ? (int)((most / 2) / size) : 1;
        read_all(bytes, size, 1);
        pthread_barrier_wait(&all_threads);
        const double start = thread_seconds();
        read_all(bytes, size, times);
        rates[huge][s][sample][thread] = (double)size * times / (thread_seconds() - start) * 1e-9;
      }
    munmap(bytes, most);
  }
}

int main(int argc, char **argv) {
  const int threads = thread_count(argc, argv);
  run_on_threads(threads, sample_all);
  printf("kib_per_thread,huge_pages,threads,gb_per_s_min,gb_per_s_med,gb_per_s_max\n");
  for (int huge = 0; huge < 2; huge++)
    for (int s = 0; s < SIZES; s++) {
      double sums[SAMPLES] = {0};
      for (int sample = 0; sample < SAMPLES; sample++)
        for (int t = 0; t < threads; t++) sums[sample] += rates[huge][s][sample][t];
      sort_samples(sums, SAMPLES);
      printf("%zu,%d,%d,%.1f,%.1f,%.1f\n", kSizes[s] >> 10, huge, threads, sums[0], sums[SAMPLES / 2],
             sums[SAMPLES - 1]);
    }
}
