// What is promised of the elements of an operand: which promises are none, and QGEMM_CHECK_RANGE, which finds each element
// that breaks one, wherever it is, in whatever order, packed or not.

#include "check.h"
#include "faultless.h"
#include "plot.h"
#include "random.h"

#include <string.h>

/* Promises that are none */

static void promise_fails(uint32_t type, int32_t least, int32_t greatest, const char *name, const char *why) {
    for (int side = 0; side < 2; side++) {
        struct call c = sums();
        qgemm_operand *operand = side == 0 ? &c.lhs : &c.rhs;
        char full_name[64];
        operand->type = type;
        operand->least = least;
        operand->greatest = greatest;
        snprintf(full_name, sizeof full_name, "%s->%s", side == 0 ? "lhs" : "rhs", name);
        shape_fails(&c, QGEMM_STATUS_PARAMETER, full_name, why);
    }
}

static void promises_that_are_none(void) {
    promise_fails(QGEMM_TYPE_U8, -1, 255, "least is -1", "0 to 255");
    promise_fails(QGEMM_TYPE_U8, 0, 256, "greatest is 256", "0 to 255");
    promise_fails(QGEMM_TYPE_U8, INT32_MIN, INT32_MAX, "least is -2147483648", "0 to 255");
    promise_fails(QGEMM_TYPE_U8, 1, 0, "greatest is 0", "at least what least is");
    promise_fails(QGEMM_TYPE_U8, 0, -1, "greatest is -1", "0 to 255");
    promise_fails(QGEMM_TYPE_S8, -129, 0, "least is -129", "-128 to 127");
    promise_fails(QGEMM_TYPE_S8, 0, 128, "greatest is 128", "-128 to 127");
    promise_fails(QGEMM_TYPE_S8, 5, 4, "greatest is 4", "at least what least is");
}

// Neither is anything looked at without the flag, nor does a promise of all numbers change anything.
static void promises_without_consequences(void) {
    struct call c = sums();
    c.lhs.least = 0;
    c.lhs.greatest = 255;
    c.rhs.least = -128;
    c.rhs.greatest = 127;
    works(&c);
    c.options.flags = QGEMM_CHECK_RANGE;
    works(&c);
    // Nothing is promised.
    c.lhs.greatest = c.rhs.least = c.rhs.greatest = 0;
    works(&c);
}

/* Elements that break a promise */

enum { ROWS = 19, COLS = 70, OTHER = 3 };

struct product {
    qgemm_operand tested, other;
    // Of `tested`.
    uint32_t side;
    // The elements lie between inaccessible pages.
    struct plot plot;
};

static uint8_t others[COLS * COLS];

static struct product product_of(uint32_t side, uint32_t type, uint32_t order, enum placement placement) {
    struct product p = {QGEMM_OPERAND_INIT, QGEMM_OPERAND_INIT, side, {0}};
    int row_major = order == QGEMM_ROW_MAJOR;
    p.plot = make_plot(row_major ? ROWS : COLS, row_major ? COLS : ROWS, 5, placement);
    fill_with_canaries(&p.plot);
    p.tested.data = p.plot.data;
    p.tested.rows = ROWS;
    p.tested.cols = COLS;
    p.tested.stride = (int64_t)p.plot.stride;
    p.tested.type = type;
    p.tested.order = order;
    p.other.data = others;
    p.other.rows = side == QGEMM_LHS ? COLS : OTHER;
    p.other.cols = side == QGEMM_LHS ? OTHER : ROWS;
    p.other.type = QGEMM_TYPE_U8;
    return p;
}

static uint8_t *element(const struct product *p, int row, int col) {
    int row_major = p->tested.order == QGEMM_ROW_MAJOR;
    return p->plot.data + (size_t)(row_major ? row : col) * p->plot.stride + (row_major ? col : row);
}

// As they lie, or packed.
static qgemm_status multiply(const struct product *p, int is_packed) {
    static int32_t sums[COLS * COLS];
    qgemm_operand tested = p->tested;
    qgemm_packed *packed = NULL;
    if (is_packed) {
        qgemm_pack_options pack_options = QGEMM_PACK_OPTIONS_INIT;
        pack_options.side = p->side;
        // To pack it no promise is needed, nor looked at.
        CHECK(qgemm_pack(&p->tested, &pack_options, &packed) == QGEMM_STATUS_OK);
        tested.packed = packed;
        tested.data = NULL;
    }
    const qgemm_operand *lhs = p->side == QGEMM_LHS ? &tested : &p->other;
    const qgemm_operand *rhs = p->side == QGEMM_LHS ? &p->other : &tested;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = sums;
    result.rows = lhs->rows;
    result.cols = rhs->cols;
    result.type = QGEMM_TYPE_S32;
    result.order = p->tested.order;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.flags = QGEMM_CHECK_RANGE;
    memset(sums, 0xA5, sizeof sums);
    qgemm_status status = qgemm_gemm(NULL, lhs, rhs, &result, NULL, 0, &options);
    for (size_t i = 0; status != QGEMM_STATUS_OK && i < sizeof sums; i++)
        CHECK(((const uint8_t *)sums)[i] == 0xA5);
    qgemm_packed_free(packed);
    return status;
}

