// Every failure that the C interface documents: its status, its text, and a result that stays as it was.

#define _GNU_SOURCE  // setenv, MAP_ANONYMOUS
#include "check.h"
#include "product.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// Room for a, b and c of the products below, in which any byte that changes is noticed.
enum { ROOM = 4096 };
static union {
    uint8_t bytes[ROOM];
    float floats[ROOM / sizeof(float)];
} memory;

static void fill_memory(void) {
    for (int i = 0; i < ROOM; i++)
        memory.bytes[i] = (uint8_t)(i * 7 + 1);
}

static int memory_is_as_filled(void) {
    for (int i = 0; i < ROOM; i++)
        if (memory.bytes[i] != (uint8_t)(i * 7 + 1))
            return 0;
    return 1;
}

// A product without fault, all row-major with gaps: a is 5 x 6, b is 6 x 7, c is 5 x 7.
static struct product faultless(void) {
    struct product p = {.m = 5, .n = 7, .k = 6, .transpose_a = 1, .transpose_b = 1, .transpose_c = 1};
    p.a = memory.bytes;
    p.lda = 9;
    p.b = memory.bytes + 1000;
    p.ldb = 11;
    p.c = memory.bytes + 2000;
    p.ldc = 10;
    p.c_mult_int = 1;
    p.c_shift = 10;
    p.c_scale = 1;
    return p;
}

typedef qgemm_status (*multiply_function)(const struct product *);

static void fails_in(multiply_function multiply, const struct product *p, qgemm_status status, const char *text) {
    fill_memory();
    qgemm_status found = multiply(p);
    if (found != status || strcmp(qgemm_last_error(), text) != 0) {
        fprintf(stderr, "status %d, \"%s\" instead of %d, \"%s\" in ", (int)found, qgemm_last_error(), (int)status, text);
        print_product(stderr, p);
        fprintf(stderr, "\n");
        exit(1);
    }
    CHECK(memory_is_as_filled());
}

static void fails(const struct product *p, qgemm_status status, const char *text) {
    fails_in(multiply_u8, p, status, text);
    fails_in(multiply_f32, p, status, text);
}

static void works(const struct product *p) {
    fill_memory();
    CHECK(multiply_u8(p) == QGEMM_STATUS_OK && result_is_right_u8(p));
    fill_memory();
    CHECK(multiply_f32(p) == QGEMM_STATUS_OK && result_is_right_f32(p));
}

static void the_faultless_works(void) {
    struct product p = faultless();
    works(&p);
}

static void null_pointers(void) {
    struct product p = faultless();
    p.a = NULL;
    fails(&p, QGEMM_STATUS_NULL_POINTER, "a is null, but its matrix has elements");
    p = faultless();
    p.b = NULL;
    fails(&p, QGEMM_STATUS_NULL_POINTER, "b is null, but its matrix has elements");
    p = faultless();
    p.c = NULL;
    fails(&p, QGEMM_STATUS_NULL_POINTER, "c is null, but its matrix has elements");
}

static void null_pointers_to_nothing_are_accepted(void) {
    struct product p = faultless();
    p.m = 0;
    p.a = NULL;
    p.c = NULL;
    works(&p);
    p = faultless();
    p.n = 0;
    p.b = NULL;
    p.c = NULL;
    works(&p);
    p = faultless();
    p.k = 0;
    p.a = NULL;
    p.b = NULL;
    fill_memory();
    CHECK(multiply_u8(&p) == QGEMM_STATUS_OK && memory_is_as_filled());
    CHECK(multiply_f32(&p) == QGEMM_STATUS_OK && result_is_right_f32(&p));
    p.c = NULL;
    fails(&p, QGEMM_STATUS_NULL_POINTER, "c is null, but its matrix has elements");
}

static void sizes(void) {
    struct product p = faultless();
    p.m = -1;
    fails(&p, QGEMM_STATUS_SHAPE, "m is -1, but must not be negative");
    p = faultless();
    p.n = -2;
    fails(&p, QGEMM_STATUS_SHAPE, "n is -2, but must not be negative");
    p = faultless();
    p.k = INT_MIN;
    fails(&p, QGEMM_STATUS_SHAPE, "k is -2147483648, but must not be negative");
}

