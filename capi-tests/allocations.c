// Calls allocate nothing, once the first few have: on one thread, on several, which may have gone to sleep, or on the host's.

#define _GNU_SOURCE  // usleep
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__

// The program's allocator, which everything in it comes to: the C library's, and it counts on all threads how often it is asked.

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *data, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static size_t allocations;

static void count(void) { __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *data, size_t size) {
    count();
    return __libc_realloc(data, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **data, size_t alignment, size_t size) {
    *data = memalign(alignment, size);
    return *data == NULL ? ENOMEM : 0;
}

static void some_calls(qgemm_status (*call)(const void *argument), const void *argument) {
    // Some follow each other at once; before others the helpers fall asleep.
    for (int i = 0; i < 20; i++)
        CHECK(call(argument) == QGEMM_STATUS_OK);
    for (int i = 0; i < 5; i++) {
        usleep(2000);
        CHECK(call(argument) == QGEMM_STATUS_OK);
    }
}

// Makes calls until the first few are over, and then some more, which must not allocate.
static void check(const char *what, qgemm_status (*call)(const void *argument), const void *argument) {
    some_calls(call, argument);
    const size_t before = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
    some_calls(call, argument);
    const size_t more = __atomic_load_n(&allocations, __ATOMIC_RELAXED) - before;
    if (more != 0)
        fprintf(stderr, "%s: %zu allocations\n", what, more);
    CHECK(more == 0);
}

// m, n, k: two that several threads share always, one if they are awake, one never. The largest come first: then it does not
// matter to the others' memory how many threads share them.
static int shapes[][3] = {{250, 200, 160}, {15, 20, 20000}, {100, 100, 100}, {5, 6, 7}};
enum { SHAPES = sizeof shapes / sizeof *shapes, BYTES = 600000, RESULTS = 240000 };

// Large enough for each matrix of any of them.
static uint8_t bytes[BYTES], codes[BYTES];
static float floats[BYTES], scales[BYTES];
static uint32_t results[RESULTS];

static void fill(void) {
    for (uint32_t i = 0; i < BYTES; i++) {
        bytes[i] = (uint8_t)(i * i % 251);
        codes[i] = bytes[i] & 15;
        floats[i] = bytes[i];
        scales[i] = 0.5f;
    }
}

struct old_call {
    int m, n, k, transposition, lda, ldb, ldc;
};

static qgemm_status old_call_u8(const void *call_) {
    const struct old_call *c = call_;
    const int t = c->transposition;
    return qgemm_eight_bit_int_gemm_u8(t, t, t, c->m, c->n, c->k, bytes, -9, c->lda, bytes, -7, c->ldb,
                                       (uint8_t *)results, 5, 3, 20, c->ldc, QGEMM_A8B8);
}

static qgemm_status old_call_f32(const void *call_) {
    const struct old_call *c = call_;
    const int t = c->transposition;
    static float to[RESULTS];
    return qgemm_eight_bit_int_gemm_f32(t, t, t, c->m, c->n, c->k, bytes, -9, c->lda, bytes, -7, c->ldb, to, 0.5f,
                                        c->ldc, QGEMM_A8B8);
}

static qgemm_status an_error(const void *none) {
    (void)none;
    return qgemm_set_max_num_threads(-1) == QGEMM_STATUS_THREADS ? QGEMM_STATUS_OK : QGEMM_STATUS_INTERNAL;
}

static void calls_as_gemmlowps(void) {
    for (int threads = 1; threads <= 4; threads *= 2) {
        CHECK(qgemm_set_max_num_threads(threads) == QGEMM_STATUS_OK);
        for (int i = 0; i < 2 * SHAPES; i++) {
            const int t = i % 2, m = shapes[i / 2][0], n = shapes[i / 2][1], k = shapes[i / 2][2];
            const struct old_call call = {m, n, k, t, t ? k : m, t ? n : k, t ? n : m};
            check("gemmlowp's call, to u8", old_call_u8, &call);
            check("gemmlowp's call, to f32", old_call_f32, &call);
        }
    }
    check("an error", an_error, NULL);
}

struct product {
    const qgemm_context *context;
    qgemm_operand lhs, rhs;
    qgemm_result result;
};

static struct product product(int m, int n, int k) {
    struct product p = {NULL, QGEMM_OPERAND_INIT, QGEMM_OPERAND_INIT, QGEMM_RESULT_INIT};
    p.lhs.data = bytes, p.lhs.rows = m, p.lhs.cols = k, p.lhs.type = QGEMM_TYPE_U8, p.lhs.offset.value = 3;
    p.rhs.data = bytes, p.rhs.rows = k, p.rhs.cols = n, p.rhs.type = QGEMM_TYPE_U8, p.rhs.offset.value = 3;
    p.result.data = results, p.result.rows = m, p.result.cols = n, p.result.type = QGEMM_TYPE_S32;
    return p;
}

static qgemm_status multiply(const void *product_) {
    const struct product *p = product_;
    return qgemm_gemm(p->context, &p->lhs, &p->rhs, &p->result, NULL, 0, NULL);
}

static qgemm_status run_prepared(const void *call) { return qgemm_prepared_run(call, NULL, NULL, NULL); }

// Weights of 4 bits, in groups with scales or not, packed for this order of the result or for the other one.
static void weights_of_few_bits(void) {
    for (int i = 0; i < 4 * SHAPES; i++) {
        const int *shape = shapes[i / 4];
        struct product p = product(shape[0], shape[1], shape[2]);
        p.rhs.data = codes;
        qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
        options.side = QGEMM_RHS, options.bits = 4, options.other_type = QGEMM_TYPE_U8;
        options.result_order = i & 1 ? QGEMM_COL_MAJOR : QGEMM_ROW_MAJOR;
        if (i & 2)
            options.group_size = 40, options.scales = scales;
        qgemm_packed *packed;
        const size_t before = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
        CHECK(qgemm_pack(&p.rhs, &options, &packed) == QGEMM_STATUS_OK);
        // Which shows that the library's allocations are counted.
        CHECK(__atomic_load_n(&allocations, __ATOMIC_RELAXED) > before);
        p.rhs.data = NULL, p.rhs.packed = packed, p.rhs.rows = p.rhs.cols = 0;
        p.result.type = i & 2 ? QGEMM_TYPE_F32 : QGEMM_TYPE_S32;
        check("weights of 4 bits", multiply, &p);
        qgemm_prepared *call;
        CHECK(qgemm_gemm_prepare(NULL, &p.lhs, &p.rhs, &p.result, NULL, 0, NULL, &call) == QGEMM_STATUS_OK);
        check("weights of 4 bits, prepared", run_prepared, call);
        qgemm_prepared_free(call);
        qgemm_packed_free(packed);
    }
}

enum { LINES = 600, COLUMNS = 1000 };

static qgemm_status quantize_lines(const void *side) {
    static float line_scales[COLUMNS];
    static int32_t offsets[COLUMNS];
    qgemm_floats from = QGEMM_FLOATS_INIT;
    from.data = floats, from.rows = LINES, from.cols = COLUMNS, from.side = *(const uint32_t *)side;
    qgemm_line_quantization quantization = QGEMM_LINE_QUANTIZATION_INIT;
    quantization.type = QGEMM_TYPE_U8, quantization.scheme = QGEMM_SCHEME_AFFINE;
    quantization.rounding = QGEMM_QUANTIZE_MULTIPLY, quantization.scales = line_scales, quantization.offsets = offsets;
    static uint8_t to[BYTES];
    return qgemm_quantize_lines_f32(NULL, &from, &quantization, to);
}

static qgemm_status choose(const void *none) {
    (void)none;
    static float chosen[COLUMNS];
    static int32_t zero_points[COLUMNS];
    const qgemm_channels channels = {LINES, COLUMNS, 1};
    return qgemm_choose_quantization_of(NULL, floats, &channels, QGEMM_SCHEME_SYMMETRIC, QGEMM_TYPE_S16, 0, 0, chosen,
                                        zero_points);
}

static qgemm_status look_up(const void *none) {
    (void)none;
    static uint8_t to[BYTES];
    return qgemm_table_apply(NULL, bytes, to, to, BYTES);
}

static void tensors(void) {
    const uint32_t sides[] = {QGEMM_LHS, QGEMM_RHS};
    check("quantizing rows", quantize_lines, &sides[0]);
    check("quantizing columns", quantize_lines, &sides[1]);
    check("choosing quantizations", choose, NULL);
    check("looking up", look_up, NULL);
}

struct convolution {
    const qgemm_conv_plan *plan;
    qgemm_operand image, weights;
    qgemm_result result;
};

static qgemm_status convolve(const void *convolution_) {
    const struct convolution *c = convolution_;
    return qgemm_conv_run(NULL, c->plan, &c->image, &c->weights, &c->result, NULL, 0, NULL);
}

// In one group, in several that begin a panel or not, one tap that takes every pixel, and depthwise.
static void convolutions(void) {
    const int layers[][3] = {{3, 1, 20}, {3, 2, 64}, {3, 4, 20}, {1, 1, 64}, {3, 20, 20}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const int taps = layers[i][0], groups = layers[i][1], channels = layers[i][2];
        qgemm_conv_desc desc = QGEMM_CONV_DESC_INIT;
        desc.input_channels = desc.output_channels = channels, desc.groups = groups;
        desc.filter_height = desc.filter_width = taps;
        desc.pad_top = desc.pad_left = desc.pad_bottom = desc.pad_right = taps / 2;
        desc.input_type = desc.weights_type = QGEMM_TYPE_U8;
        qgemm_conv_images images = QGEMM_CONV_IMAGES_INIT;
        images.batch = 1, images.height = images.width = 30;
        qgemm_conv_plan *plan;
        CHECK(qgemm_conv_plan_create(&desc, &images, &plan) == QGEMM_STATUS_OK);
        struct convolution c = {plan, QGEMM_OPERAND_INIT, QGEMM_OPERAND_INIT, QGEMM_RESULT_INIT};
        c.image.data = bytes, c.image.type = QGEMM_TYPE_U8, c.image.offset.value = -3;
        c.weights = c.image, c.weights.offset.value = 3;
        c.result.data = results, c.result.type = QGEMM_TYPE_S32;
        qgemm_packed *packed;
        CHECK(qgemm_conv_pack(&desc, &c.weights, NULL, &packed) == QGEMM_STATUS_OK);
        c.weights.data = NULL, c.weights.packed = packed;
        check("a convolution", convolve, &c);
        qgemm_prepared *call;
        CHECK(qgemm_conv_prepare(NULL, plan, &c.image, &c.weights, &c.result, NULL, 0, NULL, &call) == QGEMM_STATUS_OK);
        check("a convolution, prepared", run_prepared, call);
        qgemm_prepared_free(call);
        qgemm_packed_free(packed);
        qgemm_conv_plan_free(plan);
    }
}

// The host's threads: the one that calls, and others that run each of its loops with it.

enum { TEAM = 3 };

static pthread_barrier_t begin, end;
static qgemm_task team_task;
static size_t team_tasks;
static void *team_argument;
static int team_loops;

// Whether there was a task.
static int work(size_t index) {
    pthread_barrier_wait(&begin);
    if (team_task == NULL)
        return 0;
    if (index < team_tasks)
        team_task(team_argument, index);
    pthread_barrier_wait(&end);
    return 1;
}

static void *member(void *index) {
    while (work((size_t)index)) {
    }
    return NULL;
}

static void run_with_team(void *user, size_t tasks, qgemm_task task, void *argument) {
    (void)user;
    CHECK(tasks <= TEAM);
    team_task = task, team_tasks = tasks, team_argument = argument;
    team_loops++;
    work(0);
}

static void contexts(void) {
    pthread_t members[TEAM - 1];
    CHECK(pthread_barrier_init(&begin, NULL, TEAM) == 0 && pthread_barrier_init(&end, NULL, TEAM) == 0);
    for (size_t i = 1; i < TEAM; i++)
        CHECK(pthread_create(&members[i - 1], NULL, member, (void *)i) == 0);
    for (int i = 0; i < 2; i++) {
        qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
        options.threads = TEAM, options.parallel_for = i == 0 ? NULL : run_with_team;
        qgemm_context *context;
        CHECK(qgemm_context_create(&options, &context) == QGEMM_STATUS_OK);
        for (int j = 0; j < SHAPES; j++) {
            struct product p = product(shapes[j][0], shapes[j][1], shapes[j][2]);
            p.context = context;
            check(i == 0 ? "a context with threads" : "a context on the host's threads", multiply, &p);
        }
        qgemm_context_free(context);
    }
    // Otherwise the host's threads had nothing to do.
    CHECK(team_loops > 0);
    team_task = NULL;
    work(0);
    for (int i = 0; i < TEAM - 1; i++)
        CHECK(pthread_join(members[i], NULL) == 0);
}

int main(void) {
    skip_unless_supported();
    // AMX is done with smaller ones before others would come.
    if (strcmp(qgemm_kernel_name(), "amx") == 0)
        shapes[0][0] = 600, shapes[0][1] = 400, shapes[0][2] = 420;
    fill();
    calls_as_gemmlowps();
    weights_of_few_bits();
    tensors();
    convolutions();
    contexts();
    return 0;
}

#else

int main(void) {
    printf("skipped: only with glibc is it known what a program's own allocator may call\n");
    return SKIPPED;
}

#endif
