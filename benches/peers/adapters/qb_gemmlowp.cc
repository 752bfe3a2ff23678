// gemmlowp (Debian libgemmlowp-dev, headers). u8 x u8 with zero points; it has no prepacking.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>
#include "legacy_scale.h"
#include "qbench.h"
#include <gemmlowp/public/gemmlowp.h>
#include <gemmlowp/public/output_stages.h>

namespace {

using gemmlowp::MapOrder;
using gemmlowp::MatrixMap;
using BitDepth = gemmlowp::DefaultL8R8BitDepthParams;
constexpr MapOrder kRowMajor = MapOrder::RowMajor, kColMajor = MapOrder::ColMajor;

// "kn": B as K x N row-major; "nk": B as N x K row-major. The EightBitIntGemm_* make the calls that gemmlowp's
// eight_bit_int_gemm.cc makes, less its global lock; the others transpose the problem (weights on the left),
// as TensorFlow Lite did, and requantize by a fixed-point multiplier.
const qb_variant kVariants[] = {
    {"EightBitIntGemm_u8u8u8_kn", 'u', 'u', 'u', 0, 1, 1},
    {"EightBitIntGemm_u8u8u8_nk", 'u', 'u', 'u', 0, 1, 1},
    {"EightBitIntGemm_u8u8f32_kn", 'u', 'u', 'f', 0, 1, 1},
    {"EightBitIntGemm_u8u8f32_nk", 'u', 'u', 'f', 0, 1, 1},
    {"u8u8s32_kn", 'u', 'u', 'i', 0, 1, 1},
    {"u8u8s32_nk", 'u', 'u', 'i', 0, 1, 1},
    {"u8u8u8_kn", 'u', 'u', 'u', 0, 1, 1},
    {"u8u8u8_nk", 'u', 'u', 'u', 0, 1, 1},
};

struct Product {
  qb_case q;
  int variant;
  LegacyScale scale;
  gemmlowp::GemmContext context;
  std::vector<int32_t> sums;  // of the f32 variants

  Product(int variant, const qb_case &q) : q(q), variant(variant), scale(q) {
    context.set_max_num_threads(q.threads);
    if (kVariants[variant].out == 'f') sums.resize(size_t(q.m) * q.n);
  }
  const uint8_t *a() const { return static_cast<const uint8_t *>(q.a); }
};

template <MapOrder kOrder>
MatrixMap<const uint8_t, kOrder> weights(const qb_case &q) {
  return kOrder == kRowMajor ? MatrixMap<const uint8_t, kOrder>(static_cast<const uint8_t *>(q.b), q.k, q.n, q.n)
                             : MatrixMap<const uint8_t, kOrder>(static_cast<const uint8_t *>(q.bt), q.k, q.n, q.k);
}

// EightBitIntGemm with transpose_a = transpose_c = true.
template <MapOrder kOrder>
void eight_bit_int_gemm_u8(Product *p) {
  const qb_case &q = p->q;
  MatrixMap<const uint8_t, kRowMajor> lhs(p->a(), q.m, q.k, q.k);
  MatrixMap<uint8_t, kRowMajor> result(static_cast<uint8_t *>(q.c), q.m, q.n, q.n);
  gemmlowp::Gemm<uint8_t, BitDepth>(&p->context, lhs, weights<kOrder>(q), &result, -q.za, -q.zb, p->scale.offset,
                                    p->scale.mult, p->scale.shift);
}

// The same into f32: the sums go to scratch memory, then through one multiplication.
template <MapOrder kOrder>
void eight_bit_int_gemm_f32(Product *p) {
  const qb_case &q = p->q;
  MatrixMap<const uint8_t, kRowMajor> lhs(p->a(), q.m, q.k, q.k);
  MatrixMap<int32_t, kRowMajor> result(p->sums.data(), q.m, q.n, q.n);
  gemmlowp::GemmWithOutputPipeline<uint8_t, int32_t, BitDepth>(&p->context, lhs, weights<kOrder>(q), &result, -q.za,
                                                               -q.zb, std::make_tuple());
  float *c = static_cast<float *>(q.c);
  for (size_t i = 0; i < p->sums.size(); i++) c[i] = static_cast<float>(p->sums[i]) * q.scale;
}

// C^T = B^T A^T through any pipeline; kOrder is that of B^T.
template <class Out, MapOrder kOrder, class Pipeline>
void transposed(Product *p, const Pipeline &pipeline) {
  const qb_case &q = p->q;
  const auto *b = static_cast<const uint8_t *>(kOrder == kRowMajor ? q.bt : q.b);
  MatrixMap<const uint8_t, kOrder> lhs(b, q.n, q.k, kOrder == kRowMajor ? q.k : q.n);
  MatrixMap<const uint8_t, kColMajor> rhs(p->a(), q.k, q.m, q.k);
  MatrixMap<Out, kColMajor> result(static_cast<Out *>(q.c), q.n, q.m, q.n);
  gemmlowp::GemmWithOutputPipeline<uint8_t, Out, BitDepth>(&p->context, lhs, rhs, &result, -q.zb, -q.za, pipeline);
}

std::tuple<gemmlowp::OutputStageScaleInt32ByFixedPointAndExponent, gemmlowp::OutputStageSaturatingCastToUint8>
fixed_point_pipeline(const qb_case &q) {
  gemmlowp::OutputStageScaleInt32ByFixedPointAndExponent scale;
  int exponent;
  const double fraction = std::frexp(double(q.scale), &exponent);
  scale.result_fixedpoint_multiplier =
      static_cast<int32_t>(std::min(2147483647L, std::lround(std::ldexp(fraction, 31))));
  scale.result_exponent = exponent;
  scale.result_offset_after_shift = q.zc;
  return std::make_tuple(scale, gemmlowp::OutputStageSaturatingCastToUint8());
}

void *create(int variant, const qb_case *q) { return new Product(variant, *q); }

void run(void *handle) {
  auto *p = static_cast<Product *>(handle);
  switch (p->variant) {
    case 0:
      return eight_bit_int_gemm_u8<kRowMajor>(p);
    case 1:
      return eight_bit_int_gemm_u8<kColMajor>(p);
    case 2:
      return eight_bit_int_gemm_f32<kRowMajor>(p);
    case 3:
      return eight_bit_int_gemm_f32<kColMajor>(p);
    case 4:
      return transposed<int32_t, kColMajor>(p, std::make_tuple());
    case 5:
      return transposed<int32_t, kRowMajor>(p, std::make_tuple());
    case 6:
      return transposed<uint8_t, kColMajor>(p, fixed_point_pipeline(p->q));
    default:
      return transposed<uint8_t, kRowMajor>(p, fixed_point_pipeline(p->q));
  }
}

void destroy(void *p) { delete static_cast<Product *>(p); }

#if defined(GEMMLOWP_AVX2)
const char kKernel[] = "avx2";
#elif defined(GEMMLOWP_SSE4)
const char kKernel[] = "sse4";
#elif defined(GEMMLOWP_NEON)
const char kKernel[] = "neon";
#else
const char kKernel[] = "";
#endif
const qb_lib kLibrary = {QB_ABI, "gemmlowp", QB_VERSION, kKernel, sizeof kVariants / sizeof *kVariants, kVariants,
                         create, run, destroy};

}  // namespace

extern "C" const qb_lib *qb_get(void) { return &kLibrary; }
