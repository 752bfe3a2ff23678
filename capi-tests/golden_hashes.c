// The same bytes on every processor: hashes of the results of some hundred calls, against a file of them.
//
// Usage: golden_hashes FILE; with QGEMM_BLESS=1 in the environment the file is written. Compare it with the old one then,
// for users do.

#include "check.h"
#include "golden.h"
#include "product.h"
#include "random_call.h"
#include "weights.h"

#include <string.h>

static const char *const types[] = {"none", "u8", "s8", "s16", "s32", "f32", "bf16", "f16"};

static const char *order(uint32_t order) {
    return order == QGEMM_ROW_MAJOR ? "row" : "col";
}

/* qgemm_gemm: any operands, bits, promises and stages */

enum { SMALL = 400, MIDDLING = 15, PROMISED = 64, EIGHT_BIT = 64, PACKED = 80, LATER_CALLS = 160 };

static int size(struct seed *seed, uint64_t number) {
    if (number >= SMALL && number < LATER)
        return 20 + below(seed, 80);
    return one_in(seed, 12) ? below(seed, 2) : 1 + below(seed, one_in(seed, 4) ? 70 : 20);
}

static void name_of_call(char *name, size_t room, const struct call *call) {
    static const char *const stages[] = {"",        "bias",     "down",       "scale",    "clamp",     "tanh",
                                         "logistic", "scale_f", "residual",   "dequant",  "bias_f",    "clamp_f",
                                         "residual_f", "quant", "saturate",   "truncate", "multiply_f",
                                         "activation_f", "binary_f", "quant_zero_first", "table"};
    const qgemm_operand *lhs = &call->lhs, *rhs = &call->rhs;
    const qgemm_result *result = &call->result;
    int at = snprintf(name, room, "gemm.%d %dx%dx%d %s.%s*%s.%s=%s.%s", (int)call->number, (int)result->rows,
                      (int)result->cols, (int)lhs->cols, types[lhs->type], order(lhs->order), types[rhs->type],
                      order(rhs->order), types[result->type], order(result->order));
    if (lhs->offset.axis != QGEMM_UNIFORM || rhs->offset.axis != QGEMM_UNIFORM)
        at += snprintf(name + at, room - (size_t)at, " offsets:%u.%u", (unsigned)lhs->offset.axis,
                       (unsigned)rhs->offset.axis);
    if (lhs->least != lhs->greatest || rhs->least != rhs->greatest)
        at += snprintf(name + at, room - (size_t)at, " %d..%d*%d..%d", (int)lhs->least, (int)lhs->greatest,
                       (int)rhs->least, (int)rhs->greatest);
    if (has_fewer_bits(call))
        at += snprintf(name + at, room - (size_t)at, " bits:%u*%u.%u.%u", (unsigned)call->bit_depth.lhs_bits,
                       (unsigned)call->bit_depth.rhs_bits, (unsigned)call->bit_depth.rounding_below,
                       (unsigned)call->bit_depth.rounding_from);
    for (size_t i = 0; i < call->stage_count; i++)
        at += snprintf(name + at, room - (size_t)at, " %s", stages[call->stages[i].kind]);
}

static void gemm(uint64_t number) {
    struct seed seed = {~number};
    int m = size(&seed, number), n = size(&seed, number), k = size(&seed, number);
    if (number < SMALL && one_in(&seed, 30))
        k = 1000 + below(&seed, 3000);
    struct call call = random_call(number, m, n, k, 0);
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.bit_depth = &call.bit_depth;
    options.flags = call.flags;
    restore_result(&call);
    CHECK(qgemm_gemm(NULL, &call.lhs, &call.rhs, &call.result, call.stages, call.stage_count, &options) ==
          QGEMM_STATUS_OK);
    char name[300];
    name_of_call(name, sizeof name, &call);
    golden(name, with_result(hash_of_nothing, &call.result));
    free_call(&call);
}