static void strides(void) {
    struct product p = faultless();
    p.lda = -1;
    fails(&p, QGEMM_STATUS_STRIDE, "lda is -1, but must be at least 0");
    p = faultless();
    p.ldb = INT_MIN;
    fails(&p, QGEMM_STATUS_STRIDE, "ldb is -2147483648, but must be at least 0");
    p = faultless();
    p.ldc = -1;
    fails(&p, QGEMM_STATUS_STRIDE, "ldc is -1, but must be at least 7");
    p.ldc = 6;
    fails(&p, QGEMM_STATUS_STRIDE, "ldc is 6, but must be at least 7");
    p.transpose_c = 0;
    p.ldc = 4;
    fails(&p, QGEMM_STATUS_STRIDE, "ldc is 4, but must be at least 5");
}

static void short_strides_of_inputs_are_accepted(void) {
    struct product p = faultless();
    for (p.lda = 0; p.lda <= p.k; p.lda++)
        for (p.ldb = 0; p.ldb <= p.n; p.ldb++)
            works(&p);
}

// Where a stride steps over nothing, it may be anything.
static void garbage_strides_are_accepted(void) {
    const int garbage[] = {INT_MIN, -1, 0, INT_MAX};
    for (int transpositions = 0; transpositions < 8; transpositions++)
        for (int i = 0; i < 4; i++) {
            struct product p = faultless();
            p.transpose_a = transpositions & 1;
            p.transpose_b = transpositions & 2;
            p.transpose_c = transpositions & 4;
            *(p.transpose_a ? &p.m : &p.k) = 1;
            *(p.transpose_b ? &p.k : &p.n) = 1;
            *(p.transpose_c ? &p.m : &p.n) = 1;
            CHECK(layout_of_a(&p).runs == 1 && layout_of_b(&p).runs == 1 && layout_of_c(&p).runs == 1);
            p.lda = p.ldb = p.ldc = garbage[i];
            works(&p);
        }
}

static void shifts(void) {
    struct product p = faultless();
    p.c_shift = -1;
    fails_in(multiply_u8, &p, QGEMM_STATUS_SHIFT_RANGE, "c_shift is -1, but must be 0 to 31");
    p.c_shift = 32;
    fails_in(multiply_u8, &p, QGEMM_STATUS_SHIFT_RANGE, "c_shift is 32, but must be 0 to 31");
    for (p.c_shift = 0; p.c_shift < 32; p.c_shift++)
        works(&p);
}

static void bit_depths(void) {
    struct product p = faultless();
    p.bit_depth = QGEMM_A5B7;
    works(&p);
    p.bit_depth = 2;
    fails(&p, QGEMM_STATUS_BIT_DEPTH, "bit_depth is 2, but must be QGEMM_A8B8 (0) or QGEMM_A5B7 (1)");
    p.bit_depth = UINT32_MAX;
    fails(&p, QGEMM_STATUS_BIT_DEPTH, "bit_depth is 4294967295, but must be QGEMM_A8B8 (0) or QGEMM_A5B7 (1)");
}

static void alignment(void) {
    struct product p = faultless();
    p.c = memory.bytes + 2002;
    fill_memory();
    CHECK(multiply_u8(&p) == QGEMM_STATUS_OK && result_is_right_u8(&p));
    fails_in(multiply_f32, &p, QGEMM_STATUS_ALIGNMENT, "c is not aligned: its address must be a multiple of 4");
    p.m = 0;
    CHECK(multiply_f32(&p) == QGEMM_STATUS_OK);
}

// Any "true" will do, not only 1.
static void transpositions(void) {
    struct product p = faultless();
    p.transpose_a = -1;
    p.transpose_b = INT_MIN;
    p.transpose_c = 256;
    works(&p);
}

