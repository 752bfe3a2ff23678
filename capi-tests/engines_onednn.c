// oneDNN's matrix products with attributes, as stages.

#include "check.h"
#include "engines.h"

#include <string.h>

enum { MOST_STAGES = 16, MOST_COLUMNS = 64, MOST_POSTS = 8 };

static const struct {
    const char *name;
    uint32_t function;
} functions[] = {
    {"relu", QGEMM_FUNCTION_RELU},           {"clip", QGEMM_FUNCTION_CLIP},
    {"tanh", QGEMM_FUNCTION_TANH},           {"logistic", QGEMM_FUNCTION_LOGISTIC},
    {"gelu_erf", QGEMM_FUNCTION_GELU_ERF},   {"gelu_tanh", QGEMM_FUNCTION_GELU_TANH},
    {"swish", QGEMM_FUNCTION_SWISH},         {"hardswish", QGEMM_FUNCTION_HARDSWISH},
    {"linear", QGEMM_FUNCTION_LINEAR},
};

struct stages {
    qgemm_stage list[MOST_STAGES];
    int count;
    float scales[MOST_COLUMNS];
};

static qgemm_stage *append(struct stages *stages, uint32_t kind) {
    CHECK(stages->count < MOST_STAGES);
    qgemm_stage *stage = &stages->list[stages->count++];
    memset(stage, 0, sizeof *stage);
    stage->kind = kind;
    return stage;
}

// One value, or one for each column.
static qgemm_f32_values values_of(const float *data, size_t count) {
    qgemm_f32_values values = {data, (int64_t)count, data[0], count == 1 ? QGEMM_UNIFORM : QGEMM_PER_COL};
    return values;
}

static int32_t zero_point(struct recorded_case *c, const char *name) {
    struct tensor zero = find_tensor(c, name);
    return zero.data == NULL ? 0 : ((const int32_t *)zero.data)[0];
}

// From sums to what they stand for.
static void append_scales(struct recorded_case *c, struct stages *stages) {
    struct tensor a = find_tensor(c, "a_scales"), b = find_tensor(c, "b_scales");
    size_t count = b.data == NULL ? 1 : b.count;
    CHECK(count <= MOST_COLUMNS && a.count <= 1);
    for (size_t i = 0; i < count; i++)
        stages->scales[i] = (a.data == NULL ? 1 : ((const float *)a.data)[0]) *
                            (b.data == NULL ? 1 : ((const float *)b.data)[i]);
    append(stages, QGEMM_STAGE_DEQUANTIZE)->u.dequantize.scale = values_of(stages->scales, count);
}

static void append_sum(struct stages *stages, const char *words, const qgemm_result *result) {
    char *end;
    qgemm_stage_residual_f32 *sum = &append(stages, QGEMM_STAGE_RESIDUAL_F32)->u.residual_f32;
    sum->data = result->data;
    sum->type = result->type;
    sum->scale = strtof(words, &end);
    sum->zero_point = (int32_t)strtol(end, NULL, 10);
}

static void append_binary(struct stages *stages, uint32_t operation, const char *axis, struct tensor operand) {
    qgemm_stage_binary_f32 *binary = &append(stages, QGEMM_STAGE_BINARY_F32)->u.binary_f32;
    binary->data = operand.data;
    binary->type = operand.type;
    binary->scale = 1;
    binary->operation = operation;
    binary->axis = strcmp(axis, "element") == 0 ? QGEMM_PER_ELEMENT : QGEMM_PER_COL;
}

static void append_eltwise(struct stages *stages, const char *name, const char *words) {
    char *end;
    qgemm_stage_activation_f32 *activation = &append(stages, QGEMM_STAGE_ACTIVATION_F32)->u.activation_f32;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            activation->function = functions[i].function;
    activation->alpha = strtof(words, &end);
    activation->beta = strtof(end, NULL);
}

