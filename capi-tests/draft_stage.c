// Random parameters of a stage.

#include "draft.h"

#include <float.h>
#include <math.h>

// Once in a while a parameter is not what would make sense.
static int is_odd_one(struct draft *draft) {
    return one_in(draft->seed, 40);
}

static double ratio(const struct draft *draft) {
    return draft->target / draft->reach;
}

static int32_t nearest_i32(double x) {
    return x <= INT32_MIN ? INT32_MIN : x >= INT32_MAX ? INT32_MAX : (int32_t)x;
}

static int32_t i32_up_to(struct draft *draft, double limit) {
    return is_odd_one(draft) ? any_i32(draft->seed) : nearest_i32(between(draft->seed, -limit, limit));
}

static float any_f32(struct draft *draft) {
    const float odd[] = {0, -0.0f, FLT_MIN, FLT_MIN / 8, -FLT_MIN / 1024, FLT_MAX, -FLT_MAX, FLT_EPSILON};
    return odd[below(draft->seed, 8)];
}

static float f32_up_to(struct draft *draft, double limit) {
    return is_odd_one(draft) ? any_f32(draft) : (float)between(draft->seed, -limit, limit);
}

static uint32_t axis(struct draft *draft) {
    const uint32_t axes[] = {QGEMM_UNIFORM, QGEMM_PER_ROW, QGEMM_PER_COL};
    return axes[below(draft->seed, 3)];
}

static int32_t bias(struct draft *draft) {
    return i32_up_to(draft, draft->reach);
}

// Up to what shift reach * multiplier can be the target * 2^shift and fit 32 bits.
static int most_shift(const struct draft *draft) {
    double shift = floor(30 - log2(draft->target));
    return shift < 0 ? 0 : shift > 31 ? 31 : (int)shift;
}

static int32_t shift(struct draft *draft) {
    int32_t shift = most_shift(draft) - below(draft->seed, 3);
    return shift < 0 || is_odd_one(draft) ? below(draft->seed, 32) : shift;
}

static int32_t integer_multiplier(struct draft *draft) {
    double most = 2 + ratio(draft) * ldexp(1, most_shift(draft)), least = one_in(draft->seed, 9) ? -most : 1;
    return is_odd_one(draft) ? any_i32(draft->seed) : nearest_i32(between(draft->seed, least, most));
}

// Often a power of two, so that there are ties.
static int32_t multiplier(struct draft *draft) {
    if (is_odd_one(draft))
        return any_i32(draft->seed);
    return one_in(draft->seed, 3) ? 1 << 30 : (1 << 30) + (int32_t)(next_u32(draft->seed) >> 2);
}

static int32_t exponent_for(struct draft *draft, double factor) {
    int32_t exponent = (int32_t)floor(log2(factor)) + below(draft->seed, 3);
    return exponent < -31 || exponent > 30 || is_odd_one(draft) ? below(draft->seed, 62) - 31 : exponent;
}

static int32_t exponent(struct draft *draft) {
    return exponent_for(draft, ratio(draft));
}

static int32_t offset_after(struct draft *draft) {
    return i32_up_to(draft, draft->target / 4);
}

static uint32_t rounding(struct draft *draft) {
    const uint32_t roundings[] = {QGEMM_ROUND_TWICE, QGEMM_ROUND_TWICE_UP, QGEMM_ROUND_ONCE};
    return roundings[below(draft->seed, 3)];
}

static float scale(struct draft *draft) {
    if (is_odd_one(draft))
        return any_f32(draft);
    double scale = ratio(draft) * between(draft->seed, 0.5, 2);
    if (one_in(draft->seed, 3))
        scale = ldexp(1, (int)floor(log2(scale)));
    return (float)(one_in(draft->seed, 8) ? -scale : scale);
}

static float float_bias(struct draft *draft) {
    return f32_up_to(draft, draft->reach);
}

// One of the numbers that the stage will get, if there are any.
static double sample(struct draft *draft) {
    int64_t count = draft->call->result.rows * draft->call->result.cols;
    if (count == 0)
        return 0;
    struct number x = draft->call->expected[below(draft->seed, (int)count)];
    return x.is_float ? (double)x.real : x.integer;
}

static void choose_clamp(struct draft *draft, qgemm_stage_clamp *stage) {
    double one = one_in(draft->seed, 4) ? INT32_MIN : sample(draft);
    double other = one_in(draft->seed, 4) ? INT32_MAX : sample(draft);
    int is_wrong_way_round = one_in(draft->seed, 12);
    stage->min = (int32_t)(is_wrong_way_round ? fmax(one, other) : fmin(one, other));
    stage->max = (int32_t)(is_wrong_way_round ? fmin(one, other) : fmax(one, other));
}

