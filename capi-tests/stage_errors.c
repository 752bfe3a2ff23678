// Every wrong stage of qgemm_gemm: the status, an error that names the stage and what was expected, and a result that
// stays as it was.

#include "check.h"
#include "faultless.h"

#include <math.h>
#include <string.h>

static void unknown_stages(void) {
    const uint32_t kinds[] = {0, LAST_KIND + 1, 255, UINT32_MAX};
    const char *texts[] = {"stages[1]: kind is 0", "stages[1]: kind is 21", "stages[1]: kind is 255",
                           "stages[1]: kind is 4294967295"};
    for (int i = 0; i < 4; i++) {
        struct call c = call_with(QGEMM_STAGE_BIAS);
        c.stages[1].kind = kinds[i];
        fails(&c, QGEMM_STATUS_OPTION, texts[i], "does not know");
    }
}

static void reserved_fields(void) {
    for (uint32_t kind = QGEMM_STAGE_BIAS; kind <= LAST_KIND; kind++) {
        struct call c = call_with(kind);
        c.stages[1].reserved = 1;
        fails(&c, QGEMM_STATUS_OPTION, "stages[1]: reserved", "must be 0");
        c.stages[1].reserved = UINT32_MAX;
        fails(&c, QGEMM_STATUS_OPTION, "stages[1]: reserved", "must be 0");
    }
}

// What the kinds before it give decides whether a stage may follow.
static void orders_of_stages(void) {
    for (uint32_t before = QGEMM_STAGE_BIAS; before <= LAST_KIND; before++)
        for (uint32_t kind = QGEMM_STAGE_BIAS; kind <= LAST_KIND; kind++) {
            struct call c = call_with(before);
            add_stage(&c, kind);
            c.result.type = is_cast(kind) ? QGEMM_TYPE_S16 : gives_floats(kind) ? QGEMM_TYPE_F32 : QGEMM_TYPE_S32;
            if (is_cast(before))
                fails(&c, QGEMM_STATUS_STAGE_ORDER, "stages[2]:", "after a cast");
            else if (gives_floats(before) && !takes_floats(kind))
                fails(&c, QGEMM_STATUS_STAGE_ORDER, "stages[2]:", "takes integers, but the one before it gives floats");
            else if (!gives_floats(before) && takes_floats(kind))
                fails(&c, QGEMM_STATUS_STAGE_ORDER, "stages[2]:", "takes floats, but the one before it gives integers");
            else
                CHECK(make(&c) == QGEMM_STATUS_OK);
        }
    for (uint32_t kind = QGEMM_STAGE_BIAS; kind <= LAST_KIND; kind++) {
        if (!takes_floats(kind))
            continue;
        struct call c = sums();
        add_stage(&c, kind);
        fails(&c, QGEMM_STATUS_STAGE_ORDER, "stages[0]:", "takes floats");
    }
}

// What the last stage gives has to be the result's type.
static void types_of_results(void) {
    for (uint32_t kind = 0; kind <= LAST_KIND; kind++)
        for (uint32_t type = QGEMM_TYPE_U8; type <= QGEMM_TYPE_F16; type++) {
            struct call c = kind == 0 ? sums() : call_with(kind);
            c.result.type = type;
            int is_narrow = type <= QGEMM_TYPE_S16, wants_float = is_float_type(type);
            if (is_narrow && !is_cast(kind))
                fails(&c, QGEMM_STATUS_STAGE_ORDER, "the result has 8 or 16 bits", "cast");
            else if (wants_float && !gives_floats(kind))
                fails(&c, QGEMM_STATUS_STAGE_ORDER, "the result is of floats", "integers");
            else if (!is_narrow && is_cast(kind))
                fails(&c, QGEMM_STATUS_STAGE_ORDER, "the result has 32 bits", "no cast");
            else if (!wants_float && gives_floats(kind))
                fails(&c, QGEMM_STATUS_STAGE_ORDER, "the result is of integers", "floats");
            else
                CHECK(make(&c) == QGEMM_STATUS_OK);
        }
}

/* Values for rows and columns */

static int32_t *const vector = memory.integers + VECTORS / 4;

static void value_fails(const struct call *c, const struct values *values, qgemm_status status, const char *why) {
    char name[64];
    snprintf(name, sizeof name, "stages[1]: %s", values->name);
    fails(c, status, name, why);
}

