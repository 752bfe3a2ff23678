// Products of matrices beyond 2 GiB: strides, results and depths for which 32 bits are too few.
//
// Usage: large strides|result|depth
//
// They take little memory for what they are, for nearly all elements are 0, and never written. Skipped where there is too
// little of it, or of addresses.

#define _GNU_SOURCE  // MAP_ANONYMOUS, MAP_NORESERVE, memfd_create
#include "check.h"
#include "pipeline.h"
#include "random.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GIB ((size_t)1 << 30)

static void skip(const char *why) {
    printf("SKIPPED, NOT TESTED: %s\n", why);
    exit(SKIPPED);
}

static void skip_unless_available(size_t bytes) {
    FILE *file = fopen("/proc/meminfo", "r");
    char line[256];
    uint64_t kib = 0;
    while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
            kib = 0;
    if (file != NULL)
        fclose(file);
    if (kib < bytes / 1024)
        skip("there is too little memory");
}

// Zeros that take no memory until they are written.
static uint8_t *zeros(size_t size) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        skip("there are too few addresses");
    return memory;
}

static void require_ok(qgemm_status status) {
    if (status == QGEMM_STATUS_OUT_OF_MEMORY)
        skip(qgemm_last_error());
    if (status != QGEMM_STATUS_OK) {
        fprintf(stderr, "status %d: %s\n", (int)status, qgemm_last_error());
        exit(1);
    }
}

/* Strides */

enum { M = 3, N = 5, K = 7 };
// Beyond 32 bits; as 32 bits they would be 77 and the like.
static const int64_t STRIDE = (INT64_C(1) << 32) + 77;

static void fill(qgemm_operand *operand, struct seed *seed) {
    uint8_t *data = (uint8_t *)(uintptr_t)operand->data;
    for (int64_t i = 0; i < operand->rows; i++)
        for (int64_t j = 0; j < operand->cols; j++) {
            struct place place = {i, j, operand->rows, operand->cols};
            data[distance_to(place, operand->order, operand->stride)] = (uint8_t)next_u32(seed);
        }
}

static qgemm_operand distant_operand(uint8_t *memory, int rows, int cols, uint32_t order, struct seed *seed) {
    qgemm_operand operand = QGEMM_OPERAND_INIT;
    operand.data = memory;
    operand.rows = rows;
    operand.cols = cols;
    operand.stride = STRIDE;
    operand.type = one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    operand.order = order;
    operand.offset.value = -below(seed, 200);
    fill(&operand, seed);
    return operand;
}

// A residual that is as far apart, to be scaled down with the sums.
static void choose_stages(qgemm_stage *stages, void *residual, uint32_t order) {
    memset(stages, 0, 3 * sizeof *stages);
    const qgemm_stage_residual elements = {residual, STRIDE - 13, QGEMM_TYPE_S16, order, 7, 1 << 30, 3, QGEMM_ROUND_ONCE};
    stages[0].kind = QGEMM_STAGE_RESIDUAL;
    stages[0].u.residual = elements;
    stages[1].kind = QGEMM_STAGE_SCALE;
    stages[1].u.scale.multiplier.value = 1 << 30;
    stages[1].u.scale.exponent.value = -9;
    stages[2].kind = QGEMM_STAGE_CAST_SATURATING;
}

static void check_distant(const qgemm_operand *lhs, const qgemm_operand *rhs, const qgemm_result *result,
                          const qgemm_stage *stages, size_t count) {
    require_ok(qgemm_gemm(NULL, lhs, rhs, result, stages, count, NULL));
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            struct place place = {i, j, M, N};
            struct number x = integer_number(defined_sum(lhs, rhs, i, j));
            for (size_t s = 0; s < count; s++)
                x = after_stage(&stages[s], x, place, result->type);
            CHECK(is_same(read_number(result->data, result->type, distance_to(place, result->order, result->stride)), x));
        }
}

