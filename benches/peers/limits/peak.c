// What the processor can do: multiply-accumulates per second of each instruction sequence a quantized kernel
// may be built on, on registers alone. One line of CSV for each sequence that this machine has.
// usage: peak [threads]
#define _GNU_SOURCE
#include <stdio.h>
#include "clocks.h"
#include "threads.h"

#if !defined(__x86_64__)
#error "only the sequences of x86-64 are written down here"
#endif

typedef int v256 __attribute__((vector_size(32)));
typedef int v512 __attribute__((vector_size(64)));

// Ten accumulators: two instructions a cycle of latency five.
#define EACH(X, ...)                                                                               \
  X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)        \
  X(5, __VA_ARGS__) X(6, __VA_ARGS__) X(7, __VA_ARGS__) X(8, __VA_ARGS__) X(9, __VA_ARGS__)
enum { STEPS = 20 };  // in each turn of a loop

// The operands are small positive numbers as bytes, words and floats: nothing saturates, nothing is denormal.
#define START(i, V) V sum##i = {0};
#define STEP(i, REG, CODE)                                                                         \
  __asm__ volatile(CODE : "+" REG(sum##i), "=&" REG(product) : REG(x), REG(y), REG(ones));
#define LOOP(NAME, V, REG, CODE)                                                                   \
  static void NAME(long turns) {                                                                   \
    V x = (V){0} + 0x3f3f3f3f, y = (V){0} + 0x3e3e3e3e, ones = (V){0} + 0x00010001, product;       \
    EACH(START, V)                                                                                 \
    for (; turns; turns--) {                                                                       \
      EACH(STEP, REG, CODE)                                                                        \
      EACH(STEP, REG, CODE)                                                                        \
    }                                                                                              \
  }

#define MADDWD "vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
#define MADDUBSW "vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0"
#define MADDUBSW_16 "vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
#define FMA "vfmadd231ps %3, %2, %0"

#if defined(__AVX2__)
LOOP(maddwd_ymm, v256, "x", MADDWD)
LOOP(maddubsw_ymm, v256, "x", MADDUBSW)
LOOP(maddubsw_16_ymm, v256, "x", MADDUBSW_16)
#endif
#if defined(__FMA__)
LOOP(fma_ymm, v256, "x", FMA)
#endif
#if defined(__AVXVNNI__)
LOOP(dpbusd_ymm, v256, "x", "%{vex%} vpdpbusd %3, %2, %0")
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)
LOOP(dpbusd_ymm, v256, "v", "vpdpbusd %3, %2, %0")
#endif
#if defined(__AVX512BW__)
LOOP(maddwd_zmm, v512, "v", MADDWD)
LOOP(maddubsw_zmm, v512, "v", MADDUBSW)
LOOP(maddubsw_16_zmm, v512, "v", MADDUBSW_16)
#endif
#if defined(__AVX512F__)
LOOP(fma_zmm, v512, "v", FMA)
#endif
#if defined(__AVX512VNNI__)
LOOP(dpbusd_zmm, v512, "v", "vpdpbusd %3, %2, %0")
LOOP(dpwssd_zmm, v512, "v", "vpdpwssd %3, %2, %0")
#endif

#if defined(__AMX_INT8__) && defined(__linux__)
#define HAVE_TILES 1
#include <sys/syscall.h>
#include <unistd.h>
enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };

// Whether the system lets this process use AMX.
static int may_use_tiles(void) { return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0; }

// Four accumulators of 16 x 16 sums, in registers that hold zeros. Each thread gets them ready by itself.
static void dpbusd_tiles(long turns) {
  static const struct {
    unsigned char palette, start_row, reserved[14];
    unsigned short bytes_of_row[16];
    unsigned char rows[16];
  } whole = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
  __asm__ volatile("ldtilecfg %0" ::"m"(whole));
  for (; turns; turns--)
    for (int i = 0; i < STEPS / 4; i++)
      __asm__ volatile(
          "tdpbusd %tmm6, %tmm4, %tmm0\n\ttdpbusd %tmm7, %tmm4, %tmm1\n\t"
          "tdpbusd %tmm6, %tmm5, %tmm2\n\ttdpbusd %tmm7, %tmm5, %tmm3");
  __asm__ volatile("tilerelease");
}
#endif

