// What surrounds quantized products, as functions for compare.py: each does the same `count` times, to another place each time.
// They return a qgemm_status.

#include <qgemm/qgemm.h>

#include <cstdint>

namespace {

template <typename Call>
int each(void *const *to, int count, Call call) {
    qgemm_status status = QGEMM_STATUS_OK;
    for (int i = 0; i < count && status == QGEMM_STATUS_OK; i++)
        status = call(to[i]);
    return static_cast<int>(status);
}

qgemm_channels whole(std::int64_t len) {
    return {1, 1, len};
}

qgemm_quantization quantization_of(std::uint32_t type, const float *scale, const std::int32_t *zero_point) {
    qgemm_quantization quantization = QGEMM_QUANTIZATION_INIT;
    quantization.type = type;
    quantization.scales = scale;
    quantization.zero_points = zero_point;
    return quantization;
}

}  // namespace

extern "C" {

int around_quantize(const float *from, void *const *to, int count, std::int64_t len, std::uint32_t type,
                    std::uint32_t rounding, float scale, std::int32_t zero_point) {
    const qgemm_channels channels = whole(len);
    qgemm_quantization quantization = quantization_of(type, &scale, &zero_point);
    quantization.rounding = rounding;
    return each(to, count, [&](void *place) { return qgemm_quantize_f32(nullptr, from, place, &channels, &quantization); });
}

// Scale and zero point follow from the data, and come first in what is written: ONNX's DynamicQuantizeLinear.
int around_quantize_dynamic(const float *from, void *const *to, int count, std::int64_t len) {
    const qgemm_channels channels = whole(len);
    return each(to, count, [&](void *place) {
        float scale;
        std::int32_t zero_point;
        const qgemm_status status = qgemm_choose_quantization_of(nullptr, from, &channels, QGEMM_SCHEME_DYNAMIC_LINEAR,
                                                                 QGEMM_TYPE_U8, 0, 0, &scale, &zero_point);
        if (status != QGEMM_STATUS_OK)
            return status;
        const qgemm_quantization quantization = quantization_of(QGEMM_TYPE_U8, &scale, &zero_point);
        return qgemm_quantize_f32(nullptr, from, place, &channels, &quantization);
    });
}

int around_dequantize(const void *from, void *const *to, int count, std::int64_t len, std::uint32_t type, float scale,
                      std::int32_t zero_point) {
    const qgemm_channels channels = whole(len);
    const qgemm_quantization quantization = quantization_of(type, &scale, &zero_point);
    return each(to, count, [&](void *place) {
        return qgemm_dequantize(nullptr, from, static_cast<float *>(place), &channels, &quantization);
    });
}

// From signed bytes to signed bytes, in fixed point rounded twice: TFLite's QUANTIZE.
int around_requantize(const void *from, void *const *to, int count, std::int64_t len, float from_scale,
                      std::int32_t from_zero_point, float to_scale, std::int32_t to_zero_point) {
    std::int32_t multiplier, exponent;
    const double real = static_cast<double>(from_scale) / static_cast<double>(to_scale);
    if (const qgemm_status status = qgemm_quantize_multiplier(real, &multiplier, &exponent))
        return static_cast<int>(status);
    const qgemm_channels channels = whole(len);
    qgemm_requantization how = QGEMM_REQUANTIZATION_INIT;
    how.from_type = how.to_type = QGEMM_TYPE_S8;
    how.arithmetic = QGEMM_REQUANTIZE_TWICE;
    how.from_zero_points = &from_zero_point;
    how.to_zero_points = &to_zero_point;
    how.multipliers = &multiplier;
    how.exponents = &exponent;
    return each(to, count, [&](void *place) { return qgemm_requantize(nullptr, from, place, &channels, &how); });
}

int around_add(const void *a, const void *b, void *const *to, int count, std::int64_t len, std::uint32_t type,
               std::uint32_t mode, const float *scales, const std::int32_t *zero_points) {
    qgemm_add_options options = QGEMM_ADD_OPTIONS_INIT;
    options.type = type;
    options.mode = mode;
    options.a_scale = scales[0], options.b_scale = scales[1], options.c_scale = scales[2];
    options.a_zero_point = zero_points[0], options.b_zero_point = zero_points[1], options.c_zero_point = zero_points[2];
    // Once for many calls, as a layer would.
    static qgemm_add_options prepared;
    static qgemm_add_parameters parameters;
    if (options.type != prepared.type || options.mode != prepared.mode) {
        if (const qgemm_status status = qgemm_add_prepare(&options, &parameters))
            return static_cast<int>(status);
        prepared = options;
    }
    return each(to, count, [&](void *place) { return qgemm_add(nullptr, &parameters, a, b, len, place); });
}

}  // extern "C"
