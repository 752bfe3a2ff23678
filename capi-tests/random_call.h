// A random call of qgemm_gemm: any operands, any stages, any result.

#ifndef RANDOM_CALL_H
#define RANDOM_CALL_H

#include "call.h"

struct call random_call(uint64_t number, int m, int n, int k, int is_fenced);

#endif
