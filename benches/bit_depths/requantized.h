// A product with fewer than 8 bits, and what its errors should be.

#ifndef REQUANTIZED_H
#define REQUANTIZED_H

#include "problem.h"

struct bits {
    int lhs, rhs;
};

enum rule {
    NEAREST,
    XORSHIFT,
    ADD_MOD,
    COMPENSATED,  // nearest; then what the means of the lines lost by it is put back
    RULES
};

extern const char *const rule_names[RULES];

// The accumulators, column after column: what goes into the stages. With 8 bits on both sides they are exact.
void multiply(const struct problem *problem, struct bits bits, enum rule rule, int32_t *accumulators);

// What one step along the depth adds to the error: always (root mean square over all results), and at random.
struct drift {
    double always, variance;
};

// By how often each value occurs, in all and in each line, as if that were all there is to know about the matrices.
struct drift predict(const struct problem *problem, struct bits bits, enum rule rule);

#endif
