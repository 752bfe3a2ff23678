#include "random_call.h"

#include "check.h"
#include "draft.h"
#include "requantized.h"

#include <math.h>
#include <string.h>

static int32_t no_offset(struct draft *draft) {
    (void)draft;
    return 0;
}

static int32_t usual_offset(struct draft *draft) {
    return 128 - below(draft->seed, 385);
}

static int32_t any_offset(struct draft *draft) {
    return one_in(draft->seed, 3) ? any_i32(draft->seed) : usual_offset(draft);
}

static qgemm_operand random_operand(struct draft *draft, int rows, int cols, uint32_t axis) {
    struct seed *seed = draft->seed;
    qgemm_operand operand = QGEMM_OPERAND_INIT;
    operand.rows = rows;
    operand.cols = cols;
    operand.type = one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    operand.order = any_order(seed);
    int row_major = operand.order == QGEMM_ROW_MAJOR;
    size_t runs = (size_t)(row_major ? rows : cols), len = (size_t)(row_major ? cols : rows);
    struct plot *plot;
    if (runs > 1 && len > 1 && one_in(seed, 8)) {
        // Each run begins before the one before it ends.
        size_t stride = 1 + (size_t)below(seed, (int)len - 1);
        plot = add_input(draft->call, 1, (runs - 1) * stride + len, 0, any_placement(draft));
        operand.stride = (int64_t)stride;
    } else {
        plot = add_input(draft->call, runs, len, any_gap(seed), any_placement(draft));
        operand.stride = any_stride(plot, 1, seed);
    }
    fill_randomly(plot, operand.type, seed);
    operand.data = runs * len == 0 && one_in(seed, 2) ? NULL : plot->data;
    const choose_i32 offsets[] = {no_offset, usual_offset, any_offset};
    // One after the other: arguments are evaluated in any order, and not in the same on every machine.
    choose_i32 choose = offsets[below(seed, 3)];
    operand.offset = i32_values(draft, one_in(seed, 2) ? axis : QGEMM_UNIFORM, choose);
    return operand;
}

static void remember_what_is_before(struct call *call) {
    const struct plot *plot = &call->result_plot;
    call->before = malloc(plot->runs * plot->len + 1);
    CHECK(call->before != NULL);
    for (size_t run = 0; run < plot->runs; run++)
        memcpy(call->before + run * plot->len, plot->data + run * plot->stride, plot->len);
}

static int is_layer(const struct call *call) {
    return call->number >= LAYERS;
}

// Rows and columns are set already.
static void choose_result(struct draft *draft) {
    struct seed *seed = draft->seed;
    struct call *call = draft->call;
    qgemm_result *result = &call->result;
    const uint32_t types[] = {QGEMM_TYPE_U8,  QGEMM_TYPE_S8,   QGEMM_TYPE_S16, QGEMM_TYPE_S32,
                              QGEMM_TYPE_F32, QGEMM_TYPE_BF16, QGEMM_TYPE_F16};
    result->type = types[below(seed, is_layer(call) ? 2 : type_count(draft))];
    result->order = any_order(seed);
    int row_major = result->order == QGEMM_ROW_MAJOR;
    size_t element = size_of_type(result->type);
    size_t runs = (size_t)(row_major ? result->rows : result->cols);
    size_t len = (size_t)(row_major ? result->cols : result->rows) * element;
    call->result_plot = make_plot(runs, len, any_gap(seed) * element, any_placement(draft));
    fill_randomly(&call->result_plot, result->type, seed);
    remember_what_is_before(call);
    result->stride = any_stride(&call->result_plot, element, seed);
    result->data = runs * len == 0 && one_in(seed, 2) ? NULL : call->result_plot.data;
}

// Whether the stages so far give floats.
static int is_float_by_now(const struct call *call) {
    return call->stage_count > 0 && gives_floats(call->stages[call->stage_count - 1].kind);
}

