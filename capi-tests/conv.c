// Random convolutions against their definition, seven loops and a pipeline, where whatever they read or write begins
// right behind or ends right before inaccessible memory.
//
// Usage: conv [FIRST [COUNT]] to make only these calls.

#include "check.h"
#include "pipeline.h"
#include "plot.h"
#include "random.h"

#include <string.h>

enum { CALLS = 1500, MOST_STAGES = 5, MOST_INPUTS = 8 };

struct convolution {
    uint64_t number;
    struct seed seed;
    qgemm_conv_desc desc;
    qgemm_conv_images images;
    int64_t height, width, positions;
    qgemm_operand image, weights;
    qgemm_result result;
    qgemm_stage stages[MOST_STAGES];
    size_t stage_count;
    struct plot result_plot, inputs[MOST_INPUTS];
    int input_count;
};

static const struct convolution *under_way;

static void print_convolution(FILE *to, const struct convolution *c) {
    const qgemm_conv_desc *d = &c->desc;
    fprintf(to, "convolution %llu: %d images of %d x %d x %d, filter %d x %d, strides %d and %d, "
                "dilations %d and %d, padding %d %d %d %d, ",
            (unsigned long long)c->number, (int)c->images.batch, (int)c->images.height, (int)c->images.width,
            (int)d->input_channels, (int)d->filter_height, (int)d->filter_width, (int)d->stride_height,
            (int)d->stride_width,
            (int)d->dilation_height, (int)d->dilation_width, (int)d->pad_top, (int)d->pad_left, (int)d->pad_bottom,
            (int)d->pad_right);
    fprintf(to, "%d groups, %d channels, types %u %u %u, offset %d, %d stages\n", (int)d->groups,
            (int)d->output_channels, d->input_type,
            d->weights_type, c->result.type, (int)c->image.offset.value, (int)c->stage_count);
}

static void report(const char *what) {
    fprintf(stderr, "%s: ", what);
    print_convolution(stderr, under_way);
}

static struct plot *add_input(struct convolution *c, size_t runs, size_t len, size_t gap) {
    struct plot *plot = &c->inputs[c->input_count++];
    *plot = make_plot(runs, len, gap, (enum placement)below(&c->seed, PLACEMENTS));
    for (size_t run = 0; run < runs; run++)
        for (size_t i = 0; i < len; i++)
            plot->data[run * plot->stride + i] = (uint8_t)next_u32(&c->seed);
    return plot;
}

static uint32_t any_byte_type(struct seed *seed) {
    return one_in(seed, 2) ? QGEMM_TYPE_U8 : QGEMM_TYPE_S8;
}

static void choose_filter(struct convolution *c) {
    struct seed *seed = &c->seed;
    qgemm_conv_desc *d = &c->desc;
    d->groups = one_in(seed, 3) ? 1 + below(seed, 4) : 1;
    int most = one_in(seed, 6) ? 40 : 9;
    d->input_channels = d->groups * below(seed, most);
    d->output_channels = d->groups * below(seed, most);
    if (one_in(seed, 8))
        d->groups = d->input_channels = 1 + below(seed, 20), d->output_channels = d->groups * (1 + below(seed, 2));
    d->input_type = any_byte_type(seed);
    d->weights_type = any_byte_type(seed);
    if (!one_in(seed, 4)) {
        d->filter_height = 1 + below(seed, 4), d->filter_width = 1 + below(seed, 5);
        d->stride_height = 1 + below(seed, 3), d->stride_width = 1 + below(seed, 3);
        d->dilation_height = one_in(seed, 3) ? 1 + below(seed, 3) : 1;
        d->dilation_width = one_in(seed, 3) ? 1 + below(seed, 3) : 1;
        if (one_in(seed, 2)) {
            int widest = one_in(seed, 5) ? 9 : 3;
            d->pad_top = below(seed, widest), d->pad_left = below(seed, widest);
            d->pad_bottom = below(seed, widest), d->pad_right = below(seed, widest);
        }
    }
    c->images.batch = one_in(seed, 20) ? 0 : 1 + below(seed, 3);
    c->images.height = one_in(seed, 20) ? 0 : 1 + below(seed, 8);
    c->images.width = one_in(seed, 20) ? 0 : 1 + below(seed, 8);
}

static int64_t at_least_1(int64_t x) {
    return x > 0 ? x : 1;
}

