// Prepared calls: what is theirs alone. Their results and most of their errors are tested wherever calls are, in way.c, conv.c and
// faultless.c.

#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { M = 5, N = 19, K = 33, THREADS = 4, RUNS = 300 };

static uint8_t lhs_bytes[M * K], rhs_bytes[K * N];
// With room for a result in the same place.
static int32_t biases[M * N];

static int last_error_says(const char *text) {
    if (strstr(qgemm_last_error(), text) != NULL)
        return 1;
    fprintf(stderr, "\"%s\" does not say \"%s\"\n", qgemm_last_error(), text);
    return 0;
}

static void fill(void) {
    for (int i = 0; i < M * K; i++)
        lhs_bytes[i] = (uint8_t)(i * 37);
    for (int i = 0; i < K * N; i++)
        rhs_bytes[i] = (uint8_t)(i * 101 >> 1);
    for (int i = 0; i < N; i++)
        biases[i] = 1000 * i;
}

// Without any elements.
struct parts {
    qgemm_operand lhs, rhs;
    qgemm_result result;
    qgemm_stage bias;
    qgemm_gemm_options options;
};

static struct parts parts(void) {
    struct parts p = {.lhs = QGEMM_OPERAND_INIT, .rhs = QGEMM_OPERAND_INIT, .result = QGEMM_RESULT_INIT,
                      .options = QGEMM_GEMM_OPTIONS_INIT};
    p.lhs.rows = M, p.lhs.cols = K, p.lhs.type = QGEMM_TYPE_U8, p.lhs.offset.value = -7;
    p.rhs.rows = K, p.rhs.cols = N, p.rhs.type = QGEMM_TYPE_S8;
    p.result.rows = M, p.result.cols = N, p.result.type = QGEMM_TYPE_S32;
    const qgemm_i32_values per_column = {biases, N, 0, QGEMM_PER_COL};
    p.bias.kind = QGEMM_STAGE_BIAS;
    p.bias.u.bias.bias = per_column;
    return p;
}

static qgemm_prepared *prepare(const struct parts *p) {
    qgemm_prepared *call;
    CHECK(qgemm_gemm_prepare(NULL, &p->lhs, &p->rhs, &p->result, &p->bias, 1, &p->options, &call) ==
          QGEMM_STATUS_OK);
    return call;
}

static int is_product(const int32_t *result, const uint8_t *lhs, const uint8_t *rhs) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int32_t sum = biases[j];
            for (int l = 0; l < K; l++)
                sum += (lhs[i * K + l] - 7) * (int8_t)rhs[l * N + j];
            if (result[i * N + j] != sum)
                return 0;
        }
    return 1;
}

static qgemm_packed *packed_rhs(const struct parts *p) {
    qgemm_operand rhs = p->rhs;
    rhs.data = rhs_bytes;
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS, options.other_type = QGEMM_TYPE_U8;
    qgemm_packed *packed;
    CHECK(qgemm_pack(&rhs, &options, &packed) == QGEMM_STATUS_OK);
    return packed;
}

// Those that a run is given count, else those that the call was prepared with.
static void runs_take_other_elements(void) {
    struct parts p = parts();
    int32_t first[M * N], second[M * N];
    uint8_t other[M * K];
    for (int i = 0; i < M * K; i++)
        other[i] = (uint8_t)(lhs_bytes[i] ^ 0x35);
    p.lhs.data = lhs_bytes, p.rhs.data = rhs_bytes, p.result.data = first;
    qgemm_prepared *call = prepare(&p);
    for (int i = 0; i < 2; i++) {
        CHECK(qgemm_prepared_run(call, other, NULL, second) == QGEMM_STATUS_OK && is_product(second, other, rhs_bytes));
        CHECK(qgemm_prepared_run(call, NULL, NULL, NULL) == QGEMM_STATUS_OK && is_product(first, lhs_bytes, rhs_bytes));
        // Elements may change from run to run.
        rhs_bytes[3]++;
    }
    qgemm_prepared_free(call);
    p.lhs.data = NULL, p.rhs.data = NULL, p.result.data = NULL;
    p.rhs.packed = packed_rhs(&p);
    p.rhs.rows = p.rhs.cols = 0;
    call = prepare(&p);
    CHECK(qgemm_prepared_run(call, other, NULL, second) == QGEMM_STATUS_OK && is_product(second, other, rhs_bytes));
    qgemm_prepared_free(call);
    qgemm_packed_free((qgemm_packed *)(uintptr_t)p.rhs.packed);
}

