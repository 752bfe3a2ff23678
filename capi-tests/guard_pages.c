// Products of matrices whose surroundings must not be touched: inaccessible pages before, behind and between their runs,
// and bytes that must stay what they are.

#define _GNU_SOURCE  // MAP_ANONYMOUS, sigaction, alarm
#include "check.h"
#include "product.h"
#include "random.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Where the runs of a matrix lie.
enum placement {
    BEHIND_A_FENCE,    // the matrix begins where an inaccessible page ends
    BEFORE_A_FENCE,    // it ends where one begins
    RUNS_BEHIND_ONE,   // each of its runs begins so
    RUNS_BEFORE_ONE,   // each of its runs ends so
    PLACEMENTS
};

static size_t page;

static size_t pages(size_t bytes) {
    return (bytes + page - 1) / page * page;
}

// A matrix and the memory around it.
struct plot {
    uint8_t *memory;
    size_t size;
    uint8_t *data;
    size_t stride;
    size_t runs, len;
};

static struct plot reserve(size_t size) {
    struct plot plot = {.memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .size = size};
    CHECK(plot.memory != MAP_FAILED);
    return plot;
}

static void open_pages(uint8_t *from, size_t size) {
    if (size > 0)
        CHECK(mprotect(from, size, PROT_READ | PROT_WRITE) == 0);
}

// All runs in one piece, with gaps of `gap` bytes.
static struct plot in_one_piece(size_t runs, size_t len, size_t gap, enum placement placement) {
    size_t stride = len + gap, extent = runs == 0 || len == 0 ? 0 : (runs - 1) * stride + len;
    size_t inside = pages(extent);
    struct plot plot = reserve(page + inside + page);
    open_pages(plot.memory + page, inside);
    plot.data = plot.memory + page + (placement == BEHIND_A_FENCE ? 0 : inside - extent);
    plot.stride = stride;
    plot.runs = runs;
    plot.len = len;
    return plot;
}

// Each run in pages of its own, with an inaccessible one between each and the next.
static struct plot run_by_run(size_t runs, size_t len, enum placement placement) {
    size_t inside = pages(len), stride = inside + page;
    struct plot plot = reserve(page + runs * stride);
    for (size_t i = 0; i < runs; i++)
        open_pages(plot.memory + page + i * stride, inside);
    plot.data = plot.memory + page + (placement == RUNS_BEHIND_ONE ? 0 : inside - len);
    plot.stride = stride;
    plot.runs = runs;
    plot.len = len;
    return plot;
}

static struct plot make_plot(size_t runs, size_t len, size_t gap, enum placement placement) {
    switch (placement) {
        case BEHIND_A_FENCE:
        case BEFORE_A_FENCE:
            return in_one_piece(runs, len, gap, placement);
        default:
            return run_by_run(runs, len, placement);
    }
}

// What a byte outside of the runs holds.
static uint8_t canary(size_t i) {
    return (uint8_t)(i * 7 + 1);
}

// Calls `visit` for every stretch of the plot that is accessible.
static void for_each_stretch(const struct plot *plot, enum placement placement,
                             void (*visit)(const struct plot *, size_t from, size_t to)) {
    if (placement == BEHIND_A_FENCE || placement == BEFORE_A_FENCE) {
        visit(plot, page, plot->size - page);
        return;
    }
    for (size_t i = 0; i < plot->runs; i++)
        visit(plot, page + i * plot->stride, page + i * plot->stride + pages(plot->len));
}

static void fill_with_canaries(const struct plot *plot, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        plot->memory[i] = canary(i);
}

static int is_in_a_run(const struct plot *plot, size_t i) {
    size_t start = (size_t)(plot->data - plot->memory);
    return i >= start && (i - start) / plot->stride < plot->runs && (i - start) % plot->stride < plot->len;
}

static void fill_randomly(const struct plot *plot, struct seed *seed) {
    for (size_t run = 0; run < plot->runs; run++)
        for (size_t i = 0; i < plot->len; i++)
            plot->data[run * plot->stride + i] = (uint8_t)next_u32(seed);
}

// What is being multiplied, for the report of a fault.
static struct product current;
static enum placement placement_of_a, placement_of_b, placement_of_c;
static int threads;

static void report(const char *what) {
    fprintf(stderr, "%s in ", what);
    print_product(stderr, &current);
    fprintf(stderr, ", placements %d %d %d, %d threads\n", placement_of_a, placement_of_b, placement_of_c, threads);
}

static void require(int condition, const char *otherwise) {
    if (!condition) {
        report(otherwise);
        exit(1);
    }
}

// Not all of this may be done in a signal handler, but the program is lost anyway.
static void on_fault(int number) {
    (void)number;
    alarm(5);
    report("an inaccessible byte was touched");
    _exit(1);
}

