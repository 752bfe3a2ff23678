// Layers in libqgemm. Plans are made, weights packed and calls prepared once.

#include "layer.h"

#include <qgemm/qgemm.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(qgemm_status status) {
    if (status == QGEMM_STATUS_OK)
        return;
    std::fprintf(stderr, "libqgemm: %s: %s\n", qgemm_status_message(status), qgemm_last_error());
    std::exit(1);
}

std::uint32_t byte(bool is_signed) {
    return is_signed ? QGEMM_TYPE_S8 : QGEMM_TYPE_U8;
}

qgemm_i32_values per_channel(const std::vector<std::int32_t> &values) {
    return {values.data(), std::int64_t(values.size()), 0, QGEMM_PER_COL};
}

// It is never freed.
struct Opened {
    qgemm_prepared *call = nullptr;
    std::vector<std::int32_t> multipliers, exponents;

    explicit Opened(const layer &layer);
    qgemm_stage scaling(const layer &layer);
};

Opened::Opened(const layer &layer) {
    qgemm_conv_desc desc = QGEMM_CONV_DESC_INIT;
    desc.input_channels = layer.channels, desc.output_channels = layer.results;
    desc.filter_height = desc.filter_width = layer.taps;
    desc.stride_height = desc.stride_width = layer.stride;
    desc.pad_top = desc.pad_left = layer.pad_before;
    desc.pad_bottom = desc.pad_right = layer.pad_after;
    desc.groups = layer.groups;
    desc.input_type = byte(layer.image_is_signed), desc.weights_type = byte(layer.weights_are_signed);
    qgemm_conv_images images = QGEMM_CONV_IMAGES_INIT;
    images.batch = 1, images.height = images.width = layer.size;
    qgemm_conv_plan *plan;
    check(qgemm_conv_plan_create(&desc, &images, &plan));

    qgemm_operand image = QGEMM_OPERAND_INIT, weights = QGEMM_OPERAND_INIT;
    qgemm_result result = QGEMM_RESULT_INIT;
    image.data = layer.image, image.type = desc.input_type, image.offset.value = -layer.image_zero_point;
    result.data = layer.result, result.type = desc.input_type;
    weights.data = layer.weights, weights.type = desc.weights_type;
    weights.offset.value = -layer.weights_zero_point;
    weights.order = layer.groups == 1 ? QGEMM_COL_MAJOR : QGEMM_ROW_MAJOR;
    qgemm_packed *packed;
    check(qgemm_conv_pack(&desc, &weights, nullptr, &packed));
    weights.data = nullptr, weights.packed = packed;

    // A ReLU is what saturation does, as the result's zero point is the least number of its type.
    qgemm_stage stages[3] = {};
    stages[0].kind = QGEMM_STAGE_BIAS;
    stages[0].u.bias.bias = {layer.biases, layer.results, 0, QGEMM_PER_COL};
    stages[1] = scaling(layer);
    stages[2].kind = QGEMM_STAGE_CAST_SATURATING;
    check(qgemm_conv_prepare(nullptr, plan, &image, &weights, &result, stages, 3, nullptr, &call));
}

qgemm_stage Opened::scaling(const layer &layer) {
    qgemm_stage stage = {};
    if (!layer.in_fixed_point) {
        stage.kind = QGEMM_STAGE_SCALE_F32;
        stage.u.scale_f32.scale = {layer.scales, layer.results, 0, QGEMM_PER_COL};
        stage.u.scale_f32.offset_after = layer.result_zero_point;
        return stage;
    }
    multipliers.resize(layer.results), exponents.resize(layer.results);
    for (std::int64_t i = 0; i < layer.results; i++)
        check(qgemm_quantize_multiplier(layer.scales[i], &multipliers[i], &exponents[i]));
    stage.kind = QGEMM_STAGE_SCALE;
    stage.u.scale.multiplier = per_channel(multipliers);
    stage.u.scale.exponent = per_channel(exponents);
    stage.u.scale.offset_after = layer.result_zero_point;
    stage.u.scale.rounding = QGEMM_ROUND_TWICE;
    return stage;
}

}  // namespace

void *layer_open(const layer *given) {
    return new Opened(*given);
}

void layer_run(void *const *layers, int count) {
    for (int i = 0; i < count; i++) {
        const Opened &opened = *static_cast<const Opened *>(layers[i]);
        check(qgemm_prepared_run(opened.call, nullptr, nullptr, nullptr));
    }
}
