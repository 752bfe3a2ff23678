#include "steps.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

// Convolutions are libqgemm's; this header gives softmax the fixed-point numbers that TensorFlow Lite computes it with.
#include <fixedpoint/fixedpoint.h>
#include <qgemm/qgemm.h>

namespace {

void check(qgemm_status status) {
    if (status != QGEMM_STATUS_OK)
        throw std::runtime_error(std::string(qgemm_status_message(status)) + ": " + qgemm_last_error());
}

// Pixels of padding before an image and after it, of which TensorFlow's SAME puts as many as make the output, times the
// stride, as long as the input.
std::pair<int, int> padding(const Layer &layer, int input, int output, int filter, int stride) {
    const int all = layer.padding == "SAME" ? std::max((output - 1) * stride + filter - input, 0) : 0;
    return {all / 2, all - all / 2};
}

// What the activation leaves of the int8 numbers.
qgemm_stage_clamp activation_range(const Layer &layer) {
    const auto number = [&](double real) {
        return layer.output.zero_point + int(std::lround(real / layer.output.scale));
    };
    if (layer.activation == "RELU6")
        return {std::max(number(0), -128), std::min(number(6), 127)};
    if (layer.activation == "NONE")
        return {-128, 127};
    throw std::runtime_error("layer " + layer.number + ": unknown activation " + layer.activation);
}

class Convolution : public Step {
public:
    explicit Convolution(const Layer &layer);
    void run(const std::int8_t *input, std::int8_t *output) const override;

private:
    struct Free {
        void operator()(qgemm_conv_plan *plan) const { qgemm_conv_plan_free(plan); }
        void operator()(qgemm_packed *packed) const { qgemm_packed_free(packed); }
        void operator()(qgemm_prepared *call) const { qgemm_prepared_free(call); }
    };

    // The prepared call needs all of these, so it is the first to go.
    std::vector<std::int32_t> biases, multipliers, exponents;
    std::unique_ptr<qgemm_conv_plan, Free> plan;
    std::unique_ptr<qgemm_packed, Free> packed;
    std::unique_ptr<qgemm_prepared, Free> call;
};

qgemm_i32_values per_channel(const std::vector<std::int32_t> &values) {
    return {values.data(), std::int64_t(values.size()), 0, QGEMM_PER_COL};
}

Convolution::Convolution(const Layer &layer)
    : biases(layer.biases), multipliers(biases.size()), exponents(biases.size()) {
    const auto rows =
        padding(layer, layer.input.height, layer.output.height, layer.filter_height, layer.stride_height);
    const auto cols = padding(layer, layer.input.width, layer.output.width, layer.filter_width, layer.stride_width);
    qgemm_conv_desc desc = QGEMM_CONV_DESC_INIT;
    desc.input_channels = layer.input.channels, desc.output_channels = layer.output.channels;
    desc.filter_height = layer.filter_height, desc.filter_width = layer.filter_width;
    desc.stride_height = layer.stride_height, desc.stride_width = layer.stride_width;
    desc.pad_top = rows.first, desc.pad_bottom = rows.second;
    desc.pad_left = cols.first, desc.pad_right = cols.second;
    desc.groups = layer.is_depthwise() ? layer.input.channels : 1;
    desc.input_type = desc.weights_type = QGEMM_TYPE_S8;
    qgemm_conv_images images = QGEMM_CONV_IMAGES_INIT;
    images.batch = 1, images.height = layer.input.height, images.width = layer.input.width;
    qgemm_conv_plan *planned = nullptr;
    check(qgemm_conv_plan_create(&desc, &images, &planned));
    plan.reset(planned);

    qgemm_operand weights = QGEMM_OPERAND_INIT;
    weights.data = layer.weights.data();
    // Those of a depthwise filter lie tap by tap; else all weights of an output channel, then those of the next.
    weights.order = layer.is_depthwise() ? QGEMM_ROW_MAJOR : QGEMM_COL_MAJOR;
    qgemm_packed *made = nullptr;
    check(qgemm_conv_pack(&desc, &weights, nullptr, &made));
    packed.reset(made);

    // A sum is worth input scale * weight scale; the output is to be worth output scale.
    for (std::size_t channel = 0; channel < biases.size(); channel++) {
        const double scale = layer.input.scale * layer.weight_scales[channel] / layer.output.scale;
        check(qgemm_quantize_multiplier(scale, &multipliers[channel], &exponents[channel]));
    }
    qgemm_stage stages[4] = {};
    stages[0].kind = QGEMM_STAGE_BIAS;
    stages[0].u.bias.bias = per_channel(biases);
    stages[1].kind = QGEMM_STAGE_SCALE;
    stages[1].u.scale.multiplier = per_channel(multipliers);
    stages[1].u.scale.exponent = per_channel(exponents);
    stages[1].u.scale.offset_after = layer.output.zero_point;
    stages[1].u.scale.rounding = QGEMM_ROUND_TWICE;  // as TensorFlow Lite's reference kernels do
    stages[2].kind = QGEMM_STAGE_CLAMP;
    stages[2].u.clamp = activation_range(layer);
    stages[3].kind = QGEMM_STAGE_CAST_SATURATING;

    // All but the elements is told and checked once.
    qgemm_operand image = QGEMM_OPERAND_INIT, filter = QGEMM_OPERAND_INIT;
    image.offset.value = -layer.input.zero_point, filter.packed = packed.get();
    qgemm_result output = QGEMM_RESULT_INIT;
    output.type = QGEMM_TYPE_S8;
    qgemm_prepared *prepared = nullptr;
    check(qgemm_conv_prepare(nullptr, plan.get(), &image, &filter, &output, stages, 4, nullptr, &prepared));
    call.reset(prepared);
}

void Convolution::run(const std::int8_t *input, std::int8_t *output) const {
    check(qgemm_prepared_run(call.get(), input, nullptr, output));
}

// The means of pixels, rounded to nearest, ties away from zero. No window reaches beyond the image.
class AveragePool : public Step {
public:
    explicit AveragePool(const Layer &layer) : layer(layer) {}

