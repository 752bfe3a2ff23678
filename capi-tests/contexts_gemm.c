// Products in contexts of the caller's own: every number of threads, every kind of host, several callers, and children
// of fork().

#define _GNU_SOURCE  // alarm, usleep
#include "check.h"
#include "random.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// A product of bytes into sums of 32 bits, and what they are by the definition.
struct product {
    int m, n, k;
    uint32_t orders;  // bits: lhs, rhs and result are column-major
    uint8_t *lhs, *rhs;
    int32_t *result, *expected;
};

enum { LHS_OFFSET = -77, RHS_OFFSET = -99 };

static void *room(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    CHECK(memory != NULL);
    return memory;
}

static size_t at(int row, int col, int rows, int cols, uint32_t is_col_major) {
    return is_col_major ? (size_t)col * (size_t)rows + (size_t)row : (size_t)row * (size_t)cols + (size_t)col;
}

static struct product make_product(int m, int n, int k, uint32_t orders) {
    struct product p = {.m = m, .n = n, .k = k, .orders = orders};
    struct seed seed = {(uint64_t)(m + n + k)};
    size_t lhs_size = (size_t)m * (size_t)k, rhs_size = (size_t)k * (size_t)n, size = (size_t)m * (size_t)n;
    p.lhs = room(lhs_size, 1);
    p.rhs = room(rhs_size, 1);
    p.result = room(size, sizeof(int32_t));
    p.expected = room(size, sizeof(int32_t));
    for (size_t i = 0; i < lhs_size; i++)
        p.lhs[i] = (uint8_t)next_u32(&seed);
    for (size_t i = 0; i < rhs_size; i++)
        p.rhs[i] = (uint8_t)next_u32(&seed);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int32_t sum = 0;
            for (int l = 0; l < k; l++)
                sum += (p.lhs[at(i, l, m, k, orders & 1)] + LHS_OFFSET) * (p.rhs[at(l, j, k, n, orders & 2)] + RHS_OFFSET);
            p.expected[at(i, j, m, n, orders & 4)] = sum;
        }
    return p;
}

static void free_product(struct product *p) {
    free(p->lhs);
    free(p->rhs);
    free(p->result);
    free(p->expected);
}

static int comes_out_right_into(const qgemm_context *context, const struct product *p, int32_t *result) {
    size_t size = (size_t)p->m * (size_t)p->n * sizeof(int32_t);
    memset(result, 0xAB, size);
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = p->lhs;
    lhs.rows = p->m;
    lhs.cols = p->k;
    lhs.type = QGEMM_TYPE_U8;
    lhs.order = p->orders & 1 ? QGEMM_COL_MAJOR : QGEMM_ROW_MAJOR;
    lhs.offset.value = LHS_OFFSET;
    rhs.data = p->rhs;
    rhs.rows = p->k;
    rhs.cols = p->n;
    rhs.type = QGEMM_TYPE_U8;
    rhs.order = p->orders & 2 ? QGEMM_COL_MAJOR : QGEMM_ROW_MAJOR;
    rhs.offset.value = RHS_OFFSET;
    qgemm_result to = QGEMM_RESULT_INIT;
    to.data = result;
    to.rows = p->m;
    to.cols = p->n;
    to.type = QGEMM_TYPE_S32;
    to.order = p->orders & 4 ? QGEMM_COL_MAJOR : QGEMM_ROW_MAJOR;
    return qgemm_gemm(context, &lhs, &rhs, &to, NULL, 0, NULL) == QGEMM_STATUS_OK &&
           memcmp(result, p->expected, size) == 0;
}

static int comes_out_right(const qgemm_context *context, const struct product *p) {
    return comes_out_right_into(context, p, p->result);
}

// Loops of a host's. Each counts in `user` how often it is run.

static void in_order(void *user, size_t tasks, qgemm_task task, void *argument) {
    __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < tasks; i++)
        task(argument, i);
}

static void in_reverse(void *user, size_t tasks, qgemm_task task, void *argument) {
    __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
    for (size_t i = tasks; i-- > 0;)
        task(argument, i);
}

static void not_at_all(void *user, size_t tasks, qgemm_task task, void *argument) {
    (void)tasks, (void)task, (void)argument;
    __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
}

static void only_the_last(void *user, size_t tasks, qgemm_task task, void *argument) {
    __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
    task(argument, tasks - 1);
}

static void each_thrice(void *user, size_t tasks, qgemm_task task, void *argument) {
    __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < 3 * tasks; i++)
        task(argument, i / 3);
}

struct call {
    qgemm_task task;
    void *argument;
    size_t index;
};

static void *make_call(void *call_) {
    struct call *call = call_;
    call->task(call->argument, call->index);
    return NULL;
}

