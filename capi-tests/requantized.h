// What a product with a qgemm_bit_depth is by definition: written from qgemm.h alone, and without a thought of speed.

#ifndef REQUANTIZED_H
#define REQUANTIZED_H

#include <qgemm/qgemm.h>
#include <stdint.h>

// Whether elements of an m x n product are rounded at all.
int is_requantized(const qgemm_bit_depth *depth, int64_t m, int64_t n);

// All sum(i,j) row by row, rounded in any case, of operands that are not packed.
void requantized_sums(const qgemm_bit_depth *depth, const qgemm_operand *lhs, const qgemm_operand *rhs, int32_t *sums);

#endif
