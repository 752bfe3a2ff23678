// Tensors with scales and zero points, added in each mode: every pair of bytes for many parameters, compared with the modes'
// definitions bit for bit, and with real numbers.

#include "check.h"
#include "random.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 256 * 256, PARAMETER_SETS = 24, WORDS = 100000 };

static const char *const mode_names[] = {"tflite", "tflite single", "xnnpack", "qnnpack", "f32"};

// Rounded down.
static int64_t quotient(int64_t x, int shift) {
    int64_t unit = INT64_C(1) << shift;
    return x / unit - (x % unit < 0);
}

static int64_t nearest_up(int64_t x, int shift) {
    return shift == 0 ? x : quotient(x + (INT64_C(1) << (shift - 1)), shift);
}

static int64_t nearest_away(int64_t x, int shift) {
    return x < 0 ? -nearest_up(-x, shift) : nearest_up(x, shift);
}

// A real number below 1 as TFLite has it: multiplier / 2^31 / 2^shift.
struct fraction {
    int64_t multiplier;
    int shift;
};

static struct fraction fraction_of(double real) {
    int exponent;
    int64_t multiplier = (int64_t)round(ldexp(frexp(real, &exponent), 31));
    if (multiplier == INT64_C(1) << 31) {
        multiplier /= 2;
        exponent++;
    }
    struct fraction none = {0, 0}, some = {multiplier, -exponent};
    return exponent < -31 ? none : some;
}

// x times it.
static int64_t times(int64_t x, struct fraction fraction, uint32_t mode) {
    if (mode == QGEMM_ADD_TFLITE_SINGLE)
        return nearest_up(x * fraction.multiplier, 31 + fraction.shift);
    return nearest_away(nearest_up(x * fraction.multiplier, 31), fraction.shift);
}

static int64_t tflite(const qgemm_add_options *o, int64_t a, int64_t b) {
    int left = o->type == QGEMM_TYPE_S16 ? 15 : 20;
    double a_scale = o->a_scale, b_scale = o->b_scale, twice_max = 2 * fmax(a_scale, b_scale);
    struct fraction of_a = fraction_of(a_scale / twice_max), of_b = fraction_of(b_scale / twice_max);
    struct fraction of_c = fraction_of(twice_max / (ldexp(1, left) * (double)o->c_scale));
    if (o->flags & QGEMM_ADD_SUBTRACT)
        of_b.multiplier = -of_b.multiplier;
    int64_t sum = times(a * (1 << left), of_a, o->mode) + times(b * (1 << left), of_b, o->mode);
    return times(sum, of_c, o->mode);
}

static int64_t common_exponent(const qgemm_add_options *o, int64_t a, int64_t b) {
    int bits = o->mode == QGEMM_ADD_XNNPACK ? 20 : 21, exponent;
    float of_a = o->a_scale / o->c_scale, of_b = o->b_scale / o->c_scale;
    frexpf(fmaxf(of_a, of_b), &exponent);
    int shift = bits - (exponent - 1);
    int64_t a_multiplier = lrintf(ldexpf(of_a, shift)), b_multiplier = lrintf(ldexpf(of_b, shift));
    if (o->flags & QGEMM_ADD_SUBTRACT)
        b_multiplier = -b_multiplier;
    int64_t sum = a * a_multiplier + b * b_multiplier;
    return o->mode == QGEMM_ADD_XNNPACK ? nearest_up(sum, shift) : nearest_away(sum, shift);
}

static double in_floats(const qgemm_add_options *o, int64_t a, int64_t b) {
    volatile float of_a = o->a_scale / o->c_scale, of_b = o->b_scale / o->c_scale;
    volatile float x = (float)a * of_a, y = (float)b * of_b;
    volatile float sum = o->flags & QGEMM_ADD_SUBTRACT ? x - y : x + y;
    return rint((double)sum);
}

static void limits(const qgemm_add_options *o, int32_t *least, int32_t *greatest) {
    *least = o->type == QGEMM_TYPE_U8 ? 0 : o->type == QGEMM_TYPE_S8 ? -128 : -32768;
    *greatest = o->type == QGEMM_TYPE_U8 ? 255 : o->type == QGEMM_TYPE_S8 ? 127 : 32767;
    if (o->c_least != 0 || o->c_greatest != 0) {
        *least = o->c_least;
        *greatest = o->c_greatest;
    }
}

