"""The network as an ONNX model, in the form that ONNX Runtime takes for quantized: everything between QuantizeLinear and
DequantizeLinear, which it makes integer operators of. Its fast kernels for x86 want activations of uint8, so all of them, the
input and the output as well, are those of the network plus 128."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    def __init__(self):
        self.nodes, self.initializers = [], []

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.asarray(array, order="C"), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def parameters(self, tensor):
        return self.constant(numpy.float32(tensor.scale)), self.constant(numpy.uint8(tensor.zero_point + 128))

    def dequantize(self, quantized, tensor):
        return self.node("DequantizeLinear", quantized, *self.parameters(tensor))

    def quantize(self, real, tensor):
        return self.node("QuantizeLinear", real, *self.parameters(tensor))

    def dequantized_constant(self, array, scales):
        """A scale for each of the first dimension, zero points 0."""
        zero_points = numpy.zeros(len(scales), array.dtype)
        inputs = [self.constant(constant) for constant in (array, scales, zero_points)]
        return self.node("DequantizeLinear", *inputs, axis=0)


def same(size, result, taps, stride):
    padding = max((result - 1) * stride + taps - size, 0)
    return padding // 2, padding - padding // 2


def convolution(builder, real, layer):
    # To output channel, input channel, height, width.
    weights = layer.weights.transpose(3, 0, 1, 2) if layer.is_depthwise else layer.weights.transpose(0, 3, 1, 2)
    scales = numpy.array(layer.weight_scales, numpy.float32)
    filters = builder.dequantized_constant(weights, scales)
    biases = builder.dequantized_constant(layer.biases, numpy.float32(layer.input.scale) * scales)
    rows = same(layer.input.height, layer.output.height, layer.filter[0], layer.stride[0])
    cols = same(layer.input.width, layer.output.width, layer.filter[1], layer.stride[1])
    return builder.node(
        "Conv", real, filters, biases, strides=layer.stride, group=layer.input.channels if layer.is_depthwise else 1,
        pads=[rows[0], cols[0], rows[1], cols[1]], kernel_shape=layer.filter,
    )  # fmt: skip


def model(network_input, layers):
    builder = Builder()
    last = builder.node("Transpose", "input", perm=[0, 3, 1, 2])
    last = builder.dequantize(last, network_input)
    for layer in layers:
        if layer.kind == "RESHAPE":
            continue
        if layer.weight_scales:
            # Saturation does what is left of the activation: the greatest number that the output has is 6.
            last = convolution(builder, last, layer)
        elif layer.kind == "AVERAGE_POOL_2D":
            last = builder.node("AveragePool", last, kernel_shape=layer.filter, strides=layer.stride)
        else:
            last = builder.node("Softmax", last, axis=1)
        last = builder.quantize(last, layer.output)
        if layer is not layers[-1]:
            last = builder.dequantize(last, layer.output)
    graph = helper.make_graph(
        builder.nodes, "network",
        [helper.make_tensor_value_info("input", TensorProto.UINT8, network_input.shape)],
        [helper.make_tensor_value_info(last, TensorProto.UINT8, [1, layers[-1].output.channels, 1, 1])],
        builder.initializers,
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made.SerializeToString()
