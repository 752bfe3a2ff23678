// A quantized network: what its files say.

#ifndef MOBILENET_NETWORK_H
#define MOBILENET_NETWORK_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// An image of int8 numbers, channel by channel, pixel by pixel. The number x stands for scale * (x - zero_point).
struct Tensor {
    int height = 1, width = 1, channels = 1;
    double scale = 1;
    int zero_point = 0;

    std::size_t size() const { return std::size_t(height) * width * channels; }
};

struct Layer {
    std::string number, kind, padding, activation;
    int filter_height = 1, filter_width = 1, stride_height = 1, stride_width = 1;
    Tensor input, output;
    std::vector<double> weight_scales;  // one for each channel of the output
    std::vector<std::int8_t> weights;
    std::vector<std::int32_t> biases;
    std::vector<std::int8_t> golden;  // what TensorFlow Lite gives for the picture

    bool is_depthwise() const { return kind == "DEPTHWISE_CONV_2D"; }
    bool is_convolution() const { return is_depthwise() || kind == "CONV_2D"; }
};

struct Network {
    Tensor input;
    std::vector<std::int8_t> picture;
    std::vector<Layer> layers;
};

// Throws a std::runtime_error that names the file if one is missing or not what it should be.
Network read_network(const std::string &directory);

#endif
