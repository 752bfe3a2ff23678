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
        case QGEMM_TYPE_BF16:
        case QGEMM_TYPE_F16:
            return 2;
        default:
            return 4;
    }
}

int is_float_type(uint32_t type) {
    return type >= QGEMM_TYPE_F32;
}

int takes_floats(uint32_t kind) {
    return (QGEMM_STAGE_BIAS_F32 <= kind && kind <= QGEMM_STAGE_QUANTIZE) ||
           (QGEMM_STAGE_MULTIPLY_F32 <= kind && kind <= QGEMM_STAGE_QUANTIZE_ZERO_FIRST);
}

int gives_floats(uint32_t kind) {
    return (QGEMM_STAGE_DEQUANTIZE <= kind && kind <= QGEMM_STAGE_RESIDUAL_F32) ||
           (QGEMM_STAGE_MULTIPLY_F32 <= kind && kind <= QGEMM_STAGE_BINARY_F32);
}

// How floats of 16 bits lie there.
struct half {
    int fraction_bits, bias;
};

static struct half half_of_type(uint32_t type) {
    const struct half bf16 = {7, 127}, f16 = {10, 15};
    return type == QGEMM_TYPE_BF16 ? bf16 : f16;
}

static float value_of_half(uint16_t bits, uint32_t type) {
    struct half half = half_of_type(type);
    int exponent = (bits & 0x7fff) >> half.fraction_bits, greatest = 0x7fff >> half.fraction_bits;
    double fraction = ldexp(bits & ((1 << half.fraction_bits) - 1), -half.fraction_bits), value;
    if (exponent == greatest)
        value = fraction == 0 ? INFINITY : NAN;
    else
        value = exponent == 0 ? ldexp(fraction, 1 - half.bias) : ldexp(1 + fraction, exponent - half.bias);
    return (float)(bits >> 15 ? -value : value);
}

float rounded_to_type(float x, uint32_t type) {
    if (type == QGEMM_TYPE_F32 || isnan(x) || isinf(x) || x == 0)
        return x;
    struct half half = half_of_type(type);
    int exponent;
    frexp((double)x, &exponent);
    int least = 1 - half.bias;
    // What the last bit stands for.
    double unit = ldexp(1, (exponent - 1 < least ? least : exponent - 1) - half.fraction_bits);
    double scaled = fabs((double)x) / unit, below = floor(scaled), rest = scaled - below;
    double rounded = (below + (rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0))) * unit;
    int greatest = (0x7fff >> half.fraction_bits) - half.bias;
    if (rounded >= ldexp(1, greatest))
        rounded = INFINITY;
    return (float)copysign(rounded, (double)x);
}

