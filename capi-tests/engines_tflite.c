// TFLite: its reference kernels, its optimized ones, and XNNPACK.
//
// Additions and requantizations round twice. Of fully connected layers, the reference kernels of ai-edge-litert round
// once and those of the older tflite-runtime twice; the optimized ones have ruy, which rounds twice, ties up; XNNPACK
// multiplies floats.

#include "check.h"
#include "engines.h"

#include <string.h>

enum { MOST_UNITS = 64 };

static int is_by(const struct recorded_case *c, const char *kernels) {
    return strcmp(text(c, "kernels"), kernels) == 0;
}

static void compare_named(const struct recorded_case *c, struct tensor expected, void *found) {
    char name[64];
    const char *package = find_text(c, "package");
    CHECK(snprintf(name, sizeof name, "%s %s %s", package == NULL ? "ai-edge-litert" : package, text(c, "kernels"),
                   c->operation) < (int)sizeof name);
    compare(c, name, EQUAL, expected, found);
}

static qgemm_channels all_of(struct tensor tensor) {
    qgemm_channels channels = {1, 1, (int64_t)tensor.count};
    return channels;
}

static void add(struct recorded_case *c) {
    static uint8_t pairs[2][65536];
    struct tensor a = find_tensor(c, "a"), b = find_tensor(c, "b"), sum = tensor(c, "c");
    if (a.data == NULL) {
        for (int i = 0; i < 65536; i++)
            pairs[0][i] = (uint8_t)(i >> 8), pairs[1][i] = (uint8_t)i;
        CHECK(sum.count == 65536);
        a.data = pairs[0];
        b.data = pairs[1];
    }
    qgemm_add_options options = QGEMM_ADD_OPTIONS_INIT;
    options.type = sum.type;
    options.mode = is_by(c, "xnnpack") ? QGEMM_ADD_XNNPACK : QGEMM_ADD_TFLITE;
    options.a_scale = (float)number(c, "a_scale");
    options.b_scale = (float)number(c, "b_scale");
    options.c_scale = (float)number(c, "c_scale");
    options.a_zero_point = integer(c, "a_zero_point");
    options.b_zero_point = integer(c, "b_zero_point");
    options.c_zero_point = integer(c, "c_zero_point");
    options.c_least = integer(c, "c_least");
    options.c_greatest = integer(c, "c_greatest");
    options.flags = strcmp(c->operation, "sub") == 0 ? QGEMM_ADD_SUBTRACT : 0;
    qgemm_add_parameters parameters;
    must(qgemm_add_prepare(&options, &parameters));
    void *found = room_for(sum);
    must(qgemm_add(NULL, &parameters, a.data, b.data, (int64_t)sum.count, found));
    compare_named(c, sum, found);
}

// By XNNPACK, which multiplies sums by floats.
static void fully_connected_f32(struct recorded_case *c, const qgemm_layer *layer, const float *scales, void *found) {
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = tensor(c, "x").data;
    lhs.rows = integer(c, "batch");
    lhs.cols = rhs.rows = layer->depth;
    lhs.type = layer->input_type;
    lhs.offset.value = -layer->input_zero_point;
    rhs.data = layer->weights;
    rhs.cols = layer->units;
    rhs.type = layer->weights_type;
    rhs.order = QGEMM_COL_MAJOR;
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = found;
    result.rows = lhs.rows;
    result.cols = rhs.cols;
    result.type = layer->output_type;
    qgemm_stage stages[4];
    memset(stages, 0, sizeof stages);
    stages[0].kind = QGEMM_STAGE_BIAS;
    stages[0].u.bias.bias.data = layer->bias;
    stages[0].u.bias.bias.len = layer->units;
    stages[0].u.bias.bias.axis = QGEMM_PER_COL;
    stages[1].kind = QGEMM_STAGE_SCALE_F32;
    stages[1].u.scale_f32.scale.data = scales;
    stages[1].u.scale_f32.scale.len = layer->multiplier_count;
    stages[1].u.scale_f32.scale.value = scales[0];
    stages[1].u.scale_f32.scale.axis = layer->multiplier_count == 1 ? QGEMM_UNIFORM : QGEMM_PER_COL;
    stages[1].u.scale_f32.offset_after = layer->output_zero_point;
    stages[2].kind = QGEMM_STAGE_CLAMP;
    stages[2].u.clamp.min = layer->output_min;
    stages[2].u.clamp.max = layer->output_max;
    stages[3].kind = QGEMM_STAGE_CAST_SATURATING;
    must(qgemm_gemm(NULL, &lhs, &rhs, &result, stages, 4, NULL));
}