static void overlaps(void) {
    const char *with_a = "c overlaps a, which is still to be read", *with_b = "c overlaps b, which is still to be read";
    struct product p = faultless();
    p.c = memory.bytes;
    fails(&p, QGEMM_STATUS_OVERLAP, with_a);
    p.c = memory.bytes + 1000;
    fails(&p, QGEMM_STATUS_OVERLAP, with_b);
    // a ends with the first byte of c, then just before it; b begins with the last of c, then just behind it.
    p = faultless();
    p.a = (const uint8_t *)p.c - (extent(layout_of_a(&p), p.lda) - 1);
    fails(&p, QGEMM_STATUS_OVERLAP, with_a);
    p.a--;
    works(&p);
    p = faultless();
    p.b = (const uint8_t *)p.c + extent(layout_of_c(&p), p.ldc) - 1;
    fails_in(multiply_u8, &p, QGEMM_STATUS_OVERLAP, with_b);
    p.b++;
    fill_memory();
    CHECK(multiply_u8(&p) == QGEMM_STATUS_OK && result_is_right_u8(&p));
    p.b = (const uint8_t *)p.c + extent(layout_of_c(&p), p.ldc) * sizeof(float) - 1;
    fails_in(multiply_f32, &p, QGEMM_STATUS_OVERLAP, with_b);
    p.b++;
    works(&p);
}

// a, b and c side by side, columns of one larger row-major matrix: nothing is shared but the lines.
static void submatrices_of_one_matrix_are_accepted(void) {
    struct product p = faultless();
    p.m = p.n = p.k = 6;
    p.lda = p.ldb = 64;
    p.a = memory.bytes + 1;
    p.b = memory.bytes + 7;
    fill_memory();
    p.c = memory.bytes + 13;
    p.ldc = 64;
    CHECK(multiply_u8(&p) == QGEMM_STATUS_OK && result_is_right_u8(&p));
    fill_memory();
    p.c = memory.floats + 4;
    p.ldc = 16;
    CHECK(multiply_f32(&p) == QGEMM_STATUS_OK && result_is_right_f32(&p));
    p.b = memory.bytes + 15 + 4 * 6;
    fails_in(multiply_f32, &p, QGEMM_STATUS_OVERLAP, "c overlaps b, which is still to be read");
    p.b++;
    fill_memory();
    CHECK(multiply_f32(&p) == QGEMM_STATUS_OK && result_is_right_f32(&p));
}

// a and b may share what they like.
static void overlapping_inputs_are_accepted(void) {
    struct product p = faultless();
    p.b = p.a + 3;
    works(&p);
}

static void beyond_the_address_space(void) {
    struct product p = faultless();
    p.m = p.ldc = INT_MAX;
    p.n = p.k = 1;
    p.lda = 0;
    fails_in(multiply_f32, &p, QGEMM_STATUS_TOO_LARGE,
             "c reaches beyond the address space with these sizes and this stride");
    p.transpose_c = 0;
    p.n = INT_MAX;
    p.m = 1;
    fails_in(multiply_f32, &p, QGEMM_STATUS_TOO_LARGE,
             "c reaches beyond the address space with these sizes and this stride");
}

static void numbers_of_threads(void) {
    CHECK(qgemm_set_max_num_threads(-1) == QGEMM_STATUS_THREADS);
    CHECK(strcmp(qgemm_last_error(), "max_num_threads is -1, but must be a number of threads, or 0 for one on each "
                                     "processor") == 0);
    CHECK(qgemm_set_max_num_threads(INT_MIN) == QGEMM_STATUS_THREADS);
    CHECK(qgemm_set_max_num_threads(INT_MAX) == QGEMM_STATUS_OK);
    the_faultless_works();
    CHECK(qgemm_set_max_num_threads(0) == QGEMM_STATUS_OK);
    the_faultless_works();
    CHECK(qgemm_set_max_num_threads(1) == QGEMM_STATUS_OK);
}

