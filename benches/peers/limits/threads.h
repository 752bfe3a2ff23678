// Threads that run the same body at the same time, each on a CPU of its own.
#ifndef THREADS_H
#define THREADS_H
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 256 };

static pthread_barrier_t all_threads;
static void (*thread_body)(int thread);

// Of the CPUs that this process may use, the one for thread `n`.
static int allowed_cpu(int n) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  n %= CPU_COUNT(&allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &allowed) && n-- == 0) return cpu;
  return 0;
}

static void *pinned_thread(void *argument) {
  const int *cpu = argument;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu[1], &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  thread_body(cpu[0]);
  return NULL;
}

static void run_on_threads(int count, void (*body)(int thread)) {
  static pthread_t threads[MAX_THREADS];
  static int arguments[MAX_THREADS][2];
  thread_body = body;
  pthread_barrier_init(&all_threads, NULL, count);
  for (int i = 0; i < count; i++) {
    arguments[i][0] = i;
    arguments[i][1] = allowed_cpu(i);
    if (pthread_create(&threads[i], NULL, pinned_thread, arguments[i])) {
      perror("pthread_create");
      exit(1);
    }
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

// The number of threads that the command line's first argument asks for; one without it.
static int thread_count(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  if (count >= 1 && count <= MAX_THREADS) return count;
  fprintf(stderr, "usage: %s [threads]\n", argv[0]);
  exit(2);
}

#endif
