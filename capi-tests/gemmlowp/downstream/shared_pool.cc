// Contexts whose pools are the program's, in ways that the other programs do not show.

#include "public/gemmlowp.h"

#include "../differential.h"

namespace {

int g_executed = 0;

// Runs tasks backwards, one after the other, and takes them in a vector that it might change.
struct Pool {
  void Execute(std::vector<gemmlowp::Task*>& tasks) {
    ++g_executed;
    for (std::size_t i = tasks.size(); i-- > 0;) {
      gemmlowp::Allocator allocator;
      tasks[i]->local_allocator = &allocator;
      tasks[i]->Run();
      delete tasks[i];
    }
  }
};

class Context : public gemmlowp::SingleThreadGemmContext {
 public:
  int max_num_threads() const { return threads_; }
  Pool* workers_pool() { return &pool_; }
  int threads_ = 4;

 private:
  Pool pool_;
};

// gemmlowp's own kind of pool, shared by several contexts.
struct SharedPoolContext : gemmlowp::MultiThreadGemmContextBase {
  explicit SharedPoolContext(gemmlowp::WorkersPool* pool) : pool_(pool) { set_max_num_threads(3); }
  gemmlowp::WorkersPool* workers_pool() { return pool_; }
  gemmlowp::WorkersPool* pool_;
};

template <typename ContextType>
void Multiply(ContextType* context, seed* seed, int m, int n, int k, Lines* lines) {
  const std::vector<std::uint8_t> a = RandomBytes(seed, m * k), b = RandomBytes(seed, k * n);
  Guarded<std::uint8_t> c(m * n);
  const gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::RowMajor> lhs(a.data(), m, k), rhs(b.data(), k, n);
  gemmlowp::MatrixMap<std::uint8_t, gemmlowp::MapOrder::RowMajor> result(c.data(), m, n);
  gemmlowp::Gemm<std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(context, lhs, rhs, &result, -128, -100, 70000, 3,
                                                                    11);
  lines->Add("gemm", c.Hashed());
}

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {9};
  Context context;
  gemmlowp::WorkersPool pool;
  SharedPoolContext shared(&pool), other(&pool);
  for (int i = 0; i < 20; ++i) {
    const int m = 1 + below(&seed, 200), n = 1 + below(&seed, 100), k = 1 + below(&seed, 100);
    context.threads_ = 1 + i % 4;
    Multiply(&context, &seed, m, n, k, &lines);
    Multiply(&shared, &seed, m, n, k, &lines);
    Multiply(&other, &seed, m, n, k, &lines);
  }
  // Worth several threads by anybody's rule.
  Multiply(&context, &seed, 600, 500, 400, &lines);
  lines.Add("the pool had work", g_executed > 0);
  return lines.Finish(argc, argv);
}
