// libqgemm, by dlopen of $QGEMM_SO: without the library there is no contender, and the rest still runs.
#include <dlfcn.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include "legacy_scale.h"
#include "qbench.h"

namespace {

// "kn": B as K x N row-major; "nk": B as N x K row-major, which is K x N column-major.
enum { kU8Kn, kU8Nk, kF32Kn, kF32Nk };
const qb_variant kVariants[] = {
    {"EightBitIntGemm_u8u8u8_kn", 'u', 'u', 'u', 0, 1, 1},
    {"EightBitIntGemm_u8u8u8_nk", 'u', 'u', 'u', 0, 1, 1},
    {"EightBitIntGemm_u8u8f32_kn", 'u', 'u', 'f', 0, 1, 1},
    {"EightBitIntGemm_u8u8f32_nk", 'u', 'u', 'f', 0, 1, 1},
};

struct Api {
  int32_t (*eight_bit_int_gemm_u8)(int32_t transpose_a, int32_t transpose_b, int32_t transpose_c, int32_t m, int32_t n,
                                   int32_t k, const uint8_t *a, int32_t a_offset, int32_t lda, const uint8_t *b,
                                   int32_t b_offset, int32_t ldb, uint8_t *c, int32_t c_offset, int32_t c_mult_int,
                                   int32_t c_shift, int32_t ldc, uint32_t bit_depth);
  int32_t (*eight_bit_int_gemm_f32)(int32_t transpose_a, int32_t transpose_b, int32_t transpose_c, int32_t m, int32_t n,
                                    int32_t k, const uint8_t *a, int32_t a_offset, int32_t lda, const uint8_t *b,
                                    int32_t b_offset, int32_t ldb, float *c, float c_scale, int32_t ldc,
                                    uint32_t bit_depth);
  int32_t (*set_max_num_threads)(int32_t n);
  const char *(*kernel_name)();
  const char *(*version)();
  const char *(*last_error)();
};
Api api;

template <class F>
bool found(void *library, const char *name, F *&function) {
  function = reinterpret_cast<F *>(dlsym(library, name));
  if (!function) fprintf(stderr, "# qgemm: no %s\n", name);
  return function;
}

bool load() {
  const char *path = getenv("QGEMM_SO");
  void *so = dlopen(path && *path ? path : "libqgemm.so", RTLD_NOW | RTLD_LOCAL);
  if (!so) {
    fprintf(stderr, "# qgemm: %s\n", dlerror());
    return false;
  }
  return found(so, "qgemm_eight_bit_int_gemm_u8", api.eight_bit_int_gemm_u8) &&
         found(so, "qgemm_eight_bit_int_gemm_f32", api.eight_bit_int_gemm_f32) &&
         found(so, "qgemm_set_max_num_threads", api.set_max_num_threads) &&
         found(so, "qgemm_kernel_name", api.kernel_name) && found(so, "qgemm_version", api.version) &&
         found(so, "qgemm_last_error", api.last_error);
}

struct Product {
  qb_case q;
  int variant;
  LegacyScale scale;
};

int32_t status(const Product &p) {
  const qb_case &q = p.q;
  const auto *a = static_cast<const uint8_t *>(q.a);
  const auto *kn = static_cast<const uint8_t *>(q.b), *nk = static_cast<const uint8_t *>(q.bt);
  auto *u8 = static_cast<uint8_t *>(q.c);
  auto *f32 = static_cast<float *>(q.c);
  const LegacyScale &s = p.scale;
  switch (p.variant) {
    case kU8Kn:
      return api.eight_bit_int_gemm_u8(1, 1, 1, q.m, q.n, q.k, a, -q.za, q.k, kn, -q.zb, q.n, u8, s.offset, s.mult,
                                       s.shift, q.n, 0);
    case kU8Nk:
      return api.eight_bit_int_gemm_u8(1, 0, 1, q.m, q.n, q.k, a, -q.za, q.k, nk, -q.zb, q.k, u8, s.offset, s.mult,
                                       s.shift, q.n, 0);
    case kF32Kn:
      return api.eight_bit_int_gemm_f32(1, 1, 1, q.m, q.n, q.k, a, -q.za, q.k, kn, -q.zb, q.n, f32, q.scale, q.n, 0);
    default:
      return api.eight_bit_int_gemm_f32(1, 0, 1, q.m, q.n, q.k, a, -q.za, q.k, nk, -q.zb, q.k, f32, q.scale, q.n, 0);
  }
}

void *create(int variant, const qb_case *q) {
  if (api.set_max_num_threads(q->threads)) {
    fprintf(stderr, "# qgemm: %s\n", api.last_error());
    return nullptr;
  }
  auto *p = new Product{*q, variant, LegacyScale(*q)};
  if (!status(*p)) return p;
  fprintf(stderr, "# qgemm %s %dx%dx%d: %s\n", kVariants[variant].name, q->m, q->n, q->k, api.last_error());
  delete p;
  return nullptr;
}

void run(void *p) {
  if (status(*static_cast<Product *>(p))) abort();  // it worked in create
}

void destroy(void *p) { delete static_cast<Product *>(p); }

}  // namespace

extern "C" const qb_lib *qb_get(void) {
  if (!load()) return nullptr;
  static const qb_lib library = {QB_ABI, "qgemm", api.version(), api.kernel_name(), sizeof kVariants / sizeof *kVariants,
                                 kVariants, create, run, destroy};
  return &library;
}
