#include "faultless.h"

#include "check.h"

#include <stddef.h>
#include <string.h>

union room memory;

static uint8_t filler(int i) {
    return (uint8_t)(i * 7 + i / 256 + 1);
}

void fill_memory(void) {
    for (int i = 0; i < VECTORS; i++)
        memory.bytes[i] = filler(i);
}

int memory_is_as_filled(void) {
    for (int i = 0; i < VECTORS; i++)
        if (memory.bytes[i] != filler(i))
            return 0;
    return 1;
}

struct call sums(void) {
    struct call c = {.lhs = QGEMM_OPERAND_INIT, .rhs = QGEMM_OPERAND_INIT, .result = QGEMM_RESULT_INIT};
    c.lhs.data = memory.bytes + LHS;
    c.lhs.rows = M;
    c.lhs.cols = K;
    c.lhs.stride = 9;
    c.lhs.type = QGEMM_TYPE_U8;
    c.rhs.data = memory.bytes + RHS;
    c.rhs.rows = K;
    c.rhs.cols = N;
    c.rhs.stride = 11;
    c.rhs.type = QGEMM_TYPE_S8;
    c.result.data = memory.bytes + RESULT;
    c.result.rows = M;
    c.result.cols = N;
    c.result.stride = 10;
    c.result.type = QGEMM_TYPE_S32;
    c.options.struct_size = sizeof c.options;
    return c;
}

struct call sums_with_offsets(void) {
    struct call c = sums();
    qgemm_i32_values per_row = {memory.integers + VECTORS / 4, M, 0, QGEMM_PER_ROW};
    qgemm_i32_values per_col = {memory.integers + VECTORS / 4 + M, N, 0, QGEMM_PER_COL};
    c.lhs.offset = per_row;
    c.rhs.offset = per_col;
    return c;
}

// All that the residuals below take is that it lies somewhere else.
static qgemm_stage_residual a_residual(void) {
    qgemm_stage_residual r = {memory.bytes + RESIDUAL, 12, QGEMM_TYPE_S16, QGEMM_ROW_MAJOR, 0, 1 << 30, -1, 0};
    return r;
}

static qgemm_stage_residual_f32 a_residual_f32(void) {
    qgemm_stage_residual_f32 r = {memory.bytes + RESIDUAL, 12, QGEMM_TYPE_S16, QGEMM_ROW_MAJOR, 0, 0.5f};
    return r;
}

static qgemm_stage_binary_f32 a_binary_f32(void) {
    qgemm_stage_binary_f32 b = {memory.bytes + RESIDUAL, 12, QGEMM_TYPE_S16, QGEMM_ROW_MAJOR, 0, 0.5f,
                                QGEMM_BINARY_ADD, QGEMM_PER_ELEMENT};
    return b;
}

static qgemm_stage_table a_table(void) {
    qgemm_stage_table table = {memory.bytes + RESIDUAL, QGEMM_TYPE_S8, QGEMM_TYPE_U8};
    return table;
}

qgemm_stage stage_of(uint32_t kind) {
    qgemm_stage stage;
    memset(&stage, 0, sizeof stage);
    stage.kind = kind;
    if (kind == QGEMM_STAGE_LOGISTIC)
        stage.u.logistic.amplitude = 1;
    if (kind == QGEMM_STAGE_RESIDUAL)
        stage.u.residual = a_residual();
    if (kind == QGEMM_STAGE_RESIDUAL_F32)
        stage.u.residual_f32 = a_residual_f32();
    if (kind == QGEMM_STAGE_ACTIVATION_F32)
        stage.u.activation_f32.function = QGEMM_FUNCTION_RELU;
    if (kind == QGEMM_STAGE_BINARY_F32)
        stage.u.binary_f32 = a_binary_f32();
    if (kind == QGEMM_STAGE_TABLE)
        stage.u.table = a_table();
    return stage;
}

int is_cast(uint32_t kind) {
    return kind == QGEMM_STAGE_CAST_SATURATING || kind == QGEMM_STAGE_CAST_TRUNCATING;
}

void add_stage(struct call *c, uint32_t kind) {
    CHECK(c->stage_count < MOST_STAGES);
    c->stages[c->stage_count++] = stage_of(kind);
}

struct call call_with(uint32_t kind) {
    struct call c = sums();
    add_stage(&c, takes_floats(kind) ? QGEMM_STAGE_DEQUANTIZE : QGEMM_STAGE_CLAMP);
    add_stage(&c, kind);
    if (is_cast(kind))
        c.result.type = QGEMM_TYPE_U8;
    else if (gives_floats(kind))
        c.result.type = QGEMM_TYPE_F32;
    return c;
}

size_t extent_of_result(const struct call *c) {
    return ((M - 1) * (size_t)c->result.stride + N) * size_of_type(c->result.type);
}

qgemm_status make(const struct call *c) {
    return qgemm_gemm(NULL, &c->lhs, &c->rhs, &c->result, c->stages, c->stage_count, &c->options);
}

qgemm_status make_prepared(const struct call *c) {
    qgemm_prepared *prepared = NULL;
    qgemm_status status = qgemm_gemm_prepare(NULL, &c->lhs, &c->rhs, &c->result, c->stages, c->stage_count,
                                                  &c->options, &prepared);
    CHECK((status == QGEMM_STATUS_OK) == (prepared != NULL));
    if (status == QGEMM_STATUS_OK)
        status = qgemm_prepared_run(prepared, NULL, NULL, NULL);
    qgemm_prepared_free(prepared);
    return status;
}

