// How the test programs report.

#ifndef CHECK_H
#define CHECK_H

#include <qgemm/qgemm.h>
#include <stdio.h>
#include <stdlib.h>

// The exit status that CTest takes for "skipped".
enum { SKIPPED = 77 };

// Whether children of fork() are tested. Not where a sanitizer's allocator may stay locked in them.
#ifndef WITH_CHILDREN
#define WITH_CHILDREN 1
#endif

// Ends the program unless `condition` holds.
#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

// Ends the program, as skipped, if this processor does not run the kernel that QGEMM_ISA names. The first call.
static inline void skip_unless_supported(void) {
    const char *kernel = qgemm_kernel_name();
    if (kernel == NULL) {
        printf("skipped: %s\n", qgemm_last_error());
        exit(SKIPPED);
    }
    printf("kernel: %s\n", kernel);
    fflush(stdout);
}

#endif
