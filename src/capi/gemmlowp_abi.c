// gemmlowp's four functions under the names that C++ compilers give them, computed by libqgemm.
//
// An object file that was compiled with gemmlowp's own header asks the linker for these names. CMake makes this file
// the archive libqgemm_gemmlowp_abi.a: linked in the place of libeight_bit_int_gemm.a, it answers. It is an archive of
// its own so that libqgemm and gemmlowp can be in one program.
//
// The names are those of the Itanium C++ ABI, as the linker sees them on ELF systems. There C++'s bool is C's, and an
// enum class is an int. The functions behave as those of include/gemmlowp/eight_bit_int_gemm/eight_bit_int_gemm.h,
// which says how they differ from gemmlowp's; but for A5B7, which these compute as gemmlowp has done since 2017, exactly,
// unless the environment variable QGEMM_A5B7 is "requantize".

#include <qgemm/qgemm.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GEMMLOWP(name) __asm__("_ZN8gemmlowp18eight_bit_int_gemm" name)

void multiply_u8(bool transpose_a, bool transpose_b, bool transpose_c, int m, int n, int k,
                 const uint8_t *a, int32_t a_offset, int lda, const uint8_t *b, int32_t b_offset, int ldb,
                 uint8_t *c, int32_t c_offset, int32_t c_mult_int, int32_t c_shift, int ldc, int bit_depth)
    GEMMLOWP("15EightBitIntGemmEbbbiiiPKhiiS2_iiPhiiiiNS0_15BitDepthSettingE");
void multiply_f32(bool transpose_a, bool transpose_b, bool transpose_c, int m, int n, int k,
                  const uint8_t *a, int32_t a_offset, int lda, const uint8_t *b, int32_t b_offset, int ldb,
                  float *c, float c_scale, int ldc, int bit_depth)
    GEMMLOWP("15EightBitIntGemmEbbbiiiPKhiiS2_iiPffiNS0_15BitDepthSettingE");
void set_max_num_threads(int n) GEMMLOWP("16SetMaxNumThreadsEi");
void free_persistent_resources(void) GEMMLOWP("23FreePersistentResourcesEv");

// gemmlowp's functions return nothing and abort when they fail. So do these, once they have said why.
static void check(qgemm_status status) {
    if (status != QGEMM_STATUS_OK) {
        fprintf(stderr, "libqgemm: %s\n", qgemm_last_error());
        abort();
    }
}

// A program that asks for A5B7 was linked with a gemmlowp that computed it exactly.
static uint32_t setting(int bit_depth) {
    if (bit_depth == QGEMM_A5B7) {
        const char *how = getenv("QGEMM_A5B7");
        if (how == NULL || strcmp(how, "requantize") != 0)
            return QGEMM_A8B8;
    }
    return (uint32_t)bit_depth;
}

void multiply_u8(bool transpose_a, bool transpose_b, bool transpose_c, int m, int n, int k,
                 const uint8_t *a, int32_t a_offset, int lda, const uint8_t *b, int32_t b_offset, int ldb,
                 uint8_t *c, int32_t c_offset, int32_t c_mult_int, int32_t c_shift, int ldc, int bit_depth) {
    check(qgemm_eight_bit_int_gemm_u8(transpose_a, transpose_b, transpose_c, m, n, k, a, a_offset, lda, b, b_offset,
                                      ldb, c, c_offset, c_mult_int, c_shift, ldc, setting(bit_depth)));
}

void multiply_f32(bool transpose_a, bool transpose_b, bool transpose_c, int m, int n, int k,
                  const uint8_t *a, int32_t a_offset, int lda, const uint8_t *b, int32_t b_offset, int ldb,
                  float *c, float c_scale, int ldc, int bit_depth) {
    check(qgemm_eight_bit_int_gemm_f32(transpose_a, transpose_b, transpose_c, m, n, k, a, a_offset, lda, b, b_offset,
                                       ldb, c, c_scale, ldc, setting(bit_depth)));
}

void set_max_num_threads(int n) { check(qgemm_set_max_num_threads(n)); }

void free_persistent_resources(void) { qgemm_free_persistent_resources(); }
