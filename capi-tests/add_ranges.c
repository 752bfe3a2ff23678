// Bytes with ranges, added to sums of 32 bits and to bytes: every pair for many ranges, compared with the definitions of
// TensorFlow and nnlib bit for bit, and with real numbers.

#include "check.h"
#include "random.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 256 * 256, RANGES = 40 };

static uint8_t pairs_a[PAIRS], pairs_b[PAIRS], bytes[PAIRS];
static int32_t sums[PAIRS], others[PAIRS];

static double width(qgemm_range range) {
    return (double)range.max - range.min;
}

// What code q stands for, if there are `steps` steps, and the code nearest to 0 is taken for it.
static double nudged(qgemm_range range, double q) {
    return width(range) == 0 ? 0 : (q - round(-(double)range.min * 255 / width(range))) * width(range) / 255;
}

static double at_face_value(qgemm_range range, double q) {
    return range.min + q * width(range) / 255;
}

static qgemm_range random_range(struct seed *seed, int i) {
    qgemm_range range = {-(float)ldexp(between(seed, 1, 2), below(seed, 8) - 4),
                         (float)ldexp(between(seed, 1, 2), below(seed, 8) - 4)};
    if (i % 7 == 1)
        range.min = 0;
    if (i % 7 == 2)
        range.max = 0;
    if (i % 7 == 3)
        range.min = -range.max;
    if (i % 7 == 4)
        range.min = -range.max * 128 / 127;
    if (i % 2) {
        float step = (float)ldexp(between(seed, 1, 2), below(seed, 8) - 8);
        int zero = below(seed, 256);
        range.min = -(float)zero * step, range.max = (float)(255 - zero) * step;
    }
    if (i % 13 == 5)
        range.min = range.max = 0;
    return range;
}

// Whether a code stands for 0, so that rounding it there changes nothing.
static int has_a_zero(qgemm_range range) {
    double zero = width(range) == 0 ? 0 : -(double)range.min * 255 / width(range);
    return fabs(zero - round(zero)) < 1e-4;
}

static float magnitude(qgemm_range range) {
    return fmaxf(fabsf(range.min), fabsf(range.max));
}

// ---- TensorFlow's definitions, in its own words ----

static int64_t float_to_quantized_unclamped(float x, qgemm_range range, int bits, int64_t lowest) {
    if (range.min == range.max)
        return lowest;
    double steps = ldexp(1, bits), adjust = steps / (steps - 1);
    volatile float difference = range.max - range.min;
    double scale = steps / (difference * adjust);
    return (int64_t)(round(x * scale) - round(range.min * scale)) + lowest;
}

static int64_t clamped(int64_t x) {
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x;
}

static float quantized_to_float(int q, qgemm_range range) {
    if (range.min == range.max)
        return range.min;
    volatile float difference = range.max - range.min;
    double scale = difference * (256 / 255.0) / 256;
    volatile float quotient = range.min / (float)scale, rounded = roundf(quotient) * (float)scale;
    return (float)((double)rounded + q * scale);
}

static int64_t requantized(int q, qgemm_range from, qgemm_range to) {
    return clamped(float_to_quantized_unclamped(quantized_to_float(q, from), to, 32, INT32_MIN));
}

static int64_t by_operation(int q, qgemm_range from, qgemm_range to) {
    int64_t x0 = float_to_quantized_unclamped(quantized_to_float(0, from), to, 32, INT32_MIN);
    int64_t x1 = float_to_quantized_unclamped(quantized_to_float(1, from), to, 32, INT32_MIN);
    return clamped(x0 + q * (int64_t)(int32_t)(x1 - x0));
}

// ---- 8 bits and 8 to 32 ----

static float level(qgemm_range range) {
    volatile float difference = range.max - range.min;
    return difference / 255;
}

static int zero_of(qgemm_range range) {
    return range.min == range.max ? 0 : (int)roundf(-range.min * (255 / (range.max - range.min)));
}

