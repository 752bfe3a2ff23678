// The parameters that libqgemm makes of real numbers, compared with their definitions in doubles.

#include "check.h"
#include "random.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { ROUNDS = 200000 };

// Ends the program unless a call failed with this status and this text.
static void failed(qgemm_status found, qgemm_status status, const char *text) {
    if (found != status || strcmp(qgemm_last_error(), text) != 0) {
        fprintf(stderr, "status %d, \"%s\" instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
}

// 1 to just below 2, times 2^least to 2^(end - 1).
static double random_real(struct seed *seed, int least, int end) {
    double mantissa = 1 + next_u32(seed) / 4294967296.0 + next_u32(seed) / 4294967296.0 / 4294967296.0;
    return ldexp(mantissa, least + below(seed, end - least));
}

// ---- qgemm_quantize_multiplier ----

// TFLite's definition: 31 bits of the mantissa, ties away from zero; nothing below an exponent of -31.
static void define_multiplier(double real, int32_t *multiplier, int32_t *exponent) {
    int e;
    double bits = round(ldexp(frexp(real, &e), 31));
    if (bits == 2147483648.0) {
        bits /= 2;
        e++;
    }
    *multiplier = e < -31 ? 0 : (int32_t)bits;
    *exponent = e < -31 ? 0 : e;
}

static void multiplier_is_as_defined(double real) {
    int32_t multiplier, exponent, defined_multiplier, defined_exponent;
    CHECK(qgemm_quantize_multiplier(real, &multiplier, &exponent) == QGEMM_STATUS_OK);
    define_multiplier(real, &defined_multiplier, &defined_exponent);
    if (multiplier != defined_multiplier || exponent != defined_exponent) {
        fprintf(stderr, "%a is %d * 2^(%d - 31), not %d * 2^(%d - 31)\n", real, (int)multiplier, (int)exponent,
                (int)defined_multiplier, (int)defined_exponent);
        exit(1);
    }
}

static void multipliers(void) {
    struct seed seed = {1};
    for (int i = 0; i < ROUNDS; i++)
        multiplier_is_as_defined(random_real(&seed, -36, 29));
    // Around the powers of two, and at the ties next to them.
    for (int power = -36; power < 30; power++)
        for (int halves = -4; halves <= 4; halves++) {
            double real = ldexp(1 + halves * ldexp(1, -32), power);
            multiplier_is_as_defined(real);
            multiplier_is_as_defined(nextafter(real, 0));
            multiplier_is_as_defined(nextafter(real, DBL_MAX));
        }
    multiplier_is_as_defined(0);
    multiplier_is_as_defined(-0.0);
    multiplier_is_as_defined(DBL_MIN);
    multiplier_is_as_defined(nextafter(0, 1));
    multiplier_is_as_defined(nextafter(1073741823.75, 0));
}

static void multipliers_out_of_range(void) {
    int32_t m = 7, e = 8;
    const qgemm_status bad = QGEMM_STATUS_PARAMETER;
    failed(qgemm_quantize_multiplier(NAN, &m, &e), bad, "real is NaN, but must be 0 to just below 2 to the 30");
    failed(qgemm_quantize_multiplier(INFINITY, &m, &e), bad, "real is inf, but must be 0 to just below 2 to the 30");
    failed(qgemm_quantize_multiplier(-0.5, &m, &e), bad, "real is -0.5, but must be 0 to just below 2 to the 30");
    failed(qgemm_quantize_multiplier(-1e-300, &m, &e), bad, "real is -1e-300, but must be 0 to just below 2 to the 30");
    failed(qgemm_quantize_multiplier(1073741823.75, &m, &e), bad,
           "real is 1073741823.75, but must be 0 to just below 2 to the 30");
    const qgemm_status null = QGEMM_STATUS_NULL_POINTER;
    failed(qgemm_quantize_multiplier(1, NULL, &e), null, "multiplier is null, but must not be");
    failed(qgemm_quantize_multiplier(1, &m, NULL), null, "exponent is null, but must not be");
    CHECK(m == 7 && e == 8);
}

// ---- qgemm_quantize_multiplier_smaller_than_one ----

// gemmlowp's definition: double until it is at least 1/2, counting.
static void define_smaller_than_one(double real, int32_t *multiplier, int32_t *right_shift) {
    int shift = 0;
    for (; real < 0.5; real *= 2)
        shift++;
    double bits = round(real * 2147483648.0);
    if (bits == 2147483648.0) {
        bits /= 2;
        shift--;
    }
    *multiplier = (int32_t)bits;
    *right_shift = shift;
}

static void multipliers_smaller_than_one(void) {
    struct seed seed = {2};
    int32_t multiplier, right_shift, defined_multiplier, defined_right_shift;
    for (int i = 0; i < ROUNDS; i++) {
        double real = i % 2 ? random_real(&seed, -32, 0) : (float)random_real(&seed, -32, -1);
        define_smaller_than_one(real, &defined_multiplier, &defined_right_shift);
        CHECK(qgemm_quantize_multiplier_smaller_than_one(real, &multiplier, &right_shift) == QGEMM_STATUS_OK);
        if (defined_right_shift >= 0)
            CHECK(multiplier == defined_multiplier && right_shift == defined_right_shift);
    }
    CHECK(qgemm_quantize_multiplier_smaller_than_one(nextafter(1, 0), &multiplier, &right_shift) == QGEMM_STATUS_OK);
    CHECK(multiplier == INT32_MAX && right_shift == 0);
    CHECK(qgemm_quantize_multiplier_smaller_than_one(ldexp(1, -33), &multiplier, &right_shift) == QGEMM_STATUS_OK);
    CHECK(multiplier == 0 && right_shift == 0);

    multiplier = right_shift = 7;
    const qgemm_status bad = QGEMM_STATUS_PARAMETER, null = QGEMM_STATUS_NULL_POINTER;
    failed(qgemm_quantize_multiplier_smaller_than_one(0, &multiplier, &right_shift), bad,
           "real is 0, but must be above 0 and below 1");
    failed(qgemm_quantize_multiplier_smaller_than_one(1, &multiplier, &right_shift), bad,
           "real is 1, but must be above 0 and below 1");
    failed(qgemm_quantize_multiplier_smaller_than_one(NAN, &multiplier, &right_shift), bad,
           "real is NaN, but must be above 0 and below 1");
    failed(qgemm_quantize_multiplier_smaller_than_one(0.5, NULL, &right_shift), null,
           "multiplier is null, but must not be");
    failed(qgemm_quantize_multiplier_smaller_than_one(0.5, &multiplier, NULL), null,
           "right_shift is null, but must not be");
    CHECK(multiplier == 7 && right_shift == 7);
}

// ---- qgemm_multiplier_from_scales ----

// Floats are rounded when they are stored here, whatever the compiler calculates in.
static double derived(uint32_t derivation, float lhs, float rhs, float result) {
    volatile float product = lhs * rhs, quotient = product / result;
    if (derivation == QGEMM_DERIVE_TFLITE)
        return (double)lhs * (double)rhs / (double)result;
    return derivation == QGEMM_DERIVE_TFLITE_LEGACY ? (double)product / (double)result : (double)quotient;
}

static void multipliers_from_scales(void) {
    struct seed seed = {3};
    int differ = 0;
    for (int i = 0; i < ROUNDS; i++) {
        float lhs = (float)random_real(&seed, -10, 0), rhs = (float)random_real(&seed, -10, 0);
        float result = (float)random_real(&seed, 0, 10);
        for (uint32_t derivation = QGEMM_DERIVE_TFLITE; derivation <= QGEMM_DERIVE_QNNPACK; derivation++) {
            double real = derived(derivation, lhs, rhs, result);
            int32_t multiplier, exponent, defined_multiplier, defined_exponent;
            float scale;
            qgemm_status status =
                qgemm_multiplier_from_scales(derivation, lhs, rhs, result, &multiplier, &exponent, &scale);
            if (derivation == QGEMM_DERIVE_QNNPACK && real >= 1) {
                CHECK(status == QGEMM_STATUS_PARAMETER);
                continue;
            }
            define_multiplier(real, &defined_multiplier, &defined_exponent);
            CHECK(status == QGEMM_STATUS_OK && scale == (float)real);
            CHECK(multiplier == defined_multiplier && exponent == defined_exponent);
            differ += real != derived(QGEMM_DERIVE_TFLITE, lhs, rhs, result);
        }
    }
    // Or else this tests less than it looks like.
    CHECK(differ > ROUNDS);
}

static void multipliers_from_bad_scales(void) {
    int32_t m = 7, e = 8;
    float s = 9;
    const qgemm_status bad = QGEMM_STATUS_PARAMETER;
    failed(qgemm_multiplier_from_scales(4, 1, 1, 2, &m, &e, &s), QGEMM_STATUS_OPTION,
           "derivation is 4, which this libqgemm does not know");
    for (uint32_t derivation = QGEMM_DERIVE_TFLITE; derivation <= QGEMM_DERIVE_QNNPACK; derivation++) {
        failed(qgemm_multiplier_from_scales(derivation, 0, 1, 2, &m, &e, &s), bad,
               "lhs_scale is 0, but must be above 0 and finite");
        failed(qgemm_multiplier_from_scales(derivation, 1, -1, 2, &m, &e, &s), bad,
               "rhs_scale is -1, but must be above 0 and finite");
        failed(qgemm_multiplier_from_scales(derivation, 1, 1, NAN, &m, &e, &s), bad,
               "result_scale is NaN, but must be above 0 and finite");
        failed(qgemm_multiplier_from_scales(derivation, 1, 1, INFINITY, &m, &e, &s), bad,
               "result_scale is inf, but must be above 0 and finite");
    }
    failed(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE, 32768, 32768, 1, &m, &e, &s), bad,
           "lhs_scale * rhs_scale / result_scale is 1073741824, but must be below 2 to the 30");
    failed(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE_LEGACY, 1e30f, 1e30f, 1, &m, &e, &s), bad,
           "lhs_scale * rhs_scale / result_scale is inf, but must be below 2 to the 30");
    failed(qgemm_multiplier_from_scales(QGEMM_DERIVE_XNNPACK, 256, 1, 1, &m, &e, &s), bad,
           "lhs_scale * rhs_scale / result_scale is 256, but must be 2 to the -32 to just below 256");
    failed(qgemm_multiplier_from_scales(QGEMM_DERIVE_QNNPACK, 1, 1, 1, &m, &e, &s), bad,
           "lhs_scale * rhs_scale / result_scale is 1, but must be 2 to the -32 to just below 1");
    failed(qgemm_multiplier_from_scales(QGEMM_DERIVE_QNNPACK, 1, 1, 8589934592.f, &m, &e, &s), bad,
           "lhs_scale * rhs_scale / result_scale is 1.1641532182693481e-10, but must be 2 to the -32 to just below 1");
    CHECK(m == 7 && e == 8 && s == 9);
}