static void test_strides(void) {
    const size_t size = (K + 1) * (size_t)STRIDE, sums_size = (N + 1) * (size_t)STRIDE * sizeof(int32_t);
    uint8_t *a = zeros(size), *b = zeros(size), *c = zeros(sums_size), *r = zeros(sums_size);
    struct seed seed = {64};
    for (uint32_t orders = 0; orders < 16; orders++) {
        qgemm_operand lhs = distant_operand(a, M, K, orders & 1, &seed);
        qgemm_operand rhs = distant_operand(b, K, N, orders >> 1 & 1, &seed);
        qgemm_result result = QGEMM_RESULT_INIT;
        result.data = c;
        result.rows = M;
        result.cols = N;
        result.stride = STRIDE;
        result.order = orders >> 2 & 1;
        result.type = QGEMM_TYPE_S32;
        check_distant(&lhs, &rhs, &result, NULL, 0);
        qgemm_stage stages[3];
        choose_stages(stages, r, orders >> 3);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                struct place place = {i, j, M, N};
                struct number x = integer_number((int16_t)next_u32(&seed));
                write_number(r, QGEMM_TYPE_S16, distance_to(place, orders >> 3, STRIDE - 13), x);
            }
        check_distant(&lhs, &rhs, &result, stages, 2);
        result.type = QGEMM_TYPE_S16;
        check_distant(&lhs, &rhs, &result, stages, 3);
        result.type = QGEMM_TYPE_U8;
        check_distant(&lhs, &rhs, &result, stages, 3);
    }
}

/* Results */

enum { ROWS = 48 };

// Columns at either end whose biases and elements are not all 0.
enum { ENDS_OF_ROWS = 100 };

static int is_in_the_middle(int64_t j, int64_t cols) {
    return ENDS_OF_ROWS <= j && j < cols - ENDS_OF_ROWS;
}

// The columns of rhs are two bytes, of which the second is the first of the next column.
static void check_row(const uint8_t *row, const uint8_t *lhs, const uint8_t *rhs, const int32_t *biases, int64_t cols) {
    for (int64_t j = 0; j < cols; j++) {
        if (j == ENDS_OF_ROWS + 1) {
            // From here on all are the same, up to the last two before the other end.
            int64_t same = cols - 2 * ENDS_OF_ROWS - 3;
            CHECK(memcmp(row + j, row + j - 1, (size_t)same) == 0);
            j += same;
        }
        CHECK(row[j] == lhs[0] * (rhs[j] + 6) + lhs[1] * (rhs[j + 1] + 6) + biases[j]);
    }
}

// More than 2^31 elements, one after the other.
static void test_result(void) {
    const int64_t cols = ((INT64_C(1) << 31) + 100000) / ROWS;
    skip_unless_available(3 * GIB);
    uint8_t a[ROWS * 2], *b = zeros((size_t)cols + 1), *c = zeros((size_t)cols * ROWS);
    int32_t *biases = (int32_t *)(void *)zeros((size_t)cols * sizeof *biases);
    for (int i = 0; i < ROWS * 2; i++)
        a[i] = (uint8_t)(i % 11);
    for (int64_t j = 0; j < cols; j++) {
        if (is_in_the_middle(j, cols))
            j = cols - ENDS_OF_ROWS;
        b[j] = (uint8_t)(j % 5);
        biases[j] = (int32_t)(j % 7);
    }
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = a;
    lhs.rows = ROWS;
    lhs.cols = rhs.rows = 2;
    rhs.data = b;
    rhs.cols = cols;
    rhs.stride = 1;
    lhs.type = rhs.type = QGEMM_TYPE_U8;
    rhs.offset.value = 6;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = c;
    result.rows = ROWS;
    result.cols = cols;
    result.type = QGEMM_TYPE_U8;
    qgemm_stage stages[2];
    memset(stages, 0, sizeof stages);
    qgemm_i32_values per_col = {biases, cols, 0, QGEMM_PER_COL};
    stages[0].kind = QGEMM_STAGE_BIAS;
    stages[0].u.bias.bias = per_col;
    stages[1].kind = QGEMM_STAGE_CAST_SATURATING;
    qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
    options.threads = 0;
    qgemm_context *context;
    CHECK(qgemm_context_create(&options, &context) == QGEMM_STATUS_OK);
    require_ok(qgemm_gemm(context, &lhs, &rhs, &result, stages, 2, NULL));
    qgemm_context_free(context);
    for (int64_t i = 0; i < ROWS; i++)
        check_row(c + i * cols, a + 2 * i, b, biases, cols);
}