static int64_t defined_sum(uint32_t rule, int a, qgemm_range ra, int b, qgemm_range rb, qgemm_range rc) {
    float greater = fmaxf(level(ra), level(rb));
    if (rc.max == 0)
        return 0;
    switch (rule) {
        case QGEMM_ADD32_NNLIB: {
            int ka = (int)roundf(level(ra) / greater * 0x7F80), kb = (int)roundf(level(rb) / greater * 0x7F80);
            return ka * (a - zero_of(ra)) + kb * (b - zero_of(rb));
        }
        case QGEMM_ADD32_NNLIB_BIAS: {
            volatile float step = (rc.max - rc.min) / 4294967296.0f, of_a = level(ra) / step, of_b = level(rb) / step;
            volatile float x = (float)(a - zero_of(ra)) * of_a, y = (float)(b - zero_of(rb)) * of_b, sum = x + y;
            return lrintf(sum);
        }
        case QGEMM_ADD32_TENSORFLOW_HELPER:
            return requantized(a, ra, rc) + requantized(b, rb, rc) +
                   clamped(float_to_quantized_unclamped(0, rc, 32, INT32_MIN));
        case QGEMM_ADD32_TENSORFLOW_OPERATION:
            return by_operation(a, ra, rc) + by_operation(b, rb, rc);
        default:
            return llrint((nudged(ra, a) + nudged(rb, b)) / (rc.max / 2147483648.0));
    }
}

static float defined_max(uint32_t rule, qgemm_range ra, qgemm_range rb) {
    switch (rule) {
        case QGEMM_ADD32_NNLIB:
            return 2147483648.0f / 0x7F80 * fmaxf(level(ra), level(rb));
        case QGEMM_ADD32_TENSORFLOW_OPERATION:
            return fmaxf(fabsf(fminf(ra.min, rb.min)), fabsf(fmaxf(ra.max, rb.max))) * (1 << 14);
        default:
            return fmaxf(magnitude(ra), magnitude(rb)) * (1 << 17);
    }
}

// In what stands for it, not in codes.
static double slack(uint32_t rule, qgemm_range ra, qgemm_range rb, qgemm_range rc) {
    double code = rc.max / 2147483648.0, greater = fmax(width(ra), width(rb)) / 255;
    switch (rule) {
        case QGEMM_ADD32_NNLIB:
            return 0.01 * greater;
        case QGEMM_ADD32_TENSORFLOW_OPERATION:
            return 0.41 * fmax(magnitude(ra), magnitude(rb)) / 127;
        case QGEMM_ADD32_TENSORFLOW_HELPER:
            return 4 * code;
        default:
            return code;
    }
}

static void check_sums(uint32_t rule, qgemm_range ra, qgemm_range rb) {
    qgemm_range rc;
    CHECK(qgemm_add_8p8to32(NULL, rule, pairs_a, ra, pairs_b, rb, PAIRS, sums, &rc) == QGEMM_STATUS_OK);
    CHECK(rc.max == defined_max(rule, ra, rb) && rc.min == -rc.max);
    for (int i = 0; i < PAIRS; i++) {
        int a = i / 256, b = i % 256;
        int64_t wanted = defined_sum(rule, a, ra, b, rb, rc);
        // Sums in doubles may differ in ties.
        if (rule == QGEMM_ADD32_EXACT ? llabs(sums[i] - wanted) > 1 : sums[i] != wanted) {
            fprintf(stderr, "rule %d, %a to %a and %a to %a: %d and %d give %d, not %d\n", (int)rule, ra.min, ra.max,
                    rb.min, rb.max, a, b, (int)sums[i], (int)wanted);
            exit(1);
        }
        double real = nudged(ra, a) + nudged(rb, b);
        double found = sums[i] * (rc.max / 2147483648.0);
        if (has_a_zero(ra) && has_a_zero(rb) && fabs(found - real) > slack(rule, ra, rb, rc) * (1 + 1e-6)) {
            fprintf(stderr, "rule %d, %a to %a and %a to %a: %d and %d are %g, not %g\n", (int)rule, ra.min, ra.max,
                    rb.min, rb.max, a, b, found, real);
            exit(1);
        }
    }
    CHECK(qgemm_add_8p8to32(NULL, rule, pairs_b, rb, pairs_a, ra, PAIRS, others, &rc) == QGEMM_STATUS_OK);
    CHECK(memcmp(sums, others, sizeof(sums)) == 0);

    // A row is added to each row.
    CHECK(qgemm_bias_add_8p8to32(NULL, rule, pairs_a, ra, pairs_b, rb, 256, 256, others, &rc) == QGEMM_STATUS_OK);
    CHECK(memcmp(sums, others, sizeof(sums)) == 0);
    CHECK(qgemm_bias_add_8p8to32(NULL, rule, pairs_b, ra, pairs_b + 3, rb, 13, 37, others, &rc) == QGEMM_STATUS_OK);
    for (int i = 0; i < 13 * 37; i++)
        CHECK(others[i] == sums[pairs_b[i] * 256 + pairs_b[3 + i % 37]]);
}

