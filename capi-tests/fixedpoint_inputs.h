// What fixedpoint_diff.cc tries functions with, and how it tells what came out: inputs, vectors of them, and hashes.

#ifndef FIXEDPOINT_INPUTS_H
#define FIXEDPOINT_INPUTS_H

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "fixedpoint/fixedpoint.h"
#include "random.h"

namespace {

template <typename T>
using Scalar = typename gemmlowp::FixedPointRawTypeTraits<T>::ScalarRawType;

template <typename T>
constexpr int Lanes() {
  return static_cast<int>(sizeof(T) / sizeof(Scalar<T>));
}

template <typename T>
constexpr bool IsVector() {
  return Lanes<T>() > 1;
}

template <typename T>
constexpr bool Is16Bit() {
  return sizeof(Scalar<T>) == 2;
}

template <typename T>
constexpr int Bits() {
  return 8 * static_cast<int>(sizeof(Scalar<T>));
}

// ---- What is printed ----

// Whether vectors, too, get every input, and must hash as the scalars do.
bool every_input = false;
int disagreements = 0;
std::uint64_t total = 0;
std::map<std::string, std::uint64_t> of_scalars;

class Hash {
 public:
  void Add(std::int64_t value) {
    hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * UINT64_C(0x9E3779B97F4A7C15);
    hash_ ^= hash_ >> 32;
    count_++;
  }

  // Prints it; of vectors, when every input is taken, tells whether it is what the scalars gave.
  template <typename T>
  void Print(const std::string& name) const {
    std::printf("%-60s %d x int%d %10" PRIu64 " values  %016" PRIx64 "\n", name.c_str(), Lanes<T>(), Bits<T>(), count_,
                hash_);
    total += count_;
    const std::string key = name + (Is16Bit<T>() ? " 16" : " 32");
    if (!IsVector<T>()) of_scalars[key] = hash_;
    if (every_input && of_scalars.at(key) != hash_) {
      std::printf("the line above is not what the scalars gave\n");
      disagreements++;
    }
  }

 private:
  std::uint64_t hash_ = UINT64_C(0xCBF29CE484222325);
  std::uint64_t count_ = 0;
};

// ---- Inputs ----

seed randoms = {20240917};

// Random bits, of a random number of places.
template <typename S>
S Random() {
  const std::uint32_t bits = next_u32(&randoms);
  return static_cast<S>(static_cast<S>(bits) >> below(&randoms, 8 * sizeof(S)));
}

// Powers of two, their sums with 1 and -1, all with both signs, and the limits.
template <typename S>
std::vector<S> Extremes() {
  std::vector<S> extremes;
  for (unsigned bit = 0; bit < 8 * sizeof(S); bit++) {
    for (std::int64_t near = -1; near <= 1; near++) {
      extremes.push_back(static_cast<S>((std::int64_t{1} << bit) + near));
      extremes.push_back(static_cast<S>(-((std::int64_t{1} << bit) + near)));
    }
  }
  return extremes;
}

// An emulated processor takes one of so many.
#ifdef FEW_INPUTS
constexpr int one_of = 17;
#else
constexpr int one_of = 1;
#endif

// All there are of 16 bits; of 32 bits the extremes, steps through the range, and random ones.
template <typename S>
const std::vector<S>& Singles() {
  static std::vector<S> singles;
  if (singles.empty() && sizeof(S) == 2) {
    for (int x = -32768; x <= 32767; x += one_of) singles.push_back(static_cast<S>(x));
  } else if (singles.empty()) {
    singles = Extremes<S>();
    for (std::int64_t x = INT32_MIN; x <= INT32_MAX; x += 262139 * one_of) singles.push_back(static_cast<S>(x));
    for (int i = 0; i < 20000 / one_of; i++) singles.push_back(Random<S>());
  }
  return singles;
}

template <typename S>
struct Pairs {
  std::vector<S> a, b;
};

// The extremes with each other; random ones; and in 16 bits each one with two others.
template <typename S>
const Pairs<S>& AllPairs() {
  static Pairs<S> pairs;
  if (!pairs.a.empty()) return pairs;
  const auto add = [](S a, S b) {
    pairs.a.push_back(a);
    pairs.b.push_back(b);
  };
  for (S a : Extremes<S>()) {
    for (S b : Extremes<S>()) add(a, b);
  }
  for (int i = 0; i < 20000 / one_of; i++) {
    const S a = Random<S>();
    add(a, Random<S>());
  }
  for (S a : Singles<S>()) {
    for (int i = 0; i < 2 && sizeof(S) == 2; i++) add(a, Random<S>());
  }
  return pairs;
}

// The inputs that `T` is tried with: all, or for a vector those on which gemmlowp's vectors do what its scalars do.
template <typename T, typename Condition>
std::vector<Scalar<T>> Singles(Condition as_scalars) {
  std::vector<Scalar<T>> kept;
  for (Scalar<T> x : Singles<Scalar<T>>()) {
    if (!IsVector<T>() || every_input || as_scalars(x)) kept.push_back(x);
  }
  return kept;
}

template <typename T, typename Condition>
Pairs<Scalar<T>> PairsIf(Condition as_scalars) {
  const Pairs<Scalar<T>>& all = AllPairs<Scalar<T>>();
  Pairs<Scalar<T>> kept;
  for (std::size_t i = 0; i < all.a.size(); i++) {
    if (!IsVector<T>() || every_input || as_scalars(all.a[i], all.b[i])) {
      kept.a.push_back(all.a[i]);
      kept.b.push_back(all.b[i]);
    }
  }
  return kept;
}

// ---- One function, on many inputs ----

// The lanes from `inputs[from]` on; those past the end hold 1.
template <typename T>
T Load(const std::vector<Scalar<T>>& inputs, std::size_t from) {
  Scalar<T> lanes[sizeof(T) / sizeof(Scalar<T>)];
  for (int lane = 0; lane < Lanes<T>(); lane++) {
    lanes[lane] = from + lane < inputs.size() ? inputs[from + lane] : Scalar<T>{1};
  }
  T result;
  std::memcpy(&result, lanes, sizeof(T));
  return result;
}

// Adds the first `count` lanes, or all.
template <typename T>
void AddLanes(Hash* hash, T values, std::size_t count) {
  Scalar<T> lanes[sizeof(T) / sizeof(Scalar<T>)];
  std::memcpy(lanes, &values, sizeof(T));
  for (int lane = 0; lane < Lanes<T>() && static_cast<std::size_t>(lane) < count; lane++) hash->Add(lanes[lane]);
}

template <typename T, typename F>
void Apply(Hash* hash, const std::vector<Scalar<T>>& inputs, F f) {
  for (std::size_t i = 0; i < inputs.size(); i += Lanes<T>()) {
    AddLanes<T>(hash, f(Load<T>(inputs, i)), inputs.size() - i);
  }
}

template <typename T, typename F>
void Apply(Hash* hash, const Pairs<Scalar<T>>& inputs, F f) {
  for (std::size_t i = 0; i < inputs.a.size(); i += Lanes<T>()) {
    AddLanes<T>(hash, f(Load<T>(inputs.a, i), Load<T>(inputs.b, i)), inputs.a.size() - i);
  }
}

template <typename T, typename Inputs, typename F>
void Try(const std::string& name, const Inputs& inputs, F f) {
  Hash hash;
  Apply<T>(&hash, inputs, f);
  hash.template Print<T>(name);
}

}  // namespace

#endif
