// A call of qgemm_gemm, and what its result is by definition.

#ifndef CALL_H
#define CALL_H

#include "pipeline.h"
#include "plot.h"

#include <stdio.h>

enum { MOST_STAGES = 7, MOST_INPUTS = 4 + 3 * MOST_STAGES };

struct call {
    // random_call() makes the same call of the same number, shape and surroundings.
    uint64_t number;
    // Whether there are inaccessible pages around whatever the call points at.
    int is_fenced;
    qgemm_operand lhs, rhs;
    qgemm_result result;
    qgemm_stage stages[MOST_STAGES];
    size_t stage_count;
    // Of the options. Where all bits count, none need be passed.
    qgemm_bit_depth bit_depth;
    uint32_t flags;
    // The elements of the result, row by row.
    struct number *expected;
    // The result's memory, what is in its runs before the call, and the memory of all that is read.
    struct plot result_plot;
    uint8_t *before;
    struct plot inputs[MOST_INPUTS];
    int input_count;
};

struct place place_in_result(const struct call *call, int64_t row, int64_t col);

// Whether elements are rounded to fewer bits.
int has_fewer_bits(const struct call *call);

// Memory for something that the call points at, which is freed with it.
struct plot *add_input(struct call *call, size_t runs, size_t len, size_t gap, enum placement placement);
void free_call(const struct call *call);

// Makes the result's memory what it is before the call.
void restore_result(const struct call *call);

// Whether the result is as defined, or as it was before, and nothing beside it has changed; if not, says what has.
int result_is_right(const struct call *call);
int result_is_untouched(const struct call *call);

// Everything but the pointers, without the end of the last line.
void print_call(FILE *to, const struct call *call);

#endif
