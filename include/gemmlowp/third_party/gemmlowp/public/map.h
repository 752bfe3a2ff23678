// For programs that write #include "third_party/gemmlowp/public/map.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../public/map.h"
