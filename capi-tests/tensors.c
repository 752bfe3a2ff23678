// Quantized, dequantized and requantized tensors, compared with their definitions element by element.

#include "check.h"
#include "plot.h"
#include "random.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 20000, MOST_CHANNELS = 400 };

static const uint32_t types[] = {QGEMM_TYPE_U8, QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_S32};
static const int32_t lowest[] = {0, -128, -32768, INT32_MIN}, highest[] = {255, 127, 32767, INT32_MAX};
static const size_t sizes[] = {1, 1, 2, 4};

// All alike, channels side by side, few and many, and in short and long runs.
static const qgemm_channels shapes[] = {{1, 1, 0},   {0, 5, 3},   {3, 5, 0},   {7, 0, 2},  {1, 1, 1}, {3, 1, 500},
                                        {60, 3, 1},  {7, 31, 1},  {9, 400, 1}, {5, 150, 3}, {4, 6, 300}, {2, 64, 64}, {1, 2, 9999}};

static qgemm_context *context;

static size_t count_of(const qgemm_channels *channels) {
    return (size_t)(channels->outer * channels->channels * channels->inner);
}

static size_t channel_of(const qgemm_channels *channels, size_t i) {
    return i / (size_t)channels->inner % (size_t)channels->channels;
}

static int64_t read_integer(const void *data, int type, size_t i) {
    switch (type) {
    case 0: return ((const uint8_t *)data)[i];
    case 1: return ((const int8_t *)data)[i];
    case 2: return ((const int16_t *)data)[i];
    default: return ((const int32_t *)data)[i];
    }
}

static int64_t confined(int64_t x, int64_t least, int64_t greatest) {
    return x < least ? least : x > greatest ? greatest : x;
}

// The integer that a float is near, by double arithmetic; what no int64_t holds is far away.
static int64_t nearest(double x, int is_away) {
    if (isnan(x))
        return 0;
    return (int64_t)(is_away ? round(fmin(fmax(x, -1e15), 1e15)) : rint(fmin(fmax(x, -1e15), 1e15)));
}

// Memory with fences, placed one way or the other.
static struct plot plot_of(struct seed *seed, size_t bytes) {
    struct plot plot = make_plot(1, bytes, 0, below(seed, 2) ? BEHIND_A_FENCE : BEFORE_A_FENCE);
    fill_with_canaries(&plot);
    return plot;
}

static float random_scale(struct seed *seed) {
    // Powers of two make ties.
    float scale = ldexpf(1, below(seed, 12) - 8);
    return below(seed, 2) ? scale : scale * (float)between(seed, 1, 2);
}

static float odd_float(struct seed *seed, float scale) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1e-45f, -0.0f, 3e9f, -3e9f, FLT_MIN};
    switch (below(seed, 8)) {
    case 0: return odd[below(seed, 10)];
    case 1: return ((float)below(seed, 1200) - 600) * scale / 2;
    case 2: return nextafterf(((float)below(seed, 600) - 300 + 0.5f) * scale, below(seed, 2) ? INFINITY : -INFINITY);
    case 3: return ((float)below(seed, 150000) - 75000) * scale / 2;
    default: return (float)between(seed, -150, 150) * scale;
    }
}

