// For programs that write #include "third_party/gemmlowp/public/output_stages.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../public/output_stages.h"