static void check_canaries(const struct plot *plot, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        require(plot->memory[i] == canary(i) || is_in_a_run(plot, i), "a byte outside of the result was written");
}

static void multiply_into(const struct plot *c, size_t element) {
    for_each_stretch(c, placement_of_c, fill_with_canaries);
    current.c = c->data;
    current.ldc = (int)(c->stride / element);
    int is_f32 = element == sizeof(float);
    require((is_f32 ? multiply_f32 : multiply_u8)(&current) == QGEMM_STATUS_OK, "the call failed");
    // With a depth of 0, bytes stay what they are.
    if (is_f32 || current.k > 0)
        require((is_f32 ? result_is_right_f32 : result_is_right_u8)(&current), "the result is wrong");
    for_each_stretch(c, placement_of_c, check_canaries);
}

static void multiply(struct seed *seed) {
    struct layout in_a = layout_of_a(&current), in_b = layout_of_b(&current), in_c = layout_of_c(&current);
    size_t gap = (size_t)(below(seed, 2) * below(seed, 40));
    struct plot a = make_plot((size_t)in_a.runs, (size_t)in_a.len, gap, placement_of_a);
    struct plot b = make_plot((size_t)in_b.runs, (size_t)in_b.len, gap, placement_of_b);
    fill_randomly(&a, seed);
    fill_randomly(&b, seed);
    current.a = a.data;
    current.lda = (int)a.stride;
    current.b = b.data;
    current.ldb = (int)b.stride;
    const size_t elements[] = {sizeof(uint8_t), sizeof(float)};
    for (int i = 0; i < 2; i++) {
        size_t element = elements[i];
        struct plot c = make_plot((size_t)in_c.runs, (size_t)in_c.len * element, gap * element, placement_of_c);
        multiply_into(&c, element);
        munmap(c.memory, c.size);
    }
    munmap(a.memory, a.size);
    munmap(b.memory, b.size);
}

static struct product random_product(struct seed *seed, int m, int n, int k) {
    struct product p = {.m = m, .n = n, .k = k};
    int transpositions = below(seed, 8);
    p.transpose_a = transpositions & 1;
    p.transpose_b = transpositions & 2;
    p.transpose_c = transpositions & 4;
    // Without an offset the library may spare itself the sums of the other operand.
    p.a_offset = below(seed, 3) == 0 ? 0 : -below(seed, 256);
    p.b_offset = below(seed, 3) == 0 ? 0 : -below(seed, 256);
    p.c_offset = below(seed, 1000);
    p.c_mult_int = 1 + below(seed, 100);
    p.c_shift = below(seed, 20);
    p.c_scale = 0.5f;
    return p;
}

static int uniform_placement;

static enum placement place(struct seed *seed) {
    return uniform_placement < PLACEMENTS ? (enum placement)uniform_placement : (enum placement)below(seed, PLACEMENTS);
}

// In all placements: all three matrices alike, and then a mixture.
static void multiply_everywhere(struct seed *seed, int m, int n, int k) {
    for (uniform_placement = 0; uniform_placement <= PLACEMENTS; uniform_placement++) {
        current = random_product(seed, m, n, k);
        placement_of_a = place(seed);
        placement_of_b = place(seed);
        placement_of_c = place(seed);
        multiply(seed);
    }
}

// Each length up to a little more than any tile, panel or vector, with every remainder of the depth.
static void multiply_small_ones(struct seed *seed) {
    for (int i = 0; i < 70; i++)
        for (int around = 0; around < 2; around++) {
            multiply_everywhere(seed, i, 1 + below(seed, 20), 1 + below(seed, 40));
            multiply_everywhere(seed, 1 + below(seed, 20), i, 1 + below(seed, 40));
            multiply_everywhere(seed, 1 + below(seed, 9), 1 + below(seed, 70), i);
        }
}

// Deep enough to be cut into slices, or to be longer than a page.
static void multiply_deep_ones(struct seed *seed) {
    for (int i = 0; i < 8; i++)
        multiply_everywhere(seed, 1 + below(seed, 9), 1 + below(seed, 20), 1000 + below(seed, 4000));
}

// Large enough to be worth several threads.
static void multiply_large_ones(struct seed *seed) {
    for (int i = 0; i < 6; i++)
        multiply_everywhere(seed, 170 + below(seed, 30), 150 + below(seed, 50), 160 + below(seed, 10));
}

int main(void) {
    skip_unless_supported();
    page = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_handler = on_fault};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
    struct seed seed = {4096};
    threads = 1;
    multiply_small_ones(&seed);
    multiply_deep_ones(&seed);
    multiply_large_ones(&seed);
    threads = 3;
    CHECK(qgemm_set_max_num_threads(threads) == QGEMM_STATUS_OK);
    multiply_deep_ones(&seed);
    multiply_large_ones(&seed);
    multiply_large_ones(&seed);
    return 0;
}