static int32_t defined(const qgemm_add_options *o, int32_t a, int32_t b) {
    int64_t x = (int64_t)a - o->a_zero_point, y = (int64_t)b - o->b_zero_point;
    double code = o->mode <= QGEMM_ADD_TFLITE_SINGLE ? (double)tflite(o, x, y)
                  : o->mode <= QGEMM_ADD_QNNPACK     ? (double)common_exponent(o, x, y)
                                                     : in_floats(o, x, y);
    int32_t least, greatest;
    limits(o, &least, &greatest);
    return (int32_t)fmin(fmax(code + o->c_zero_point, least), greatest);
}

// How far the result may be from the real number, in codes.
static double slack(const qgemm_add_options *o, double x, double y) {
    double greater = fmax(o->a_scale, o->b_scale) / o->c_scale;
    switch (o->mode) {
        case QGEMM_ADD_TFLITE:
        case QGEMM_ADD_TFLITE_SINGLE:
            return 0.5 + 5 * greater / ldexp(1, o->type == QGEMM_TYPE_S16 ? 15 : 20) + 1e-6 * (fabs(x) + fabs(y));
        case QGEMM_ADD_XNNPACK:
        case QGEMM_ADD_QNNPACK:
            return 0.5 + 256 * ldexp(greater, -20);
        default:
            return 0.5 + (fabs(x) + fabs(y)) * ldexp(1, -22);
    }
}

static void near_the_real_sum(const qgemm_add_options *o, int32_t a, int32_t b, int32_t c) {
    double x = ((double)a - o->a_zero_point) * o->a_scale / o->c_scale;
    double y = ((double)b - o->b_zero_point) * o->b_scale / o->c_scale;
    double real = (o->flags & QGEMM_ADD_SUBTRACT ? x - y : x + y) + o->c_zero_point;
    int32_t least, greatest;
    limits(o, &least, &greatest);
    CHECK(fabs(c - fmin(fmax(real, least), greatest)) <= slack(o, x, y));
}

static int32_t element(const qgemm_add_options *o, const void *data, int i) {
    return o->type == QGEMM_TYPE_U8   ? ((const uint8_t *)data)[i]
           : o->type == QGEMM_TYPE_S8 ? ((const int8_t *)data)[i]
                                      : ((const int16_t *)data)[i];
}

static void is_as_defined(const qgemm_add_options *o, const void *a, const void *b, const void *c, int size) {
    for (int i = 0; i < size; i++) {
        int32_t x = element(o, a, i), y = element(o, b, i), found = element(o, c, i), wanted = defined(o, x, y);
        if (found != wanted) {
            fprintf(stderr, "%s, type %d, scales %a %a %a, zero points %d %d %d, flags %d: %d and %d give %d, not %d\n",
                    mode_names[o->mode], (int)o->type, o->a_scale, o->b_scale, o->c_scale, (int)o->a_zero_point,
                    (int)o->b_zero_point, (int)o->c_zero_point, (int)o->flags, (int)x, (int)y, (int)found,
                    (int)wanted);
            exit(1);
        }
        near_the_real_sum(o, x, y, found);
    }
}

static qgemm_add_parameters prepared(const qgemm_add_options *options) {
    qgemm_add_parameters parameters;
    if (qgemm_add_prepare(options, &parameters) != QGEMM_STATUS_OK) {
        fprintf(stderr, "%s\n", qgemm_last_error());
        exit(1);
    }
    return parameters;
}

// A code of the options' type.
static int32_t random_code(struct seed *seed, const qgemm_add_options *o) {
    return o->type == QGEMM_TYPE_U8 ? below(seed, 256) : o->type == QGEMM_TYPE_S8 ? below(seed, 256) - 128
                                                                                  : below(seed, 65536) - 32768;
}

