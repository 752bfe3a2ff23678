// Additions and requantizations by ranges that are refused: each with a status and a text, and nothing is written.

#include "check.h"

#include <math.h>
#include <string.h>

static uint8_t a[64], b[64], c[64];
static int32_t sums[64];
static const uint8_t untouched[64];

static void failed(qgemm_status found, qgemm_status status, const char *text) {
    if (found != status || strcmp(qgemm_last_error(), text) != 0) {
        fprintf(stderr, "status %d, \"%s\" instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
    CHECK(memcmp(c, untouched, sizeof(c)) == 0);
    for (int i = 0; i < 64; i++)
        CHECK(sums[i] == 0);
}

static qgemm_add_options good(void) {
    qgemm_add_options options = QGEMM_ADD_OPTIONS_INIT;
    options.type = QGEMM_TYPE_U8;
    options.a_scale = options.b_scale = options.c_scale = 1;
    return options;
}

#define REFUSED(change, status, text)                                                      \
    do {                                                                                   \
        qgemm_add_options o = good();                                                      \
        qgemm_add_parameters p, before;                                                    \
        memset(&p, 7, sizeof(p));                                                          \
        before = p;                                                                        \
        change;                                                                            \
        failed(qgemm_add_prepare(&o, &p), QGEMM_STATUS_##status, "options->" text);        \
        CHECK(memcmp(&p, &before, sizeof(p)) == 0);                                        \
    } while (0)

static void options_that_are_refused(void) {
    REFUSED(o.type = 0, TYPE, "type is 0, but must be QGEMM_TYPE_U8, _S8 or _S16");
    REFUSED(o.type = QGEMM_TYPE_S32, TYPE, "type is 4, but must be QGEMM_TYPE_U8, _S8 or _S16");
    REFUSED((o.type = QGEMM_TYPE_S16, o.mode = QGEMM_ADD_XNNPACK), TYPE,
            "type is 3, but must be QGEMM_TYPE_U8 or _S8 in this mode");
    REFUSED(o.mode = 5, OPTION, "mode is 5, which this libqgemm does not know");
    REFUSED(o.flags = 2, OPTION, "flags is 2, which this libqgemm does not know");
    REFUSED(o.reserved = 1, OPTION, "reserved is reserved and must be 0");
    REFUSED(o.a_scale = 0, PARAMETER, "a_scale is 0, but must be above 0, finite and normal");
    REFUSED(o.b_scale = NAN, PARAMETER, "b_scale is NaN, but must be above 0, finite and normal");
    REFUSED(o.c_scale = INFINITY, PARAMETER, "c_scale is inf, but must be above 0, finite and normal");
    REFUSED(o.a_scale = -1, PARAMETER, "a_scale is -1, but must be above 0, finite and normal");
    REFUSED(o.a_zero_point = 256, PARAMETER, "a_zero_point is 256, but must be 0 to 255");
    REFUSED((o.type = QGEMM_TYPE_S8, o.c_zero_point = -129), PARAMETER, "c_zero_point is -129, but must be -128 to 127");
    REFUSED((o.type = QGEMM_TYPE_S16, o.b_zero_point = 1), PARAMETER,
            "b_zero_point is 1, but must be 0 for 16 bits, as TFLite has it");
    REFUSED(o.c_greatest = 256, PARAMETER, "c_greatest is 256, but must be 0 to 255");
    REFUSED((o.c_least = 9, o.c_greatest = 8), PARAMETER, "c_greatest is 8, but must be at least what c_least is");
    // Where TFLite ends the process.
    REFUSED(o.c_scale = ldexpf(1, -19), PARAMETER,
            "c_scale is 1.9073486328125e-6, but must be above max(a_scale, b_scale) / 2 to the 19");
    REFUSED((o.mode = QGEMM_ADD_XNNPACK, o.b_scale = 256), PARAMETER,
            "b_scale / c_scale is 256, but must be 2 to the -10 to just below 256");
    REFUSED((o.mode = QGEMM_ADD_QNNPACK, o.b_scale = 0.00006f), PARAMETER,
            "b_scale / c_scale is 0.00005999999848427251, but must be 2 to the -14 to just below 256");
    REFUSED((o.mode = QGEMM_ADD_F32, o.a_scale = 1e30f), PARAMETER,
            "a_scale / c_scale is 1.0000000150474662e30, but must be below 2 to the 64");
    qgemm_add_options options = good();
    failed(qgemm_add_prepare(&options, NULL), QGEMM_STATUS_NULL_POINTER, "parameters is null, but must not be");
    qgemm_add_parameters parameters;
    failed(qgemm_add_prepare(NULL, &parameters), QGEMM_STATUS_NULL_POINTER, "options is null, but must not be");
    options.struct_size = 4;
    CHECK(qgemm_add_prepare(&options, &parameters) == QGEMM_STATUS_STRUCT_SIZE);
}

static void additions_that_are_refused(void) {
    qgemm_add_options options = good();
    qgemm_add_parameters p;
    CHECK(qgemm_add_prepare(&options, &p) == QGEMM_STATUS_OK);
    failed(qgemm_add(NULL, NULL, a, b, 4, c), QGEMM_STATUS_NULL_POINTER, "parameters is null, but must not be");
    failed(qgemm_add(NULL, &p, NULL, b, 4, c), QGEMM_STATUS_NULL_POINTER, "a is null, but its matrix has elements");
    failed(qgemm_add(NULL, &p, a, b, 4, NULL), QGEMM_STATUS_NULL_POINTER, "c is null, but its matrix has elements");
    failed(qgemm_add(NULL, &p, a, b, -4, c), QGEMM_STATUS_SHAPE, "size is -4, but must not be negative");
    failed(qgemm_add(NULL, &p, a, b, INT64_MAX, c), QGEMM_STATUS_TOO_LARGE,
           "a reaches beyond the address space with these sizes and this stride");
    failed(qgemm_add(NULL, &p, c + 1, b, 4, c), QGEMM_STATUS_OVERLAP, "c overlaps a, which is still to be read");
    failed(qgemm_add(NULL, &p, a, c + 3, 4, c), QGEMM_STATUS_OVERLAP, "c overlaps b, which is still to be read");
    CHECK(qgemm_add(NULL, &p, NULL, NULL, 0, NULL) == QGEMM_STATUS_OK);
    qgemm_add_parameters odd = p;
    odd.shifts[1] = 32;
    failed(qgemm_add(NULL, &odd, a, b, 4, c), QGEMM_STATUS_SHIFT_RANGE, "parameters->shifts is 32, but must be 0 to 31");
    memset(&odd, 0, sizeof(odd));
    failed(qgemm_add(NULL, &odd, a, b, 4, c), QGEMM_STATUS_TYPE,
           "parameters->type is 0, but must be QGEMM_TYPE_U8, _S8 or _S16");

    const int64_t sizes[] = {2, 3, 1, 1, 1, 1, 1, 1, 1}, negative[] = {3, -1}, close[] = {2, 1}, row[] = {0, 1};
    failed(qgemm_add_nd(NULL, &p, 9, sizes, a, NULL, b, NULL, c, NULL), QGEMM_STATUS_PARAMETER,
           "rank is 9, but must be 0 to 8");
    failed(qgemm_add_nd(NULL, &p, -1, sizes, a, NULL, b, NULL, c, NULL), QGEMM_STATUS_PARAMETER,
           "rank is -1, but must be 0 to 8");
    failed(qgemm_add_nd(NULL, &p, 2, NULL, a, NULL, b, NULL, c, NULL), QGEMM_STATUS_NULL_POINTER,
           "sizes is null, but must not be");
    failed(qgemm_add_nd(NULL, &p, 2, negative, a, NULL, b, NULL, c, NULL), QGEMM_STATUS_SHAPE,
           "sizes is -1, but must not be negative");
    failed(qgemm_add_nd(NULL, &p, 2, sizes, a, negative, b, NULL, c, NULL), QGEMM_STATUS_STRIDE,
           "a_strides is -1, but must be at least 0");
    failed(qgemm_add_nd(NULL, &p, 2, sizes, a, NULL, b, NULL, c, close), QGEMM_STATUS_STRIDE,
           "c_strides is 2, but must be at least 3");
    failed(qgemm_add_nd(NULL, &p, 2, sizes, a, NULL, c, row, c, NULL), QGEMM_STATUS_OVERLAP,
           "c overlaps b, which is still to be read");
}

static void ranges_that_are_refused(void) {
    const qgemm_range one = {-1, 1}, point = {1, 1}, above = {1, 2}, huge = {0, 3e38f}, narrow = {0, 0.001f};
    const qgemm_range unknown = {NAN, 1};
    qgemm_range found = {7, 7};
    for (uint32_t rule = QGEMM_ADD32_NNLIB; rule <= QGEMM_ADD32_EXACT; rule++) {
        failed(qgemm_add_8p8to32(NULL, rule, a, unknown, b, one, 8, sums, &found), QGEMM_STATUS_PARAMETER,
               "a_range.min is NaN, but must be finite");
        failed(qgemm_bias_add_8p8to32(NULL, rule, a, one, b, point, 2, 4, sums, &found), QGEMM_STATUS_PARAMETER,
               "b_range.max is 1, but must be above min, or both are 0");
        CHECK(qgemm_add_8p8to32(NULL, rule, a, huge, b, one, 8, sums, &found) == QGEMM_STATUS_PARAMETER);
        CHECK(qgemm_add_8p8to32(NULL, rule, (uint8_t *)(sums + 2), one, b, one, 8, sums, &found) == QGEMM_STATUS_OVERLAP);
    }
    failed(qgemm_add_8p8to32(NULL, 5, a, one, b, one, 8, sums, &found), QGEMM_STATUS_OPTION,
           "rule is 5, which this libqgemm does not know");
    failed(qgemm_add_8p8to32(NULL, 0, a, above, b, one, 8, sums, &found), QGEMM_STATUS_PARAMETER,
           "a_range.min is 1, but must be at most 0");
    failed(qgemm_add_8p8to32(NULL, 0, a, one, b, one, 8, sums, NULL), QGEMM_STATUS_NULL_POINTER,
           "c_range is null, but must not be");
    failed(qgemm_bias_add_8p8to32(NULL, 0, a, one, b, one, -2, 4, sums, &found), QGEMM_STATUS_SHAPE,
           "rows is -2, but must not be negative");

    failed(qgemm_add_8p8to8(NULL, 3, a, one, b, one, 8, NULL, 0, c, &found, NULL), QGEMM_STATUS_OPTION,
           "mode is 3, which this libqgemm does not know");
    failed(qgemm_add_8p8to8(NULL, 0, a, one, b, one, 8, &one, 4, c, &found, NULL), QGEMM_STATUS_OPTION,
           "flags is 4, which this libqgemm does not know");
    failed(qgemm_add_8p8to8(NULL, 0, a, one, b, one, 8, NULL, QGEMM_ADD8_FIXED_MIN, c, &found, NULL),
           QGEMM_STATUS_NULL_POINTER, "guess is null, but must not be");
    failed(qgemm_add_8p8to8(NULL, 0, a, one, b, one, 8, &above, 0, c, &found, NULL), QGEMM_STATUS_PARAMETER,
           "guess->min is 1, but must be at most 0");
    failed(qgemm_add_8p8to8(NULL, 0, c, one, b, one, 8, NULL, 0, c, &found, NULL), QGEMM_STATUS_OVERLAP,
           "c overlaps a, which is still to be read");
    // What nnlib calls infeasible, and where its 16 bits were too few.
    CHECK(qgemm_add_8p8to8(NULL, QGEMM_ADD8_NNLIB_FLAT, a, one, b, one, 8, &narrow, 3, c, &found, NULL) ==
          QGEMM_STATUS_PARAMETER);
    CHECK(qgemm_add_8p8to8(NULL, QGEMM_ADD8_NNLIB_SPEC, a, one, b, one, 8, &narrow, 3, c, &found, NULL) ==
          QGEMM_STATUS_PARAMETER);
    CHECK(qgemm_add_8p8to8(NULL, QGEMM_ADD8_NNLIB_SPEC, a, one, b, narrow, 8, NULL, 0, c, &found, NULL) ==
          QGEMM_STATUS_PARAMETER);

    failed(qgemm_requantize_s32(NULL, 3, sums, 8, one, one, QGEMM_TYPE_U8, c, &found), QGEMM_STATUS_OPTION,
           "mode is 3, which this libqgemm does not know");
    failed(qgemm_requantize_s32(NULL, 1, sums, 8, one, one, QGEMM_TYPE_S16, c, &found), QGEMM_STATUS_TYPE,
           "type is 3, but must be QGEMM_TYPE_U8 or _S8 in this mode");
    failed(qgemm_requantize_s32(NULL, 0, sums, 8, one, above, QGEMM_TYPE_U8, c, &found), QGEMM_STATUS_PARAMETER,
           "y_range.min is 1, but must be at most 0");
    failed(qgemm_requantize_s32(NULL, 2, sums, 8, narrow, one, QGEMM_TYPE_U8, c, &found), QGEMM_STATUS_PARAMETER,
           "x_range.max is 0.0010000000474974513, but must be minus min in this mode");
    failed(qgemm_requantize_s32(NULL, 0, sums, 8, one, one, QGEMM_TYPE_U8, sums, &found), QGEMM_STATUS_OVERLAP,
           "y overlaps x, which is still to be read");
    failed(qgemm_requantization_range_s32(NULL, sums, 8, unknown, &found), QGEMM_STATUS_PARAMETER,
           "x_range.min is NaN, but must be finite");
    failed(qgemm_requantization_range_s32(NULL, sums, 8, one, NULL), QGEMM_STATUS_NULL_POINTER,
           "range is null, but must not be");
    failed(qgemm_quantize_down_and_shrink_range(NULL, 0, sums, 8, one, QGEMM_TYPE_U8, c, NULL), QGEMM_STATUS_NULL_POINTER,
           "actual is null, but must not be");
    CHECK(found.min == 7 && found.max == 7);
    // Any code stands for 0.
    const qgemm_range zero = {0, 0};
    CHECK(qgemm_add_8p8to8(NULL, 0, a, zero, b, zero, 8, NULL, 0, c, &found, NULL) == QGEMM_STATUS_OK);
    CHECK(found.min == 0 && found.max == 0);
}

int main(void) {
    skip_unless_supported();
    options_that_are_refused();
    additions_that_are_refused();
    ranges_that_are_refused();
    return 0;
}
