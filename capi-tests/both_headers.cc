// Must not compile: the drop-in after gemmlowp's own header, which is found at GEMMLOWP_HEADER.

#include GEMMLOWP_HEADER
#include "eight_bit_int_gemm/eight_bit_int_gemm.h"