// From the header's formula.
static int64_t output_size(int64_t n, int64_t before, int64_t after, int64_t dilation, int64_t filter, int64_t stride) {
    int64_t left = n + before + after - at_least_1(dilation) * (at_least_1(filter) - 1) - 1;
    return left < 0 ? 0 : left / at_least_1(stride) + 1;
}

static int is_padded(const qgemm_conv_desc *d) {
    return d->pad_top + d->pad_left + d->pad_bottom + d->pad_right > 0;
}

static void choose_image(struct convolution *c) {
    struct seed *seed = &c->seed;
    size_t pixels = (size_t)(c->images.batch * c->images.height * c->images.width);
    size_t channels = (size_t)c->desc.input_channels;
    struct plot *plot = add_input(c, pixels, channels, one_in(seed, 2) ? 0 : (size_t)below(seed, 9));
    c->image.data = pixels * channels == 0 ? NULL : plot->data;
    c->image.stride = plot->stride == channels ? 0 : (int64_t)plot->stride;
    int is_u8 = c->desc.input_type == QGEMM_TYPE_U8;
    c->image.offset.value = is_padded(&c->desc) ? -(below(seed, 256) - (is_u8 ? 0 : 128)) : 600 - below(seed, 1200);
    if (one_in(seed, 3))
        c->image.rows = (int64_t)pixels, c->image.cols = (int64_t)channels, c->image.type = c->desc.input_type;
}

static int64_t depth_of(const qgemm_conv_desc *d) {
    return at_least_1(d->filter_height) * at_least_1(d->filter_width) * (d->input_channels / at_least_1(d->groups));
}

static qgemm_i32_values i32_values(struct convolution *c, int32_t least, int32_t greatest) {
    qgemm_i32_values values = {NULL, 0, 0, QGEMM_UNIFORM};
    double end = (double)greatest + 1;
    values.value = (int32_t)between(&c->seed, least, end);
    if (one_in(&c->seed, 2)) {
        size_t count = (size_t)c->desc.output_channels;
        int32_t *data = (int32_t *)(void *)add_input(c, 1, count * sizeof(int32_t), 0)->data;
        for (size_t i = 0; i < count; i++)
            data[i] = (int32_t)between(&c->seed, least, end);
        values.data = data, values.len = (int64_t)count, values.axis = QGEMM_PER_COL;
    }
    return values;
}

static void choose_weights(struct convolution *c) {
    struct seed *seed = &c->seed;
    size_t depth = (size_t)depth_of(&c->desc), channels = (size_t)c->desc.output_channels;
    c->weights.order = one_in(seed, 2) ? QGEMM_ROW_MAJOR : QGEMM_COL_MAJOR;
    int row_major = c->weights.order == QGEMM_ROW_MAJOR;
    size_t runs = row_major ? depth : channels, len = row_major ? channels : depth;
    struct plot *plot = add_input(c, runs, len, one_in(seed, 2) ? 0 : (size_t)below(seed, 9));
    c->weights.data = runs * len == 0 ? NULL : plot->data;
    c->weights.stride = plot->stride == len ? 0 : (int64_t)plot->stride;
    c->weights.offset = i32_values(c, -300, 300);
    if (one_in(seed, 3))
        c->weights.rows = (int64_t)depth, c->weights.cols = (int64_t)channels, c->weights.type = c->desc.weights_type;
}

static void choose_result(struct convolution *c) {
    const uint32_t types[] = {QGEMM_TYPE_U8, QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_S32, QGEMM_TYPE_F32};
    c->result.type = types[below(&c->seed, 5)];
    size_t element = size_of_type(c->result.type), len = (size_t)c->desc.output_channels * element;
    size_t gap = one_in(&c->seed, 2) ? 0 : element * (size_t)below(&c->seed, 9);
    c->result_plot = make_plot((size_t)c->positions, len, gap, (enum placement)below(&c->seed, PLACEMENTS));
    fill_with_canaries(&c->result_plot);
    c->result.data = c->positions == 0 || len == 0 ? NULL : c->result_plot.data;
    c->result.stride = gap == 0 && c->result_plot.stride == len ? 0 : (int64_t)(c->result_plot.stride / element);
    if (one_in(&c->seed, 3))
        c->result.rows = c->positions, c->result.cols = c->desc.output_channels;
}

static qgemm_stage *add_stage(struct convolution *c, uint32_t kind) {
    qgemm_stage *stage = &c->stages[c->stage_count++];
    memset(stage, 0, sizeof *stage);
    stage->kind = kind;
    return stage;
}