// A chain of additions, one a cycle: "macs" are cycles. Not of constants, which some processors add before they begin.
static void add_chain(long turns) {
  long sum = 0;
  const long one = 1;
  for (; turns; turns--)
    __asm__ volatile(
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
        : "+r"(sum)
        : "r"(one));
}

static const struct {
  const char *name;
  void (*loop)(long turns);
  int macs;  // in one step
} kSequences[] = {
    {"clock", add_chain, 1},
#if defined(HAVE_TILES)
    {"tdpbusd", dpbusd_tiles, 16 * 16 * 64},
#endif
#if defined(__AVX512VNNI__)
    {"vpdpbusd zmm", dpbusd_zmm, 64},
    {"vpdpwssd zmm", dpwssd_zmm, 32},
#endif
#if defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))
    {"vpdpbusd ymm", dpbusd_ymm, 32},
#endif
#if defined(__AVX512BW__)
    {"vpmaddwd+vpaddd zmm", maddwd_zmm, 32},
    {"vpmaddubsw+vpmaddwd+vpaddd zmm", maddubsw_zmm, 64},
    {"vpmaddubsw+vpaddw zmm", maddubsw_16_zmm, 64},
#endif
#if defined(__AVX2__)
    {"vpmaddwd+vpaddd ymm", maddwd_ymm, 16},
    {"vpmaddubsw+vpmaddwd+vpaddd ymm", maddubsw_ymm, 32},
    {"vpmaddubsw+vpaddw ymm", maddubsw_16_ymm, 32},
#endif
#if defined(__AVX512F__)
    {"vfmadd231ps zmm", fma_zmm, 16},
#endif
#if defined(__FMA__)
    {"vfmadd231ps ymm", fma_ymm, 8},
#endif
};
enum { SEQUENCES = sizeof kSequences / sizeof *kSequences, SAMPLES = 40 };
static const long kTurns = 200000;  // 1 to 4 ms

static int is_there(int sequence) {
#if defined(HAVE_TILES)
  if (kSequences[sequence].loop == dpbusd_tiles) return may_use_tiles();
#endif
  (void)sequence;
  return 1;
}

static double rates[SEQUENCES][SAMPLES][MAX_THREADS];  // 1e9 a second

// Interleaved, so that a slow spell of the machine hits all alike.
static void sample_all(int thread) {
  for (int sample = 0; sample < SAMPLES; sample++)
    for (int s = 0; s < SEQUENCES; s++) {
      if (!is_there(s)) continue;
      pthread_barrier_wait(&all_threads);
      const double start = thread_seconds();
      kSequences[s].loop(kTurns);
      rates[s][sample][thread] = (double)kSequences[s].macs * STEPS * kTurns / (thread_seconds() - start) * 1e-9;
    }
}

int main(int argc, char **argv) {
  const int threads = thread_count(argc, argv);
  run_on_threads(threads, sample_all);
  double clock = 0;
  printf("sequence,threads,gmacs_min,gmacs_med,gmacs_max,gops_med,macs_per_cycle\n");
  for (int s = 0; s < SEQUENCES; s++) {
    if (!is_there(s)) continue;
    double sums[SAMPLES] = {0};
    for (int sample = 0; sample < SAMPLES; sample++)
      for (int t = 0; t < threads; t++) sums[sample] += rates[s][sample][t];
    sort_samples(sums, SAMPLES);
    const double median = sums[SAMPLES / 2];
    if (s == 0) clock = median;
    printf("%s,%d,%.2f,%.2f,%.2f,%.2f,%.1f\n", kSequences[s].name, threads, sums[0], median, sums[SAMPLES - 1],
           2 * median, median / clock);
  }
}