static void every_pair_to_32_bits(void) {
    struct seed seed = {1};
    for (int i = 0; i < RANGES; i++) {
        qgemm_range ra = random_range(&seed, i), rb = random_range(&seed, below(&seed, 100));
        for (uint32_t rule = QGEMM_ADD32_NNLIB; rule <= QGEMM_ADD32_EXACT; rule++)
            check_sums(rule, ra, rb);
    }
}

// ---- 8 bits and 8 to 8 ----

static void fail(const char *what, uint32_t mode, qgemm_range ra, qgemm_range rb, qgemm_range rc, int i) {
    fprintf(stderr, "mode %d, %a to %a and %a to %a, result %a to %a: %d and %d give %d: %s\n", (int)mode, ra.min, ra.max,
            rb.min, rb.max, rc.min, rc.max, pairs_a[i], pairs_b[i], bytes[i], what);
    exit(1);
}

// The seed's: nnlib's quant_add_spec, in integers that do not overflow.
static int defined_by_spec(int a, qgemm_range ra, int b, qgemm_range rb, qgemm_range rc) {
    if (width(rb) > width(ra)) {
        qgemm_range r = ra;
        int q = a;
        ra = rb, rb = r, a = b, b = q;
    }
    float arange = ra.max - ra.min, brange = rb.max - rb.min;
    volatile float alpha = arange / brange, of_a = 255 * ra.min, of_b = 255 * rb.min, base = (of_a + of_b) / brange;
    volatile float slope = 128 * alpha, lmin = rc.min * 255 / brange, lmax = rc.max * 255 / brange, step = lmax - lmin;
    volatile float kappa = slope + base, recip = fminf(255.0f * 32768.0f / step, 32767), quotient = 255 * lmin / step;
    int64_t product = (int64_t)(a - 128) * (int)slope + 64, x = (int64_t)floor((double)product / 128) + b + (int)kappa;
    int64_t c = (int64_t)floor((double)(x * (int)recip + 0x4000) / 32768) - (int)(quotient - 0.5f);
    return (int)(c < 0 ? 0 : c > 255 ? 255 : c);
}