// On a thread for each, and none on the calling one.
static void on_threads(void *user, size_t tasks, qgemm_task task, void *argument) {
    __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
    enum { MOST = 16 };
    CHECK(tasks <= MOST);
    struct call calls[MOST];
    pthread_t threads[MOST];
    for (size_t i = 0; i < tasks; i++) {
        calls[i] = (struct call){task, argument, i};
        CHECK(pthread_create(&threads[i], NULL, make_call, &calls[i]) == 0);
    }
    for (size_t i = 0; i < tasks; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static const qgemm_parallel_for loops[] = {in_order,      in_reverse,  not_at_all,
                                           only_the_last, each_thrice, on_threads};
enum { LOOPS = sizeof loops / sizeof *loops };

static qgemm_context *make(int32_t threads, qgemm_parallel_for parallel_for, int *runs) {
    qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    options.parallel_for = parallel_for;
    options.user = runs;
    qgemm_context *context = NULL;
    CHECK(qgemm_context_create(&options, &context) == QGEMM_STATUS_OK && context != NULL);
    return context;
}

// AMX is done with most products before others would come.
static int is_fast(void) { return strcmp(qgemm_kernel_name(), "amx") == 0; }

static const int *shape_worth_sharing(void) {
    static const int shapes[][3] = {{190, 180, 170}, {600, 400, 420}};
    return shapes[is_fast()];
}

static void every_context_gives_the_same(void) {
    int shapes[][3] = {{256, 192, 130}, {700, 90, 100}, {65, 1100, 77}, {3, 900, 2000}, {40, 40, 40}, {1, 1, 1}};
    // So many of the first ones are worth several threads.
    int worth = 4;
    if (is_fast()) {
        memcpy(shapes[0], shape_worth_sharing(), sizeof shapes[0]);
        worth = 1;
    }
    for (int i = 0; i < 6; i++)
        for (uint32_t orders = 0; orders < 8; orders++) {
            struct product p = make_product(shapes[i][0], shapes[i][1], shapes[i][2], orders);
            CHECK(comes_out_right(NULL, &p));
            for (int32_t threads = 1; threads <= 5; threads++) {
                qgemm_context *own = make(threads, NULL, NULL);
                CHECK(comes_out_right(own, &p) && comes_out_right(own, &p));
                qgemm_context_free(own);
                for (int j = 0; j < LOOPS; j++) {
                    int runs = 0;
                    qgemm_context *on_host = make(threads, loops[j], &runs);
                    CHECK(comes_out_right(on_host, &p) && comes_out_right(on_host, &p));
                    CHECK(threads > 1 || runs == 0);
                    CHECK(threads == 1 || i >= worth || runs >= 2);
                    qgemm_context_free(on_host);
                }
            }
            free_product(&p);
        }
}

static void a_product_in_a_child(const qgemm_context *const contexts[], int count, const struct product *p,
                                 const int *runs) {
    if (!WITH_CHILDREN)
        return;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(20);
        int before = __atomic_load_n(runs, __ATOMIC_RELAXED), right = 1;
        for (int i = 0; i < count; i++)
            right &= comes_out_right(contexts[i], p);
        // There the host is not asked: its threads are not there.
        right &= __atomic_load_n(runs, __ATOMIC_RELAXED) == before;
        qgemm_context *own = make(3, NULL, NULL);
        right &= comes_out_right(own, p);
        qgemm_context_free(own);
        _exit(right ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        fprintf(stderr, "the child ended by signal %d (%d: took too long)\n", WTERMSIG(status), SIGALRM);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// One caller of several, who go from context to context.
struct caller {
    const qgemm_context *const *contexts;
    int count;
    const struct product *product;
    int32_t *result;
};

static int is_over;

static void *multiply_until_it_is_over(void *caller_) {
    const struct caller *caller = caller_;
    for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); i++)
        CHECK(comes_out_right_into(caller->contexts[i % caller->count], caller->product, caller->result));
    return NULL;
}

static void callers_share_contexts(void) {
    enum { CALLERS = 4 };
    int runs = 0;
    qgemm_context *contexts[] = {make(2, NULL, NULL), make(4, NULL, NULL), make(1, NULL, NULL),
                                 make(3, on_threads, &runs), make(2, in_order, &runs)};
    enum { CONTEXTS = sizeof contexts / sizeof *contexts };
    const int *shape = shape_worth_sharing();
    const size_t results = (size_t)shape[0] * shape[1];
    struct product p = make_product(shape[0], shape[1], shape[2], 5);
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        // The first two have a context each, the others take every one in turn.
        const qgemm_context *const *those = (const qgemm_context *const *)contexts;
        callers[i] = i < 2 ? (struct caller){those + i, 1, &p, room(results, sizeof(int32_t))}
                           : (struct caller){those, CONTEXTS, &p, room(results, sizeof(int32_t))};
        CHECK(pthread_create(&threads[i], NULL, multiply_until_it_is_over, &callers[i]) == 0);
    }
    for (int i = 0; i < 20; i++) {
        usleep(50000);
        a_product_in_a_child((const qgemm_context *const *)contexts, CONTEXTS, &p, &runs);
        qgemm_context *passing = make(3, NULL, NULL);
        CHECK(comes_out_right(passing, &p));
        qgemm_context_free(passing);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < CALLERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        free(callers[i].result);
    }
    CHECK(runs > 0);
    for (int i = 0; i < CONTEXTS; i++)
        qgemm_context_free(contexts[i]);
    free_product(&p);
}

// A host whose threads call for products themselves.
struct nest {
    const qgemm_context *context;
    const struct product *product;
    int32_t *results[4];
};

static void multiply_in_a_task(void *nest_, size_t index) {
    const struct nest *nest = nest_;
    CHECK(comes_out_right_into(nest->context, nest->product, nest->results[index]));
}

static void the_hosts_threads_multiply(void) {
    const int *shape = shape_worth_sharing();
    struct product p = make_product(shape[0], shape[1], shape[2], 0);
    for (int j = 0; j < LOOPS; j++) {
        int runs = 0;
        struct nest nest = {make(4, loops[j], &runs), &p, {NULL}};
        for (int i = 0; i < 4; i++)
            nest.results[i] = room((size_t)shape[0] * shape[1], sizeof(int32_t));
        on_threads(&runs, 4, multiply_in_a_task, &nest);
        CHECK(runs >= 5);
        for (int i = 0; i < 4; i++)
            free(nest.results[i]);
        qgemm_context_free((qgemm_context *)nest.context);
    }
    free_product(&p);
}

int main(void) {
    skip_unless_supported();
    every_context_gives_the_same();
    the_hosts_threads_multiply();
    callers_share_contexts();
    return 0;
}
