// The drop-in ends the program where libqgemm reports an error, as gemmlowp does, and says why.

#include <cstdint>

#include "aborts.h"
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

}  // namespace

int main() {
  CHECK(PrintedByAbort(ShiftTooFar) == "libqgemm: c_shift is 32, but must be 0 to 31\n");
  CHECK(PrintedByAbort(MultiplyIntoNull) == "libqgemm: c is null, but its matrix has elements\n");
  CHECK(PrintedByAbort(SetNegativeThreads) ==
        "libqgemm: max_num_threads is -1, but must be a number of threads, or 0 for one on each processor\n");
  FreePersistentResources();
  return 0;
}
