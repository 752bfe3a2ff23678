// Every wrong argument of the functions of convolution: the status, an error that names the argument, and memory that
// stays as it was.

#include "check.h"

#include <stdint.h>
#include <string.h>

enum { PIXELS = 4 * 5, CHANNELS = 6, RESULTS = 4, TAPS = 2 * 3, ROOM = 1024 };

// A faultless call, to be given one fault.
struct call {
    qgemm_conv_desc desc;
    qgemm_conv_images images;
    qgemm_operand image, weights;
    qgemm_result result;
    qgemm_gemm_options options;
};

static union {
    uint8_t bytes[ROOM];
    int32_t integers[ROOM / 4];
} image, weights, result, workspace;

static struct call faultless(void) {
    struct call c = {QGEMM_CONV_DESC_INIT, QGEMM_CONV_IMAGES_INIT, QGEMM_OPERAND_INIT, QGEMM_OPERAND_INIT,
                     QGEMM_RESULT_INIT, QGEMM_GEMM_OPTIONS_INIT};
    c.desc.input_channels = CHANNELS, c.desc.output_channels = RESULTS;
    c.desc.filter_height = 2, c.desc.filter_width = 3, c.desc.groups = 2;
    c.desc.pad_top = 1, c.desc.pad_left = 1, c.desc.pad_right = 1;
    c.desc.input_type = QGEMM_TYPE_U8, c.desc.weights_type = QGEMM_TYPE_S8;
    c.images.batch = 1, c.images.height = 4, c.images.width = 5;
    c.image.data = image.bytes, c.image.offset.value = -3;
    c.weights.data = weights.bytes;
    c.result.data = result.bytes, c.result.type = QGEMM_TYPE_S32;
    return c;
}

static int last_error_says(const char *name) {
    if (strstr(qgemm_last_error(), name) != NULL)
        return 1;
    fprintf(stderr, "\"%s\" does not say \"%s\"\n", qgemm_last_error(), name);
    return 0;
}

static void plan_fails(const struct call *c, qgemm_status status, const char *name) {
    qgemm_conv_plan *plan = (qgemm_conv_plan *)&result;
    CHECK(qgemm_conv_plan_create(&c->desc, &c->images, &plan) == status && last_error_says(name));
    CHECK(plan == (qgemm_conv_plan *)&result);
}

static void pack_fails(const struct call *c, const qgemm_pack_options *options, qgemm_status status, const char *name) {
    qgemm_packed *packed = (qgemm_packed *)&result;
    size_t size = 7;
    CHECK(qgemm_conv_pack(&c->desc, &c->weights, options, &packed) == status && last_error_says(name));
    CHECK(qgemm_conv_pack_size(&c->desc, &c->weights, options, &size) == status || status == QGEMM_STATUS_WORKSPACE);
    CHECK(packed == (qgemm_packed *)&result && (size == 7 || status == QGEMM_STATUS_WORKSPACE));
}

// It is not prepared, or not run, for the same reason, if perhaps in other words.
static void prepared_fails(const struct call *c, const qgemm_conv_plan *plan, qgemm_status expected) {
    qgemm_prepared *prepared = NULL;
    qgemm_status status =
        qgemm_conv_prepare(NULL, plan, &c->image, &c->weights, &c->result, NULL, 0, &c->options, &prepared);
    // A workspace in the wrong place is too small, too.
    int is_other = c->options.workspace != NULL && status == QGEMM_STATUS_WORKSPACE;
    CHECK(status == QGEMM_STATUS_OK || status == expected || is_other);
    CHECK(status != QGEMM_STATUS_OK || qgemm_prepared_run(prepared, NULL, NULL, NULL) == expected);
    qgemm_prepared_free(prepared);
    // What went wrong last is what the caller asks for.
    CHECK(qgemm_conv_run(NULL, plan, &c->image, &c->weights, &c->result, NULL, 0, &c->options) == expected);
}

static qgemm_status run(const struct call *c, const struct call *planned) {
    qgemm_conv_plan *plan;
    CHECK(qgemm_conv_plan_create(&planned->desc, &planned->images, &plan) == QGEMM_STATUS_OK);
    memset(&result, 55, sizeof result);
    qgemm_status status = qgemm_conv_run(NULL, plan, &c->image, &c->weights, &c->result, NULL, 0, &c->options);
    if (status != QGEMM_STATUS_OK)
        prepared_fails(c, plan, status);
    qgemm_conv_plan_free(plan);
    return status;
}

