// Every wrong argument of qgemm_gemm but its stages: the status, an error that names the argument and what was expected,
// and a result that stays as it was.

#define _GNU_SOURCE  // setenv
#include "check.h"
#include "faultless.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void the_faultless_work(void) {
    struct call c = sums();
    works(&c);
    for (uint32_t kind = QGEMM_STAGE_BIAS; kind <= LAST_KIND; kind++) {
        c = call_with(kind);
        if (!is_approximate(&c.stages[1]))
            works(&c);
        else
            CHECK(make(&c) == QGEMM_STATUS_OK);
    }
}

/* The arguments themselves */

static void null_arguments(void) {
    struct call c = sums();
    size_t size = 77;
    const char *names[] = {"lhs", "rhs", "result"};
    for (int i = 0; i < 3; i++) {
        const qgemm_operand *lhs = i == 0 ? NULL : &c.lhs, *rhs = i == 1 ? NULL : &c.rhs;
        const qgemm_result *result = i == 2 ? NULL : &c.result;
        CHECK(qgemm_gemm(NULL, lhs, rhs, result, NULL, 0, NULL) == QGEMM_STATUS_NULL_POINTER);
        CHECK(last_error_says(names[i], "is null"));
        CHECK(qgemm_gemm_workspace_size(NULL, lhs, rhs, result, &size) == QGEMM_STATUS_NULL_POINTER);
        CHECK(last_error_says(names[i], "is null") && size == 77);
    }
    CHECK(qgemm_gemm_workspace_size(NULL, &c.lhs, &c.rhs, &c.result, NULL) == QGEMM_STATUS_NULL_POINTER);
    CHECK(last_error_says("size", "is null"));
    const size_t counts[] = {1, 2, SIZE_MAX};
    for (int i = 0; i < 3; i++) {
        CHECK(qgemm_gemm(NULL, &c.lhs, &c.rhs, &c.result, NULL, counts[i], NULL) == QGEMM_STATUS_NULL_POINTER);
        CHECK(last_error_says("stages", "is null"));
    }
}

// Stages beyond the end of the address space. Nobody can look at so many.
static void too_many_stages(void) {
    struct call c = sums();
    const size_t counts[] = {SIZE_MAX, SIZE_MAX / sizeof(qgemm_stage), SIZE_MAX / sizeof(qgemm_stage) + 1,
                             PTRDIFF_MAX / sizeof(qgemm_stage) + 1};
    for (int i = 0; i < 4; i++) {
        c.stage_count = counts[i];
        fails(&c, QGEMM_STATUS_TOO_LARGE, "stages", "beyond the address space");
    }
}

static void misaligned_arguments(void) {
    static union {
        uint8_t bytes[2048];
        void *pointer;
    } room;
    struct call c = sums();
    c.stages[0] = stage_of(QGEMM_STAGE_CLAMP);
    const struct {
        const char *name;
        const void *what;
        size_t size;
    } cases[] = {{"lhs", &c.lhs, sizeof c.lhs},
                 {"rhs", &c.rhs, sizeof c.rhs},
                 {"result", &c.result, sizeof c.result},
                 {"stages", c.stages, sizeof c.stages},
                 {"options", &c.options, sizeof c.options}};
    for (int i = 0; i < 5; i++)
        for (int shift = 1; shift < 8; shift++) {
            memcpy(room.bytes + shift, cases[i].what, cases[i].size);
            const void *at[] = {&c.lhs, &c.rhs, &c.result, c.stages, &c.options};
            at[i] = room.bytes + shift;
            CHECK(qgemm_gemm(NULL, at[0], at[1], at[2], at[3], 1, at[4]) == QGEMM_STATUS_ALIGNMENT);
            CHECK(last_error_says(cases[i].name, "multiple of 8"));
        }
    CHECK(qgemm_gemm_workspace_size(NULL, &c.lhs, &c.rhs, &c.result, (size_t *)(void *)(room.bytes + 1)) ==
          QGEMM_STATUS_ALIGNMENT);
    CHECK(last_error_says("size", "multiple of 8"));
}

