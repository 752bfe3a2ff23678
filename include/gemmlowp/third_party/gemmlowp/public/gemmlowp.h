// For programs that write #include "third_party/gemmlowp/public/gemmlowp.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../public/gemmlowp.h"
