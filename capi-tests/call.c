#include "call.h"

#include "check.h"
#include "requantized.h"

#include <string.h>

struct place place_in_result(const struct call *call, int64_t row, int64_t col) {
    struct place place = {row, col, call->result.rows, call->result.cols};
    return place;
}

int has_fewer_bits(const struct call *call) {
    return is_requantized(&call->bit_depth, call->result.rows, call->result.cols);
}

struct plot *add_input(struct call *call, size_t runs, size_t len, size_t gap, enum placement placement) {
    CHECK(call->input_count < MOST_INPUTS);
    struct plot *plot = &call->inputs[call->input_count++];
    *plot = make_plot(runs, len, gap, placement);
    fill_with_canaries(plot);
    return plot;
}

void free_call(const struct call *call) {
    for (int i = 0; i < call->input_count; i++)
        free_plot(&call->inputs[i]);
    free_plot(&call->result_plot);
    free(call->before);
    free(call->expected);
}

void restore_result(const struct call *call) {
    const struct plot *plot = &call->result_plot;
    fill_with_canaries(plot);
    for (size_t run = 0; run < plot->runs; run++)
        memcpy(plot->data + run * plot->stride, call->before + run * plot->len, plot->len);
}

static int nothing_beside_it_changed(const struct call *call) {
    int live = canaries_live(&call->result_plot);
    if (!live)
        fprintf(stderr, "a byte outside of the result was written\n");
    return live;
}

static void print_number(FILE *to, struct number x) {
    if (x.is_float)
        fprintf(to, "%a", (double)x.real);
    else
        fprintf(to, "%d", (int)x.integer);
}

int result_is_right(const struct call *call) {
    const qgemm_result *result = &call->result;
    for (int64_t i = 0; i < result->rows; i++)
        for (int64_t j = 0; j < result->cols; j++) {
            int64_t index = distance_to(place_in_result(call, i, j), result->order, result->stride);
            struct number found = read_number(result->data, result->type, index);
            struct number expected = call->expected[i * result->cols + j];
            if (!is_same(found, expected)) {
                fprintf(stderr, "result(%d, %d) is ", (int)i, (int)j);
                print_number(stderr, found);
                fprintf(stderr, ", not ");
                print_number(stderr, expected);
                fprintf(stderr, "\n");
                return 0;
            }
        }
    return nothing_beside_it_changed(call);
}

int result_is_untouched(const struct call *call) {
    const struct plot *plot = &call->result_plot;
    for (size_t run = 0; run < plot->runs; run++)
        if (memcmp(plot->data + run * plot->stride, call->before + run * plot->len, plot->len) != 0) {
            fprintf(stderr, "the result was written\n");
            return 0;
        }
    return nothing_beside_it_changed(call);
}

static void print_matrix(FILE *to, const char *name, uint32_t type, uint32_t order, int64_t stride) {
    const char *types[] = {"none", "u8", "s8", "s16", "s32", "f32", "bf16", "f16"};
    fprintf(to, "%s %s %s-major", name, types[type], order == QGEMM_ROW_MAJOR ? "row" : "column");
    fprintf(to, " stride %lld", (long long)stride);
}

static const char *name_of_axis(uint32_t axis) {
    return axis == QGEMM_PER_ROW ? "per row" : "per column";
}

static void print_i32(FILE *to, const char *name, const qgemm_i32_values *values) {
    if (values->axis == QGEMM_UNIFORM)
        fprintf(to, ", %s %d", name, (int)values->value);
    else
        fprintf(to, ", %s %s", name, name_of_axis(values->axis));
}

static void print_f32(FILE *to, const char *name, const qgemm_f32_values *values) {
    if (values->axis == QGEMM_UNIFORM)
        fprintf(to, ", %s %a", name, (double)values->value);
    else
        fprintf(to, ", %s %s", name, name_of_axis(values->axis));
}

static void print_range(FILE *to, const qgemm_operand *operand) {
    if (operand->least != 0 || operand->greatest != 0)
        fprintf(to, ", %d to %d", (int)operand->least, (int)operand->greatest);
}

static void print_bit_depth(FILE *to, const qgemm_bit_depth *depth) {
    fprintf(to, "\n    bits %u %u", (unsigned)depth->lhs_bits, (unsigned)depth->rhs_bits);
    fprintf(to, ", rounding %u below %lld", (unsigned)depth->rounding_below, (long long)depth->threshold);
    fprintf(to, ", %u from there, flags %u", (unsigned)depth->rounding_from, (unsigned)depth->flags);
}

static void print_scale(FILE *to, const qgemm_stage_scale *scale) {
    print_i32(to, "multiplier", &scale->multiplier);
    print_i32(to, "exponent", &scale->exponent);
    fprintf(to, ", offset after %d, rounding %u", (int)scale->offset_after, (unsigned)scale->rounding);
}

static void print_logistic(FILE *to, const qgemm_stage_logistic *logistic) {
    fprintf(to, ", zero %d, amplitude %d", (int)logistic->zero, (int)logistic->amplitude);
    fprintf(to, ", result zero %d, amplitude %d", (int)logistic->result_zero, (int)logistic->result_amplitude);
}

static void print_residual(FILE *to, const qgemm_stage_residual *r, const void *result) {
    print_matrix(to, r->data == result ? " in place," : "", r->type, r->order, r->stride);
    fprintf(to, ", zero point %d, multiplier %d", (int)r->zero_point, (int)r->multiplier);
    fprintf(to, ", exponent %d, rounding %u", (int)r->exponent, (unsigned)r->rounding);
}

