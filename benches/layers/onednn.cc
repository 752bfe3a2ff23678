// Layers in oneDNN (PyPI: onednn-cpu-gomp, onednn-devel-cpu-gomp): its convolution primitive, weights reordered once into
// the layout that it likes.

#include "layer.h"

#include <dnnl.hpp>

#include <cstdio>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace {

using namespace dnnl;
using tag = memory::format_tag;
using type = memory::data_type;

// It is never freed.
struct Opened {
    engine cpu{engine::kind::cpu, 0};
    stream work{cpu};
    std::vector<float> biases;
    convolution_forward convolution;
    std::unordered_map<int, memory> arguments;

    explicit Opened(const layer &layer);
};

Opened::Opened(const layer &layer) {
    const memory::dim out = (layer.size + layer.pad_before + layer.pad_after - layer.taps) / layer.stride + 1;
    const type image_type = layer.image_is_signed ? type::s8 : type::u8;
    const type weights_type = layer.weights_are_signed ? type::s8 : type::u8;
    const memory::desc image({1, layer.channels, layer.size, layer.size}, image_type, tag::nhwc);
    const memory::desc result({1, layer.results, out, out}, image_type, tag::nhwc);
    const memory::desc bias({layer.results}, type::f32, tag::a);
    const bool is_depthwise = layer.groups > 1;
    memory::dims filter = {layer.results / layer.groups, layer.channels / layer.groups, layer.taps, layer.taps};
    if (is_depthwise)
        filter.insert(filter.begin(), layer.groups);
    const memory::desc plain(filter, weights_type, is_depthwise ? tag::hwigo : tag::ohwi);

    // By the dimensions that channels of the result are spread over.
    primitive_attr attributes;
    attributes.set_scales_mask(DNNL_ARG_WEIGHTS, is_depthwise ? 3 : 1);
    const memory::dims stride(2, layer.stride), before(2, layer.pad_before), after(2, layer.pad_after);
    const convolution_forward::primitive_desc chosen(
        cpu, prop_kind::forward_inference, algorithm::convolution_direct, image,
        memory::desc(filter, weights_type, tag::any), bias, result, stride, before, after, attributes);
    convolution = convolution_forward(chosen);

    // Biases are added to what is scaled already.
    for (memory::dim i = 0; i < layer.results; i++)
        biases.push_back(static_cast<float>(layer.biases[i]) * layer.scales[i]);
    memory given(plain, cpu, const_cast<void *>(layer.weights)), reordered(chosen.weights_desc(), cpu);
    reorder(given, reordered).execute(work, given, reordered);
    work.wait();
    arguments = {{DNNL_ARG_SRC, memory(image, cpu, const_cast<void *>(layer.image))},
                 {DNNL_ARG_WEIGHTS, reordered},
                 {DNNL_ARG_BIAS, memory(bias, cpu, biases.data())},
                 {DNNL_ARG_DST, memory(result, cpu, layer.result)},
                 {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, memory(bias, cpu, const_cast<float *>(layer.scales))}};
}

}  // namespace

void *layer_open(const layer *given) try {
    if (given->image_zero_point || given->weights_zero_point || given->result_zero_point || given->in_fixed_point)
        throw std::runtime_error("only zero points of 0, and scales in floats");
    return new Opened(*given);
} catch (const std::exception &error) {
    std::fprintf(stderr, "oneDNN: %s\n", error.what());
    return nullptr;
}

void layer_run(void *const *layers, int count) {
    for (int i = 0; i < count; i++) {
        Opened &opened = *static_cast<Opened *>(layers[i]);
        opened.convolution.execute(opened.work, opened.arguments);
        opened.work.wait();
    }
}
