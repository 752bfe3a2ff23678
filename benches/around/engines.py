"""One operation as a model of TensorFlow Lite or of ONNX Runtime: so many nodes of it beside each other, from the same inputs."""

import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "network"))

SCALES, ZERO_POINTS = (0.037, 0.011, 0.043), (-3, 17, 5)


class Rival:
    """What runs a model: `run()`, and then `result()` of one node."""


class TensorFlowLite(Rival):
    """Tensors are signed bytes, or floats. `with_xnnpack` leaves the operation to XNNPACK."""

    def __init__(self, kind, inputs, result_type, count, with_xnnpack):
        import flatbuffers
        import tflite
        from ai_edge_litert import interpreter, schema_py_generated as schema

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
        packed = flatbuffers.Builder(1 << 20)
        packed.Finish(builder.model.Pack(packed), b"TFL3")
        resolvers = interpreter.OpResolverType
        resolver = resolvers.AUTO if with_xnnpack else resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        self.interpreter = interpreter.Interpreter(
            model_content=bytes(packed.Output()), num_threads=1, experimental_op_resolver_type=resolver
        )
        self.interpreter.allocate_tensors()
        for detail, data in zip(self.interpreter.get_input_details(), inputs):
            self.interpreter.set_tensor(detail["index"], data.reshape(shape))
        self.run = self.interpreter.invoke

    def result(self):
        return self.interpreter.get_tensor(self.interpreter.get_output_details()[-1]["index"]).ravel()


class OnnxRuntime(Rival):
    """Tensors are unsigned bytes, zero points 128 greater, or floats."""

    def __init__(self, kind, inputs, result_type, count):
        import onnxruntime
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
        graph = helper.make_graph(nodes, kind, sources, results, constants)
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Nodes that do the same would become one.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.binding = session.io_binding()
        self.values = [onnxruntime.OrtValue.ortvalue_from_numpy(data) for data in inputs]
        for name, value in zip("ab", self.values):
            self.binding.bind_ortvalue_input(name, value)
        empty = onnxruntime.OrtValue.ortvalue_from_shape_and_type
        self.places = [empty(shape, numpy.dtype(result_type)) for _ in outputs]
        for output, place in zip(outputs, self.places):
            self.binding.bind_ortvalue_output(output, place)
        self.run = lambda: session.run_with_iobinding(self.binding)

    def result(self):
        return self.places[-1].numpy()