// `first` is the size in the first version.
static void size_fails(struct call *c, size_t *field, size_t first, const char *name) {
    const size_t sizes[] = {0, 7, first - 8, first - 1, *field + 1, *field + 4, 4096 + 8, SIZE_MAX};
    size_t right = *field;
    for (int i = 0; i < 8; i++) {
        *field = sizes[i];
        fails(c, QGEMM_STATUS_STRUCT_SIZE, name, "sizeof");
    }
    *field = right;
}

static void struct_sizes(void) {
    struct call c = sums();
    size_fails(&c, &c.lhs.struct_size, offsetof(qgemm_operand, least), "lhs->struct_size");
    size_fails(&c, &c.rhs.struct_size, offsetof(qgemm_operand, least), "rhs->struct_size");
    size_fails(&c, &c.result.struct_size, sizeof c.result, "result->struct_size");
    size_fails(&c, &c.options.struct_size, offsetof(qgemm_gemm_options, bit_depth), "options->struct_size");
    works(&c);
}

// Structs of earlier versions: what lies behind them is not theirs.
static void shorter_structs(void) {
    struct call c = sums();
    c.lhs.struct_size = c.rhs.struct_size = offsetof(qgemm_operand, least);
    c.lhs.least = c.rhs.greatest = INT32_MAX;
    c.options.struct_size = offsetof(qgemm_gemm_options, bit_depth);
    c.options.bit_depth = (const void *)1;
    works(&c);
}

// Structs of later versions: what this one does not know has to be 0.
static void longer_structs(void) {
    struct call c = sums();
    struct {
        qgemm_operand known;
        uint64_t later[3];
    } lhs = {c.lhs, {0}}, rhs = {c.rhs, {0}};
    struct {
        qgemm_result known;
        uint64_t later[3];
    } result = {c.result, {0}};
    struct {
        qgemm_gemm_options known;
        uint64_t later[3];
    } options = {c.options, {0}};
    lhs.known.struct_size = sizeof lhs;
    rhs.known.struct_size = sizeof rhs;
    result.known.struct_size = sizeof result;
    options.known.struct_size = sizeof options;
    uint64_t *later[] = {lhs.later, rhs.later, result.later, options.later};
    const char *names[] = {"*lhs", "*rhs", "*result", "*options"};
    CHECK(qgemm_gemm(NULL, &lhs.known, &rhs.known, &result.known, NULL, 0, &options.known) == QGEMM_STATUS_OK);
    for (int i = 0; i < 4; i++)
        for (int field = 0; field < 3; field++) {
            later[i][field] = UINT64_C(1) << 63;
            CHECK(qgemm_gemm(NULL, &lhs.known, &rhs.known, &result.known, NULL, 0, &options.known) ==
                  QGEMM_STATUS_STRUCT_SIZE);
            CHECK(last_error_says(names[i], "all that this libqgemm knows"));
            later[i][field] = 0;
        }
}

/* Operands */

// Both operands have the same faults.
static void operand_fails(struct call (*make_call)(void), void (*spoil)(qgemm_operand *), qgemm_status status,
                          const char *field, const char *why) {
    char name[64];
    struct call c = make_call();
    spoil(&c.lhs);
    snprintf(name, sizeof name, "lhs->%s", field);
    shape_fails(&c, status, name, why);
    c = make_call();
    spoil(&c.rhs);
    snprintf(name, sizeof name, "rhs->%s", field);
    shape_fails(&c, status, name, why);
}

