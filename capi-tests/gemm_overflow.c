// QGEMM_CHECK_OVERFLOW, near the depths and offsets at which a sum could leave 32 bits: then the call has to fail, and
// below not; where it does not fail, no sum may have wrapped around.

#include "check.h"
#include "random.h"

#include <string.h>

enum { MOST_LINES = 3, MOST_DEPTH = 140000, CASES = 400 };

// One side of a product: so many lines, each with its offset.
struct side {
    int lines;
    uint32_t type;
    int is_packed;
    uint8_t *elements;  // line by line
    int32_t offsets[MOST_LINES];
    // What the operand was packed with: the offsets above, or others.
    int is_declared;
};

struct product {
    struct side lhs, rhs;
    int depth;
};

static int64_t least_element(const struct side *side) {
    return side->type == QGEMM_TYPE_U8 ? 0 : -128;
}

static int64_t greatest_element(const struct side *side) {
    return side->type == QGEMM_TYPE_U8 ? 255 : 127;
}

// With its offset.
static int64_t element(const struct side *side, int depth, int line, int d) {
    uint8_t byte = side->elements[line * depth + d];
    return (side->type == QGEMM_TYPE_U8 ? byte : (int8_t)byte) + (int64_t)side->offsets[line];
}

static int64_t min(int64_t x, int64_t y) {
    return x < y ? x : y;
}

static int64_t max(int64_t x, int64_t y) {
    return x > y ? x : y;
}

static int64_t distance(int64_t x) {
    return x < 0 ? -x : x;
}

// The least and the greatest sum that two lines could give, as far as their elements are not known: those of packed
// operands are.
static void range_of_sum(const struct product *p, int i, int j, int64_t *least, int64_t *greatest) {
    *least = *greatest = 0;
    for (int d = 0; d < p->depth; d++) {
        int64_t a[2] = {least_element(&p->lhs) + p->lhs.offsets[i], greatest_element(&p->lhs) + p->lhs.offsets[i]};
        int64_t b[2] = {least_element(&p->rhs) + p->rhs.offsets[j], greatest_element(&p->rhs) + p->rhs.offsets[j]};
        if (p->lhs.is_packed)
            a[0] = a[1] = element(&p->lhs, p->depth, i, d);
        if (p->rhs.is_packed)
            b[0] = b[1] = element(&p->rhs, p->depth, j, d);
        *least += min(min(a[0] * b[0], a[0] * b[1]), min(a[1] * b[0], a[1] * b[1]));
        *greatest += max(max(a[0] * b[0], a[0] * b[1]), max(a[1] * b[0], a[1] * b[1]));
    }
}

static int a_sum_could_leave(const struct product *p) {
    for (int i = 0; i < p->lhs.lines; i++)
        for (int j = 0; j < p->rhs.lines; j++) {
            int64_t least, greatest;
            range_of_sum(p, i, j, &least, &greatest);
            if (least < INT32_MIN || greatest > INT32_MAX)
                return 1;
        }
    return 0;
}

// How far from 0 an element of its type can be, with its offset.
static int64_t farthest(const struct side *side) {
    int64_t most = 0;
    for (int line = 0; line < side->lines; line++) {
        int64_t offset = side->offsets[line];
        most = max(most, max(distance(least_element(side) + offset), distance(greatest_element(side) + offset)));
    }
    return most;
}

// How far from 0 the elements of a line are together.
static int64_t total(const struct side *side, int depth) {
    int64_t most = 0;
    for (int line = 0; line < side->lines; line++) {
        int64_t sum = 0;
        for (int d = 0; d < depth; d++)
            sum += distance(element(side, depth, line, d));
        most = max(most, sum);
    }
    return most;
}

// By the types and offsets alone, or by the values of an operand that was packed with just these offsets.
static int no_sum_can_leave(const struct product *p) {
    if (p->lhs.lines == 0 || p->rhs.lines == 0)
        return 1;
    int64_t bound = farthest(&p->lhs) * farthest(&p->rhs) * p->depth;
    if (p->lhs.is_packed && p->lhs.is_declared)
        bound = min(bound, total(&p->lhs, p->depth) * farthest(&p->rhs));
    if (p->rhs.is_packed && p->rhs.is_declared)
        bound = min(bound, total(&p->rhs, p->depth) * farthest(&p->lhs));
    return bound <= INT32_MAX;
}

static void report(const struct product *p, const char *what) {
    const struct side *sides[] = {&p->lhs, &p->rhs};
    fprintf(stderr, "%s at depth %d, kernel %s", what, p->depth, qgemm_kernel_name());
    for (int i = 0; i < 2; i++) {
        const struct side *side = sides[i];
        fprintf(stderr, "\n    %s: %d lines of %s%s, offsets %d %d %d", i == 0 ? "lhs" : "rhs", side->lines,
                side->type == QGEMM_TYPE_U8 ? "u8" : "s8",
                !side->is_packed ? "" : side->is_declared ? ", packed with them" : ", packed with other offsets",
                (int)side->offsets[0], (int)side->offsets[1], (int)side->offsets[2]);
    }
    fprintf(stderr, "\n");
    exit(1);
}