static void unwanted_results_may_be_null(void) {
    int32_t m = 7, e = 8;
    float s = 9;
    CHECK(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE, 1, 1, 4, NULL, NULL, &s) == QGEMM_STATUS_OK);
    CHECK(s == 0.25f);
    CHECK(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE, 1, 1, 2, &m, &e, NULL) == QGEMM_STATUS_OK);
    CHECK(m == 1 << 30 && e == 0);
    CHECK(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE, 1, 1, 2, NULL, NULL, NULL) == QGEMM_STATUS_OK);
}

// ---- qgemm_choose_quantization ----

static void quantizations(void) {
    static const struct {
        int32_t qmin, qmax;
    } ranges[] = {{0, 255}, {-128, 127}, {-127, 127}, {-32768, 32767}, {0, 1}, {-7, 90}};
    struct seed seed = {4};
    for (int i = 0; i < ROUNDS; i++) {
        int32_t qmin = ranges[i % 6].qmin, qmax = ranges[i % 6].qmax, zero_point;
        float a = (float)random_real(&seed, -20, 20), b = (float)random_real(&seed, -20, 20), scale;
        a = below(&seed, 2) ? a : -a;
        b = below(&seed, 2) ? b : -b;
        CHECK(qgemm_choose_quantization(a < b ? a : b, a < b ? b : a, qmin, qmax, &scale, &zero_point) ==
              QGEMM_STATUS_OK);

        float min = fminf(fminf(a, b), 0), max = fmaxf(fmaxf(a, b), 0);
        volatile float width = max - min, defined = width / (float)(qmax - qmin);
        double zero = fmin(fmax((double)qmin - (double)min / (double)defined, qmin), qmax);
        CHECK(scale == defined && zero_point == (int32_t)round(zero));
        CHECK(zero_point >= qmin && zero_point <= qmax);
    }
}