static void type_none(qgemm_operand *o) { o->type = 0; }
static void type_s16(qgemm_operand *o) { o->type = QGEMM_TYPE_S16; }
static void type_s32(qgemm_operand *o) { o->type = QGEMM_TYPE_S32; }
static void type_f32(qgemm_operand *o) { o->type = QGEMM_TYPE_F32; }
static void type_unknown(qgemm_operand *o) { o->type = 6; }
static void type_large(qgemm_operand *o) { o->type = UINT32_MAX; }
static void order_unknown(qgemm_operand *o) { o->order = 2; }
static void order_large(qgemm_operand *o) { o->order = UINT32_MAX; }
static void rows_negative(qgemm_operand *o) { o->rows = -1; }
static void rows_least(qgemm_operand *o) { o->rows = INT64_MIN; }
static void cols_negative(qgemm_operand *o) { o->cols = -1; }
static void cols_least(qgemm_operand *o) { o->cols = INT64_MIN; }
static void stride_negative(qgemm_operand *o) { o->stride = -1; }
static void stride_least(qgemm_operand *o) { o->stride = INT64_MIN; }
static void stride_greatest(qgemm_operand *o) { o->stride = INT64_MAX; }
static void stride_too_great(qgemm_operand *o) { o->stride = INT64_MAX / 4; }
static void data_null(qgemm_operand *o) { o->data = NULL; }
static void axis_unknown(qgemm_operand *o) { o->offset.axis = 3; }
static void axis_large(qgemm_operand *o) { o->offset.axis = UINT32_MAX; }

