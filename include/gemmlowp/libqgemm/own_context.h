// The qgemm_context behind a gemmlowp context.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_OWN_CONTEXT_H
#define QGEMM_GEMMLOWP_OWN_CONTEXT_H

#include <qgemm/qgemm.h>

#include "abort.h"

namespace libqgemm {

// Made when it is first asked for, and again when another number of threads is asked for, or another pool. Nothing here
// is locked: as with gemmlowp's contexts, one product at a time.
class OwnContext {
 public:
  OwnContext() : context_(nullptr), options_() {}
  ~OwnContext() {
    if (context_ != nullptr) qgemm_context_free(context_);
  }
  // Whoever copies a gemmlowp context gets another with the same settings.
  OwnContext(const OwnContext&) : OwnContext() {}
  OwnContext& operator=(const OwnContext&) { return *this; }

  // `threads` at most, those of the library itself; 0: one on each processor.
  const qgemm_context* WithThreads(int threads) { return With(threads, nullptr, nullptr); }

  // As many of somebody else's: see qgemm_context_options.
  const qgemm_context* With(int threads, qgemm_parallel_for parallel_for, void* user) {
    if (context_ == nullptr || threads != options_.threads || parallel_for != options_.parallel_for ||
        user != options_.user) {
      qgemm_context_free(context_);
      context_ = nullptr;
      options_.struct_size = sizeof options_;
      options_.threads = threads;
      options_.parallel_for = parallel_for;
      options_.user = user;
      AbortOnError(qgemm_context_create(&options_, &context_));
    }
    return context_;
  }

 private:
  qgemm_context* context_;
  qgemm_context_options options_;
};

}  // namespace libqgemm

#endif
