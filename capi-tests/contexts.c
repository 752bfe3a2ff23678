// Contexts of the caller's own: how they are made and freed, by whom and how many, and what is refused.

#define _GNU_SOURCE  // alarm, usleep
#include "check.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static qgemm_context *make(const qgemm_context_options *options) {
    qgemm_context *context = NULL;
    CHECK(qgemm_context_create(options, &context) == QGEMM_STATUS_OK && context != NULL);
    return context;
}

static qgemm_context *make_with_threads(int32_t threads) {
    qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    return make(&options);
}

// How many threads this process has.
static int threads_now(void) {
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(threads);
    return count;
}

// The system lists a thread for a moment after it has ended.
static void threads_become(int count) {
    for (int i = 0; i < 2000 && threads_now() > count; i++)
        usleep(1000);
    CHECK(threads_now() == count);
}

// A loop of the host's that notes how often it is called, and does what it should.
static void in_order(void *user, size_t tasks, qgemm_task task, void *argument) {
    ++*(int *)user;
    for (size_t i = 0; i < tasks; i++)
        task(argument, i);
}

static qgemm_context *make_on_host(int *calls) {
    qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
    options.threads = 4;
    options.parallel_for = in_order;
    options.user = calls;
    return make(&options);
}

static void threads_live_as_long_as_their_context(void) {
    int before = threads_now();
    const int32_t numbers[] = {1, 2, 5, 256};
    for (int i = 0; i < 4; i++) {
        qgemm_context *context = make_with_threads(numbers[i]);
        CHECK(threads_now() == before + numbers[i] - 1);
        qgemm_context_free(context);
        threads_become(before);
    }
    qgemm_context *most = make_with_threads(INT_MAX), *each_processor = make_with_threads(0);
    CHECK(threads_now() >= before + 255);
    qgemm_context_free(each_processor);
    qgemm_context_free(most);
    threads_become(before);
}

static void no_threads_are_started_in_place_of_the_hosts(void) {
    int before = threads_now(), calls = 0;
    qgemm_context *on_host = make_on_host(&calls), *alone = make(NULL);
    CHECK(threads_now() == before && calls == 0);
    qgemm_context_free(alone);
    qgemm_context_free(on_host);
    CHECK(calls == 0);
}

static void contexts_come_and_go(void) {
    int before = threads_now(), calls = 0;
    for (int i = 0; i < 300; i++) {
        qgemm_context *contexts[] = {make_with_threads(1 + i % 4), make(NULL), make_on_host(&calls),
                                     make_with_threads(2)};
        for (int j = 0; j < 4; j++)
            qgemm_context_free(contexts[(i + j) % 4]);
    }
    qgemm_context_free(NULL);
    threads_become(before);
}

static void *free_one_and_make_another(void *context) {
    for (int i = 0; i < 50; i++) {
        qgemm_context_free(context);
        context = make_with_threads(1 + i % 3);
    }
    return context;
}

static void any_thread_may_free_what_another_made(void) {
    int before = threads_now();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, free_one_and_make_another, make_with_threads(3)) == 0);
    for (int i = 0; i < 4; i++) {
        void *context;
        CHECK(pthread_join(threads[i], &context) == 0);
        qgemm_context_free(context);
    }
    threads_become(before);
}

// A child of fork() has none of its parent's contexts' threads: it may free the contexts nevertheless, and make others.
static void children_free_what_they_inherit(void) {
    int calls = 0;
    qgemm_context *contexts[] = {make_with_threads(3), make_with_threads(1), make_on_host(&calls)};
    int before = threads_now();
    for (int i = 0; i < 20; i++) {
        // Now while the threads are awake, now while they sleep.
        usleep(i % 2 * 1000);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(20);
            qgemm_context *own = make_with_threads(3);
            for (int j = 0; j < 3; j++)
                qgemm_context_free(contexts[j]);
            int right = threads_now() == 3;
            qgemm_context_free(own);
            qgemm_context_free(make_on_host(&calls));
            _exit(right ? 0 : 1);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFSIGNALED(status))
            fprintf(stderr, "the child ended by signal %d (%d: took too long)\n", WTERMSIG(status), SIGALRM);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(threads_now() == before && calls == 0);
    for (int i = 0; i < 3; i++)
        qgemm_context_free(contexts[i]);
    threads_become(before - 2);
}