static void odd_quantizations(void) {
    float scale = 7;
    int32_t zero_point = 8;
    CHECK(qgemm_choose_quantization(0, 0, 0, 255, &scale, &zero_point) == QGEMM_STATUS_OK);
    CHECK(scale == 1 && zero_point == 0);
    CHECK(qgemm_choose_quantization(0, -0.0f, 3, 255, &scale, &zero_point) == QGEMM_STATUS_OK);
    CHECK(scale == 1 && zero_point == 3);
    CHECK(qgemm_choose_quantization(0, 1e-45f, 0, 255, &scale, &zero_point) == QGEMM_STATUS_OK);
    CHECK(scale == FLT_MIN && zero_point == 0);
    CHECK(qgemm_choose_quantization(-1, 1, INT32_MIN, INT32_MAX, &scale, &zero_point) == QGEMM_STATUS_OK);
    CHECK(scale == ldexpf(1, -31) && zero_point == 0);

    scale = 7;
    zero_point = 8;
    const qgemm_status bad = QGEMM_STATUS_PARAMETER, null = QGEMM_STATUS_NULL_POINTER;
    failed(qgemm_choose_quantization(NAN, 1, 0, 255, &scale, &zero_point), bad, "min is NaN, but must be finite");
    failed(qgemm_choose_quantization(-INFINITY, 1, 0, 255, &scale, &zero_point), bad, "min is -inf, but must be finite");
    failed(qgemm_choose_quantization(0, NAN, 0, 255, &scale, &zero_point), bad, "max is NaN, but must be finite");
    failed(qgemm_choose_quantization(0, INFINITY, 0, 255, &scale, &zero_point), bad, "max is inf, but must be finite");
    failed(qgemm_choose_quantization(1, 0.5f, 0, 255, &scale, &zero_point), bad, "max is 0.5, but must be at least min");
    failed(qgemm_choose_quantization(0, 1, 255, 255, &scale, &zero_point), bad,
           "qmax is 255, but must be greater than qmin");
    failed(qgemm_choose_quantization(0, 1, INT32_MAX, INT32_MIN, &scale, &zero_point), bad,
           "qmax is -2147483648, but must be greater than qmin");
    failed(qgemm_choose_quantization(-FLT_MAX, FLT_MAX, 0, 255, &scale, &zero_point), bad,
           "max - min is 6.805646932770577e38, but must be finite as a float");
    failed(qgemm_choose_quantization(0, 1, 0, 255, NULL, &zero_point), null,
           "scale is null, but must not be");
    failed(qgemm_choose_quantization(0, 1, 0, 255, &scale, NULL), null,
           "zero_point is null, but must not be");
    CHECK(scale == 7 && zero_point == 8);
}

