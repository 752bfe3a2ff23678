// libqgemm, by dlopen of $QGEMM_SO: without the library there is no contender, and the rest still runs.
#include <dlfcn.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>
#include "legacy_scale.h"
#include "qbench.h"
#include "qgemm/qgemm.h"

namespace {

struct Api {
  decltype(&qgemm_eight_bit_int_gemm_u8) eight_bit_int_gemm_u8;
  decltype(&qgemm_eight_bit_int_gemm_f32) eight_bit_int_gemm_f32;
  decltype(&qgemm_set_max_num_threads) set_max_num_threads;
  decltype(&qgemm_gemm) gemm;
  decltype(&qgemm_gemm_prepare) gemm_prepare;
  decltype(&qgemm_prepared_run) prepared_run;
  decltype(&qgemm_prepared_free) prepared_free;
  decltype(&qgemm_pack) pack;
  decltype(&qgemm_packed_free) packed_free;
  decltype(&qgemm_context_create) context_create;
  decltype(&qgemm_quantize_multiplier) quantize_multiplier;
  decltype(&qgemm_kernel_name) kernel_name;
  decltype(&qgemm_version) version;
  decltype(&qgemm_last_error) last_error;
};
Api api;

// Where the weights come from. The order of the names' endings below: "kn" is B as K x N row-major, "nk" is B as
// N x K row-major, which is K x N column-major, "pack" is B packed in create().
enum Weights { kKn, kNk, kPacked };

// "prepared": all but the elements is known in create(), as it is where rivals make their primitives. With packed weights the
// call is always prepared.
enum Call { kEightBitIntGemm, kGemm, kPrepared };

struct Way {
  Weights weights;
  Call call;
};

struct Variant {
  qb_variant variant;
  Way way;
};

// A result of 8 bits is of the type of A, after a bias and a scale for each column, as a quantized layer has them.
const Variant kVariants[] = {
    {{"EightBitIntGemm_u8u8u8_kn", 'u', 'u', 'u', 0, 1, 1}, {kKn, kEightBitIntGemm}},
    {{"EightBitIntGemm_u8u8u8_nk", 'u', 'u', 'u', 0, 1, 1}, {kNk, kEightBitIntGemm}},
    {{"EightBitIntGemm_u8u8f32_kn", 'u', 'u', 'f', 0, 1, 1}, {kKn, kEightBitIntGemm}},
    {{"EightBitIntGemm_u8u8f32_nk", 'u', 'u', 'f', 0, 1, 1}, {kNk, kEightBitIntGemm}},
#define OF_TYPES(a, b, A, B)                                              \
  {{"gemm_" a b "s32_zpab_kn", A, B, 'i', 0, 1, 1}, {kKn, kGemm}},        \
      {{"gemm_" a b "s32_zpab_nk", A, B, 'i', 0, 1, 1}, {kNk, kGemm}},    \
      {{"gemm_" a b "s32_zpab_pack", A, B, 'i', 1, 1, 1}, {kPacked, kPrepared}}, \
      {{"gemm_" a b a "_zpab_kn", A, B, A, 0, 1, 1}, {kKn, kGemm}},       \
      {{"gemm_" a b a "_zpab_nk", A, B, A, 0, 1, 1}, {kNk, kGemm}},       \
      {{"gemm_" a b a "_zpab_pack", A, B, A, 1, 1, 1}, {kPacked, kPrepared}},
    OF_TYPES("u8", "u8", 'u', 'u')
    OF_TYPES("u8", "s8", 'u', 's')
    OF_TYPES("s8", "u8", 's', 'u')
    OF_TYPES("s8", "s8", 's', 's')
#undef OF_TYPES
    {{"gemm_u8u8f32_zpab_kn", 'u', 'u', 'f', 0, 1, 1}, {kKn, kGemm}},
    {{"gemm_u8u8f32_zpab_pack", 'u', 'u', 'f', 1, 1, 1}, {kPacked, kPrepared}},
    // Fewer zero points, where rivals of the kind have fewer.
    {{"gemm_u8s8s32_kn", 'u', 's', 'i', 0, 0, 0}, {kKn, kGemm}},
    {{"gemm_u8s8s32_pack", 'u', 's', 'i', 1, 0, 0}, {kPacked, kPrepared}},
    {{"gemm_u8s8s32_zpa_pack", 'u', 's', 'i', 1, 1, 0}, {kPacked, kPrepared}},
    {{"gemm_u8s8s32_kn_prepared", 'u', 's', 'i', 0, 0, 0}, {kKn, kPrepared}},
    {{"gemm_u8s8u8_kn", 'u', 's', 'u', 0, 0, 0}, {kKn, kGemm}},
    {{"gemm_u8s8u8_kn_prepared", 'u', 's', 'u', 0, 0, 0}, {kKn, kPrepared}},
    {{"gemm_u8s8u8_pack", 'u', 's', 'u', 1, 0, 0}, {kPacked, kPrepared}},
    {{"gemm_u8s8u8_zpa_kn", 'u', 's', 'u', 0, 1, 0}, {kKn, kGemm}},
    {{"gemm_u8s8f32_kn_prepared", 'u', 's', 'f', 0, 0, 0}, {kKn, kPrepared}},
    {{"gemm_u8s8f32_pack", 'u', 's', 'f', 1, 0, 0}, {kPacked, kPrepared}},
    {{"gemm_u8s8f32_zpa_pack", 'u', 's', 'f', 1, 1, 0}, {kPacked, kPrepared}},
    {{"gemm_u8s8u8_zpa_pack", 'u', 's', 'u', 1, 1, 0}, {kPacked, kPrepared}},
    {{"gemm_s8s8s32_pack", 's', 's', 'i', 1, 0, 0}, {kPacked, kPrepared}},
};
constexpr int kCount = sizeof kVariants / sizeof *kVariants;

template <class F>
bool found(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
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
         found(so, "qgemm_set_max_num_threads", api.set_max_num_threads) && found(so, "qgemm_gemm", api.gemm) &&
         found(so, "qgemm_gemm_prepare", api.gemm_prepare) && found(so, "qgemm_prepared_run", api.prepared_run) &&
         found(so, "qgemm_prepared_free", api.prepared_free) &&
         found(so, "qgemm_pack", api.pack) && found(so, "qgemm_packed_free", api.packed_free) &&
         found(so, "qgemm_context_create", api.context_create) &&
         found(so, "qgemm_quantize_multiplier", api.quantize_multiplier) &&
         found(so, "qgemm_kernel_name", api.kernel_name) && found(so, "qgemm_version", api.version) &&
         found(so, "qgemm_last_error", api.last_error);
}

class Product {
 public:
  virtual ~Product() = default;
  virtual int32_t status() = 0;
};

// EightBitIntGemm with transpose_a = transpose_c = true.
class LegacyProduct : public Product {
 public:
  LegacyProduct(const Variant &v, const qb_case &q)
      : q_(q), is_float_(v.variant.out == 'f'), is_kn_(v.way.weights == kKn), scale_(q) {}

