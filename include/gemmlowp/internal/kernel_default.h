// The kernel that is best for some parameters, by name: gemmlowp's internal/kernel_default.h. See kernel.h.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifdef GEMMLOWP_INTERNAL_KERNEL_DEFAULT_H_
#error "gemmlowp's own headers are included already: include either those or libqgemm's, in any one source file"
#endif

#ifndef QGEMM_GEMMLOWP_KERNEL_DEFAULT_H
#define QGEMM_GEMMLOWP_KERNEL_DEFAULT_H

#include "../public/bit_depth.h"
#include "kernel.h"
#include "kernel_reference.h"

namespace gemmlowp {
inline namespace by_libqgemm {

template <typename BitDepthParams>
struct DefaultKernel
    : ReferenceKernel<KernelFormat<KernelSideFormat<CellFormat<4, 16, CellOrder::WidthMajor>, 1>,
                                   KernelSideFormat<CellFormat<4, 16, CellOrder::WidthMajor>, 1>>> {};

}  // namespace by_libqgemm
}  // namespace gemmlowp

#endif
