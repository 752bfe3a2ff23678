// Compares libqgemm with gemmlowp: thousands of random calls, and a hash of every byte around and between what they write.
// gemmlowp computes A5B7 as A8B8; so does libqgemm in small products, and in all that are only linked with it.
//
// This one source is compiled twice, with either's header. Without arguments it prints its hashes; with the name of a
// file that holds such output it compares them with its own.

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "eight_bit_int_gemm/eight_bit_int_gemm.h"
#include "random.h"
#ifdef QGEMM_GEMMLOWP_EIGHT_BIT_INT_GEMM_H
#include "check.h"
#endif

using gemmlowp::eight_bit_int_gemm::BitDepthSetting;
using gemmlowp::eight_bit_int_gemm::EightBitIntGemm;
using gemmlowp::eight_bit_int_gemm::FreePersistentResources;
using gemmlowp::eight_bit_int_gemm::SetMaxNumThreads;

namespace {

const int kBlocks = 120;
const int kCallsPerBlock = 100;
// In one call, at most. gemmlowp, compiled for any x86-64, does some 500 million multiplications in a second.
const double kMostMultiplications = 3e7;
const double kMostBytes = 5e6;
const int kMostGap = 70;

// A matrix as a contiguous run of rows (row-major) or columns.
struct Layout {
  Layout(bool row_major, int rows, int cols) : runs(row_major ? rows : cols), len(row_major ? cols : rows) {}

  std::size_t Extent(int stride) const {
    if (runs == 0 || len == 0) return 0;
    return runs == 1 ? len : static_cast<std::size_t>(runs - 1) * stride + len;
  }

  int runs, len;
};

struct Call {
  bool transpose_a, transpose_b, transpose_c;
  int m, n, k;
  std::int32_t a_offset, b_offset, c_offset, c_mult_int, c_shift;
  float c_scale;
  int lda, ldb, ldc;
  BitDepthSetting bit_depth;
  bool is_float;
};

// A length around the edges of tiles and panels.
int RandomLength(seed* seed) {
  static const int kUnits[] = {4, 6, 8, 16, 32, 48, 64};
  static const int kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 61, 67, 97, 127, 131, 193, 257};
  switch (below(seed, 10)) {
    case 0: return below(seed, 3);
    case 1:
    case 2: return below(seed, 10);
    case 3:
    case 4:
    case 5: return kUnits[below(seed, 7)] * (1 + below(seed, 3)) - 1 + below(seed, 3);
    case 6: return kPrimes[below(seed, 19)];
    case 7: return below(seed, 80);
    default: return 1 + below(seed, below(seed, 8) == 0 ? 300 : 40);
  }
}

// As deep as to be cut into slices, now and then.
int RandomDepth(seed* seed) {
  switch (below(seed, 40)) {
    case 0: return 1000 + below(seed, 9000);
    case 1: return 33000 + below(seed, 2000);
    default: return RandomLength(seed);
  }
}

std::int32_t RandomInt(seed* seed) { return static_cast<std::int32_t>(next_u32(seed)); }

std::int32_t RandomOffset(seed* seed) {
  static const std::int32_t kExtremes[] = {0, 1, -1, -128, -255, 255, INT_MAX, INT_MIN, INT_MIN + 1, 1 << 30};
  switch (below(seed, 4)) {
    case 0: return kExtremes[below(seed, 10)];
    case 1: return RandomInt(seed);
    default: return -below(seed, 256);
  }
}

// Any bits but those of infinities and NaNs.
float RandomScale(seed* seed) {
  switch (below(seed, 4)) {
    case 0: return 0.f;
    case 1: return 1.f / static_cast<float>(1 + below(seed, 100000));
    default: {
      std::uint32_t bits = next_u32(seed) & ~0x40000000u;
      float scale;
      std::memcpy(&scale, &bits, sizeof scale);
      return scale;
    }
  }
}

