// qgemm_fully_connected against the reference kernel of TFLite, written anew from its definition, and its errors.

#include "check.h"
#include "random.h"

#include <math.h>
#include <string.h>

enum { MOST = 48, CALLS = 3000, ROOM = MOST * (MOST + 4) };

static uint8_t input[ROOM], weights[ROOM];
static union {
    uint8_t bytes[2 * ROOM];
    int16_t shorts[ROOM];
} output, before;
static int32_t bias[MOST], multipliers[MOST], exponents[MOST];

struct call {
    qgemm_layer layer;
    int64_t batch, input_stride, output_stride;
    const void *input;
    void *output;
};

static qgemm_status make(const struct call *c) {
    return qgemm_fully_connected(NULL, &c->layer, c->batch, c->input, c->input_stride, c->output, c->output_stride);
}

/* TFLite's arithmetic, with 64 bits where it has 32 and could overflow */

static int32_t confined(int64_t x) {
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

// x / 2^bits, rounded down.
static int64_t down(int64_t x, int bits) {
    int64_t unit = (int64_t)1 << bits;
    return x / unit - (x % unit < 0);
}

static int64_t up_at_ties(int64_t x, int bits) {
    return bits == 0 ? x : down(x + ((int64_t)1 << (bits - 1)), bits);
}

static int64_t away_at_ties(int64_t x, int bits) {
    return x < 0 ? -up_at_ties(-x, bits) : up_at_ties(x, bits);
}

static int64_t scaled(int32_t x, int32_t multiplier, int exponent, uint32_t rounding) {
    if (rounding == QGEMM_ROUND_ONCE)
        return confined(up_at_ties((int64_t)x * multiplier, 31 - exponent));
    int64_t left = exponent > 0 ? confined((int64_t)x * ((int64_t)1 << exponent)) : x;
    int64_t high = confined(up_at_ties(left * multiplier, 31));
    int right = exponent < 0 ? -exponent : 0;
    return rounding == QGEMM_ROUND_TWICE ? away_at_ties(high, right) : up_at_ties(high, right);
}

static int element(const void *from, uint32_t type, int64_t index) {
    return type == QGEMM_TYPE_U8 ? ((const uint8_t *)from)[index] : ((const int8_t *)from)[index];
}

static int64_t defined(const struct call *c, int64_t b, int64_t u) {
    const qgemm_layer *layer = &c->layer;
    int64_t sum = layer->bias == NULL ? 0 : layer->bias[u];
    int64_t input_stride = c->input_stride == 0 ? layer->depth : c->input_stride;
    int64_t weights_stride = layer->weights_stride == 0 ? layer->depth : layer->weights_stride;
    for (int64_t d = 0; d < layer->depth; d++)
        sum += (int64_t)(element(c->input, layer->input_type, b * input_stride + d) - layer->input_zero_point) *
               (element(weights, layer->weights_type, u * weights_stride + d) - layer->weights_zero_point);
    int64_t channel = layer->multiplier_count == 1 ? 0 : u;
    int32_t wrapped = (int32_t)(uint32_t)(uint64_t)sum;
    int64_t x = scaled(wrapped, layer->multipliers[channel], layer->exponents[channel], layer->rounding);
    x = (int32_t)(uint32_t)(uint64_t)(x + layer->output_zero_point);
    x = x < layer->output_min ? layer->output_min : x;
    return x > layer->output_max ? layer->output_max : x;
}

static int found(const struct call *c, int64_t at) {
    return c->layer.output_type == QGEMM_TYPE_S16 ? output.shorts[at] : element(output.bytes, c->layer.output_type, at);
}

static int found_before(const struct call *c, int64_t at) {
    return c->layer.output_type == QGEMM_TYPE_S16 ? before.shorts[at] : element(before.bytes, c->layer.output_type, at);
}

static void check(const struct call *c) {
    memcpy(&before, &output, sizeof output);
    qgemm_status status = make(c);
    if (status != QGEMM_STATUS_OK)
        fprintf(stderr, "%s\n", qgemm_last_error());
    CHECK(status == QGEMM_STATUS_OK);
    int64_t stride = c->output_stride == 0 ? c->layer.units : c->output_stride;
    for (int64_t at = 0; at < ROOM; at++) {
        int64_t b = at / stride, u = at % stride;
        int64_t want = b < c->batch && u < c->layer.units ? defined(c, b, u) : found_before(c, at);
        if (found(c, at) != want) {
            fprintf(stderr, "output(%d, %d) is %d, not %d: %dx%dx%d rounding %u types %u %u %u\n", (int)b, (int)u,
                    found(c, at), (int)want, (int)c->batch, (int)c->layer.units, (int)c->layer.depth,
                    (unsigned)c->layer.rounding, (unsigned)c->layer.input_type, (unsigned)c->layer.weights_type,
                    (unsigned)c->layer.output_type);
            exit(1);
        }
    }
}

static int any_zero_point(struct seed *seed, uint32_t type) {
    return one_in(seed, 3) ? 0 : below(seed, 256) - (type == QGEMM_TYPE_U8 ? 0 : 128);
}

static struct call random_call(struct seed *seed) {
    struct call c = {.layer = QGEMM_LAYER_INIT, .input = input, .output = &output};
    qgemm_layer *layer = &c.layer;
    layer->weights = weights;
    layer->units = 1 + below(seed, MOST - 1);
    layer->depth = below(seed, MOST);
    layer->weights_type = one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    layer->input_type = one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
    layer->output_type = QGEMM_TYPE_U8 + (uint32_t)below(seed, 3);
    layer->rounding = (uint32_t)below(seed, 3);
    layer->weights_stride = one_in(seed, 2) ? 0 : layer->depth + below(seed, 4);
    layer->weights_zero_point = any_zero_point(seed, layer->weights_type);
    layer->input_zero_point = any_zero_point(seed, layer->input_type);
    int least = layer->output_type == QGEMM_TYPE_U8 ? 0 : layer->output_type == QGEMM_TYPE_S8 ? -128 : -32768;
    int numbers = layer->output_type == QGEMM_TYPE_S16 ? 65536 : 256;
    layer->output_zero_point = least + below(seed, numbers);
    layer->output_min = one_in(seed, 2) ? least : least + below(seed, numbers / 2);
    layer->output_max = one_in(seed, 2) ? least + numbers - 1 : least + numbers / 2 + below(seed, numbers / 2);
    layer->bias = one_in(seed, 4) ? NULL : bias;
    layer->multipliers = multipliers;
    layer->exponents = exponents;
    layer->multiplier_count = one_in(seed, 2) ? 1 : layer->units;
    c.batch = below(seed, MOST);
    c.input_stride = one_in(seed, 2) ? 0 : layer->depth + below(seed, 4);
    c.output_stride = one_in(seed, 2) ? 0 : layer->units + below(seed, 4);
    for (int i = 0; i < ROOM; i++)
        input[i] = (uint8_t)next_u32(seed), weights[i] = (uint8_t)next_u32(seed);
    for (int i = 0; i < MOST; i++) {
        bias[i] = below(seed, 200000) - 100000;
        // Powers of two make ties.
        multipliers[i] = one_in(seed, 3) ? 1 << 30 : (1 << 30) + (int32_t)(next_u32(seed) >> 2);
        exponents[i] = one_in(seed, 12) ? below(seed, 62) - 31 : -below(seed, 14);
    }
    return c;
}

// The same with packed weights.
static void check_packed(const struct call *plain) {
    qgemm_operand operand = QGEMM_OPERAND_INIT;
    operand.data = plain->layer.weights;
    operand.rows = plain->layer.depth;
    operand.cols = plain->layer.units;
    operand.stride = plain->layer.weights_stride;
    operand.type = plain->layer.weights_type;
    operand.order = QGEMM_COL_MAJOR;
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS;
    options.other_type = plain->layer.input_type;
    qgemm_packed *packed;
    CHECK(qgemm_pack(&operand, &options, &packed) == QGEMM_STATUS_OK);
    struct call c = *plain;
    c.layer.weights = NULL;
    c.layer.packed = packed;
    check(&c);
    qgemm_packed_free(packed);
}

// One that is known: scales as in TFLite, the real results near the integers.
static void a_layer_from_scales(void) {
    const float scales[] = {0.02f, 0.5f, 0.001f};
    int32_t m[3], e[3], m1, e1;
    float s[3], s1;
    CHECK(qgemm_multipliers_from_scales(QGEMM_DERIVE_TFLITE, 0.05f, scales, 3, 0.1f, m, e, s) == QGEMM_STATUS_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE, 0.05f, scales[i], 0.1f, &m1, &e1, &s1) ==
              QGEMM_STATUS_OK);
        CHECK(m[i] == m1 && e[i] == e1 && s[i] == s1);
    }
    const int8_t x[] = {10, -20, 30, 40}, w[] = {1, 2, 3, 4, -5, 6, 7, 8, 100, 100, -100, 100};
    int8_t y[3];
    qgemm_layer layer = QGEMM_LAYER_INIT;
    layer.weights = w, layer.units = 3, layer.depth = 4;
    layer.weights_type = layer.input_type = layer.output_type = QGEMM_TYPE_S8;
    layer.input_zero_point = -5, layer.output_zero_point = 7;
    layer.output_min = -128, layer.output_max = 127;
    layer.multipliers = m, layer.exponents = e, layer.multiplier_count = 3;
    CHECK(qgemm_fully_connected(NULL, &layer, 1, x, 0, y, 0) == QGEMM_STATUS_OK);
    for (int u = 0; u < 3; u++) {
        double real = 0;
        for (int d = 0; d < 4; d++)
            real += 0.05 * (x[d] + 5) * (double)scales[u] * w[u * 4 + d];
        double want = real / 0.1 + 7;
        want = want > 127 ? 127 : want < -128 ? -128 : want;
        CHECK(fabs(y[u] - want) <= 0.51);
    }
    m[0] = 5;
    const float wrong[] = {0.02f, -1, 0.001f};
    CHECK(qgemm_multipliers_from_scales(QGEMM_DERIVE_TFLITE, 0.05f, wrong, 3, 0.1f, m, e, s) == QGEMM_STATUS_PARAMETER);
    CHECK(m[0] == 5);
    CHECK(qgemm_multipliers_from_scales(9, 0.05f, scales, 3, 0.1f, m, e, s) == QGEMM_STATUS_OPTION);
    CHECK(qgemm_multipliers_from_scales(0, 0.05f, scales, -1, 0.1f, m, e, s) == QGEMM_STATUS_SHAPE);
    CHECK(qgemm_multipliers_from_scales(0, 0.05f, NULL, 3, 0.1f, m, e, s) == QGEMM_STATUS_NULL_POINTER);
    CHECK(qgemm_multipliers_from_scales(0, 0.05f, NULL, 0, 0.1f, m, e, s) == QGEMM_STATUS_OK);
    CHECK(qgemm_multipliers_from_scales(0, 0.05f, scales, 3, 0.1f, NULL, NULL, NULL) == QGEMM_STATUS_OK);
}

