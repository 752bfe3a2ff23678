// Which products round to fewer bits, by the names that gemmlowp has and those that it had until 2017, and what becomes of
// promises: compared with the C interface, whose results bit_depth.c compares with their definition.

#include "public/gemmlowp.h"

#include "eight_bit_int_gemm/eight_bit_int_gemm.h"

#include "../check.h"
#include "../random.h"

#include <vector>

using namespace gemmlowp;

namespace {

// ---- Parameters as programs define them ----

// gemmlowp's style until 2017.
struct L3R6 {
  typedef BitDepth<3> LhsBitDepth;
  typedef BitDepth<6> RhsBitDepth;
  struct RoundingStrategy {
    static const RoundingMode kRoundingModeForSmallSizes = RoundingMode::ProbabilisticAddmod;
    static const RoundingMode kRoundingModeForLargeSizes = RoundingMode::ProbabilisticXorshift;
    static const int kRoundingModeSizeThreshold = 50;
  };
};

// No size is small.
struct L8R1 {
  typedef BitDepth<8> LhsBitDepth;
  typedef BitDepth<1> RhsBitDepth;
  struct RoundingStrategy : L3R6::RoundingStrategy {
    static const int kRoundingModeSizeThreshold = 0;
  };
};

// With the strategy for less than 8 bits.
struct L4R8 {
  typedef BitDepth<4> LhsBitDepth;
  typedef BitDepth<8> RhsBitDepth;
};

struct L8R8 {
  typedef BitDepth<8> LhsBitDepth, RhsBitDepth;
  typedef ExactRoundingStrategyFor8Bit RoundingStrategy;
};

static_assert(BitDepth<7>::kBits == 7 && BitDepth<7>::kMaxValue == 127 && BitDepth<8>::kMaxValue == 255, "");
static_assert(DefaultL7R5BitDepthParams::LhsBitDepth::kBits == 7, "");
static_assert(DefaultL7R5BitDepthParams::RhsBitDepth::kBits == 5, "");
static_assert(DefaultL7R5BitDepthParams::LhsRange::kMaxValue == 255, "as gemmlowp has had it since 2017");
static_assert(DefaultRoundingStrategyForLessThan8Bit::kRoundingModeSizeThreshold == 384, "");

// ---- Products ----

template <typename Scalar>
struct Problem {
  Problem(seed* seed, int m, int n, int k) : m(m), n(n), k(k), lhs(Random(seed, m * k)), rhs(Random(seed, k * n)) {}

  static std::vector<Scalar> Random(seed* seed, int count) {
    std::vector<Scalar> values(static_cast<std::size_t>(count));
    for (Scalar& value : values) value = static_cast<Scalar>(next_u32(seed));
    return values;
  }

  MatrixMap<const Scalar, MapOrder::ColMajor> lhs_map() const { return {lhs.data(), m, k}; }
  MatrixMap<const Scalar, MapOrder::RowMajor> rhs_map() const { return {rhs.data(), k, n}; }