  int32_t status() override {
    const auto *a = static_cast<const uint8_t *>(q_.a), *b = static_cast<const uint8_t *>(is_kn_ ? q_.b : q_.bt);
    const int ldb = is_kn_ ? q_.n : q_.k;
    if (is_float_)
      return api.eight_bit_int_gemm_f32(1, is_kn_, 1, q_.m, q_.n, q_.k, a, -q_.za, q_.k, b, -q_.zb, ldb,
                                        static_cast<float *>(q_.c), q_.scale, q_.n, QGEMM_A8B8);
    return api.eight_bit_int_gemm_u8(1, is_kn_, 1, q_.m, q_.n, q_.k, a, -q_.za, q_.k, b, -q_.zb, ldb,
                                     static_cast<uint8_t *>(q_.c), scale_.offset, scale_.mult, scale_.shift, q_.n,
                                     QGEMM_A8B8);
  }

 private:
  qb_case q_;
  bool is_float_, is_kn_;
  LegacyScale scale_;
};

uint32_t element_type(char type) {
  return type == 'u' ? QGEMM_TYPE_U8 : type == 's' ? QGEMM_TYPE_S8 : type == 'i' ? QGEMM_TYPE_S32 : QGEMM_TYPE_F32;
}

// One for each number of threads, for all products: that is how a program has them. They last as long as the program.
qgemm_context *shared_context(int threads) {
  static std::vector<std::pair<int, qgemm_context *>> made;
  for (auto &context : made)
    if (context.first == threads) return context.second;
  qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  qgemm_context *context = nullptr;
  if (api.context_create(&options, &context)) return nullptr;
  made.emplace_back(threads, context);
  return context;
}

class GemmProduct : public Product {
 public:
  GemmProduct(const Variant &v, const qb_case &q)
      : context_(shared_context(q.threads)), bias_(q.n, 0), multiplier_(q.n), exponent_(q.n) {
    const qb_variant &types = v.variant;
    lhs_.data = q.a, lhs_.rows = q.m, lhs_.cols = q.k, lhs_.type = element_type(types.a), lhs_.offset.value = -q.za;
    rhs_.rows = q.k, rhs_.cols = q.n, rhs_.type = element_type(types.b), rhs_.offset.value = -q.zb;
    rhs_.data = v.way.weights == kNk ? q.bt : q.b;
    rhs_.order = v.way.weights == kNk ? QGEMM_COL_MAJOR : QGEMM_ROW_MAJOR;
    result_.data = q.c, result_.rows = q.m, result_.cols = q.n, result_.type = element_type(types.out);
    if (types.out == 'f') dequantize(q);
    else if (types.out != 'i') requantize(q);
    if (v.way.weights == kPacked) pack();
    if (v.way.call == kPrepared && !failure_) prepare();
  }
  ~GemmProduct() override { api.prepared_free(prepared_), api.packed_free(packed_); }

