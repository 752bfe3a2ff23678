// Every wrong qgemm_bit_depth: the status, an error that names the field, and a result that stays as it was. And what an
// overlap, overflow checks and workspaces have to do with it.

#include "check.h"
#include "faultless.h"
#include "requantized.h"

#include <string.h>

static qgemm_bit_depth depth;

// Sums with 7 bits of lhs and 5 of rhs.
static struct call rounded_sums(void) {
    struct call c = sums();
    const qgemm_bit_depth none = QGEMM_BIT_DEPTH_INIT;
    depth = none;
    depth.lhs_bits = 7;
    depth.rhs_bits = 5;
    depth.flags = QGEMM_REQUANTIZE_ALWAYS;
    c.options.bit_depth = &depth;
    return c;
}

static void rounded_works(const struct call *c) {
    int32_t expected[M * N];
    fill_memory();
    requantized_sums(&depth, &c->lhs, &c->rhs, expected);
    CHECK(make(c) == QGEMM_STATUS_OK);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            CHECK(((const int32_t *)c->result.data)[i * c->result.stride + j] == expected[i * N + j]);
}

// Fails, and so does the question for the workspace.
static void depth_fails(qgemm_status status, const char *name, const char *why) {
    struct call c = sums();
    c.options.bit_depth = &depth;
    fails(&c, status, name, why);
    size_t size = 77;
    CHECK(qgemm_gemm_workspace_size_with(NULL, &c.lhs, &c.rhs, &c.result, &c.options, &size) == status);
    CHECK(last_error_says(name, why) && size == 77);
}

static void bits(void) {
    const uint32_t wrong[] = {9, 255, 256 + 7, UINT32_MAX};
    const char *lhs[] = {"options->bit_depth->lhs_bits is 9", "lhs_bits is 255", "lhs_bits is 263",
                         "lhs_bits is 4294967295"};
    const char *rhs[] = {"options->bit_depth->rhs_bits is 9", "rhs_bits is 255", "rhs_bits is 263",
                         "rhs_bits is 4294967295"};
    for (int i = 0; i < 4; i++) {
        rounded_sums();
        depth.lhs_bits = wrong[i];
        depth_fails(QGEMM_STATUS_BIT_DEPTH, lhs[i], "1 to 8, or 0 for all 8");
        rounded_sums();
        depth.rhs_bits = wrong[i];
        depth_fails(QGEMM_STATUS_BIT_DEPTH, rhs[i], "1 to 8, or 0 for all 8");
    }
    struct call c = rounded_sums();
    for (depth.lhs_bits = 0; depth.lhs_bits <= 8; depth.lhs_bits++)
        for (depth.rhs_bits = 0; depth.rhs_bits <= 8; depth.rhs_bits++)
            rounded_works(&c);
}

static void roundings(void) {
    const uint32_t wrong[] = {QGEMM_REQUANTIZE_COMPENSATED + 1, UINT32_MAX};
    const char *below[] = {"options->bit_depth->rounding_below is 5", "rounding_below is 4294967295"};
    const char *from[] = {"options->bit_depth->rounding_from is 5", "rounding_from is 4294967295"};
    for (int i = 0; i < 2; i++) {
        rounded_sums();
        depth.rounding_below = wrong[i];
        depth_fails(QGEMM_STATUS_BIT_DEPTH, below[i], "QGEMM_REQUANTIZE_NEAREST (1)");
        rounded_sums();
        depth.rounding_from = wrong[i];
        depth_fails(QGEMM_STATUS_BIT_DEPTH, from[i], "QGEMM_REQUANTIZE_NEAREST (1)");
    }
    struct call c = rounded_sums();
    for (depth.threshold = 0; depth.threshold <= 1; depth.threshold++)
        for (depth.rounding_below = 0; depth.rounding_below <= QGEMM_REQUANTIZE_COMPENSATED; depth.rounding_below++)
            for (depth.rounding_from = 0; depth.rounding_from <= QGEMM_REQUANTIZE_COMPENSATED; depth.rounding_from++)
                rounded_works(&c);
}

static void thresholds(void) {
    rounded_sums();
    depth.threshold = -1;
    depth_fails(QGEMM_STATUS_BIT_DEPTH, "options->bit_depth->threshold is -1", "0 for 384");
    depth.threshold = INT64_MIN;
    depth_fails(QGEMM_STATUS_BIT_DEPTH, "options->bit_depth->threshold is -9223372036854775808", "0 for 384");
    struct call c = rounded_sums();
    depth.threshold = INT64_MAX;
    rounded_works(&c);
}