  int m, n, k;
  std::vector<Scalar> lhs, rhs;
};

typedef std::vector<std::int32_t> Sums;

const int kLhsOffset = -12, kRhsOffset = 34;

// By C. Exact, if there is no depth.
template <typename Scalar>
Sums Expected(const Problem<Scalar>& p, const qgemm_bit_depth* depth) {
  Sums sums(static_cast<std::size_t>(p.m * p.n));
  qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
  lhs.data = p.lhs.data();
  lhs.rows = p.m;
  lhs.cols = rhs.rows = p.k;
  lhs.order = QGEMM_COL_MAJOR;
  lhs.offset.value = kLhsOffset;
  rhs.data = p.rhs.data();
  rhs.cols = p.n;
  rhs.offset.value = kRhsOffset;
  lhs.type = rhs.type = std::is_signed<Scalar>::value ? QGEMM_TYPE_S8 : QGEMM_TYPE_U8;
  qgemm_result result = QGEMM_RESULT_INIT;
  result.data = sums.data();
  result.rows = p.m;
  result.cols = p.n;
  result.order = QGEMM_COL_MAJOR;
  result.type = QGEMM_TYPE_S32;
  qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
  options.bit_depth = depth;
  CHECK(qgemm_gemm(nullptr, &lhs, &rhs, &result, nullptr, 0, &options) == QGEMM_STATUS_OK);
  return sums;
}

template <typename Scalar>
MatrixMap<std::int32_t, MapOrder::ColMajor> MapOf(const Problem<Scalar>& p, Sums* sums) {
  sums->assign(static_cast<std::size_t>(p.m * p.n), 77);
  return {sums->data(), p.m, p.n};
}

template <typename Params, typename Scalar>
Sums ByPipeline(const Problem<Scalar>& p) {
  GemmContext context;
  Sums sums;
  auto map = MapOf(p, &sums);
  GemmWithOutputPipeline<Scalar, std::int32_t, Params>(&context, p.lhs_map(), p.rhs_map(), &map, kLhsOffset,
                                                       kRhsOffset, std::make_tuple());
  return sums;
}

typedef VectorDup<const std::int32_t, VectorShape::Col> LhsOffsets;
typedef VectorDup<const std::int32_t, VectorShape::Row> RhsOffsets;

template <typename Params, typename Scalar>
Sums ByPipelinePC(const Problem<Scalar>& p) {
  GemmContext context;
  Sums sums;
  auto map = MapOf(p, &sums);
  GemmWithOutputPipelinePC<Scalar, std::int32_t, Params>(&context, p.lhs_map(), p.rhs_map(), &map,
                                                         LhsOffsets(kLhsOffset, p.m), RhsOffsets(kRhsOffset, p.n),
                                                         std::make_tuple());
  return sums;
}

template <typename Params, typename Scalar>
Sums ByOneThread(const Problem<Scalar>& p) {
  typedef DefaultKernel<Params> Kernel;
  SingleThreadGemmContext context;
  Sums sums;
  auto map = MapOf(p, &sums);
  SingleThreadGemm<typename Kernel::Format, Scalar, std::int32_t, Params>(
      &context, Kernel(), p.lhs_map(), p.rhs_map(), &map, LhsOffsets(kLhsOffset, p.m), RhsOffsets(kRhsOffset, p.n),
      std::make_tuple());
  return sums;
}

template <typename Params, typename Scalar>
Sums ByThreads(const Problem<Scalar>& p) {
  typedef DefaultKernel<Params> Kernel;
  MultiThreadGemmContext context;
  context.set_max_num_threads(3);
  Sums sums;
  auto map = MapOf(p, &sums);
  MultiThreadGemm<typename Kernel::Format, Scalar, std::int32_t, Params>(
      &context, Kernel(), p.lhs_map(), p.rhs_map(), &map, LhsOffsets(kLhsOffset, p.m), RhsOffsets(kRhsOffset, p.n),
      std::make_tuple());
  return sums;
}

// The public functions round where it is worth it, the internal ones always.
template <typename Params, typename Scalar>
void CheckProblem(const Problem<Scalar>& p, qgemm_bit_depth depth) {
  const Sums worthwhile = Expected(p, &depth);
  CHECK(ByPipeline<Params>(p) == worthwhile);
  CHECK(ByPipelinePC<Params>(p) == worthwhile);
  depth.flags = QGEMM_REQUANTIZE_ALWAYS;
  const Sums rounded = Expected(p, &depth);
  CHECK(ByOneThread<Params>(p) == rounded);
  CHECK(ByThreads<Params>(p) == rounded);
  // Else nothing is shown.
  const bool is_worth_it = 2 * p.m * p.n >= 100 * (p.m + p.n), is_exact = depth.lhs_bits == 8 && depth.rhs_bits == 8;
  CHECK((worthwhile == rounded) == (is_worth_it || is_exact));
  CHECK((Expected(p, nullptr) == rounded) == is_exact);
}

template <typename Params>
void Check(seed* seed, const qgemm_bit_depth& depth) {
  for (int k : {49, 50, 383, 384}) {
    CheckProblem<Params>(Problem<std::uint8_t>(seed, 100, 101, k), depth);
    CheckProblem<Params>(Problem<std::uint8_t>(seed, 30, 51, k), depth);
    CheckProblem<Params>(Problem<std::int8_t>(seed, 104, 103, k), depth);
  }
}

// ---- Bytes ----

// gemmlowp's legacy product, and EightBitIntGemm in the two languages.
void BytesOf(seed* seed) {
  const Problem<std::uint8_t> p(seed, 120, 110, 500);
  std::vector<std::uint8_t> expected(120 * 110), exact(120 * 110), found(120 * 110);
  const auto multiply = [&](std::vector<std::uint8_t>* c, std::uint32_t setting) {
    CHECK(qgemm_eight_bit_int_gemm_u8(0, 1, 0, p.m, p.n, p.k, p.lhs.data(), -100, p.m, p.rhs.data(), -90, p.n,
                                      c->data(), 300000, 1, 12, p.m, setting) == QGEMM_STATUS_OK);
  };
  multiply(&expected, QGEMM_A5B7);
  multiply(&exact, QGEMM_A8B8);
  CHECK(expected != exact);
  GemmContext context;
  MatrixMap<std::uint8_t, MapOrder::ColMajor> map(found.data(), p.m, p.n);
  Gemm<std::uint8_t, DefaultL7R5BitDepthParams>(&context, p.lhs_map(), p.rhs_map(), &map, -100, -90, 300000, 1, 12);
  CHECK(found == expected);
  Gemm<std::uint8_t, DefaultL8R8BitDepthParams>(&context, p.lhs_map(), p.rhs_map(), &map, -100, -90, 300000, 1, 12);
  CHECK(found == exact);
  using eight_bit_int_gemm::BitDepthSetting;
  for (BitDepthSetting setting : {BitDepthSetting::A5B7, BitDepthSetting::A8B8}) {
    eight_bit_int_gemm::EightBitIntGemm(false, true, false, p.m, p.n, p.k, p.lhs.data(), -100, p.m, p.rhs.data(), -90,
                                        p.n, found.data(), 300000, 1, 12, p.m, setting);
    CHECK(found == (setting == BitDepthSetting::A5B7 ? expected : exact));
  }
}

// ---- Promises ----

template <typename Scalar, int kMin, int kMax>
constexpr bool Promises(std::int32_t least, std::int32_t greatest) {
  typedef libqgemm::Promise<Scalar, OperandRange<kMin, kMax>> Promise;
  return Promise::kLeast == least && Promise::kGreatest == greatest;
}

static_assert(Promises<std::uint8_t, 0, 127>(0, 127), "");
static_assert(Promises<std::uint8_t, 1, 255>(1, 255), "");
static_assert(Promises<std::int8_t, -127, 127>(-127, 127), "");
static_assert(Promises<std::uint8_t, 0, 255>(0, 255), "");
// They make no sense for the type.
static_assert(Promises<std::uint8_t, -127, 127>(0, 0), "");
static_assert(Promises<std::int8_t, 0, 255>(0, 0), "");
static_assert(Promises<std::uint8_t, 1, 256>(0, 0), "");

// Each goes to its own side.
void PromisesOfSides() {
  typedef BitDepthParams<OperandRange<3, 7>, OperandRange<20, 90>> Params;
  static const std::uint8_t bytes[4] = {50, 50, 50, 50};
  const MatrixMap<const std::uint8_t, MapOrder::RowMajor> map(bytes, 2, 2);
  const libqgemm::Side<std::uint8_t> lhs(map, LhsOffsets(0, 2), libqgemm::LhsRangeOf<Params>::Range());
  const libqgemm::Side<std::uint8_t> rhs(map, RhsOffsets(0, 2), libqgemm::RhsRangeOf<Params>::Range());
  const libqgemm::Side<std::uint8_t> none(map, RhsOffsets(0, 2), libqgemm::RhsRangeOf<L3R6>::Range());
  CHECK(lhs.operand()->least == 3 && lhs.operand()->greatest == 7);
  CHECK(rhs.operand()->least == 20 && rhs.operand()->greatest == 90);
  CHECK(none.operand()->least == 0 && none.operand()->greatest == 0);
}

qgemm_bit_depth Depth(std::uint32_t lhs_bits, std::uint32_t rhs_bits) {
  qgemm_bit_depth depth = QGEMM_BIT_DEPTH_INIT;
  depth.lhs_bits = lhs_bits;
  depth.rhs_bits = rhs_bits;
  return depth;
}

}  // namespace

int main() {
  skip_unless_supported();
  struct seed seed = {20170205};
  Check<DefaultL7R5BitDepthParams>(&seed, Depth(7, 5));
  Check<DefaultL8R8BitDepthParams>(&seed, Depth(8, 8));
  Check<L8R8>(&seed, Depth(8, 8));
  Check<L4R8>(&seed, Depth(4, 8));
  qgemm_bit_depth depth = Depth(3, 6);
  depth.rounding_below = QGEMM_REQUANTIZE_ADD_MOD;
  depth.rounding_from = QGEMM_REQUANTIZE_XORSHIFT;
  depth.threshold = 50;
  Check<L3R6>(&seed, depth);
  depth = Depth(8, 1);
  depth.rounding_from = QGEMM_REQUANTIZE_XORSHIFT;
  depth.threshold = 1;
  Check<L8R1>(&seed, depth);
  BytesOf(&seed);
  PromisesOfSides();
  return 0;
}