// Given for each row or column, too few, none, or nowhere.
static void check_vector(const struct values *values, uint32_t axis) {
    int count = axis == QGEMM_PER_ROW ? M : N;
    struct call c = call_with(values->kind);
    qgemm_i32_values right = {vector, count, 0, axis}, given = right;
    put(&c, values, given);
    works(&c);
    given.len = INT64_MAX;
    put(&c, values, given);
    works(&c);
    const int64_t lens[] = {count - 1, 0, -1, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        given.len = lens[i];
        put(&c, values, given);
        value_fails(&c, values, QGEMM_STATUS_VECTOR_LENGTH, count == M ? "at least 5" : "at least 7");
    }
    given = right;
    given.data = NULL;
    put(&c, values, given);
    value_fails(&c, values, QGEMM_STATUS_NULL_POINTER, "null");
    for (int shift = 1; shift < 4; shift++) {
        given.data = (const void *)((const char *)vector + shift);
        put(&c, values, given);
        value_fails(&c, values, QGEMM_STATUS_ALIGNMENT, "multiple of 4");
    }
}

static void check_axes(const struct values *values) {
    struct call c = call_with(values->kind);
    const qgemm_i32_values unknown = {vector, N, values->right, 3}, large = {vector, N, values->right, UINT32_MAX};
    put(&c, values, unknown);
    value_fails(&c, values, QGEMM_STATUS_OPTION, "3");
    put(&c, values, large);
    value_fails(&c, values, QGEMM_STATUS_OPTION, "4294967295");
}

// For all, or for one row or column only.
static void check_wrong_values(const struct values *values) {
    for (int i = 0; values->wrong != NULL && i < 4; i++) {
        struct call c = call_with(values->kind);
        qgemm_i32_values given = {NULL, 0, values->wrong[i], QGEMM_UNIFORM};
        put(&c, values, given);
        value_fails(&c, values, values->status, values->why);
        for (uint32_t axis = QGEMM_PER_ROW; axis <= QGEMM_PER_COL; axis++)
            for (int at = 0; at <= N; at++) {
                qgemm_i32_values vector_given = {vector, N + 1, 0, axis};
                put(&c, values, vector_given);
                vector[at] = values->wrong[i];
                // Beyond the last row or column nobody looks.
                if (at < (axis == QGEMM_PER_ROW ? M : N))
                    value_fails(&c, values, values->status, values->why);
                else
                    works(&c);
                vector[at] = values->right;
            }
    }
}

static void parameters_of_several_values(void) {
    for (int i = 0; i < VALUES; i++) {
        for (int j = 0; j <= N; j++)
            vector[j] = all_values[i].right;
        check_vector(&all_values[i], QGEMM_PER_ROW);
        check_vector(&all_values[i], QGEMM_PER_COL);
        check_axes(&all_values[i]);
        check_wrong_values(&all_values[i]);
    }
}

// What is read as rows and columns does not depend on the order in which the result lies.
static void lengths_of_column_major_results(void) {
    struct call c = call_with(QGEMM_STAGE_BIAS);
    c.result.order = QGEMM_COL_MAJOR;
    qgemm_i32_values per_row = {vector, M, 0, QGEMM_PER_ROW}, per_col = {vector, M, 0, QGEMM_PER_COL};
    c.stages[1].u.bias.bias = per_row;
    works(&c);
    c.stages[1].u.bias.bias = per_col;
    fails(&c, QGEMM_STATUS_VECTOR_LENGTH, "stages[1]: u.bias.bias has 5 values", "at least 7");
}

/* Other parameters */

static void roundings(void) {
    struct call scale = call_with(QGEMM_STAGE_SCALE), residual = call_with(QGEMM_STAGE_RESIDUAL);
    for (uint32_t rounding = QGEMM_ROUND_TWICE; rounding <= QGEMM_ROUND_ONCE; rounding++) {
        scale.stages[1].u.scale.rounding = residual.stages[1].u.residual.rounding = rounding;
        works(&scale);
        works(&residual);
    }
    scale.stages[1].u.scale.rounding = residual.stages[1].u.residual.rounding = 3;
    fails(&scale, QGEMM_STATUS_OPTION, "stages[1]: u.scale.rounding is 3", "does not know");
    fails(&residual, QGEMM_STATUS_OPTION, "stages[1]: u.residual.rounding is 3", "does not know");
    scale.stages[1].u.scale.rounding = residual.stages[1].u.residual.rounding = UINT32_MAX;
    fails(&scale, QGEMM_STATUS_OPTION, "stages[1]: u.scale.rounding is 4294967295", "does not know");
    fails(&residual, QGEMM_STATUS_OPTION, "stages[1]: u.residual.rounding is 4294967295", "does not know");
}