    void run(const std::int8_t *input, std::int8_t *output) const override {
        const int pixels = layer.filter_height * layer.filter_width, channels = layer.output.channels;
        std::vector<int> sums(channels);
        for (int y = 0; y < layer.output.height; y++)
            for (int x = 0; x < layer.output.width; x++) {
                std::fill(sums.begin(), sums.end(), 0);
                for (int row = 0; row < layer.filter_height; row++)
                    for (int col = 0; col < layer.filter_width; col++) {
                        const int pixel = (y * layer.stride_height + row) * layer.input.width +
                                          x * layer.stride_width + col;
                        for (int channel = 0; channel < channels; channel++)
                            sums[channel] += input[pixel * channels + channel];
                    }
                // The quotients of such small numbers are exact in float, or not close to an integer.
                for (const int sum : sums)
                    *output++ = std::int8_t(float(sum + (sum > 0 ? pixels / 2 : -pixels / 2)) / float(pixels));
            }
    }

private:
    Layer layer;
};

class Reshape : public Step {
public:
    explicit Reshape(const Layer &layer) : size(layer.output.size()) {}

    void run(const std::int8_t *input, std::int8_t *output) const override { std::copy_n(input, size, output); }

private:
    std::size_t size;
};

// e^x over the sum of all e^x, as TensorFlow Lite's reference kernel has it.
class Softmax : public Step {
public:
    explicit Softmax(const Layer &layer) : size(layer.output.size()) {
        const double most = 2147483647;
        check(qgemm_quantize_multiplier(std::min(std::ldexp(layer.input.scale, 31 - DIFFERENCE_BITS), most),
                                        &multiplier, &left_shift));
        least = -int(std::ldexp((1 << DIFFERENCE_BITS) - 1, 31 - DIFFERENCE_BITS - left_shift));
    }

    void run(const std::int8_t *input, std::int8_t *output) const override {
        const int greatest = *std::max_element(input, input + size);
        Sum sum = Sum::Zero();
        for (std::size_t i = 0; i < size; i++)
            if (input[i] - greatest >= least)
                sum = sum + gemmlowp::Rescale<SUM_BITS>(exponential(input[i] - greatest));
        // 1 / sum, as a fraction and a power of two.
        int zeros = 0;
        while (std::uint32_t(sum.raw()) << zeros >> 31 == 0)
            zeros++;
        const auto fraction = Fraction::FromRaw(
            std::int32_t((std::uint32_t(sum.raw()) << zeros) - (std::uint32_t(1) << 31)));
        const Fraction reciprocal = gemmlowp::one_over_one_plus_x_for_x_in_0_1(fraction);
        const int shift = SUM_BITS - zeros + 31 - 8;
        for (std::size_t i = 0; i < size; i++) {
            int probability = 0;
            if (input[i] - greatest >= least) {
                const Fraction part = reciprocal * exponential(input[i] - greatest);
                probability = gemmlowp::RoundingDivideByPOT(part.raw(), shift);
            }
            output[i] = std::int8_t(std::min(probability - 128, 127));
        }
    }

private:
    enum { DIFFERENCE_BITS = 5, SUM_BITS = 12 };  // before the point
    using Difference = gemmlowp::FixedPoint<std::int32_t, DIFFERENCE_BITS>;
    using Sum = gemmlowp::FixedPoint<std::int32_t, SUM_BITS>;
    using Fraction = gemmlowp::FixedPoint<std::int32_t, 0>;

    Fraction exponential(int difference) const {
        const std::int32_t shifted = difference * (1 << left_shift);
        return gemmlowp::exp_on_negative_values(
            Difference::FromRaw(gemmlowp::SaturatingRoundingDoublingHighMul(shifted, multiplier)));
    }

    std::size_t size;
    std::int32_t multiplier, left_shift;
    int least;  // what is farther below the greatest input is as good as never
};

}  // namespace

std::unique_ptr<Step> make_step(const Layer &layer) {
    if (layer.is_convolution())
        return std::unique_ptr<Step>(new Convolution(layer));
    if (layer.kind == "AVERAGE_POOL_2D")
        return std::unique_ptr<Step>(new AveragePool(layer));
    if (layer.kind == "RESHAPE")
        return std::unique_ptr<Step>(new Reshape(layer));
    if (layer.kind == "SOFTMAX")
        return std::unique_ptr<Step>(new Softmax(layer));
    throw std::runtime_error("layer " + layer.number + ": unknown kind " + layer.kind);
}