static void add_integer_stages(struct convolution *c) {
    struct seed *seed = &c->seed;
    if (one_in(seed, 2))
        add_stage(c, QGEMM_STAGE_BIAS)->u.bias.bias = i32_values(c, -20000, 20000);
    if (c->result.type != QGEMM_TYPE_S32 || one_in(seed, 2)) {
        qgemm_stage *scale = add_stage(c, QGEMM_STAGE_SCALE);
        scale->u.scale.multiplier = i32_values(c, 1 << 30, INT32_MAX - 1);
        scale->u.scale.exponent = i32_values(c, -14, -6);
        scale->u.scale.rounding = (uint32_t)below(seed, 3);
        scale->u.scale.offset_after = below(seed, 200);
    }
    if (one_in(seed, 2)) {
        qgemm_stage *residual = add_stage(c, QGEMM_STAGE_RESIDUAL);
        struct plot *plot = add_input(c, (size_t)c->positions, (size_t)c->desc.output_channels, (size_t)below(seed, 5));
        residual->u.residual.data = plot->data;
        residual->u.residual.stride = (int64_t)plot->stride;
        residual->u.residual.type = any_byte_type(seed);
        residual->u.residual.zero_point = below(seed, 200);
        residual->u.residual.multiplier = (1 << 30) + below(seed, 1 << 30);
        residual->u.residual.exponent = below(seed, 3) - 1;
    }
}

static void add_float_stages(struct convolution *c) {
    qgemm_stage *dequantize = add_stage(c, QGEMM_STAGE_DEQUANTIZE);
    qgemm_f32_values scale = {NULL, 0, 1.0f / 1024, QGEMM_UNIFORM};
    if (one_in(&c->seed, 2)) {
        size_t count = (size_t)c->desc.output_channels;
        float *data = (float *)(void *)add_input(c, 1, count * sizeof(float), 0)->data;
        for (size_t i = 0; i < count; i++)
            data[i] = (float)between(&c->seed, 0.0001, 0.01);
        scale.data = data, scale.len = (int64_t)count, scale.axis = QGEMM_PER_COL;
    }
    dequantize->u.dequantize.scale = scale;
    if (c->result.type != QGEMM_TYPE_F32)
        add_stage(c, QGEMM_STAGE_QUANTIZE)->u.quantize.scale.value = 0.75f;
}

static void choose_stages(struct convolution *c) {
    if (c->result.type == QGEMM_TYPE_F32 || one_in(&c->seed, 3))
        add_float_stages(c);
    else
        add_integer_stages(c);
    if (size_of_type(c->result.type) < 4)
        add_stage(c, one_in(&c->seed, 3) ? QGEMM_STAGE_CAST_TRUNCATING : QGEMM_STAGE_CAST_SATURATING);
}

static struct convolution random_convolution(uint64_t number) {
    struct convolution c = {.number = number, .seed = {number * 2 + 1}, .desc = QGEMM_CONV_DESC_INIT,
                            .images = QGEMM_CONV_IMAGES_INIT, .image = QGEMM_OPERAND_INIT,
                            .weights = QGEMM_OPERAND_INIT, .result = QGEMM_RESULT_INIT};
    for (int i = 0; i < 8; i++)
        next_u32(&c.seed);
    const qgemm_conv_desc *d = &c.desc;
    choose_filter(&c);
    c.height = output_size(c.images.height, d->pad_top, d->pad_bottom, d->dilation_height, d->filter_height,
                           d->stride_height);
    c.width = output_size(c.images.width, d->pad_left, d->pad_right, d->dilation_width, d->filter_width,
                          d->stride_width);
    c.positions = c.images.batch * c.height * c.width;
    choose_image(&c);
    choose_weights(&c);
    choose_result(&c);
    choose_stages(&c);
    return c;
}

static int32_t element(const void *data, uint32_t type, int64_t index) {
    return read_number(data, type, index).integer;
}