// Eight amplitudes either way have to fit 32 bits.
static void amplitudes_of_tanh(void) {
    const int32_t right[][2] = {{0, 0}, {0, (1 << 28) - 1}, {INT32_MIN, 0}, {INT32_MAX, 0}, {-8, (1 << 28) - 1}};
    const int32_t wrong[][2] = {{0, -1},          {0, INT32_MIN},       {0, 1 << 28},          {0, INT32_MAX},
                                {INT32_MAX, 1},   {INT32_MIN, 1},       {8, (1 << 28) - 1},    {-9, (1 << 28) - 1},
                                {1 << 30, 1 << 27}};
    struct call c = call_with(QGEMM_STAGE_TANH);
    for (int i = 0; i < 5; i++) {
        c.stages[1].u.tanh.zero = right[i][0];
        c.stages[1].u.tanh.amplitude = right[i][1];
        CHECK(make(&c) == QGEMM_STATUS_OK);
    }
    for (int i = 0; i < 9; i++) {
        c.stages[1].u.tanh.zero = wrong[i][0];
        c.stages[1].u.tanh.amplitude = wrong[i][1];
        fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.tanh.amplitude", "at least 0");
    }
}

static void amplitudes_of_logistic(void) {
    const qgemm_stage_logistic right[] = {
        {0, 1, 0, 0}, {0, 1, 0, INT32_MAX}, {INT32_MIN, (1 << 26) - 1, INT32_MIN, INT32_MAX}, {0, 1, INT32_MAX, 0}};
    const qgemm_stage_logistic wrong[] = {{0, 0, 0, 255},        {0, -1, 0, 255},        {0, INT32_MIN, 0, 255},
                                          {0, 1, 0, -1},         {0, 1, 0, INT32_MIN},   {0, 1, 1, INT32_MAX},
                                          {0, 1, INT32_MAX, 1},  {0, 1 << 26, 0, 255},   {0, INT32_MAX, 0, 255}};
    struct call c = call_with(QGEMM_STAGE_LOGISTIC);
    for (int i = 0; i < 4; i++) {
        c.stages[1].u.logistic = right[i];
        CHECK(make(&c) == QGEMM_STATUS_OK);
    }
    for (int i = 0; i < 9; i++) {
        c.stages[1].u.logistic = wrong[i];
        fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.logistic", "fit 32 bits");
    }
}

static void bounds_of_floats(void) {
    struct call c = call_with(QGEMM_STAGE_CLAMP_F32);
    qgemm_stage_clamp_f32 *clamp = &c.stages[1].u.clamp_f32;
    clamp->min = -(float)INFINITY;
    clamp->max = (float)INFINITY;
    works(&c);
    clamp->min = (float)INFINITY;
    clamp->max = -(float)INFINITY;
    works(&c);
    clamp->min = (float)NAN;
    fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.clamp_f32.min is NaN", "a number");
    clamp->min = 0;
    clamp->max = -(float)NAN;
    fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.clamp_f32.max is NaN", "a number");
}

/* Residuals */

static void exponents_of_residuals(void) {
    const int32_t right[] = {-31, 30}, wrong[] = {-32, 31, INT32_MIN, INT32_MAX};
    struct call c = call_with(QGEMM_STAGE_RESIDUAL);
    for (int i = 0; i < 2; i++) {
        c.stages[1].u.residual.exponent = right[i];
        works(&c);
    }
    for (int i = 0; i < 4; i++) {
        c.stages[1].u.residual.exponent = wrong[i];
        fails(&c, QGEMM_STATUS_SHIFT_RANGE, "stages[1]: u.residual.exponent", "-31 to 30");
    }
}

static void scales_of_residuals(void) {
    const float wrong[] = {(float)NAN, (float)INFINITY, -(float)INFINITY};
    struct call c = call_with(QGEMM_STAGE_RESIDUAL_F32);
    for (int i = 0; i < 3; i++) {
        c.stages[1].u.residual_f32.scale = wrong[i];
        fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.residual_f32.scale", "finite");
    }
    c = call_with(QGEMM_STAGE_RESIDUAL_F32);
    c.stages[1].u.residual_f32.type = QGEMM_TYPE_F32;
    works(&c);
    c.stages[1].u.residual_f32.zero_point = -1;
    fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.residual_f32.zero_point is -1", "0 for floats");
}

