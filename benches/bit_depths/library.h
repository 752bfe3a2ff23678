// The same products by libqgemm.

#ifndef LIBRARY_H
#define LIBRARY_H

#include "requantized.h"

// As multiply(), by any rule but COMPENSATED, which the library does not have.
void multiply_by_library(const struct problem *problem, struct bits bits, enum rule rule, int32_t *accumulators);

#endif
