// What functions of tensors refuse: the status, which argument the text names, and nothing written.

#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

// Three channels of 2 x 4 elements, and room for 8 more.
enum { CHANNELS = 3, LEN = 2 * CHANNELS * 4, ROOM = LEN + 8 };

static float real[ROOM];
static int32_t integers[ROOM], written[ROOM];
static float scales[CHANNELS] = {0.5f, 1, 2}, lows[CHANNELS + 8], highs[CHANNELS + 8];
static int32_t zero_points[CHANNELS] = {0, 5, 127}, multipliers[CHANNELS] = {1 << 30, 1 << 30, 1 << 30};
static int32_t exponents[CHANNELS] = {0, -31, 30};
static const qgemm_channels channels = {2, CHANNELS, 4};

static void *untouched(void) {
    memset(written, 77, sizeof written);
    return written;
}

// A call failed with this status and a text that begins so, and wrote nothing.
static void fails(int line, qgemm_status found, qgemm_status status, const char *begin) {
    int32_t before[ROOM];
    memset(before, 77, sizeof before);
    if (found != status || strncmp(qgemm_last_error(), begin, strlen(begin)) != 0 ||
        memcmp(written, before, sizeof before) != 0) {
        fprintf(stderr, "line %d: status %d, \"%s\" instead of %d, \"%s...\"%s\n", line, (int)found, qgemm_last_error(),
                (int)status, begin, memcmp(written, before, sizeof before) ? "; something was written" : "");
        exit(1);
    }
}

