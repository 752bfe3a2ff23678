#include "library.h"

#include <qgemm/qgemm.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t roundings[] = {
    [NEAREST] = QGEMM_REQUANTIZE_NEAREST,
    [XORSHIFT] = QGEMM_REQUANTIZE_XORSHIFT,
    [ADD_MOD] = QGEMM_REQUANTIZE_ADD_MOD,
    [COMPENSATED] = QGEMM_REQUANTIZE_COMPENSATED,
};

static qgemm_bit_depth bit_depth_of(struct bits bits, enum rule rule) {
    qgemm_bit_depth depth = QGEMM_BIT_DEPTH_INIT;
    depth.lhs_bits = (uint32_t)bits.lhs, depth.rhs_bits = (uint32_t)bits.rhs;
    depth.rounding_below = depth.rounding_from = roundings[rule];
    depth.flags = QGEMM_REQUANTIZE_ALWAYS;
    return depth;
}

void multiply_by_library(const struct problem *problem, struct bits bits, enum rule rule, int32_t *accumulators) {
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = problem->lhs, lhs.rows = problem->rows, lhs.cols = problem->depth;
    rhs.data = problem->rhs, rhs.rows = problem->depth, rhs.cols = problem->columns;
    lhs.type = rhs.type = QGEMM_TYPE_U8;
    lhs.order = QGEMM_ROW_MAJOR, rhs.order = QGEMM_COL_MAJOR;
    lhs.offset.value = problem->lhs_offset, rhs.offset.value = problem->rhs_offset;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = accumulators, result.rows = problem->rows, result.cols = problem->columns;
    result.type = QGEMM_TYPE_S32, result.order = QGEMM_COL_MAJOR;
    qgemm_bit_depth bit_depth = bit_depth_of(bits, rule);
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    options.bit_depth = &bit_depth;
    qgemm_status status = qgemm_gemm(NULL, &lhs, &rhs, &result, NULL, 0, &options);
    if (status != QGEMM_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", qgemm_status_message(status), qgemm_last_error());
        exit(1);
    }
}
