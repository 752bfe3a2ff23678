// For programs that write #include "third_party/gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h".
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#include "../../../eight_bit_int_gemm/eight_bit_int_gemm.h"
