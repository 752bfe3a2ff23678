#include "bit_depth_reference.h"

// Converting back from unsigned wraps around in all compilers we use.

enum { MAX = 255, PERIOD = 255 };

static int highest(int bits) {
    return (1 << bits) - 1;
}

// The value at `place` of a sequence that visits 0 to 254 in some order and then begins again. Not for several threads.
static int xorshift(int place) {
    static uint8_t sequence[PERIOD];
    static int filled = 0;
    uint8_t state = 128;
    for (; filled < PERIOD; filled++) {
        sequence[filled] = (uint8_t)(state - 1);
        state ^= (uint8_t)(state << 7);
        state ^= (uint8_t)(state >> 5);
        state ^= (uint8_t)(state << 3);
    }
    return sequence[place % PERIOD];
}

// Each side has slopes of its own along depth, so that its errors are not those of the other.
int reference_rounding_offset(enum reference_rounding rounding, enum reference_side side, int line, int depth) {
    int i = line % PERIOD, d = depth % PERIOD;
    switch (rounding) {
        case REFERENCE_XORSHIFT:
            return xorshift(side == REFERENCE_LHS ? d + 79 * i : 247 * d + 209 * i);
        case REFERENCE_ADD_MOD:
            return (side == REFERENCE_LHS ? 1 + 97 * (d + 1) + 157 * i : 1 + 154 * (d + 1) + 101 * i) % PERIOD;
        default:
            return MAX / 2;
    }
}

uint8_t reference_requantized(uint8_t value, int bits, int rounding_offset) {
    return bits == 8 ? value : (uint8_t)((value * highest(bits) + rounding_offset) / MAX);
}

// The whole part of the fraction multiplies exactly; only the rest, of at most a half either way, is rounded.
int32_t reference_times_fraction(int32_t x, int32_t numerator, int32_t denominator) {
    if (numerator == denominator)
        return x;
    int32_t whole = (numerator + denominator / 2) / denominator;
    int64_t rest = (numerator - (int64_t)whole * denominator) * (INT64_C(1) << 31) / denominator;
    int64_t product = x * rest, half = product > 0 ? INT64_C(1) << 30 : -(INT64_C(1) << 30);
    return (int32_t)((uint32_t)x * (uint32_t)whole + (uint32_t)((product + half) / (INT64_C(1) << 31)));
}

static uint32_t value_at(const struct reference_line *line, int depth, int bits, int rounding_offset) {
    return reference_requantized(line->values[depth * line->step], bits, rounding_offset);
}

int32_t reference_accumulator(const struct reference_depth *bits, const struct reference_line *row,
                              const struct reference_line *column, int depth) {
    uint32_t products = 0, row_sum = 0, column_sum = 0;
    for (int d = 0; d < depth; d++) {
        int row_rounding = reference_rounding_offset(bits->rounding, REFERENCE_LHS, row->number, d);
        int column_rounding = reference_rounding_offset(bits->rounding, REFERENCE_RHS, column->number, d);
        uint32_t x = value_at(row, d, bits->lhs_bits, row_rounding);
        uint32_t y = value_at(column, d, bits->rhs_bits, column_rounding);
        products += x * y;
        row_sum += x;
        column_sum += y;
    }
    int32_t lhs_highest = highest(bits->lhs_bits), rhs_highest = highest(bits->rhs_bits);
    uint32_t row_offset = (uint32_t)row->offset, column_offset = (uint32_t)column->offset;
    uint32_t sum = (uint32_t)reference_times_fraction((int32_t)products, MAX * MAX, lhs_highest * rhs_highest);
    sum += (uint32_t)reference_times_fraction((int32_t)(row_sum * column_offset), MAX, lhs_highest);
    sum += (uint32_t)reference_times_fraction((int32_t)(column_sum * row_offset), MAX, rhs_highest);
    sum += row_offset * column_offset * (uint32_t)depth;
    return (int32_t)sum;
}