  int32_t status() override {
    if (failure_) return failure_;
    return prepared_ ? api.prepared_run(prepared_, nullptr, nullptr, nullptr)
                     : api.gemm(context_, &lhs_, &rhs_, &result_, stages_.data(), stages_.size(), nullptr);
  }

 private:
  void pack() {
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS, options.other_type = lhs_.type;
    failure_ = api.pack(&rhs_, &options, &packed_);
    rhs_.data = nullptr, rhs_.packed = packed_;
  }

  void prepare() {
    failure_ = api.gemm_prepare(context_, &lhs_, &rhs_, &result_, stages_.data(), stages_.size(), nullptr, &prepared_);
  }

  void dequantize(const qb_case &q) {
    qgemm_stage stage{};
    stage.kind = QGEMM_STAGE_DEQUANTIZE;
    stage.u.dequantize.scale.value = q.scale;
    stages_ = {stage};
  }

  // The harness knows neither biases nor scales that differ: these are zeros, and all the same, but they are read.
  void requantize(const qb_case &q) {
    qgemm_stage bias{}, scale{}, cast{};
    bias.kind = QGEMM_STAGE_BIAS;
    bias.u.bias.bias = per_column(bias_);
    int32_t multiplier = 0, exponent = 0;
    failure_ = api.quantize_multiplier(q.scale, &multiplier, &exponent);
    multiplier_.assign(q.n, multiplier), exponent_.assign(q.n, exponent);
    scale.kind = QGEMM_STAGE_SCALE;
    scale.u.scale.multiplier = per_column(multiplier_), scale.u.scale.exponent = per_column(exponent_);
    scale.u.scale.offset_after = q.zc;
    cast.kind = QGEMM_STAGE_CAST_SATURATING;
    stages_ = {bias, scale, cast};
  }

  static qgemm_i32_values per_column(const std::vector<int32_t> &values) {
    return {values.data(), int64_t(values.size()), 0, QGEMM_PER_COL};
  }

  qgemm_context *context_;
  qgemm_operand lhs_ = QGEMM_OPERAND_INIT, rhs_ = QGEMM_OPERAND_INIT;
  qgemm_result result_ = QGEMM_RESULT_INIT;
  std::vector<int32_t> bias_, multiplier_, exponent_;
  std::vector<qgemm_stage> stages_;
  qgemm_packed *packed_ = nullptr;
  qgemm_prepared *prepared_ = nullptr;
  int32_t failure_ = QGEMM_STATUS_OK;
};

void *create(int variant, const qb_case *q) {
  const Variant &v = kVariants[variant];
  int32_t status = api.set_max_num_threads(q->threads);
  std::unique_ptr<Product> p;
  if (v.way.call == kEightBitIntGemm) p = std::make_unique<LegacyProduct>(v, *q);
  else p = std::make_unique<GemmProduct>(v, *q);
  if (!status) status = p->status();
  if (!status) return p.release();
  fprintf(stderr, "# qgemm %s %dx%dx%d: %s\n", v.variant.name, q->m, q->n, q->k, api.last_error());
  return nullptr;
}

void run(void *p) {
  if (static_cast<Product *>(p)->status()) abort();  // it worked in create
}

void destroy(void *p) { delete static_cast<Product *>(p); }

}  // namespace

extern "C" const qb_lib *qb_get(void) {
  if (!load()) return nullptr;
  static qb_variant variants[kCount];
  for (int i = 0; i < kCount; i++) variants[i] = kVariants[i].variant;
  static const qb_lib library = {QB_ABI, "qgemm", api.version(), api.kernel_name(), kCount,
                                 variants, create, run, destroy};
  return &library;
}
