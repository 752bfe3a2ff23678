#include "draft.h"

static uint32_t random_bits(struct seed *seed) {
    return (uint32_t)below(seed, 9);
}

static uint32_t random_rounding(struct seed *seed) {
    return (uint32_t)below(seed, QGEMM_REQUANTIZE_COMPENSATED + 1);
}

static void choose_bit_depth(struct draft *draft) {
    struct seed *seed = draft->seed;
    qgemm_bit_depth *depth = &draft->call->bit_depth;
    const int64_t thresholds[] = {0, 1, 1 + below(seed, 100), INT64_MAX};
    depth->lhs_bits = random_bits(seed);
    depth->rhs_bits = random_bits(seed);
    depth->rounding_below = random_rounding(seed);
    depth->rounding_from = random_rounding(seed);
    depth->threshold = thresholds[below(seed, 4)];
    // Most products are small.
    depth->flags = one_in(seed, 5) ? 0 : QGEMM_REQUANTIZE_ALWAYS;
}

// A range that all elements are in, if there are any: theirs, or a wider one.
static void promise_range(qgemm_operand *operand, struct seed *seed) {
    int32_t first = operand->type == QGEMM_TYPE_S8 ? INT8_MIN : 0, last = first + 255;
    int32_t least = last, greatest = first;
    for (int64_t row = 0; row < operand->rows; row++)
        for (int64_t col = 0; col < operand->cols; col++) {
            struct place place = {row, col, operand->rows, operand->cols};
            int64_t index = distance_to(place, operand->order, operand->stride);
            int32_t element = read_number(operand->data, operand->type, index).integer;
            least = element < least ? element : least;
            greatest = element > greatest ? element : greatest;
        }
    if (least > greatest)
        return;
    operand->least = one_in(seed, 2) ? least : first + below(seed, least - first + 1);
    operand->greatest = one_in(seed, 2) ? greatest : greatest + below(seed, last - greatest + 1);
}

void choose_options(struct draft *draft) {
    struct call *call = draft->call;
    const qgemm_bit_depth all_bits = QGEMM_BIT_DEPTH_INIT;
    call->bit_depth = all_bits;
    if (one_in(draft->seed, 3))
        choose_bit_depth(draft);
    if (one_in(draft->seed, 3))
        promise_range(&call->lhs, draft->seed);
    if (one_in(draft->seed, 3))
        promise_range(&call->rhs, draft->seed);
    call->flags = one_in(draft->seed, 2) ? QGEMM_CHECK_RANGE : 0;
}