// Half of them with scales that are powers of two, so that there are many ties.
static qgemm_add_options random_options(struct seed *seed, uint32_t type, uint32_t mode, int i) {
    qgemm_add_options o = QGEMM_ADD_OPTIONS_INIT;
    o.type = type, o.mode = mode;
    float *scales[] = {&o.a_scale, &o.b_scale, &o.c_scale};
    for (int k = 0; k < 3; k++)
        *scales[k] = ldexpf(i % 2 ? (float)between(seed, 1, 2) : 1, below(seed, 8) - 7);
    if (i % 8 == 3)
        o.b_scale = o.a_scale;
    int is_16 = type == QGEMM_TYPE_S16 && mode != QGEMM_ADD_F32;
    o.a_zero_point = is_16 ? 0 : random_code(seed, &o);
    o.b_zero_point = is_16 ? 0 : random_code(seed, &o);
    o.c_zero_point = is_16 ? 0 : random_code(seed, &o);
    if (one_in(seed, 3)) {
        int32_t x = random_code(seed, &o), y = random_code(seed, &o);
        o.c_least = x < y ? x : y;
        o.c_greatest = x < y ? y : x;
    }
    return o;
}

static uint8_t pairs_a[PAIRS], pairs_b[PAIRS], sums[PAIRS], others[PAIRS];

static void every_pair_of_bytes(void) {
    struct seed seed = {1};
    for (int i = 0; i < PAIRS; i++) {
        pairs_a[i] = (uint8_t)(i / 256);
        pairs_b[i] = (uint8_t)(i % 256);
    }
    for (int i = 0; i < PARAMETER_SETS; i++)
        for (uint32_t mode = QGEMM_ADD_TFLITE; mode <= QGEMM_ADD_F32; mode++) {
            qgemm_add_options o = random_options(&seed, i % 3 ? QGEMM_TYPE_S8 : QGEMM_TYPE_U8, mode, i);
            qgemm_add_parameters parameters = prepared(&o);
            CHECK(qgemm_add(NULL, &parameters, pairs_a, pairs_b, PAIRS, sums) == QGEMM_STATUS_OK);
            is_as_defined(&o, pairs_a, pairs_b, sums, PAIRS);

            // The order makes no difference.
            qgemm_add_options swapped = o;
            swapped.a_scale = o.b_scale, swapped.a_zero_point = o.b_zero_point;
            swapped.b_scale = o.a_scale, swapped.b_zero_point = o.a_zero_point;
            parameters = prepared(&swapped);
            CHECK(qgemm_add(NULL, &parameters, pairs_b, pairs_a, PAIRS, others) == QGEMM_STATUS_OK);
            CHECK(memcmp(sums, others, PAIRS) == 0);

            o.flags = QGEMM_ADD_SUBTRACT;
            parameters = prepared(&o);
            CHECK(qgemm_add(NULL, &parameters, pairs_a, pairs_b, PAIRS, sums) == QGEMM_STATUS_OK);
            is_as_defined(&o, pairs_a, pairs_b, sums, PAIRS);
        }
}

// What two codes give, which are of type u8.
static int32_t sum_of(const qgemm_add_parameters *parameters, uint8_t a, uint8_t b) {
    uint8_t c;
    CHECK(qgemm_add(NULL, parameters, &a, &b, 1, &c) == QGEMM_STATUS_OK);
    return c;
}

static void zeros_give_zero_and_more_never_gives_less(void) {
    struct seed seed = {2};
    for (int i = 0; i < PARAMETER_SETS; i++)
        for (uint32_t mode = QGEMM_ADD_TFLITE; mode <= QGEMM_ADD_F32; mode++) {
            qgemm_add_options o = random_options(&seed, QGEMM_TYPE_U8, mode, i);
            o.c_least = o.c_greatest = 0;
            qgemm_add_parameters parameters = prepared(&o);
            CHECK(sum_of(&parameters, (uint8_t)o.a_zero_point, (uint8_t)o.b_zero_point) == o.c_zero_point);
            CHECK(qgemm_add(NULL, &parameters, pairs_a, pairs_b, PAIRS, sums) == QGEMM_STATUS_OK);
            for (int k = 0; k < PAIRS; k++)
                CHECK((k % 256 == 0 || sums[k - 1] <= sums[k]) && (k < 256 || sums[k - 256] <= sums[k]));
        }
}