// The sum of position (n, y, x) and channel o.
static int32_t defined_conv_sum(const struct convolution *c, int64_t n, int64_t y, int64_t x, int64_t o) {
    const qgemm_conv_desc *d = &c->desc;
    int64_t groups = at_least_1(d->groups), channels = d->input_channels / groups, stride = c->image.stride;
    int64_t first = o / (d->output_channels / groups) * channels;
    const qgemm_i32_values *offset = &c->weights.offset;
    struct place place = {0, o, depth_of(d), d->output_channels};
    uint32_t sum = 0;
    for (int64_t ky = 0; ky < at_least_1(d->filter_height); ky++)
        for (int64_t kx = 0; kx < at_least_1(d->filter_width); kx++) {
            int64_t row = y * at_least_1(d->stride_height) + ky * at_least_1(d->dilation_height) - d->pad_top;
            int64_t col = x * at_least_1(d->stride_width) + kx * at_least_1(d->dilation_width) - d->pad_left;
            int is_inside = 0 <= row && row < c->images.height && 0 <= col && col < c->images.width;
            for (int64_t i = 0; is_inside && i < channels; i++) {
                int64_t pixel = (n * c->images.height + row) * c->images.width + col;
                int64_t at = pixel * (stride == 0 ? d->input_channels : stride) + first + i;
                int32_t a = element(c->image.data, d->input_type, at);
                place.row = (ky * at_least_1(d->filter_width) + kx) * channels + i;
                int64_t weight = distance_to(place, c->weights.order, c->weights.stride);
                int32_t b = element(c->weights.data, d->weights_type, weight);
                int32_t added = offset->axis == QGEMM_UNIFORM ? offset->value : offset->data[o];
                sum += ((uint32_t)a + (uint32_t)c->image.offset.value) * ((uint32_t)b + (uint32_t)added);
            }
        }
    return (int32_t)sum;
}

static struct number *definition(const struct convolution *c) {
    int64_t channels = c->desc.output_channels;
    struct number *expected = calloc((size_t)(c->positions * channels) + 1, sizeof *expected);
    CHECK(expected != NULL);
    for (int64_t p = 0; p < c->positions; p++)
        for (int64_t o = 0; o < channels; o++) {
            int64_t row = p / c->width;
            struct number x = integer_number(defined_conv_sum(c, row / c->height, row % c->height, p % c->width, o));
            struct place place = {p, o, c->positions, channels};
            for (size_t s = 0; s < c->stage_count; s++)
                x = after_stage(&c->stages[s], x, place, c->result.type);
            expected[p * channels + o] = x;
        }
    return expected;
}

static void check_result(const struct convolution *c, const struct number *expected) {
    int64_t channels = c->desc.output_channels, stride = c->result.stride == 0 ? channels : c->result.stride;
    for (int64_t i = 0; i < c->positions * channels; i++) {
        struct number found = read_number(c->result.data, c->result.type, i / channels * stride + i % channels);
        if (!is_same(found, expected[i])) {
            fprintf(stderr, "position %d, channel %d: %d %f instead of %d %f: ", (int)(i / channels),
                    (int)(i % channels),
                    (int)found.integer, (double)found.real, (int)expected[i].integer, (double)expected[i].real);
            print_convolution(stderr, c);
            exit(1);
        }
    }
    CHECK(canaries_live(&c->result_plot));
}

static qgemm_context *contexts[3];  // the shared one, and such of two and three threads

static qgemm_conv_plan *plan_of(const struct convolution *c) {
    qgemm_conv_plan *plan, *loaded;
    CHECK(qgemm_conv_plan_create(&c->desc, &c->images, &plan) == QGEMM_STATUS_OK);
    int64_t height, width;
    CHECK(qgemm_conv_output_size(plan, &height, &width) == QGEMM_STATUS_OK);
    CHECK(height == c->height && width == c->width);
    if (c->number % 2 == 0)
        return plan;
    struct plot saved = make_plot(1, QGEMM_CONV_PLAN_SIZE, 0, BEFORE_A_FENCE);
    CHECK(qgemm_conv_plan_save(plan, saved.data, saved.len) == QGEMM_STATUS_OK);
    qgemm_conv_plan_free(plan);
    CHECK(qgemm_conv_plan_load(saved.data, saved.len, &loaded) == QGEMM_STATUS_OK);
    free_plot(&saved);
    return loaded;
}