static void choose_clamp_f32(struct draft *draft, qgemm_stage_clamp_f32 *stage) {
    double zero = one_in(draft->seed, 2) ? 0 : -0.0;
    double one = one_in(draft->seed, 4) ? -INFINITY : one_in(draft->seed, 4) ? zero : sample(draft);
    double other = one_in(draft->seed, 4) ? INFINITY : sample(draft);
    if (isnan(one) || isnan(other))
        one = other = zero;
    int is_wrong_way_round = one_in(draft->seed, 12);
    stage->min = (float)(is_wrong_way_round ? fmax(one, other) : fmin(one, other));
    stage->max = (float)(is_wrong_way_round ? fmin(one, other) : fmax(one, other));
}

static void choose_tanh(struct draft *draft, qgemm_stage_tanh *stage) {
    stage->zero = one_in(draft->seed, 3) ? 0 : i32_up_to(draft, draft->reach / 2);
    double most = (2147483647.0 - fabs((double)stage->zero)) / 8, amplitude = draft->reach * between(draft->seed, 0, 2);
    stage->amplitude = (int32_t)fmax(0, fmin(amplitude, most));
}

static void choose_logistic(struct draft *draft, qgemm_stage_logistic *stage) {
    stage->zero = one_in(draft->seed, 3) ? 0 : i32_up_to(draft, draft->reach / 2);
    stage->amplitude = (int32_t)fmin(1 + draft->reach * between(draft->seed, 0, 2), (1 << 26) - 1);
    stage->result_zero = i32_up_to(draft, draft->target);
    double wanted = between(draft->seed, 0, 2 * draft->target);
    stage->result_amplitude = nearest_i32(fmin(wanted, 2147483647.0 - stage->result_zero));
}

// The elements of a residual.
struct elements {
    const void *data;
    int64_t stride;
    uint32_t type, order;
};

static const uint32_t types[] = {QGEMM_TYPE_U8,  QGEMM_TYPE_S8,   QGEMM_TYPE_S16, QGEMM_TYPE_S32,
                                 QGEMM_TYPE_F32, QGEMM_TYPE_BF16, QGEMM_TYPE_F16};

// Of one of the first so many types: the result's own, or others.
static struct elements some_elements(struct draft *draft, int type_count) {
    struct seed *seed = draft->seed;
    const qgemm_result *result = &draft->call->result;
    struct elements elements = {result->data, result->stride, types[below(seed, type_count)], result->order};
    size_t element = size_of_type(elements.type);
    if (element == size_of_type(result->type) && one_in(seed, 2))
        return elements;
    elements.order = any_order(seed);
    int row_major = elements.order == QGEMM_ROW_MAJOR;
    size_t runs = (size_t)(row_major ? result->rows : result->cols);
    size_t len = (size_t)(row_major ? result->cols : result->rows) * element;
    struct plot *plot = add_input(draft->call, runs, len, any_gap(seed) * element, any_placement(draft));
    fill_randomly(plot, elements.type, seed);
    elements.stride = any_stride(plot, element, seed);
    elements.data = runs * len == 0 && one_in(seed, 2) ? NULL : plot->data;
    return elements;
}

static double reach_of_type(uint32_t type) {
    return size_of_type(type) == 1 ? 255 : size_of_type(type) == 2 ? 32768 : 100000;
}

static void choose_residual(struct draft *draft, qgemm_stage_residual *stage) {
    struct elements elements = some_elements(draft, 4);
    stage->data = elements.data;
    stage->stride = elements.stride;
    stage->type = elements.type;
    stage->order = elements.order;
    stage->zero_point = i32_up_to(draft, reach_of_type(elements.type));
    stage->multiplier = multiplier(draft);
    stage->exponent = exponent_for(draft, draft->reach / reach_of_type(elements.type));
    stage->rounding = rounding(draft);
}

static void choose_residual_f32(struct draft *draft, qgemm_stage_residual_f32 *stage) {
    struct elements elements = some_elements(draft, type_count(draft));
    stage->data = elements.data;
    stage->stride = elements.stride;
    stage->type = elements.type;
    stage->order = elements.order;
    stage->zero_point = is_float_type(elements.type) ? 0 : i32_up_to(draft, reach_of_type(elements.type));
    stage->scale = f32_up_to(draft, draft->reach / reach_of_type(elements.type));
}

// One row, one column or one element.
static const void *some_line(struct draft *draft, uint32_t axis, uint32_t type) {
    const qgemm_result *result = &draft->call->result;
    int64_t count = axis == QGEMM_UNIFORM ? 1 : axis == QGEMM_PER_ROW ? result->rows : result->cols;
    struct plot *plot = add_input(draft->call, 1, (size_t)count * size_of_type(type), 0, any_placement(draft));
    fill_randomly(plot, type, draft->seed);
    return result->rows * result->cols == 0 && one_in(draft->seed, 2) ? NULL : plot->data;
}