static void print_residual_f32(FILE *to, const qgemm_stage_residual_f32 *r, const void *result) {
    print_matrix(to, r->data == result ? " in place," : "", r->type, r->order, r->stride);
    fprintf(to, ", zero point %d, scale %a", (int)r->zero_point, (double)r->scale);
}

static void print_binary_f32(FILE *to, const qgemm_stage_binary_f32 *b, const void *result) {
    if (b->axis == QGEMM_PER_ELEMENT)
        print_matrix(to, b->data == result ? " in place," : "", b->type, b->order, b->stride);
    else
        fprintf(to, " type %u axis %u", (unsigned)b->type, (unsigned)b->axis);
    fprintf(to, ", operation %u, zero point %d", (unsigned)b->operation, (int)b->zero_point);
    fprintf(to, ", scale %a", (double)b->scale);
}

static void print_parameters(FILE *to, const qgemm_stage *stage, const void *result) {
    const qgemm_stage_parameters *u = &stage->u;
    switch (stage->kind) {
        case QGEMM_STAGE_BIAS:
            print_i32(to, "bias", &u->bias.bias);
            break;
        case QGEMM_STAGE_QUANTIZE_DOWN:
            print_i32(to, "offset", &u->quantize_down.offset);
            print_i32(to, "multiplier", &u->quantize_down.multiplier);
            print_i32(to, "shift", &u->quantize_down.shift);
            break;
        case QGEMM_STAGE_SCALE:
            print_scale(to, &u->scale);
            break;
        case QGEMM_STAGE_CLAMP:
            fprintf(to, " %d to %d", (int)u->clamp.min, (int)u->clamp.max);
            break;
        case QGEMM_STAGE_TANH:
            fprintf(to, ", zero %d, amplitude %d", (int)u->tanh.zero, (int)u->tanh.amplitude);
            break;
        case QGEMM_STAGE_LOGISTIC:
            print_logistic(to, &u->logistic);
            break;
        case QGEMM_STAGE_SCALE_F32:
            print_f32(to, "scale", &u->scale_f32.scale);
            fprintf(to, ", offset after %d", (int)u->scale_f32.offset_after);
            break;
        case QGEMM_STAGE_RESIDUAL:
            print_residual(to, &u->residual, result);
            break;
        case QGEMM_STAGE_DEQUANTIZE:
            print_f32(to, "scale", &u->dequantize.scale);
            break;
        case QGEMM_STAGE_BIAS_F32:
            print_f32(to, "bias", &u->bias_f32.bias);
            break;
        case QGEMM_STAGE_CLAMP_F32:
            fprintf(to, " %a to %a", (double)u->clamp_f32.min, (double)u->clamp_f32.max);
            break;
        case QGEMM_STAGE_RESIDUAL_F32:
            print_residual_f32(to, &u->residual_f32, result);
            break;
        case QGEMM_STAGE_QUANTIZE:
            print_f32(to, "scale", &u->quantize.scale);
            fprintf(to, ", zero point %d", (int)u->quantize.zero_point);
            break;
        case QGEMM_STAGE_MULTIPLY_F32:
            print_f32(to, "scale", &u->multiply_f32.scale);
            break;
        case QGEMM_STAGE_ACTIVATION_F32:
            fprintf(to, " function %u, alpha %a", (unsigned)u->activation_f32.function, (double)u->activation_f32.alpha);
            fprintf(to, ", beta %a", (double)u->activation_f32.beta);
            break;
        case QGEMM_STAGE_BINARY_F32:
            print_binary_f32(to, &u->binary_f32, result);
            break;
        case QGEMM_STAGE_QUANTIZE_ZERO_FIRST:
            print_f32(to, "scale", &u->quantize_zero_first.scale);
            fprintf(to, ", zero point %d", (int)u->quantize_zero_first.zero_point);
            break;
        case QGEMM_STAGE_TABLE:
            fprintf(to, " from type %u to %u", (unsigned)u->table.from_type, (unsigned)u->table.to_type);
            break;
    }
}

void print_call(FILE *to, const struct call *call) {
    const char *stages[] = {"none",         "bias",     "quantize_down",   "scale",          "clamp",    "tanh",
                            "logistic",     "scale_f32", "residual",       "dequantize",     "bias_f32", "clamp_f32",
                            "residual_f32", "quantize", "cast_saturating", "cast_truncating", "multiply_f32",
                            "activation_f32", "binary_f32", "quantize_zero_first", "table"};
    const char *kernel = qgemm_kernel_name();
    const qgemm_operand *lhs = &call->lhs, *rhs = &call->rhs;
    const qgemm_result *result = &call->result;
    fprintf(to, "call %llu%s, kernel %s", (unsigned long long)call->number, call->is_fenced ? ", fenced" : "",
            kernel ? kernel : "none");
    fprintf(to, ": m %d n %d k %d", (int)result->rows, (int)result->cols, (int)lhs->cols);
    print_matrix(to, "\n    lhs", lhs->type, lhs->order, lhs->stride);
    print_i32(to, "offset", &lhs->offset);
    print_range(to, lhs);
    print_matrix(to, "\n    rhs", rhs->type, rhs->order, rhs->stride);
    print_i32(to, "offset", &rhs->offset);
    print_range(to, rhs);
    print_matrix(to, "\n    result", result->type, result->order, result->stride);
    if (has_fewer_bits(call))
        print_bit_depth(to, &call->bit_depth);
    fprintf(to, "\n    flags %u", (unsigned)call->flags);
    for (size_t i = 0; i < call->stage_count; i++) {
        fprintf(to, "\n    %s", stages[call->stages[i].kind]);
        print_parameters(to, &call->stages[i], result->data);
    }
}
