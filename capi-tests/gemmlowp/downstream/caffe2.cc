// Caffe2's adapter: a context that derives from the single-threaded one and adds threads by itself.

#include <functional>
#include <memory>
#include <thread>

#include <gemmlowp/fixedpoint/fixedpoint.h>
#include <gemmlowp/public/gemmlowp.h>

#include "../differential.h"

namespace {

// What stands in for Caffe2's own pool: it runs what it is given, each on a thread, and keeps it.
class Task {
 public:
  virtual ~Task() {}
  virtual void Run() = 0;
};

class ThreadPool {
 public:
  int getNumThreads() const { return 3; }
  void Execute(const std::vector<std::shared_ptr<Task>>& tasks) {
    std::vector<std::thread> threads;
    for (const std::shared_ptr<Task>& task : tasks) threads.emplace_back([&task] { task->Run(); });
    for (std::thread& thread : threads) thread.join();
  }
};

class C2GEMMContext : public gemmlowp::SingleThreadGemmContext {
  class C2WorkersPool;

 public:
  explicit C2GEMMContext(ThreadPool* pool) : pool_(pool), workers_pool_(pool) {}

  int max_num_threads() const { return pool_->getNumThreads(); }
  C2WorkersPool* workers_pool() { return &workers_pool_; }

 private:
  class C2WorkersPool {
   public:
    explicit C2WorkersPool(ThreadPool* pool) : pool_(pool) {}

    void Execute(const std::vector<gemmlowp::Task*>& tasks) {
      class C2Task : public Task {
       public:
        explicit C2Task(gemmlowp::Task* task) : task_(task) {}
        void Run() override { task_->Run(); }

       private:
        gemmlowp::Task* task_;
      };
      std::vector<std::shared_ptr<Task>> c2tasks;
      std::vector<gemmlowp::Allocator> allocators(tasks.size());
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i]->local_allocator = &allocators[i];
        c2tasks.push_back(std::make_shared<C2Task>(tasks[i]));
      }
      pool_->Execute(c2tasks);
      for (gemmlowp::Task* task : tasks) delete task;
    }

   private:
    ThreadPool* pool_;
  };

  ThreadPool* pool_;
  C2WorkersPool workers_pool_;
};

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {6};
  ThreadPool pool;
  C2GEMMContext context(&pool);
  for (int i = 0; i < 30; ++i) {
    const int m = 1 + below(&seed, 200), n = 1 + below(&seed, 80), k = 1 + below(&seed, 80);
    const std::vector<std::uint8_t> x = RandomBytes(&seed, m * k), w = RandomBytes(&seed, n * k);
    const std::vector<std::int32_t> b = RandomInts(&seed, n, 5000);
    Guarded<std::uint8_t> y(m * n);
    typedef gemmlowp::VectorMap<const std::int32_t, gemmlowp::VectorShape::Row> RowVectorMap;
    gemmlowp::OutputStageBiasAddition<RowVectorMap> bias;
    bias.bias_vector = RowVectorMap(b.data(), n);
    gemmlowp::OutputStageQuantizeDownInt32ToUint8ScaleByFixedPoint scale = {
        gemmlowp::SaturatingRoundingDoublingHighMul(1 << 30, 2000000000), 6, 121};
    gemmlowp::OutputStageClamp clamp = {121, 255};
    const gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::RowMajor> lhs(x.data(), m, k);
    const gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::ColMajor> rhs(w.data(), k, n);
    gemmlowp::MatrixMap<std::uint8_t, gemmlowp::MapOrder::RowMajor> result(y.data(), m, n);
    gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(
        &context, lhs, rhs, &result, -120, -130,
        std::make_tuple(bias, scale, clamp, gemmlowp::OutputStageSaturatingCastToUint8()));
    lines.Add("Int8FC", y.Hashed());
  }
  return lines.Finish(argc, argv);
}
