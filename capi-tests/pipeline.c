#include "pipeline.h"

#include "check.h"

#include <math.h>
#include <string.h>

struct number integer_number(int32_t x) {
    struct number number = {0, x, 0};
    return number;
}

struct number real_number(float x) {
    struct number number = {1, 0, x};
    return number;
}

int64_t distance_to(struct place place, uint32_t order, int64_t stride) {
    int row_major = order == QGEMM_ROW_MAJOR;
    int64_t run = row_major ? place.row : place.col, within = row_major ? place.col : place.row;
    int64_t len = row_major ? place.cols : place.rows;
    // Where there is one run, the stride may be anything.
    return run == 0 ? within : run * (stride == 0 ? len : stride) + within;
}

size_t size_of_type(uint32_t type) {
    switch (type) {
        case QGEMM_TYPE_U8:
        case QGEMM_TYPE_S8:
            return 1;
        case QGEMM_TYPE_S16:
            return 2;
        default:
            return 4;
    }
}

struct number read_number(const void *elements, uint32_t type, int64_t index) {
    switch (type) {
        case QGEMM_TYPE_U8:
            return integer_number(((const uint8_t *)elements)[index]);
        case QGEMM_TYPE_S8:
            return integer_number(((const int8_t *)elements)[index]);
        case QGEMM_TYPE_S16:
            return integer_number(((const int16_t *)elements)[index]);
        case QGEMM_TYPE_S32:
            return integer_number(((const int32_t *)elements)[index]);
        default:
            return real_number(((const float *)elements)[index]);
    }
}

void write_number(void *elements, uint32_t type, int64_t index, struct number x) {
    switch (type) {
        case QGEMM_TYPE_U8:
            ((uint8_t *)elements)[index] = (uint8_t)x.integer;
            break;
        case QGEMM_TYPE_S8:
            ((int8_t *)elements)[index] = (int8_t)x.integer;
            break;
        case QGEMM_TYPE_S16:
            ((int16_t *)elements)[index] = (int16_t)x.integer;
            break;
        case QGEMM_TYPE_S32:
            ((int32_t *)elements)[index] = x.integer;
            break;
        default:
            ((float *)elements)[index] = x.real;
    }
}

// Unsigned arithmetic wraps around, as the definitions want; converting back to signed does so in all compilers we use.
static int32_t wrapped(int64_t x) {
    return (int32_t)(uint32_t)(uint64_t)x;
}

