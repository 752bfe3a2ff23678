// Intel MKL (PyPI: mkl, mkl-devel). cblas_gemm_s8u8s32 in row-major order: A is u8, B is s8.
#include <cstdio>
#include <cstdlib>
#include "mkl.h"
#include "qbench.h"

namespace {

enum { kPlain, kZeroPoints, kPacked, kSgemm, kSgemmPacked };
const qb_variant kVariants[] = {
    {"gemm_u8s8s32", 'u', 's', 'i', 0, 0, 0},
    {"gemm_u8s8s32_zp", 'u', 's', 'i', 0, 1, 1},
    {"gemm_u8s8s32_pack", 'u', 's', 'i', 1, 0, 0},
    {"sgemm", 'f', 'f', 'f', 0, 0, 0},
    {"sgemm_pack", 'f', 'f', 'f', 1, 0, 0},
};

struct Product {
  qb_case q;
  int variant;
  void *packed;
};

void *create(int variant, const qb_case *q) {
  auto *p = new Product{*q, variant, nullptr};
  if (variant == kPacked) {
    p->packed = mkl_malloc(cblas_gemm_s8u8s32_pack_get_size(CblasBMatrix, q->m, q->n, q->k), 64);
    cblas_gemm_s8u8s32_pack(CblasRowMajor, CblasBMatrix, CblasNoTrans, q->m, q->n, q->k, q->b, q->n, p->packed);
  } else if (variant == kSgemmPacked) {
    auto *packed = static_cast<float *>(mkl_malloc(cblas_sgemm_pack_get_size(CblasBMatrix, q->m, q->n, q->k), 64));
    cblas_sgemm_pack(CblasRowMajor, CblasBMatrix, CblasNoTrans, q->m, q->n, q->k, 1.f, static_cast<const float *>(q->b),
                     q->n, packed);
    p->packed = packed;
  }
  return p;
}

void run(void *handle) {
  const auto *p = static_cast<Product *>(handle);
  const qb_case &q = p->q;
  const MKL_INT32 c_offset = 0;
  auto *s32 = static_cast<MKL_INT32 *>(q.c);
  const auto *a = static_cast<const float *>(q.a), *b = static_cast<const float *>(q.b);
  auto *c = static_cast<float *>(q.c);
  switch (p->variant) {
    case kPlain:
    case kZeroPoints:  // MKL adds the offsets, so they are the negated zero points (modulo 256)
      cblas_gemm_s8u8s32(CblasRowMajor, CblasNoTrans, CblasNoTrans, CblasFixOffset, q.m, q.n, q.k, 1.f, q.a, q.k,
                         static_cast<MKL_INT8>(-q.za), q.b, q.n, static_cast<MKL_INT8>(-q.zb), 0.f, s32, q.n, &c_offset);
      break;
    case kPacked:
      cblas_gemm_s8u8s32_compute(CblasRowMajor, CblasNoTrans, CblasPacked, CblasFixOffset, q.m, q.n, q.k, 1.f, q.a, q.k,
                                 0, p->packed, q.n, 0, 0.f, s32, q.n, &c_offset);
      break;
    case kSgemm:
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, q.m, q.n, q.k, 1.f, a, q.k, b, q.n, 0.f, c, q.n);
      break;
    case kSgemmPacked:
      cblas_sgemm_compute(CblasRowMajor, CblasNoTrans, CblasPacked, q.m, q.n, q.k, a, q.k,
                          static_cast<const float *>(p->packed), q.n, 0.f, c, q.n);
      break;
  }
}

void destroy(void *handle) {
  auto *p = static_cast<Product *>(handle);
  if (p->packed) mkl_free(p->packed);
  delete p;
}

}  // namespace

extern "C" const qb_lib *qb_get(void) {
  const char *text = getenv("QB_THREADS");
  const int threads = text ? atoi(text) : 1;
  mkl_set_threading_layer(threads > 1 ? MKL_THREADING_GNU : MKL_THREADING_SEQUENTIAL);
  if (threads > 1) mkl_set_num_threads(threads);
  static char version[64];
  MKLVersion v;
  mkl_get_version(&v);
  snprintf(version, sizeof version, "%d.%d.%d", v.MajorVersion, v.MinorVersion, v.UpdateVersion);
  static const qb_lib library = {QB_ABI, "mkl", version, "", sizeof kVariants / sizeof *kVariants, kVariants,
                                 create, run, destroy};
  return &library;
}
