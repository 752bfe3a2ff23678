// For programs that write #include "third_party/gemmlowp/public/bit_depth.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../public/bit_depth.h"
