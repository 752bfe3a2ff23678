"""Writes TFLite models of one operation."""

import flatbuffers
import numpy
import tflite

TYPES = {
    "uint8": tflite.TensorType.UINT8,
    "int8": tflite.TensorType.INT8,
    "int16": tflite.TensorType.INT16,
    "int32": tflite.TensorType.INT32,
    "float32": tflite.TensorType.FLOAT32,
}


class Tensor:
    """What a tensor is: its numbers too if they are part of the model. Scales: one, or one for each row."""

    def __init__(self, dtype, shape, scales=None, zero_point=0, values=None):
        self.dtype, self.shape, self.values = numpy.dtype(dtype), shape, values
        self.scales = None if scales is None else numpy.atleast_1d(numpy.float32(scales))
        self.zero_point = zero_point


def vector(builder, start, values, prepend):
    start(builder, len(values))
    for value in reversed(values):
        prepend(value)
    return builder.EndVector()


def quantization(builder, tensor):
    scales = builder.CreateNumpyVector(tensor.scales)
    zero_points = builder.CreateNumpyVector(numpy.full(len(tensor.scales), tensor.zero_point, numpy.int64))
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddScale(builder, scales)
    tflite.QuantizationParametersAddZeroPoint(builder, zero_points)
    tflite.QuantizationParametersAddQuantizedDimension(builder, 0)
    return tflite.QuantizationParametersEnd(builder)


def described(builder, tensor, buffer, name):
    name = builder.CreateString(name)
    shape = builder.CreateNumpyVector(numpy.array(tensor.shape, numpy.int32))
    parameters = None if tensor.scales is None else quantization(builder, tensor)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, TYPES[tensor.dtype.name])
    tflite.TensorAddBuffer(builder, buffer)
    tflite.TensorAddName(builder, name)
    if parameters is not None:
        tflite.TensorAddQuantization(builder, parameters)
    return tflite.TensorEnd(builder)


def buffers_and_tensors(builder, tensors):
    tflite.BufferStart(builder)
    buffers, offsets = [tflite.BufferEnd(builder)], []
    for i, tensor in enumerate(tensors):
        buffer = 0
        if tensor.values is not None:
            data = builder.CreateNumpyVector(numpy.frombuffer(tensor.values.tobytes(), numpy.uint8))
            tflite.BufferStart(builder)
            tflite.BufferAddData(builder, data)
            buffers.append(tflite.BufferEnd(builder))
            buffer = len(buffers) - 1
        offsets.append(described(builder, tensor, buffer, f"tensor{i}"))
    return buffers, offsets


def integers(builder, values):
    return builder.CreateNumpyVector(numpy.array(values, numpy.int32))


def model(code, version, options, inputs, output):
    """The bytes of a model: `code` of `inputs`, those without values being arguments. `options` is a function that
    writes them, and its type, or None."""
    builder = flatbuffers.Builder(4096)
    tensors = inputs + [output]
    buffers, offsets = buffers_and_tensors(builder, tensors)
    arguments = integers(builder, [i for i, tensor in enumerate(inputs) if tensor.values is None])
    operands, results = integers(builder, range(len(inputs))), integers(builder, [len(inputs)])
    written = options and options[0](builder)
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, 0)
    tflite.OperatorAddInputs(builder, operands)
    tflite.OperatorAddOutputs(builder, results)
    if options:
        tflite.OperatorAddBuiltinOptions(builder, written)
        tflite.OperatorAddBuiltinOptionsType(builder, options[1])
    operator = tflite.OperatorEnd(builder)

    relative = builder.PrependUOffsetTRelative
    operators = vector(builder, tflite.SubGraphStartOperatorsVector, [operator], relative)
    all_tensors = vector(builder, tflite.SubGraphStartTensorsVector, offsets, relative)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, all_tensors)
    tflite.SubGraphAddInputs(builder, arguments)
    tflite.SubGraphAddOutputs(builder, results)
    tflite.SubGraphAddOperators(builder, operators)
    graph = tflite.SubGraphEnd(builder)

    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddBuiltinCode(builder, code)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, code)
    tflite.OperatorCodeAddVersion(builder, version)
    codes = vector(builder, tflite.ModelStartOperatorCodesVector, [tflite.OperatorCodeEnd(builder)], relative)
    graphs = vector(builder, tflite.ModelStartSubgraphsVector, [graph], relative)
    all_buffers = vector(builder, tflite.ModelStartBuffersVector, buffers, relative)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddBuffers(builder, all_buffers)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())
