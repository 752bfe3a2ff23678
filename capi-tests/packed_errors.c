// Every failure that the functions of packed operands document: its status, its text, and outputs that stay as they were.

#include "check.h"
#include "weights.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void fails(qgemm_status found, qgemm_status status, const char *text) {
    if (found != status || strcmp(qgemm_last_error(), text) != 0) {
        fprintf(stderr, "status %d, \"%s\" instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
}

// Packing fails, for this reason, and leaves everything alone.
static void packing_fails(const struct weights *w, qgemm_status status, const char *text) {
    qgemm_packed *const before = (qgemm_packed *)(uintptr_t)0x1234;
    qgemm_packed *packed = before;
    fails(qgemm_pack(&w->operand, &w->options, &packed), status, text);
    CHECK(packed == before);
}

// As above, where the size cannot be told either.
static void sizing_fails(const struct weights *w, qgemm_status status, const char *text) {
    packing_fails(w, status, text);
    size_t size = 77;
    fails(qgemm_pack_size(&w->operand, &w->options, &size), status, text);
    CHECK(size == 77);
}

static uint8_t elements[512];
static int32_t offsets[16];

// 5 x 6 elements with gaps, to be a left-hand side.
static struct weights faultless(void) {
    struct weights w = {.operand = QGEMM_OPERAND_INIT, .options = QGEMM_PACK_OPTIONS_INIT};
    w.operand.data = elements;
    w.operand.rows = 5;
    w.operand.cols = 6;
    w.operand.stride = 9;
    w.operand.type = QGEMM_TYPE_U8;
    w.options.side = QGEMM_LHS;
    return w;
}

static void wrong_operands(void) {
    struct weights w = faultless();
    w.operand.data = NULL;
    sizing_fails(&w, QGEMM_STATUS_NULL_POINTER, "operand->data is null, but its matrix has elements");
    w = faultless();
    size_t least = offsetof(qgemm_operand, least);
    w.operand.struct_size = least - 8;
    char text[200];
    snprintf(text, sizeof text, "operand->struct_size is %zu, but must be sizeof(*operand), which is %zu or more",
             least - 8, least);
    sizing_fails(&w, QGEMM_STATUS_STRUCT_SIZE, text);
    w = faultless();
    w.operand.rows = -1;
    sizing_fails(&w, QGEMM_STATUS_SHAPE, "operand->rows is -1, but must not be negative");
    w = faultless();
    w.operand.cols = INT64_MIN;
    sizing_fails(&w, QGEMM_STATUS_SHAPE, "operand->cols is -9223372036854775808, but must not be negative");
    w = faultless();
    w.operand.stride = -9;
    sizing_fails(&w, QGEMM_STATUS_STRIDE, "operand->stride is -9, but must be at least 1");
    w = faultless();
    w.operand.type = QGEMM_TYPE_S16;
    sizing_fails(&w, QGEMM_STATUS_TYPE, "operand->type is 3, but must be QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    w = faultless();
    w.operand.greatest = 256;
    sizing_fails(&w, QGEMM_STATUS_PARAMETER, "operand->greatest is 256, but must be 0 to 255");
    w = faultless();
    w.operand.order = 2;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "operand->order is 2, which this libqgemm does not know");
    w = faultless();
    w.operand.offset.axis = QGEMM_PER_COL;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "operand->offset.axis is 2, which this libqgemm does not know");
    w.operand.offset.axis = QGEMM_PER_ROW;
    w.operand.offset.data = offsets;
    w.operand.offset.len = 4;
    sizing_fails(&w, QGEMM_STATUS_VECTOR_LENGTH, "operand->offset has 4 values, but must have at least 5");
    w.operand.offset.len = 5;
    w.operand.offset.data = NULL;
    sizing_fails(&w, QGEMM_STATUS_NULL_POINTER, "operand->offset is null, but must not be");
    w = faultless();
    w.operand.rows = INT64_MAX;
    sizing_fails(&w, QGEMM_STATUS_TOO_LARGE,
                 "operand->data reaches beyond the address space with these sizes and this stride");
    // The elements overlap each other; packed they would not.
    w.operand.cols = INT64_MAX / 2;
    w.operand.rows = 3;
    w.operand.stride = 1;
    sizing_fails(&w, QGEMM_STATUS_TOO_LARGE,
                 "operand reaches beyond the address space with these sizes and this stride");
    // More than there is, but not more than can be: only packing fails.
    w.operand.cols = INT64_C(1) << 46;
    w.operand.stride = 1;
    size_t size = 0;
    CHECK(qgemm_pack_size(&w.operand, &w.options, &size) == QGEMM_STATUS_OK);
    snprintf(text, sizeof text, "%zu bytes of scratch memory were not to be had", size);
    packing_fails(&w, QGEMM_STATUS_OUT_OF_MEMORY, text);
    w = faultless();
    qgemm_packed *packed = pack(&w);
    w.operand.packed = packed;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "operand->packed must be null here");
    qgemm_packed_free(packed);
}