static void quantized(struct seed *seed, const qgemm_channels *channels, int type, uint32_t rounding) {
    float scales[MOST_CHANNELS];
    int32_t zero_points[MOST_CHANNELS];
    size_t n = count_of(channels), count = (size_t)channels->channels;
    for (size_t c = 0; c < count; c++) {
        scales[c] = random_scale(seed);
        zero_points[c] = lowest[type] + below(seed, highest[type] - lowest[type] + 1);
    }
    qgemm_quantization q = QGEMM_QUANTIZATION_INIT;
    q.type = types[type], q.rounding = rounding, q.scales = scales;
    int32_t least = lowest[type], greatest = highest[type];
    if (one_in(seed, 3))
        q.least = least = -64 + (type == 0) * 64, q.greatest = greatest = q.least + 127;
    int has_zero_points = !one_in(seed, 3);
    q.zero_points = has_zero_points ? zero_points : NULL;

    struct plot from = plot_of(seed, n * 4), to = plot_of(seed, n * sizes[type]);
    float *x = (float *)(void *)from.data;
    for (size_t i = 0; i < n; i++)
        x[i] = odd_float(seed, scales[channel_of(channels, i)]);
    CHECK(qgemm_quantize_f32(context, x, to.data, channels, &q) == QGEMM_STATUS_OK);
    for (size_t i = 0; i < n; i++) {
        size_t c = channel_of(channels, i);
        volatile float inverse = 1 / scales[c], product = x[i] * inverse, quotient = x[i] / scales[c];
        float value = rounding == QGEMM_QUANTIZE_MULTIPLY ? product : quotient;
        int64_t zero = has_zero_points ? zero_points[c] : 0;
        int64_t want = confined(nearest(value, rounding == QGEMM_QUANTIZE_DIVIDE_AWAY) + zero, least, greatest);
        int64_t got = read_integer(to.data, type, i);
        if (got != want) {
            fprintf(stderr, "%a / %a + %d is %d, not %d\n", x[i], scales[c], (int)zero, (int)got, (int)want);
            exit(1);
        }
        // And near the real one.
        double real = (double)x[i] / (double)scales[c] + (double)zero;
        if (real >= least && real <= greatest)
            CHECK(fabs((double)got - real) <= 0.5 + ldexp(1, -7));
    }
    CHECK(canaries_live(&to));
    free_plot(&from);
    free_plot(&to);
}

static void dequantized(struct seed *seed, const qgemm_channels *channels, int type) {
    float scales[MOST_CHANNELS];
    int32_t zero_points[MOST_CHANNELS];
    size_t n = count_of(channels);
    for (size_t c = 0; c < (size_t)channels->channels; c++) {
        scales[c] = random_scale(seed);
        zero_points[c] = type == 3 ? (int32_t)next_u32(seed) >> below(seed, 31)
                                   : lowest[type] + below(seed, highest[type] - lowest[type] + 1);
    }
    qgemm_quantization q = QGEMM_QUANTIZATION_INIT;
    q.type = types[type], q.scales = scales, q.zero_points = zero_points;
    struct plot from = plot_of(seed, n * sizes[type]), to = plot_of(seed, n * 4);
    for (size_t i = 0; i < n * sizes[type]; i++)
        from.data[i] = (uint8_t)next_u32(seed);
    // Integers of 32 bits may become floats where they lie.
    int in_place = type == 3 && below(seed, 2);
    if (in_place)
        memcpy(to.data, from.data, n * 4);
    float *y = (float *)(void *)to.data;
    CHECK(qgemm_dequantize(context, in_place ? to.data : from.data, y, channels, &q) == QGEMM_STATUS_OK);
    for (size_t i = 0; i < n; i++) {
        size_t c = channel_of(channels, i);
        int32_t difference = (int32_t)((uint32_t)read_integer(from.data, type, i) - (uint32_t)zero_points[c]);
        volatile float rounded = (float)difference, want = rounded * scales[c];
        CHECK(y[i] == want);
    }
    CHECK(canaries_live(&to));
    free_plot(&from);
    free_plot(&to);
}

// x / 2^shift, rounded to nearest, ties up or away from zero; shift is 0 to 62.
static int64_t shifted(int64_t x, int shift, int is_away) {
    if (shift == 0)
        return x;
    int64_t unit = INT64_C(1) << shift, half = unit / 2, nudged = x + half - (is_away && x < 0);
    return nudged / unit - (nudged % unit < 0);
}

// Modes M1, M2 and M3: what TFLite's reference, ruy on x86, and TFLite with single rounding compute.
static int64_t scaled(int32_t x, int32_t multiplier, int32_t exponent, uint32_t arithmetic) {
    if (arithmetic == QGEMM_REQUANTIZE_ONCE)
        return confined(shifted((int64_t)x * multiplier, 31 - exponent, 0), INT32_MIN, INT32_MAX);
    int64_t left = confined(exponent > 0 ? x * (INT64_C(1) << exponent) : x, INT32_MIN, INT32_MAX);
    int64_t product = shifted(left * multiplier, 31, 0);
    return shifted(product, exponent < 0 ? -exponent : 0, arithmetic == QGEMM_REQUANTIZE_TWICE);
}

