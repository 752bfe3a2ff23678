// One call of EightBitIntGemm, and what its definition says of the result.

#ifndef PRODUCT_H
#define PRODUCT_H

#include <qgemm/qgemm.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// The arguments, named and ordered as in qgemm.h. c points at bytes or at floats: whoever makes the call knows.
struct product {
    int transpose_a, transpose_b, transpose_c;
    int m, n, k;
    const uint8_t *a;
    int32_t a_offset;
    int lda;
    const uint8_t *b;
    int32_t b_offset;
    int ldb;
    void *c;
    int32_t c_offset, c_mult_int, c_shift;
    float c_scale;
    int ldc;
    uint32_t bit_depth;
};

qgemm_status multiply_u8(const struct product *p);
qgemm_status multiply_f32(const struct product *p);

// The element (i, j) of the result, by the definition.
uint8_t defined_u8(const struct product *p, int i, int j);
float defined_f32(const struct product *p, int i, int j);

// How a matrix lies in memory: so many contiguous runs of so many elements.
struct layout {
    int runs, len;
};
struct layout layout_of_a(const struct product *p);
struct layout layout_of_b(const struct product *p);
struct layout layout_of_c(const struct product *p);

// How many elements there are from the first of a matrix to its last.
size_t extent(struct layout layout, int stride);

// Whether every element of the result is as defined; if not, says which one is not.
int result_is_right_u8(const struct product *p);
int result_is_right_f32(const struct product *p);

// Everything but the pointers, on one line without its end.
void print_product(FILE *to, const struct product *p);

#endif
