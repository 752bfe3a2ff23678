// TensorFlow's quantized_matmul and quantized_conv: a context whose tasks run on the program's own pool, each on a
// thread other than the caller's, and raw sums.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#define GEMMLOWP_ALLOW_SLOW_SCALAR_FALLBACK
#include "public/gemmlowp.h"

#include "../differential.h"

namespace {

// What TensorFlow's operators get from their device.
class ThreadPool {
 public:
  explicit ThreadPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
  }

  ~ThreadPool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Schedule(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
    wake_.notify_one();
  }

 private:
  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return closing_ || !work_.empty(); });
      if (work_.empty()) return;
      const std::function<void()> work = std::move(work_.back());
      work_.pop_back();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::vector<std::thread> threads_;
  std::vector<std::function<void()>> work_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool closing_ = false;
};

class DevicePool {
 public:
  explicit DevicePool(ThreadPool* threads) : threads_(threads) {}
  DevicePool(const DevicePool&) = delete;
  ~DevicePool() { unfinished_.Reset(0); }

  void Execute(const std::vector<gemmlowp::Task*>& tasks) {
    unfinished_.Reset(tasks.size());
    for (gemmlowp::Task* task : tasks) {
      threads_->Schedule([this, task] {
        gemmlowp::Allocator scratch;
        task->local_allocator = &scratch;
        task->Run();
        unfinished_.DecrementCount();
      });
    }
    unfinished_.Wait();
    for (gemmlowp::Task* task : tasks) delete task;
  }

 private:
  ThreadPool* const threads_;
  gemmlowp::BlockingCounter unfinished_;
};

class DeviceContext : public gemmlowp::MultiThreadGemmContextBase {
 public:
  DeviceContext(int threads, ThreadPool* pool) : pool_(pool) { set_max_num_threads(threads); }
  DevicePool* workers_pool() { return &pool_; }

 private:
  DevicePool pool_;
};

struct QInt32 {
  std::int32_t value;
};

template <bool transpose_a, bool transpose_b>
void MatMul(DeviceContext* context, seed* seed, int m, int n, int k, Lines* lines) {
  // Here "transposed" is the other way round than in EightBitIntGemm.
  const auto a_order = transpose_a ? gemmlowp::MapOrder::ColMajor : gemmlowp::MapOrder::RowMajor;
  const auto b_order = transpose_b ? gemmlowp::MapOrder::ColMajor : gemmlowp::MapOrder::RowMajor;
  const std::vector<std::uint8_t> a = RandomBytes(seed, m * k), b = RandomBytes(seed, k * n);
  const int offset_a = below(seed, 256), offset_b = below(seed, 256);
  Guarded<QInt32> c(m * n);

  gemmlowp::MatrixMap<const std::uint8_t, a_order> lhs(a.data(), m, k, transpose_a ? m : k);
  gemmlowp::MatrixMap<const std::uint8_t, b_order> rhs(b.data(), k, n, transpose_b ? k : n);
  gemmlowp::MatrixMap<std::int32_t, gemmlowp::MapOrder::RowMajor> result(&(c.data()->value), m, n, n);
  const std::tuple<> empty_pipeline = {};
  gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::int32_t, gemmlowp::DefaultL8R8BitDepthParams>(
      context, lhs, rhs, &result, -offset_a, -offset_b, empty_pipeline);
  lines->Add("matmul", c.Hashed());
}

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {1};
  ThreadPool pool(3);
  for (int i = 0; i < 20; ++i) {
    DeviceContext context(1 + i % 4, &pool);
    const int m = 1 + below(&seed, 150), n = 1 + below(&seed, 100), k = 1 + below(&seed, 120);
    MatMul<false, false>(&context, &seed, m, n, k, &lines);
    MatMul<false, true>(&context, &seed, m, n, k, &lines);
    MatMul<true, false>(&context, &seed, m, n, k, &lines);
    MatMul<true, true>(&context, &seed, m, n, k, &lines);
  }
  return lines.Finish(argc, argv);
}