static void fails(const void *options, qgemm_status status, const char *text) {
    qgemm_context *untouched = (qgemm_context *)&status, *context = untouched;
    qgemm_status found = qgemm_context_create(options, &context);
    if (found != status || strcmp(qgemm_last_error(), text) != 0) {
        fprintf(stderr, "status %d, \"%s\" instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
    CHECK(context == untouched);
}

static void wrong_options_are_refused(void) {
    qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
    options.threads = -1;
    fails(&options, QGEMM_STATUS_THREADS,
          "options->threads is -1, but must be a number of threads, or 0 for one on each processor");
    options.threads = INT_MIN;
    CHECK(qgemm_context_create(&options, &(qgemm_context *){NULL}) == QGEMM_STATUS_THREADS);
    options.threads = 1;
    options.reserved = 7;
    fails(&options, QGEMM_STATUS_OPTION, "options->reserved is 7, which this libqgemm does not know");
}

static void null_and_misaligned_pointers_are_refused(void) {
    CHECK(qgemm_context_create(NULL, NULL) == QGEMM_STATUS_NULL_POINTER);
    CHECK(strcmp(qgemm_last_error(), "context is null, but must not be") == 0);
    union {
        qgemm_context_options options;
        qgemm_context *context;
        char bytes[2 * sizeof(qgemm_context_options)];
    } room = {.options = QGEMM_CONTEXT_OPTIONS_INIT};
    memmove(room.bytes + 4, room.bytes, sizeof(qgemm_context_options));
    fails(room.bytes + 4, QGEMM_STATUS_ALIGNMENT, "options is not aligned: its address must be a multiple of 8");
    CHECK(qgemm_context_create(NULL, (qgemm_context **)(void *)(room.bytes + 4)) == QGEMM_STATUS_ALIGNMENT);
    CHECK(strcmp(qgemm_last_error(), "context is not aligned: its address must be a multiple of 8") == 0);
}

static void sizes_of_other_versions(void) {
    enum { SIZE = sizeof(qgemm_context_options), ROOM = 5000 };
    CHECK(SIZE == 32);
    union {
        qgemm_context_options options;
        char bytes[ROOM];
    } room = {.options = QGEMM_CONTEXT_OPTIONS_INIT};
    const size_t wrong[] = {0, 1, SIZE - 8, SIZE - 1, SIZE + 1, 4104, (size_t)-1, (size_t)-8};
    for (int i = 0; i < 8; i++) {
        char text[256];
        snprintf(text, sizeof text, "options->struct_size is %zu, but must be sizeof(*options), which is 32 or more",
                 wrong[i]);
        room.options.struct_size = wrong[i];
        fails(&room.options, QGEMM_STATUS_STRUCT_SIZE, text);
    }
    for (size_t size = SIZE; size <= 4096; size += 8) {
        room.options.struct_size = size;
        qgemm_context_free(make(&room.options));
        // What lies beyond is no business of the library.
        room.bytes[size] = 1;
        qgemm_context_free(make(&room.options));
        room.bytes[size] = 0;
        if (size == SIZE)
            continue;
        room.bytes[size - 1] = 1;
        fails(&room.options, QGEMM_STATUS_STRUCT_SIZE,
              "*options has values beyond its first 32 bytes, which are all that this libqgemm knows");
        room.bytes[size - 1] = 0;
    }
}

int main(void) {
    skip_unless_supported();
    threads_live_as_long_as_their_context();
    no_threads_are_started_in_place_of_the_hosts();
    contexts_come_and_go();
    any_thread_may_free_what_another_made();
    children_free_what_they_inherit();
    wrong_options_are_refused();
    null_and_misaligned_pointers_are_refused();
    sizes_of_other_versions();
    return 0;
}
