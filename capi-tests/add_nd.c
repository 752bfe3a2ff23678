// Tensors of many dimensions added, in any layout, with either of them broadcast: each element is what two elements by
// themselves give, and nothing beside the elements is touched.

#include "check.h"
#include "plot.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 8, ROUNDS = 400 };

// A tensor behind or before a fence, with strides that may leave gaps.
struct tensor {
    int64_t strides[MOST];
    struct plot plot;
};

static void report(const char *what) {
    fprintf(stderr, "%s\n", what);
}

// The dimensions lie in memory in the order of `order`, the last the closest. Broadcast where `broadcast` has a bit.
static struct tensor lay(struct seed *seed, int rank, const int64_t *sizes, const int *order, unsigned broadcast) {
    struct tensor tensor;
    int64_t step = 1 + one_in(seed, 4), extent = 1;
    for (int k = rank - 1; k >= 0; k--) {
        int d = order[k];
        tensor.strides[d] = broadcast >> d & 1 ? 0 : step;
        extent = sizes[d] == 0 ? 0 : extent + tensor.strides[d] * (sizes[d] - 1) * (extent > 0);
        if (tensor.strides[d] > 0)
            step = step * (sizes[d] == 0 ? 1 : sizes[d]) + (one_in(seed, 5) ? below(seed, 3) : 0);
    }
    for (int d = 0; d < rank; d++)
        if (sizes[d] == 0)
            extent = 0;
    tensor.plot = make_plot(1, (size_t)extent, 0, one_in(seed, 2) ? BEHIND_A_FENCE : BEFORE_A_FENCE);
    fill_with_canaries(&tensor.plot);
    for (int64_t i = 0; i < extent; i++)
        tensor.plot.data[i] = (uint8_t)next_u32(seed);
    return tensor;
}

static uint8_t *at(const struct tensor *tensor, int rank, const int64_t *place) {
    uint8_t *data = tensor->plot.data;
    for (int d = 0; d < rank; d++)
        data += place[d] * tensor->strides[d];
    return data;
}

// The next place in row-major order; 0 if there is none.
static int advance(int rank, const int64_t *sizes, int64_t *place) {
    for (int d = rank - 1; d >= 0; d--) {
        if (++place[d] < sizes[d])
            return 1;
        place[d] = 0;
    }
    return 0;
}

static void random_tensors(struct seed *seed, const qgemm_add_parameters *parameters) {
    int rank = below(seed, MOST + 1), order[MOST], count = 1;
    int64_t sizes[MOST];
    for (int d = 0; d < rank; d++) {
        sizes[d] = one_in(seed, 60) ? 0 : one_in(seed, 6) ? 1 + below(seed, 150) : 1 + below(seed, 4);
        sizes[d] = count > 20000 ? 1 : sizes[d];
        count *= (int)sizes[d];
        int k = one_in(seed, 3) ? below(seed, d + 1) : d;
        order[d] = order[k];
        order[k] = d;
    }
    struct tensor a = lay(seed, rank, sizes, order, one_in(seed, 2) ? next_u32(seed) : 0);
    struct tensor b = lay(seed, rank, sizes, order, one_in(seed, 2) ? next_u32(seed) : 0);
    struct tensor c = lay(seed, rank, sizes, order, 0);
    qgemm_status status = qgemm_add_nd(NULL, parameters, rank, sizes, a.plot.data, a.strides, b.plot.data, b.strides,
                                       c.plot.data, c.strides);
    if (status != QGEMM_STATUS_OK) {
        fprintf(stderr, "%s\n", qgemm_last_error());
        exit(1);
    }
    int64_t place[MOST] = {0};
    if (count > 0) {
        do {
            uint8_t wanted;
            CHECK(qgemm_add(NULL, parameters, at(&a, rank, place), at(&b, rank, place), 1, &wanted) == QGEMM_STATUS_OK);
            CHECK(*at(&c, rank, place) == wanted);
        } while (advance(rank, sizes, place));
    }
    CHECK(canaries_live(&c.plot));

    // In place, where it lies as the result does.
    if (memcmp(a.strides, c.strides, sizeof(*a.strides) * (size_t)rank) == 0) {
        CHECK(qgemm_add_nd(NULL, parameters, rank, sizes, a.plot.data, a.strides, b.plot.data, b.strides, a.plot.data,
                           a.strides) == QGEMM_STATUS_OK);
        int64_t again[MOST] = {0};
        if (count > 0) {
            do
                CHECK(*at(&c, rank, again) == *at(&a, rank, again));
            while (advance(rank, sizes, again));
        }
    }
    free_plot(&a.plot);
    free_plot(&b.plot);
    free_plot(&c.plot);
}

// Without strides tensors are row-major.
static void rows_and_columns(const qgemm_add_parameters *parameters) {
    static uint8_t a[70 * 90], b[90], c[70 * 90], wanted[90];
    const int64_t sizes[] = {70, 90}, row[] = {0, 1};
    for (int i = 0; i < 70 * 90; i++)
        a[i] = (uint8_t)(i * 7 % 251);
    for (int i = 0; i < 90; i++)
        b[i] = (uint8_t)(i * i);
    CHECK(qgemm_add_nd(NULL, parameters, 2, sizes, a, NULL, b, row, c, NULL) == QGEMM_STATUS_OK);
    for (int i = 0; i < 70; i++) {
        CHECK(qgemm_add(NULL, parameters, a + i * 90, b, 90, wanted) == QGEMM_STATUS_OK);
        CHECK(memcmp(c + i * 90, wanted, 90) == 0);
    }
}

int main(void) {
    skip_unless_supported();
    report_faults(report);
    qgemm_add_options options = QGEMM_ADD_OPTIONS_INIT;
    options.type = QGEMM_TYPE_U8, options.mode = QGEMM_ADD_XNNPACK;
    options.a_scale = 0.75f, options.b_scale = 0.5f, options.c_scale = 1;
    options.a_zero_point = 3, options.b_zero_point = 200, options.c_zero_point = 100;
    qgemm_add_parameters parameters;
    CHECK(qgemm_add_prepare(&options, &parameters) == QGEMM_STATUS_OK);
    struct seed seed = {1};
    for (int i = 0; i < ROUNDS; i++)
        random_tensors(&seed, &parameters);
    rows_and_columns(&parameters);
    return 0;
}
