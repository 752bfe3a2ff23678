// OpenBLAS (Debian libopenblas-dev): f32, the unquantized alternative.
#include <cblas.h>
#include "qbench.h"

namespace {

const qb_variant kVariants[] = {{"sgemm", 'f', 'f', 'f', 0, 0, 0}};

void *create(int, const qb_case *q) {
  openblas_set_num_threads(q->threads);
  return new qb_case(*q);
}

void run(void *p) {
  const qb_case &q = *static_cast<qb_case *>(p);
  const auto *a = static_cast<const float *>(q.a), *b = static_cast<const float *>(q.b);
  auto *c = static_cast<float *>(q.c);
  if (q.m == 1)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, q.n, q.k, 1.f, static_cast<const float *>(q.bt), q.k, a, 1, 0.f, c, 1);
  else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, q.m, q.n, q.k, 1.f, a, q.k, b, q.n, 0.f, c, q.n);
}

void destroy(void *p) { delete static_cast<qb_case *>(p); }

}  // namespace

extern "C" const qb_lib *qb_get(void) {
  static const qb_lib library = {QB_ABI, "openblas", QB_VERSION, openblas_get_corename(), 1, kVariants, create, run,
                                 destroy};
  return &library;
}
