// Android's RenderScript: BNNM, the product of bytes of its BLAS.

#include "eight_bit_int_gemm/eight_bit_int_gemm.h"

#include "../differential.h"

namespace {

void BNNM(std::size_t m, std::size_t n, std::size_t k, const std::uint8_t* a, std::uint8_t a_offset, std::size_t lda,
          const std::uint8_t* b, std::uint8_t b_offset, std::size_t ldb, std::uint8_t* c, std::int32_t c_offset,
          std::size_t ldc, std::int32_t c_mult_int) {
  const int c_shift = 21;
  const bool transpose_a = true, transpose_b = false, transpose_c = true;
  gemmlowp::eight_bit_int_gemm::SetMaxNumThreads(0);
  gemmlowp::eight_bit_int_gemm::EightBitIntGemm(
      transpose_a, transpose_b, transpose_c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), a,
      -a_offset, static_cast<int>(lda), b, -b_offset, static_cast<int>(ldb), c, c_offset, c_mult_int, c_shift,
      static_cast<int>(ldc), gemmlowp::eight_bit_int_gemm::BitDepthSetting::A8B8);
}

}  // namespace

int main(int argc, char** argv) {
  SkipUnlessSupported();
  Lines lines;
  seed seed = {4};
  for (int i = 0; i < 40; ++i) {
    const int m = 1 + below(&seed, 200), n = 1 + below(&seed, 200), k = 1 + below(&seed, 200), gap = below(&seed, 8);
    const std::vector<std::uint8_t> a = RandomBytes(&seed, m * (k + gap)), b = RandomBytes(&seed, n * (k + gap));
    const std::vector<std::uint8_t> offsets = RandomBytes(&seed, 2);
    Guarded<std::uint8_t> c(m * (n + gap));
    BNNM(m, n, k, a.data(), offsets[0], k + gap, b.data(), offsets[1], k + gap, c.data(), 74980, n + gap,
         1 + below(&seed, 4000));
    lines.Add("bnnm", c.Hashed());
  }
  return lines.Finish(argc, argv);
}