static void fully_connected(struct recorded_case *c) {
    struct tensor weight_scales = tensor(c, "weight_scales"), weights = tensor(c, "weights"), y = tensor(c, "y");
    int32_t multipliers[MOST_UNITS], exponents[MOST_UNITS];
    float scales[MOST_UNITS];
    CHECK(weight_scales.count <= MOST_UNITS);
    qgemm_layer layer = QGEMM_LAYER_INIT;
    layer.weights = weights.data;
    layer.units = integer(c, "units");
    layer.depth = integer(c, "depth");
    layer.input_type = layer.weights_type = weights.type;
    layer.output_type = y.type;
    int is_older = strcmp(text(c, "package"), "tflite-runtime") == 0;
    layer.rounding = is_by(c, "builtin") ? QGEMM_ROUND_TWICE_UP : is_older ? QGEMM_ROUND_TWICE : QGEMM_ROUND_ONCE;
    layer.input_zero_point = integer(c, "x_zero_point");
    layer.weights_zero_point = integer(c, "weights_zero_point");
    layer.output_zero_point = integer(c, "y_zero_point");
    layer.output_min = integer(c, "y_least");
    layer.output_max = integer(c, "y_greatest");
    layer.bias = tensor(c, "bias").data;
    layer.multipliers = multipliers;
    layer.exponents = exponents;
    layer.multiplier_count = (int64_t)weight_scales.count;
    uint32_t derivation = weight_scales.count > 1 ? QGEMM_DERIVE_TFLITE : QGEMM_DERIVE_TFLITE_LEGACY;
    if (is_by(c, "xnnpack"))
        derivation = QGEMM_DERIVE_XNNPACK;
    must(qgemm_multipliers_from_scales(derivation, (float)number(c, "x_scale"), weight_scales.data,
                                       layer.multiplier_count, (float)number(c, "y_scale"), multipliers, exponents,
                                       scales));
    void *found = room_for(y);
    if (is_by(c, "xnnpack"))
        fully_connected_f32(c, &layer, scales, found);
    else
        must(qgemm_fully_connected(NULL, &layer, integer(c, "batch"), tensor(c, "x").data, 0, found, 0));
    compare_named(c, y, found);
}

static void quantize(struct recorded_case *c) {
    struct tensor x = tensor(c, "x"), y = tensor(c, "y");
    float scale = (float)number(c, "scale");
    int32_t zero_point = integer(c, "zero_point");
    int is_dequantize = strcmp(c->operation, "dequantize") == 0;
    qgemm_quantization quantization = QGEMM_QUANTIZATION_INIT;
    quantization.type = is_dequantize ? x.type : y.type;
    quantization.rounding = QGEMM_QUANTIZE_DIVIDE_AWAY;
    quantization.scales = &scale;
    quantization.zero_points = &zero_point;
    const qgemm_channels channels = all_of(x);
    void *found = room_for(y);
    if (is_dequantize)
        must(qgemm_dequantize(NULL, x.data, found, &channels, &quantization));
    else
        must(qgemm_quantize_f32(NULL, x.data, found, &channels, &quantization));
    compare_named(c, y, found);
}

static void requantize(struct recorded_case *c) {
    struct tensor x = tensor(c, "x"), y = tensor(c, "y");
    int32_t multiplier, exponent, from = integer(c, "x_zero_point"), to = integer(c, "y_zero_point");
    must(qgemm_multiplier_from_scales(QGEMM_DERIVE_TFLITE, (float)number(c, "x_scale"), 1, (float)number(c, "y_scale"),
                                      &multiplier, &exponent, NULL));
    qgemm_requantization requantization = QGEMM_REQUANTIZATION_INIT;
    requantization.from_type = x.type;
    requantization.to_type = y.type;
    requantization.arithmetic = QGEMM_REQUANTIZE_TWICE;
    requantization.from_zero_points = &from;
    requantization.to_zero_points = &to;
    requantization.multipliers = &multiplier;
    requantization.exponents = &exponent;
    const qgemm_channels channels = all_of(x);
    void *found = room_for(y);
    must(qgemm_requantize(NULL, x.data, found, &channels, &requantization));
    compare_named(c, y, found);
}

void compare_with_tflite(struct recorded_case *c) {
    if (strcmp(c->operation, "add") == 0 || strcmp(c->operation, "sub") == 0)
        add(c);
    else if (strcmp(c->operation, "fully_connected") == 0)
        fully_connected(c);
    else if (strcmp(c->operation, "requantize") == 0)
        requantize(c);
    else
        quantize(c);
}