// ---- qgemm_scale_s32 ----

static double confined(double x) {
    return fmin(fmax(x, INT32_MIN), INT32_MAX);
}

// The integer nearest to product / 2^shift, the greater of two; shift is 1 to 62.
static double rounded_up(int64_t product, int shift) {
    int64_t unit = INT64_C(1) << shift, sum = product + unit / 2;
    return (double)(sum / unit - (sum % unit < 0));
}

static int32_t define_scaled(int32_t x, int32_t multiplier, int32_t exponent, uint32_t rounding) {
    if (rounding == QGEMM_ROUND_ONCE)
        return (int32_t)confined(rounded_up((int64_t)x * multiplier, 31 - exponent));
    double shifted = confined(exponent > 0 ? ldexp(x, exponent) : x);
    double product = confined(rounded_up((int64_t)shifted * multiplier, 31));
    double divided = ldexp(product, exponent < 0 ? exponent : 0);
    return (int32_t)(rounding == QGEMM_ROUND_TWICE ? round(divided) : floor(divided + 0.5));
}

static int32_t scaled(int32_t x, int32_t multiplier, int32_t exponent, uint32_t rounding) {
    int32_t result;
    CHECK(qgemm_scale_s32(x, multiplier, exponent, rounding, &result) == QGEMM_STATUS_OK);
    return result;
}

