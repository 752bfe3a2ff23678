// Products of packed operands: the same as of the matrices that were packed.

#define _GNU_SOURCE  // MAP_ANONYMOUS
#include "check.h"
#include "weights.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// A product, with the offsets of its operands and sums for a result.
struct product {
    struct weights lhs, rhs;
    qgemm_result result;
    size_t size;
};

static int64_t element(const struct weights *w, int64_t row, int64_t col) {
    int64_t runs_by = w->operand.order == QGEMM_ROW_MAJOR ? w->operand.cols : w->operand.rows;
    int64_t stride = w->operand.stride == 0 ? runs_by : w->operand.stride;
    uint8_t byte = w->data[w->operand.order == QGEMM_ROW_MAJOR ? row * stride + col : col * stride + row];
    return w->operand.type == QGEMM_TYPE_U8 ? byte : (int8_t)byte;
}

static void set_offsets(struct seed *seed, struct weights *w) {
    for (int64_t i = 0; i < w->operand.offset.len; i++)
        w->offsets[i] = below(seed, 600) - 300;
    w->operand.offset.value = below(seed, 3) * (below(seed, 600) - 300);
}

static struct product make_product(struct seed *seed, int m, int n, int k) {
    struct product p = {.lhs = make_weights(seed, QGEMM_LHS, m, k), .rhs = make_weights(seed, QGEMM_RHS, k, n),
                        .result = QGEMM_RESULT_INIT};
    p.size = (size_t)m * (size_t)n * sizeof(int32_t);
    p.result.data = allocate(p.size);
    p.result.rows = m;
    p.result.cols = n;
    p.result.type = QGEMM_TYPE_S32;
    p.result.order = (uint32_t)below(seed, 2);
    return p;
}

static void free_product(struct product *p) {
    free_weights(&p->lhs);
    free_weights(&p->rhs);
    free(p->result.data);
}

// An operand with the same offset, but packed.
static qgemm_operand instead(const qgemm_operand *operand, const qgemm_packed *packed) {
    qgemm_operand other = QGEMM_OPERAND_INIT;
    other.packed = packed;
    other.offset = operand->offset;
    return other;
}