static void status_messages(void) {
    const int known[] = {QGEMM_STATUS_OK,          QGEMM_STATUS_NULL_POINTER, QGEMM_STATUS_SHAPE,
                         QGEMM_STATUS_STRIDE,      QGEMM_STATUS_SHIFT_RANGE,  QGEMM_STATUS_TOO_LARGE,
                         QGEMM_STATUS_OUT_OF_MEMORY, QGEMM_STATUS_UNSUPPORTED, QGEMM_STATUS_INTERNAL,
                         QGEMM_STATUS_BIT_DEPTH,   QGEMM_STATUS_OVERLAP,      QGEMM_STATUS_THREADS,
                         QGEMM_STATUS_ALIGNMENT,   QGEMM_STATUS_STRUCT_SIZE,  QGEMM_STATUS_WORKSPACE,
                         QGEMM_STATUS_OPTION,      QGEMM_STATUS_TYPE,         QGEMM_STATUS_STAGE_ORDER,
                         QGEMM_STATUS_VECTOR_LENGTH, QGEMM_STATUS_OVERFLOW,   QGEMM_STATUS_PARAMETER,
                         QGEMM_STATUS_PACKED_DAMAGED, QGEMM_STATUS_PACKED_LAYOUT, QGEMM_STATUS_RANGE};
    const int count = sizeof known / sizeof *known;
    const char *unknown = qgemm_status_message(-1);
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            const char *other = i == j ? unknown : qgemm_status_message(known[j]);
            CHECK(strcmp(qgemm_status_message(known[i]), other) != 0);
        }
    // Every number near 0, and some everywhere else.
    for (int64_t status = INT_MIN; status <= INT_MAX; status += -70000 < status && status < 70000 ? 1 : 9973) {
        int is_known = 0;
        for (int i = 0; i < count; i++)
            is_known |= known[i] == status;
        CHECK((strcmp(qgemm_status_message((int32_t)status), unknown) != 0) == is_known);
    }
    CHECK(strcmp(qgemm_status_message(INT_MAX), unknown) == 0);
}

static void *has_errors_of_its_own(void *unused) {
    CHECK(strcmp(qgemm_last_error(), "") == 0);
    CHECK(qgemm_set_max_num_threads(-7) == QGEMM_STATUS_THREADS);
    CHECK(strstr(qgemm_last_error(), "-7") != NULL);
    return unused;
}

static void last_errors(void) {
    struct product p = faultless();
    p.m = -1234;
    fails(&p, QGEMM_STATUS_SHAPE, "m is -1234, but must not be negative");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, has_errors_of_its_own, NULL) == 0 && pthread_join(thread, NULL) == 0);
    the_faultless_works();
    CHECK(strcmp(qgemm_last_error(), "m is -1234, but must not be negative") == 0);
}

// With a stride of 0, k rows of b are one row in memory, but not once they are packed: then they take k bytes, or 16 k.
static struct product packed_into_much(int k) {
    struct product p = faultless();
    p.transpose_a = 0;
    p.m = p.n = 1;
    p.k = k;
    p.lda = p.ldb = 0;
    return p;
}