static void append_posts(struct recorded_case *c, struct stages *stages, const qgemm_result *result) {
    for (int i = 0; i < MOST_POSTS; i++) {
        char name[32], post[16];
        int length;
        snprintf(name, sizeof name, "post%d", i);
        const char *words = find_text(c, name);
        if (words == NULL)
            return;
        CHECK(sscanf(words, "%15s %n", post, &length) == 1);
        snprintf(name, sizeof name, "operand%d", i);
        struct tensor operand = find_tensor(c, name);
        if (operand.data != NULL)
            append_binary(stages, strcmp(post, "add") == 0 ? QGEMM_BINARY_ADD : QGEMM_BINARY_MUL, words + length,
                          operand);
        else if (strcmp(post, "sum") == 0)
            append_sum(stages, words + length, result);
        else
            append_eltwise(stages, post, words + length);
    }
}

// From real numbers to the result's.
static void append_result(struct recorded_case *c, struct stages *stages, uint32_t type) {
    if (type == QGEMM_TYPE_F32 || type == QGEMM_TYPE_BF16)
        return;
    struct tensor scale = find_tensor(c, "c_scale");
    qgemm_stage_quantize_zero_first *quantize =
        &append(stages, QGEMM_STAGE_QUANTIZE_ZERO_FIRST)->u.quantize_zero_first;
    quantize->scale.value = scale.data == NULL ? 1 : 1 / ((const float *)scale.data)[0];
    quantize->zero_point = zero_point(c, "c_zero_point");
    if (type != QGEMM_TYPE_S32)
        append(stages, QGEMM_STAGE_CAST_SATURATING);
}

// Post-ops that oneDNN approximates.
static int has_a_curve(const struct recorded_case *c) {
    static const char *const curves[] = {"tanh", "logistic", "gelu", "swish"};
    for (int i = 0; i < MOST_POSTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "post%d", i);
        const char *words = find_text(c, name);
        for (size_t j = 0; words != NULL && j < sizeof curves / sizeof *curves; j++)
            if (strncmp(words, curves[j], strlen(curves[j])) == 0)
                return 1;
    }
    return 0;
}

static const char *kind_of(const struct recorded_case *c) {
    return has_a_curve(c) ? "curve" : find_text(c, "post0") != NULL ? "posts" : "plain";
}

void compare_with_onednn(struct recorded_case *c) {
    struct tensor a = tensor(c, "a"), b = tensor(c, "b"), expected = tensor(c, "c"), before = find_tensor(c, "before");
    struct tensor bias = find_tensor(c, "bias");
    void *found = room_for(expected);
    if (before.data != NULL)
        memcpy(found, before.data, before.count * size_of_type(before.type));
    qgemm_operand lhs = QGEMM_OPERAND_INIT, rhs = QGEMM_OPERAND_INIT;
    lhs.data = a.data;
    lhs.rows = integer(c, "m");
    lhs.cols = rhs.rows = integer(c, "k");
    lhs.type = a.type;
    lhs.offset.value = -zero_point(c, "a_zero_point");
    rhs.data = b.data;
    rhs.cols = integer(c, "n");
    rhs.type = b.type;
    rhs.offset.value = -zero_point(c, "b_zero_point");
    qgemm_result result = QGEMM_RESULT_INIT;
    result.data = found;
    result.rows = lhs.rows;
    result.cols = rhs.cols;
    result.type = expected.type;
    struct stages stages = {.count = 0};
    append_scales(c, &stages);
    if (bias.data != NULL)
        append(&stages, QGEMM_STAGE_BIAS_F32)->u.bias_f32.bias = values_of(bias.data, bias.count);
    append_posts(c, &stages, &result);
    append_result(c, &stages, expected.type);
    must(qgemm_gemm(NULL, &lhs, &rhs, &result, stages.list, stages.count, NULL));
    char name[64];
    snprintf(name, sizeof name, "onednn %s %s %s", text(c, "implementation"), kind_of(c), text(c, "c_type"));
    // In post-ops it makes a product and a sum one operation, so that the last bits of floats are others.
    int is_float = expected.type == QGEMM_TYPE_F32 || expected.type == QGEMM_TYPE_BF16;
    int is_rounded_otherwise = has_a_curve(c) || (find_text(c, "post0") != NULL && is_float);
    compare(c, name, is_rounded_otherwise ? WITHIN_A_UNIT : EQUAL, expected, found);
}
