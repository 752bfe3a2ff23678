#define _GNU_SOURCE  // MAP_ANONYMOUS, sigaction, alarm, posix_memalign
#include "plot.h"

#include "check.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

// Around a matrix in the open: what a kernel might write beside it.
enum { MARGIN = 128 };

static size_t page_size(void) {
    static size_t size;
    if (size == 0)
        size = (size_t)sysconf(_SC_PAGESIZE);
    return size;
}

static size_t pages(size_t bytes) {
    return (bytes + page_size() - 1) / page_size() * page_size();
}

static uint8_t *reserve(size_t size) {
    uint8_t *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void open_pages(uint8_t *from, size_t size) {
    if (size > 0)
        CHECK(mprotect(from, size, PROT_READ | PROT_WRITE) == 0);
}

static size_t extent_of(const struct plot *plot) {
    return plot->runs == 0 || plot->len == 0 ? 0 : (plot->runs - 1) * plot->stride + plot->len;
}

// At odd addresses, if the elements allow.
static void lay_in_the_open(struct plot *plot, size_t gap) {
    plot->stride = plot->len + gap;
    size_t extent = extent_of(plot), shift = (plot->runs * plot->len + gap) % 16;
    plot->size = MARGIN + shift + extent + MARGIN;
    void *memory;
    CHECK(posix_memalign(&memory, 64, plot->size) == 0);
    plot->memory = memory;
    plot->data = plot->memory + MARGIN + shift;
}

static void lay_in_one_piece(struct plot *plot, size_t gap) {
    plot->stride = plot->len + gap;
    size_t extent = extent_of(plot), inside = pages(extent);
    plot->size = page_size() + inside + page_size();
    plot->memory = reserve(plot->size);
    open_pages(plot->memory + page_size(), inside);
    plot->data = plot->memory + page_size() + (plot->placement == BEHIND_A_FENCE ? 0 : inside - extent);
}

// Each run in pages of its own, with an inaccessible one between each and the next.
static void lay_run_by_run(struct plot *plot) {
    size_t inside = pages(plot->len);
    plot->stride = inside + page_size();
    plot->size = page_size() + plot->runs * plot->stride;
    plot->memory = reserve(plot->size);
    for (size_t i = 0; i < plot->runs; i++)
        open_pages(plot->memory + page_size() + i * plot->stride, inside);
    plot->data = plot->memory + page_size() + (plot->placement == RUNS_BEHIND_ONE ? 0 : inside - plot->len);
}

struct plot make_plot(size_t runs, size_t len, size_t gap, enum placement placement) {
    struct plot plot = {.placement = placement, .runs = runs, .len = len};
    switch (placement) {
        case IN_THE_OPEN:
            lay_in_the_open(&plot, gap);
            break;
        case BEHIND_A_FENCE:
        case BEFORE_A_FENCE:
            lay_in_one_piece(&plot, gap);
            break;
        default:
            lay_run_by_run(&plot);
    }
    return plot;
}

void free_plot(const struct plot *plot) {
    if (plot->placement == IN_THE_OPEN)
        free(plot->memory);
    else
        CHECK(munmap(plot->memory, plot->size) == 0);
}

static uint8_t canary(size_t i) {
    return (uint8_t)(i * 7 + 1);
}

// Bytes of the run that byte `i` is in, from there on; 0 if it is in none.
static size_t left_of_run(const struct plot *plot, size_t i) {
    size_t start = (size_t)(plot->data - plot->memory);
    if (extent_of(plot) == 0 || i < start || (i - start) / plot->stride >= plot->runs)
        return 0;
    size_t within = (i - start) % plot->stride;
    return within < plot->len ? plot->len - within : 0;
}

static int fill_stretch(const struct plot *plot, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        plot->memory[i] = canary(i);
    return 1;
}

static int check_stretch(const struct plot *plot, size_t from, size_t to) {
    for (size_t i = from; i < to;) {
        size_t step = plot->memory[i] == canary(i) ? 1 : left_of_run(plot, i);
        if (step == 0)
            return 0;
        i += step;
    }
    return 1;
}

// Calls `visit` for every stretch of the plot that is accessible, as long as it returns 1.
static int every_stretch(const struct plot *plot, int (*visit)(const struct plot *, size_t from, size_t to)) {
    switch (plot->placement) {
        case IN_THE_OPEN:
            return visit(plot, 0, plot->size);
        case BEHIND_A_FENCE:
        case BEFORE_A_FENCE:
            return visit(plot, page_size(), plot->size - page_size());
        default:
            for (size_t i = 0; i < plot->runs; i++) {
                size_t from = page_size() + i * plot->stride;
                if (!visit(plot, from, from + pages(plot->len)))
                    return 0;
            }
            return 1;
    }
}

void fill_with_canaries(const struct plot *plot) {
    every_stretch(plot, fill_stretch);
}

int canaries_live(const struct plot *plot) {
    return every_stretch(plot, check_stretch);
}

static void (*report_of_fault)(const char *what);

// Not all of this may be done in a signal handler, but the program is lost anyway.
static void on_fault(int number) {
    (void)number;
    alarm(5);
    report_of_fault("inaccessible memory was touched");
    _exit(1);
}

void report_faults(void (*report)(const char *what)) {
    report_of_fault = report;
    struct sigaction action = {.sa_handler = on_fault};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
}