// Structs that later versions lengthened, by fields that are 0.
static void later_structs_are_read(void) {
    struct {
        qgemm_operand now;
        uint64_t more[3];
    } lhs = {QGEMM_OPERAND_INIT, {0}}, rhs = {QGEMM_OPERAND_INIT, {0}};
    struct parts p = parts();
    int32_t result[M * N];
    lhs.now = p.lhs, rhs.now = p.rhs;
    lhs.now.struct_size = sizeof lhs, rhs.now.struct_size = sizeof rhs;
    lhs.now.data = lhs_bytes, rhs.now.data = rhs_bytes, p.result.data = result;
    qgemm_prepared *call;
    CHECK(qgemm_gemm_prepare(NULL, &lhs.now, &rhs.now, &p.result, &p.bias, 1, NULL, &call) == QGEMM_STATUS_OK);
    CHECK(qgemm_prepared_run(call, NULL, NULL, NULL) == QGEMM_STATUS_OK && is_product(result, lhs_bytes, rhs_bytes));
    qgemm_prepared_free(call);
}

static void run_fails(const qgemm_prepared *call, const void *lhs, const void *rhs, int32_t *result, qgemm_status status,
                      const char *text) {
    int32_t before[M * N + 1];
    if (result != NULL)
        memcpy(before, result, sizeof before);
    CHECK(qgemm_prepared_run(call, lhs, rhs, result) == status && last_error_says(text));
    CHECK(result == NULL || memcmp(before, result, sizeof before) == 0);
}

static void wrong_runs(void) {
    struct parts p = parts();
    union {
        int32_t sums[M * N + 1];
        uint8_t bytes[M * K];
    } room;
    memset(&room, 3, sizeof room);
    int32_t *const result = room.sums;
    run_fails(NULL, lhs_bytes, rhs_bytes, result, QGEMM_STATUS_NULL_POINTER, "prepared");
    qgemm_prepared *call = prepare(&p);
    run_fails(call, NULL, rhs_bytes, result, QGEMM_STATUS_NULL_POINTER, "lhs");
    run_fails(call, lhs_bytes, NULL, result, QGEMM_STATUS_NULL_POINTER, "rhs");
    run_fails(call, lhs_bytes, rhs_bytes, NULL, QGEMM_STATUS_NULL_POINTER, "result");
    run_fails(call, room.bytes, rhs_bytes, result, QGEMM_STATUS_OVERLAP, "result overlaps lhs");
    run_fails(call, lhs_bytes, room.bytes + 9, result, QGEMM_STATUS_OVERLAP, "result overlaps rhs");
    run_fails(call, (const void *)(UINTPTR_MAX - 9), rhs_bytes, result, QGEMM_STATUS_TOO_LARGE, "lhs");
    CHECK(qgemm_prepared_run(call, lhs_bytes, rhs_bytes, biases) == QGEMM_STATUS_OVERLAP && last_error_says("parameter"));
    CHECK(qgemm_prepared_run(call, lhs_bytes, rhs_bytes, room.bytes + 1) == QGEMM_STATUS_ALIGNMENT);
    CHECK(last_error_says("result"));
    CHECK(qgemm_prepared_run(call, lhs_bytes, rhs_bytes, (void *)(UINTPTR_MAX - 15)) == QGEMM_STATUS_TOO_LARGE);
    CHECK(last_error_says("result"));
    CHECK(qgemm_prepared_run(call, lhs_bytes, rhs_bytes, result) == QGEMM_STATUS_OK);
    qgemm_prepared_free(call);

    p.rhs.packed = packed_rhs(&p);
    call = prepare(&p);
    run_fails(call, lhs_bytes, rhs_bytes, result, QGEMM_STATUS_OPTION, "rhs must be null");
    const void *bytes;
    size_t size;
    CHECK(qgemm_packed_bytes(p.rhs.packed, &bytes, &size) == QGEMM_STATUS_OK);
    CHECK(qgemm_prepared_run(call, lhs_bytes, NULL, (void *)(uintptr_t)bytes) == QGEMM_STATUS_OVERLAP);
    qgemm_prepared_free(call);
    qgemm_packed_free((qgemm_packed *)(uintptr_t)p.rhs.packed);

    // Elements are looked at by each run.
    p = parts();
    p.options.flags = QGEMM_CHECK_RANGE;
    p.lhs.least = 0, p.lhs.greatest = 200;
    call = prepare(&p);
    uint8_t zeros[M * K] = {0};
    CHECK(qgemm_prepared_run(call, zeros, rhs_bytes, result) == QGEMM_STATUS_OK);
    zeros[K + 2] = 201;
    run_fails(call, zeros, rhs_bytes, result, QGEMM_STATUS_RANGE, "lhs");
    qgemm_prepared_free(call);
}

