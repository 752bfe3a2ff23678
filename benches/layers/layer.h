// A quantized convolution of one image as two functions, for compare.py: libqgemm.cc and onednn.cc have them.

#ifndef LAYER_H
#define LAYER_H

#include <cstdint>

// Images and filters are square. Image and result lie pixel by pixel (NHWC), and have one type.
struct layer {
    std::int64_t size, channels, taps, stride, results, groups;
    std::int64_t pad_before, pad_after;
    // Of each channel of the result all weights, tap by tap; of a depthwise filter each tap for all channels.
    const void *image, *weights;
    void *result;
    // For each channel of the result: what is added to a sum, and then multiplied by.
    const std::int32_t *biases;
    const float *scales;
    std::int32_t image_zero_point, weights_zero_point, result_zero_point;
    // Of signed bytes are the image with the result, and the weights.
    std::int32_t image_is_signed, weights_are_signed;
    // Scaled in fixed point, rounded twice, as TensorFlow Lite's reference does; else in floats, rounded to even.
    std::int32_t in_fixed_point;
};

extern "C" {

// What runs a layer, whose arrays stay; NULL if it cannot be had, after a message.
void *layer_open(const layer *given);

// One after the other.
void layer_run(void *const *layers, int count);
}

#endif
