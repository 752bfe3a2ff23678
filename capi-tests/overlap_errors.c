// Results of qgemm_gemm that overlap what is still to be read: refused, but not where they only come close.

#include "check.h"
#include "faultless.h"

static void overlaps_with_operands(void) {
    struct call right = sums(), c = right;
    uint8_t *begin = right.result.data, *end = begin + extent_of_result(&right);
    const size_t lhs_bytes = (M - 1) * 9 + K;
    c.lhs.data = begin;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps lhs", "");
    c.lhs.data = end - 1;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps lhs", "");
    c.lhs.data = end;
    works(&c);
    c.lhs.data = begin - lhs_bytes + 1;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps lhs", "");
    c.lhs.data = begin - lhs_bytes;
    works(&c);
    c = right;
    c.rhs.data = begin;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps rhs", "");
    c.rhs.data = end - 1;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps rhs", "");
    c.rhs.data = end;
    works(&c);
    // Both operands may share what they like.
    c = right;
    c.rhs.data = (const uint8_t *)c.lhs.data + 3;
    works(&c);
}

// Columns of one larger matrix: nothing is shared but the rows.
static void neighbours_do_not_overlap(void) {
    struct call c = sums();
    uint8_t *begin = c.result.data;
    c.result.stride = 16;
    c.lhs.stride = c.rhs.stride = 64;
    c.lhs.data = begin + 4 * N;
    c.rhs.data = begin + 4 * N + K;
    c.rhs.cols = c.result.cols = N;
    works(&c);
    c.lhs.data = begin + 4 * N - 1;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps lhs", "");
}

static void overlaps_with_offsets(void) {
    for (int side = 0; side < 2; side++) {
        struct call c = sums_with_offsets();
        qgemm_operand *operand = side == 0 ? &c.lhs : &c.rhs;
        const int32_t *begin = c.result.data, *end = begin + extent_of_result(&c) / 4;
        int count = side == 0 ? M : N;
        const char *text = side == 0 ? "result overlaps lhs" : "result overlaps rhs";
        const int32_t *wrong[] = {begin, begin - count + 1, end - 1};
        for (int i = 0; i < 3; i++) {
            operand->offset.data = wrong[i];
            fails(&c, QGEMM_STATUS_OVERLAP, text, "");
        }
        operand->offset.data = begin - count;
        works(&c);
        operand->offset.data = end;
        works(&c);
        // More values than there are lines do not count.
        operand->offset.data = begin - count;
        operand->offset.len = count + 1;
        works(&c);
    }
}

static int32_t *const vector = memory.integers + VECTORS / 4;

static void overlaps_with_parameters(void) {
    for (int i = 0; i < VALUES; i++)
        for (uint32_t axis = QGEMM_PER_ROW; axis <= QGEMM_PER_COL; axis++) {
            const struct values *values = &all_values[i];
            int count = axis == QGEMM_PER_ROW ? M : N;
            struct call c = call_with(values->kind);
            // Right values among the elements of the result.
            int32_t *begin = vector + 2 * N, *end = begin + (M - 1) * 10 + N;
            c.result.data = begin;
            for (int32_t *x = begin - count; x < end + count; x++)
                *x = values->right;
            int32_t *wrong[] = {begin, begin - count + 1, end - 1};
            for (int j = 0; j < 3; j++) {
                qgemm_i32_values given = {wrong[j], count, 0, axis};
                put(&c, values, given);
                fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps", "parameter");
                CHECK(*begin == values->right && *(end - 1) == values->right);
            }
            qgemm_i32_values before = {begin - count, count + 1, 0, axis}, behind = {end, count, 0, axis};
            put(&c, values, before);
            works(&c);
            put(&c, values, behind);
            works(&c);
        }
}

// A residual is in the result's place, or nowhere near.
static void overlaps_with_residuals(void) {
    struct call right = call_with(QGEMM_STAGE_RESIDUAL), c = right;
    qgemm_stage_residual *r = &c.stages[1].u.residual;
    uint8_t *begin = c.result.data, *end = begin + extent_of_result(&c);
    const qgemm_stage_residual in_place = {begin, 10, QGEMM_TYPE_S32, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0};
    *r = in_place;
    works(&c);
    const qgemm_stage_residual wrong[] = {
        {begin + 4, 10, QGEMM_TYPE_S32, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0},
        {begin - 4, 10, QGEMM_TYPE_S32, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0},
        {begin, 10, QGEMM_TYPE_S32, QGEMM_COL_MAJOR, 3, 1 << 30, -1, 0},
        {begin, 9, QGEMM_TYPE_S32, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0},
        {begin, 0, QGEMM_TYPE_S32, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0},
        {begin, 20, QGEMM_TYPE_S16, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0},
        {begin, 40, QGEMM_TYPE_U8, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0},
        {end - 4, 10, QGEMM_TYPE_S32, QGEMM_ROW_MAJOR, 3, 1 << 30, -1, 0},
    };
    for (int i = 0; i < 8; i++) {
        *r = wrong[i];
        fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps", "residual");
    }
    *r = in_place;
    r->data = end;
    works(&c);
    // In the gaps of the result.
    c.result.stride = r->stride = 2 * N;
    r->data = begin + 4 * N;
    works(&c);
}

