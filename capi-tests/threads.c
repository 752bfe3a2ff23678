// Products on several threads of the caller's, on several of the library's, and in children of fork().

#define _GNU_SOURCE  // clock_gettime, alarm
#include "check.h"
#include "product.h"
#include "random.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A product of its own memory, and the result that one thread alone finds.
struct task {
    struct product product;
    size_t size;
    uint8_t *expected;
};

static uint8_t *random_bytes(size_t count, struct seed *seed) {
    uint8_t *bytes = malloc(count + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)next_u32(seed);
    return bytes;
}

static struct task make_task(int m, int n, int k, int transpositions) {
    struct seed seed = {(uint64_t)(m + n + k + transpositions)};
    struct task task = {.product = {.m = m, .n = n, .k = k}, .size = (size_t)m * (size_t)n};
    struct product *p = &task.product;
    p->transpose_a = transpositions & 1;
    p->transpose_b = transpositions & 2;
    p->transpose_c = transpositions & 4;
    p->lda = layout_of_a(p).len;
    p->ldb = layout_of_b(p).len;
    p->ldc = layout_of_c(p).len;
    p->a = random_bytes((size_t)m * (size_t)k, &seed);
    p->b = random_bytes((size_t)k * (size_t)n, &seed);
    p->a_offset = -77;
    p->b_offset = -99;
    p->c_offset = 2000 * k;
    p->c_mult_int = 1;
    for (p->c_shift = 0; (5000 * k) >> p->c_shift > 255;)
        p->c_shift++;
    task.expected = malloc(task.size + 1);
    CHECK(task.expected != NULL && qgemm_set_max_num_threads(1) == QGEMM_STATUS_OK);
    p->c = task.expected;
    CHECK(multiply_u8(p) == QGEMM_STATUS_OK && result_is_right_u8(p));
    p->c = malloc(task.size + 1);
    CHECK(p->c != NULL);
    return task;
}

static void free_task(struct task *task) {
    free((void *)task->product.a);
    free((void *)task->product.b);
    free(task->product.c);
    free(task->expected);
}

static int comes_out_right(const struct task *task) {
    memset(task->product.c, 0xAB, task->size);
    return multiply_u8(&task->product) == QGEMM_STATUS_OK &&
           memcmp(task->product.c, task->expected, task->size) == 0;
}

static double now(void) {
    struct timespec time;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double end;

static void *multiply_until_the_end(void *argument) {
    const struct task *task = argument;
    int products = 0;
    for (; now() < end; products++)
        CHECK(comes_out_right(task));
    CHECK(products > 0);
    return NULL;
}

// A child of fork() has none of the library's threads, and may have been made while one of them held something.
static void multiply_in_a_child(const struct task *task) {
    if (!WITH_CHILDREN)
        return;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(20);
        int right = comes_out_right(task) && qgemm_set_max_num_threads(2) == QGEMM_STATUS_OK &&
                    comes_out_right(task);
        qgemm_free_persistent_resources();
        _exit(right && comes_out_right(task) ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        fprintf(stderr, "the child ended by signal %d (%d: took too long)\n", WTERMSIG(status), SIGALRM);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void every_number_of_threads_gives_the_same(void) {
    const int shapes[][3] = {{256, 192, 130}, {700, 90, 100}, {65, 1100, 77}, {3, 900, 2000}, {40, 40, 40}};
    for (int i = 0; i < 5; i++)
        for (int transpositions = 0; transpositions < 8; transpositions++) {
            struct task task = make_task(shapes[i][0], shapes[i][1], shapes[i][2], transpositions);
            for (int threads = 1; threads <= 8; threads++) {
                CHECK(qgemm_set_max_num_threads(threads) == QGEMM_STATUS_OK);
                CHECK(comes_out_right(&task) && comes_out_right(&task));
            }
            free_task(&task);
        }
}

// What children multiply must not be memory that another thread is just writing.
static void callers_do_not_disturb_each_other(void) {
    struct task tasks[] = {make_task(200, 180, 150, 3), make_task(17, 33, 65, 4), make_task(333, 64, 300, 1),
                           make_task(1, 1000, 500, 7)};
    struct task in_child = make_task(190, 190, 190, 0);
    pthread_t callers[4];
    end = now() + 2;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&callers[i], NULL, multiply_until_the_end, &tasks[i]) == 0);
    for (int i = 0; now() < end; i++) {
        CHECK(qgemm_set_max_num_threads(i % 6) == QGEMM_STATUS_OK);
        usleep(500);
        qgemm_free_persistent_resources();
        usleep(500);
        if (i % 50 == 0)
            multiply_in_a_child(&in_child);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(callers[i], NULL) == 0);
        free_task(&tasks[i]);
    }
    free_task(&in_child);
}

static void a_child_multiplies_after_its_parent_has(void) {
    struct task task = make_task(256, 256, 256, 5);
    for (int threads = 1; threads <= 4; threads++) {
        CHECK(qgemm_set_max_num_threads(threads) == QGEMM_STATUS_OK);
        CHECK(comes_out_right(&task));
        multiply_in_a_child(&task);
        CHECK(comes_out_right(&task));
    }
    free_task(&task);
}

int main(void) {
    skip_unless_supported();
    every_number_of_threads_gives_the_same();
    a_child_multiplies_after_its_parent_has();
    callers_do_not_disturb_each_other();
    return 0;
}
