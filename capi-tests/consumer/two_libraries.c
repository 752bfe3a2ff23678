// libqgemm and another Rust library in one program.

#include <qgemm/qgemm.h>

int other_sums(int len);

int main(void)
{
    const uint8_t one = 1;
    uint8_t c = 0;
    qgemm_status wrong = qgemm_eight_bit_int_gemm_u8(1, 1, 1, -1, 1, 1, &one, 0, 1, &one, 0, 1, &c, 0, 1, 0, 1, QGEMM_A8B8);
    qgemm_status right = qgemm_eight_bit_int_gemm_u8(1, 1, 1, 1, 1, 1, &one, 0, 1, &one, 0, 1, &c, 0, 1, 0, 1, QGEMM_A8B8);
    int panicked = !other_sums(-1);
    return wrong == QGEMM_STATUS_SHAPE && right == QGEMM_STATUS_OK && c == 1 && other_sums(3) && panicked ? 0 : 1;
}