static void operands(void) {
    operand_fails(sums, type_none, QGEMM_STATUS_TYPE, "type is 0", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    operand_fails(sums, type_s16, QGEMM_STATUS_TYPE, "type is 3", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    operand_fails(sums, type_s32, QGEMM_STATUS_TYPE, "type is 4", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    operand_fails(sums, type_f32, QGEMM_STATUS_TYPE, "type is 5", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    operand_fails(sums, type_unknown, QGEMM_STATUS_TYPE, "type is 6", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    operand_fails(sums, type_large, QGEMM_STATUS_TYPE, "type is 4294967295", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    operand_fails(sums, order_unknown, QGEMM_STATUS_OPTION, "order is 2", "does not know");
    operand_fails(sums, order_large, QGEMM_STATUS_OPTION, "order is 4294967295", "does not know");
    operand_fails(sums, rows_negative, QGEMM_STATUS_SHAPE, "rows is -1", "must not be negative");
    operand_fails(sums, rows_least, QGEMM_STATUS_SHAPE, "rows is -9223372036854775808", "must not be negative");
    operand_fails(sums, cols_negative, QGEMM_STATUS_SHAPE, "cols is -1", "must not be negative");
    operand_fails(sums, cols_least, QGEMM_STATUS_SHAPE, "cols is -9223372036854775808", "must not be negative");
    operand_fails(sums, stride_negative, QGEMM_STATUS_STRIDE, "stride is -1", "at least 1");
    operand_fails(sums, stride_least, QGEMM_STATUS_STRIDE, "stride is -9223372036854775808", "at least 1");
    operand_fails(sums, stride_greatest, QGEMM_STATUS_TOO_LARGE, "data", "beyond the address space");
    operand_fails(sums, stride_too_great, QGEMM_STATUS_TOO_LARGE, "data", "beyond the address space");
    operand_fails(sums, data_null, QGEMM_STATUS_NULL_POINTER, "data is null", "has elements");
    operand_fails(sums, axis_unknown, QGEMM_STATUS_OPTION, "offset.axis is 3", "");
    operand_fails(sums, axis_large, QGEMM_STATUS_OPTION, "offset.axis is 4294967295", "");
}

static void shapes(void) {
    struct call c = sums();
    c.rhs.rows = K - 1;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "rhs->rows is 5", "lhs->cols, which is 6");
    c.rhs.rows = 0;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "rhs->rows is 0", "lhs->cols, which is 6");
    c = sums();
    c.result.rows = M + 1;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "result->rows is 6", "lhs->rows, which is 5");
    c = sums();
    c.result.cols = N - 1;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "result->cols is 6", "rhs->cols, which is 7");
    c.result.cols = 0;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "result->cols is 0", "rhs->cols, which is 7");
}

static void axis_of_the_other_side(qgemm_operand *o) {
    o->offset.axis = o->offset.axis == QGEMM_PER_ROW ? QGEMM_PER_COL : QGEMM_PER_ROW;
}
static void offsets_null(qgemm_operand *o) { o->offset.data = NULL; }
static void offsets_misaligned(qgemm_operand *o) { o->offset.data = (const void *)((const char *)o->offset.data + 2); }
static void offsets_one_short(qgemm_operand *o) { o->offset.len--; }
static void offsets_none(qgemm_operand *o) { o->offset.len = 0; }
static void offsets_negative(qgemm_operand *o) { o->offset.len = -1; }
static void offsets_least(qgemm_operand *o) { o->offset.len = INT64_MIN; }

static void offsets(void) {
    struct call c = sums_with_offsets();
    works(&c);
    operand_fails(sums_with_offsets, axis_of_the_other_side, QGEMM_STATUS_OPTION, "offset.axis is", "");
    operand_fails(sums_with_offsets, offsets_null, QGEMM_STATUS_NULL_POINTER, "offset", "is null");
    operand_fails(sums_with_offsets, offsets_misaligned, QGEMM_STATUS_ALIGNMENT, "offset", "multiple of 4");
    operand_fails(sums_with_offsets, offsets_one_short, QGEMM_STATUS_VECTOR_LENGTH, "offset", "at least");
    operand_fails(sums_with_offsets, offsets_none, QGEMM_STATUS_VECTOR_LENGTH, "offset has 0 values", "at least");
    operand_fails(sums_with_offsets, offsets_negative, QGEMM_STATUS_VECTOR_LENGTH, "offset has -1 values", "at least");
    operand_fails(sums_with_offsets, offsets_least, QGEMM_STATUS_VECTOR_LENGTH, "offset has -92233720", "at least");
    c = sums_with_offsets();
    c.lhs.offset.len = M - 1;
    fails(&c, QGEMM_STATUS_VECTOR_LENGTH, "lhs->offset has 4 values", "at least 5");
    c = sums_with_offsets();
    c.rhs.offset.len = M;
    fails(&c, QGEMM_STATUS_VECTOR_LENGTH, "rhs->offset has 5 values", "at least 7");
}

// Sizes of which the product does not fit 64 bits, or the sum with an address.
static void enormous_operands(void) {
    const int64_t sizes[] = {INT64_MAX, INT64_MAX - 1, INT64_C(1) << 62, INT64_C(1) << 61, INT64_C(1) << 32};
    for (int i = 0; i < 5; i++) {
        struct call c = sums();
        c.lhs.rows = c.result.rows = sizes[i];
        c.lhs.stride = c.result.stride = i == 4 ? sizes[i] : 0;
        shape_fails(&c, QGEMM_STATUS_TOO_LARGE, "lhs->data", "beyond the address space");
        c.lhs.cols = c.rhs.rows = 0;
        fails(&c, QGEMM_STATUS_TOO_LARGE, "result->data", "beyond the address space");
        c = sums();
        c.rhs.order = c.result.order = QGEMM_COL_MAJOR;
        c.rhs.cols = c.result.cols = sizes[i];
        c.rhs.stride = c.result.stride = i == 4 ? sizes[i] : 0;
        shape_fails(&c, QGEMM_STATUS_TOO_LARGE, "rhs->data", "beyond the address space");
        c.lhs.cols = c.rhs.rows = 0;
        fails(&c, QGEMM_STATUS_TOO_LARGE, "result->data", "beyond the address space");
    }
}

// They fit the address space, but what they are packed into does not: nobody may look at them.
static void more_than_any_memory(void) {
    struct call c = sums();
    c.lhs.rows = c.rhs.cols = c.result.rows = c.result.cols = 1;
    c.lhs.cols = c.rhs.rows = INT64_C(1) << 61;
    c.rhs.order = QGEMM_COL_MAJOR;
    c.lhs.data = c.rhs.data = memory.bytes + ROOM;
    shape_fails(&c, QGEMM_STATUS_OUT_OF_MEMORY, "bytes of scratch memory", "not to be had");
}

static void nothing_needs_no_memory(void) {
    const int64_t sizes[] = {0, 1, INT64_MAX};
    for (int i = 0; i < 3; i++)
        for (int order = 0; order < 8; order++) {
            struct call c = sums();
            c.lhs.data = c.rhs.data = c.result.data = NULL;
            c.lhs.order = order & 1;
            c.rhs.order = order >> 1 & 1;
            c.result.order = order >> 2;
            c.lhs.rows = c.result.rows = 0;
            c.lhs.cols = c.rhs.rows = 0;
            c.rhs.cols = c.result.cols = sizes[i];
            CHECK(make(&c) == QGEMM_STATUS_OK);
            c.lhs.rows = c.result.rows = sizes[i];
            c.rhs.cols = c.result.cols = 0;
            CHECK(make(&c) == QGEMM_STATUS_OK);
            c.lhs.rows = c.result.rows = 0;
            c.lhs.cols = c.rhs.rows = sizes[i];
            CHECK(make(&c) == QGEMM_STATUS_OK);
        }
}

/* Results */

static void result_types(void) {
    const uint32_t types[] = {0, 8, UINT32_MAX};
    const char *names[] = {"result->type is 0", "result->type is 8", "result->type is 4294967295"};
    for (int i = 0; i < 3; i++) {
        struct call c = sums();
        c.result.type = types[i];
        fails(&c, QGEMM_STATUS_TYPE, names[i], "QGEMM_TYPE_U8 to QGEMM_TYPE_F16");
    }
}

static void results(void) {
    struct call c = sums();
    c.result.order = 2;
    shape_fails(&c, QGEMM_STATUS_OPTION, "result->order is 2", "does not know");
    c = sums();
    c.result.rows = -1;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "result->rows is -1", "must not be negative");
    c = sums();
    c.result.cols = INT64_MIN;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "result->cols is -9223372036854775808", "must not be negative");
    c = sums();
    c.result.data = NULL;
    fails(&c, QGEMM_STATUS_NULL_POINTER, "result->data is null", "has elements");
    c = sums();
    c.result.stride = N - 1;
    fails(&c, QGEMM_STATUS_STRIDE, "result->stride is 6", "at least 7");
    c.result.stride = -1;
    fails(&c, QGEMM_STATUS_STRIDE, "result->stride is -1", "at least 7");
    c.result.stride = INT64_MIN;
    fails(&c, QGEMM_STATUS_STRIDE, "result->stride is -9223372036854775808", "at least 7");
    c.result.order = QGEMM_COL_MAJOR;
    c.result.stride = M - 1;
    fails(&c, QGEMM_STATUS_STRIDE, "result->stride is 4", "at least 5");
    c.result.stride = INT64_MAX;
    fails(&c, QGEMM_STATUS_TOO_LARGE, "result->data", "beyond the address space");
    // In elements it would fit, in bytes it does not.
    c.result.stride = INT64_MAX / 12;
    fails(&c, QGEMM_STATUS_TOO_LARGE, "result->data", "beyond the address space");
    c.result.stride = 0;
    works(&c);
}

