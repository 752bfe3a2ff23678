// Scratch memory in blocks: gemmlowp's internal/allocator.h. libqgemm has memory of its own and uses none of this; the
// tasks of programs may.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_ALLOCATOR_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_ALLOCATOR_H
#define QGEMM_GEMMLOWP_ALLOCATOR_H

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common.h"

namespace gemmlowp {
inline namespace by_libqgemm {

// First all blocks are reserved, then committed together; until they are decommitted they may be used. The memory is
// kept for the next time.
class Allocator {
 public:
  static constexpr std::size_t kAlignment = kDefaultCacheLineSize;

  // A block that is reserved.
  class Handle {
    friend class Allocator;
    std::size_t offset_;
  };

  Allocator() : reserved_(0), committed_(false) {}

  // Room for `n` elements.
  template <typename T>
  Handle Reserve(std::size_t n) {
    assert(!committed_);
    Handle handle;
    handle.offset_ = reserved_;
    reserved_ += RoundUp<kAlignment>(n * sizeof(T));
    return handle;
  }

  void Commit() {
    assert(!committed_);
    if (memory_.size() < reserved_ + kAlignment) memory_.resize(reserved_ + kAlignment);
    committed_ = true;
  }

  void Decommit() {
    assert(committed_);
    reserved_ = 0;
    committed_ = false;
  }

  template <typename T>
  T* GetPointer(const Handle& handle) const {
    assert(committed_);
    const std::uintptr_t start = RoundUp<kAlignment>(reinterpret_cast<std::uintptr_t>(memory_.data()));
    return reinterpret_cast<T*>(start + handle.offset_);
  }

 private:
  std::vector<unsigned char> memory_;
  std::size_t reserved_;
  bool committed_;
};

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