static void overlaps_with_float_residuals(void) {
    struct call c = call_with(QGEMM_STAGE_RESIDUAL_F32);
    const uint32_t types[] = {QGEMM_TYPE_S32, QGEMM_TYPE_F32};
    qgemm_stage_residual_f32 *r = &c.stages[1].u.residual_f32;
    for (int i = 0; i < 2; i++) {
        const qgemm_stage_residual_f32 in_place = {c.result.data, 10, types[i], QGEMM_ROW_MAJOR, 0, 0.5f};
        *r = in_place;
        works(&c);
        r->stride = 11;
        fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps", "residual");
    }
    r->type = QGEMM_TYPE_S16;
    r->stride = 10;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps", "residual");
}

static void overlaps_with_packed_operands(void) {
    static union {
        uint8_t bytes[1 << 16];
        int32_t integers[1 << 14];
    } room;
    uint8_t *begin = room.bytes + QGEMM_PACKED_ALIGNMENT - (uintptr_t)room.bytes % QGEMM_PACKED_ALIGNMENT + 4096;
    struct call c = sums();
    fill_memory();
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS;
    options.memory = begin;
    options.memory_size = 1 << 15;
    qgemm_packed *packed;
    CHECK(qgemm_pack(&c.rhs, &options, &packed) == QGEMM_STATUS_OK);
    const void *bytes;
    size_t size;
    CHECK(qgemm_packed_bytes(packed, &bytes, &size) == QGEMM_STATUS_OK && bytes == begin);
    c.rhs.data = NULL;
    c.rhs.packed = packed;
    uint8_t *wrong[] = {begin, begin + size - 4, begin - extent_of_result(&c) + 4};
    for (int i = 0; i < 3; i++) {
        c.result.data = wrong[i];
        fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps rhs", "");
    }
    c.result.data = begin + size;
    CHECK(make(&c) == QGEMM_STATUS_OK);
    c.result.data = begin - extent_of_result(&c);
    CHECK(make(&c) == QGEMM_STATUS_OK);
    qgemm_packed_free(packed);
}

// A workspace that begins at the last byte of what is in use, or ends at the first.
static void workspace_fails(struct call *c, const void *used, size_t size, const char *text) {
    uint8_t *begin = (uint8_t *)(uintptr_t)used;
    CHECK(qgemm_gemm_workspace_size(NULL, &c->lhs, &c->rhs, &c->result, &c->options.workspace_size) == QGEMM_STATUS_OK);
    c->options.workspace = begin + size - 1;
    fails(c, QGEMM_STATUS_OVERLAP, "options->workspace overlaps", text);
    c->options.workspace = begin - c->options.workspace_size + 1;
    fails(c, QGEMM_STATUS_OVERLAP, "options->workspace overlaps", text);
}

// What is in use lies in the middle of so much room that the workspace overlaps nothing else.
static void overlaps_with_workspaces(void) {
    static union {
        uint8_t bytes[1 << 17];
        int32_t integers[1 << 15];
    } room;
    int32_t *used = room.integers + (1 << 14);
    struct call c = sums();
    c.result.data = used;
    workspace_fails(&c, used, extent_of_result(&c), "result");
    c = sums();
    c.lhs.data = used;
    workspace_fails(&c, used, (M - 1) * 9 + K, "lhs");
    c = sums();
    c.rhs.data = used;
    workspace_fails(&c, used, (K - 1) * 11 + N, "rhs");
    c = sums_with_offsets();
    c.lhs.offset.data = used;
    workspace_fails(&c, used, M * sizeof *used, "lhs");
    c = sums_with_offsets();
    c.rhs.offset.data = used;
    workspace_fails(&c, used, N * sizeof *used, "rhs");
    for (int i = 0; i < VALUES; i++) {
        for (int j = 0; j < N; j++)
            used[j] = all_values[i].right;
        qgemm_i32_values per_col = {used, N, 0, QGEMM_PER_COL};
        c = call_with(all_values[i].kind);
        put(&c, &all_values[i], per_col);
        workspace_fails(&c, used, N * sizeof *used, "stage");
    }
    c = call_with(QGEMM_STAGE_RESIDUAL);
    c.stages[1].u.residual.data = used;
    workspace_fails(&c, used, ((M - 1) * 12 + N) * sizeof(int16_t), "stage");
}

int main(void) {
    skip_unless_supported();
    overlaps_with_operands();
    neighbours_do_not_overlap();
    overlaps_with_offsets();
    overlaps_with_parameters();
    overlaps_with_residuals();
    overlaps_with_float_residuals();
    overlaps_with_packed_operands();
    overlaps_with_workspaces();
    return 0;
}