static void misaligned_results(void) {
    for (int shift = 1; shift < 4; shift++) {
        struct call c = sums();
        c.result.data = memory.bytes + RESULT + shift;
        fails(&c, QGEMM_STATUS_ALIGNMENT, "result->data", "multiple of 4");
        add_stage(&c, QGEMM_STAGE_DEQUANTIZE);
        c.result.type = QGEMM_TYPE_F32;
        fails(&c, QGEMM_STATUS_ALIGNMENT, "result->data", "multiple of 4");
        c.stages[0] = stage_of(QGEMM_STAGE_CAST_SATURATING);
        c.result.type = QGEMM_TYPE_S16;
        if (shift == 2)
            works(&c);
        else
            fails(&c, QGEMM_STATUS_ALIGNMENT, "result->data", "multiple of 2");
        c.result.type = QGEMM_TYPE_S8;
        works(&c);
    }
}

/* Options */

static void options(void) {
    struct call c = sums();
    c.options.flags = 4;
    fails(&c, QGEMM_STATUS_OPTION, "options->flags is 4", "does not know");
    c.options.flags = UINT32_MAX;
    fails(&c, QGEMM_STATUS_OPTION, "options->flags is 4294967295", "does not know");
    c.options.flags = 0;
    c.options.reserved = 1;
    fails(&c, QGEMM_STATUS_OPTION, "options->reserved", "must be 0");
    c.options.reserved = 0;
    c.options.flags = QGEMM_CHECK_OVERFLOW;
    works(&c);
    c.lhs.offset.value = INT32_MAX;
    fails(&c, QGEMM_STATUS_OVERFLOW, "a sum could reach", "beyond 32 bits");
}