static uint16_t half_of_value(float x, uint32_t type) {
    struct half half = half_of_type(type);
    uint16_t sign = signbit(x) ? 0x8000 : 0, infinity = (uint16_t)(0x7fff >> half.fraction_bits << half.fraction_bits);
    double rounded = fabs((double)rounded_to_type(x, type));
    if (rounded == 0)
        return sign;
    if (isnan(x) || isinf(rounded))
        return (uint16_t)(isnan(x) ? infinity | 1 << (half.fraction_bits - 1) : sign | infinity);
    int exponent;
    frexp(rounded, &exponent);
    int biased = exponent - 1 + half.bias;
    if (biased < 1)
        return (uint16_t)(sign | (uint16_t)ldexp(rounded, half.bias - 1 + half.fraction_bits));
    uint16_t fraction = (uint16_t)ldexp(rounded, half.fraction_bits - exponent + 1);
    return (uint16_t)(sign | (((biased - 1) << half.fraction_bits) + fraction));
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
        case QGEMM_TYPE_BF16:
        case QGEMM_TYPE_F16:
            return real_number(value_of_half(((const uint16_t *)elements)[index], type));
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
        case QGEMM_TYPE_BF16:
        case QGEMM_TYPE_F16:
            ((uint16_t *)elements)[index] = half_of_value(x.real, type);
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

// An element of an operand, which has 8 bits. (All types that numbers may have would take twice as long.)
static inline int32_t element_of(const void *elements, uint32_t type, int64_t index) {
    return type == QGEMM_TYPE_U8 ? ((const uint8_t *)elements)[index] : ((const int8_t *)elements)[index];
}

int32_t defined_sum(const qgemm_operand *lhs, const qgemm_operand *rhs, int64_t i, int64_t j) {
    // What is added is the same along a line, and so is how far its elements are apart.
    const int64_t depth = lhs->cols;
    const struct place in_lhs = {i, 0, lhs->rows, depth}, next_in_lhs = {i, 1, lhs->rows, depth};
    const struct place in_rhs = {0, j, rhs->rows, rhs->cols}, next_in_rhs = {1, j, rhs->rows, rhs->cols};
    const int64_t lhs_at = distance_to(in_lhs, lhs->order, lhs->stride);
    const int64_t rhs_at = distance_to(in_rhs, rhs->order, rhs->stride);
    const int64_t lhs_step = distance_to(next_in_lhs, lhs->order, lhs->stride) - lhs_at;
    const int64_t rhs_step = distance_to(next_in_rhs, rhs->order, rhs->stride) - rhs_at;
    const int64_t lhs_offset = i32_at(&lhs->offset, in_lhs), rhs_offset = i32_at(&rhs->offset, in_rhs);
    uint64_t sum = 0;
    for (int64_t l = 0; l < depth; l++) {
        int64_t a = lhs_offset + element_of(lhs->data, lhs->type, lhs_at + l * lhs_step);
        int64_t b = rhs_offset + element_of(rhs->data, rhs->type, rhs_at + l * rhs_step);
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

// A function that is exact.
static float activated(const qgemm_stage_activation_f32 *stage, float x) {
    if (stage->function == QGEMM_FUNCTION_RELU)
        return x < 0 ? (stage->alpha == 0 ? 0 : stage->alpha * x) : x;
    CHECK(stage->function == QGEMM_FUNCTION_CLIP);
    x = x < stage->alpha ? stage->alpha : x;
    return x > stage->beta ? stage->beta : x;
}

static float with_other(const qgemm_stage_binary_f32 *stage, float x, struct place place) {
    int64_t index = stage->axis == QGEMM_PER_ELEMENT ? distance_to(place, stage->order, stage->stride)
                    : stage->axis == QGEMM_UNIFORM   ? 0
                                                     : line_of(stage->axis, place);
    struct number r = read_number(stage->data, stage->type, index);
    float difference = r.is_float ? r.real : (float)wrapped((int64_t)r.integer - stage->zero_point);
    float y = difference * stage->scale;
    switch (stage->operation) {
        case QGEMM_BINARY_ADD:
            return x + y;
        case QGEMM_BINARY_SUB:
            return x - y;
        case QGEMM_BINARY_MUL:
            return x * y;
        case QGEMM_BINARY_DIV:
            return x / y;
        case QGEMM_BINARY_MIN:
            return y < x ? y : x;
        default:
            CHECK(stage->operation == QGEMM_BINARY_MAX);
            return y > x ? y : x;
    }
}

static int32_t looked_up(const qgemm_stage_table *stage, int32_t x) {
    uint8_t entry = ((const uint8_t *)stage->entries)[(uint8_t)cast(x, stage->from_type, 1)];
    return stage->to_type == QGEMM_TYPE_U8 ? entry : (int8_t)entry;
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
        case QGEMM_STAGE_TABLE:
            return integer_number(looked_up(&stage->u.table, x));
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
        case QGEMM_STAGE_MULTIPLY_F32:
            return real_number(x * f32_at(&stage->u.multiply_f32.scale, place));
        case QGEMM_STAGE_ACTIVATION_F32:
            return real_number(activated(&stage->u.activation_f32, x));
        case QGEMM_STAGE_BINARY_F32:
            return real_number(with_other(&stage->u.binary_f32, x, place));
        case QGEMM_STAGE_QUANTIZE_ZERO_FIRST:
            product = x * f32_at(&stage->u.quantize_zero_first.scale, place);
            return integer_number(nearest_ties_even(product + (float)stage->u.quantize_zero_first.zero_point));
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
    uint32_t function = stage->u.activation_f32.function;
    return stage->kind == QGEMM_STAGE_TANH || stage->kind == QGEMM_STAGE_LOGISTIC ||
           (stage->kind == QGEMM_STAGE_ACTIVATION_F32 && function != QGEMM_FUNCTION_RELU &&
            function != QGEMM_FUNCTION_CLIP);
}

// Nothing of infinity is nothing.
static double share_of(double x, double share) {
    return share == 0 ? 0 : x * share;
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static double real_activation(const qgemm_stage_activation_f32 *stage, double x) {
    double alpha = (double)stage->alpha, beta = (double)stage->beta;
    switch (stage->function) {
        case QGEMM_FUNCTION_TANH:
            return tanh(x);
        case QGEMM_FUNCTION_LOGISTIC:
            return logistic(x);
        case QGEMM_FUNCTION_GELU_ERF:
            return share_of(x, erfc(-x / sqrt(2)) / 2);
        case QGEMM_FUNCTION_GELU_TANH:
            return share_of(x, logistic(2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
        case QGEMM_FUNCTION_SWISH:
            return share_of(x, alpha == 0 ? 0.5 : logistic(alpha * x));
        case QGEMM_FUNCTION_HARDSWISH:
            return share_of(x, alpha == 0 ? fmin(fmax(beta, 0), 1) : fmin(fmax(alpha * x + beta, 0), 1));
        case QGEMM_FUNCTION_HARDSIGMOID:
            return alpha == 0 ? fmin(fmax(beta, 0), 1) : fmin(fmax(alpha * x + beta, 0), 1);
        case QGEMM_FUNCTION_ELU:
            return x < 0 ? alpha * expm1(x) : x;
        case QGEMM_FUNCTION_EXP:
            return exp(x);
        case QGEMM_FUNCTION_MISH:
            return share_of(x, tanh(x > 40 ? x : log1p(exp(x))));
        default:
            CHECK(stage->function == QGEMM_FUNCTION_LINEAR);
            return alpha * x + beta;
    }
}

double real_function(const qgemm_stage *stage, struct number x) {
    if (stage->kind == QGEMM_STAGE_ACTIVATION_F32)
        return isnan(x.real) ? (double)x.real : real_activation(&stage->u.activation_f32, (double)x.real);
    if (stage->kind == QGEMM_STAGE_TANH) {
        double zero = stage->u.tanh.zero, amplitude = stage->u.tanh.amplitude;
        return amplitude == 0 ? zero : zero + amplitude * tanh((x.integer - zero) / amplitude);
    }
    const qgemm_stage_logistic *stage_logistic = &stage->u.logistic;
    double t = ((double)x.integer - stage_logistic->zero) / stage_logistic->amplitude;
    return stage_logistic->result_zero + stage_logistic->result_amplitude * logistic(t);
}

// Of integers the header promises no figures. These are what the functions were built for.
static double greatest_error(const qgemm_stage *stage) {
    return stage->kind == QGEMM_STAGE_TANH ? 3 + stage->u.tanh.amplitude / 2097152.0
                                           : 0.5 + stage->u.logistic.result_amplitude / 8388608.0;
}

int is_near(const qgemm_stage *stage, struct number found, double real) {
    if (!found.is_float)
        return fabs(found.integer - real) <= greatest_error(stage);
    float nearest = (float)real, x = found.real;
    if (isnan(real) || isnan(x))
        return isnan(real) && isnan(x);
    if (x == nearest)
        return 1;
    double unit = (double)nextafterf(fabsf(nearest), INFINITY) - fabs((double)nearest);
    return fabs((double)x - real) <= 0.51 * unit;
}

int is_same(struct number x, struct number y) {
    if (x.is_float != y.is_float)
        return 0;
    if (!x.is_float)
        return x.integer == y.integer;
    return (isnan(x.real) && isnan(y.real)) || memcmp(&x.real, &y.real, sizeof x.real) == 0;
}
