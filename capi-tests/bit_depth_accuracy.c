// How accurate products with 7 bits and 5 are: as gemmlowp's tests asked for of random matrices, and without bias in real
// and in constant ones, also where the depth is a multiple of the period of what rounds. The sums are the same with every
// kernel: bit_depth.c.

#include "check.h"
#include "differences.h"
#include "random.h"

#include <math.h>
#include <string.h>

// Both matrices of a product by line, and its sums.
enum { MOST_ELEMENTS = 3 << 20, MOST_SUMS = 1 << 20 };
static uint8_t lhs_lines[MOST_ELEMENTS], rhs_lines[MOST_ELEMENTS];
static int32_t exact[MOST_SUMS], rounded[MOST_SUMS];

struct shape {
    int m, k, n;
};

struct offsets {
    int lhs, rhs;
};

// All sums, exactly, and with 7 bits of lhs and 5 of rhs. Rows and columns are so many elements apart.
static void multiply(struct shape shape, int stride, struct offsets offsets, uint32_t rounding) {
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    qgemm_result result = QGEMM_RESULT_INIT;
    lhs.data = lhs_lines;
    rhs.data = rhs_lines;
    lhs.rows = result.rows = shape.m;
    lhs.cols = rhs.rows = shape.k;
    rhs.cols = result.cols = shape.n;
    lhs.stride = rhs.stride = stride;
    lhs.type = rhs.type = QGEMM_TYPE_U8;
    rhs.order = QGEMM_COL_MAJOR;
    lhs.offset.value = offsets.lhs;
    rhs.offset.value = offsets.rhs;
    result.data = exact;
    result.type = QGEMM_TYPE_S32;
    CHECK(qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    qgemm_bit_depth l7r5 = QGEMM_BIT_DEPTH_INIT;
    l7r5.lhs_bits = 7;
    l7r5.rhs_bits = 5;
    l7r5.rounding_from = rounding;
    l7r5.flags = QGEMM_REQUANTIZE_ALWAYS;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.bit_depth = &l7r5;
    result.data = rounded;
    CHECK(qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, &options) == QGEMM_STATUS_OK);
}

/* Scaled down to bytes */

// As EightBitIntGemm did. Returns the median.
static int scale_down(const int32_t *sums, size_t count, int offset, int multiplier, int shift, uint8_t *bytes) {
    size_t counts[256] = {0}, passed = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t product = (int32_t)(((uint32_t)sums[i] + (uint32_t)offset) * (uint32_t)multiplier);
        int64_t half = shift == 0 ? 0 : INT64_C(1) << (shift - 1), magnitude = product < 0 ? -product : product;
        int64_t scaled = (magnitude + half) >> shift;
        bytes[i] = (uint8_t)(product < 0 || scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);
        counts[bytes[i]]++;
    }
    int median = 0;
    for (passed = counts[0]; passed <= count / 2; passed += counts[++median])
        ;
    return median;
}

static uint8_t found_bytes[MOST_SUMS], exact_bytes[MOST_SUMS];

struct scaling {
    struct offsets offsets;
    int result_offset, multiplier;
};

// gemmlowp's criterion: the shift is sought that gives a median worth looking at, if there is one; of the results that it
// gives some part may be off. Few results may be off by more.
static int judge(struct shape shape, const struct scaling *s) {
    size_t count = (size_t)shape.m * (size_t)shape.n;
    int least = 0, most = 32, median;
    for (;;) {
        int shift = (least + most) / 2;
        median = scale_down(rounded, count, s->result_offset, s->multiplier, shift, found_bytes);
        if (32 <= median && median <= 224) {
            scale_down(exact, count, s->result_offset, s->multiplier, shift, exact_bytes);
            break;
        }
        if (least == most)
            return 0;
        int before = most - least;
        *(median < 32 ? &most : &least) = shift;
        // The greatest is never tried: 31 is all that there is.
        if (most - least == before)
            return 0;
    }
    double few = 1000 / (double)count;
    struct differences d = differences_of(found_bytes, exact_bytes, count);
    if (d.greatest_magnitude <= fmax(median / 2, few) && d.median_magnitude <= fmax(median / 8, few) &&
        abs(d.median) <= fmax(2, few) && fabs(d.mean) <= fmax(2, few))
        return 1;
    printf("%d x %d x %d, offsets %d %d %d, multiplier %d: median %d, ", shape.m, shape.k, shape.n, s->offsets.lhs,
           s->offsets.rhs, s->result_offset, s->multiplier, median);
    print_differences(&d);
    exit(1);
}

