// One convolution layer of GoogLeNet, with real weights and activations: is the result right, and how long does it take?
//
// Usage: googlenet [THREADS [DIRECTORY]]

#define _GNU_SOURCE  // clock_gettime
#include <qgemm/qgemm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { M = 192, N = 256, K = 1152, RUNS = 101 };

static const double OPERATIONS = 2. * M * N * K;

static uint8_t a[M * K], b[K * N], c[M * N], expected[M * N];

static void fail(const char *what, const char *why) {
    fprintf(stderr, "googlenet: %s: %s\n", what, why);
    exit(1);
}

static void read_file(const char *directory, const char *name, uint8_t *bytes, size_t size) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        fail(directory, "the path is too long");
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail(path, "cannot be opened");
    size_t got = fread(bytes, 1, size, file);
    if (got != size || fgetc(file) != EOF)
        fail(path, "is not of the expected size");
    fclose(file);
}

// a is row-major, b and c are column-major.
static void multiply(void) {
    qgemm_status status = qgemm_eight_bit_int_gemm_u8(1, 0, 0, M, N, K, a, -84, K, b, 0, K, c, 74980, 3401, 21, M,
                                                      QGEMM_A8B8);
    if (status != QGEMM_STATUS_OK)
        fail(qgemm_status_message(status), qgemm_last_error());
}

static int wrong_bytes(void) {
    int wrong = 0;
    for (int i = 0; i < M * N; i++)
        wrong += c[i] != expected[i];
    return wrong;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

// In seconds.
static double median_time(void) {
    double times[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        multiply();
        times[i] = now() - start;
    }
    qsort(times, RUNS, sizeof *times, by_value);
    return times[RUNS / 2];
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    const char *directory = argc > 2 ? argv[2] : GOOGLENET_DATA;
    if (qgemm_kernel_name() == NULL) {
        printf("skipped: %s\n", qgemm_last_error());
        return 77;
    }
    if (qgemm_set_max_num_threads(threads) != QGEMM_STATUS_OK)
        fail(argv[1], qgemm_last_error());
    read_file(directory, "a.u8", a, sizeof a);
    read_file(directory, "b.u8", b, sizeof b);
    read_file(directory, "expected_c.u8", expected, sizeof expected);
    multiply();
    int wrong = wrong_bytes();
    printf("GoogLeNet convolution as a matrix product: %d x %d weights by %d x %d activations, 8 bits each\n", M, K, K,
           N);
    printf("  result   %d of %d bytes as expected%s\n", M * N - wrong, M * N, wrong == 0 ? "" : ": WRONG");
    if (wrong > 0)
        return 1;
    double seconds = median_time();
    printf("  kernel   %s\n", qgemm_kernel_name());
    printf("  threads  %d%s\n", threads, threads == 0 ? " (one on each processor)" : "");
    printf("  time     %.3f ms a call (median of %d)\n", seconds * 1e3, RUNS);
    printf("  speed    %.1f GOPS (%.1f million operations a call, a multiplication and an addition counting two)\n",
           OPERATIONS / seconds * 1e-9, OPERATIONS * 1e-6);
    return wrong_bytes() == 0 ? 0 : 1;
}