/* Small numbers, which are promised to be so: kernels may then sum them in 16 bits */

static uint8_t a[40000], b[40000];

static void promise(qgemm_operand *operand, uint8_t *elements, struct seed *seed) {
    int first = operand->type == QGEMM_TYPE_S8 ? INT8_MIN : 0, numbers = 1 << (1 + below(seed, 7));
    operand->least = first + below(seed, 257 - numbers);
    operand->greatest = operand->least + numbers - 1;
    operand->data = elements;
    for (int64_t i = 0; i < operand->rows * operand->cols; i++)
        elements[i] = (uint8_t)(operand->least + below(seed, numbers));
}

static void promised(int number) {
    static int32_t sums[70 * 70];
    struct seed seed = {(uint64_t)number + 1};
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    qgemm_result result = QGEMM_RESULT_INIT;
    lhs.rows = result.rows = 1 + below(&seed, 70);
    rhs.cols = result.cols = 1 + below(&seed, 70);
    lhs.cols = rhs.rows = 1 + below(&seed, 500);
    lhs.type = number & 1 ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8, rhs.type = number & 2 ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    lhs.order = (uint32_t)(number >> 2 & 1), rhs.order = (uint32_t)(number >> 3 & 1);
    result.order = (uint32_t)(number >> 4 & 1);
    promise(&lhs, a, &seed);
    promise(&rhs, b, &seed);
    lhs.offset.value = -below(&seed, 256), rhs.offset.value = -below(&seed, 256);
    result.data = sums;
    result.type = QGEMM_TYPE_S32;
    CHECK(qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    char name[200];
    snprintf(name, sizeof name, "promised.%d %dx%dx%d %s.%s*%s.%s %d..%d*%d..%d", number, (int)result.rows,
             (int)result.cols, (int)lhs.cols, types[lhs.type], order(lhs.order), types[rhs.type], order(rhs.order),
             (int)lhs.least, (int)lhs.greatest, (int)rhs.least, (int)rhs.greatest);
    golden(name, with_result(hash_of_nothing, &result));
}

/* EightBitIntGemm, with A5B7 as well */

static void fill(uint8_t *bytes, size_t count, struct seed *seed) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)below(seed, 256);
}

// The smaller half of the products is computed exactly in any case.
static void eight_bit_int_gemm(int number) {
    enum { MOST = 150 };
    static float c[MOST * MOST];
    struct seed seed = {(uint64_t)number + 1};
    int least = number & 8 ? 101 : 1, lines = MOST - least;
    struct product p = {.transpose_a = number & 1, .transpose_b = number >> 1 & 1, .transpose_c = number >> 2 & 1};
    p.bit_depth = number & 16 ? QGEMM_A5B7 : QGEMM_A8B8;
    p.m = least + below(&seed, lines);
    p.n = least + below(&seed, lines);
    p.k = 1 + below(&seed, MOST);
    fill(a, (size_t)(p.m * p.k), &seed);
    fill(b, (size_t)(p.k * p.n), &seed);
    p.a = a, p.b = b, p.c = c;
    p.a_offset = -below(&seed, 256), p.b_offset = -below(&seed, 256);
    p.lda = layout_of_a(&p).len, p.ldb = layout_of_b(&p).len, p.ldc = layout_of_c(&p).len;
    p.c_offset = below(&seed, 100000), p.c_mult_int = 1 + below(&seed, 20), p.c_shift = 10 + below(&seed, 6);
    p.c_scale = 1.f / (float)(1 + below(&seed, 1000));
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = c;
    result.rows = p.m, result.cols = p.n;
    result.order = p.transpose_c ? QGEMM_ROW_MAJOR : QGEMM_COL_MAJOR;
    CHECK(multiply_u8(&p) == QGEMM_STATUS_OK);
    result.type = QGEMM_TYPE_U8;
    uint64_t hash = with_result(hash_of_nothing, &result);
    CHECK(multiply_f32(&p) == QGEMM_STATUS_OK);
    result.type = QGEMM_TYPE_F32;
    hash = with_result(hash, &result);
    char name[100];
    snprintf(name, sizeof name, "eight_bit.%d %s %dx%dx%d transposes:%d%d%d", number, number & 16 ? "A5B7" : "A8B8",
             p.m, p.n, p.k, p.transpose_a, p.transpose_b, p.transpose_c);
    golden(name, hash);
}