// Multiplier and shift such that many results are neither 0 nor 255, or any.
void RandomScaling(seed* seed, Call* call) {
  call->c_shift = below(seed, 32);
  call->c_mult_int = RandomInt(seed);
  call->c_offset = RandomOffset(seed);
  if (below(seed, 4) != 0) {
    const double spread = 100. * 100. * (call->k + 1);
    call->c_mult_int = 1 + below(seed, 1 << 12);
    call->c_shift = 0;
    while (call->c_shift < 31 && spread * call->c_mult_int / (1u << call->c_shift) > 200) call->c_shift++;
  }
}

// A stride may be anything where it steps over nothing.
int RandomStride(seed* seed, Layout layout, int least) {
  static const int kGarbage[] = {0, -1, -7, 1, INT_MAX, INT_MIN};
  if (layout.runs <= 1) return kGarbage[below(seed, 6)];
  switch (below(seed, 3)) {
    case 0: return layout.len;
    case 1: return layout.len + below(seed, kMostGap);
    default: return least + below(seed, layout.len - least + 10);
  }
}

bool IsTooBig(const Call& call) {
  const double m = call.m, n = call.n, k = call.k;
  return m * n * k > kMostMultiplications || (std::max(m, n) + kMostGap) * (k + kMostGap) > kMostBytes;
}

Call RandomCall(seed* seed) {
  Call call;
  const int transpositions = below(seed, 8);
  call.transpose_a = transpositions & 1;
  call.transpose_b = transpositions & 2;
  call.transpose_c = transpositions & 4;
  call.is_float = below(seed, 3) == 0;
  call.bit_depth = below(seed, 4) == 0 ? BitDepthSetting::A5B7 : BitDepthSetting::A8B8;
  do {
    call.m = RandomLength(seed);
    call.n = RandomLength(seed);
    call.k = RandomDepth(seed);
  } while (IsTooBig(call));
#ifdef QGEMM_GEMMLOWP_EIGHT_BIT_INT_GEMM_H
  if (2 * call.m * call.n >= 100 * (call.m + call.n)) call.bit_depth = BitDepthSetting::A8B8;
#endif
  // gemmlowp then reads uninitialized memory.
  if (call.is_float && call.k == 0) call.k = 1;
  call.a_offset = RandomOffset(seed);
  call.b_offset = RandomOffset(seed);
  call.c_scale = RandomScale(seed);
  RandomScaling(seed, &call);
  const Layout c(call.transpose_c, call.m, call.n);
  call.lda = RandomStride(seed, Layout(call.transpose_a, call.m, call.k), 0);
  call.ldb = RandomStride(seed, Layout(call.transpose_b, call.k, call.n), 0);
  call.ldc = RandomStride(seed, c, c.len);
  // gemmlowp takes as much scratch memory as this stride says, though it may step over nothing.
  if (call.is_float && c.runs <= 1) call.ldc = c.len + below(seed, 100);
  return call;
}

// Bytes to multiply: anything, small numbers with many zeros, or extremes alone.
class Inputs {
 public:
  explicit Inputs(seed* seed) : bytes_(3 * kSection) {
    for (std::size_t i = 0; i < kSection; i++) {
      bytes_[i] = static_cast<std::uint8_t>(next_u32(seed));
      bytes_[i + kSection] = static_cast<std::uint8_t>(below(seed, 2) ? 0 : below(seed, 40));
      bytes_[i + 2 * kSection] = below(seed, 8) ? 255 : 0;
    }
  }

  // Where so many of them start.
  const std::uint8_t* Some(seed* seed, std::size_t count) const {
    const int section = below(seed, 4);
    const std::size_t start = below(seed, static_cast<int>(kSection - count));
    return &bytes_[(section == 3 ? 0 : section) * kSection + start];
  }

 private:
  static const std::size_t kSection = std::size_t(6) << 20;
  std::vector<std::uint8_t> bytes_;
};