static void fails(struct call c, qgemm_status status, const char *text) {
    memcpy(&before, &output, sizeof output);
    qgemm_status found = make(&c);
    if (found != status || strstr(qgemm_last_error(), text) == NULL) {
        fprintf(stderr, "status %d, \"%s\", instead of %d, \"%s\"\n", (int)found, qgemm_last_error(), (int)status, text);
        exit(1);
    }
    CHECK(memcmp(&before, &output, sizeof output) == 0);
}

#define FAILS(change, status, text) \
    do {                            \
        struct call c = right;      \
        c.change;                   \
        fails(c, status, text);     \
    } while (0)

static void errors(void) {
    struct call right = {.layer = QGEMM_LAYER_INIT, .batch = 3, .input = input, .output = &output};
    qgemm_layer *layer = &right.layer;
    layer->weights = weights, layer->units = 4, layer->depth = 5;
    layer->weights_type = QGEMM_TYPE_S8, layer->input_type = layer->output_type = QGEMM_TYPE_U8;
    layer->output_max = 255;
    layer->bias = bias, layer->multipliers = multipliers, layer->exponents = exponents, layer->multiplier_count = 4;
    memset(exponents, 0, sizeof exponents);
    check(&right);
    FAILS(layer.struct_size = 8, QGEMM_STATUS_STRUCT_SIZE, "layer->struct_size");
    FAILS(layer.reserved = 1, QGEMM_STATUS_OPTION, "layer->reserved");
    FAILS(layer.units = -1, QGEMM_STATUS_SHAPE, "layer->units is -1");
    FAILS(layer.depth = -1, QGEMM_STATUS_SHAPE, "layer->depth is -1");
    FAILS(batch = -1, QGEMM_STATUS_SHAPE, "batch is -1");
    FAILS(layer.weights = NULL, QGEMM_STATUS_NULL_POINTER, "layer->weights is null");
    FAILS(input = NULL, QGEMM_STATUS_NULL_POINTER, "input is null");
    FAILS(output = NULL, QGEMM_STATUS_NULL_POINTER, "output is null");
    FAILS(layer.weights_type = 3, QGEMM_STATUS_TYPE, "layer->weights_type is 3");
    FAILS(layer.input_type = 0, QGEMM_STATUS_TYPE, "layer->input_type is 0");
    FAILS(layer.output_type = QGEMM_TYPE_S32, QGEMM_STATUS_TYPE, "layer->output_type is 4");
    FAILS(layer.rounding = 3, QGEMM_STATUS_OPTION, "layer->rounding is 3");
    FAILS(layer.output_min = -1, QGEMM_STATUS_PARAMETER, "layer->output_min is -1");
    FAILS(layer.output_max = 256, QGEMM_STATUS_PARAMETER, "layer->output_max is 256");
    FAILS(layer.output_min = 255; c.layer.output_max = 254, QGEMM_STATUS_PARAMETER, "layer->output_max is 254");
    FAILS(layer.weights_stride = -1, QGEMM_STATUS_STRIDE, "stride is -1");
    FAILS(input_stride = -1, QGEMM_STATUS_STRIDE, "input_stride is -1");
    FAILS(output_stride = 3, QGEMM_STATUS_STRIDE, "output_stride is 3, but must be at least 4");
    FAILS(input_stride = INT64_MAX, QGEMM_STATUS_TOO_LARGE, "input reaches");
    FAILS(layer.multiplier_count = 2, QGEMM_STATUS_VECTOR_LENGTH, "layer->multipliers has 2");
    FAILS(layer.multipliers = NULL, QGEMM_STATUS_NULL_POINTER, "layer->multipliers is null");
    FAILS(layer.exponents = NULL, QGEMM_STATUS_NULL_POINTER, "layer->exponents is null");
    FAILS(layer.bias = (const int32_t *)((const char *)bias + 1), QGEMM_STATUS_ALIGNMENT, "layer->bias");
    FAILS(layer.output_type = QGEMM_TYPE_S16; c.output = output.bytes + 1, QGEMM_STATUS_ALIGNMENT, "output is not");
    FAILS(input = &output, QGEMM_STATUS_OVERLAP, "output overlaps input");
    FAILS(layer.weights = output.bytes + 11, QGEMM_STATUS_OVERLAP, "output overlaps layer->weights");
    FAILS(layer.bias = (const int32_t *)(const void *)(output.bytes + 8), QGEMM_STATUS_OVERLAP, "output overlaps");
    exponents[3] = 31;
    FAILS(batch = 3, QGEMM_STATUS_SHIFT_RANGE, "layer->exponents is 31");
    exponents[3] = 0;
    qgemm_operand operand = QGEMM_OPERAND_INIT;
    operand.data = weights, operand.rows = 5, operand.cols = 4, operand.order = QGEMM_COL_MAJOR;
    operand.type = QGEMM_TYPE_S8;
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_RHS;
    qgemm_packed *packed;
    CHECK(qgemm_pack(&operand, &options, &packed) == QGEMM_STATUS_OK);
    FAILS(layer.packed = packed, QGEMM_STATUS_OPTION, "layer->weights must be null");
    right.layer.weights = NULL;
    right.layer.packed = packed;
    right.layer.weights_type = 0;
    CHECK(make(&right) == QGEMM_STATUS_OK);
    FAILS(layer.units = 3, QGEMM_STATUS_SHAPE, "layer->units is 3");
    FAILS(layer.depth = 6, QGEMM_STATUS_SHAPE, "layer->depth is 6");
    FAILS(layer.weights_type = QGEMM_TYPE_U8, QGEMM_STATUS_TYPE, "layer->weights_type is 1");
    qgemm_packed_free(packed);
    options.side = QGEMM_LHS;
    CHECK(qgemm_pack(&operand, &options, &packed) == QGEMM_STATUS_OK);
    FAILS(layer.packed = packed, QGEMM_STATUS_PACKED_LAYOUT, "layer->packed was packed as the other side");
    qgemm_packed_free(packed);
    const float scales[] = {1, 1, 1, 1};
    options.side = QGEMM_RHS, options.group_size = 5, options.scales = scales;
    CHECK(qgemm_pack(&operand, &options, &packed) == QGEMM_STATUS_OK);
    FAILS(layer.packed = packed, QGEMM_STATUS_STAGE_ORDER, "layer->packed has groups");
    qgemm_packed_free(packed);
}

int main(void) {
    skip_unless_supported();
    struct seed seed = {1};
    for (int i = 0; i < CALLS; i++) {
        struct call c = random_call(&seed);
        check(&c);
        if (i % 4 == 0)
            check_packed(&c);
    }
    a_layer_from_scales();
    errors();
    printf("%d layers\n", CALLS);
    return 0;
}