static void workspaces(void) {
    struct call c = sums();
    uint8_t *workspace = malloc(1 << 20);
    CHECK(workspace != NULL);
    size_t size;
    CHECK(qgemm_gemm_workspace_size(NULL, &c.lhs, &c.rhs, &c.result, &size) == QGEMM_STATUS_OK);
    CHECK(0 < size && size < 1 << 20);
    c.options.workspace = workspace;
    c.options.workspace_size = size;
    works(&c);
    c.options.workspace_size = 1 << 20;
    works(&c);
    c.options.workspace_size = size - 1;
    fails(&c, QGEMM_STATUS_WORKSPACE, "workspace_size", "at least");
    c.options.workspace_size = 0;
    fails(&c, QGEMM_STATUS_WORKSPACE, "workspace_size is 0", "at least");
    // Without a workspace its size does not matter.
    c.options.workspace = NULL;
    c.options.workspace_size = 1;
    works(&c);
    free(workspace);
}

// Lines that begin at the same place of memory pages may be copied; but the answer is said to hold whatever the strides.
static void workspaces_for_any_stride(void) {
    enum { ROWS = 13, COLS = 300, DEPTH = 40 };
    uint8_t *lhs_data = calloc(ROWS, 8192), *rhs_data = calloc(DEPTH, COLS), *workspace = malloc(1 << 20);
    int32_t *sums = malloc(ROWS * COLS * sizeof *sums);
    CHECK(lhs_data != NULL && rhs_data != NULL && workspace != NULL && sums != NULL);
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = lhs_data, lhs.rows = ROWS, lhs.cols = DEPTH, lhs.type = QGEMM_TYPE_U8;
    rhs.data = rhs_data, rhs.rows = DEPTH, rhs.cols = COLS, rhs.type = QGEMM_TYPE_S8;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = sums, result.rows = ROWS, result.cols = COLS, result.type = QGEMM_TYPE_S32;
    const int64_t strides[] = {DEPTH, 4096, 5000, 8192};
    for (int asked = 0; asked < 4; asked++) {
        lhs.stride = strides[asked];
        qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
        CHECK(qgemm_gemm_workspace_size(NULL, &lhs, &rhs, &result, &options.workspace_size) == QGEMM_STATUS_OK);
        CHECK(options.workspace_size < 1 << 20);
        options.workspace = workspace;
        for (int used = 0; used < 4; used++) {
            lhs.stride = strides[used];
            CHECK(qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, &options) == QGEMM_STATUS_OK);
        }
    }
    free(lhs_data);
    free(rhs_data);
    free(workspace);
    free(sums);
}

/* Packed operands */

static qgemm_packed *pack(const qgemm_operand *operand, uint32_t side) {
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = side;
    qgemm_packed *packed;
    CHECK(qgemm_pack(operand, &options, &packed) == QGEMM_STATUS_OK);
    return packed;
}

