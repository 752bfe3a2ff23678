// For programs that write #include "third_party/gemmlowp/profiling/instrumentation.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../profiling/instrumentation.h"