static void requantized(struct seed *seed, const qgemm_channels *channels, int from_type, int to_type,
                        uint32_t arithmetic) {
    float scales[MOST_CHANNELS];
    int32_t from_zeros[MOST_CHANNELS], to_zeros[MOST_CHANNELS], multipliers[MOST_CHANNELS], exponents[MOST_CHANNELS];
    size_t n = count_of(channels);
    int bits = from_type == 3 ? 5 + below(seed, 27) : from_type == 2 ? 15 : 7;
    for (size_t c = 0; c < (size_t)channels->channels; c++) {
        // About what brings all of one type to all of the other, and now and then far beyond.
        double real = ldexp(between(seed, 0.5, 1), (to_type == 2 ? 15 : 7) - bits + below(seed, 3) - 1);
        real = one_in(seed, 4) ? ldexp(1, below(seed, 20) - 16) : real;
        CHECK(qgemm_quantize_multiplier(real, &multipliers[c], &exponents[c]) == QGEMM_STATUS_OK);
        scales[c] = (float)real;
        from_zeros[c] = below(seed, 256) - 128;
        to_zeros[c] = lowest[to_type] + below(seed, highest[to_type] - lowest[to_type] + 1);
    }
    qgemm_requantization r = QGEMM_REQUANTIZATION_INIT;
    r.from_type = types[from_type], r.to_type = types[to_type], r.arithmetic = arithmetic;
    r.multipliers = multipliers, r.exponents = exponents, r.scales = scales;
    r.from_zero_points = from_zeros, r.to_zero_points = to_zeros;
    int32_t least = lowest[to_type], greatest = highest[to_type];
    if (one_in(seed, 3))
        r.least = least = 3, r.greatest = greatest = 100;

    struct plot from = plot_of(seed, n * sizes[from_type]), to = plot_of(seed, n * sizes[to_type]);
    for (size_t i = 0; i < n; i++) {
        int32_t x = (int32_t)next_u32(seed) >> (from_type == 3 ? 31 - bits : 0);
        x = one_in(seed, 50) ? (below(seed, 2) ? INT32_MIN : INT32_MAX) : x;
        // Little and big endian alike.
        if (from_type == 3)
            ((int32_t *)(void *)from.data)[i] = x;
        else if (from_type == 2)
            ((int16_t *)(void *)from.data)[i] = (int16_t)(x & 0x7fff) - (int16_t)(x & 0x8000 ? 0x4000 : 0);
        else
            from.data[i] = (uint8_t)x;
    }
    int in_place = sizes[from_type] == sizes[to_type] && below(seed, 2);
    if (in_place)
        memcpy(to.data, from.data, n * sizes[to_type]);
    const void *read_from = in_place ? to.data : from.data;
    CHECK(qgemm_requantize(context, read_from, to.data, channels, &r) == QGEMM_STATUS_OK);
    for (size_t i = 0; i < n; i++) {
        size_t c = channel_of(channels, i);
        int64_t integer = read_integer(from.data, from_type, i);
        int32_t x = (int32_t)((uint32_t)integer - (uint32_t)from_zeros[c]);
        volatile float as_float = (float)x, product = as_float * scales[c], sum = product + (float)to_zeros[c];
        int64_t want;
        double error = 0.5 + ldexp(1, -7);
        if (arithmetic == QGEMM_REQUANTIZE_F32) {
            want = nearest(product, 0) + to_zeros[c];
        } else if (arithmetic == QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST) {
            want = nearest(sum, 0);
        } else {
            want = scaled(x, multipliers[c], exponents[c], arithmetic) + to_zeros[c];
            // Two roundings, the first of them before the shift.
            error += arithmetic == QGEMM_REQUANTIZE_ONCE || exponents[c] >= 0 ? 0 : ldexp(1, exponents[c] - 1);
        }
        int64_t got = read_integer(to.data, to_type, i);
        if (got != confined(want, least, greatest)) {
            fprintf(stderr, "%d becomes %d, not %d, by %d * 2^(%d - 31) or %a, arithmetic %d\n", (int)x, (int)got,
                    (int)want, (int)multipliers[c], (int)exponents[c], scales[c], (int)arithmetic);
            exit(1);
        }
        double real = (double)x * ldexp(multipliers[c], exponents[c] - 31) + to_zeros[c];
        if (real > least && real < greatest && exponents[c] <= 0)
            CHECK(fabs((double)got - real) <= error);
    }
    CHECK(canaries_live(&to));
    free_plot(&from);
    free_plot(&to);
}