// Whether the result takes a cast.
static int is_narrow(const struct call *call) {
    return size_of_type(call->result.type) < 4 && !is_float_type(call->result.type);
}

// A kind of those that came later, or none.
static uint32_t choose_later_kind(struct draft *draft, int is_float) {
    if (draft->call->number < LATER || one_in(draft->seed, 3))
        return 0;
    return is_float ? QGEMM_STAGE_MULTIPLY_F32 + (uint32_t)below(draft->seed, 3)
           : one_in(draft->seed, 4) ? QGEMM_STAGE_TABLE
                                    : 0;
}

// The kind of the next of `left` stages, of which the last gives the result.
static uint32_t choose_kind(struct draft *draft, size_t left) {
    if (is_layer(draft->call))
        return left == 1 ? QGEMM_STAGE_CAST_SATURATING : left == 2 ? QGEMM_STAGE_SCALE : QGEMM_STAGE_BIAS;
    uint32_t type = draft->call->result.type;
    int is_float = is_float_by_now(draft->call), wants_float = is_float_type(type);
    if (left == 1 && is_narrow(draft->call))
        return one_in(draft->seed, 3) ? QGEMM_STAGE_CAST_TRUNCATING : QGEMM_STAGE_CAST_SATURATING;
    size_t before_cast = left - (size_t)is_narrow(draft->call), way_back = is_float == wants_float;
    int must_turn = before_cast == 1 && is_float != wants_float, may_turn = before_cast > way_back;
    if (must_turn || (may_turn && one_in(draft->seed, 4)))
        return !is_float                                                     ? QGEMM_STAGE_DEQUANTIZE
               : draft->call->number >= LATER && one_in(draft->seed, 2) ? QGEMM_STAGE_QUANTIZE_ZERO_FIRST
                                                                             : QGEMM_STAGE_QUANTIZE;
    uint32_t later = choose_later_kind(draft, is_float);
    if (later != 0)
        return later;
    return is_float ? QGEMM_STAGE_BIAS_F32 + (uint32_t)below(draft->seed, 3)
                    : QGEMM_STAGE_BIAS + (uint32_t)below(draft->seed, 8);
}

// Just before a cast mostly within what the cast leaves as it is.
static double choose_target(struct draft *draft, size_t left) {
    const double targets[] = {3, 150, 400, 40000, 1e7, 1e9};
    size_t element = size_of_type(draft->call->result.type);
    return left == 2 && is_narrow(draft->call) ? targets[element + (size_t)below(draft->seed, 2)] : targets[below(draft->seed, 6)];
}

static double reach_of(const struct call *call) {
    double reach = 1;
    for (int64_t i = 0; i < call->result.rows * call->result.cols; i++) {
        struct number x = call->expected[i];
        double distance = fabs(x.is_float ? (double)x.real : (double)x.integer);
        if (distance > reach && distance < 1e30)
            reach = distance;
    }
    return reach;
}

static void fail(const struct call *call, const char *what) {
    fprintf(stderr, "%s in the first stages of ", what);
    print_call(stderr, call);
    fprintf(stderr, "\n");
    exit(1);
}

// What the library gives after an approximate stage is expected from now on, if it is near what is defined.
static void expect_what_is_found(struct call *call, const void *found, uint32_t type) {
    const qgemm_stage *stage = &call->stages[call->stage_count - 1];
    for (int64_t i = 0; i < call->result.rows * call->result.cols; i++) {
        struct number x = call->expected[i], number = read_number(found, type, i);
        double real = real_function(stage, x);
        if (!is_near(stage, number, real)) {
            fprintf(stderr, "%a gives %a instead of about %a: ", x.is_float ? (double)x.real : x.integer,
                    number.is_float ? (double)number.real : number.integer, real);
            fail(call, "too far off");
        }
        call->expected[i] = number;
    }
}

