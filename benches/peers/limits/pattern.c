// Whether the whole inner loop of a kernel, with its loads and broadcasts, reaches the limit of its
// instructions: a panel of A (one group of depth of each line together) times a panel of B, no output.
// One line of CSV for each instruction set, tile shape and depth.
// usage: pattern
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "clocks.h"

#if !defined(__AVX2__)
#error "only AVX2 and AVX-512 are written down here"
#endif

typedef int v256 __attribute__((vector_size(32)));
typedef int v512 __attribute__((vector_size(64)));

// Two 16-bit products at a time: exact for all bytes.
static inline v256 avx2_sum(v256 sum, v256 a, v256 b) {
  return sum + (v256)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
#if defined(__AVX512VNNI__)
static inline v512 avx512vnni_sum(v512 sum, v512 a, v512 b) {
  return (v512)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#endif

// A tile of LINES x (VECTORS times the 32-bit lanes of V).
#define TILE(ISA, V, LINES, VECTORS)                                                               \
  static __attribute__((noinline)) int ISA##_##LINES##_##VECTORS(const char *a, const char *b,     \
                                                                 long groups) {                    \
    V sums[LINES][VECTORS] = {0};                                                                  \
    for (; groups; groups--, a += LINES * 4, b += VECTORS * sizeof(V)) {                           \
      V columns[VECTORS];                                                                          \
      memcpy(columns, b, sizeof columns);                                                          \
      for (int i = 0; i < LINES; i++) {                                                            \
        int group;                                                                                 \
        memcpy(&group, a + i * 4, 4);                                                              \
        for (int j = 0; j < VECTORS; j++)                                                          \
          sums[i][j] = ISA##_sum(sums[i][j], (V){0} + group, columns[j]);                          \
      }                                                                                            \
    }                                                                                              \
    V total = {0};                                                                                 \
    for (int i = 0; i < LINES; i++)                                                                \
      for (int j = 0; j < VECTORS; j++) total += sums[i][j];                                       \
    return total[0];                                                                               \
  }
#define ROW(ISA, V, GROUP, LINES, VECTORS) {#ISA, ISA##_##LINES##_##VECTORS, GROUP, LINES, VECTORS * sizeof(V) / 4},

#define AVX2_TILES(X, ...)                                                                         \
  X(avx2, v256, __VA_ARGS__ 1, 8) X(avx2, v256, __VA_ARGS__ 2, 4) X(avx2, v256, __VA_ARGS__ 3, 4)  \
  X(avx2, v256, __VA_ARGS__ 4, 2) X(avx2, v256, __VA_ARGS__ 4, 3) X(avx2, v256, __VA_ARGS__ 6, 2)  \
  X(avx2, v256, __VA_ARGS__ 8, 1) X(avx2, v256, __VA_ARGS__ 12, 1)
#define AVX512VNNI_TILES(X, ...)                                                                   \
  X(avx512vnni, v512, __VA_ARGS__ 1, 8) X(avx512vnni, v512, __VA_ARGS__ 2, 8)                      \
  X(avx512vnni, v512, __VA_ARGS__ 4, 4) X(avx512vnni, v512, __VA_ARGS__ 6, 4)                      \
  X(avx512vnni, v512, __VA_ARGS__ 8, 2) X(avx512vnni, v512, __VA_ARGS__ 8, 3)                      \
  X(avx512vnni, v512, __VA_ARGS__ 12, 2) X(avx512vnni, v512, __VA_ARGS__ 14, 2)                    \
  X(avx512vnni, v512, __VA_ARGS__ 16, 1) X(avx512vnni, v512, __VA_ARGS__ 28, 1)

AVX2_TILES(TILE)
#if defined(__AVX512VNNI__)
AVX512VNNI_TILES(TILE)
#endif

#define COMMA ,
static const struct {
  const char *isa;
  int (*tile)(const char *a, const char *b, long groups);
  int group, lines, columns;
} kTiles[] = {
#if defined(__AVX512VNNI__)
    AVX512VNNI_TILES(ROW, 4 COMMA)
#endif
    AVX2_TILES(ROW, 2 COMMA)
};
enum { TILES = sizeof kTiles / sizeof *kTiles, SAMPLES = 15 };
static const long kDepths[] = {256, 1024, 4096};

volatile int sink;

int main(void) {
  static char a[1 << 20] __attribute__((aligned(64))), b[8 << 20] __attribute__((aligned(64)));
  memset(a, 3, sizeof a);
  memset(b, 5, sizeof b);
  printf("isa,tile,depth,gops_med\n");
  for (int t = 0; t < TILES; t++)
    for (unsigned d = 0; d < sizeof kDepths / sizeof *kDepths; d++) {
      const double macs = (double)kTiles[t].lines * kTiles[t].columns * kDepths[d];
      const int calls = (int)(1e8 / macs) + 1;
      double seconds[SAMPLES];
      for (int s = 0; s < SAMPLES; s++) {
        const double start = thread_seconds();
        for (int i = 0; i < calls; i++) sink = kTiles[t].tile(a, b, kDepths[d] / kTiles[t].group);
        seconds[s] = thread_seconds() - start;
      }
      sort_samples(seconds, SAMPLES);
      printf("%s,%dx%d,%ld,%.1f\n", kTiles[t].isa, kTiles[t].lines, kTiles[t].columns, kDepths[d],
             2 * macs * calls / seconds[SAMPLES / 2] * 1e-9);
    }
}