static void flags(void) {
    rounded_sums();
    depth.flags = 2;
    depth_fails(QGEMM_STATUS_OPTION, "options->bit_depth->flags is 2", "does not know");
    depth.flags = UINT32_MAX;
    depth_fails(QGEMM_STATUS_OPTION, "options->bit_depth->flags is 4294967295", "does not know");
    rounded_sums();
    depth.reserved = 1;
    depth_fails(QGEMM_STATUS_OPTION, "options->bit_depth->reserved", "must be 0");
    // Where it is not worth it the product is exact.
    struct call c = rounded_sums();
    depth.flags = 0;
    works(&c);
}

static void struct_sizes(void) {
    const size_t sizes[] = {0, 7, sizeof depth - 8, sizeof depth - 1, sizeof depth + 1, 4096 + 8, SIZE_MAX};
    for (int i = 0; i < 7; i++) {
        rounded_sums();
        depth.struct_size = sizes[i];
        depth_fails(QGEMM_STATUS_STRUCT_SIZE, "options->bit_depth->struct_size", "sizeof");
    }
    struct {
        qgemm_bit_depth known;
        uint64_t later;
    } longer;
    struct call c = rounded_sums();
    longer.known = depth;
    longer.known.struct_size = sizeof longer;
    longer.later = 0;
    c.options.bit_depth = &longer.known;
    rounded_works(&c);
    longer.later = 1;
    fails(&c, QGEMM_STATUS_STRUCT_SIZE, "*options->bit_depth", "all that this libqgemm knows");
    union {
        uint8_t bytes[2 * sizeof(qgemm_bit_depth)];
        void *pointer;
    } room;
    memcpy(room.bytes + 4, &depth, sizeof depth);
    c.options.bit_depth = (const void *)(room.bytes + 4);
    fails(&c, QGEMM_STATUS_ALIGNMENT, "options->bit_depth is not aligned", "multiple of 8");
}

static void overlaps(void) {
    struct call c = rounded_sums();
    c.result.data = memory.bytes + LHS;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps lhs", "");
    // The operands may.
    c = rounded_sums();
    c.rhs.data = c.lhs.data;
    rounded_works(&c);
}

// The bound is k (255 + |a|) (255 + |b|) and a little for rounding, in terms of elements from 0 to 255.
static void overflow(void) {
    struct call c = rounded_sums();
    c.options.flags = QGEMM_CHECK_OVERFLOW;
    c.rhs.type = QGEMM_TYPE_U8;
    const int32_t most = INT32_MAX / K / 255 - 255;
    c.lhs.offset.value = most;
    rounded_works(&c);
    c.lhs.offset.value = -most;
    rounded_works(&c);
    c.lhs.offset.value = most + 1;
    fails(&c, QGEMM_STATUS_OVERFLOW, "a sum could reach", "beyond 32 bits");
    c.lhs.offset.value = -most - 1;
    fails(&c, QGEMM_STATUS_OVERFLOW, "a sum could reach", "beyond 32 bits");
    c.options.flags = 0;
    rounded_works(&c);
}

static void workspaces(void) {
    struct call c = rounded_sums();
    size_t size, exact_size;
    CHECK(qgemm_gemm_workspace_size_with(NULL, &c.lhs, &c.rhs, &c.result, &c.options, &size) == QGEMM_STATUS_OK);
    CHECK(qgemm_gemm_workspace_size_with(NULL, &c.lhs, &c.rhs, &c.result, NULL, &exact_size) == QGEMM_STATUS_OK);
    size_t same;
    CHECK(qgemm_gemm_workspace_size(NULL, &c.lhs, &c.rhs, &c.result, &same) == QGEMM_STATUS_OK);
    CHECK(same == exact_size);
    uint8_t *workspace = malloc(size);
    CHECK(workspace != NULL);
    c.options.workspace = workspace;
    c.options.workspace_size = size;
    rounded_works(&c);
    c.options.workspace_size = size - 1;
    fails(&c, QGEMM_STATUS_WORKSPACE, "workspace_size", "at least");
    free(workspace);
}

int main(void) {
    skip_unless_supported();
    bits();
    roundings();
    thresholds();
    flags();
    struct_sizes();
    overlaps();
    overflow();
    workspaces();
    return 0;
}
