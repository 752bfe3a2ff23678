#include <qgemm/qgemm.h>
#include <stdio.h>

int main(void)
{
    const uint8_t a[] = {11, 12, 13, 14, 15, 16};  // 2 x 3, row-major, zero point 10
    const uint8_t b[] = {7, 8, 9, 10, 11, 12};     // 3 x 2, row-major, zero point 0
    uint8_t c[4];                                  // 2 x 2, row-major: (a - 10) * b / 2
    qgemm_status status = qgemm_eight_bit_int_gemm_u8(1, 1, 1, 2, 2, 3, a, -10, 3, b, 0, 2,
                                                      c, 0, 1, 1, 2, QGEMM_A8B8);
    if (status != QGEMM_STATUS_OK)
        return fprintf(stderr, "%s: %s\n", qgemm_status_message(status), qgemm_last_error()), 1;
    printf("%d %d\n%d %d\n", c[0], c[1], c[2], c[3]);
    return 0;
}