static int32_t value_of(const struct product *p, uint8_t byte) {
    return p->tested.type == QGEMM_TYPE_S8 ? (int8_t)byte : byte;
}

// An element that is just outside is found where it is; were it inside, there would be nothing.
static void check_place(struct product *p, int row, int col, int is_above) {
    char expected[100];
    uint8_t *byte = element(p, row, col), before = *byte;
    *byte = (uint8_t)(is_above ? p->tested.greatest + 1 : p->tested.least - 1);
    snprintf(expected, sizeof expected, "%s(%d, %d) is %d, but was promised to be %d to %d",
             p->side == QGEMM_LHS ? "lhs" : "rhs", row, col, (int)value_of(p, *byte), (int)p->tested.least,
             (int)p->tested.greatest);
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        CHECK(multiply(p, is_packed) == QGEMM_STATUS_RANGE);
        if (strcmp(qgemm_last_error(), expected) != 0) {
            fprintf(stderr, "\"%s\" instead of \"%s\"\n", qgemm_last_error(), expected);
            exit(1);
        }
    }
    *byte = (uint8_t)(is_above ? p->tested.greatest : p->tested.least);
    for (int is_packed = 0; is_packed < 2; is_packed++)
        CHECK(multiply(p, is_packed) == QGEMM_STATUS_OK);
    *byte = before;
}

static void check_all_places(struct product *p, int32_t least, int32_t greatest, struct seed *seed) {
    p->tested.least = least;
    p->tested.greatest = greatest;
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++)
            *element(p, row, col) = (uint8_t)(least + below(seed, greatest - least + 1));
    for (int row = 0; row < ROWS; row++)
        for (int col = row % 3; col < COLS; col += 3)
            check_place(p, row, col, one_in(seed, 2));
}

// Of several the first is named: in lhs row by row, in rhs column by column.
static void check_the_first(struct product *p) {
    *element(p, 3, 8) = *element(p, 7, 2) = (uint8_t)(p->tested.greatest + 1);
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        CHECK(multiply(p, is_packed) == QGEMM_STATUS_RANGE);
        CHECK(last_error_says(p->side == QGEMM_LHS ? "lhs(3, 8)" : "rhs(7, 2)", "is"));
    }
}

static void elements_that_break_a_promise(struct seed *seed) {
    for (int i = 0; i < 8; i++) {
        uint32_t side = i & 1 ? QGEMM_LHS : QGEMM_RHS, type = i & 2 ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
        struct product p = product_of(side, type, i >> 2, (enum placement)(i % PLACEMENTS));
        check_all_places(&p, 3, 100, seed);
        if (type == QGEMM_TYPE_S8)
            check_all_places(&p, -100, 31, seed);
        else
            check_all_places(&p, 120, 200, seed);
        check_the_first(&p);
        free_plot(&p.plot);
    }
}

/* What a promise is good for */

// The bound of QGEMM_CHECK_OVERFLOW counts on it.
static void sums_are_bounded_by_what_is_promised(void) {
    struct call c = sums();
    c.rhs.type = QGEMM_TYPE_U8;
    c.options.flags = QGEMM_CHECK_OVERFLOW;
    c.lhs.offset.value = INT32_MAX / K / 255 - 255;
    works(&c);
    c.lhs.offset.value++;
    fails(&c, QGEMM_STATUS_OVERFLOW, "a sum could reach", "beyond 32 bits");
    memset(memory.bytes + VECTORS, 100, M * K);
    c.lhs.data = memory.bytes + VECTORS;
    c.lhs.stride = 0;
    c.lhs.least = c.lhs.greatest = 100;
    works(&c);
    c.lhs.offset.value = INT32_MAX / K / 255 - 100;
    works(&c);
    c.lhs.offset.value++;
    fails(&c, QGEMM_STATUS_OVERFLOW, "a sum could reach", "beyond 32 bits");
}

// No element breaks a promise where there is none.
static void no_elements(void) {
    struct call c = sums();
    c.lhs.data = c.rhs.data = NULL;
    c.lhs.cols = c.rhs.rows = 0;
    c.lhs.least = c.lhs.greatest = c.rhs.least = c.rhs.greatest = 1;
    c.options.flags = QGEMM_CHECK_RANGE;
    works(&c);
}

int main(void) {
    skip_unless_supported();
    struct seed seed = {128};
    promises_that_are_none();
    promises_without_consequences();
    elements_that_break_a_promise(&seed);
    sums_are_bounded_by_what_is_promised();
    no_elements();
    return 0;
}
