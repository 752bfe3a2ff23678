// Products whose instructions valgrind counts, and how many there may be: instructions.sh runs it and compares. What a clock
// says depends on the machine and on its other guests, these counts do not.
//
// Prints a line for each count: its name, how many units were worked on, what a unit is, the most instructions for each.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <qgemm/qgemm.h>
#include <valgrind/callgrind.h>

enum { BYTES = 4096 * 1024, LINES = 4096, SKIPPED = 77 };

static uint8_t bytes[BYTES];
static int8_t small[64];  // of 7 bits
static int32_t biases[LINES], results[256 * 256];

// Where the weights come from: as they lie, K x N or N x K, or packed beforehand; or so that all of the call is prepared.
enum weights { KN, NK, PACKED, PREPARED, PREPARED_7_BITS };

struct product {
    int m, n, k;
    enum weights weights;
    int to_u8;  // through a bias and a scale for each column; else the sums
};

static qgemm_operand weights_of(const struct product *product) {
    qgemm_operand rhs = QGEMM_OPERAND_INIT;
    rhs.data = bytes, rhs.rows = product->k, rhs.cols = product->n, rhs.type = QGEMM_TYPE_U8;
    rhs.order = product->weights == NK ? QGEMM_COL_MAJOR : QGEMM_ROW_MAJOR;
    rhs.offset.value = -131;
    if (product->weights == PREPARED_7_BITS) rhs.data = small, rhs.type = QGEMM_TYPE_S8, rhs.offset.value = -3;
    return rhs;
}

static void check(qgemm_status status) {
    if (status == QGEMM_STATUS_OK) return;
    fprintf(stderr, "%s\n", qgemm_last_error());
    // No such kernel here: nothing can be said.
    exit(status == QGEMM_STATUS_UNSUPPORTED ? SKIPPED : 1);
}

static struct qgemm_packed *packed(const qgemm_operand *rhs) {
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS, options.other_type = QGEMM_TYPE_U8;
    struct qgemm_packed *packed;
    check(qgemm_pack(rhs, &options, &packed));
    return packed;
}

static void line(const char *name, double units, const char *unit, double most) {
    printf("%s %.0f %s %g\n", name, units, unit, most);
}

// Counts the third call: by then there is memory to work in.
static void count_product(const char *name, const struct product *product) {
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = weights_of(product);
    lhs.data = bytes, lhs.rows = product->m, lhs.cols = product->k, lhs.type = QGEMM_TYPE_U8, lhs.offset.value = -7;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = results, result.rows = product->m, result.cols = product->n;
    result.type = product->to_u8 ? QGEMM_TYPE_U8 : QGEMM_TYPE_S32;
    const qgemm_stage stages[] = {
        {.kind = QGEMM_STAGE_BIAS, .u.bias.bias = {biases, LINES, 0, QGEMM_PER_COL}},
        {.kind = QGEMM_STAGE_SCALE, .u.scale.multiplier.value = 1518500250, .u.scale.exponent.value = -9},
        {.kind = QGEMM_STAGE_CAST_SATURATING},
    };
    if (product->weights >= PACKED) {
        rhs.packed = packed(&rhs);
        rhs.data = NULL;
    }
    const size_t stage_count = product->to_u8 ? 3 : 0;
    struct qgemm_prepared *prepared = NULL;
    if (product->weights >= PREPARED)
        check(qgemm_gemm_prepare(NULL, &lhs, &rhs, &result, stages, stage_count, NULL, &prepared));
    for (int call = 0; call < 3; call++) {
        CALLGRIND_ZERO_STATS;
        check(prepared ? qgemm_prepared_run(prepared, NULL, NULL, NULL)
                       : qgemm_gemm(NULL, &lhs, &rhs, &result, stages, stage_count, NULL));
    }
    CALLGRIND_DUMP_STATS_AT(name);
    qgemm_prepared_free(prepared);
    qgemm_packed_free((struct qgemm_packed *)rhs.packed);
}

static void count_packing(const char *name, enum weights weights) {
    const struct product product = {1, 1024, 1024, weights, 0};
    const qgemm_operand rhs = weights_of(&product);
    CALLGRIND_ZERO_STATS;
    struct qgemm_packed *once = packed(&rhs);
    CALLGRIND_DUMP_STATS_AT(name);
    qgemm_packed_free(once);
}

int main(void) {
    uint32_t x = 1;
    for (int i = 0; i < BYTES; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(x >> 24);
    }
    for (int i = 0; i < 64; i++)
        small[i] = (int8_t)(bytes[i] % 128 - 64);
    static const struct {
        const char *name;
        struct product product;
        double most;  // for each multiplication; of small products for the call. 15 % above what it was when that was set
    } PRODUCTS[] = {
        {"256x256x256", {256, 256, 256, KN, 1}, 0.234},
        {"256x256x256_packed", {256, 256, 256, PACKED, 1}, 0.231},
        {"1x4096x1024_nk", {1, 4096, 1024, NK, 0}, 0.470},
        {"1x4096x1024_kn", {1, 4096, 1024, KN, 0}, 0.606},
        {"1x4096x1024_packed", {1, 4096, 1024, PACKED, 0}, 0.338},
        {"8x8x8", {8, 8, 8, KN, 0}, 2891},
        {"8x8x8_packed", {8, 8, 8, PACKED, 1}, 5664},
        {"8x8x8_prepared", {8, 8, 8, PREPARED, 1}, 2532},
        {"8x8x8_prepared_7_bits", {8, 8, 8, PREPARED_7_BITS, 1}, 1785},
    };
    for (size_t i = 0; i < sizeof PRODUCTS / sizeof *PRODUCTS; i++) {
        const struct product *product = &PRODUCTS[i].product;
        count_product(PRODUCTS[i].name, product);
        const double macs = (double)product->m * product->n * product->k;
        if (macs > 1e5) line(PRODUCTS[i].name, macs, "multiplication", PRODUCTS[i].most);
        else line(PRODUCTS[i].name, 1, "call", PRODUCTS[i].most);
    }
    count_packing("pack_1024x1024_kn", KN);
    line("pack_1024x1024_kn", 1024 * 1024, "byte", 8);
    count_packing("pack_1024x1024_nk", NK);
    line("pack_1024x1024_nk", 1024 * 1024, "byte", 8);
    return 0;
}