static void wrong(const char *what, qgemm_status found, qgemm_status expected, const char *name, const char *why) {
    fprintf(stderr, "%s: status %d, \"%s\", instead of %d, \"... %s ... %s ...\"\n", what, (int)found,
            qgemm_last_error(), (int)expected, name, why);
    exit(1);
}

int last_error_says(const char *name, const char *why) {
    const char *found = strstr(qgemm_last_error(), name);
    return found != NULL && strstr(found + strlen(name), why) != NULL;
}

void fails(const struct call *c, qgemm_status status, const char *name, const char *why) {
    fill_memory();
    qgemm_status found = make(c);
    if (found != status || !last_error_says(name, why))
        wrong("qgemm_gemm", found, status, name, why);
    CHECK(memory_is_as_filled());
    // A prepared call may tell it in other words.
    found = make_prepared(c);
    if (found != status)
        wrong("a prepared call", found, status, name, why);
    CHECK(memory_is_as_filled());
}

void shape_fails(const struct call *c, qgemm_status status, const char *name, const char *why) {
    fails(c, status, name, why);
    size_t size = 77;
    qgemm_status found = qgemm_gemm_workspace_size(NULL, &c->lhs, &c->rhs, &c->result, &size);
    if (found != status || !last_error_says(name, why))
        wrong("qgemm_gemm_workspace_size", found, status, name, why);
    CHECK(size == 77 && memory_is_as_filled());
}

// The result as the definition has it, before it is overwritten.
static void define(const struct call *c, struct number *expected) {
    for (int64_t i = 0; i < c->result.rows; i++)
        for (int64_t j = 0; j < c->result.cols; j++) {
            struct place place = {i, j, c->result.rows, c->result.cols};
            struct number x = integer_number(defined_sum(&c->lhs, &c->rhs, i, j));
            for (size_t s = 0; s < c->stage_count; s++)
                x = after_stage(&c->stages[s], x, place, c->result.type);
            expected[i * c->result.cols + j] = x;
        }
}

static void check_result(const struct call *c, const struct number *expected) {
    for (int64_t i = 0; i < c->result.rows; i++)
        for (int64_t j = 0; j < c->result.cols; j++) {
            struct place place = {i, j, c->result.rows, c->result.cols};
            int64_t index = distance_to(place, c->result.order, c->result.stride);
            CHECK(is_same(read_number(c->result.data, c->result.type, index), expected[i * c->result.cols + j]));
        }
}

void works(const struct call *c) {
    struct number expected[M * N];
    fill_memory();
    define(c, expected);
    qgemm_status status = make(c);
    if (status != QGEMM_STATUS_OK)
        wrong("qgemm_gemm", status, QGEMM_STATUS_OK, "", "");
    check_result(c, expected);
    fill_memory();
    define(c, expected);
    status = make_prepared(c);
    if (status != QGEMM_STATUS_OK)
        wrong("a prepared call", status, QGEMM_STATUS_OK, "", "");
    check_result(c, expected);
}

static const int32_t wrong_shifts[] = {-1, 32, INT32_MIN, INT32_MAX};
static const int32_t wrong_exponents[] = {-32, 31, INT32_MIN, INT32_MAX};
// NaN, one that signals, and both infinities.
static const int32_t wrong_floats[] = {0x7fc00000, -0x7fffff, 0x7f800000, -0x800000};
enum { A_HALF = 0x3f000000 };

#define INTEGERS(kind, field, right) {kind, #field, offsetof(qgemm_stage, field), right, NULL, QGEMM_STATUS_OK, ""}
#define FLOATS(kind, field) \
    {kind, #field, offsetof(qgemm_stage, field), A_HALF, wrong_floats, QGEMM_STATUS_PARAMETER, "finite"}

const struct values all_values[VALUES] = {
    INTEGERS(QGEMM_STAGE_BIAS, u.bias.bias, -3),
    INTEGERS(QGEMM_STAGE_QUANTIZE_DOWN, u.quantize_down.offset, -3),
    INTEGERS(QGEMM_STAGE_QUANTIZE_DOWN, u.quantize_down.multiplier, -3),
    {QGEMM_STAGE_QUANTIZE_DOWN, "u.quantize_down.shift", offsetof(qgemm_stage, u.quantize_down.shift), 31, wrong_shifts,
     QGEMM_STATUS_SHIFT_RANGE, "0 to 31"},
    INTEGERS(QGEMM_STAGE_SCALE, u.scale.multiplier, -3),
    {QGEMM_STAGE_SCALE, "u.scale.exponent", offsetof(qgemm_stage, u.scale.exponent), -31, wrong_exponents,
     QGEMM_STATUS_SHIFT_RANGE, "-31 to 30"},
    FLOATS(QGEMM_STAGE_SCALE_F32, u.scale_f32.scale),
    FLOATS(QGEMM_STAGE_DEQUANTIZE, u.dequantize.scale),
    FLOATS(QGEMM_STAGE_BIAS_F32, u.bias_f32.bias),
    FLOATS(QGEMM_STAGE_QUANTIZE, u.quantize.scale),
    FLOATS(QGEMM_STAGE_MULTIPLY_F32, u.multiply_f32.scale),
    FLOATS(QGEMM_STAGE_QUANTIZE_ZERO_FIRST, u.quantize_zero_first.scale),
};

void put(struct call *c, const struct values *values, qgemm_i32_values given) {
    memcpy((char *)&c->stages[1] + values->at, &given, sizeof given);
}
