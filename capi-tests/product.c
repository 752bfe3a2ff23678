// The definition of EightBitIntGemm, written down without a thought of speed.

#include "product.h"

#include <string.h>

qgemm_status multiply_u8(const struct product *p) {
    return qgemm_eight_bit_int_gemm_u8(p->transpose_a, p->transpose_b, p->transpose_c, p->m, p->n, p->k, p->a,
                                       p->a_offset, p->lda, p->b, p->b_offset, p->ldb, p->c, p->c_offset,
                                       p->c_mult_int, p->c_shift, p->ldc, p->bit_depth);
}

qgemm_status multiply_f32(const struct product *p) {
    return qgemm_eight_bit_int_gemm_f32(p->transpose_a, p->transpose_b, p->transpose_c, p->m, p->n, p->k, p->a,
                                        p->a_offset, p->lda, p->b, p->b_offset, p->ldb, p->c, p->c_scale, p->ldc,
                                        p->bit_depth);
}

// Where the element (row, col) lies. Where there is one run, the stride may be anything.
static ptrdiff_t place(int row_major, int row, int col, int stride) {
    int run = row_major ? row : col, within = row_major ? col : row;
    return run == 0 ? within : (ptrdiff_t)run * stride + within;
}

// Unsigned arithmetic wraps around, as the definition wants; converting back to signed does so in all compilers we use.
static int32_t sum(const struct product *p, int i, int j) {
    uint32_t sum = 0;
    for (int l = 0; l < p->k; l++) {
        uint32_t a = p->a[place(p->transpose_a, i, l, p->lda)] + (uint32_t)p->a_offset;
        uint32_t b = p->b[place(p->transpose_b, l, j, p->ldb)] + (uint32_t)p->b_offset;
        sum += a * b;
    }
    return (int32_t)sum;
}

uint8_t defined_u8(const struct product *p, int i, int j) {
    uint32_t scaled = ((uint32_t)sum(p, i, j) + (uint32_t)p->c_offset) * (uint32_t)p->c_mult_int;
    int64_t x = (int32_t)scaled;
    if (x < 0)
        return 0;
    int64_t half = p->c_shift == 0 ? 0 : (int64_t)1 << (p->c_shift - 1);
    int64_t rounded = (x + half) >> p->c_shift;
    return rounded > 255 ? 255 : (uint8_t)rounded;
}

float defined_f32(const struct product *p, int i, int j) {
    return (float)sum(p, i, j) * p->c_scale;
}

static struct layout layout(int row_major, int rows, int cols) {
    struct layout in_rows = {rows, cols}, in_cols = {cols, rows};
    return row_major ? in_rows : in_cols;
}

struct layout layout_of_a(const struct product *p) {
    return layout(p->transpose_a, p->m, p->k);
}

struct layout layout_of_b(const struct product *p) {
    return layout(p->transpose_b, p->k, p->n);
}

struct layout layout_of_c(const struct product *p) {
    return layout(p->transpose_c, p->m, p->n);
}

size_t extent(struct layout layout, int stride) {
    if (layout.runs == 0 || layout.len == 0)
        return 0;
    return (size_t)(layout.runs - 1) * (size_t)(layout.runs == 1 ? 0 : stride) + (size_t)layout.len;
}

int result_is_right_u8(const struct product *p) {
    const uint8_t *c = p->c;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            int found = c[place(p->transpose_c, i, j, p->ldc)], defined = defined_u8(p, i, j);
            if (found != defined) {
                fprintf(stderr, "c(%d, %d) is %d, not %d, in ", i, j, found, defined);
                print_product(stderr, p);
                fprintf(stderr, "\n");
                return 0;
            }
        }
    return 1;
}

int result_is_right_f32(const struct product *p) {
    const float *c = p->c;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            float found = c[place(p->transpose_c, i, j, p->ldc)], defined = defined_f32(p, i, j);
            if (memcmp(&found, &defined, sizeof found) != 0) {
                fprintf(stderr, "c(%d, %d) is %a, not %a, in ", i, j, (double)found, (double)defined);
                print_product(stderr, p);
                fprintf(stderr, "\n");
                return 0;
            }
        }
    return 1;
}

void print_product(FILE *to, const struct product *p) {
    fprintf(to, "m %d n %d k %d, transposed %d %d %d, lda %d ldb %d ldc %d, a_offset %d b_offset %d", p->m, p->n, p->k,
            p->transpose_a, p->transpose_b, p->transpose_c, p->lda, p->ldb, p->ldc, (int)p->a_offset,
            (int)p->b_offset);
    fprintf(to, ", c_offset %d c_mult_int %d c_shift %d c_scale %a", (int)p->c_offset, (int)p->c_mult_int,
            (int)p->c_shift, (double)p->c_scale);
    const char *kernel = qgemm_kernel_name();
    fprintf(to, ", kernel %s", kernel ? kernel : "none");
}