static void expect_what_is_near(struct call *call) {
    qgemm_result result = QGEMM_RESULT_INIT;
    result.rows = call->result.rows;
    result.cols = call->result.cols;
    result.type = is_float_by_now(call) ? QGEMM_TYPE_F32 : QGEMM_TYPE_S32;
    int32_t *found = malloc((size_t)(result.rows * result.cols) * sizeof *found + 1);
    CHECK(found != NULL);
    result.data = found;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.bit_depth = &call->bit_depth;
    if (qgemm_gemm(NULL, &call->lhs, &call->rhs, &result, call->stages, call->stage_count, &options) != QGEMM_STATUS_OK)
        fail(call, qgemm_last_error());
    expect_what_is_found(call, found, result.type);
    free(found);
}

static void expect_what_is_defined(struct call *call) {
    const qgemm_stage *stage = &call->stages[call->stage_count - 1];
    for (int64_t i = 0; i < call->result.rows; i++)
        for (int64_t j = 0; j < call->result.cols; j++) {
            struct number *x = &call->expected[i * call->result.cols + j];
            *x = after_stage(stage, *x, place_in_result(call, i, j), call->result.type);
        }
}

static void add_stage(struct draft *draft, size_t left) {
    struct call *call = draft->call;
    qgemm_stage stage;
    // What a kind does not use may be anything.
    memset(&stage, 0xA5, sizeof stage);
    stage.reserved = 0;
    stage.kind = choose_kind(draft, left);
    draft->reach = reach_of(call);
    draft->target = choose_target(draft, left);
    choose_parameters(draft, &stage);
    call->stages[call->stage_count++] = stage;
    if (is_approximate(&stage))
        expect_what_is_near(call);
    else
        expect_what_is_defined(call);
}

static void expect_sums(struct call *call) {
    int64_t rows = call->result.rows, cols = call->result.cols;
    call->expected = malloc((size_t)(rows * cols) * sizeof *call->expected + 1);
    int32_t *sums = malloc((size_t)(rows * cols) * sizeof *sums + 1);
    CHECK(call->expected != NULL && sums != NULL);
    if (has_fewer_bits(call))
        requantized_sums(&call->bit_depth, &call->lhs, &call->rhs, sums);
    else
        for (int64_t i = 0; i < rows * cols; i++)
            sums[i] = defined_sum(&call->lhs, &call->rhs, i / cols, i % cols);
    for (int64_t i = 0; i < rows * cols; i++)
        call->expected[i] = integer_number(sums[i]);
    free(sums);
}

// From none to all that there is room for.
static size_t choose_stage_count(struct draft *draft) {
    if (is_layer(draft->call))
        return 2 + (size_t)below(draft->seed, 2);
    uint32_t type = draft->call->result.type;
    size_t count = (size_t)below(draft->seed, MOST_STAGES + 1);
    // A cast alone makes nearly all sums the greatest or the least.
    size_t least = type == QGEMM_TYPE_S32 ? 0 : is_float_type(type) || one_in(draft->seed, 4) ? 1 : 2;
    return count < least ? least : count;
}

struct call random_call(uint64_t number, int m, int n, int k, int is_fenced) {
    struct call call = {.number = number, .is_fenced = is_fenced, .result = QGEMM_RESULT_INIT};
    struct seed seed = {(number + 1) * UINT64_C(0x9E3779B97F4A7C15)};
    struct draft draft = {.call = &call, .seed = &seed};
    call.result.rows = m;
    call.result.cols = n;
    call.lhs = random_operand(&draft, m, k, QGEMM_PER_ROW);
    call.rhs = random_operand(&draft, k, n, QGEMM_PER_COL);
    choose_result(&draft);
    choose_options(&draft);
    expect_sums(&call);
    for (size_t left = choose_stage_count(&draft); left > 0; left--)
        add_stage(&draft, left);
    if (is_float_type(call.result.type))
        for (int64_t i = 0; i < call.result.rows * call.result.cols; i++)
            call.expected[i].real = rounded_to_type(call.expected[i].real, call.result.type);
    return call;
}
