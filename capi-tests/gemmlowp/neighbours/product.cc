// One half: see program.h. PRODUCT is the name of its function.

#include "program.h"

#include "public/gemmlowp.h"

namespace {

struct Touch : gemmlowp::Task {
  void Run() override {
    gemmlowp::Allocator::Handle handle = local_allocator->Reserve<std::int32_t>(1000);
    local_allocator->Commit();
    for (int i = 0; i < 1000; ++i) local_allocator->GetPointer<std::int32_t>(handle)[i] = i;
    local_allocator->Decommit();
  }
};

}  // namespace

std::vector<std::uint8_t> PRODUCT(int size) {
  std::vector<std::uint8_t> a(size * size), c(size * size);
  for (int i = 0; i < size * size; ++i) a[i] = static_cast<std::uint8_t>(i * 37 + i / 7);
  gemmlowp::GemmContext context;
  context.set_max_num_threads(3);
  std::vector<gemmlowp::Task*> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(new Touch);
  context.workers_pool()->Execute(tasks);
  const gemmlowp::MatrixMap<const std::uint8_t, gemmlowp::MapOrder::RowMajor> map(a.data(), size, size);
  gemmlowp::MatrixMap<std::uint8_t, gemmlowp::MapOrder::ColMajor> result(c.data(), size, size);
  gemmlowp::Gemm<std::uint8_t, gemmlowp::DefaultL8R8BitDepthParams>(&context, map, map, &result, -128, -100, 5, 3, 9);
  return c;
}