static void check_bytes(uint32_t mode, qgemm_range ra, qgemm_range rb, const qgemm_range *guess, uint32_t flags) {
    qgemm_range rc = {7, 7}, again;
    int32_t passes, fixed = 0;
    qgemm_status status = qgemm_add_8p8to8(NULL, mode, pairs_a, ra, pairs_b, rb, PAIRS, guess, flags, bytes, &rc, &passes);
    if (status == QGEMM_STATUS_PARAMETER && mode != QGEMM_ADD8_EXACT) {
        double wide = fmax(width(ra), width(rb)), narrow = fmin(width(ra), width(rb)), sum = wide + narrow;
        if (mode == QGEMM_ADD8_NNLIB_SPEC)
            CHECK(narrow == 0 || wide / narrow > 255.9 || (flags == 3 && width(*guess) < wide));
        else
            CHECK(flags != 0 && width(*guess) < sum / 31);
        return;
    }
    CHECK(status == QGEMM_STATUS_OK && passes >= 1 && passes <= 2);
    if (flags & QGEMM_ADD8_FIXED_MIN)
        CHECK(rc.min == guess->min);
    if (flags & QGEMM_ADD8_FIXED_MAX)
        CHECK(rc.max == guess->max);
    fixed = flags == (QGEMM_ADD8_FIXED_MIN | QGEMM_ADD8_FIXED_MAX);
    CHECK(!fixed || passes == 1);
    double code = width(rc) / 255, least = 0, greatest = 0;
    // Where the result's range is narrow the flat arithmetic has fewer bits.
    double flat = 0.52 + 0.08 * (width(ra) + width(rb)) / fmax(width(rc), 1e-30);
    double error = mode == QGEMM_ADD8_EXACT ? 0.5 + 1.0 / 1024 : mode == QGEMM_ADD8_NNLIB_FLAT ? flat : 2;
    for (int i = 0; i < PAIRS; i++) {
        // The arithmetic of nnlib takes 0 for a code, at least the flat one.
        double real = mode == QGEMM_ADD8_NNLIB_FLAT ? nudged(ra, pairs_a[i]) + nudged(rb, pairs_b[i])
                                                    : at_face_value(ra, pairs_a[i]) + at_face_value(rb, pairs_b[i]);
        least = fmin(least, real), greatest = fmax(greatest, real);
        double confined = fmin(fmax(real, rc.min), rc.max);
        int is_known = mode != QGEMM_ADD8_NNLIB_FLAT || (has_a_zero(ra) && has_a_zero(rb));
        if (is_known && (code == 0 ? bytes[i] != 0 : fabs(at_face_value(rc, bytes[i]) - confined) > error * code))
            fail("too far from the real sum", mode, ra, rb, rc, i);
        if (mode == QGEMM_ADD8_NNLIB_SPEC && bytes[i] != defined_by_spec(pairs_a[i], ra, pairs_b[i], rb, rc))
            fail("not as defined", mode, ra, rb, rc, i);
        if (bytes[i] < (i % 256 ? bytes[i - 1] : 0) || bytes[i] < (i >= 256 ? bytes[i - 256] : 0))
            fail("less than for lesser codes", mode, ra, rb, rc, i);
    }
    // All that was seen is in the range, where that was not fixed; by as much as the sums are off.
    CHECK((flags & QGEMM_ADD8_FIXED_MIN) || least >= rc.min - (error - 0.4) * fmax(code, width(ra) / 255));
    CHECK((flags & QGEMM_ADD8_FIXED_MAX) || greatest <= rc.max + (error - 0.4) * fmax(code, width(ra) / 255));

    static uint8_t same[PAIRS];
    CHECK(qgemm_add_8p8to8(NULL, mode, pairs_b, rb, pairs_a, ra, PAIRS, guess, flags, same, &again, NULL) == QGEMM_STATUS_OK);
    CHECK(memcmp(&rc, &again, sizeof(rc)) == 0 && memcmp(bytes, same, PAIRS) == 0);
    // What was found is a guess that fits.
    if (rc.min < rc.max && !fixed) {
        CHECK(qgemm_add_8p8to8(NULL, mode, pairs_a, ra, pairs_b, rb, PAIRS, &rc, 0, same, &again, &passes) ==
              QGEMM_STATUS_OK);
        CHECK(flags != 0 || passes == 1);
    }
}

static void every_pair_to_8_bits(void) {
    struct seed seed = {2};
    for (int i = 0; i < RANGES; i++) {
        qgemm_range ra = random_range(&seed, i), rb = random_range(&seed, below(&seed, 100));
        qgemm_range guess = random_range(&seed, 0);
        for (uint32_t mode = QGEMM_ADD8_EXACT; mode <= QGEMM_ADD8_NNLIB_SPEC; mode++) {
            check_bytes(mode, ra, rb, NULL, 0);
            for (uint32_t flags = 0; flags < 4; flags++)
                check_bytes(mode, ra, rb, &guess, flags);
        }
    }
}

// Where nnlib's 16 bits wrapped around: 200 * 200 steps of b, and 10 more.
static void where_16_bits_are_too_few(void) {
    qgemm_range ra = {0, 200 * 255}, rb = {0, 255}, guess = {0, 52000}, rc;
    uint8_t a = 200, b = 10, c;
    CHECK(qgemm_add_8p8to8(NULL, QGEMM_ADD8_NNLIB_SPEC, &a, ra, &b, rb, 1, &guess, 0, &c, &rc, NULL) == QGEMM_STATUS_OK);
    CHECK(fabs(c * width(rc) / 255 - (200 * 200 + 10)) <= 2 * width(rc) / 255);
}

int main(void) {
    skip_unless_supported();
    for (int i = 0; i < PAIRS; i++) {
        pairs_a[i] = (uint8_t)(i / 256);
        pairs_b[i] = (uint8_t)(i % 256);
    }
    every_pair_to_32_bits();
    every_pair_to_8_bits();
    where_16_bits_are_too_few();
    return 0;
}