static void types_of_residuals(void) {
    for (uint32_t type = QGEMM_TYPE_U8; type <= QGEMM_TYPE_F16; type++) {
        struct call c = call_with(QGEMM_STAGE_RESIDUAL), d = call_with(QGEMM_STAGE_RESIDUAL_F32);
        c.stages[1].u.residual.type = d.stages[1].u.residual_f32.type = type;
        if (is_float_type(type))
            fails(&c, QGEMM_STATUS_TYPE, "stages[1]: u.residual.type", "but must be QGEMM_TYPE_U8, _S8, _S16 or _S32");
        else
            works(&c);
        works(&d);
    }
    struct call c = call_with(QGEMM_STAGE_RESIDUAL), d = call_with(QGEMM_STAGE_RESIDUAL_F32);
    c.stages[1].u.residual.type = d.stages[1].u.residual_f32.type = 0;
    fails(&c, QGEMM_STATUS_TYPE, "stages[1]:", "type is 0");
    fails(&d, QGEMM_STATUS_TYPE, "stages[1]:", "type is 0");
    c.stages[1].u.residual.type = d.stages[1].u.residual_f32.type = 8;
    fails(&c, QGEMM_STATUS_TYPE, "stages[1]:", "type is 8");
    fails(&d, QGEMM_STATUS_TYPE, "stages[1]:", "type is 8");
}

// Both kinds of residuals have the same fields in the same places, as far as they say where the elements are.
static void places_of_residuals(void) {
    for (int is_float = 0; is_float < 2; is_float++) {
        struct call right = call_with(is_float ? QGEMM_STAGE_RESIDUAL_F32 : QGEMM_STAGE_RESIDUAL), c = right;
        CHECK(offsetof(qgemm_stage_residual, order) == offsetof(qgemm_stage_residual_f32, order));
        qgemm_stage_residual *r = &c.stages[1].u.residual;
        r->order = 2;
        fails(&c, QGEMM_STATUS_OPTION, "stages[1]:", "order is 2");
        c = right;
        r->stride = -1;
        fails(&c, QGEMM_STATUS_STRIDE, "stages[1]:", "stride is -1");
        c = right;
        r->stride = INT64_MAX;
        fails(&c, QGEMM_STATUS_TOO_LARGE, "stages[1]:", "data reaches beyond the address space");
        c = right;
        r->data = NULL;
        fails(&c, QGEMM_STATUS_NULL_POINTER, "stages[1]:", "data is null");
        c = right;
        r->data = (const char *)r->data + 1;
        fails(&c, QGEMM_STATUS_ALIGNMENT, "stages[1]:", "multiple of 2");
        r->type = QGEMM_TYPE_S32;
        fails(&c, QGEMM_STATUS_ALIGNMENT, "stages[1]:", "multiple of 4");
        r->type = QGEMM_TYPE_U8;
        works(&c);
        // Rows of a residual may overlap.
        r->stride = 1;
        works(&c);
        r->stride = 0;
        works(&c);
    }
}

/* Later kinds */

static void activations(void) {
    const uint32_t unknown[] = {0, QGEMM_FUNCTION_CLIP + 1, UINT32_MAX};
    struct call c = call_with(QGEMM_STAGE_ACTIVATION_F32);
    qgemm_stage_activation_f32 *stage = &c.stages[1].u.activation_f32;
    for (int i = 0; i < 3; i++) {
        stage->function = unknown[i];
        fails(&c, QGEMM_STATUS_OPTION, "stages[1]: u.activation_f32.function", "does not know");
    }
    const float wrong[] = {(float)NAN, (float)INFINITY, -(float)INFINITY};
    const uint32_t with_alpha[] = {QGEMM_FUNCTION_RELU,        QGEMM_FUNCTION_SWISH,  QGEMM_FUNCTION_ELU,
                                   QGEMM_FUNCTION_HARDSIGMOID, QGEMM_FUNCTION_LINEAR, QGEMM_FUNCTION_HARDSWISH};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 3; j++) {
            stage->function = with_alpha[i];
            stage->alpha = wrong[j];
            stage->beta = 0;
            fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.activation_f32.alpha", "finite");
            stage->alpha = 0;
            stage->beta = wrong[j];
            if (i < 3)
                CHECK(make(&c) == QGEMM_STATUS_OK);
            else
                fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.activation_f32.beta", "finite");
        }
    // Of the others they do not matter.
    stage->function = QGEMM_FUNCTION_TANH;
    stage->alpha = stage->beta = (float)NAN;
    CHECK(make(&c) == QGEMM_STATUS_OK);
    stage->function = QGEMM_FUNCTION_CLIP;
    fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.activation_f32.alpha is NaN", "a number");
    stage->alpha = -(float)INFINITY;
    fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.activation_f32.beta is NaN", "a number");
    stage->beta = (float)INFINITY;
    works(&c);
}

