// ONNX Runtime's processor kernels.

#include "check.h"
#include "engines.h"

#include <string.h>

static void compare_named(const struct recorded_case *c, enum agreement agreement, struct tensor expected,
                          void *found) {
    char name[64];
    CHECK(snprintf(name, sizeof name, "onnxruntime %s", c->operation) < (int)sizeof name);
    compare(c, name, agreement, expected, found);
}

static void quantize(struct recorded_case *c) {
    struct tensor x = tensor(c, "x"), y = tensor(c, "y");
    int is_dequantize = strcmp(c->operation, "dequantize") == 0;
    qgemm_quantization quantization = QGEMM_QUANTIZATION_INIT;
    quantization.type = is_dequantize ? x.type : y.type;
    quantization.rounding = QGEMM_QUANTIZE_DIVIDE;
    quantization.scales = tensor(c, "scales").data;
    quantization.zero_points = tensor(c, "zero_points").data;
    const qgemm_channels channels = {integer(c, "outer"), integer(c, "channels"), integer(c, "inner")};
    CHECK((int64_t)x.count == channels.outer * channels.channels * channels.inner);
    void *found = room_for(y);
    if (is_dequantize)
        must(qgemm_dequantize(NULL, x.data, found, &channels, &quantization));
    else
        must(qgemm_quantize_f32(NULL, x.data, found, &channels, &quantization));
    compare_named(c, EQUAL, y, found);
}

static void dynamic_quantize(struct recorded_case *c) {
    struct tensor x = tensor(c, "x"), y = tensor(c, "y");
    const qgemm_channels channels = {1, 1, (int64_t)x.count};
    float scale;
    int32_t zero_point;
    must(qgemm_choose_quantization_of(NULL, x.data, &channels, QGEMM_SCHEME_DYNAMIC_LINEAR, QGEMM_TYPE_U8, 0, 0, &scale,
                                      &zero_point));
    CHECK(scale == (float)number(c, "scale"));
    CHECK(zero_point == integer(c, "zero_point"));
    qgemm_quantization quantization = QGEMM_QUANTIZATION_INIT;
    quantization.type = y.type;
    quantization.rounding = QGEMM_QUANTIZE_DIVIDE;
    quantization.scales = &scale;
    quantization.zero_points = &zero_point;
    void *found = room_for(y);
    must(qgemm_quantize_f32(NULL, x.data, found, &channels, &quantization));
    compare_named(c, EQUAL, y, found);
}

// Its order of operations is not documented, and is another one for each kind of processor.
static void add(struct recorded_case *c) {
    struct tensor sum = tensor(c, "c");
    qgemm_add_options options = QGEMM_ADD_OPTIONS_INIT;
    options.type = sum.type;
    options.mode = QGEMM_ADD_F32;
    options.a_scale = (float)number(c, "a_scale");
    options.b_scale = (float)number(c, "b_scale");
    options.c_scale = (float)number(c, "c_scale");
    options.a_zero_point = integer(c, "a_zero_point");
    options.b_zero_point = integer(c, "b_zero_point");
    options.c_zero_point = integer(c, "c_zero_point");
    qgemm_add_parameters parameters;
    must(qgemm_add_prepare(&options, &parameters));
    void *found = room_for(sum);
    must(qgemm_add(NULL, &parameters, tensor(c, "a").data, tensor(c, "b").data, (int64_t)sum.count, found));
    compare_named(c, WITHIN_A_UNIT, sum, found);
}

static void multiply(struct recorded_case *c) {
    enum { MOST_COLUMNS = 64 };
    struct tensor a = tensor(c, "a"), b = tensor(c, "b"), result = tensor(c, "c"), b_scales = tensor(c, "b_scales");
    float scales[MOST_COLUMNS];
    CHECK(b_scales.count <= MOST_COLUMNS);
    must(qgemm_multipliers_from_scales(QGEMM_DERIVE_XNNPACK, (float)number(c, "a_scale"), b_scales.data,
                                       (int64_t)b_scales.count, (float)number(c, "c_scale"), NULL, NULL, scales));
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = a.data;
    lhs.rows = integer(c, "m");
    lhs.cols = rhs.rows = integer(c, "k");
    lhs.type = a.type;
    lhs.offset.value = -integer(c, "a_zero_point");
    rhs.data = b.data;
    rhs.cols = integer(c, "n");
    rhs.type = b.type;
    rhs.offset.value = -integer(c, "b_zero_point");
    void *found = room_for(result);
    qgemm_result description = QGEMM_RESULT_INIT;
    description.data = found;
    description.rows = lhs.rows;
    description.cols = rhs.cols;
    description.type = result.type;
    qgemm_stage stages[2];
    memset(stages, 0, sizeof stages);
    stages[0].kind = QGEMM_STAGE_SCALE_F32;
    stages[0].u.scale_f32.scale.data = scales;
    stages[0].u.scale_f32.scale.len = (int64_t)b_scales.count;
    stages[0].u.scale_f32.scale.value = scales[0];
    stages[0].u.scale_f32.scale.axis = b_scales.count == 1 ? QGEMM_UNIFORM : QGEMM_PER_COL;
    stages[0].u.scale_f32.offset_after = integer(c, "c_zero_point");
    stages[1].kind = QGEMM_STAGE_CAST_SATURATING;
    must(qgemm_gemm(NULL, &lhs, &rhs, &description, stages, 2, NULL));
    compare_named(c, EQUAL, result, found);
}

void compare_with_onnxruntime(struct recorded_case *c) {
    if (strcmp(c->operation, "add") == 0)
        add(c);
    else if (strcmp(c->operation, "matmul") == 0)
        multiply(c);
    else if (strcmp(c->operation, "dynamic_quantize") == 0)
        dynamic_quantize(c);
    else
        quantize(c);
}
