// SPDX-License-Identifier: MIT OR Apache-2.0
//
// For programs that write #include <gemmlowp/fixedpoint.h>.

#include "fixedpoint/fixedpoint.h"
