// A random call that is being made up. Its stages are chosen one by one, by the numbers that they will get, so that
// most of these stay within reach of the next stage, and a few do not.

#ifndef DRAFT_H
#define DRAFT_H

#include "call.h"
#include "random.h"
#include "random_call.h"

struct draft {
    struct call *call;
    struct seed *seed;
    // How great the greatest number is after the stages so far, and how great the next stage shall make it.
    double reach, target;
};

typedef int32_t (*choose_i32)(struct draft *draft);
typedef float (*choose_f32)(struct draft *draft);

// A parameter, with a choice for each row or column; or one choice, if the axis says so.
qgemm_i32_values i32_values(struct draft *draft, uint32_t axis, choose_i32 choose);
qgemm_f32_values f32_values(struct draft *draft, uint32_t axis, choose_f32 choose);

// How many types of elements stages read.
int type_count(const struct draft *draft);

int32_t any_i32(struct seed *seed);
uint32_t any_order(struct seed *seed);
enum placement any_placement(struct draft *draft);
size_t any_gap(struct seed *seed);

// A stride for a matrix that lies so: sometimes the one that stands for no gaps, or any, where it counts for nothing.
int64_t any_stride(const struct plot *plot, size_t element, struct seed *seed);

void fill_randomly(const struct plot *plot, uint32_t type, struct seed *seed);

// How many bits count, what is promised of the operands, which are there already, and what is checked.
void choose_options(struct draft *draft);

// Fills in what belongs to the stage's kind.
void choose_parameters(struct draft *draft, qgemm_stage *stage);

#endif
