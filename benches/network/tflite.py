"""The network as a TensorFlow Lite model."""

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema


class Builder:
    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.subgraphs = [self.graph]

    def tensor(self, shape, scales, zero_point, data=None, dtype="INT8", dimension=0):
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.name = list(shape), getattr(schema.TensorType, dtype), b""
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale = list(scales)
        tensor.quantization.zeroPoint = [zero_point] * len(tensor.quantization.scale)
        tensor.quantization.quantizedDimension = dimension
        tensor.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = numpy.frombuffer(data.tobytes(), numpy.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def operator(self, kind, version, options_type, options, inputs, output):
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, kind)
        code.deprecatedBuiltinCode, code.version = code.builtinCode, version
        self.model.operatorCodes.append(code)
        operator = schema.OperatorT()
        operator.opcodeIndex = len(self.model.operatorCodes) - 1
        operator.inputs, operator.outputs = inputs, [output]
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, options_type)
        operator.builtinOptions = options
        self.graph.operators.append(operator)

    def finished(self):
        """The bytes of the model."""
        packed = flatbuffers.Builder(1 << 20)
        packed.Finish(self.model.Pack(packed), b"TFL3")
        return bytes(packed.Output())


def options_of(layer):
    name = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "AVERAGE_POOL_2D": "Pool2DOptions"}
    name = name.get(layer.kind, layer.kind.capitalize() + "Options")
    options = getattr(schema, name + "T")()
    if layer.weight_scales or layer.kind == "AVERAGE_POOL_2D":
        options.strideH, options.strideW = layer.stride
        options.padding = getattr(schema.Padding, layer.padding)
        options.fusedActivationFunction = getattr(schema.ActivationFunctionType, layer.activation)
    if layer.weight_scales:
        options.dilationHFactor = options.dilationWFactor = 1
    if layer.is_depthwise:
        options.depthMultiplier = layer.output.channels // layer.input.channels
    if layer.kind == "AVERAGE_POOL_2D":
        options.filterHeight, options.filterWidth = layer.filter
    if layer.kind == "SOFTMAX":
        options.beta = 1.0
    return name, options


def model(network_input, layers):
    builder = Builder()
    last = builder.tensor(network_input.shape, [network_input.scale], network_input.zero_point)
    builder.graph.inputs = [last]
    for layer in layers:
        inputs = [last]
        if layer.weight_scales:
            weights = layer.weights
            inputs.append(
                builder.tensor(weights.shape, layer.weight_scales, 0, weights, dimension=3 if layer.is_depthwise else 0)
            )
            scales = [numpy.float32(layer.input.scale) * numpy.float32(scale) for scale in layer.weight_scales]
            inputs.append(builder.tensor(layer.biases.shape, scales, 0, layer.biases, "INT32"))
        if layer.kind == "RESHAPE":
            shape = numpy.array(layer.output.shape, numpy.int32)
            inputs.append(builder.tensor(shape.shape, [], 0, shape, "INT32"))
        last = builder.tensor(layer.output.shape, [layer.output.scale], layer.output.zero_point)
        version = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "AVERAGE_POOL_2D": 2, "SOFTMAX": 2}.get(layer.kind, 1)
        name, options = options_of(layer)
        builder.operator(layer.kind, version, name, options, inputs, last)
    builder.graph.outputs = [last]
    return builder.finished()