/* Depth */

// Bytes at both ends of the operands that are not 0.
enum { ENDS = 200 };

// A workspace of which little is more than an address. What the operands are packed into is 0 as they are, but for their
// ends: so all of it may be the same few pages, but for those around the ends. These are near multiples of the depth, for
// packed elements take whole bytes.
static uint8_t *folded_workspace(size_t size, size_t depth) {
    const size_t sheet = (size_t)64 << 20, around = (size_t)64 << 10, page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *workspace = zeros(size + sheet);
    int file = memfd_create("sheet", 0);
    if (file < 0 || ftruncate(file, (off_t)sheet) != 0)
        skip("there is no memory to be mapped several times");
    const int flags = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
    for (size_t at = 0; at < size; at += sheet)
        if (mmap(workspace + at, sheet, PROT_READ | PROT_WRITE, flags, file, 0) == MAP_FAILED)
            skip("memory cannot be mapped so often");
    close(file);
    for (size_t end = 0; end < size + depth; end += depth) {
        size_t from = end < around ? 0 : (end - around) / page * page, to = (end + around) / page * page;
        if (to <= size + sheet)
            CHECK(mmap(workspace + from, to - from, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == workspace + from);
    }
    return workspace;
}

// More than 2^31 products to a sum. Both operands are the same bytes, one of them a little shifted.
static void test_depth(void) {
    const int64_t depth = (INT64_C(1) << 31) + 4099, shift = 5;
    skip_unless_available(2 * GIB);
    int8_t *bytes = (int8_t *)zeros((size_t)(depth + shift));
    for (int64_t d = 0; d < ENDS; d++) {
        bytes[d] = (int8_t)(d * 37);
        bytes[depth - 1 - d] = (int8_t)(d * 41);
    }
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = bytes;
    rhs.data = bytes + shift;
    lhs.rows = rhs.cols = 1;
    lhs.cols = rhs.rows = depth;
    lhs.type = rhs.type = QGEMM_TYPE_S8;
    rhs.order = QGEMM_COL_MAJOR;
    rhs.offset.value = 3;
    int32_t sum = 0;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = &sum;
    result.rows = result.cols = 1;
    result.type = QGEMM_TYPE_S32;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    require_ok(qgemm_gemm_workspace_size(NULL, &lhs, &rhs, &result, &options.workspace_size));
    printf("%.1f GiB of workspace, folded\n", (double)options.workspace_size / (double)GIB);
    if (options.workspace_size > 64 * GIB)
        skip("it would take too long");
    options.workspace = folded_workspace(options.workspace_size, (size_t)depth);
    require_ok(qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, &options));
    int64_t expected = 0;
    for (int64_t d = 0; d < depth; d++) {
        if (d == ENDS)
            d = depth - ENDS - shift;
        expected += bytes[d] * (bytes[d + shift] + 3);
    }
    CHECK(sum == expected);
}

int main(int argc, char **argv) {
    skip_unless_supported();
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "strides") == 0)
        test_strides();
    else if (strcmp(what, "result") == 0)
        test_result();
    else if (strcmp(what, "depth") == 0)
        test_depth();
    else
        return fprintf(stderr, "usage: large strides|result|depth\n"), 2;
    return 0;
}