static void run_fails(const struct call *c, qgemm_status status, const char *name) {
    CHECK(run(c, c) == status && last_error_says(name));
    for (int i = 0; i < ROOM; i++)
        CHECK(result.bytes[i] == 55);
}

// Each field of the filter and of the images.
static void plans(void) {
    const struct {
        const char *name;
        size_t at;
    } fields[] = {
        {"desc->input_channels", offsetof(struct call, desc.input_channels)},
        {"desc->output_channels", offsetof(struct call, desc.output_channels)},
        {"desc->filter_height", offsetof(struct call, desc.filter_height)},
        {"desc->filter_width", offsetof(struct call, desc.filter_width)},
        {"desc->stride_height", offsetof(struct call, desc.stride_height)},
        {"desc->stride_width", offsetof(struct call, desc.stride_width)},
        {"desc->dilation_height", offsetof(struct call, desc.dilation_height)},
        {"desc->dilation_width", offsetof(struct call, desc.dilation_width)},
        {"desc->pad_top", offsetof(struct call, desc.pad_top)},
        {"desc->pad_left", offsetof(struct call, desc.pad_left)},
        {"desc->pad_bottom", offsetof(struct call, desc.pad_bottom)},
        {"desc->pad_right", offsetof(struct call, desc.pad_right)},
        {"desc->groups", offsetof(struct call, desc.groups)},
        {"images->batch", offsetof(struct call, images.batch)},
        {"images->height", offsetof(struct call, images.height)},
        {"images->width", offsetof(struct call, images.width)},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (int64_t value = -1; value >= INT64_MIN / 2; value *= 2) {
            struct call c = faultless();
            memcpy((char *)&c + fields[i].at, &value, sizeof value);
            plan_fails(&c, QGEMM_STATUS_SHAPE, fields[i].name);
        }
    // Whatever is as large as can be is an error, or has no results; and nothing overflows.
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (int shift = 20; shift < 63; shift++)
            for (int less = 0; less < 2; less++) {
                struct call c = faultless();
                int64_t value = ((int64_t)1 << shift) - less;
                memcpy((char *)&c + fields[i].at, &value, sizeof value);
                c.desc.groups = i == 12 ? value : 1;
                // A plan of so many rows would be long.
                if (shift < 32 && i >= 8 && i != 12)
                    continue;
                qgemm_conv_plan *plan = NULL;
                qgemm_status status = qgemm_conv_plan_create(&c.desc, &c.images, &plan);
                CHECK(status == QGEMM_STATUS_OK || status == QGEMM_STATUS_TOO_LARGE ||
                      status == QGEMM_STATUS_PARAMETER);
                if (shift > 31 && i >= 8 && i != 12 && i != 13)
                    CHECK(status == QGEMM_STATUS_TOO_LARGE);
                qgemm_conv_plan_free(plan);
            }
    struct call c = faultless();
    c.desc.groups = 4;
    plan_fails(&c, QGEMM_STATUS_PARAMETER, "desc->groups is 4");
    c = faultless(), c.desc.input_type = QGEMM_TYPE_S16;
    plan_fails(&c, QGEMM_STATUS_TYPE, "desc->input_type");
    c = faultless(), c.desc.weights_type = 0;
    plan_fails(&c, QGEMM_STATUS_TYPE, "desc->weights_type");
    c = faultless(), c.desc.struct_size--;
    plan_fails(&c, QGEMM_STATUS_STRUCT_SIZE, "desc->struct_size");
    c = faultless(), c.images.struct_size = 0;
    plan_fails(&c, QGEMM_STATUS_STRUCT_SIZE, "images->struct_size");

    qgemm_conv_plan *plan;
    c = faultless();
    CHECK(qgemm_conv_plan_create(NULL, &c.images, &plan) == QGEMM_STATUS_NULL_POINTER && last_error_says("desc"));
    CHECK(qgemm_conv_plan_create(&c.desc, NULL, &plan) == QGEMM_STATUS_NULL_POINTER && last_error_says("images"));
    CHECK(qgemm_conv_plan_create(&c.desc, &c.images, NULL) == QGEMM_STATUS_NULL_POINTER && last_error_says("plan"));
    qgemm_conv_plan_free(NULL);
}

static void saved_plans(void) {
    struct call c = faultless();
    qgemm_conv_plan *plan, *loaded = NULL;
    uint8_t bytes[QGEMM_CONV_PLAN_SIZE + 1] = {0};
    int64_t height, width;
    CHECK(qgemm_conv_plan_create(&c.desc, &c.images, &plan) == QGEMM_STATUS_OK);
    CHECK(qgemm_conv_plan_save(NULL, bytes, sizeof bytes) == QGEMM_STATUS_NULL_POINTER && last_error_says("plan"));
    CHECK(qgemm_conv_plan_save(plan, NULL, sizeof bytes) == QGEMM_STATUS_NULL_POINTER && last_error_says("bytes"));
    CHECK(qgemm_conv_plan_save(plan, bytes, QGEMM_CONV_PLAN_SIZE - 1) == QGEMM_STATUS_WORKSPACE);
    CHECK(last_error_says("size"));
    for (size_t i = 0; i < sizeof bytes; i++)
        CHECK(bytes[i] == 0);
    CHECK(qgemm_conv_plan_save(plan, bytes, sizeof bytes) == QGEMM_STATUS_OK && bytes[QGEMM_CONV_PLAN_SIZE] == 0);
    CHECK(qgemm_conv_output_size(plan, &height, NULL) == QGEMM_STATUS_NULL_POINTER && last_error_says("width"));
    CHECK(qgemm_conv_output_size(plan, NULL, &width) == QGEMM_STATUS_NULL_POINTER && last_error_says("height"));
    CHECK(qgemm_conv_output_size(NULL, &height, &width) == QGEMM_STATUS_NULL_POINTER && last_error_says("plan"));
    qgemm_conv_plan_free(plan);

    CHECK(qgemm_conv_plan_load(bytes, sizeof bytes, &loaded) == QGEMM_STATUS_PACKED_DAMAGED);
    CHECK(last_error_says("too many"));
    CHECK(qgemm_conv_plan_load(NULL, 1, &loaded) == QGEMM_STATUS_NULL_POINTER && last_error_says("bytes"));
    CHECK(qgemm_conv_plan_load(bytes, QGEMM_CONV_PLAN_SIZE, NULL) == QGEMM_STATUS_NULL_POINTER);
    CHECK(last_error_says("plan"));
    bytes[20] ^= 1;
    CHECK(qgemm_conv_plan_load(bytes, QGEMM_CONV_PLAN_SIZE, &loaded) == QGEMM_STATUS_PACKED_DAMAGED);
    CHECK(last_error_says("checksum") && loaded == NULL);
}

static void packing(void) {
    struct call c = faultless();
    qgemm_packed *packed;
    size_t size;
    CHECK(qgemm_conv_pack(NULL, &c.weights, NULL, &packed) == QGEMM_STATUS_NULL_POINTER && last_error_says("desc"));
    CHECK(qgemm_conv_pack(&c.desc, NULL, NULL, &packed) == QGEMM_STATUS_NULL_POINTER && last_error_says("weights"));
    CHECK(qgemm_conv_pack(&c.desc, &c.weights, NULL, NULL) == QGEMM_STATUS_NULL_POINTER && last_error_says("packed"));
    CHECK(qgemm_conv_pack_size(&c.desc, &c.weights, NULL, NULL) == QGEMM_STATUS_NULL_POINTER);
    CHECK(last_error_says("size"));
    c.desc.groups = 5;
    pack_fails(&c, NULL, QGEMM_STATUS_PARAMETER, "desc->groups");
    c = faultless(), c.desc.filter_height = INT64_MAX, c.desc.filter_width = INT64_MAX;
    pack_fails(&c, NULL, QGEMM_STATUS_TOO_LARGE, "weights");
    c = faultless(), c.weights.rows = TAPS * CHANNELS;
    pack_fails(&c, NULL, QGEMM_STATUS_SHAPE, "weights->rows is 36");
    c = faultless(), c.weights.cols = RESULTS - 1;
    pack_fails(&c, NULL, QGEMM_STATUS_SHAPE, "weights->cols is 3");
    c = faultless(), c.weights.type = QGEMM_TYPE_U8;
    pack_fails(&c, NULL, QGEMM_STATUS_TYPE, "weights->type");
    c = faultless(), c.weights.data = NULL;
    pack_fails(&c, NULL, QGEMM_STATUS_NULL_POINTER, "weights->data");
    c = faultless(), c.weights.order = 2;
    pack_fails(&c, NULL, QGEMM_STATUS_OPTION, "weights->order");
    c = faultless(), c.weights.offset.axis = QGEMM_PER_ROW;
    pack_fails(&c, NULL, QGEMM_STATUS_OPTION, "weights->offset.axis");

    c = faultless();
    qgemm_pack_options options = QGEMM_PACK_OPTIONS_INIT;
    options.side = QGEMM_LHS;
    pack_fails(&c, &options, QGEMM_STATUS_OPTION, "options->side");
    options.side = QGEMM_RHS, options.result_order = QGEMM_COL_MAJOR;
    pack_fails(&c, &options, QGEMM_STATUS_OPTION, "options->result_order");
    options.result_order = QGEMM_ROW_MAJOR, options.other_type = QGEMM_TYPE_S8;
    pack_fails(&c, &options, QGEMM_STATUS_TYPE, "options->other_type");
    options.other_type = QGEMM_TYPE_U8, options.group_size = 2;
    pack_fails(&c, &options, QGEMM_STATUS_OPTION, "options->group_size");
    options.group_size = 0, options.bits = 9;
    pack_fails(&c, &options, QGEMM_STATUS_OPTION, "options->bits");
    options.bits = 8;
    CHECK(qgemm_conv_pack_size(&c.desc, &c.weights, &options, &size) == QGEMM_STATUS_OK);
    CHECK(qgemm_conv_pack(&c.desc, &c.weights, &options, &packed) == QGEMM_STATUS_OK);
    c.weights.data = NULL, c.weights.packed = packed;
    pack_fails(&c, NULL, QGEMM_STATUS_OPTION, "weights->packed");
    CHECK(run(&c, &c) == QGEMM_STATUS_OK);
    c.weights.data = weights.bytes;
    run_fails(&c, QGEMM_STATUS_OPTION, "weights->data");
    c = faultless(), c.weights.data = NULL, c.weights.packed = packed, c.desc.filter_width = 2;
    run_fails(&c, QGEMM_STATUS_SHAPE, "weights->rows is 12");
    c = faultless(), c.weights.data = NULL, c.weights.packed = packed, c.desc.input_channels = 0;
    run_fails(&c, QGEMM_STATUS_SHAPE, "weights->rows is 18");
    c = faultless(), c.weights.data = NULL, c.weights.packed = packed, c.desc.output_channels = 0;
    run_fails(&c, QGEMM_STATUS_SHAPE, "weights->cols is 4");
    qgemm_packed_free(packed);
}

static void running(void) {
    struct call c = faultless();
    CHECK(run(&c, &c) == QGEMM_STATUS_OK);
    size_t size;
    CHECK(qgemm_conv_run(NULL, NULL, &c.image, &c.weights, &c.result, NULL, 0, NULL) == QGEMM_STATUS_NULL_POINTER);
    CHECK(last_error_says("plan"));
    CHECK(qgemm_conv_workspace_size(NULL, NULL, &c.image, &c.weights, &c.result, &size) == QGEMM_STATUS_NULL_POINTER);
    c.image.data = NULL;
    run_fails(&c, QGEMM_STATUS_NULL_POINTER, "image->data");
    c = faultless(), c.image.struct_size = 1;
    run_fails(&c, QGEMM_STATUS_STRUCT_SIZE, "image->struct_size");
    c = faultless(), c.image.rows = PIXELS + 1;
    run_fails(&c, QGEMM_STATUS_SHAPE, "image->rows is 21");
    c = faultless(), c.image.cols = 1;
    run_fails(&c, QGEMM_STATUS_SHAPE, "image->cols is 1");
    c = faultless(), c.image.type = QGEMM_TYPE_S8;
    run_fails(&c, QGEMM_STATUS_TYPE, "image->type");
    c = faultless(), c.image.order = QGEMM_COL_MAJOR;
    run_fails(&c, QGEMM_STATUS_OPTION, "image->order");
    c = faultless(), c.image.stride = -1;
    run_fails(&c, QGEMM_STATUS_STRIDE, "image->stride");
    c = faultless(), c.image.packed = (const qgemm_packed *)&image;
    run_fails(&c, QGEMM_STATUS_OPTION, "image->packed");
    const int32_t offsets[PIXELS] = {0};
    c = faultless(), c.image.offset.axis = QGEMM_PER_ROW, c.image.offset.data = offsets, c.image.offset.len = PIXELS;
    run_fails(&c, QGEMM_STATUS_OPTION, "image->offset.axis");
    const int32_t no_zero_points[] = {1, -256, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) {
        c = faultless(), c.image.offset.value = no_zero_points[i];
        run_fails(&c, QGEMM_STATUS_PARAMETER, "image->offset.value");
        c.desc.pad_top = c.desc.pad_left = c.desc.pad_right = 0;
        CHECK(run(&c, &c) == QGEMM_STATUS_OK);
    }
    c = faultless(), c.weights.cols = 5;
    run_fails(&c, QGEMM_STATUS_SHAPE, "weights->cols is 5");
    c = faultless(), c.result.rows = PIXELS + 1;
    run_fails(&c, QGEMM_STATUS_SHAPE, "result->rows is 21");
    c = faultless(), c.result.cols = 1;
    run_fails(&c, QGEMM_STATUS_SHAPE, "result->cols is 1");
    c = faultless(), c.result.order = QGEMM_COL_MAJOR;
    run_fails(&c, QGEMM_STATUS_OPTION, "result->order");
    c = faultless(), c.result.type = QGEMM_TYPE_U8;
    run_fails(&c, QGEMM_STATUS_STAGE_ORDER, "cast");
    c = faultless(), c.result.stride = RESULTS - 1;
    run_fails(&c, QGEMM_STATUS_STRIDE, "result->stride");
    c = faultless(), c.result.data = result.bytes + 1;
    run_fails(&c, QGEMM_STATUS_ALIGNMENT, "result->data");
    c = faultless(), c.image.data = result.bytes + 4 * PIXELS * RESULTS - 1;
    run_fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps image");
    c = faultless(), c.weights.data = result.bytes;
    run_fails(&c, QGEMM_STATUS_OVERLAP, "result overlaps weights");
    c = faultless(), c.options.workspace = result.bytes, c.options.workspace_size = ROOM;
    run_fails(&c, QGEMM_STATUS_OVERLAP, "options->workspace overlaps result");
    c = faultless(), c.options.workspace = image.bytes, c.options.workspace_size = ROOM;
    run_fails(&c, QGEMM_STATUS_OVERLAP, "options->workspace overlaps image");
    c = faultless(), c.options.workspace = workspace.bytes, c.options.workspace_size = 1;
    run_fails(&c, QGEMM_STATUS_WORKSPACE, "workspace_size is 1");
    qgemm_bit_depth depth = QGEMM_BIT_DEPTH_INIT;
    c = faultless(), c.options.bit_depth = &depth;
    run_fails(&c, QGEMM_STATUS_OPTION, "options->bit_depth");
    c = faultless(), c.options.flags = QGEMM_CHECK_RANGE, c.image.least = 1, c.image.greatest = 9;
    run_fails(&c, QGEMM_STATUS_RANGE, "image(0, 0) is 0");
}

static void overflows(void) {
    struct call c = faultless();
    c.options.flags = QGEMM_CHECK_OVERFLOW;
    CHECK(run(&c, &c) == QGEMM_STATUS_OK);
    c.weights.offset.value = 1 << 29;
    run_fails(&c, QGEMM_STATUS_OVERFLOW, "beyond 32 bits");
    c.options.flags = 0;
    CHECK(run(&c, &c) == QGEMM_STATUS_OK);
}

int main(void) {
    skip_unless_supported();
    plans();
    saved_plans();
    packing();
    running();
    overflows();
    return 0;
}