static void wrong_preparations(void) {
    struct parts p = parts();
    CHECK(qgemm_gemm_prepare(NULL, &p.lhs, &p.rhs, &p.result, NULL, 0, NULL, NULL) == QGEMM_STATUS_NULL_POINTER);
    CHECK(last_error_says("prepared"));
    CHECK(qgemm_conv_prepare(NULL, NULL, &p.lhs, &p.rhs, &p.result, NULL, 0, NULL, NULL) ==
          QGEMM_STATUS_NULL_POINTER);
    CHECK(last_error_says("prepared"));
    qgemm_prepared *const none = (qgemm_prepared *)(uintptr_t)&p, *call = none;
    CHECK(qgemm_conv_prepare(NULL, NULL, &p.lhs, &p.rhs, &p.result, NULL, 0, NULL, &call) ==
          QGEMM_STATUS_NULL_POINTER);
    CHECK(last_error_says("plan") && call == none);
    p.options.flags = QGEMM_CHECK_OVERFLOW, p.lhs.offset.value = 1 << 30;
    CHECK(qgemm_gemm_prepare(NULL, &p.lhs, &p.rhs, &p.result, NULL, 0, &p.options, &call) ==
          QGEMM_STATUS_OVERFLOW);
    CHECK(call == none);
    // No memory is too little memory before there is anything to compute.
    p = parts();
    char little;
    p.lhs.order = QGEMM_COL_MAJOR, p.options.workspace = &little, p.options.workspace_size = 1;
    CHECK(qgemm_gemm_prepare(NULL, &p.lhs, &p.rhs, &p.result, NULL, 0, &p.options, &call) ==
          QGEMM_STATUS_WORKSPACE);
    CHECK(call == none && last_error_says("workspace"));
    qgemm_prepared_free(NULL);
}

// What there is none of need not be anywhere.
static void nothing_to_compute(void) {
    for (int i = 0; i < 3; i++) {
        struct parts p = parts();
        if (i == 0)
            p.lhs.rows = p.result.rows = 0;
        else if (i == 1)
            p.rhs.cols = p.result.cols = 0;
        else
            p.lhs.cols = p.rhs.rows = 0;
        int32_t result[M * N];
        qgemm_prepared *call = prepare(&p);
        const void *lhs = i == 1 ? lhs_bytes : NULL, *rhs = i == 0 ? rhs_bytes : NULL;
        CHECK(qgemm_prepared_run(call, lhs, rhs, i == 2 ? result : NULL) == QGEMM_STATUS_OK);
        for (int j = 0; i == 2 && j < M * N; j++)
            CHECK(result[j] == biases[j % N]);
        qgemm_prepared_free(call);
    }
}

static const qgemm_prepared *shared;

static void *run_often(void *argument) {
    uint8_t lhs[M * K];
    int32_t result[M * N];
    for (int i = 0; i < M * K; i++)
        lhs[i] = (uint8_t)(i * 3 + (int)(uintptr_t)argument);
    for (int i = 0; i < RUNS; i++) {
        CHECK(qgemm_prepared_run(shared, lhs, NULL, result) == QGEMM_STATUS_OK);
        CHECK(is_product(result, lhs, rhs_bytes));
        lhs[i % (M * K)]++;
    }
    return NULL;
}

// Any number of threads at once, each with elements of its own.
static void threads_share_a_call(void) {
    struct parts p = parts();
    p.rhs.packed = packed_rhs(&p);
    qgemm_prepared *call = prepare(&p);
    shared = call;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run_often, (void *)(uintptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    qgemm_prepared_free(call);
    qgemm_packed_free((qgemm_packed *)(uintptr_t)p.rhs.packed);
}

int main(void) {
    skip_unless_supported();
    fill();
    runs_take_other_elements();
    later_structs_are_read();
    wrong_runs();
    wrong_preparations();
    nothing_to_compute();
    threads_share_a_call();
    printf("prepared calls: all as expected\n");
    return 0;
}