// FNV-1a.
void AddToHash(const std::vector<std::uint8_t>& bytes, std::uint64_t* hash) {
  for (std::uint8_t byte : bytes) *hash = (*hash ^ byte) * UINT64_C(1099511628211);
}

// What the call leaves in the memory that its result lies in, and in 64 bytes on both sides.
std::vector<std::uint8_t> Run(const Call& call, const Inputs& inputs, seed* seed) {
  const std::uint8_t* a = inputs.Some(seed, Layout(call.transpose_a, call.m, call.k).Extent(call.lda));
  const std::uint8_t* b = inputs.Some(seed, Layout(call.transpose_b, call.k, call.n).Extent(call.ldb));
  const std::size_t extent = Layout(call.transpose_c, call.m, call.n).Extent(call.ldc);
  const std::size_t element = call.is_float ? sizeof(float) : 1;
  std::vector<std::uint8_t> memory(64 + extent * element + 64);
  for (std::size_t i = 0; i < memory.size(); i++) memory[i] = static_cast<std::uint8_t>(i * 7 + 1);
  std::uint8_t* c = &memory[64];
  if (call.is_float) {
    EightBitIntGemm(call.transpose_a, call.transpose_b, call.transpose_c, call.m, call.n, call.k, a, call.a_offset,
                    call.lda, b, call.b_offset, call.ldb, reinterpret_cast<float*>(c), call.c_scale, call.ldc,
                    call.bit_depth);
  } else {
    EightBitIntGemm(call.transpose_a, call.transpose_b, call.transpose_c, call.m, call.n, call.k, a, call.a_offset,
                    call.lda, b, call.b_offset, call.ldb, c, call.c_offset, call.c_mult_int, call.c_shift, call.ldc,
                    call.bit_depth);
  }
  return memory;
}

std::string Hashes() {
  struct seed seed = {20150604};
  const Inputs inputs(&seed);
  std::uint64_t total = UINT64_C(14695981039346656037);
  std::ostringstream lines;
  for (int block = 0; block < kBlocks; block++) {
    SetMaxNumThreads(block % 4);
    std::uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < kCallsPerBlock; i++) {
      const Call call = RandomCall(&seed);
      const std::vector<std::uint8_t> bytes = Run(call, inputs, &seed);
      AddToHash(bytes, &hash);
      AddToHash(bytes, &total);
    }
    if (block % 3 == 2) FreePersistentResources();
    lines << "calls " << block * kCallsPerBlock << " to " << (block + 1) * kCallsPerBlock - 1 << ": " << std::hex
          << hash << std::dec << "\n";
  }
  lines << "all: " << std::hex << total << "\n";
  return lines.str();
}

// Says where the texts differ first.
bool AreEqual(const std::string& found, const std::string& expected) {
  std::istringstream found_lines(found), expected_lines(expected);
  std::string found_line, expected_line;
  while (std::getline(expected_lines, expected_line)) {
    std::getline(found_lines, found_line);
    if (found_line != expected_line) {
      std::fprintf(stderr, "found    %s\nexpected %s\n", found_line.c_str(), expected_line.c_str());
      return false;
    }
  }
  return found == expected;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef QGEMM_GEMMLOWP_EIGHT_BIT_INT_GEMM_H
  if (argc > 1) skip_unless_supported();
#endif
  const std::string hashes = Hashes();
  if (argc < 2) {
    std::fputs(hashes.c_str(), stdout);
    return 0;
  }
  std::ifstream file(argv[1]);
  std::ostringstream expected;
  expected << file.rdbuf();
  if (!file || expected.str().empty() || !AreEqual(hashes, expected.str())) {
    std::fprintf(stderr, "not as in %s\n", argv[1]);
    return 1;
  }
  std::printf("%d calls, as in gemmlowp: %s", kBlocks * kCallsPerBlock, hashes.substr(hashes.rfind("all")).c_str());
  return 0;
}