/* Random matrices */

static const struct scaling scalings[] = {
    {{-75, -91}, 74980, 123}, {{0, 0}, 0, 1},    {{10, 0}, 0, 1},    {{0, 10}, 0, 1},
    {{0, 0}, 10, 1},          {{0, 0}, 0, 10},   {{10, 10}, 10, 10}, {{256, 1}, 17, 4},
};

static int judge_random(struct shape shape, int scaling_count, uint32_t rounding, struct seed *seed) {
    int judged = 0;
    for (int i = 0; i < shape.m * shape.k; i++)
        lhs_lines[i] = (uint8_t)next_u32(seed);
    for (int i = 0; i < shape.n * shape.k; i++)
        rhs_lines[i] = (uint8_t)next_u32(seed);
    for (int i = 0; i < scaling_count; i++) {
        multiply(shape, shape.k, scalings[i].offsets, rounding);
        judged += judge(shape, &scalings[i]);
    }
    return judged;
}

// Those of gemmlowp's tests.
static const struct shape small_shapes[] = {
    {1, 1, 1},    {2, 1, 1},    {1, 2, 1},    {1, 1, 2},    {2, 2, 2},     {3, 3, 3},     {4, 4, 4},       {5, 5, 5},
    {6, 6, 6},    {3, 5, 7},    {7, 3, 5},    {5, 7, 3},    {8, 8, 8},     {16, 16, 16},  {32, 32, 32},    {64, 64, 64},
    {50, 50, 50}, {16, 17, 16}, {37, 55, 73}, {57, 87, 117}, {93, 83, 73}, {109, 89, 99}, {78, 101, 82},   {70, 90, 110},
    {2, 2, 1},    {3, 3, 1},    {8, 8, 1},    {32, 32, 1},  {128, 128, 1}, {321, 123, 1}, {128, 128, 128}, {70, 90, 1}};
static const struct shape large_shapes[] = {
    {200, 200, 200}, {50, 5000, 50}, {512, 512, 512}, {567, 2345, 123}, {100, 5000, 100}, {1, 1, 1000}, {1000, 1, 1},
    {1, 1000, 1},    {1, 1000, 1000}, {1000, 1, 1000}, {1000, 1000, 1}, {777, 3456, 1},   {4567, 555, 1},
    {300, 400, 500}, {1024, 1024, 1024}};

static void random_matrices(struct seed *seed) {
    int judged = 0;
    for (uint32_t rounding = QGEMM_REQUANTIZE_XORSHIFT; rounding <= QGEMM_REQUANTIZE_ADD_MOD; rounding++) {
        for (size_t i = 0; i < sizeof small_shapes / sizeof *small_shapes; i++)
            judged += judge_random(small_shapes[i], sizeof scalings / sizeof *scalings, rounding, seed);
        for (size_t i = 0; i < sizeof large_shapes / sizeof *large_shapes; i++)
            judged += judge_random(large_shapes[i], 1, rounding, seed);
    }
    printf("%d random cases\n", judged);
    CHECK(judged >= 200);
}

/* Real matrices */

enum { ROWS = 192, COLUMNS = 256, DEPTH = 1152 };

