// Products with fewer than 8 bits against their definition: every pair of depths and every rounding, below the threshold
// and from it on, and the same sums in whichever way. See also gemm.c, which makes random ones.

#include "check.h"
#include "random.h"
#include "requantized.h"

#include <string.h>

// Enough for two threads to have work, and for several panels and tiles that are not full.
enum { M = 131, N = 137, DEEPEST = 520, THREADS = 4 };

static uint8_t lhs_rows[M * DEEPEST], lhs_cols[M * DEEPEST], rhs_rows[DEEPEST * N], rhs_cols[DEEPEST * N];
static int32_t expected[M * N], found[M * N];
static qgemm_context *contexts[THREADS];

// A matrix of m x n bytes and its transpose: both orders.
static void fill(uint8_t *rows, uint8_t *cols, int m, int n, struct seed *seed) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            rows[i * n + j] = cols[j * m + i] = (uint8_t)next_u32(seed);
}

struct product {
    qgemm_operand lhs, rhs;
    qgemm_bit_depth depth;
};

static struct product product_of(int m, int n, int k, uint32_t lhs_bits, uint32_t rhs_bits, struct seed *seed) {
    struct product p = {QGEMM_OPERAND_INIT, QGEMM_OPERAND_INIT, QGEMM_BIT_DEPTH_INIT};
    fill(lhs_rows, lhs_cols, m, k, seed);
    fill(rhs_rows, rhs_cols, k, n, seed);
    p.lhs.rows = m;
    p.lhs.cols = p.rhs.rows = k;
    p.rhs.cols = n;
    p.lhs.type = one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    p.rhs.type = one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    p.lhs.offset.value = -below(seed, 256);
    p.rhs.offset.value = 128 - below(seed, 256);
    p.depth.lhs_bits = lhs_bits;
    p.depth.rhs_bits = rhs_bits;
    p.depth.flags = QGEMM_REQUANTIZE_ALWAYS;
    p.lhs.data = lhs_rows;
    p.rhs.data = rhs_rows;
    return p;
}

static void define(const struct product *p) {
    requantized_sums(&p->depth, &p->lhs, &p->rhs, expected);
}

static qgemm_packed *pack(qgemm_operand *operand, uint32_t side) {
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = side;
    qgemm_packed *packed;
    CHECK(qgemm_pack(operand, &options, &packed) == QGEMM_STATUS_OK);
    operand->packed = packed;
    operand->data = NULL;
    return packed;
}

enum { WAYS = 1 << 5 };

// The bits of `way` choose the orders of the three matrices, and which operands are packed.
static void check_way(const struct product *p, int way, int threads) {
    qgemm_operand lhs = p->lhs, rhs = p->rhs;
    qgemm_result result = QGEMM_RESULT_INIT;
    lhs.order = way & 1;
    lhs.data = lhs.order == QGEMM_ROW_MAJOR ? lhs_rows : lhs_cols;
    rhs.order = way >> 1 & 1;
    rhs.data = rhs.order == QGEMM_ROW_MAJOR ? rhs_rows : rhs_cols;
    result.data = found;
    result.rows = lhs.rows;
    result.cols = rhs.cols;
    result.type = QGEMM_TYPE_S32;
    result.order = way >> 2 & 1;
    qgemm_packed *packed_lhs = way & 8 ? pack(&lhs, QGEMM_LHS) : NULL;
    qgemm_packed *packed_rhs = way & 16 ? pack(&rhs, QGEMM_RHS) : NULL;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.bit_depth = &p->depth;
    memset(found, 0xA5, sizeof found);
    CHECK(qgemm_gemm(contexts[threads - 1], &lhs, &rhs, &result, NULL, 0, &options) == QGEMM_STATUS_OK);
    for (int64_t i = 0; i < result.rows; i++)
        for (int64_t j = 0; j < result.cols; j++) {
            int32_t sum = found[result.order == QGEMM_ROW_MAJOR ? i * result.cols + j : j * result.rows + i];
            if (sum != expected[i * result.cols + j]) {
                fprintf(stderr, "sum(%d, %d) is %d, not %d: bits %u %u, k %d, rounding %u, way %d, %d threads\n",
                        (int)i, (int)j, (int)sum, (int)expected[i * result.cols + j], (unsigned)p->depth.lhs_bits,
                        (unsigned)p->depth.rhs_bits, (int)lhs.cols, (unsigned)p->depth.rounding_from, way, threads);
                exit(1);
            }
        }
    qgemm_packed_free(packed_lhs);
    qgemm_packed_free(packed_rhs);
}

// In small products, below gemmlowp's threshold and at it.
static void every_pair_of_depths(struct seed *seed) {
    int way = 0;
    for (uint32_t bits = 0; bits < 64; bits++)
        for (uint32_t rounding = 0; rounding <= QGEMM_REQUANTIZE_COMPENSATED; rounding++)
            for (int k = 383; k <= 384; k++) {
                struct product p = product_of(9, 18, k, 1 + bits % 8, 1 + bits / 8, seed);
                p.depth.rounding_from = rounding;
                define(&p);
                for (int i = 0; i < 3; i++, way += 5)
                    check_way(&p, way % WAYS, 1);
            }
}

static void every_way_with_every_number_of_threads(struct seed *seed) {
    for (int i = 0; i < 4; i++) {
        struct product p = product_of(M, N, DEEPEST, 7, 5, seed);
        p.depth.rounding_from = QGEMM_REQUANTIZE_NEAREST + (uint32_t)i;
        define(&p);
        for (int way = 0; way < WAYS; way++)
            check_way(&p, way, 1 + (way + i) % THREADS);
        for (int threads = 1; threads <= THREADS; threads++)
            check_way(&p, threads, threads);
    }
}

// What the fields mean where they are 0, and where they are not.
static void the_defaults(struct seed *seed) {
    struct product p = product_of(5, 6, 383, 7, 5, seed);
    define(&p);
    p.depth.rounding_below = QGEMM_REQUANTIZE_NEAREST;
    p.depth.rounding_from = QGEMM_REQUANTIZE_XORSHIFT;
    p.depth.threshold = 384;
    check_way(&p, 0, 1);
    p = product_of(5, 6, 384, 7, 5, seed);
    define(&p);
    p.depth.rounding_below = QGEMM_REQUANTIZE_XORSHIFT;
    p.depth.rounding_from = QGEMM_REQUANTIZE_ADD_MOD;
    p.depth.threshold = 384;
    check_way(&p, 0, 1);
    p.depth.rounding_below = QGEMM_REQUANTIZE_ADD_MOD;
    p.depth.rounding_from = QGEMM_REQUANTIZE_NEAREST;
    p.depth.threshold = 385;
    check_way(&p, 0, 1);
    // 0 bits are all bits, also of one side alone.
    p = product_of(5, 6, 30, 8, 3, seed);
    define(&p);
    p.depth.lhs_bits = 0;
    check_way(&p, 0, 1);
    p = product_of(5, 6, 30, 0, 0, seed);
    define(&p);
    check_way(&p, 0, 1);
    p.depth.flags = 0;
    check_way(&p, 0, 1);
}

int main(void) {
    skip_unless_supported();
    for (int i = 0; i < THREADS; i++) {
        qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
        options.threads = i + 1;
        CHECK(qgemm_context_create(&options, &contexts[i]) == QGEMM_STATUS_OK);
    }
    struct seed seed = {75};
    every_pair_of_depths(&seed);
    every_way_with_every_number_of_threads(&seed);
    the_defaults(&seed);
    for (int i = 0; i < THREADS; i++)
        qgemm_context_free(contexts[i]);
    return 0;
}
