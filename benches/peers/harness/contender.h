// One variant of one library on one shape: made, checked, sampled, written as one line of CSV.
#pragma once
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include "../qbench.h"
#include "check.h"
#include "clock.h"
#include "operands.h"
#include "options.h"

inline volatile long evicted;  // keeps the reads below from being optimised away

// Reads so much memory that nothing else is left in the caches.
inline void evict_caches() {
  static const std::vector<char> memory(std::max(96L << 20, 3 * sysconf(_SC_LEVEL3_CACHE_SIZE)), 1);
  long sum = 0;
  for (size_t i = 0; i < memory.size(); i += 64) sum += memory[i];
  evicted = sum;
}

inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  const double x = q * (values.size() - 1);
  const size_t i = size_t(x);
  return i + 1 < values.size() ? values[i] + (x - i) * (values[i + 1] - values[i]) : values[i];
}

class Contender {
 public:
  // Null where the library does not support the case.
  static std::unique_ptr<Contender> made(const qb_lib *library, int variant, Operands &operands, int threads) {
    const qb_case q = operands.problem(library->variants[variant], threads);
    const double start = wall_seconds();
    void *handle = library->create(variant, &q);
    if (!handle) return nullptr;
    const double create_seconds = wall_seconds() - start;
    return std::unique_ptr<Contender>(new Contender(library, variant, q, handle, create_seconds));
  }
  Contender(const Contender &) = delete;
  Contender &operator=(const Contender &) = delete;
  ~Contender() { library_->destroy(handle_); }

  // The best of three calls, from which the calls of one sample follow.
  double calibrate(const Shape &s, const Options &o) {
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
      const double start = wall_seconds();
      run();
      best = std::min(best, wall_seconds() - start);
    }
    calls_ = s.cold ? 1 : std::max(1, int(o.sample_ms * 1e-3 / std::max(best, 1e-8)));
    return best;
  }

  // One more sample, unless this contender has used up its time.
  void sample(const Shape &s, const Options &o) {
    if (spent_ > o.max_seconds && wall_.size() >= 5) return;
    if (o.threads > 1) usleep(useconds_t(o.settle_ms * 1000));
    if (s.cold) {
      for (int i = 0; i < 2; i++) {
        evict_caches();
        time_calls();
      }
    } else {
      run();  // bring the data back into the caches after the previous contender
      time_calls();
    }
  }

  static void print_header(FILE *f) {
    fprintf(f,
            "class,shape,threads,library,version,kernel,variant,a,b,s8_bits,out,prepacked,zp_a,zp_b,check,"
            "gops,gops_p10,gops_p90,gops_wall_med,gops_wall_best,us_per_call,us_p10,create_ms,samples\n");
  }

  void print(FILE *f, const Shape &s, const Options &o) const {
    const int threads = o.threads;
    const qb_variant &v = library_->variants[variant_];
    const std::vector<double> &times = threads == 1 ? cpu_ : wall_;
    auto gops = [&](double t) { return s.ops() / t * 1e-9; };
    fprintf(f, "%s,%s,%d,%s,%s,%s,%s,", s.kind.c_str(), s.name.c_str(), threads, library_->library, library_->version,
            library_->kernel, v.name);
    fprintf(f, "%c,%c,%d,%c,%d,%d,%d,%s,", v.a, v.b, o.s8_bits, v.out, v.prepacked, v.zp_a, v.zp_b, verdict_.c_str());
    fprintf(f, "%.2f,%.2f,%.2f,%.2f,%.2f,%.4f,%.4f,%.3f,%zu\n", gops(quantile(times, .5)), gops(quantile(times, .9)),
            gops(quantile(times, .1)), gops(quantile(wall_, .5)), gops(quantile(wall_, 0)), quantile(times, .5) * 1e6,
            quantile(times, .1) * 1e6, create_seconds_ * 1e3, times.size());
  }

 private:
  Contender(const qb_lib *library, int variant, const qb_case &q, void *handle, double create_seconds)
      : library_(library), variant_(variant), handle_(handle), create_seconds_(create_seconds) {
    run();
    verdict_ = verdict(library->variants[variant], q);
  }

  void run() { library_->run(handle_); }

  void time_calls() {
    const double wall = wall_seconds(), cpu = thread_seconds();
    for (int i = 0; i < calls_; i++) run();
    const double cpu_spent = thread_seconds() - cpu, wall_spent = wall_seconds() - wall;
    wall_.push_back(wall_spent / calls_);
    cpu_.push_back(cpu_spent / calls_);
    spent_ += wall_spent;
  }

  const qb_lib *library_;
  int variant_;
  void *handle_;
  double create_seconds_;
  std::string verdict_;
  int calls_ = 1;
  double spent_ = 0;                // seconds
  std::vector<double> wall_, cpu_;  // seconds per call
};