static void extremes_and_choices(struct seed *seed, const qgemm_channels *channels) {
    float min[MOST_CHANNELS], max[MOST_CHANNELS], scales[MOST_CHANNELS], want_min[MOST_CHANNELS], want_max[MOST_CHANNELS];
    int32_t zero_points[MOST_CHANNELS];
    size_t n = count_of(channels), count = (size_t)channels->channels;
    struct plot from = plot_of(seed, n * 4);
    float *x = (float *)(void *)from.data;
    for (size_t c = 0; c < count; c++)
        want_min[c] = INFINITY, want_max[c] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        size_t c = channel_of(channels, i);
        do
            x[i] = odd_float(seed, ldexpf(1, (int)(c % 9)));
        while (fabsf(x[i]) == FLT_MAX && c % 2);
        if (isfinite(x[i])) {
            want_min[c] = fminf(want_min[c], x[i]);
            want_max[c] = fmaxf(want_max[c], x[i]);
        }
    }
    CHECK(qgemm_min_max_f32(context, x, channels, min, max) == QGEMM_STATUS_OK);
    for (size_t c = 0; c < count; c++) {
        if (want_min[c] > want_max[c])
            want_min[c] = want_max[c] = 0;
        CHECK(min[c] == want_min[c] && max[c] == want_max[c]);
        CHECK((min[c] != 0 || !signbit(min[c])) && (max[c] != 0 || !signbit(max[c])));
    }
    for (int type = 0; type < 3; type++)
        for (uint32_t scheme = QGEMM_SCHEME_AFFINE; scheme <= QGEMM_SCHEME_DYNAMIC_LINEAR; scheme++) {
            CHECK(qgemm_choose_quantization_of(context, x, channels, scheme, types[type], 0, 0, scales, zero_points) ==
                  QGEMM_STATUS_OK);
            for (size_t c = 0; c < count; c++) {
                float low = fminf(min[c], 0), high = fmaxf(max[c], 0), least = (float)lowest[type];
                volatile float width = high - low, steps = (float)(highest[type] - lowest[type]), scale;
                CHECK(zero_points[c] >= lowest[type] && zero_points[c] <= highest[type]);
                CHECK(scales[c] >= FLT_MIN && scales[c] <= FLT_MAX);
                if (scheme == QGEMM_SCHEME_SYMMETRIC) {
                    int32_t zero = type == 0 ? 128 : 0;
                    scale = fmaxf(-low, high) / (float)(highest[type] - zero);
                    CHECK(zero_points[c] == zero);
                } else if (isinf(width)) {
                    continue;
                } else {
                    scale = width / steps;
                }
                scale = low == high ? 1 : fmaxf(scale, FLT_MIN);
                CHECK(scales[c] == scale);
                if (scheme == QGEMM_SCHEME_DYNAMIC_LINEAR) {
                    volatile float quotient = low / scale, zero = least - quotient;
                    CHECK(zero_points[c] == (int32_t)rintf(fminf(fmaxf(zero, least), (float)highest[type])));
                } else if (scheme == QGEMM_SCHEME_AFFINE) {
                    float same_scale;
                    int32_t same;
                    CHECK(qgemm_choose_quantization(min[c], max[c], lowest[type], highest[type], &same_scale, &same) ==
                          QGEMM_STATUS_OK);
                    CHECK(same_scale == scales[c] && same == zero_points[c]);
                }
            }
        }
    free_plot(&from);
}