static void wrong_options(void) {
    struct weights w = faultless();
    w.options.side = 0;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "options->side is 0, which this libqgemm does not know");
    w.options.side = 3;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "options->side is 3, which this libqgemm does not know");
    w = faultless();
    w.options.result_order = 2;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "options->result_order is 2, which this libqgemm does not know");
    w = faultless();
    w.options.other_type = QGEMM_TYPE_S32;
    sizing_fails(&w, QGEMM_STATUS_TYPE, "options->other_type is 4, but must be 0, QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    w = faultless();
    w.options.bits = 9;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "options->bits is 9, which this libqgemm does not know");
}

static void wrong_groups(void) {
    float scales[15] = {1, 2, 3};
    int32_t zero_points[15] = {0};
    struct weights w = faultless();
    w.options.scales = scales;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "options->scales must be null here");
    w = faultless();
    w.options.zero_points = zero_points;
    sizing_fails(&w, QGEMM_STATUS_OPTION, "options->zero_points must be null here");
    w = faultless();
    w.options.group_size = 2;
    sizing_fails(&w, QGEMM_STATUS_NULL_POINTER, "options->scales is null, but must not be");
    w.options.scales = (const float *)((const char *)scales + 1);
    sizing_fails(&w, QGEMM_STATUS_ALIGNMENT, "options->scales is not aligned: its address must be a multiple of 4");
    w.options.scales = scales;
    w.options.zero_points = (const int32_t *)((const char *)zero_points + 1);
    sizing_fails(&w, QGEMM_STATUS_ALIGNMENT,
                 "options->zero_points is not aligned: its address must be a multiple of 4");
    w.options.zero_points = zero_points;
    scales[14] = INFINITY;
    sizing_fails(&w, QGEMM_STATUS_PARAMETER, "options->scales is inf, but must be finite numbers");
    scales[14] = 1;
    qgemm_packed_free(pack(&w));
    w.operand.rows = INT64_C(1) << 60;
    w.operand.stride = 1;
    w.options.group_size = 1;
    sizing_fails(&w, QGEMM_STATUS_TOO_LARGE,
                 "options->scales reaches beyond the address space with these sizes and this stride");
}

// Which is the first that does not fit, as they lie in memory.
static void elements_of_too_many_bits(void) {
    uint8_t few[12] = {3, 0, 1, 2, 0, 4, 0, 0, 0, 5, 0, 0};
    struct weights w = {.operand = QGEMM_OPERAND_INIT, .options = QGEMM_PACK_OPTIONS_INIT};
    w.operand.data = few;
    w.operand.rows = 3;
    w.operand.cols = 4;
    w.operand.type = QGEMM_TYPE_U8;
    w.options.bits = 2;
    uint8_t *memory = allocate_aligned(4096);
    memset(memory, FILLED, 4096);
    w.options.memory = memory;
    w.options.memory_size = 4096;
    for (uint32_t side = QGEMM_LHS; side <= QGEMM_RHS; side++) {
        w.options.side = side;
        w.operand.order = QGEMM_ROW_MAJOR;
        packing_fails(&w, QGEMM_STATUS_RANGE, "the element in row 1, column 1 is 4, which does not fit 2 bits");
        w.operand.order = QGEMM_COL_MAJOR;
        packing_fails(&w, QGEMM_STATUS_RANGE,
                      side == QGEMM_LHS ? "the element in row 0, column 3 is 5, which does not fit 2 bits"
                                        : "the element in row 2, column 1 is 4, which does not fit 2 bits");
        size_t size;
        CHECK(qgemm_pack_size(&w.operand, &w.options, &size) == QGEMM_STATUS_OK);
    }
    few[5] = 0xFD;
    few[9] = 0;
    w.operand.type = QGEMM_TYPE_S8;
    w.operand.order = QGEMM_ROW_MAJOR;
    w.options.bits = 3;
    qgemm_packed_free(pack(&w));
    memset(memory, FILLED, 4096);
    w.options.bits = 2;
    packing_fails(&w, QGEMM_STATUS_RANGE, "the element in row 0, column 0 is 3, which does not fit 2 bits");
    few[0] = 1;
    few[3] = 0xFE;
    packing_fails(&w, QGEMM_STATUS_RANGE, "the element in row 1, column 1 is -3, which does not fit 2 bits");
    CHECK(is_filled(memory, 4096));
    free(memory);
}