// The formula that was proven for some parameters is not used for others.
static void forms_of_others(void) {
    uint32_t form = 0;
    int without = 0;
    for (int i = PARAMETER_SETS; i > 0; i--) {
        qgemm_add_options o = QGEMM_ADD_OPTIONS_INIT;
        o.type = QGEMM_TYPE_U8, o.mode = QGEMM_ADD_TFLITE;
        o.a_scale = .01f, o.b_scale = .05f, o.c_scale = .01f * (float)i;
        o.a_zero_point = 120, o.b_zero_point = 131, o.c_zero_point = 127;
        qgemm_add_parameters parameters = prepared(&o);
        if (parameters.form > 0) {
            form = parameters.form;
            continue;
        }
        without++;
        parameters.form = form;
        CHECK(qgemm_add(NULL, &parameters, pairs_a, pairs_b, PAIRS, sums) == QGEMM_STATUS_OK);
        is_as_defined(&o, pairs_a, pairs_b, sums, PAIRS);
    }
    CHECK(form > 0 && without > 0);
}

static void words(void) {
    static int16_t a[WORDS], b[WORDS], c[WORDS];
    static const int16_t ends[] = {-32768, -32767, -1, 0, 1, 32766, 32767};
    struct seed seed = {3};
    for (int i = 0; i < WORDS; i++) {
        a[i] = one_in(&seed, 4) ? ends[below(&seed, 7)] : (int16_t)(below(&seed, 65536) - 32768);
        b[i] = one_in(&seed, 4) ? ends[below(&seed, 7)] : (int16_t)(below(&seed, 65536) - 32768);
    }
    for (int i = 0; i < PARAMETER_SETS; i++)
        for (uint32_t mode = QGEMM_ADD_TFLITE; mode <= QGEMM_ADD_F32; mode++) {
            if (mode == QGEMM_ADD_XNNPACK || mode == QGEMM_ADD_QNNPACK)
                continue;
            qgemm_add_options o = random_options(&seed, QGEMM_TYPE_S16, mode, i);
            o.flags = i % 5 == 4 ? QGEMM_ADD_SUBTRACT : 0;
            qgemm_add_parameters parameters = prepared(&o);
            CHECK(qgemm_add(NULL, &parameters, a, b, WORDS, c) == QGEMM_STATUS_OK);
            is_as_defined(&o, a, b, c, WORDS);
        }
}

// Any number of elements, at any address, on any number of threads, in place.
static void sizes_and_places(void) {
    struct seed seed = {4};
    static const int sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 79, 80, 127, 200, 1000, 65000};
    qgemm_context_options three = QGEMM_CONTEXT_OPTIONS_INIT;
    three.threads = 3;
    qgemm_context *context;
    CHECK(qgemm_context_create(&three, &context) == QGEMM_STATUS_OK);
    for (int i = 0; i < 70; i++) {
        int size = sizes[i % 14], shift = below(&seed, 64);
        qgemm_add_options o = random_options(&seed, QGEMM_TYPE_U8, (uint32_t)(i % 5), i);
        qgemm_add_parameters parameters = prepared(&o);
        const uint8_t *a = pairs_a + shift, *b = pairs_b + below(&seed, 64);
        uint8_t *c = sums + shift;
        memset(sums, 77, PAIRS);
        CHECK(qgemm_add(i % 2 ? context : NULL, &parameters, a, b, size, c) == QGEMM_STATUS_OK);
        is_as_defined(&o, a, b, c, size);
        CHECK(c[size] == 77 && (shift == 0 || c[-1] == 77));
        memcpy(others, i % 3 ? a : b, (size_t)size);
        CHECK(qgemm_add(context, &parameters, i % 3 ? others : a, i % 3 ? b : others, size, others) == QGEMM_STATUS_OK);
        CHECK(memcmp(others, c, (size_t)size) == 0);
        memcpy(others, a, (size_t)size);
        CHECK(qgemm_add(context, &parameters, others, others, size, others) == QGEMM_STATUS_OK);
        is_as_defined(&o, a, a, others, size);
    }
    qgemm_context_free(context);
}

int main(void) {
    skip_unless_supported();
    every_pair_of_bytes();
    zeros_give_zero_and_more_never_gives_less();
    forms_of_others();
    words();
    sizes_and_places();
    return 0;
}
