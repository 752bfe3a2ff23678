// oneDNN (PyPI: onednn-cpu-gomp, onednn-devel-cpu-gomp): its BLAS-like calls and its matmul primitive.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include "dnnl.hpp"
#include "qbench.h"

namespace {

using namespace dnnl;
using tag = memory::format_tag;

// "kn": plain K x N weights, otherwise reordered beforehand into the layout that the primitive likes.
const qb_variant kVariants[] = {
    {"gemm_u8s8s32", 'u', 's', 'i', 0, 0, 0},
    {"gemm_u8s8s32_zp", 'u', 's', 'i', 0, 1, 1},
    {"matmul_u8s8s32_kn", 'u', 's', 'i', 0, 0, 0},
    {"matmul_u8s8s32", 'u', 's', 'i', 1, 0, 0},
    {"matmul_u8s8s32_zpa", 'u', 's', 'i', 1, 1, 0},
    {"matmul_u8s8s32_zpab", 'u', 's', 'i', 1, 1, 1},
    {"matmul_u8s8u8_kn", 'u', 's', 'u', 0, 0, 0},
    {"matmul_u8s8u8_zpa_kn", 'u', 's', 'u', 0, 1, 0},
    {"matmul_u8s8u8", 'u', 's', 'u', 1, 0, 0},
    {"matmul_u8s8u8_zpa", 'u', 's', 'u', 1, 1, 0},
    {"matmul_u8s8f32_kn", 'u', 's', 'f', 0, 0, 0},
    {"matmul_u8s8f32", 'u', 's', 'f', 1, 0, 0},
    {"matmul_u8s8f32_zpa", 'u', 's', 'f', 1, 1, 0},
    {"matmul_s8s8s32", 's', 's', 'i', 1, 0, 0},
    {"matmul_u8u8s32_kn", 'u', 'u', 'i', 0, 0, 0},  // refused by most builds
    {"sgemm", 'f', 'f', 'f', 0, 0, 0},
    {"matmul_f32", 'f', 'f', 'f', 1, 0, 0},
};

struct Product {
  virtual ~Product() = default;
  virtual void run() = 0;
};

struct BlasLikeCall : Product {
  qb_case q;
  bool quantized;

  BlasLikeCall(const qb_variant &v, const qb_case &q) : q(q), quantized(v.a != 'f') {}
  void run() override {
    const int32_t c_offset = 0;
    if (quantized)
      dnnl_gemm_u8s8s32('N', 'N', 'F', q.m, q.n, q.k, 1.f, static_cast<const uint8_t *>(q.a), q.k,
                        static_cast<uint8_t>(q.za), static_cast<const int8_t *>(q.b), q.n, static_cast<int8_t>(q.zb),
                        0.f, static_cast<int32_t *>(q.c), q.n, &c_offset);
    else
      dnnl_sgemm('N', 'N', q.m, q.n, q.k, 1.f, static_cast<const float *>(q.a), q.k, static_cast<const float *>(q.b),
                 q.n, 0.f, static_cast<float *>(q.c), q.n);
  }
};

memory::data_type data_type(char type) {
  return type == 'u'   ? memory::data_type::u8
         : type == 's' ? memory::data_type::s8
         : type == 'i' ? memory::data_type::s32
                       : memory::data_type::f32;
}

struct Primitive : Product {
  qb_case q;
  engine cpu{engine::kind::cpu, 0};
  stream work{cpu};
  matmul primitive;
  std::unordered_map<int, memory> arguments;

  Primitive(const qb_variant &v, const qb_case &given) : q(given) {
    const memory::desc a({q.m, q.k}, data_type(v.a), tag::ab), c({q.m, q.n}, data_type(v.out), tag::ab);
    const memory::desc plain({q.k, q.n}, data_type(v.b), tag::ab), any({q.k, q.n}, data_type(v.b), tag::any);
    const matmul::primitive_desc chosen(cpu, a, v.prepacked ? any : plain, c, attributes(v));
    if (getenv("QB_VERBOSE"))
      fprintf(stderr, "# onednn %s %dx%dx%d: %s\n", v.name, q.m, q.n, q.k, chosen.impl_info_str());
    primitive = matmul(chosen);
    arguments = {{DNNL_ARG_SRC, memory(a, cpu, const_cast<void *>(q.a))},
                 {DNNL_ARG_WEIGHTS, reordered(plain, chosen.weights_desc())},
                 {DNNL_ARG_DST, memory(c, cpu, q.c)}};
    add_attribute_arguments(v);
  }

  static bool is_scaled(const qb_variant &v) { return v.a != 'f' && v.out != 'i'; }

  static primitive_attr attributes(const qb_variant &v) {
    primitive_attr at;
    if (v.zp_a) at.set_zero_points_mask(DNNL_ARG_SRC, 0);
    if (v.zp_b) at.set_zero_points_mask(DNNL_ARG_WEIGHTS, 0);
    if (v.out == 'u') at.set_zero_points_mask(DNNL_ARG_DST, 0);
    if (is_scaled(v)) at.set_scales_mask(DNNL_ARG_SRC, 0);
    return at;
  }

  memory reordered(const memory::desc &plain, const memory::desc &wanted) {
    memory given(plain, cpu, const_cast<void *>(q.b));
    if (wanted == plain) return given;
    memory packed(wanted, cpu);
    reorder(given, packed).execute(work, given, packed);
    work.wait();
    return packed;
  }

  void add_attribute_arguments(const qb_variant &v) {
    const memory::desc integer({1}, memory::data_type::s32, tag::a), real({1}, memory::data_type::f32, tag::a);
    if (v.zp_a) arguments[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC] = memory(integer, cpu, &q.za);
    if (v.zp_b) arguments[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS] = memory(integer, cpu, &q.zb);
    if (v.out == 'u') arguments[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST] = memory(integer, cpu, &q.zc);
    if (is_scaled(v)) arguments[DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC] = memory(real, cpu, &q.scale);
  }

  void run() override {
    primitive.execute(work, arguments);
    work.wait();
  }
};

void *create(int variant, const qb_case *q) {
  const qb_variant &v = kVariants[variant];
  try {
    std::unique_ptr<Product> p;
    if (strncmp(v.name, "matmul", 6)) p = std::make_unique<BlasLikeCall>(v, *q);
    else p = std::make_unique<Primitive>(v, *q);
    return p.release();
  } catch (const std::exception &e) {
    if (getenv("QB_VERBOSE")) fprintf(stderr, "# onednn %s: %s\n", v.name, e.what());
    return nullptr;
  }
}

void run(void *p) { static_cast<Product *>(p)->run(); }

void destroy(void *p) { delete static_cast<Product *>(p); }

const char *isa_name() {
  switch (get_effective_cpu_isa()) {
    case cpu_isa::sse41:
      return "sse41";
    case cpu_isa::avx:
      return "avx";
    case cpu_isa::avx2:
      return "avx2";
    case cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case cpu_isa::avx512_core:
      return "avx512_core";
    case cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    default:
      return "";
  }
}

}  // namespace

extern "C" const qb_lib *qb_get(void) {
  const dnnl_version_t *v = dnnl_version();
  static const std::string version =
      std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  static const qb_lib library = {QB_ABI, "onednn", version.c_str(), isa_name(), sizeof kVariants / sizeof *kVariants,
                                 kVariants, create, run, destroy};
  return &library;
}
