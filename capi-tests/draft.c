#include "draft.h"

#include <float.h>
#include <math.h>

int type_count(const struct draft *draft) {
    return draft->call->number >= LATER ? 7 : 5;
}

int32_t any_i32(struct seed *seed) {
    const int32_t extremes[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX, 1 << 30};
    return one_in(seed, 2) ? extremes[below(seed, 8)] : (int32_t)next_u32(seed);
}

uint32_t any_order(struct seed *seed) {
    return one_in(seed, 2) ? QGEMM_ROW_MAJOR : QGEMM_COL_MAJOR;
}

enum placement any_placement(struct draft *draft) {
    return draft->call->is_fenced ? (enum placement)below(draft->seed, PLACEMENTS) : IN_THE_OPEN;
}

size_t any_gap(struct seed *seed) {
    return one_in(seed, 2) ? 0 : (size_t)below(seed, 20);
}

int64_t any_stride(const struct plot *plot, size_t element, struct seed *seed) {
    const int64_t any[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    if (plot->runs < 2 || plot->len == 0)
        return any[below(seed, 5)];
    return plot->stride == plot->len && one_in(seed, 2) ? 0 : (int64_t)(plot->stride / element);
}

static float random_float(struct seed *seed) {
    const float odd[] = {0,       -0.0f,    FLT_MIN / 8,     -FLT_MIN,         FLT_EPSILON,
                         FLT_MAX, -FLT_MAX, (float)INFINITY, -(float)INFINITY, (float)NAN};
    return one_in(seed, 60) ? odd[below(seed, 10)] : (float)between(seed, -1000, 1000);
}

void fill_randomly(const struct plot *plot, uint32_t type, struct seed *seed) {
    int32_t most = type == QGEMM_TYPE_S8 ? INT8_MAX : UINT8_MAX, least = type == QGEMM_TYPE_S8 ? INT8_MIN : 0;
    // Only the extremes of bytes, only the least, or any number of so many bits.
    int style = below(seed, 12), bits = type == QGEMM_TYPE_S32 ? 1 + below(seed, 32) : 32;
    for (size_t run = 0; run < plot->runs; run++)
        for (size_t i = 0; i < plot->len / size_of_type(type); i++) {
            int32_t random = (int32_t)next_u32(seed);
            int32_t integer = style == 0 ? least : style < 3 ? (random < 0 ? most : least) : random >> (32 - bits);
            struct number x = is_float_type(type) ? real_number(random_float(seed)) : integer_number(integer);
            write_number(plot->data + run * plot->stride, type, (int64_t)i, x);
        }
}

// Where nothing is to be read.
static const void *const nowhere = (const void *)1;

static int64_t line_count(const struct draft *draft, uint32_t axis) {
    return axis == QGEMM_PER_ROW ? draft->call->result.rows : draft->call->result.cols;
}

// Room for one value for each line, and perhaps for some that are not to be looked at.
static void *room_for_values(struct draft *draft, int64_t count, int64_t *len) {
    *len = count + (one_in(draft->seed, 3) ? below(draft->seed, 5) : 0);
    return add_input(draft->call, 1, (size_t)*len * 4, 0, any_placement(draft))->data;
}

qgemm_i32_values i32_values(struct draft *draft, uint32_t axis, choose_i32 choose) {
    qgemm_i32_values values = {nowhere, -3, choose(draft), axis};
    if (axis == QGEMM_UNIFORM)
        return values;
    int64_t count = line_count(draft, axis);
    int32_t *data = room_for_values(draft, count, &values.len);
    for (int64_t i = 0; i < values.len; i++)
        data[i] = i < count ? choose(draft) : INT32_MAX;
    values.data = count == 0 ? NULL : data;
    values.value = INT32_MAX;
    return values;
}

qgemm_f32_values f32_values(struct draft *draft, uint32_t axis, choose_f32 choose) {
    qgemm_f32_values values = {nowhere, -3, choose(draft), axis};
    if (axis == QGEMM_UNIFORM)
        return values;
    int64_t count = line_count(draft, axis);
    float *data = room_for_values(draft, count, &values.len);
    for (int64_t i = 0; i < values.len; i++)
        data[i] = i < count ? choose(draft) : (float)NAN;
    values.data = count == 0 ? NULL : data;
    values.value = (float)NAN;
    return values;
}