static int comes_out_as(const struct product *p, const qgemm_operand *lhs, const qgemm_operand *rhs,
                        const void *expected) {
    qgemm_result result = p->result;
    result.data = allocate(p->size);
    memset(result.data, FILLED, p->size);
    CHECK(qgemm_gemm(NULL, lhs, rhs, &result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    int is_right = memcmp(result.data, expected, p->size) == 0;
    free(result.data);
    return is_right;
}

static void products_do_not_tell_the_difference(struct seed *seed) {
    for (int i = 0; i < 300; i++) {
        int deep = below(seed, 10) == 0 ? 2000 : 90;
        struct product p = make_product(seed, below(seed, 90), below(seed, 90), below(seed, deep));
        qgemm_packed *lhs = pack(&p.lhs), *rhs = pack(&p.rhs);
        set_offsets(seed, &p.lhs);
        set_offsets(seed, &p.rhs);
        CHECK(qgemm_gemm(NULL, &p.lhs.operand, &p.rhs.operand, &p.result, NULL, 0, NULL) == QGEMM_STATUS_OK);
        qgemm_operand packed_lhs = instead(&p.lhs.operand, lhs), packed_rhs = instead(&p.rhs.operand, rhs);
        CHECK(comes_out_as(&p, &packed_lhs, &p.rhs.operand, p.result.data));
        CHECK(comes_out_as(&p, &p.lhs.operand, &packed_rhs, p.result.data));
        CHECK(comes_out_as(&p, &packed_lhs, &packed_rhs, p.result.data));
        qgemm_packed_free(lhs);
        qgemm_packed_free(rhs);
        free_product(&p);
    }
}

// A packed operand that ends where an inaccessible page begins, but for what its alignment leaves.
static void nothing_beside_a_packed_operand_is_read(struct seed *seed) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < 100; i++) {
        struct product p = make_product(seed, 1 + below(seed, 20), 1 + below(seed, 70), below(seed, 100));
        CHECK(qgemm_gemm(NULL, &p.lhs.operand, &p.rhs.operand, &p.result, NULL, 0, NULL) == QGEMM_STATUS_OK);
        struct weights *side = below(seed, 2) ? &p.lhs : &p.rhs;
        qgemm_packed *packed = pack(side);
        struct form form = packed_form(packed);
        size_t inside = (form.size + page - 1) / page * page;
        uint8_t *pages = mmap(NULL, inside + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(pages != MAP_FAILED && mprotect(pages + inside, page, PROT_NONE) == 0);
        uint8_t *fenced = pages + (inside - form.size) / QGEMM_PACKED_ALIGNMENT * QGEMM_PACKED_ALIGNMENT;
        memcpy(fenced, form.bytes, form.size);
        // Nobody has to write to it.
        CHECK(mprotect(pages, inside, PROT_READ) == 0);
        qgemm_packed *loaded;
        CHECK(qgemm_packed_load(fenced, form.size, &loaded) == QGEMM_STATUS_OK && alike(packed, loaded));
        qgemm_operand lhs = p.lhs.operand, rhs = p.rhs.operand;
        *(side == &p.lhs ? &lhs : &rhs) = instead(&side->operand, loaded);
        CHECK(comes_out_as(&p, &lhs, &rhs, p.result.data));
        qgemm_packed_free(loaded);
        qgemm_packed_free(packed);
        CHECK(munmap(pages, inside + page) == 0);
        free(form.bytes);
        free_product(&p);
    }
}

// What the threads share: a packed RHS. Each multiplies with it an LHS and offsets of its own.
struct caller {
    struct product product;
    const qgemm_packed *rhs;
};

static void *multiply_again_and_again(void *argument) {
    struct caller *caller = argument;
    struct product *p = &caller->product;
    qgemm_operand rhs = instead(&p->rhs.operand, caller->rhs);
    for (int i = 0; i < 50; i++)
        CHECK(comes_out_as(p, &p->lhs.operand, &rhs, p->result.data));
    return NULL;
}

static void threads_share_a_packed_operand(struct seed *seed) {
    enum { CALLERS = 6, N = 150, K = 120 };
    struct weights shared = make_weights(seed, QGEMM_RHS, K, N);
    qgemm_packed *packed = pack(&shared);
    CHECK(qgemm_set_max_num_threads(3) == QGEMM_STATUS_OK);
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){make_product(seed, 1 + below(seed, 200), N, K), packed};
        struct product *p = &callers[i].product;
        free_weights(&p->rhs);
        p->rhs = shared;
        p->rhs.operand.offset = (qgemm_i32_values){NULL, 0, -below(seed, 256), QGEMM_UNIFORM};
        CHECK(qgemm_gemm(NULL, &p->lhs.operand, &p->rhs.operand, &p->result, NULL, 0, NULL) == QGEMM_STATUS_OK);
    }
    for (int i = 0; i < CALLERS; i++)
        CHECK(pthread_create(&threads[i], NULL, multiply_again_and_again, &callers[i]) == 0);
    for (int i = 0; i < CALLERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        free_weights(&callers[i].product.lhs);
        free(callers[i].product.result.data);
    }
    CHECK(qgemm_set_max_num_threads(1) == QGEMM_STATUS_OK);
    qgemm_packed_free(packed);
    free_weights(&shared);
}

// The float of one result, by definition: steps of 32 bits, one after the other.
static float grouped_sum(const struct product *p, const struct weights *grouped, int i, int j) {
    const qgemm_operand *lhs = &p->lhs.operand, *rhs = &p->rhs.operand;
    const qgemm_pack_options *options = &grouped->options;
    int64_t k = lhs->cols, size = (int64_t)options->group_size, groups = (k + size - 1) / size;
    int64_t line = grouped == &p->lhs ? i : j;
    float sum = 0;
    for (int64_t g = 0; g < groups; g++) {
        int32_t zero_point = options->zero_points == NULL ? 0 : options->zero_points[line * groups + g];
        int64_t part = 0;
        for (int64_t l = g * size; l < k && l < (g + 1) * size; l++) {
            int64_t a = element(&p->lhs, i, l), b = element(&p->rhs, l, j);
            a += lhs->offset.axis == QGEMM_UNIFORM ? lhs->offset.value : lhs->offset.data[i];
            b += rhs->offset.axis == QGEMM_UNIFORM ? rhs->offset.value : rhs->offset.data[j];
            part += grouped == &p->lhs ? (a - zero_point) * b : a * (b - zero_point);
        }
        volatile float scaled = (float)(int32_t)part * options->scales[line * groups + g];
        volatile float added = sum + scaled;
        sum = added;
    }
    return sum;
}