static void scaled_is_as_defined(int32_t x, int32_t multiplier, int32_t exponent) {
    for (uint32_t rounding = QGEMM_ROUND_TWICE; rounding <= QGEMM_ROUND_ONCE; rounding++) {
        int32_t found = scaled(x, multiplier, exponent, rounding);
        int32_t defined = define_scaled(x, multiplier, exponent, rounding);
        if (found != defined) {
            fprintf(stderr, "%d * %d * 2^(%d - 31), rounding %d: %d instead of %d\n", (int)x, (int)multiplier,
                    (int)exponent, (int)rounding, (int)found, (int)defined);
            exit(1);
        }
    }
}

static void products(void) {
    struct seed seed = {5};
    for (int i = 0; i < ROUNDS; i++) {
        int32_t x = (int32_t)next_u32(&seed), multiplier = (int32_t)next_u32(&seed);
        scaled_is_as_defined(x, multiplier, below(&seed, 62) - 31);
        scaled_is_as_defined(x / (1 << below(&seed, 31)), multiplier, below(&seed, 62) - 31);
    }
    // Ties.
    for (int32_t exponent = -31; exponent <= 30; exponent++)
        for (int32_t x = -70; x <= 70; x++)
            for (int bit = 0; bit <= 30; bit++) {
                scaled_is_as_defined(x, 1 << bit, exponent);
                scaled_is_as_defined(x, -(1 << bit), exponent);
            }
}

static void products_by_hand(void) {
    CHECK(scaled(5, 1 << 30, -1, QGEMM_ROUND_TWICE) == 2);
    CHECK(scaled(5, 1 << 30, -1, QGEMM_ROUND_TWICE_UP) == 2);
    CHECK(scaled(5, 1 << 30, -1, QGEMM_ROUND_ONCE) == 1);
    CHECK(scaled(-6, 1 << 30, -1, QGEMM_ROUND_TWICE) == -2);
    CHECK(scaled(-6, 1 << 30, -1, QGEMM_ROUND_TWICE_UP) == -1);
    CHECK(scaled(-6, 1 << 30, -1, QGEMM_ROUND_ONCE) == -1);
    CHECK(scaled(22, 1518500250, -5, QGEMM_ROUND_TWICE) == 1);
    CHECK(scaled(22, 1518500250, -5, QGEMM_ROUND_ONCE) == 0);
    for (uint32_t rounding = QGEMM_ROUND_TWICE; rounding <= QGEMM_ROUND_ONCE; rounding++) {
        CHECK(scaled(INT32_MIN, INT32_MIN, 0, rounding) == INT32_MAX);
        CHECK(scaled(INT32_MIN, INT32_MAX, 0, rounding) == -INT32_MAX);
        CHECK(scaled(INT32_MIN, INT32_MAX, 30, rounding) == (rounding == QGEMM_ROUND_ONCE ? INT32_MIN : -INT32_MAX));
        CHECK(scaled(INT32_MIN, INT32_MIN, -31, rounding) == 1);
        CHECK(scaled(INT32_MAX, INT32_MAX, -31, rounding) == 1);
    }
}

static void products_that_fail(void) {
    int32_t result = 7;
    failed(qgemm_scale_s32(1, 1, 31, QGEMM_ROUND_TWICE, &result), QGEMM_STATUS_SHIFT_RANGE,
           "exponent is 31, but must be -31 to 30");
    failed(qgemm_scale_s32(1, 1, -32, QGEMM_ROUND_ONCE, &result), QGEMM_STATUS_SHIFT_RANGE,
           "exponent is -32, but must be -31 to 30");
    failed(qgemm_scale_s32(1, 1, 0, 3, &result), QGEMM_STATUS_OPTION, "rounding is 3, which this libqgemm does not know");
    failed(qgemm_scale_s32(1, 1, 0, UINT32_MAX, &result), QGEMM_STATUS_OPTION,
           "rounding is 4294967295, which this libqgemm does not know");
    failed(qgemm_scale_s32(1, 1, 0, 0, NULL), QGEMM_STATUS_NULL_POINTER,
           "result is null, but must not be");
    CHECK(result == 7);
}

int main(void) {
    multipliers();
    multipliers_out_of_range();
    multipliers_smaller_than_one();
    multipliers_from_scales();
    multipliers_from_bad_scales();
    unwanted_results_may_be_null();
    quantizations();
    odd_quantizations();
    products();
    products_by_hand();
    products_that_fail();
    return 0;
}
