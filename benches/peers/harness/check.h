// Whether a result is right: up to 400 of its elements, computed again from the definition.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include "../qbench.h"

template <class T>
T element(const void *matrix, size_t i) {
  return static_cast<const T *>(matrix)[i];
}

inline int quantized_element(char type, const void *matrix, size_t i) {
  return type == 'u' ? element<uint8_t>(matrix, i) : element<int8_t>(matrix, i);
}

// How far f32 element (i, j) is from the definition, in units of what is allowed.
inline double f32_error(const qb_case &q, int i, int j) {
  double sum = 0, magnitude = 0;
  for (int x = 0; x < q.k; x++) {
    const double p = double(element<float>(q.a, size_t(i) * q.k + x)) * element<float>(q.b, size_t(x) * q.n + j);
    sum += p, magnitude += std::fabs(p);
  }
  return std::fabs(sum - element<float>(q.c, size_t(i) * q.n + j)) / (magnitude * 1e-5 + 1e-6);
}

// How far quantized element (i, j) is from the definition.
inline double quantized_error(const qb_variant &v, const qb_case &q, int i, int j) {
  int64_t sum = 0;
  for (int x = 0; x < q.k; x++)
    sum += int64_t(quantized_element(v.a, q.a, size_t(i) * q.k + x) - q.za) *
           (quantized_element(v.b, q.b, size_t(x) * q.n + j) - q.zb);
  const size_t at = size_t(i) * q.n + j;
  if (v.out == 'i') return std::fabs(double(sum) - element<int32_t>(q.c, at));
  const double scaled = sum * double(q.scale);
  if (v.out == 'f') return std::fabs(scaled - element<float>(q.c, at)) / (1e-6 * std::fabs(scaled) + 1e-6);
  const double low = v.out == 'u' ? 0 : -128, high = v.out == 'u' ? 255 : 127;
  const double expected = std::min(high, std::max(low, std::nearbyint(scaled) + q.zc));
  return std::fabs(expected - quantized_element(v.out, q.c, at));
}

// "exact", "within1" (requantized results off by one at most, f32 within its tolerance) or "WRONG:error".
inline std::string verdict(const qb_variant &v, const qb_case &q) {
  std::mt19937 random(7);
  const int64_t total = int64_t(q.m) * q.n, tested = std::min<int64_t>(total, 400);
  double worst = 0;
  for (int64_t t = 0; t < tested; t++) {
    const int64_t at = tested == total ? t : int64_t(random() % uint64_t(total));
    const int i = int(at / q.n), j = int(at % q.n);
    const double error = v.a == 'f' ? f32_error(q, i, j) : quantized_error(v, q, i, j);
    worst = error <= worst ? worst : error;  // a NaN is kept
  }
  if (worst == 0) return "exact";
  if (worst <= (v.out == 'i' ? 0 : 1)) return "within1";
  char text[64];
  snprintf(text, sizeof text, "WRONG:%.3g", worst);
  return text;
}