// In memory of their own, or as they come back from a file.
static qgemm_packed *packed_weights(const struct convolution *c, struct plot *memory, int is_portable) {
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    qgemm_packed *packed;
    size_t size;
    CHECK(qgemm_conv_pack_size(&c->desc, &c->weights, NULL, &size) == QGEMM_STATUS_OK);
    if (!is_portable) {
        *memory = make_plot(1, size, 0, BEHIND_A_FENCE);
        options.memory = memory->data, options.memory_size = size;
        CHECK(qgemm_conv_pack(&c->desc, &c->weights, &options, &packed) == QGEMM_STATUS_OK);
        return packed;
    }
    CHECK(qgemm_conv_pack(&c->desc, &c->weights, NULL, &packed) == QGEMM_STATUS_OK);
    CHECK(qgemm_packed_portable_size(packed, &size) == QGEMM_STATUS_OK);
    *memory = make_plot(1, size, 0, BEFORE_A_FENCE);
    CHECK(qgemm_packed_save_portable(packed, memory->data, size) == QGEMM_STATUS_OK);
    qgemm_packed_free(packed);
    CHECK(qgemm_packed_load(memory->data, size, &packed) == QGEMM_STATUS_OK);
    return packed;
}

static void require_ok(qgemm_status status) {
    if (status != QGEMM_STATUS_OK) {
        report(qgemm_last_error());
        exit(1);
    }
}

// With the elements told when it is prepared, or to each run.
static void run_prepared(struct convolution *c, const qgemm_context *context, const qgemm_conv_plan *plan,
                         const qgemm_operand *weights, const qgemm_gemm_options *options,
                         const struct number *expected) {
    qgemm_operand image = c->image, filter = *weights;
    qgemm_result result = c->result;
    if (one_in(&c->seed, 2))
        image.data = filter.data = result.data = NULL;
    qgemm_prepared *prepared;
    require_ok(qgemm_conv_prepare(context, plan, &image, &filter, &result, c->stages, c->stage_count, options,
                                       &prepared));
    int is_told = image.data != NULL;
    for (int i = 0; i < 2; i++) {
        fill_with_canaries(&c->result_plot);
        require_ok(qgemm_prepared_run(prepared, is_told ? NULL : c->image.data, is_told ? NULL : weights->data,
                                   is_told ? NULL : c->result.data));
        check_result(c, expected);
    }
    qgemm_prepared_free(prepared);
}

static void run(struct convolution *c, const qgemm_conv_plan *plan, const qgemm_operand *weights,
                const struct number *expected) {
    qgemm_context *context = contexts[below(&c->seed, 3)];
    qgemm_gemm_options options = QGEMM_GEMM_OPTIONS_INIT;
    struct plot workspace = {0};
    int brings_memory = one_in(&c->seed, 2);
    if (brings_memory) {
        size_t size;
        CHECK(qgemm_conv_workspace_size(context, plan, &c->image, weights, &c->result, &size) == QGEMM_STATUS_OK);
        workspace = make_plot(1, size, 0, BEFORE_A_FENCE);
        options.workspace = workspace.data, options.workspace_size = size;
    }
    fill_with_canaries(&c->result_plot);
    const qgemm_gemm_options *given = brings_memory ? &options : NULL;
    require_ok(qgemm_conv_run(context, plan, &c->image, weights, &c->result, c->stages, c->stage_count, given));
    check_result(c, expected);
    run_prepared(c, context, plan, weights, given, expected);
    if (brings_memory)
        free_plot(&workspace);
}

static void test(uint64_t number) {
    struct convolution c = random_convolution(number);
    under_way = &c;
    struct number *expected = definition(&c);
    qgemm_conv_plan *plan = plan_of(&c);
    run(&c, plan, &c.weights, expected);
    for (int is_portable = 0; is_portable < 2; is_portable++) {
        struct plot memory;
        qgemm_packed *packed = packed_weights(&c, &memory, is_portable);
        qgemm_operand weights = c.weights;
        weights.data = NULL, weights.packed = packed;
        run(&c, plan, &weights, expected);
        qgemm_packed_free(packed);
        free_plot(&memory);
    }
    qgemm_conv_plan_free(plan);
    free(expected);
    free_plot(&c.result_plot);
    for (int i = 0; i < c.input_count; i++)
        free_plot(&c.inputs[i]);
}

int main(int argc, char **argv) {
    skip_unless_supported();
    report_faults(report);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : CALLS;
    for (int i = 1; i < 3; i++) {
        qgemm_context_options options = QGEMM_CONTEXT_OPTIONS_INIT;
        options.threads = i + 1;
        CHECK(qgemm_context_create(&options, &contexts[i]) == QGEMM_STATUS_OK);
    }
    for (uint64_t number = first; number < first + count; number++)
        test(number);
    for (int i = 1; i < 3; i++)
        qgemm_context_free(contexts[i]);
    printf("%llu convolutions\n", (unsigned long long)count);
    return 0;
}
