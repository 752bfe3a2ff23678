// gemmlowp's kernel in plain C++, by name: internal/kernel_reference.h. See kernel.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_KERNEL_REFERENCE_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_KERNEL_REFERENCE_H
#define QGEMM_GEMMLOWP_KERNEL_REFERENCE_H

#include <qgemm/qgemm.h>

#include "kernel.h"

namespace gemmlowp {
inline namespace by_libqgemm {

template <typename tFormat>
struct ReferenceKernel : KernelBase {
  typedef tFormat Format;

  // The kernel that does the work, whatever the format.
  const char* Name() const override {
    const char* name = qgemm_kernel_name();
    return name == nullptr ? "none" : name;
  }
};

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
