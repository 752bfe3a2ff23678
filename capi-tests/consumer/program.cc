// The C interface from C++, and what of it needs most of the system: threads and thread-local data.

#include <qgemm/qgemm.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

const int kSize = 300;

qgemm_status Square(const std::vector<std::uint8_t>& a, std::vector<std::uint8_t>* c, int ldc) {
  return qgemm_eight_bit_int_gemm_u8(1, 1, 1, kSize, kSize, kSize, a.data(), -7, kSize, a.data(), -9, kSize,
                                     c->data(), 0, 1, 12, ldc, QGEMM_A8B8);
}

bool Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return false;
}

bool MakesAContext() {
  qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
  options.threads = 2;
  options.parallel_for = [](void*, std::size_t tasks, qgemm_task task, void* argument) {
    for (std::size_t i = 0; i < tasks; ++i) task(argument, i);
  };
  qgemm_context* context = nullptr;
  if (qgemm_context_create(&options, &context) != QGEMM_STATUS_OK) return Fail(qgemm_last_error());
  qgemm_context_free(context);
  return true;
}

bool Passes() {
  if (std::strcmp(qgemm_version(), QGEMM_VERSION) != 0) return Fail("library and header are of different versions");

  std::vector<std::uint8_t> a(kSize * kSize), alone(a.size()), together(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(i * i % 251);
  if (Square(a, &alone, kSize) != QGEMM_STATUS_OK) return Fail(qgemm_last_error());
  if (qgemm_set_max_num_threads(2) != QGEMM_STATUS_OK) return Fail(qgemm_last_error());
  if (Square(a, &together, kSize) != QGEMM_STATUS_OK) return Fail(qgemm_last_error());
  if (alone != together) return Fail("two threads give other bytes than one");
  if (!MakesAContext()) return false;

  std::string text;
  std::thread([&] {
    if (Square(a, &together, kSize - 1) == QGEMM_STATUS_STRIDE) text = qgemm_last_error();
  }).join();
  if (text.find("ldc") == std::string::npos) return Fail("the error does not name the argument");
  if (*qgemm_last_error() != '\0') return Fail("the error of another thread is seen in this one");

  qgemm_free_persistent_resources();
  return true;
}

}  // namespace

int main() { return Passes() ? 0 : 1; }
