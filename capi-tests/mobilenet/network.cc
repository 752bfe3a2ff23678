#include "network.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace {

[[noreturn]] void fail(const std::string &path, const std::string &why) {
    throw std::runtime_error(path + ": " + why);
}

// A file of so many numbers, as they lie in memory on a little-endian machine.
template <typename T>
std::vector<T> read_numbers(const std::string &path, std::size_t count) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        fail(path, "cannot be opened");
    std::vector<unsigned char> bytes(count * sizeof(T) + 1);
    file.read(reinterpret_cast<char *>(bytes.data()), std::streamsize(bytes.size()));
    if (std::size_t(file.gcount()) != count * sizeof(T))
        fail(path, "has not the expected " + std::to_string(count * sizeof(T)) + " bytes");
    std::vector<T> numbers(count);
    for (std::size_t i = 0; i < count; i++) {
        std::uint32_t number = 0;
        for (std::size_t byte = sizeof(T); byte-- > 0;)
            number = number << 8 | bytes[i * sizeof(T) + byte];
        numbers[i] = T(number);
    }
    return numbers;
}

std::istream &operator>>(std::istream &words, Tensor &tensor) {
    std::string scale, zero_point;
    return words >> tensor.height >> tensor.width >> tensor.channels >> scale >> tensor.scale >> zero_point >>
           tensor.zero_point;
}

// A line of network.txt; README.md beside it says what it consists of.
bool parse(std::istringstream words, Layer &layer) {
    std::string key;
    words >> layer.number >> layer.kind;
    while (words >> key) {
        if (key == "filter")
            words >> layer.filter_height >> layer.filter_width;
        else if (key == "stride")
            words >> layer.stride_height >> layer.stride_width;
        else if (key == "padding")
            words >> layer.padding;
        else if (key == "activation")
            words >> layer.activation;
        else if (key == "output")
            words >> layer.output;
        else if (key == "weight_scales")
            for (double scale; words >> scale;)
                layer.weight_scales.push_back(scale);
        else
            return false;
    }
    return words.eof();
}

}  // namespace

Network read_network(const std::string &directory) {
    const std::string path = directory + "/network.txt";
    std::ifstream lines(path);
    if (!lines)
        fail(path, "cannot be opened");
    Network network;
    std::string input;
    if (!(lines >> input >> network.input) || input != "input")
        fail(path, "does not begin with the input");
    network.picture = read_numbers<std::int8_t>(directory + "/golden/person/input.s8", network.input.size());
    Tensor last = network.input;
    for (std::string line; std::getline(lines >> std::ws, line);) {
        Layer layer;
        layer.input = last;
        if (!parse(std::istringstream(line), layer))
            fail(path, "a line is not understood: " + line);
        if (layer.is_convolution()) {
            const std::size_t channels = std::size_t(layer.output.channels);
            const std::size_t taps = std::size_t(layer.filter_height) * layer.filter_width;
            const std::string weights = directory + "/weights/" + layer.number;
            const std::size_t sums_over = layer.is_depthwise() ? taps : taps * layer.input.channels;
            if (layer.weight_scales.size() != channels)
                fail(path, "layer " + layer.number + " has not a scale for each channel");
            layer.weights = read_numbers<std::int8_t>(weights + "_weights.s8", channels * sums_over);
            layer.biases = read_numbers<std::int32_t>(weights + "_bias.s32", channels);
        }
        layer.golden =
            read_numbers<std::int8_t>(directory + "/golden/person/" + layer.number + ".s8", layer.output.size());
        last = layer.output;
        network.layers.push_back(layer);
    }
    return network;
}
