// QGEMM_A5B7, as EightBitIntGemm had it until 2017: 7 bits of a, 5 bits of b, where that is worth it; and as accurate as
// gemmlowp's tests asked for.
//
// Usage: a5b7 [exact], the latter where QGEMM_A5B7=exact is in the environment.

#include "check.h"
#include "differences.h"

#include <string.h>

enum { M = 192, N = 256, K = 1152 };

static uint8_t a[M * K], b[K * N], expected[M * N];

static void read_file(const char *path, uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fread(bytes, 1, size, file) == size && fgetc(file) == EOF);
    fclose(file);
}

/* What gemmlowp computed */

// FNV-1a, but for its basis, which lacks the last digit: so the hash was made.
static uint64_t hash_of(const float *values, size_t count) {
    uint64_t hash = UINT64_C(1469598103934665603);
    for (size_t i = 0; i < count * sizeof *values; i++)
        hash = (hash ^ ((const uint8_t *)values)[i]) * UINT64_C(1099511628211);
    return hash;
}

static void transpose(const uint8_t *from, int runs, int len, uint8_t *to) {
    for (int run = 0; run < runs; run++)
        for (int i = 0; i < len; i++)
            to[i * runs + run] = from[run * len + i];
}

// Below the threshold gemmlowp rounded to nearest: the same on all processors, with any number of threads.
static void the_floats_are_gemmlowps(void) {
    enum { DEPTH = 383 };
    static uint8_t other_a[M * K], other_b[K * N];
    static float c[M * N], other_c[M * N];
    transpose(a, M, K, other_a);
    transpose(b, N, K, other_b);
    for (int threads = 1; threads <= 4; threads++)
        for (int order = 0; order < 8; order++) {
            int ta = order & 1, tb = order >> 1 & 1, tc = order >> 2;
            CHECK(qgemm_set_max_num_threads(threads) == QGEMM_STATUS_OK);
            CHECK(qgemm_eight_bit_int_gemm_f32(ta, tb, tc, M, N, DEPTH, ta ? a : other_a, -84, ta ? K : M,
                                               tb ? other_b : b, -13, tb ? N : K, c, 1, tc ? N : M,
                                               QGEMM_A5B7) == QGEMM_STATUS_OK);
            for (int i = 0; tc && i < M * N; i++)
                other_c[i % N * M + i / N] = c[i];
            CHECK(hash_of(tc ? other_c : c, M * N) == UINT64_C(0xa939618a802516f7));
        }
    CHECK(qgemm_set_max_num_threads(1) == QGEMM_STATUS_OK);
}

/* What gemmlowp's tests asked for */

static void it_is_accurate_on_googlenet(void) {
    static uint8_t c[M * N], first[M * N];
    for (int threads = 1; threads <= 4; threads++) {
        CHECK(qgemm_set_max_num_threads(threads) == QGEMM_STATUS_OK);
        CHECK(qgemm_eight_bit_int_gemm_u8(1, 0, 0, M, N, K, a, -84, K, b, 0, K, c, 74980, 3401, 21, M, QGEMM_A5B7) ==
              QGEMM_STATUS_OK);
        if (threads == 1)
            memcpy(first, c, sizeof c);
        CHECK(memcmp(first, c, sizeof c) == 0);
    }
    CHECK(qgemm_set_max_num_threads(1) == QGEMM_STATUS_OK);
    struct differences d = differences_of(c, expected, M * N);
    print_differences(&d);
    CHECK(d.median_magnitude <= 2 && d.greatest_magnitude <= 10 && d.median == 0);
    CHECK(-0.2 <= d.mean && d.mean <= 0.2);
    CHECK(memcmp(c, expected, sizeof c) != 0);
}

/* Who gets which bits, and when */

// The product of a column of these and a row of those.
static float product(int m, int n, uint8_t x, uint8_t y, uint32_t bit_depth) {
    enum { MOST = 100000 };
    static uint8_t xs[MOST], ys[MOST];
    static float c[MOST * 2];
    CHECK(m <= MOST && n <= MOST && (int64_t)m * n <= 2 * MOST);
    memset(xs, x, (size_t)m);
    memset(ys, y, (size_t)n);
    CHECK(qgemm_eight_bit_int_gemm_f32(1, 1, 1, m, n, 1, xs, 0, 1, ys, 0, n, c, 1, n, bit_depth) == QGEMM_STATUS_OK);
    for (int i = 1; i < m * n; i++)
        CHECK(c[i] == c[0]);
    return c[0];
}

// As observed of gemmlowp before 2017.
static void a_has_7_bits_and_b_5(void) {
    CHECK(product(100, 100, 100, 255, QGEMM_A5B7) == 25600);
    CHECK(product(100, 100, 255, 100, QGEMM_A5B7) == 25171);
    CHECK(product(100, 100, 100, 255, QGEMM_A8B8) == 25500);
}

static void it_has_to_be_worth_it(void) {
    static const struct {
        int m, n, is_rounded;
    } cases[] = {{50, 99, 0}, {99, 99, 0},  {99, 100, 0},   {100, 99, 0},   {99, 101, 0},   {99, 102, 1}, {100, 100, 1},
                 {100, 101, 1}, {51, 3000, 1}, {3000, 51, 1}, {51, 2549, 0}, {51, 2550, 1}, {50, 4000, 0}, {1, 100000, 0},
                 {100000, 1, 0}, {1, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(product(cases[i].m, cases[i].n, 255, 100, QGEMM_A5B7) == (cases[i].is_rounded ? 25171 : 25500));
}

// As A8B8, which is what gemmlowp has made of it since 2017.
static void it_can_be_exact(void) {
    static uint8_t c[M * N];
    CHECK(qgemm_eight_bit_int_gemm_u8(1, 0, 0, M, N, K, a, -84, K, b, 0, K, c, 74980, 3401, 21, M, QGEMM_A5B7) ==
          QGEMM_STATUS_OK);
    CHECK(memcmp(c, expected, sizeof c) == 0);
    CHECK(product(100, 100, 255, 100, QGEMM_A5B7) == 25500);
}

int main(int argc, char **argv) {
    skip_unless_supported();
    read_file(GOOGLENET_DATA "/a.u8", a, sizeof a);
    read_file(GOOGLENET_DATA "/b.u8", b, sizeof b);
    read_file(GOOGLENET_DATA "/expected_c.u8", expected, sizeof expected);
    if (argc > 1) {
        CHECK(strcmp(argv[1], "exact") == 0);
        it_can_be_exact();
        return 0;
    }
    the_floats_are_gemmlowps();
    it_is_accurate_on_googlenet();
    a_has_7_bits_and_b_5();
    it_has_to_be_worth_it();
    return 0;
}
