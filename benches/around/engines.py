"""One operation as a model of TensorFlow Lite or of ONNX Runtime: so many nodes of it beside each other, from the same inputs."""

import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import rivals

SCALES, ZERO_POINTS = (0.037, 0.011, 0.043), (-3, 17, 5)


class TensorFlowLite(rivals.TensorFlowLite):
    """Tensors are signed bytes, or floats. `with_xnnpack` leaves the operation to XNNPACK."""

    def __init__(self, kind, inputs, result_type, count, with_xnnpack):
        import tflite
        from ai_edge_litert import schema_py_generated as schema

        builder = tflite.Builder()
        shape = (1, 1, len(inputs[0]) // 64, 64)

        def tensor(i, dtype):
            is_real = dtype == "FLOAT32"
            return builder.tensor(shape, [] if is_real else [SCALES[i]], 0 if is_real else ZERO_POINTS[i], dtype=dtype)

        types = {"float32": "FLOAT32", "int8": "INT8"}
        sources = [tensor(i, types[str(data.dtype)]) for i, data in enumerate(inputs)]
        outputs = [tensor(2, types[result_type]) for _ in range(count)]
        options = getattr(schema, kind.capitalize() + "OptionsT")()
        for output in outputs:
            builder.operator(kind, 2, kind.capitalize() + "Options", options, sources, output)
        builder.graph.inputs, builder.graph.outputs = sources, outputs
        super().__init__(builder, inputs, with_xnnpack)


class OnnxRuntime(rivals.OnnxRuntime):
    """Tensors are unsigned bytes, zero points 128 greater, or floats."""

    def __init__(self, kind, inputs, result_type, count):
        from onnx import TensorProto, helper, numpy_helper

        constants, parameters = [], []
        for i, (scale, zero_point) in enumerate(zip(SCALES, ZERO_POINTS)):
            scale, zero_point = numpy.float32(scale), numpy.uint8(zero_point + 128)
            constants += [numpy_helper.from_array(scale, f"s{i}"), numpy_helper.from_array(zero_point, f"z{i}")]
            parameters.append([f"s{i}", f"z{i}"])
        of_a, of_b, of_c = parameters
        names = {
            "QuantizeLinear": ["a", *of_c],
            "DequantizeLinear": ["a", *of_a],
            "QLinearAdd": ["a", *of_a, "b", *of_b, *of_c],
            "DynamicQuantizeLinear": ["a"],
        }[kind]
        types = {"float32": TensorProto.FLOAT, "uint8": TensorProto.UINT8}
        domain = "com.microsoft" if kind == "QLinearAdd" else ""
        shape, nodes, outputs = [len(inputs[0])], [], [f"c{i}" for i in range(count)]
        for output in outputs:
            others = [output + "s", output + "z"] if kind == "DynamicQuantizeLinear" else []
            nodes.append(helper.make_node(kind, names, [output, *others], domain=domain))
        info = helper.make_tensor_value_info
        sources = [info(name, types[str(data.dtype)], shape) for name, data in zip("ab", inputs)]
        results = [info(output, types[result_type], shape) for output in outputs]
        constants = [constant for constant in constants if constant.name in names]
        super().__init__(helper.make_graph(nodes, kind, sources, results, constants), inputs)