static int32_t saturated(int64_t x) {
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

// The greatest integer that is not above x / 2^shift.
static int64_t floor_of(int64_t x, int shift) {
    int64_t unit = (int64_t)1 << shift;
    return x / unit - (x % unit < 0);
}

static int64_t nearest_ties_up(int64_t x, int shift) {
    return shift == 0 ? x : floor_of(x + ((int64_t)1 << (shift - 1)), shift);
}

static int64_t nearest_ties_away(int64_t x, int shift) {
    return x < 0 ? -nearest_ties_up(-x, shift) : nearest_ties_up(x, shift);
}

// Ties to even, saturating; 0 for NaN.
static int32_t nearest_ties_even(float x) {
    if (isnan(x))
        return 0;
    if (x >= 2147483648.0f)
        return INT32_MAX;
    if (x < -2147483648.0f)
        return INT32_MIN;
    double below = floor((double)x), rest = (double)x - below;
    int is_odd = fmod(below, 2) != 0;
    return (int32_t)(below + (rest > 0.5 || (rest == 0.5 && is_odd)));
}

static int32_t scaled(int32_t x, int32_t multiplier, int32_t exponent, uint32_t rounding) {
    if (rounding == QGEMM_ROUND_ONCE)
        return saturated(nearest_ties_up((int64_t)x * multiplier, 31 - exponent));
    int64_t left = exponent > 0 ? saturated((int64_t)x * ((int64_t)1 << exponent)) : x;
    int32_t high = saturated(nearest_ties_up(left * multiplier, 31));
    int right = exponent < 0 ? -exponent : 0;
    return (int32_t)(rounding == QGEMM_ROUND_TWICE ? nearest_ties_away(high, right) : nearest_ties_up(high, right));
}

static int64_t line_of(uint32_t axis, struct place place) {
    return axis == QGEMM_PER_ROW ? place.row : place.col;
}

static int32_t i32_at(const qgemm_i32_values *values, struct place place) {
    return values->axis == QGEMM_UNIFORM ? values->value : values->data[line_of(values->axis, place)];
}

static float f32_at(const qgemm_f32_values *values, struct place place) {
    return values->axis == QGEMM_UNIFORM ? values->value : values->data[line_of(values->axis, place)];
}

int32_t defined_sum(const qgemm_operand *lhs, const qgemm_operand *rhs, int64_t i, int64_t j) {
    uint64_t sum = 0;
    for (int64_t l = 0; l < lhs->cols; l++) {
        struct place in_lhs = {i, l, lhs->rows, lhs->cols}, in_rhs = {l, j, rhs->rows, rhs->cols};
        int64_t a = read_number(lhs->data, lhs->type, distance_to(in_lhs, lhs->order, lhs->stride)).integer;
        int64_t b = read_number(rhs->data, rhs->type, distance_to(in_rhs, rhs->order, rhs->stride)).integer;
        a += i32_at(&lhs->offset, in_lhs);
        b += i32_at(&rhs->offset, in_rhs);
        sum += (uint64_t)a * (uint64_t)b;
    }
    return wrapped((int64_t)sum);
}

static int32_t clamped(int32_t x, int32_t min, int32_t max) {
    int32_t above = x < min ? min : x;
    return above > max ? max : above;
}

static int32_t cast(int32_t x, uint32_t type, int saturating) {
    switch (type) {
        case QGEMM_TYPE_U8:
            return saturating ? clamped(x, 0, UINT8_MAX) : (uint8_t)x;
        case QGEMM_TYPE_S8:
            return saturating ? clamped(x, INT8_MIN, INT8_MAX) : (int8_t)x;
        default:
            return saturating ? clamped(x, INT16_MIN, INT16_MAX) : (int16_t)x;
    }
}

static int32_t quantized_down(const qgemm_stage_quantize_down *stage, int32_t x, struct place place) {
    int64_t sum = wrapped((int64_t)x + i32_at(&stage->offset, place));
    int64_t product = wrapped(sum * i32_at(&stage->multiplier, place));
    return (int32_t)nearest_ties_away(product, i32_at(&stage->shift, place));
}

static int32_t with_residual(const qgemm_stage_residual *stage, int32_t x, struct place place) {
    int64_t index = distance_to(place, stage->order, stage->stride);
    int32_t difference = wrapped((int64_t)read_number(stage->data, stage->type, index).integer - stage->zero_point);
    return wrapped((int64_t)x + scaled(difference, stage->multiplier, stage->exponent, stage->rounding));
}

static float with_residual_f32(const qgemm_stage_residual_f32 *stage, float x, struct place place) {
    struct number r = read_number(stage->data, stage->type, distance_to(place, stage->order, stage->stride));
    float difference = r.is_float ? r.real : (float)wrapped((int64_t)r.integer - stage->zero_point);
    float product = difference * stage->scale;
    return x + product;
}

static struct number after_integer_stage(const qgemm_stage *stage, int32_t x, struct place place, uint32_t type) {
    float product;
    switch (stage->kind) {
        case QGEMM_STAGE_BIAS:
            return integer_number(wrapped((int64_t)x + i32_at(&stage->u.bias.bias, place)));
        case QGEMM_STAGE_QUANTIZE_DOWN:
            return integer_number(quantized_down(&stage->u.quantize_down, x, place));
        case QGEMM_STAGE_SCALE: {
            const qgemm_stage_scale *scale = &stage->u.scale;
            int64_t y = scaled(x, i32_at(&scale->multiplier, place), i32_at(&scale->exponent, place), scale->rounding);
            return integer_number(wrapped(y + scale->offset_after));
        }
        case QGEMM_STAGE_CLAMP:
            return integer_number(clamped(x, stage->u.clamp.min, stage->u.clamp.max));
        case QGEMM_STAGE_SCALE_F32:
            product = (float)x * f32_at(&stage->u.scale_f32.scale, place);
            return integer_number(wrapped((int64_t)nearest_ties_even(product) + stage->u.scale_f32.offset_after));
        case QGEMM_STAGE_RESIDUAL:
            return integer_number(with_residual(&stage->u.residual, x, place));
        case QGEMM_STAGE_DEQUANTIZE:
            return real_number((float)x * f32_at(&stage->u.dequantize.scale, place));
        case QGEMM_STAGE_CAST_SATURATING:
            return integer_number(cast(x, type, 1));
        default:
            CHECK(stage->kind == QGEMM_STAGE_CAST_TRUNCATING);
            return integer_number(cast(x, type, 0));
    }
}

static struct number after_float_stage(const qgemm_stage *stage, float x, struct place place) {
    float product;
    switch (stage->kind) {
        case QGEMM_STAGE_BIAS_F32:
            return real_number(x + f32_at(&stage->u.bias_f32.bias, place));
        case QGEMM_STAGE_CLAMP_F32:
            x = x < stage->u.clamp_f32.min ? stage->u.clamp_f32.min : x;
            return real_number(x > stage->u.clamp_f32.max ? stage->u.clamp_f32.max : x);
        case QGEMM_STAGE_RESIDUAL_F32:
            return real_number(with_residual_f32(&stage->u.residual_f32, x, place));
        default:
            CHECK(stage->kind == QGEMM_STAGE_QUANTIZE);
            product = x * f32_at(&stage->u.quantize.scale, place);
            return integer_number(wrapped((int64_t)nearest_ties_even(product) + stage->u.quantize.zero_point));
    }
}

struct number after_stage(const qgemm_stage *stage, struct number x, struct place place, uint32_t type) {
    return x.is_float ? after_float_stage(stage, x.real, place) : after_integer_stage(stage, x.integer, place, type);
}

int is_approximate(const qgemm_stage *stage) {
    return stage->kind == QGEMM_STAGE_TANH || stage->kind == QGEMM_STAGE_LOGISTIC;
}

double real_function(const qgemm_stage *stage, int32_t x) {
    if (stage->kind == QGEMM_STAGE_TANH) {
        double zero = stage->u.tanh.zero, amplitude = stage->u.tanh.amplitude;
        return amplitude == 0 ? zero : zero + amplitude * tanh((x - zero) / amplitude);
    }
    const qgemm_stage_logistic *logistic = &stage->u.logistic;
    double t = ((double)x - logistic->zero) / logistic->amplitude;
    return logistic->result_zero + logistic->result_amplitude / (1 + exp(-t));
}

// The header promises no figures. These are what the functions were built for.
double greatest_error(const qgemm_stage *stage) {
    return stage->kind == QGEMM_STAGE_TANH ? 3 + stage->u.tanh.amplitude / 2097152.0
                                           : 0.5 + stage->u.logistic.result_amplitude / 8388608.0;
}

int is_same(struct number x, struct number y) {
    if (x.is_float != y.is_float)
        return 0;
    if (!x.is_float)
        return x.integer == y.integer;
    return (isnan(x.real) && isnan(y.real)) || memcmp(&x.real, &y.real, sizeof x.real) == 0;
}