// The examples of ONNX's DynamicQuantizeLinear.
static void dynamic_linear(void) {
    static const struct {
        int n;
        float x[12], scale;
        int zero_point;
        uint8_t y[12];
    } examples[] = {
        {6, {0, 2, -3, -2.5f, 1.34f, 0.5f}, 0.0196078438f, 153, {153, 255, 0, 26, 221, 179}},
        {6, {-1, -2.1f, -1.3f, -2.5f, -3.34f, -4}, 0.0156862754f, 255, {191, 121, 172, 96, 42, 0}},
        {12,
         {1, 2.1f, 1.3f, 2.5f, 3.34f, 4, 1.5f, 2.6f, 3.9f, 4, 3, 2.345f},
         0.0156862754f,
         0,
         {64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149}},
    };
    for (int e = 0; e < 3; e++) {
        qgemm_channels all = {1, 1, examples[e].n};
        float scale;
        int32_t zero_point;
        uint8_t y[12];
        CHECK(qgemm_choose_quantization_of(context, examples[e].x, &all, QGEMM_SCHEME_DYNAMIC_LINEAR, QGEMM_TYPE_U8, 0, 0,
                                           &scale, &zero_point) == QGEMM_STATUS_OK);
        CHECK(scale == examples[e].scale && zero_point == examples[e].zero_point);
        qgemm_quantization q = QGEMM_QUANTIZATION_INIT;
        q.type = QGEMM_TYPE_U8, q.scales = &scale, q.zero_points = &zero_point;
        CHECK(qgemm_quantize_f32(context, examples[e].x, y, &all, &q) == QGEMM_STATUS_OK);
        CHECK(memcmp(y, examples[e].y, (size_t)all.inner) == 0);
    }
}

// Every integer of 8 and of 16 bits stands for a float that stands for it.
static void there_and_back(struct seed *seed) {
    static int16_t integers[65536], back[65536];
    static float floats[65536];
    for (int type = 0; type < 3; type++)
        for (int round = 0; round < 20; round++) {
            int64_t n = (int64_t)highest[type] - lowest[type] + 1;
            for (int64_t i = 0; i < n; i++) {
                if (type == 2)
                    integers[i] = (int16_t)(i - 32768);
                else
                    ((uint8_t *)integers)[i] = (uint8_t)i;
            }
            float scale = random_scale(seed);
            int32_t zero_point = lowest[type] + below(seed, (int)n);
            qgemm_channels all = {1, 1, n};
            qgemm_quantization q = QGEMM_QUANTIZATION_INIT;
            q.type = types[type], q.scales = &scale, q.zero_points = &zero_point, q.rounding = (uint32_t)below(seed, 3);
            CHECK(qgemm_dequantize(context, integers, floats, &all, &q) == QGEMM_STATUS_OK);
            CHECK(qgemm_quantize_f32(context, floats, back, &all, &q) == QGEMM_STATUS_OK);
            CHECK(memcmp(integers, back, (size_t)n * sizes[type]) == 0);
        }
}

static void report(const char *what) {
    fprintf(stderr, "%s\n", what);
}

int main(void) {
    skip_unless_supported();
    report_faults(report);
    for (int threads = 1; threads <= 3; threads += 2) {
        qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
        options.threads = threads;
        CHECK(qgemm_context_create(&options, &context) == QGEMM_STATUS_OK);
        struct seed seed = {(uint64_t)threads};
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int type = 0; type < 4; type++) {
                dequantized(&seed, &shapes[s], type);
                for (uint32_t rounding = 0; type < 3 && rounding <= QGEMM_QUANTIZE_DIVIDE_AWAY; rounding++)
                    quantized(&seed, &shapes[s], type, rounding);
                for (int to = 0; to < 3; to++)
                    for (uint32_t arithmetic = 0; arithmetic <= QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST; arithmetic++)
                        requantized(&seed, &shapes[s], type, to, arithmetic);
                extremes_and_choices(&seed, &shapes[s]);
            }
        dynamic_linear();
        there_and_back(&seed);
        qgemm_context_free(context);
    }
    printf("tensors are as defined\n");
    return 0;
}
