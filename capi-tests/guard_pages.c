// Products of matrices whose surroundings must not be touched: inaccessible pages before, behind and between their runs,
// and bytes that must stay what they are.

#include "check.h"
#include "plot.h"
#include "product.h"
#include "random.h"

static void fill_randomly(const struct plot *plot, int greatest, struct seed *seed) {
    for (size_t run = 0; run < plot->runs; run++)
        for (size_t i = 0; i < plot->len; i++)
            plot->data[run * plot->stride + i] = (uint8_t)(next_u32(seed) & (uint32_t)greatest);
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

static void multiply_into(const struct plot *c, size_t element) {
    fill_with_canaries(c);
    current.c = c->data;
    current.ldc = (int)(c->stride / element);
    int is_f32 = element == sizeof(float);
    require((is_f32 ? multiply_f32 : multiply_u8)(&current) == QGEMM_STATUS_OK, "the call failed");
    // With a depth of 0, bytes stay what they are.
    if (is_f32 || current.k > 0)
        require((is_f32 ? result_is_right_f32 : result_is_right_u8)(&current), "the result is wrong");
    require(canaries_live(c), "a byte outside of the result was written");
}

static void multiply(struct seed *seed) {
    struct layout in_a = layout_of_a(&current), in_b = layout_of_b(&current), in_c = layout_of_c(&current);
    size_t gap = (size_t)(below(seed, 2) * below(seed, 40));
    struct plot a = make_plot((size_t)in_a.runs, (size_t)in_a.len, gap, placement_of_a);
    struct plot b = make_plot((size_t)in_b.runs, (size_t)in_b.len, gap, placement_of_b);
    fill_randomly(&a, 255, seed);
    // Some processors multiply numbers of 7 bits by other instructions.
    fill_randomly(&b, below(seed, 3) == 0 ? 127 : 255, seed);
    current.a = a.data;
    current.lda = (int)a.stride;
    current.b = b.data;
    current.ldb = (int)b.stride;
    const size_t elements[] = {sizeof(uint8_t), sizeof(float)};
    for (int i = 0; i < 2; i++) {
        size_t element = elements[i];
        struct plot c = make_plot((size_t)in_c.runs, (size_t)in_c.len * element, gap * element, placement_of_c);
        multiply_into(&c, element);
        free_plot(&c);
    }
    free_plot(&a);
    free_plot(&b);
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
    report_faults(report);
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
