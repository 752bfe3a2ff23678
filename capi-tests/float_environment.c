// The host's rounding mode, and whether it flushes small numbers to zero, change no result, and stay what they are: on the
// calling thread, with a pool of the library's, and on threads of the host's. Nor does a call leave the upper halves of vector
// registers in use: older instructions of the host's would wait for them, hundreds of cycles.

#include "check.h"
#include "random_call.h"

#include <fenv.h>
#include <pthread.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
enum { FLUSHES = 1 << 15 | 1 << 6 };
static unsigned settings(void) {
    return _mm_getcsr() & (FLUSHES | 3 << 13);
}
static void flush_to_zero(void) {
    _mm_setcsr(_mm_getcsr() | FLUSHES);
}
#elif defined(__aarch64__)
static unsigned settings(void) {
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return (unsigned)word;
}
static void flush_to_zero(void) {
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    __asm__ volatile("msr fpcr, %0" : : "r"(word | 1 << 24));
}
#endif

// Whether the processor has upper halves, and says that they are in use.
static int are_uppers_in_use(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__builtin_cpu_supports("avx") || !__get_cpuid_count(13, 1, &a, &b, &c, &d) || !(a & 1 << 2))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
    return a >> 2 & 1;
#else
    return 0;
#endif
}

static void clear_uppers(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" : : : "xmm0");
#endif
}

struct errand {
    qgemm_task task;
    void *argument;
    size_t index;
};

static void *run_errand(void *argument) {
    const struct errand *errand = argument;
    errand->task(errand->argument, errand->index);
    return NULL;
}

// A thread for each task: it has the settings of the one that starts it.
static void on_threads(void *user, size_t tasks, qgemm_task task, void *argument) {
    pthread_t threads[4];
    struct errand errands[4];
    CHECK(user == NULL && tasks <= 4);
    for (size_t i = 0; i < tasks; i++) {
        struct errand errand = {task, argument, i};
        errands[i] = errand;
        CHECK(pthread_create(&threads[i], NULL, run_errand, &errands[i]) == 0);
    }
    for (size_t i = 0; i < tasks; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

enum { CONTEXTS = 3, MODES = 4, SMALL = 150, LARGE = 10 };
static qgemm_context *contexts[CONTEXTS];

static void make_contexts(void) {
    for (int i = 0; i < CONTEXTS; i++) {
        qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
        options.threads = i == 0 ? 1 : 3;
        options.parallel_for = i == 2 ? on_threads : NULL;
        CHECK(qgemm_context_create(&options, &contexts[i]) == QGEMM_STATUS_OK);
    }
}

static void make(const struct call *call, const qgemm_context *context, int is_prepared, int mode) {
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.bit_depth = &call->bit_depth;
    options.flags = call->flags;
    restore_result(call);
    qgemm_prepared *prepared;
    CHECK(qgemm_gemm_prepare(context, &call->lhs, &call->rhs, &call->result, call->stages, call->stage_count, &options,
                             &prepared) == QGEMM_STATUS_OK);
    fenv_t standard;
    CHECK(fegetenv(&standard) == 0 && fesetround(mode) == 0);
#if defined(__x86_64__) || defined(__aarch64__)
    flush_to_zero();
    unsigned before = settings();
#endif
    clear_uppers();
    int tells = !are_uppers_in_use();
    qgemm_status status =
        is_prepared
            ? qgemm_prepared_run(prepared, NULL, NULL, NULL)
            : qgemm_gemm(context, &call->lhs, &call->rhs, &call->result, call->stages, call->stage_count, &options);
    CHECK(!tells || !are_uppers_in_use());
    int mode_after = fegetround();
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK(settings() == before);
#endif
    CHECK(fesetenv(&standard) == 0);
    CHECK(status == QGEMM_STATUS_OK && mode_after == mode);
    if (!result_is_right(call)) {
        print_call(stderr, call);
        fprintf(stderr, "\nwith rounding mode %d\n", mode);
        exit(1);
    }
    qgemm_prepared_free(prepared);
}

// Products without stages, which kernels bring to their place in ways of their own.
static void make_plain(int size, const qgemm_context *context) {
    enum { MOST = 128 };
    static uint8_t lhs_bytes[MOST * MOST];
    static int8_t rhs_bytes[MOST * MOST];
    static int32_t sums[MOST * MOST];
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    qgemm_result result = QGEMM_RESULT_INIT;
    CHECK(size <= MOST);
    lhs.rows = lhs.cols = rhs.rows = rhs.cols = result.rows = result.cols = size;
    lhs.data = lhs_bytes, lhs.type = QGEMM_TYPE_U8, lhs.offset.value = -7;
    rhs.data = rhs_bytes, rhs.type = QGEMM_TYPE_S8;
    result.data = sums, result.type = QGEMM_TYPE_S32;
    qgemm_prepared *prepared;
    CHECK(qgemm_gemm_prepare(context, &lhs, &rhs, &result, NULL, 0, NULL, &prepared) == QGEMM_STATUS_OK);
    for (int is_prepared = 0; is_prepared < 2; is_prepared++) {
        clear_uppers();
        int tells = !are_uppers_in_use();
        CHECK((is_prepared ? qgemm_prepared_run(prepared, NULL, NULL, NULL)
                           : qgemm_gemm(context, &lhs, &rhs, &result, NULL, 0, NULL)) == QGEMM_STATUS_OK);
        CHECK(!tells || !are_uppers_in_use());
    }
    qgemm_prepared_free(prepared);
}

int main(void) {
    skip_unless_supported();
    make_contexts();
    const int modes[MODES] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    for (uint64_t i = 0; i < SMALL + LARGE; i++) {
        int size = i < SMALL ? 1 + (int)i % 40 : 150;
        struct call call = random_call(LATER + 50000 + i, size, size, size, 0);
        for (int context = 0; context < CONTEXTS; context++)
            for (int is_prepared = 0; is_prepared < 2; is_prepared++)
                make(&call, contexts[context], is_prepared, modes[(i + (uint64_t)context) % MODES]);
        free_call(&call);
    }
    for (int size = 1; size < 128; size = 2 * size + 1)
        for (int context = 0; context < CONTEXTS; context++)
            make_plain(size, contexts[context]);
    for (int i = 0; i < CONTEXTS; i++)
        qgemm_context_free(contexts[i]);
    return 0;
}
