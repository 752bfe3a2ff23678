// Sums of 32 bits requantized by ranges, compared with the definitions of TensorFlow and nnlib bit for bit, and with real
// numbers.

#include "check.h"
#include "random.h"

#include <math.h>
#include <string.h>

enum { SIZE = 20000, ROUNDS = 200 };

static int32_t x[SIZE];
static int16_t words[SIZE];
static uint8_t bytes[SIZE];

static double width(qgemm_range range) {
    return (double)range.max - range.min;
}

static double real_sum(qgemm_range range, int32_t sum) {
    double step = width(range) / 4294967296.0;
    return width(range) == 0 ? 0 : (sum + 2147483648.0 + round(range.min / step)) * step;
}

static qgemm_range symmetric(float max) {
    qgemm_range range = {-max, max};
    return range;
}

// Of so many bits, ends among them.
static void fill(struct seed *seed, int bits) {
    for (int i = 0; i < SIZE; i++)
        x[i] = (int32_t)next_u32(seed) >> (32 - bits);
    if (bits == 32) {
        x[0] = INT32_MIN, x[1] = INT32_MAX, x[2] = 0, x[3] = -1, x[4] = 1;
    }
}

static void ranges_hold_all_sums_and_zero(void) {
    struct seed seed = {1};
    for (int i = 0; i < ROUNDS; i++) {
        fill(&seed, 1 + i % 32);
        // All of one sign, in some rounds.
        for (int k = 0; i % 3 && k < SIZE; k++)
            x[k] = i % 3 == 1 ? x[k] & INT32_MAX : x[k] | INT32_MIN;
        qgemm_range from = {-(float)between(&seed, 0, 100), (float)between(&seed, 0.1, 100)}, range;
        if (i % 2)
            from = symmetric(from.max);
        int size = i % 5 ? below(&seed, SIZE) + 1 : SIZE;
        CHECK(qgemm_requantization_range_s32(NULL, x, size, from, &range) == QGEMM_STATUS_OK);
        double least = 0, greatest = 0;
        for (int k = 0; k < size; k++) {
            least = fmin(least, real_sum(from, x[k]));
            greatest = fmax(greatest, real_sum(from, x[k]));
        }
        CHECK(fabs(range.min - least) <= ldexp(fabs(least), -24) && range.min <= 0);
        CHECK(fabs(range.max - greatest) <= ldexp(fabs(greatest), -24) && range.max >= 0);
    }
    qgemm_range none = {7, 8};
    CHECK(qgemm_requantization_range_s32(NULL, NULL, 0, symmetric(1), &none) == QGEMM_STATUS_OK);
    CHECK(none.min == 0 && none.max == 0);
    CHECK(qgemm_requantization_range_s32(NULL, x, SIZE, symmetric(0), &none) == QGEMM_STATUS_OK);
    CHECK(none.min == 0 && none.max == 0);
}

// TensorFlow's, in its own words, but for products of more than 64 bits.
static int by_tensorflow(int32_t sum, qgemm_range from, qgemm_range to) {
    volatile float in = from.max - from.min, out = to.max - to.min, middle = (float)((double)(from.min + from.max) / 2.0);
    volatile float recip = (float)(255.0 / (double)out), offset = middle * recip, offset_fp = offset * 65536;
    int64_t scale = (int64_t)(255.0 * 65536 * (double)in / (double)out);
    int64_t to_offset = llround(65536 * (to.min * 255.0) / (double)out);
    double high = floor((double)sum * (double)(scale >> 32));
    int64_t low = (int64_t)sum * (scale & 0xffffffff), below_zero = low % 4294967296 < 0;
    int64_t product = (int64_t)high + low / 4294967296 - below_zero;
    int64_t code = product + (int64_t)offset_fp - to_offset + 32768;
    code = code / 65536 - (code % 65536 < 0);
    return (int)(code < 0 ? 0 : code > 255 ? 255 : code);
}

