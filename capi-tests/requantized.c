#include "requantized.h"

#include "bit_depth_reference.h"
#include "check.h"
#include "pipeline.h"

static int bits_of(uint32_t bits) {
    return bits == 0 ? 8 : (int)bits;
}

int is_requantized(const qgemm_bit_depth *depth, int64_t m, int64_t n) {
    if (bits_of(depth->lhs_bits) == 8 && bits_of(depth->rhs_bits) == 8)
        return 0;
    return (depth->flags & QGEMM_REQUANTIZE_ALWAYS) != 0 || 2 * m * n >= 100 * (m + n);
}

static enum reference_rounding rounding_of(const qgemm_bit_depth *depth, int64_t k) {
    int64_t threshold = depth->threshold == 0 ? 384 : depth->threshold;
    uint32_t rounding = k < threshold ? depth->rounding_below : depth->rounding_from;
    if (rounding == 0)
        rounding = k < threshold ? QGEMM_REQUANTIZE_NEAREST : QGEMM_REQUANTIZE_ADD_MOD;
    return rounding == QGEMM_REQUANTIZE_NEAREST    ? REFERENCE_NEAREST
           : rounding == QGEMM_REQUANTIZE_XORSHIFT ? REFERENCE_XORSHIFT
                                                   : REFERENCE_ADD_MOD;
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

void requantized_sums(const qgemm_bit_depth *depth, const qgemm_operand *lhs, const qgemm_operand *rhs,
                      int32_t *sums) {
    int64_t m = lhs->rows, n = rhs->cols, k = lhs->cols;
    struct reference_depth bits = {bits_of(depth->lhs_bits), bits_of(depth->rhs_bits), rounding_of(depth, k)};
    uint8_t *rows = lines_of(lhs, m, k, 1), *cols = lines_of(rhs, n, k, 0);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            struct reference_line row = {rows + i * k, 1, (int)i, offset_of(lhs, i)};
            struct reference_line col = {cols + j * k, 1, (int)j, offset_of(rhs, j)};
            sums[i * n + j] = reference_accumulator(&bits, &row, &col, (int)k);
        }
    free(rows);
    free(cols);
}
