// The threads of a context that has a workers_pool() of its own, as the C interface takes them.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_FOREIGN_POOL_H
#define QGEMM_GEMMLOWP_FOREIGN_POOL_H

#include <cstddef>
#include <utility>
#include <vector>

#include <qgemm/qgemm.h>

#include "../internal/workers_pool.h"

namespace libqgemm {

// A part of a product.
class Part : public gemmlowp::Task {
 public:
  Part(qgemm_task task, void* argument, std::size_t index) : task_(task), argument_(argument), index_(index) {}

  void Run() override { task_(argument_, index_); }

 private:
  qgemm_task task_;
  void* argument_;
  std::size_t index_;
};

// A pool that takes a vector of tasks, and deletes them: preferred, for it is what gemmlowp calls.
template <typename Pool>
auto ExecuteParts(Pool* pool, std::size_t count, qgemm_task task, void* argument, int)
    -> decltype(pool->Execute(std::declval<std::vector<gemmlowp::Task*>&>()), void()) {
  std::vector<gemmlowp::Task*> parts;
  parts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) parts.push_back(new Part(task, argument, i));
  pool->Execute(parts);
}

// A pool that takes an array of tasks, and leaves it alone.
template <typename Pool>
void ExecuteParts(Pool* pool, std::size_t count, qgemm_task task, void* argument, long) {
  std::vector<Part> parts;
  parts.reserve(count);
  for (std::size_t i = 0; i < count; ++i) parts.emplace_back(task, argument, i);
  pool->Execute(static_cast<int>(count), parts.data());
}

// A qgemm_parallel_for, whose `user` is a Context. Ends the program if the pool throws, for there is C in between.
template <typename Context>
void RunOnPoolOf(void* user, std::size_t count, qgemm_task task, void* argument) noexcept {
  // gemmlowp gives a pool two tasks at least.
  if (count == 1) return task(argument, 0);
  ExecuteParts(static_cast<Context*>(user)->workers_pool(), count, task, argument, 0);
}

}  // namespace libqgemm

#endif