// Groups of any size with scales, and zero points perhaps, on either side, also after they were saved and loaded.
static void groups_have_scales_of_their_own(struct seed *seed) {
    for (int i = 0; i < 200; i++) {
        int m = 1 + below(seed, 20), n = 1 + below(seed, 40), k = below(seed, 150);
        struct product p = make_product(seed, m, n, k);
        struct weights *grouped = below(seed, 2) ? &p.lhs : &p.rhs;
        size_t size = (size_t)(1 + below(seed, below(seed, 2) ? 8 : 200)), groups = ((size_t)k + size - 1) / size;
        size_t count = (size_t)(grouped == &p.lhs ? m : n) * groups;
        float *scales = allocate(count * sizeof(float));
        int32_t *zero_points = allocate(count * sizeof(int32_t));
        for (size_t g = 0; g < count; g++) {
            scales[g] = (float)(below(seed, 2001) - 1000) / 700;
            zero_points[g] = below(seed, 300) - 150;
        }
        grouped->options.group_size = size;
        grouped->options.scales = scales;
        grouped->options.zero_points = below(seed, 2) ? zero_points : NULL;
        qgemm_packed *packed = pack(grouped);
        struct form form = portable_form(packed);
        qgemm_packed *loaded;
        CHECK(qgemm_packed_load(form.bytes, form.size, &loaded) == QGEMM_STATUS_OK && alike(packed, loaded));
        set_offsets(seed, &p.lhs);
        set_offsets(seed, &p.rhs);
        float *expected = p.result.data;
        for (int at = 0; at < m * n; at++)
            expected[at] = p.result.order == QGEMM_ROW_MAJOR ? grouped_sum(&p, grouped, at / n, at % n)
                                                             : grouped_sum(&p, grouped, at % m, at / m);
        p.result.type = QGEMM_TYPE_F32;
        qgemm_operand lhs = p.lhs.operand, rhs = p.rhs.operand;
        *(grouped == &p.lhs ? &lhs : &rhs) = instead(&grouped->operand, loaded);
        CHECK(comes_out_as(&p, &lhs, &rhs, expected));
        *(grouped == &p.lhs ? &lhs : &rhs) = instead(&grouped->operand, packed);
        CHECK(comes_out_as(&p, &lhs, &rhs, expected));
        qgemm_packed_free(loaded);
        qgemm_packed_free(packed);
        free(form.bytes);
        free(scales);
        free(zero_points);
        free_product(&p);
    }
}

// So deep that sums could overflow, but not with these elements: what is packed knows them.
static void the_bound_is_that_of_the_elements(void) {
    enum { K = 40000 };
    int32_t sum;
    uint8_t *ones = allocate(K), *large = allocate(K);
    memset(ones, 1, K);
    memset(large, 255, K);
    struct weights rhs = {.operand = QGEMM_OPERAND_INIT, .options = QGEMM_PACK_OPTIONS_INIT};
    rhs.operand.data = ones;
    rhs.operand.rows = K;
    rhs.operand.cols = 1;
    rhs.operand.type = QGEMM_TYPE_U8;
    rhs.options.side = QGEMM_RHS;
    qgemm_operand lhs = rhs.operand;
    lhs.data = large;
    lhs.rows = 1;
    lhs.cols = K;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = &sum;
    result.rows = result.cols = 1;
    result.type = QGEMM_TYPE_S32;
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.flags = QGEMM_CHECK_OVERFLOW;
    CHECK(qgemm_gemm(NULL, &lhs, &rhs.operand, &result, NULL, 0, &options) == QGEMM_STATUS_OVERFLOW);
    qgemm_packed *packed = pack(&rhs);
    qgemm_operand packed_rhs = instead(&rhs.operand, packed);
    CHECK(qgemm_gemm(NULL, &lhs, &packed_rhs, &result, NULL, 0, &options) == QGEMM_STATUS_OK && sum == 255 * K);
    packed_rhs.offset.value = 100;
    CHECK(qgemm_gemm(NULL, &lhs, &packed_rhs, &result, NULL, 0, &options) == QGEMM_STATUS_OK && sum == 255 * 101 * K);
    packed_rhs.offset.value = 254;
    CHECK(qgemm_gemm(NULL, &lhs, &packed_rhs, &result, NULL, 0, &options) == QGEMM_STATUS_OVERFLOW);
    CHECK(sum == 255 * 101 * K);
    qgemm_packed_free(packed);
    free(ones);
    free(large);
}

int main(void) {
    skip_unless_supported();
    struct seed seed = {80186};
    products_do_not_tell_the_difference(&seed);
    nothing_beside_a_packed_operand_is_read(&seed);
    groups_have_scales_of_their_own(&seed);
    threads_share_a_packed_operand(&seed);
    the_bound_is_that_of_the_elements();
    qgemm_free_persistent_resources();
    return 0;
}