// Address space, in bytes, that this process may have beyond what it has.
static void allow(size_t bytes) {
    size_t pages_now;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%zu", &pages_now) == 1);
    fclose(statm);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = pages_now * (size_t)sysconf(_SC_PAGESIZE) + bytes;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void allow_everything(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

// An emulator may have memory whatever the limit.
static int limits_hold(void) {
    allow(4 << 20);
    void *beyond = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    allow_everything();
    return beyond == MAP_FAILED || munmap(beyond, 64 << 20) != 0;
}

static void runs_out_of_memory(multiply_function multiply, const struct product *p) {
    fill_memory();
    CHECK(multiply(p) == QGEMM_STATUS_OUT_OF_MEMORY && memory_is_as_filled());
    CHECK(strstr(qgemm_last_error(), "bytes of scratch memory were not to be had") != NULL);
}

static void out_of_memory(void) {
    qgemm_free_persistent_resources();
    the_faultless_works();
    struct product large = packed_into_much(1 << 23), huge = packed_into_much(1 << 30);
    allow(4 << 20);
    runs_out_of_memory(multiply_u8, &large);
    runs_out_of_memory(multiply_f32, &large);
    runs_out_of_memory(multiply_u8, &huge);
    the_faultless_works();
    allow_everything();
    works(&large);
    the_faultless_works();
    qgemm_free_persistent_resources();
}

// Where no thread can be started, the caller does all the work.
static void out_of_memory_for_threads(void) {
    enum { SIZE = 256 };
    static uint8_t a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (uint8_t)(i * i >> 3);
        b[i] = (uint8_t)(i * 7);
    }
    struct product p = {.m = SIZE, .n = SIZE, .k = SIZE, .a = a, .b = b, .c = c};
    p.lda = p.ldb = p.ldc = SIZE;
    p.c_mult_int = 1;
    p.c_shift = 15;
    qgemm_free_persistent_resources();
    CHECK(multiply_u8(&p) == QGEMM_STATUS_OK);
    CHECK(qgemm_set_max_num_threads(4) == QGEMM_STATUS_OK);
    allow(1 << 20);
    qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
    options.threads = 4;
    qgemm_context *context;
    CHECK(qgemm_context_create(&options, &context) == QGEMM_STATUS_OK);
    qgemm_context_free(context);
    for (int i = 0; i < 3; i++) {
        memset(c, 0, sizeof c);
        CHECK(multiply_u8(&p) == QGEMM_STATUS_OK && result_is_right_u8(&p));
    }
    allow_everything();
    memset(c, 0, sizeof c);
    CHECK(multiply_u8(&p) == QGEMM_STATUS_OK && result_is_right_u8(&p));
    CHECK(qgemm_set_max_num_threads(1) == QGEMM_STATUS_OK);
}

// Operands that could be addressed, but never packed. Their memory is inaccessible: nobody may look at it.
static void more_than_any_memory(void) {
    size_t size = (size_t)INT_MAX + 4096;
    uint8_t *nowhere = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(nowhere != MAP_FAILED);
    struct product p = faultless();
    p.m = p.k = INT_MAX;
    p.n = 1;
    p.a = nowhere;
    p.lda = 0;
    p.b = nowhere;
    p.ldb = 1;
    p.c = nowhere + size;
    p.ldc = 1;
    runs_out_of_memory(multiply_u8, &p);
    munmap(nowhere, 2 * size);
}

// QGEMM_ISA is read once, so this takes a process of its own that has not called anything yet.
static void with_isa(const char *isa, void (*then)(void)) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(setenv("QGEMM_ISA", isa, 1) == 0);
        then();
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void an_unknown_kernel(void) {
    CHECK(strcmp(qgemm_last_error(), "") == 0);
    CHECK(qgemm_kernel_name() == NULL);
    char text[256];
    CHECK(strlen(qgemm_last_error()) < sizeof text);
    strcpy(text, qgemm_last_error());
    CHECK(strstr(text, "QGEMM_ISA is \"abacus\", which names no kernel; known are ") == text);
    CHECK(strstr(text, "scalar") != NULL);
    qgemm_context *context;
    CHECK(qgemm_context_create(NULL, &context) == QGEMM_STATUS_UNSUPPORTED && strcmp(qgemm_last_error(), text) == 0);
    struct product p = faultless();
    fails(&p, QGEMM_STATUS_UNSUPPORTED, text);
    p.m = -1;
    fails(&p, QGEMM_STATUS_SHAPE, "m is -1, but must not be negative");
}

static void no_kernel_named(void) {
    CHECK(qgemm_kernel_name() != NULL);
    the_faultless_works();
}

int main(void) {
    // Else threads that have ended leave address space behind, which memory can be had from whatever the limit.
    CHECK(mallopt(M_ARENA_MAX, 1));
    with_isa("abacus", an_unknown_kernel);
    with_isa("", no_kernel_named);
    skip_unless_supported();
    CHECK(strcmp(qgemm_last_error(), "") == 0);
    the_faultless_works();
    null_pointers();
    null_pointers_to_nothing_are_accepted();
    sizes();
    strides();
    short_strides_of_inputs_are_accepted();
    garbage_strides_are_accepted();
    shifts();
    bit_depths();
    alignment();
    transpositions();
    overlaps();
    submatrices_of_one_matrix_are_accepted();
    overlapping_inputs_are_accepted();
    beyond_the_address_space();
    numbers_of_threads();
    status_messages();
    last_errors();
    more_than_any_memory();
    if (limits_hold()) {
        out_of_memory();
        out_of_memory_for_threads();
    } else {
        printf("left out: calls without memory, for here memory cannot be limited\n");
    }
    return 0;
}