static void read_file(const char *path, uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fread(bytes, 1, size, file) == size && fgetc(file) == EOF);
    fclose(file);
}

// A layer of GoogLeNet, cut to all depths and widths at which some pattern of rounding could repeat.
static void real_matrices(void) {
    static const int depths[] = {384, 400, 510, 512, 576, 765, 768, 1019, 1020, 1021, 1024, 1152};
    read_file(GOOGLENET_DATA "/a.u8", lhs_lines, ROWS * DEPTH);
    read_file(GOOGLENET_DATA "/b.u8", rhs_lines, DEPTH * COLUMNS);
    double greatest_mean = 0;
    for (uint32_t rounding = QGEMM_REQUANTIZE_XORSHIFT; rounding <= QGEMM_REQUANTIZE_ADD_MOD; rounding++)
        for (int i = 0; i < 12; i++)
            for (int n = COLUMNS - 2; n <= COLUMNS; n++) {
                struct shape shape = {ROWS, depths[i], n};
                struct offsets offsets = {-84, 0};
                size_t count = ROWS * (size_t)n;
                multiply(shape, DEPTH, offsets, rounding);
                scale_down(rounded, count, 74980, 3401, 21, found_bytes);
                scale_down(exact, count, 74980, 3401, 21, exact_bytes);
                struct differences d = differences_of(found_bytes, exact_bytes, count);
                if (!(d.median_magnitude <= 2 && d.greatest_magnitude <= 10 && d.median == 0 && fabs(d.mean) <= 0.2)) {
                    printf("rounding %u, k %d, n %d: ", (unsigned)rounding, depths[i], n);
                    print_differences(&d);
                    exit(1);
                }
                greatest_mean = fmax(greatest_mean, fabs(d.mean));
            }
    printf("greatest mean of real ones: %.4f\n", greatest_mean);
}

/* Constant matrices: nothing but the rounding varies */

// The worst mean of a column, as a part of the greatest sum that there is.
static double bias_of_columns(struct shape shape) {
    double worst = 0;
    for (int j = 0; j < shape.n; j++) {
        double error = 0;
        for (int i = 0; i < shape.m; i++)
            error += (double)rounded[i * shape.n + j] - exact[i * shape.n + j];
        worst = fmax(worst, fabs(error) / shape.m / (65025. * shape.k));
    }
    return worst;
}

static double worst_bias(uint32_t rounding, struct seed *seed) {
    static const int depths[] = {384, 510, 765, 1000, 1020, 1275, 1530, 1785, 2040, 2048};
    double worst = 0;
    for (int i = 0; i < 10; i++)
        for (int pair = 0; pair < 10; pair++) {
            struct shape shape = {255, depths[i], 256};
            struct offsets offsets = {0, 0};
            memset(lhs_lines, below(seed, 256), (size_t)(shape.m * shape.k));
            memset(rhs_lines, below(seed, 256), (size_t)(shape.n * shape.k));
            multiply(shape, shape.k, offsets, rounding);
            worst = fmax(worst, bias_of_columns(shape));
        }
    return worst;
}

static void constant_matrices(struct seed *seed) {
    static const char *const names[] = {"nearest", "xorshift", "add-mod"};
    for (uint32_t rounding = QGEMM_REQUANTIZE_NEAREST; rounding <= QGEMM_REQUANTIZE_ADD_MOD; rounding++) {
        double worst = worst_bias(rounding, seed);
        printf("worst bias of a column of constant ones, %s: %.5f\n", names[rounding - QGEMM_REQUANTIZE_NEAREST], worst);
        // To nearest all elements of such matrices are off the same way.
        CHECK(rounding == QGEMM_REQUANTIZE_NEAREST ? worst > 0.01 : worst < 0.001);
    }
}

int main(void) {
    skip_unless_supported();
    struct seed seed = {7};
    random_matrices(&seed);
    real_matrices();
    constant_matrices(&seed);
    return 0;
}
