"""What comparisons with engines share: a model in TensorFlow Lite or ONNX Runtime, on one thread, and what nodes take."""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "network"))


class Rival:
    """What runs a model: `run()`, and then `result()`, its last output."""


class TensorFlowLite(Rival):
    """What a `tflite.Builder` has built. `with_xnnpack` leaves the operations to XNNPACK."""

    def __init__(self, builder, inputs, with_xnnpack):
        from ai_edge_litert import interpreter

        resolvers = interpreter.OpResolverType
        resolver = resolvers.AUTO if with_xnnpack else resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        self.interpreter = interpreter.Interpreter(
            model_content=builder.finished(), num_threads=1, experimental_op_resolver_type=resolver
        )
        self.interpreter.allocate_tensors()
        for detail, data in zip(self.interpreter.get_input_details(), inputs):
            self.interpreter.set_tensor(detail["index"], data.reshape(detail["shape"]))
        self.run = self.interpreter.invoke

    def result(self):
        return self.interpreter.get_tensor(self.interpreter.get_output_details()[-1]["index"]).ravel()


class OnnxRuntime(Rival):
    """A graph of ONNX, its shapes known."""

    def __init__(self, graph, inputs):
        import onnxruntime
        from onnx import helper

        opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # Nodes that do the same would become one.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.binding = session.io_binding()
        self.values = [onnxruntime.OrtValue.ortvalue_from_numpy(data) for data in inputs]
        for given, value in zip(graph.input, self.values):
            self.binding.bind_ortvalue_input(given.name, value)
        self.places = []
        for output in graph.output:
            tensor = output.type.tensor_type
            shape = [dimension.dim_value for dimension in tensor.shape.dim]
            dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            self.places.append(onnxruntime.OrtValue.ortvalue_from_shape_and_type(shape, dtype))
            self.binding.bind_ortvalue_output(output.name, self.places[-1])
        self.run = lambda: session.run_with_iobinding(self.binding)

    def result(self):
        return self.places[-1].numpy().ravel()


def seconds(rivals, rounds, more=0):
    """What a node takes in each of these lists of models, which take turns: the median, and the least. Lists have one
    model of one node; or two, of which the second has so many nodes more: then their difference counts, without what a
    call does."""
    times = [[[] for _ in models] for models in rivals]
    for warm in [False] * 2 + [True] * rounds:
        for models, lists in zip(rivals, times):
            for model, found in zip(models, lists):
                start = time.perf_counter()
                model.run()
                if warm:
                    found.append(time.perf_counter() - start)

    def of_node(of, lists):
        found = [of(calls) for calls in lists]
        return (found[1] - found[0]) / more if more else found[0]

    return [(of_node(statistics.median, lists), of_node(min, lists)) for lists in times]
