"""A layer as a model of TensorFlow Lite or of ONNX Runtime: so many nodes of it, all from the same image."""

import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import rivals


class TensorFlowLite(rivals.TensorFlowLite):
    """Of signed bytes, with XNNPACK."""

    def __init__(self, layer, count):
        import tflite
        from ai_edge_litert import schema_py_generated as schema

        shape = layer.shape
        builder = tflite.Builder()
        image = builder.tensor(layer.image.shape, [layer.image_scale], layer.image_zero_point)
        channels = 3 if shape.is_depthwise else 0
        weights = builder.tensor(layer.weights.shape, layer.weight_scales, 0, layer.weights, dimension=channels)
        bias_scales = numpy.float32(layer.image_scale) * layer.weight_scales
        biases = builder.tensor(layer.biases.shape, bias_scales, 0, layer.biases, "INT32")
        kind, name = "CONV_2D", "Conv2DOptions"
        if shape.is_depthwise:
            kind, name = "DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions"
        options = getattr(schema, name + "T")()
        options.strideH = options.strideW = shape.stride
        options.dilationHFactor = options.dilationWFactor = 1
        options.padding = schema.Padding.SAME
        options.fusedActivationFunction = schema.ActivationFunctionType.RELU
        if shape.is_depthwise:
            options.depthMultiplier = 1
        result = (1, shape.out, shape.out, shape.results)
        outputs = [builder.tensor(result, [layer.result_scale], layer.result_zero_point) for _ in range(count)]
        for output in outputs:
            builder.operator(kind, 3, name, options, [image, weights, biases], output)
        builder.graph.inputs, builder.graph.outputs = [image], outputs
        super().__init__(builder, [layer.image], with_xnnpack=True)


class OnnxRuntime(rivals.OnnxRuntime):
    """Its own QLinearConv, whose channels come last; images are of unsigned bytes."""

    def __init__(self, layer, count):
        from onnx import TensorProto, helper, numpy_helper

        shape = layer.shape
        # To output channel, input channel, height, width.
        weights = layer.weights.transpose((3, 0, 1, 2) if shape.is_depthwise else (0, 3, 1, 2))
        weight_zero_points = numpy.full_like(layer.weight_scales, layer.weights_zero_point, layer.weights.dtype)
        # The scale for all, which unsigned weights have, is not a list.
        per_channel = slice(None) if layer.per_channel else 0
        constants = {
            "image_scale": numpy.float32(layer.image_scale), "image_zero": numpy.uint8(layer.image_zero_point),
            "weights": numpy.ascontiguousarray(weights), "weights_scale": layer.weight_scales[per_channel],
            "weights_zero": weight_zero_points[per_channel],
            "result_scale": numpy.float32(layer.result_scale), "result_zero": numpy.uint8(layer.result_zero_point),
            "biases": layer.biases,
        }  # fmt: skip
        outputs = [f"result{i}" for i in range(count)]
        nodes = [
            helper.make_node(
                "QLinearConv", ["image", *constants], [output], domain="com.microsoft", channels_last=1,
                group=shape.groups, kernel_shape=[shape.taps] * 2, strides=[shape.stride] * 2,
                pads=[shape.pad_before] * 2 + [shape.pad_after] * 2,
            ) for output in outputs
        ]  # fmt: skip
        info = helper.make_tensor_value_info
        source = info("image", TensorProto.UINT8, layer.image.shape)
        results = [info(output, TensorProto.UINT8, [1, shape.out, shape.out, shape.results]) for output in outputs]
        arrays = [numpy_helper.from_array(numpy.asarray(constant), name) for name, constant in constants.items()]
        super().__init__(helper.make_graph(nodes, "layer", [source], results, arrays), [layer.image])
