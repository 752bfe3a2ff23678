// For programs that are compiled twice, with gemmlowp's headers and with libqgemm's, and have to print the same.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef DIFFERENTIAL_H
#define DIFFERENTIAL_H

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "../random.h"
#ifdef QGEMM_QGEMM_H
#include "../check.h"
#endif

// FNV-1a.
struct Hash {
  std::uint64_t value = UINT64_C(14695981039346656037);

  void Add(const void* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      value = (value ^ static_cast<const unsigned char*>(bytes)[i]) * UINT64_C(1099511628211);
    }
  }
};

// The memory of a result, and 64 bytes before and after it, filled with a pattern.
template <typename Scalar>
class Guarded {
 public:
  explicit Guarded(std::size_t count) : bytes_(kMargin + count * sizeof(Scalar) + kMargin) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<unsigned char>(7 * i + 1);
  }

  Scalar* data() { return reinterpret_cast<Scalar*>(&bytes_[kMargin]); }

  // Of every byte, the margins and what lies in gaps included.
  std::uint64_t Hashed() const {
    Hash hash;
    hash.Add(bytes_.data(), bytes_.size());
    return hash.value;
  }

 private:
  static const std::size_t kMargin = 64;
  std::vector<unsigned char> bytes_;
};

// What a program prints, line by line.
class Lines {
 public:
  void Add(const std::string& name, std::uint64_t hash) {
    text_ << name << ": " << std::hex << hash << std::dec << "\n";
    all_.Add(&hash, sizeof hash);
    ++count_;
  }

  // For main() to return. Without arguments prints the lines; with the name of a file of such lines, compares them.
  int Finish(int argc, char** argv) {
    if (argc < 2) {
      std::fputs(text_.str().c_str(), stdout);
      return 0;
    }
    std::ifstream file(argv[1]);
    std::istringstream found(text_.str());
    std::string found_line, expected_line;
    int expected_count = 0;
    for (; std::getline(file, expected_line); ++expected_count) {
      std::getline(found, found_line);
      if (found_line == expected_line) continue;
      std::fprintf(stderr, "found    %s\nexpected %s, as in %s\n", found_line.c_str(), expected_line.c_str(), argv[1]);
      return 1;
    }
    if (expected_count == 0) {
      std::printf("skipped: there is nothing in %s\n", argv[1]);
      return 77;
    }
    if (expected_count != count_) {
      std::fprintf(stderr, "%d lines, but %d in %s\n", count_, expected_count, argv[1]);
      return 1;
    }
    std::printf("%d results, as in gemmlowp: %llx\n", count_, static_cast<unsigned long long>(all_.value));
    return 0;
  }

 private:
  std::ostringstream text_;
  Hash all_;
  int count_ = 0;
};

inline std::vector<std::uint8_t> RandomBytes(seed* seed, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(next_u32(seed));
  return bytes;
}

// Numbers from -`most` to `most`.
inline std::vector<std::int32_t> RandomInts(seed* seed, std::size_t count, std::int32_t most) {
  std::vector<std::int32_t> ints(count);
  for (std::int32_t& value : ints) value = below(seed, 2 * most + 1) - most;
  return ints;
}

// Ends the program, as skipped, where it cannot run: on a processor that lacks what gemmlowp was compiled for, or, with
// libqgemm, the kernel that QGEMM_ISA names.
inline void SkipUnlessSupported() {
#ifdef QGEMM_QGEMM_H
  if (qgemm_kernel_name() == nullptr) skip_unless_supported();
#elif defined(__AVX2__)
  if (!__builtin_cpu_supports("avx2")) std::exit(77);
#endif
}

#endif
