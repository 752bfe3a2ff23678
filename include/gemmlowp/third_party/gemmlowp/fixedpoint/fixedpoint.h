// For programs that write #include "third_party/gemmlowp/fixedpoint/fixedpoint.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../fixedpoint/fixedpoint.h"