// Only one side may have groups, and what comes of them are floats.
static void wrong_products_of_groups(void) {
    float scales[36] = {0}, sums[25];
    struct weights lhs = faultless(), rhs = faultless();
    lhs.options.group_size = rhs.options.group_size = 1;
    lhs.options.scales = rhs.options.scales = scales;
    rhs.options.side = QGEMM_RHS;
    rhs.operand.rows = 6;
    rhs.operand.cols = 5;
    qgemm_packed *packed_lhs = pack(&lhs), *packed_rhs = pack(&rhs);
    qgemm_operand grouped_lhs = QGEMM_OPERAND_INIT, grouped_rhs = QGEMM_OPERAND_INIT;
    grouped_lhs.packed = packed_lhs;
    grouped_rhs.packed = packed_rhs;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = sums;
    result.rows = result.cols = 5;
    result.type = QGEMM_TYPE_F32;
    fails(qgemm_gemm(NULL, &grouped_lhs, &grouped_rhs, &result, NULL, 0, NULL), QGEMM_STATUS_OPTION,
          "one side has groups with scales, so the other side may not");
    CHECK(qgemm_gemm(NULL, &lhs.operand, &grouped_rhs, &result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    CHECK(qgemm_gemm(NULL, &grouped_lhs, &rhs.operand, &result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    qgemm_stage clamp = {.kind = QGEMM_STAGE_CLAMP};
    fails(qgemm_gemm(NULL, &lhs.operand, &grouped_rhs, &result, &clamp, 1, NULL), QGEMM_STATUS_STAGE_ORDER,
          "stages[0]: the stage takes integers, but the sums of groups with scales are floats");
    result.type = QGEMM_TYPE_S32;
    fails(qgemm_gemm(NULL, &lhs.operand, &grouped_rhs, &result, NULL, 0, NULL), QGEMM_STATUS_STAGE_ORDER,
          "the result is of integers, but the last stage gives floats");
    qgemm_packed_free(packed_lhs);
    qgemm_packed_free(packed_rhs);
}

static void wrong_memory(void) {
    struct weights w = faultless();
    size_t size;
    CHECK(qgemm_pack_size(&w.operand, &w.options, &size) == QGEMM_STATUS_OK);
    void *aligned = allocate_aligned(2 * size);
    memset(aligned, FILLED, 2 * size);
    char text[200];
    w.options.memory_size = size;
    packing_fails(&w, QGEMM_STATUS_NULL_POINTER, "options->memory is null, but must not be");
    for (int shift = 1; shift < QGEMM_PACKED_ALIGNMENT; shift *= 2) {
        w.options.memory = (char *)aligned + shift;
        packing_fails(&w, QGEMM_STATUS_ALIGNMENT,
                      "options->memory is not aligned: its address must be a multiple of 64");
    }
    w.options.memory = aligned;
    w.options.memory_size = size - 1;
    snprintf(text, sizeof text, "options->memory_size is %zu, but must be at least %zu", size - 1, size);
    packing_fails(&w, QGEMM_STATUS_WORKSPACE, text);
    w.options.memory_size = SIZE_MAX;
    packing_fails(&w, QGEMM_STATUS_TOO_LARGE,
                  "options->memory reaches beyond the address space with these sizes and this stride");
    w.options.memory_size = 2 * size;
    w.operand.data = (char *)aligned + size - 1;
    packing_fails(&w, QGEMM_STATUS_OVERLAP, "options->memory overlaps operand, which is still to be read");
    w.operand.data = elements;
    w.operand.offset.axis = QGEMM_PER_ROW;
    w.operand.offset.data = (int32_t *)aligned;
    w.operand.offset.len = 5;
    packing_fails(&w, QGEMM_STATUS_OVERLAP, "options->memory overlaps operand, which is still to be read");
    CHECK(is_filled(aligned, 2 * size));
    free(aligned);
}

static void wrong_pointers(void) {
    struct weights w = faultless();
    qgemm_packed *packed = pack(&w);
    char untouched[256];
    memset(untouched, FILLED, sizeof untouched);
    void *odd = untouched + 1 + (uintptr_t)untouched % 2;
    size_t *size = (size_t *)(void *)untouched;
    const void *bytes = untouched;
    fails(qgemm_pack(NULL, &w.options, &packed), QGEMM_STATUS_NULL_POINTER, "operand is null, but must not be");
    fails(qgemm_pack(&w.operand, NULL, &packed), QGEMM_STATUS_NULL_POINTER, "options is null, but must not be");
    fails(qgemm_pack(&w.operand, &w.options, NULL), QGEMM_STATUS_NULL_POINTER, "packed is null, but must not be");
    fails(qgemm_pack(&w.operand, &w.options, odd), QGEMM_STATUS_ALIGNMENT,
          "packed is not aligned: its address must be a multiple of 8");
    fails(qgemm_pack_size(&w.operand, &w.options, NULL), QGEMM_STATUS_NULL_POINTER, "size is null, but must not be");
    fails(qgemm_packed_bytes(NULL, &bytes, size), QGEMM_STATUS_NULL_POINTER, "packed is null, but must not be");
    fails(qgemm_packed_bytes(packed, NULL, size), QGEMM_STATUS_NULL_POINTER, "bytes is null, but must not be");
    fails(qgemm_packed_bytes(packed, &bytes, NULL), QGEMM_STATUS_NULL_POINTER, "size is null, but must not be");
    fails(qgemm_packed_bytes(packed, &bytes, odd), QGEMM_STATUS_ALIGNMENT,
          "size is not aligned: its address must be a multiple of 8");
    fails(qgemm_packed_portable_size(NULL, size), QGEMM_STATUS_NULL_POINTER, "packed is null, but must not be");
    fails(qgemm_packed_portable_size(packed, NULL), QGEMM_STATUS_NULL_POINTER, "size is null, but must not be");
    fails(qgemm_packed_save_portable(NULL, untouched, 256), QGEMM_STATUS_NULL_POINTER, "packed is null, but must not be");
    fails(qgemm_packed_save_portable(packed, NULL, 256), QGEMM_STATUS_NULL_POINTER, "bytes is null, but must not be");
    // A header of 128 bytes and 30 elements.
    fails(qgemm_packed_save_portable(packed, untouched, 157), QGEMM_STATUS_WORKSPACE,
          "size is 157, but must be at least 158");
    fails(qgemm_packed_load(NULL, 0, &packed), QGEMM_STATUS_NULL_POINTER, "bytes is null, but must not be");
    fails(qgemm_packed_load(untouched, 256, NULL), QGEMM_STATUS_NULL_POINTER, "packed is null, but must not be");
    fails(qgemm_packed_load(untouched, SIZE_MAX, &packed), QGEMM_STATUS_TOO_LARGE,
          "bytes reaches beyond the address space with these sizes and this stride");
    fails(qgemm_packed_load(untouched, 256, &packed), QGEMM_STATUS_PACKED_DAMAGED,
          "bytes hold no packed operand, or a damaged one: they do not begin as one");
    CHECK(is_filled(untouched, sizeof untouched) && bytes == untouched);
    struct form form = packed_form(packed);
    qgemm_packed *loaded;
    CHECK(qgemm_packed_load(form.bytes, form.size, &loaded) == QGEMM_STATUS_OK);
    fails(qgemm_packed_save_portable(loaded, form.bytes + form.size - 1, 1000), QGEMM_STATUS_OVERLAP,
          "bytes overlaps packed, which is still to be read");
    CHECK(alike(packed, loaded));
    qgemm_packed_free(loaded);
    free(form.bytes);
    qgemm_packed_free(packed);
    qgemm_packed_free(NULL);
}

int main(void) {
    skip_unless_supported();
    wrong_operands();
    wrong_options();
    wrong_groups();
    elements_of_too_many_bits();
    wrong_products_of_groups();
    wrong_memory();
    wrong_pointers();
    return 0;
}
