// The matrices of one shape, in every type: full-range random bytes, the same for all contenders.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <vector>
#include "../qbench.h"
#include "shape.h"

// Page-aligned memory with a little slack at the end.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) {
    const size_t page = 4096, bytes = (count * sizeof(T) + 2 * page - 1) / page * page;
    p_ = static_cast<T *>(aligned_alloc(page, bytes));
    if (!p_) throw std::bad_alloc();
    memset(static_cast<void *>(p_), 0, bytes);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { free(p_); }
  T &operator[](size_t i) { return p_[i]; }
  T *data() { return p_; }

 private:
  T *p_;
};

// One matrix in the three types; the s8 and f32 values are the u8 values read as signed.
struct Matrix {
  Buffer<uint8_t> u8;
  Buffer<int8_t> s8;
  Buffer<float> f32;
  explicit Matrix(size_t count) : u8(count), s8(count), f32(count) {}
  void set(size_t i, uint8_t byte, int s8_bits) {
    u8[i] = byte;
    s8[i] = static_cast<int8_t>(byte) >> (8 - s8_bits);
    f32[i] = static_cast<int8_t>(byte) / 128.f;
  }
  const void *of_type(char type) {
    return type == 'u' ? static_cast<void *>(u8.data()) : type == 's' ? static_cast<void *>(s8.data()) : f32.data();
  }
};

class Operands {
 public:
  Operands(const Shape &s, int s8_bits)
      : shape_(s),
        a_(size_t(s.m) * s.k),
        b_(size_t(s.k) * s.n),
        bt_(size_t(s.k) * s.n),
        c8_(size_t(s.m) * s.n),
        c32_(size_t(s.m) * s.n) {
    std::mt19937_64 random(12345);
    for (size_t i = 0; i < size_t(s.m) * s.k; i++) a_.set(i, random() >> 13, 8);
    for (size_t i = 0; i < size_t(s.k); i++)
      for (size_t j = 0; j < size_t(s.n); j++) {
        const uint8_t byte = random() >> 17;
        b_.set(i * s.n + j, byte, s8_bits);
        bt_.set(j * s.k + i, byte, s8_bits);
      }
  }

  // The problem that `v` is to solve, with a result that nobody has written yet.
  qb_case problem(const qb_variant &v, int threads) {
    qb_case q{};
    q.m = shape_.m, q.n = shape_.n, q.k = shape_.k, q.threads = threads;
    q.a = a_.of_type(v.a), q.b = b_.of_type(v.b), q.bt = bt_.of_type(v.b);
    const bool wide = v.out == 'i' || v.out == 'f';
    q.c = wide ? static_cast<void *>(c32_.data()) : c8_.data();
    memset(q.c, 0x5a, size_t(q.m) * q.n * (wide ? 4 : 1));
    q.za = v.zp_a ? (v.a == 'u' ? 121 : -7) : 0;
    q.zb = v.zp_b ? (v.b == 'u' ? 133 : 5) : 0;
    q.zc = v.out == 'u' ? 128 : v.out == 's' ? -3 : 0;
    // The standard deviation of a centred full-range byte is 74, of one with its offset about 148.
    const double spread = (v.a == 'u' && !v.zp_a ? 148. : 74.) * (v.b == 'u' && !v.zp_b ? 148. : 74.);
    q.scale = static_cast<float>(40. / (spread * std::sqrt(double(q.k))));
    return q;
  }

 private:
  Shape shape_;
  Matrix a_, b_, bt_;
  Buffer<uint8_t> c8_;
  Buffer<int32_t> c32_;
};
