/* The adapter ABI of the benchmark.
 *
 * A contender is one shared library (libqb_NAME.so) that exports
 *     const qb_lib *qb_get(void);
 * The harness loads it with RTLD_LOCAL, so that contenders do not see each other's symbols.
 * adapters/rust/abi/src/lib.rs says the same in Rust: keep the two in step.
 */
#ifndef QBENCH_H
#define QBENCH_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define QB_ABI 2

/* What one variant of one library computes. */
typedef struct {
  const char *name; /* no commas, for example "matmul_u8s8_zp" */
  char a, b;        /* operand types: 'u' (u8), 's' (s8) or 'f' (f32) */
  char out;         /* 'i' s32 accumulators, 'u' u8 requantized, 's' s8 requantized, 'f' f32 */
  char prepacked;   /* 1: B is packed in create(), outside the timed part */
  char zp_a, zp_b;  /* 1: the library applies the zero point of A / of B in the timed call */
} qb_variant;

/* One problem. All matrices are row-major and dense: A is MxK, B is KxN, Bt is NxK (the same
 * numbers as B), C is MxN, each of the type that the variant asks for. */
typedef struct {
  int m, n, k, threads;
  const void *a, *b, *bt;
  void *c;
  int32_t za, zb, zc; /* zero points; za (zb) is 0 unless the variant has zp_a (zp_b) */
  float scale;        /* c = clamp(round(acc * scale) + zc), or acc * scale where out is 'f' */
} qb_case;

typedef struct {
  int abi;             /* QB_ABI */
  const char *library; /* for example "onednn" */
  const char *version;
  const char *kernel; /* the instruction-set path that the library chose; "" if it does not tell */
  int nvariants;
  const qb_variant *variants;
  void *(*create)(int variant, const qb_case *); /* NULL: this case is not supported */
  void (*run)(void *);                           /* one whole product; C is complete on return */
  void (*destroy)(void *);
} qb_lib;

typedef const qb_lib *(*qb_get_fn)(void); /* NULL: the library is not there */

#ifdef __cplusplus
}
#endif
#endif
