// All the ways in which programs include gemmlowp's header.

#include "eight_bit_int_gemm/eight_bit_int_gemm.h"
#include "gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h"
#include <gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h>

int main() {
  const std::uint8_t a[] = {11, 12, 13, 14, 15, 16};
  const std::uint8_t b[] = {7, 8, 9, 10, 11, 12};
  std::uint8_t c[4];
  gemmlowp::eight_bit_int_gemm::EightBitIntGemm(true, true, true, 2, 2, 3, a, -10, 3, b, 0, 2, c, 0, 1, 1, 2,
                                                gemmlowp::eight_bit_int_gemm::BitDepthSetting::A8B8);
  return c[0] == 29 && c[1] == 32 && c[2] == 70 && c[3] == 77 ? 0 : 1;
}