#define FAILS(status, begin, call) \
    do {                           \
        untouched();               \
        fails(__LINE__, call, QGEMM_STATUS_##status, begin); \
    } while (0)

static qgemm_quantization quantization(void) {
    qgemm_quantization q = QGEMM_QUANTIZATION_INIT;
    q.type = QGEMM_TYPE_S8, q.scales = scales, q.zero_points = zero_points;
    return q;
}

static void of_channels(void) {
    qgemm_quantization q = quantization();
    qgemm_channels c = channels;
    FAILS(NULL_POINTER, "channels is null", qgemm_quantize_f32(NULL, real, written, NULL, &q));
    c.outer = -1;
    FAILS(SHAPE, "channels->outer is -1", qgemm_quantize_f32(NULL, real, written, &c, &q));
    c = channels, c.inner = -7;
    FAILS(SHAPE, "channels->inner is -7", qgemm_dequantize(NULL, integers, (float *)written, &c, &q));
    c = channels, c.channels = -2;
    FAILS(SHAPE, "channels->channels is -2", qgemm_min_max_f32(NULL, real, &c, (float *)written, highs));
    c.channels = INT64_MAX / 2, c.inner = 8;
    FAILS(TOO_LARGE, "", qgemm_quantize_f32(NULL, real, written, &c, &q));
    // There are no elements in any number of parts, each of which takes no time.
    c.outer = INT64_MAX / CHANNELS, c.channels = CHANNELS, c.inner = 0;
    CHECK(qgemm_quantize_f32(NULL, real, written, &c, &q) == QGEMM_STATUS_OK);
    CHECK(qgemm_dequantize(NULL, integers, (float *)written, &c, &q) == QGEMM_STATUS_OK);
    CHECK(qgemm_min_max_f32(NULL, real, &c, lows, highs) == QGEMM_STATUS_OK && highs[CHANNELS - 1] == 0);
}

static void of_quantize(void) {
    qgemm_quantization q = quantization();
    FAILS(NULL_POINTER, "quantization is null", qgemm_quantize_f32(NULL, real, written, &channels, NULL));
    q.struct_size = 3;
    FAILS(STRUCT_SIZE, "quantization->struct_size is 3", qgemm_quantize_f32(NULL, real, written, &channels, &q));
    q = quantization(), q.type = QGEMM_TYPE_S32;
    FAILS(TYPE, "quantization->type is 4", qgemm_quantize_f32(NULL, real, written, &channels, &q));
    q = quantization(), q.rounding = 9;
    FAILS(OPTION, "quantization->rounding is 9", qgemm_quantize_f32(NULL, real, written, &channels, &q));
    q = quantization(), q.scales = NULL;
    FAILS(NULL_POINTER, "quantization->scales is null", qgemm_quantize_f32(NULL, real, written, &channels, &q));
    q = quantization(), q.least = 5, q.greatest = 5;
    FAILS(PARAMETER, "quantization->", qgemm_quantize_f32(NULL, real, written, &channels, &q));
    q = quantization(), q.least = -129, q.greatest = 5;
    FAILS(PARAMETER, "quantization->", qgemm_quantize_f32(NULL, real, written, &channels, &q));
    const float bad[] = {0, -1, NAN, INFINITY, FLT_MIN / 2};
    for (int i = 0; i < 5; i++) {
        q = quantization(), scales[2] = bad[i];
        FAILS(PARAMETER, "quantization->scales is", qgemm_quantize_f32(NULL, real, written, &channels, &q));
        FAILS(PARAMETER, "quantization->scales is", qgemm_dequantize(NULL, integers, (float *)written, &channels, &q));
        scales[2] = 2;
    }
    q = quantization(), zero_points[1] = 128;
    FAILS(PARAMETER, "quantization->zero_points is 128", qgemm_quantize_f32(NULL, real, written, &channels, &q));
    zero_points[1] = 5;
    FAILS(NULL_POINTER, "from is null", qgemm_quantize_f32(NULL, NULL, written, &channels, &q));
    FAILS(NULL_POINTER, "to is null", qgemm_quantize_f32(NULL, real, NULL, &channels, &q));
    FAILS(ALIGNMENT, "from", qgemm_quantize_f32(NULL, (const float *)((const char *)real + 1), written, &channels, &q));
    FAILS(OVERLAP, "what is written overlaps from",
          qgemm_quantize_f32(NULL, (const float *)written, (char *)written + 4, &channels, &q));
    const qgemm_channels none = {0, CHANNELS, 4};
    CHECK(qgemm_quantize_f32(NULL, NULL, NULL, &none, &q) == QGEMM_STATUS_OK);
}

static void of_dequantize(void) {
    qgemm_quantization q = quantization();
    q.type = QGEMM_TYPE_F32;
    FAILS(TYPE, "quantization->type is 5", qgemm_dequantize(NULL, integers, (float *)written, &channels, &q));
    q = quantization();
    FAILS(NULL_POINTER, "from is null", qgemm_dequantize(NULL, NULL, (float *)written, &channels, &q));
    FAILS(NULL_POINTER, "to is null", qgemm_dequantize(NULL, integers, NULL, &channels, &q));
    FAILS(ALIGNMENT, "to", qgemm_dequantize(NULL, integers, (float *)((char *)written + 2), &channels, &q));
    FAILS(OVERLAP, "what is written overlaps from", qgemm_dequantize(NULL, written, (float *)written + 1, &channels, &q));
}

static qgemm_requantization requantization(uint32_t arithmetic) {
    qgemm_requantization r = QGEMM_REQUANTIZATION_INIT;
    r.from_type = QGEMM_TYPE_S32, r.to_type = QGEMM_TYPE_S8, r.arithmetic = arithmetic;
    r.multipliers = multipliers, r.exponents = exponents, r.scales = scales, r.to_zero_points = zero_points;
    return r;
}

static qgemm_status requantize(const qgemm_requantization *r) {
    return qgemm_requantize(NULL, integers, written, &channels, r);
}

static void of_requantize(void) {
    qgemm_requantization r = requantization(QGEMM_REQUANTIZE_TWICE);
    FAILS(NULL_POINTER, "requantization is null", requantize(NULL));
    r.struct_size = 1;
    FAILS(STRUCT_SIZE, "requantization->struct_size is 1", requantize(&r));
    r = requantization(5);
    FAILS(OPTION, "requantization->arithmetic is 5", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_ONCE), r.reserved = 1;
    FAILS(OPTION, "requantization->reserved is", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_ONCE), r.from_type = QGEMM_TYPE_F32;
    FAILS(TYPE, "requantization->from_type is 5", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_ONCE), r.to_type = QGEMM_TYPE_S32;
    FAILS(TYPE, "requantization->to_type is 4", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_ONCE), r.multipliers = NULL;
    FAILS(NULL_POINTER, "requantization->multipliers is null", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_ONCE), r.exponents = NULL;
    FAILS(NULL_POINTER, "requantization->exponents is null", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_F32), r.scales = NULL;
    FAILS(NULL_POINTER, "requantization->scales is null", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_TWICE_UP), exponents[1] = 31;
    FAILS(SHIFT_RANGE, "requantization->exponents is 31", requantize(&r));
    exponents[1] = -31, scales[0] = NAN, r = requantization(QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST);
    FAILS(PARAMETER, "requantization->scales is NaN", requantize(&r));
    scales[0] = 0.5f, zero_points[2] = -129, r = requantization(QGEMM_REQUANTIZE_F32);
    FAILS(PARAMETER, "requantization->to_zero_points is -129", requantize(&r));
    zero_points[2] = 127, r.least = 3, r.greatest = 2;
    FAILS(PARAMETER, "requantization->", requantize(&r));
    r = requantization(QGEMM_REQUANTIZE_F32);
    FAILS(NULL_POINTER, "from is null", qgemm_requantize(NULL, NULL, written, &channels, &r));
    FAILS(NULL_POINTER, "to is null", qgemm_requantize(NULL, integers, NULL, &channels, &r));
    FAILS(ALIGNMENT, "from", qgemm_requantize(NULL, (const char *)integers + 1, written, &channels, &r));
    FAILS(OVERLAP, "what is written overlaps from", qgemm_requantize(NULL, written, (char *)written + 1, &channels, &r));
}

static void of_ranges(void) {
    float *min = (float *)written;
    FAILS(NULL_POINTER, "from is null", qgemm_min_max_f32(NULL, NULL, &channels, min, highs));
    FAILS(NULL_POINTER, "min is null", qgemm_min_max_f32(NULL, real, &channels, NULL, highs));
    FAILS(NULL_POINTER, "max is null", qgemm_min_max_f32(NULL, real, &channels, min, NULL));
    FAILS(OVERLAP, "", qgemm_min_max_f32(NULL, real, &channels, min, min + 1));
    FAILS(OVERLAP, "", qgemm_min_max_f32(NULL, min, &channels, min, highs));
    const uint32_t s8 = QGEMM_TYPE_S8, affine = QGEMM_SCHEME_AFFINE;
    FAILS(OPTION, "scheme is 3", qgemm_choose_quantization_of(NULL, real, &channels, 3, s8, 0, 0, lows, written));
    FAILS(TYPE, "type is 5", qgemm_choose_quantization_of(NULL, real, &channels, affine, 5, 0, 0, lows, written));
    FAILS(PARAMETER, "", qgemm_choose_quantization_of(NULL, real, &channels, affine, s8, 9, -9, lows, written));
    FAILS(PARAMETER, "", qgemm_choose_quantization_of(NULL, real, &channels, affine, s8, 0, 300, lows, written));
    FAILS(NULL_POINTER, "from is null", qgemm_choose_quantization_of(NULL, NULL, &channels, affine, s8, 0, 0, lows, written));
    FAILS(NULL_POINTER, "scales is null",
          qgemm_choose_quantization_of(NULL, real, &channels, affine, s8, 0, 0, NULL, written));
    FAILS(NULL_POINTER, "zero_points is null",
          qgemm_choose_quantization_of(NULL, real, &channels, affine, s8, 0, 0, (float *)written, NULL));
    FAILS(OVERLAP, "", qgemm_choose_quantization_of(NULL, real, &channels, affine, s8, 0, 0, (float *)written, written));
}

int main(void) {
    skip_unless_supported();
    of_channels();
    of_quantize();
    of_dequantize();
    of_requantize();
    of_ranges();
    puts("whatever is wrong is refused");
    return 0;
}
