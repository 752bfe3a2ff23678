// The definition of products with fewer than 8 bits, written down without a thought of speed: what tests compare with.

#ifndef BIT_DEPTH_REFERENCE_H
#define BIT_DEPTH_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

enum reference_rounding { REFERENCE_NEAREST, REFERENCE_XORSHIFT, REFERENCE_ADD_MOD };

// As the caller of the product names the sides, whichever of them a kernel takes first.
enum reference_side { REFERENCE_LHS, REFERENCE_RHS };

struct reference_depth {
    int lhs_bits, rhs_bits;  // 1 to 8
    enum reference_rounding rounding;
};

// A row of lhs or a column of rhs: its values, `step` apart, its number, and what is added to each of its values.
struct reference_line {
    const uint8_t *values;
    ptrdiff_t step;
    int number;
    int32_t offset;
};

// What is added before the division: 0 to 254.
int reference_rounding_offset(enum reference_rounding rounding, enum reference_side side, int line, int depth);

// `value` in so many bits: 0 stays 0, and 255 becomes the highest.
uint8_t reference_requantized(uint8_t value, int bits, int rounding_offset);

// x * numerator / denominator, both positive, near enough to rounded to nearest; modulo 2^32.
int32_t reference_times_fraction(int32_t x, int32_t numerator, int32_t denominator);

// The accumulator of a row and a column, of `depth` values each: what goes into the stages. Modulo 2^32.
int32_t reference_accumulator(const struct reference_depth *bits, const struct reference_line *row,
                              const struct reference_line *column, int depth);

#endif