/* Packed operands */

static void set_groups(struct weights *w, size_t lines, size_t depth, struct seed *seed) {
    static float scales[10000];
    static int32_t zero_points[10000];
    size_t group = (size_t)(1 + below(seed, 70)), count = lines * ((depth + group - 1) / group);
    CHECK(count <= sizeof scales / sizeof *scales);
    for (size_t i = 0; i < count; i++) {
        scales[i] = (float)(below(seed, 2001) - 1000) / 700;
        zero_points[i] = below(seed, 300) - 150;
    }
    w->options.group_size = group;
    w->options.scales = scales;
    w->options.zero_points = below(seed, 2) ? zero_points : NULL;
}

// One side is packed, with groups or without them. The portable form is hashed as well.
static void packed(int number) {
    struct seed seed = {(uint64_t)number + 1};
    uint32_t side = number & 1 ? QGEMM_LHS : QGEMM_RHS;
    int m = 1 + below(&seed, 60), n = 1 + below(&seed, 60), k = 1 + below(&seed, 150);
    struct weights lhs = make_weights(&seed, QGEMM_LHS, m, k), rhs = make_weights(&seed, QGEMM_RHS, k, n);
    struct weights *w = side == QGEMM_LHS ? &lhs : &rhs;
    if (number & 2)
        set_groups(w, (size_t)(side == QGEMM_LHS ? m : n), (size_t)k, &seed);
    qgemm_packed *packed = pack(w);
    struct form form = portable_form(packed);
    uint64_t hash = with_bytes(hash_of_nothing, form.bytes, form.size);
    qgemm_operand instead = QGEMM_OPERAND_INIT;
    instead.packed = packed;
    instead.offset = w->operand.offset;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.rows = m, result.cols = n;
    result.type = number & 2 ? QGEMM_TYPE_F32 : QGEMM_TYPE_S32;
    result.order = w->options.result_order;
    result.data = allocate((size_t)m * (size_t)n * 4);
    CHECK(qgemm_gemm(NULL, side == QGEMM_LHS ? &instead : &lhs.operand, side == QGEMM_RHS ? &instead : &rhs.operand,
                     &result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    hash = with_result(hash, &result);
    char name[100];
    snprintf(name, sizeof name, "packed.%d %s %dx%dx%d %s*%s bits:%u groups:%u", number,
             side == QGEMM_LHS ? "lhs" : "rhs", m, n, k, types[lhs.operand.type], types[rhs.operand.type],
             (unsigned)w->options.bits, (unsigned)w->options.group_size);
    golden(name, hash);
    free(result.data);
    free(form.bytes);
    qgemm_packed_free(packed);
    free_weights(&lhs);
    free_weights(&rhs);
}

int main(int argc, char **argv) {
    skip_unless_supported();
    CHECK(argc == 2);
    open_golden(argv[1]);
    for (uint64_t number = 0; number < SMALL + MIDDLING; number++)
        gemm(number);
    for (int number = 0; number < PROMISED; number++)
        promised(number);
    for (int number = 0; number < EIGHT_BIT; number++)
        eight_bit_int_gemm(number);
    for (int number = 0; number < PACKED; number++)
        packed(number);
    for (uint64_t number = LATER; number < LATER + LATER_CALLS; number++)
        gemm(number);
    int wrong = close_golden();
    printf("%d calls, %d with other results\n", SMALL + MIDDLING + PROMISED + EIGHT_BIT + PACKED + LATER_CALLS, wrong);
    return wrong > 0;
}