static qgemm_packed *pack(const struct side *side, qgemm_operand *operand, int is_lhs) {
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = is_lhs ? QGEMM_LHS : QGEMM_RHS;
    qgemm_operand declared = *operand;
    qgemm_i32_values none = {NULL, 0, 5, QGEMM_UNIFORM};
    if (!side->is_declared)
        declared.offset = none;
    qgemm_packed *packed;
    CHECK(qgemm_pack(&declared, &options, &packed) == QGEMM_STATUS_OK);
    operand->packed = packed;
    operand->data = NULL;
    return packed;
}

// The lines are rows of lhs or columns of rhs. With one offset for all, if they are the same.
static qgemm_operand operand_of(const struct side *side, int depth, int is_lhs) {
    qgemm_operand operand = QGEMM_OPERAND_INIT;
    operand.data = side->elements;
    operand.rows = is_lhs ? side->lines : depth;
    operand.cols = is_lhs ? depth : side->lines;
    operand.type = side->type;
    operand.order = is_lhs ? QGEMM_ROW_MAJOR : QGEMM_COL_MAJOR;
    int is_uniform = side->offsets[0] == side->offsets[1] && side->offsets[0] == side->offsets[2];
    qgemm_i32_values uniform = {NULL, 0, side->offsets[0], QGEMM_UNIFORM};
    qgemm_i32_values per_line = {side->offsets, side->lines, 0, is_lhs ? QGEMM_PER_ROW : QGEMM_PER_COL};
    operand.offset = is_uniform ? uniform : per_line;
    return operand;
}

static void check_sums(const struct product *p, const int32_t *found) {
    for (int i = 0; i < p->lhs.lines; i++)
        for (int j = 0; j < p->rhs.lines; j++) {
            int64_t sum = 0;
            for (int d = 0; d < p->depth; d++)
                sum += element(&p->lhs, p->depth, i, d) * element(&p->rhs, p->depth, j, d);
            if (found[i * p->rhs.lines + j] != sum)
                report(p, "a sum is wrong");
        }
}

static void test(const struct product *p) {
    qgemm_operand lhs = operand_of(&p->lhs, p->depth, 1), rhs = operand_of(&p->rhs, p->depth, 0);
    qgemm_packed *packed_lhs = p->lhs.is_packed ? pack(&p->lhs, &lhs, 1) : NULL;
    qgemm_packed *packed_rhs = p->rhs.is_packed ? pack(&p->rhs, &rhs, 0) : NULL;
    int32_t sums[MOST_LINES * MOST_LINES];
    memset(sums, 0xA5, sizeof sums);
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = sums;
    result.rows = p->lhs.lines;
    result.cols = p->rhs.lines;
    result.type = QGEMM_TYPE_S32;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.flags = QGEMM_CHECK_OVERFLOW;
    qgemm_status status = qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, &options);
    if (status == QGEMM_STATUS_OK) {
        if (a_sum_could_leave(p))
            report(p, "a sum could leave 32 bits");
        check_sums(p, sums);
    } else {
        if (status != QGEMM_STATUS_OVERFLOW || strstr(qgemm_last_error(), "beyond 32 bits") == NULL)
            report(p, qgemm_last_error());
        if (no_sum_can_leave(p))
            report(p, "no sum can leave 32 bits");
        for (size_t i = 0; i < sizeof sums; i++)
            CHECK(((const uint8_t *)sums)[i] == 0xA5);
        CHECK(qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    }
    qgemm_packed_free(packed_lhs);
    qgemm_packed_free(packed_rhs);
}

static uint8_t lhs_elements[MOST_LINES * MOST_DEPTH], rhs_elements[MOST_LINES * MOST_DEPTH];

// Of any size up to a million.
static int32_t random_offset(struct seed *seed) {
    int32_t size = (int32_t)(next_u32(seed) >> (12 + below(seed, 20)));
    return one_in(seed, 2) ? size : -size;
}

static struct side random_side(struct seed *seed, uint8_t *elements) {
    struct side side = {.lines = 1 + below(seed, MOST_LINES), .elements = elements, .is_packed = one_in(seed, 2)};
    side.type = one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    side.is_declared = !one_in(seed, 3);
    int is_uniform = one_in(seed, 2);
    for (int i = 0; i < MOST_LINES; i++)
        side.offsets[i] = i > 0 && is_uniform ? side.offsets[0] : random_offset(seed);
    return side;
}

// All the greatest, all the least, or anything.
static void fill(struct side *side, int depth, struct seed *seed) {
    int style = below(seed, 4);
    for (int i = 0; i < side->lines * depth; i++)
        side->elements[i] = style == 0   ? (uint8_t)greatest_element(side)
                            : style == 1 ? (uint8_t)least_element(side)
                                         : (uint8_t)next_u32(seed);
}

