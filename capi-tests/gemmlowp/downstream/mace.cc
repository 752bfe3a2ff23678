// Xiaomi's MACE: gemmlowp's pool for all of its parallel loops, matrices that derive from MatrixMap.

#include <functional>

#include "public/gemmlowp.h"

#include "../differential.h"

namespace {

class ForTask : public gemmlowp::Task {
 public:
  ForTask(std::int64_t start, std::int64_t end, const std::function<void(std::int64_t)>& function)
      : start_(start), end_(end), function_(function) {}
  void Run() override {
    for (std::int64_t i = start_; i < end_; ++i) function_(i);
  }

 private:
  std::int64_t start_, end_;
  std::function<void(std::int64_t)> function_;
};

class ThreadPool {
 public:
  explicit ThreadPool(int threads) : threads_(threads) {}

  void Compute1D(std::int64_t end, const std::function<void(std::int64_t)>& function) {
    std::vector<gemmlowp::Task*> tasks;
    const std::int64_t each = gemmlowp::CeilQuotient<std::int64_t>(end, threads_);
    for (std::int64_t start = 0; start < end; start += each) {
      tasks.push_back(new ForTask(start, std::min(end, start + each), function));
    }
    if (!tasks.empty()) pool_.Execute(tasks);
  }

 private:
  int threads_;
  gemmlowp::WorkersPool pool_;
};

// A matrix with memory of its own.
template <typename tScalar, gemmlowp::MapOrder tOrder>
class Matrix : public gemmlowp::MatrixMap<tScalar, tOrder> {
 public:
  typedef gemmlowp::MatrixMap<tScalar, tOrder> Map;
  typedef gemmlowp::MatrixMap<const tScalar, tOrder> ConstMap;
  using Map::cols_;
  using Map::data_;
  using Map::kOrder;
  using Map::rows_;
  using Map::stride_;

  Matrix(int rows, int cols) : Map(nullptr, 0, 0, 0) {
    rows_ = rows;
    cols_ = cols;
    stride_ = kOrder == gemmlowp::MapOrder::ColMajor ? rows : cols;
    storage_.resize(static_cast<std::size_t>(rows) * cols);
    data_ = storage_.data();
  }

  const std::vector<tScalar>& storage() const { return storage_; }
  ConstMap const_map() const { return ConstMap(data_, rows_, cols_, stride_); }

 private:
  std::vector<tScalar> storage_;
};

struct OutputPipeline {
  typedef gemmlowp::VectorMap<const std::int32_t, gemmlowp::VectorShape::Col> ColVectorMap;
  typedef std::tuple<gemmlowp::OutputStageBiasAddition<ColVectorMap>,
                     gemmlowp::OutputStageQuantizeDownInt32ToUint8ScaleByFixedPoint,
                     gemmlowp::OutputStageSaturatingCastToUint8>
      Pipeline;
  typedef std::tuple<gemmlowp::OutputStageQuantizeDownInt32ToUint8ScaleByFixedPoint,
                     gemmlowp::OutputStageSaturatingCastToUint8>
      NoBiasPipeline;

  static Pipeline Make(const std::int32_t* bias, int rows, std::int32_t multiplier, int shift, int zero_point) {
    gemmlowp::OutputStageBiasAddition<ColVectorMap> bias_stage;
    bias_stage.bias_vector = ColVectorMap(bias, rows);
    return std::tuple_cat(std::make_tuple(bias_stage), MakeNoBias(multiplier, shift, zero_point));
  }

  static NoBiasPipeline MakeNoBias(std::int32_t multiplier, int shift, int zero_point) {
    gemmlowp::OutputStageQuantizeDownInt32ToUint8ScaleByFixedPoint quantize_down;
    quantize_down.result_offset_after_shift = zero_point;
    quantize_down.result_fixedpoint_multiplier = multiplier;
    quantize_down.result_shift = shift;
    return std::make_tuple(quantize_down, gemmlowp::OutputStageSaturatingCastToUint8());
  }
};

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  using gemmlowp::MapOrder;
  Lines lines;
  seed seed = {7};
  ThreadPool pool(4);
  gemmlowp::GemmContext context;
  context.set_max_num_threads(4);
  for (int i = 0; i < 30; ++i) {
    const int rows = 1 + below(&seed, 150), depth = 1 + below(&seed, 100), cols = 1 + below(&seed, 150);
    Matrix<std::uint8_t, MapOrder::RowMajor> lhs(rows, depth);
    Matrix<std::uint8_t, MapOrder::ColMajor> rhs(depth, cols);
    Matrix<std::uint8_t, MapOrder::ColMajor> result(rows, cols), unbiased(rows, cols);
    const std::uint32_t salt = next_u32(&seed);
    pool.Compute1D(rows, [&](std::int64_t row) {
      for (int l = 0; l < depth; ++l) {
        lhs(static_cast<int>(row), l) = static_cast<std::uint8_t>(salt >> ((row + 3 * l) % 24));
      }
    });
    pool.Compute1D(cols, [&](std::int64_t col) {
      for (int l = 0; l < depth; ++l) {
        rhs(l, static_cast<int>(col)) = static_cast<std::uint8_t>(salt >> ((5 * col + l) % 23));
      }
    });
    const std::vector<std::int32_t> bias = RandomInts(&seed, rows, 10000);
    gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t, gemmlowp::L8R8WithLhsNonzeroBitDepthParams>(
        &context, lhs.const_map(), rhs.const_map(), &result, -111, -122,
        OutputPipeline::Make(bias.data(), rows, 1700000000, 7, 99));
    // As a vector of columns, one after the other.
    for (int col = 0; col < cols; ++col) {
      auto column = unbiased.block(0, col, rows, 1);
      gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(
          &context, lhs.const_map(), rhs.const_map().block(0, col, depth, 1), &column, -111, -122,
          OutputPipeline::MakeNoBias(1700000000, 7, 99));
    }
    Hash hash;
    hash.Add(result.storage().data(), result.storage().size());
    hash.Add(unbiased.storage().data(), unbiased.storage().size());
    lines.Add("gemm and gemv", hash.value);
  }
  return lines.Finish(argc, argv);
}
