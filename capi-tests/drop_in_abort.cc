// The drop-in ends the program where libqgemm reports an error, as gemmlowp does, and says why.

#include <csignal>
#include <cstdint>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "eight_bit_int_gemm/eight_bit_int_gemm.h"

using namespace gemmlowp::eight_bit_int_gemm;

namespace {

void ShiftTooFar() {
  std::uint8_t byte = 0, c = 0;
  EightBitIntGemm(false, false, false, 1, 1, 1, &byte, 0, 1, &byte, 0, 1, &c, 0, 1, 32, 1, BitDepthSetting::A8B8);
}

void MultiplyIntoNull() {
  std::uint8_t byte = 0;
  EightBitIntGemm(false, false, false, 1, 1, 1, &byte, 0, 1, &byte, 0, 1, static_cast<float*>(nullptr), 1.f, 1,
                  BitDepthSetting::A5B7);
}

void SetNegativeThreads() { SetMaxNumThreads(-1); }

// Calls `function` in a child and catches what it prints.
void CheckThatItAborts(void (*function)(), const char* text) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    function();
    _exit(0);
  }
  close(ends[1]);
  char printed[1000] = "";
  std::size_t size = 0;
  for (ssize_t got; (got = read(ends[0], printed + size, sizeof printed - 1 - size)) > 0;) size += got;
  close(ends[0]);
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  CHECK(std::strcmp(printed, text) == 0);
}

}  // namespace

int main() {
  CheckThatItAborts(ShiftTooFar, "libqgemm: c_shift is 32, but must be 0 to 31\n");
  CheckThatItAborts(MultiplyIntoNull, "libqgemm: c is null, but its matrix has elements\n");
  CheckThatItAborts(SetNegativeThreads,
                    "libqgemm: max_num_threads is -1, but must be a number of threads, or 0 for one on each "
                    "processor\n");
  FreePersistentResources();
  return 0;
}