static void check(uint32_t mode, uint32_t type, qgemm_range from, qgemm_range to) {
    qgemm_range range;
    int is_16 = type == QGEMM_TYPE_S16, least = is_16 ? -32768 : type == QGEMM_TYPE_S8 ? -128 : 0;
    void *y = is_16 ? (void *)words : (void *)bytes;
    CHECK(qgemm_requantize_s32(NULL, mode, x, SIZE, from, to, type, y, &range) == QGEMM_STATUS_OK);
    double steps = is_16 ? 65535 : 255, code = width(range) / steps;
    CHECK(range.min <= to.min && range.max >= to.max);
    double zero = code == 0 ? 0 : round(-range.min / code);
    double gain = code == 0 ? 0 : width(from) / 4294967296.0 / code;
    for (int i = 0; i < SIZE; i++) {
        int found = (is_16 ? words[i] : type == QGEMM_TYPE_S8 ? (int8_t)bytes[i] : bytes[i]) - least;
        double real = code == 0 ? 0 : fmin(fmax(real_sum(from, x[i]) / code + zero, 0), steps);
        // nnlib's gain has 31 bits, and few of them count if it is small; nothing of TensorFlow's is nudged.
        double error = mode == QGEMM_RANGES_EXACT   ? 0.501
                       : mode == QGEMM_RANGES_NNLIB ? 0.501 + fabs((double)x[i]) * ldexp(1, -32)
                                                        : 1.01;
        if (fabs(found - real) > error ||
            (mode == QGEMM_RANGES_TENSORFLOW && code > 0 && found != by_tensorflow(x[i], from, to))) {
            fprintf(stderr, "mode %d, type %d, %a to %a, %a to %a, gain %g: %d gives %d, not %g\n", (int)mode, (int)type,
                    from.min, from.max, to.min, to.max, gain, (int)x[i], found, real);
            exit(1);
        }
        if (mode == QGEMM_RANGES_NNLIB && gain < 1 && code > 0) {
            double product = floor((x[i] * round(ldexp(gain, 31)) + 1073741824.0) / 2147483648.0) + zero;
            CHECK(gain > 0.999999 || found == fmin(fmax(product, 0), 255));
        }
    }
}

static void sums_become_codes(void) {
    struct seed seed = {2};
    for (int i = 0; i < ROUNDS; i++) {
        fill(&seed, i % 4 ? 8 + i % 25 : 32);
        qgemm_range from = symmetric((float)ldexp(between(&seed, 1, 2), below(&seed, 20)));
        qgemm_range to = {-(float)ldexp(from.max, -below(&seed, 24)), (float)ldexp(from.max, -below(&seed, 24))};
        if (i % 5 == 1)
            to.min = 0;
        if (i % 5 == 2)
            to.max = 0;
        if (i % 50 == 3)
            to.min = to.max = 0;
        check(QGEMM_RANGES_TENSORFLOW, QGEMM_TYPE_U8, from, to);
        check(QGEMM_RANGES_TENSORFLOW, QGEMM_TYPE_S8, from, to);
        check(QGEMM_RANGES_NNLIB, QGEMM_TYPE_U8, from, to);
        check(QGEMM_RANGES_NNLIB, QGEMM_TYPE_S8, from, to);
        check(QGEMM_RANGES_EXACT, QGEMM_TYPE_U8, from, to);
        if (i % 2)
            from.min /= 3;
        check(QGEMM_RANGES_EXACT, QGEMM_TYPE_S8, from, to);
        check(QGEMM_RANGES_EXACT, QGEMM_TYPE_S16, from, to);
    }
}

// The same as by itself, in one call.
static void range_and_codes_at_once(void) {
    struct seed seed = {3};
    static uint8_t at_once[SIZE];
    for (int i = 0; i < 32; i++) {
        fill(&seed, i + 1);
        qgemm_range from = symmetric((float)between(&seed, 1, 100)), range, actual, shrunk;
        for (uint32_t mode = QGEMM_RANGES_EXACT; mode <= QGEMM_RANGES_NNLIB; mode++) {
            CHECK(qgemm_requantization_range_s32(NULL, x, SIZE, from, &range) == QGEMM_STATUS_OK);
            CHECK(qgemm_requantize_s32(NULL, mode, x, SIZE, from, range, QGEMM_TYPE_U8, bytes, &actual) == QGEMM_STATUS_OK);
            CHECK(qgemm_quantize_down_and_shrink_range(NULL, mode, x, SIZE, from, QGEMM_TYPE_U8, at_once, &shrunk) ==
                  QGEMM_STATUS_OK);
            CHECK(memcmp(&actual, &shrunk, sizeof(actual)) == 0 && memcmp(bytes, at_once, SIZE) == 0);
        }
    }
}

int main(void) {
    skip_unless_supported();
    ranges_hold_all_sums_and_zero();
    sums_become_codes();
    range_and_codes_at_once();
    return 0;
}
