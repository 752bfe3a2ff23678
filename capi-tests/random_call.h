// A random call of qgemm_gemm: any operands, any stages, any result.

#ifndef RANDOM_CALL_H
#define RANDOM_CALL_H

#include "call.h"

// From this number on calls have stages and types that came later; the calls before stay what they were.
enum { LATER = 1 << 20 };

// From this number on they are usual layers: a bias, a scale and a cast to bytes.
enum { LAYERS = 1 << 21 };

struct call random_call(uint64_t number, int m, int n, int k, int is_fenced);

#endif
