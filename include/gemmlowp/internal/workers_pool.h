// Tasks, and threads that run them: what gemmlowp has in its internal/multi_thread_gemm.h. Programs use it as a small
// thread pool; products have the library's own.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef QGEMM_GEMMLOWP_WORKERS_POOL_H
#define QGEMM_GEMMLOWP_WORKERS_POOL_H

#include <cassert>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "allocator.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// Lets a thread wait until something has happened so many times.
class BlockingCounter {
 public:
  BlockingCounter() : count_(0) {}

  // How many times; only once the last count has come down to 0.
  void Reset(std::size_t initial_count) {
    std::lock_guard<std::mutex> lock(mutex_);
    assert(count_ == 0);
    count_ = initial_count;
  }

  // It happened. Returns whether that was the last time.
  bool DecrementCount() {
    std::lock_guard<std::mutex> lock(mutex_);
    assert(count_ > 0);
    if (--count_ > 0) return false;
    // Under the lock, for once it is released the counter may be gone.
    is_zero_.notify_all();
    return true;
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    is_zero_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable is_zero_;
  std::size_t count_;
};

struct Task {
  Task() : local_allocator(nullptr) {}
  virtual ~Task() {}
  virtual void Run() = 0;

  // Scratch memory for this task alone, set by the pool that runs it.
  Allocator* local_allocator;
};

// Runs each of some tasks on a thread of its own, so that tasks may wait for each other; the calling thread has one of
// them. The threads are started when there are first tasks for them, and sleep in between. One Execute() at a time.
class WorkersPool {
 public:
  WorkersPool() : is_closing_(false) {}
  WorkersPool(const WorkersPool&) = delete;
  WorkersPool& operator=(const WorkersPool&) = delete;

  ~WorkersPool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_closing_ = true;
    }
    has_work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns once all have run. The tasks are still the caller's.
  template <typename TaskType>
  void Execute(int tasks_count, TaskType* tasks) {
    std::vector<Task*> pointers;
    for (int i = 0; i < tasks_count; ++i) pointers.push_back(&tasks[i]);
    Run(pointers);
  }

  // Returns once all have run, and deletes them.
  void Execute(const std::vector<Task*>& tasks) {
    Run(tasks);
    for (Task* task : tasks) delete task;
  }

  void LegacyExecuteAndDestroyTasks(const std::vector<Task*>& tasks) { Execute(tasks); }

  // Starts threads ahead of time, so that there are `workers_count` at least.
  void CreateWorkers(std::size_t workers_count) {
    while (threads_.size() < workers_count) threads_.emplace_back(&WorkersPool::Work, this);
  }

 private:
  void Run(const std::vector<Task*>& tasks) {
    if (tasks.empty()) return;
    CreateWorkers(tasks.size() - 1);
    unfinished_.Reset(tasks.size() - 1);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      waiting_.assign(tasks.begin(), tasks.end() - 1);
    }
    has_work_.notify_all();
    tasks.back()->local_allocator = &callers_allocator_;
    tasks.back()->Run();
    unfinished_.Wait();
  }

  // What each of the threads does.
  void Work() {
    Allocator allocator;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      has_work_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Task* task = waiting_.back();
      waiting_.pop_back();
      lock.unlock();
      task->local_allocator = &allocator;
      task->Run();
      unfinished_.DecrementCount();
      lock.lock();
    }
  }

  std::vector<std::thread> threads_;
  Allocator callers_allocator_;
  BlockingCounter unfinished_;

  std::mutex mutex_;
  std::condition_variable has_work_;
  // Under mutex_: the tasks that no thread has taken yet.
  std::vector<Task*> waiting_;
  bool is_closing_;
};

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