static void binary_operations(void) {
    struct call right = call_with(QGEMM_STAGE_BINARY_F32), c = right;
    qgemm_stage_binary_f32 *stage = &c.stages[1].u.binary_f32;
    for (uint32_t operation = QGEMM_BINARY_ADD; operation <= QGEMM_BINARY_MAX; operation++)
        for (uint32_t axis = QGEMM_UNIFORM; axis <= QGEMM_PER_ELEMENT; axis++)
            for (uint32_t type = QGEMM_TYPE_U8; type <= QGEMM_TYPE_F16; type++) {
                stage->operation = operation, stage->axis = axis, stage->type = type;
                works(&c);
            }
    c = right;
    stage->operation = 0;
    fails(&c, QGEMM_STATUS_OPTION, "stages[1]: u.binary_f32.operation is 0", "does not know");
    stage->operation = QGEMM_BINARY_MAX + 1;
    fails(&c, QGEMM_STATUS_OPTION, "stages[1]: u.binary_f32.operation is 7", "does not know");
    c = right;
    stage->axis = QGEMM_PER_ELEMENT + 1;
    fails(&c, QGEMM_STATUS_OPTION, "stages[1]: u.binary_f32.axis is 4", "does not know");
    c = right;
    stage->type = 8;
    fails(&c, QGEMM_STATUS_TYPE, "stages[1]: type is 8", "_F16");
    c = right;
    stage->scale = (float)NAN;
    fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.binary_f32.scale is NaN", "finite");
    c = right;
    stage->type = QGEMM_TYPE_BF16;
    stage->zero_point = 1;
    fails(&c, QGEMM_STATUS_PARAMETER, "stages[1]: u.binary_f32.zero_point is 1", "0 for floats");
    for (uint32_t axis = QGEMM_UNIFORM; axis <= QGEMM_PER_ELEMENT; axis++) {
        c = right;
        stage->axis = axis;
        stage->data = NULL;
        fails(&c, QGEMM_STATUS_NULL_POINTER, "stages[1]:", "data is null");
        stage->data = memory.bytes + RESIDUAL + 1;
        fails(&c, QGEMM_STATUS_ALIGNMENT, "stages[1]:", "multiple of 2");
        // The result may not be written over what is read again.
        stage->data = memory.bytes + RESULT;
        if (axis != QGEMM_PER_ELEMENT)
            fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps", "residual");
    }
}

static void tables(void) {
    struct call right = call_with(QGEMM_STAGE_TABLE), c = right;
    qgemm_stage_table *stage = &c.stages[1].u.table;
    for (uint32_t from = QGEMM_TYPE_U8; from <= QGEMM_TYPE_S8; from++)
        for (uint32_t to = QGEMM_TYPE_U8; to <= QGEMM_TYPE_S8; to++) {
            stage->from_type = from, stage->to_type = to;
            works(&c);
        }
    c = right;
    stage->entries = NULL;
    fails(&c, QGEMM_STATUS_NULL_POINTER, "stages[1]: u.table.entries is null", "");
    c = right;
    stage->from_type = QGEMM_TYPE_S16;
    fails(&c, QGEMM_STATUS_TYPE, "stages[1]: u.table.from_type is 3", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    c = right;
    stage->to_type = 0;
    fails(&c, QGEMM_STATUS_TYPE, "stages[1]: u.table.to_type is 0", "QGEMM_TYPE_U8 or QGEMM_TYPE_S8");
    c = right;
    stage->entries = memory.bytes + RESULT - 255;
    fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps", "parameter");
    stage->entries = memory.bytes + RESULT - 256;
    works(&c);
}

int main(void) {
    skip_unless_supported();
    unknown_stages();
    reserved_fields();
    orders_of_stages();
    types_of_results();
    parameters_of_several_values();
    lengths_of_column_major_results();
    roundings();
    amplitudes_of_tanh();
    amplitudes_of_logistic();
    bounds_of_floats();
    exponents_of_residuals();
    scales_of_residuals();
    types_of_residuals();
    places_of_residuals();
    activations();
    binary_operations();
    tables();
    return 0;
}
