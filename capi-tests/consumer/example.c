#include <qgemm/qgemm.h>
#include <stdio.h>

int main(void)
{
    const uint8_t a[] = {11, 12, 13, 14, 15, 16};  // 2 x 3, row-major, zero point 10
    const int8_t b[] = {7, 8, 9, 10, 11, 12};      // 3 x 2, row-major, zero point 0
    uint8_t c[4];                                  // 2 x 2, row-major: (a - 10) * b / 2

    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = a, lhs.rows = 2, lhs.cols = 3, lhs.type = QGEMM_TYPE_U8, lhs.offset.value = -10;
    rhs.data = b, rhs.rows = 3, rhs.cols = 2, rhs.type = QGEMM_TYPE_S8;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = c, result.rows = 2, result.cols = 2, result.type = QGEMM_TYPE_U8;
    const qgemm_stage stages[] = {
        {.kind = QGEMM_STAGE_SCALE, .u.scale.multiplier.value = 1 << 30},  // 2^30 / 2^31 is 1/2
        {.kind = QGEMM_STAGE_CAST_SATURATING},
    };
    qgemm_status status = qgemm_gemm(NULL, &lhs, &rhs, &result, stages, 2, NULL);
    if (status != QGEMM_STATUS_OK)
        return fprintf(stderr, "%s: %s\n", qgemm_status_message(status), qgemm_last_error()), 1;
    printf("%d %d\n%d %d\n", c[0], c[1], c[2], c[3]);
    return 0;
}