static void choose_binary_f32(struct draft *draft, qgemm_stage_binary_f32 *stage) {
    const uint32_t axes[] = {QGEMM_UNIFORM, QGEMM_PER_ROW, QGEMM_PER_COL, QGEMM_PER_ELEMENT, QGEMM_PER_ELEMENT};
    stage->axis = axes[below(draft->seed, 5)];
    if (stage->axis == QGEMM_PER_ELEMENT) {
        struct elements elements = some_elements(draft, 7);
        stage->data = elements.data;
        stage->stride = elements.stride;
        stage->type = elements.type;
        stage->order = elements.order;
    } else {
        stage->type = types[below(draft->seed, 7)];
        stage->data = some_line(draft, stage->axis, stage->type);
    }
    stage->operation = QGEMM_BINARY_ADD + (uint32_t)below(draft->seed, 6);
    int is_factor = stage->operation == QGEMM_BINARY_MUL || stage->operation == QGEMM_BINARY_DIV;
    stage->zero_point = is_float_type(stage->type) ? 0 : i32_up_to(draft, reach_of_type(stage->type));
    stage->scale = f32_up_to(draft, (is_factor ? 2 : draft->reach) / reach_of_type(stage->type));
}

// So that what comes in is where the function bends.
static void choose_activation_f32(struct draft *draft, qgemm_stage_activation_f32 *stage) {
    double bend = one_in(draft->seed, 2) ? 1 : 4 / draft->reach;
    stage->function = QGEMM_FUNCTION_RELU + (uint32_t)below(draft->seed, QGEMM_FUNCTION_CLIP);
    stage->alpha = one_in(draft->seed, 4) ? 0 : f32_up_to(draft, 2 * bend);
    stage->beta = one_in(draft->seed, 4) ? 0 : f32_up_to(draft, 2);
}

static void choose_table(struct draft *draft, qgemm_stage_table *stage) {
    struct plot *plot = add_input(draft->call, 1, 256, 0, any_placement(draft));
    for (int i = 0; i < 256; i++)
        plot->data[i] = (uint8_t)next_u32(draft->seed);
    stage->entries = plot->data;
    stage->from_type = one_in(draft->seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    stage->to_type = one_in(draft->seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
}

void choose_parameters(struct draft *draft, qgemm_stage *stage) {
    qgemm_stage_parameters *u = &stage->u;
    switch (stage->kind) {
        case QGEMM_STAGE_BIAS:
            u->bias.bias = i32_values(draft, axis(draft), bias);
            break;
        case QGEMM_STAGE_QUANTIZE_DOWN:
            u->quantize_down.offset = i32_values(draft, axis(draft), bias);
            u->quantize_down.multiplier = i32_values(draft, axis(draft), integer_multiplier);
            u->quantize_down.shift = i32_values(draft, axis(draft), shift);
            break;
        case QGEMM_STAGE_SCALE:
            u->scale.multiplier = i32_values(draft, axis(draft), multiplier);
            u->scale.exponent = i32_values(draft, axis(draft), exponent);
            u->scale.offset_after = offset_after(draft);
            u->scale.rounding = rounding(draft);
            break;
        case QGEMM_STAGE_CLAMP:
            choose_clamp(draft, &u->clamp);
            break;
        case QGEMM_STAGE_TANH:
            choose_tanh(draft, &u->tanh);
            break;
        case QGEMM_STAGE_LOGISTIC:
            choose_logistic(draft, &u->logistic);
            break;
        case QGEMM_STAGE_SCALE_F32:
            u->scale_f32.scale = f32_values(draft, axis(draft), scale);
            u->scale_f32.offset_after = offset_after(draft);
            break;
        case QGEMM_STAGE_RESIDUAL:
            choose_residual(draft, &u->residual);
            break;
        case QGEMM_STAGE_DEQUANTIZE:
            u->dequantize.scale = f32_values(draft, axis(draft), scale);
            break;
        case QGEMM_STAGE_BIAS_F32:
            u->bias_f32.bias = f32_values(draft, axis(draft), float_bias);
            break;
        case QGEMM_STAGE_CLAMP_F32:
            choose_clamp_f32(draft, &u->clamp_f32);
            break;
        case QGEMM_STAGE_RESIDUAL_F32:
            choose_residual_f32(draft, &u->residual_f32);
            break;
        case QGEMM_STAGE_QUANTIZE:
            u->quantize.scale = f32_values(draft, axis(draft), scale);
            u->quantize.zero_point = offset_after(draft);
            break;
        case QGEMM_STAGE_MULTIPLY_F32:
            u->multiply_f32.scale = f32_values(draft, axis(draft), scale);
            break;
        case QGEMM_STAGE_ACTIVATION_F32:
            choose_activation_f32(draft, &u->activation_f32);
            break;
        case QGEMM_STAGE_BINARY_F32:
            choose_binary_f32(draft, &u->binary_f32);
            break;
        case QGEMM_STAGE_QUANTIZE_ZERO_FIRST:
            u->quantize_zero_first.scale = f32_values(draft, axis(draft), scale);
            u->quantize_zero_first.zero_point = offset_after(draft);
            break;
        case QGEMM_STAGE_TABLE:
            choose_table(draft, &u->table);
            break;
    }
}
