// For programs that write #include "third_party/gemmlowp/internal/detect_platform.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../internal/detect_platform.h"
