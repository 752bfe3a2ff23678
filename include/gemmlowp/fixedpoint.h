// For programs that write #include <gemmlowp/fixedpoint.h>.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "fixedpoint/fixedpoint.h"