static void test_depth(struct product *p, int64_t depth, struct seed *seed) {
    if (depth < 0 || depth > MOST_DEPTH)
        return;
    p->depth = (int)depth;
    fill(&p->lhs, p->depth, seed);
    fill(&p->rhs, p->depth, seed);
    test(p);
}

// The depths at which types and offsets begin to allow too much, and any less.
static void test_random_depths(struct seed *seed) {
    struct product p = {.lhs = random_side(seed, lhs_elements), .rhs = random_side(seed, rhs_elements)};
    int64_t limit = INT32_MAX / max(1, farthest(&p.lhs) * farthest(&p.rhs));
    test_depth(&p, limit, seed);
    test_depth(&p, limit + 1, seed);
    test_depth(&p, (int64_t)between(seed, 0, (double)min(2 * limit, MOST_DEPTH)), seed);
}

// Of a packed operand all values count: the offsets of the other side at which they begin to be too much.
static void test_offsets_near_the_limit_of(struct side *packed, struct side *other, struct product *p) {
    packed->is_packed = packed->is_declared = 1;
    other->is_packed = 0;
    other->lines = 1;
    int64_t limit = INT32_MAX / max(1, total(packed, p->depth));
    for (int64_t beyond = -1; beyond <= 1; beyond++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int64_t end = sign > 0 ? greatest_element(other) : least_element(other);
            int64_t offset = sign * (limit + beyond) - end;
            if (offset < -1000000 || offset > 1000000)
                continue;
            for (int i = 0; i < MOST_LINES; i++)
                other->offsets[i] = (int32_t)offset;
            test(p);
        }
}

static void test_random_values(struct seed *seed) {
    struct product p = {.lhs = random_side(seed, lhs_elements), .rhs = random_side(seed, rhs_elements)};
    p.depth = 1 + below(seed, 3000);
    fill(&p.lhs, p.depth, seed);
    fill(&p.rhs, p.depth, seed);
    if (one_in(seed, 2))
        test_offsets_near_the_limit_of(&p.lhs, &p.rhs, &p);
    else
        test_offsets_near_the_limit_of(&p.rhs, &p.lhs, &p);
}

// One product, or none, of the greatest that there are.
static void test_extreme_offsets(struct seed *seed) {
    const int32_t extremes[] = {INT32_MIN, INT32_MIN + 128, -46341,    -46340, 0, 46340,
                                46341,     INT32_MAX - 255, INT32_MAX};
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) {
            struct product p = {.lhs = random_side(seed, lhs_elements), .rhs = random_side(seed, rhs_elements)};
            p.lhs.offsets[0] = p.lhs.offsets[1] = p.lhs.offsets[2] = extremes[i];
            p.rhs.offsets[0] = p.rhs.offsets[1] = p.rhs.offsets[2] = extremes[j];
            test_depth(&p, one_in(seed, 4) ? 0 : 1, seed);
        }
}

// Up to 33025 products of bytes less their zero points fit, whatever the types; and one more does not.
static void test_the_documented_depth(struct seed *seed) {
    for (int zero_points = 0; zero_points < 256; zero_points += 51) {
        struct product p = {.lhs = random_side(seed, lhs_elements), .rhs = random_side(seed, rhs_elements)};
        p.lhs.is_packed = p.rhs.is_packed = 0;
        for (int i = 0; i < MOST_LINES; i++) {
            p.lhs.offsets[i] = (int32_t)(-least_element(&p.lhs) - zero_points);
            p.rhs.offsets[i] = (int32_t)(-least_element(&p.rhs) - zero_points);
        }
        test_depth(&p, 33025, seed);
        CHECK(no_sum_can_leave(&p));
        test_depth(&p, 33026, seed);
    }
}

// 131072 times -128 times -128 is 2^31, the least sum that is too great.
static void test_the_least_sum_that_is_too_great(struct seed *seed) {
    struct product p = {.lhs = random_side(seed, lhs_elements), .rhs = random_side(seed, rhs_elements)};
    p.lhs.is_packed = p.rhs.is_packed = 0;
    p.lhs.type = p.rhs.type = QGEMM_TYPE_S8;
    memset(p.lhs.offsets, 0, sizeof p.lhs.offsets);
    memset(p.rhs.offsets, 0, sizeof p.rhs.offsets);
    test_depth(&p, 131071, seed);
    CHECK(no_sum_can_leave(&p));
    test_depth(&p, 131072, seed);
    CHECK(a_sum_could_leave(&p));
}

int main(void) {
    skip_unless_supported();
    struct seed seed = {31};
    for (int i = 0; i < CASES; i++) {
        test_random_depths(&seed);
        test_random_values(&seed);
    }
    test_extreme_offsets(&seed);
    test_the_documented_depth(&seed);
    test_the_least_sum_that_is_too_great(&seed);
    return 0;
}