static void check_packed(qgemm_operand *operand, struct call *c, const char *side) {
    char name[64];
    const qgemm_operand right = *operand;
    CHECK(make(c) == QGEMM_STATUS_OK);
    operand->data = memory.bytes;
    snprintf(name, sizeof name, "%s->data", side);
    shape_fails(c, QGEMM_STATUS_OPTION, name, "must be null");
    *operand = right;
    operand->rows++;
    snprintf(name, sizeof name, "%s->rows is", side);
    shape_fails(c, QGEMM_STATUS_SHAPE, name, "what was packed");
    operand->rows = -1;
    shape_fails(c, QGEMM_STATUS_SHAPE, name, "must not be negative");
    *operand = right;
    operand->cols--;
    snprintf(name, sizeof name, "%s->cols is", side);
    shape_fails(c, QGEMM_STATUS_SHAPE, name, "what was packed");
    *operand = right;
    operand->type = right.type == QGEMM_TYPE_U8 ? QGEMM_TYPE_S8 : QGEMM_TYPE_U8;
    snprintf(name, sizeof name, "%s->type is", side);
    shape_fails(c, QGEMM_STATUS_TYPE, name, "the type that was packed");
    operand->type = QGEMM_TYPE_S32;
    shape_fails(c, QGEMM_STATUS_TYPE, name, "");
    *operand = right;
    operand->offset.axis = 3;
    snprintf(name, sizeof name, "%s->offset.axis is 3", side);
    shape_fails(c, QGEMM_STATUS_OPTION, name, "");
    operand->offset.axis = side[0] == 'l' ? QGEMM_PER_ROW : QGEMM_PER_COL;
    operand->offset.len = 4;
    snprintf(name, sizeof name, "%s->offset has 4 values", side);
    shape_fails(c, QGEMM_STATUS_VECTOR_LENGTH, name, "at least");
    *operand = right;
}

static void packed_operands(void) {
    struct call plain = sums(), c = plain;
    fill_memory();
    qgemm_packed *lhs = pack(&plain.lhs, QGEMM_LHS), *rhs = pack(&plain.rhs, QGEMM_RHS);
    c.lhs.data = NULL;
    c.lhs.packed = lhs;
    check_packed(&c.lhs, &c, "lhs");
    c.rhs.data = NULL;
    c.rhs.packed = rhs;
    check_packed(&c.rhs, &c, "rhs");
    c.lhs.packed = rhs;
    shape_fails(&c, QGEMM_STATUS_PACKED_LAYOUT, "lhs->packed", "the other side, QGEMM_RHS");
    c.lhs.packed = c.rhs.packed = lhs;
    shape_fails(&c, QGEMM_STATUS_PACKED_LAYOUT, "rhs->packed", "the other side, QGEMM_LHS");
    // What was packed takes part where sizes are compared.
    c = plain;
    c.rhs.data = NULL;
    c.rhs.packed = rhs;
    c.rhs.rows = c.rhs.cols = 0;
    c.result.cols = N + 1;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "result->cols is 8", "rhs->cols, which is 7");
    c.result.cols = N;
    c.lhs.cols = K - 1;
    shape_fails(&c, QGEMM_STATUS_SHAPE, "rhs->rows is 6", "lhs->cols, which is 5");
    qgemm_packed_free(lhs);
    qgemm_packed_free(rhs);
}

/* The library */

// QGEMM_ISA is read once, so this takes a process of its own that has not called anything yet.
static void without_a_kernel(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(setenv("QGEMM_ISA", "abacus", 1) == 0);
        struct call c = sums();
        shape_fails(&c, QGEMM_STATUS_UNSUPPORTED, "QGEMM_ISA is \"abacus\"", "scalar");
        c.lhs.rows = -1;
        shape_fails(&c, QGEMM_STATUS_SHAPE, "lhs->rows is -1", "must not be negative");
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void success_leaves_the_last_error(void) {
    struct call c = sums();
    c.lhs.rows = -1234;
    fails(&c, QGEMM_STATUS_SHAPE, "lhs->rows is -1234", "must not be negative");
    c = sums();
    works(&c);
    CHECK(last_error_says("lhs->rows is -1234", "must not be negative"));
}

int main(void) {
    without_a_kernel();
    skip_unless_supported();
    the_faultless_work();
    null_arguments();
    too_many_stages();
    misaligned_arguments();
    struct_sizes();
    longer_structs();
    shorter_structs();
    operands();
    shapes();
    offsets();
    enormous_operands();
    more_than_any_memory();
    nothing_needs_no_memory();
    result_types();
    results();
    misaligned_results();
    options();
    workspaces();
    workspaces_for_any_stride();
    packed_operands();
    success_leaves_the_last_error();
    return 0;
}
