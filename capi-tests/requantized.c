#include "requantized.h"

#include "bit_depth_reference.h"
#include "check.h"
#include "pipeline.h"

#include <math.h>

static int bits_of(uint32_t bits) {
    return bits == 0 ? 8 : (int)bits;
}

int is_requantized(const qgemm_bit_depth *depth, int64_t m, int64_t n) {
    if (bits_of(depth->lhs_bits) == 8 && bits_of(depth->rhs_bits) == 8)
        return 0;
    return (depth->flags & QGEMM_REQUANTIZE_ALWAYS) != 0 || 2 * m * n >= 100 * (m + n);
}

static uint32_t rounding_of(const qgemm_bit_depth *depth, int64_t k) {
    int64_t threshold = depth->threshold == 0 ? 384 : depth->threshold;
    uint32_t rounding = k < threshold ? depth->rounding_below : depth->rounding_from;
    if (rounding == 0)
        rounding = k < threshold ? QGEMM_REQUANTIZE_NEAREST : QGEMM_REQUANTIZE_ADD_MOD;
    return rounding;
}

static enum reference_rounding reference_of(uint32_t rounding) {
    return rounding == QGEMM_REQUANTIZE_XORSHIFT   ? REFERENCE_XORSHIFT
           : rounding == QGEMM_REQUANTIZE_ADD_MOD ? REFERENCE_ADD_MOD
                                                   : REFERENCE_NEAREST;
}

// What turns an element into a number from 0 to 255.
static int32_t shift_of(const qgemm_operand *operand) {
    return operand->type == QGEMM_TYPE_S8 ? 128 : 0;
}

// The elements, from 0 to 255, line by line.
static uint8_t *lines_of(const qgemm_operand *operand, int64_t lines, int64_t k, int is_lhs) {
    uint8_t *values = malloc((size_t)(lines * k) + 1);
    CHECK(values != NULL);
    for (int64_t line = 0; line < lines; line++)
        for (int64_t d = 0; d < k; d++) {
            struct place place = {is_lhs ? line : d, is_lhs ? d : line, operand->rows, operand->cols};
            int64_t index = distance_to(place, operand->order, operand->stride);
            int32_t element = read_number(operand->data, operand->type, index).integer;
            values[line * k + d] = (uint8_t)(element + shift_of(operand));
        }
    return values;
}

// What is added to the numbers of a line.
static int32_t offset_of(const qgemm_operand *operand, int64_t line) {
    const qgemm_i32_values *offset = &operand->offset;
    int32_t value = offset->axis == QGEMM_UNIFORM ? offset->value : offset->data[line];
    return (int32_t)((uint32_t)value - (uint32_t)shift_of(operand));
}

// The sum of a line between what it was and what it became, and by how much its elements grew on average.
struct means {
    float middle, error;
};

static struct means means_of(const struct reference_line *line, int64_t k, int bits) {
    int64_t sum = 0, requantized = 0, highest = (1 << bits) - 1;
    for (int64_t d = 0; d < k; d++) {
        sum += line->values[d];
        requantized += reference_requantized(line->values[d], bits, 127);
    }
    double growth = (double)(255 * requantized - highest * sum) * (1. / (double)highest);
    double with_offset = (double)sum + (double)line->offset * (double)k;
    return (struct means){(float)(with_offset + growth * 0.5), (float)(growth * (1. / (double)k))};
}

// What is taken off a sum that is compensated. Every step rounds: no two are fused.
static int32_t compensation(struct means row, struct means col) {
    volatile float first = row.error * col.middle, second = row.middle * col.error;
    float error = first + second;
    return error >= 2147483648.f ? INT32_MAX : error < -2147483648.f ? INT32_MIN : (int32_t)lrintf(error);
}

void requantized_sums(const qgemm_bit_depth *depth, const qgemm_operand *lhs, const qgemm_operand *rhs,
                      int32_t *sums) {
    int64_t m = lhs->rows, n = rhs->cols, k = lhs->cols;
    uint32_t rounding = rounding_of(depth, k);
    struct reference_depth bits = {bits_of(depth->lhs_bits), bits_of(depth->rhs_bits), reference_of(rounding)};
    uint8_t *rows = lines_of(lhs, m, k, 1), *cols = lines_of(rhs, n, k, 0);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            struct reference_line row = {rows + i * k, 1, (int)i, offset_of(lhs, i)};
            struct reference_line col = {cols + j * k, 1, (int)j, offset_of(rhs, j)};
            int32_t sum = reference_accumulator(&bits, &row, &col, (int)k);
            if (rounding == QGEMM_REQUANTIZE_COMPENSATED && k > 0) {
                struct means of_row = means_of(&row, k, bits.lhs_bits), of_col = means_of(&col, k, bits.rhs_bits);
                sum = (int32_t)((uint32_t)sum - (uint32_t)compensation(of_row, of_col));
            }
            sums[i * n + j] = sum;
        }
    free(rows);
    free(cols);
}
