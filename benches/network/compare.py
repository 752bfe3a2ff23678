"""The network in libqgemm, in TensorFlow Lite and in ONNX Runtime, on one thread, one after the other, again and again:
compare.py LIBRARY. Prints medians, and ratios of them."""

import ctypes
import gc
import statistics
import sys
import time

import network
import numpy

ROUNDS = 300
network_input, layers = network.read()
picture = network.picture(network_input)


def libqgemm(path):
    library = ctypes.CDLL(path)
    library.network_open.restype = ctypes.c_void_p
    library.network_run.argtypes = [ctypes.c_void_p] * 3
    opened = library.network_open(str(network.DATA).encode())
    output = numpy.zeros(2, numpy.int8)
    run, arguments = library.network_run, (opened, picture.ctypes.data, output.ctypes.data)
    return lambda: run(*arguments), lambda: output


def tensorflow_lite(with_xnnpack):
    import tflite
    from ai_edge_litert import interpreter

    resolvers = interpreter.OpResolverType
    interpreted = interpreter.Interpreter(
        model_content=tflite.model(network_input, layers), num_threads=1,
        experimental_op_resolver_type=resolvers.AUTO if with_xnnpack else resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )  # fmt: skip
    interpreted.allocate_tensors()
    interpreted.set_tensor(interpreted.get_input_details()[0]["index"], picture)
    output = interpreted.get_output_details()[0]["index"]
    return interpreted.invoke, lambda: interpreted.get_tensor(output).ravel()


def onnx_runtime():
    import onnxmodel
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        onnxmodel.model(network_input, layers), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    binding.bind_cpu_input("input", (picture.astype(numpy.int16) + 128).astype(numpy.uint8))
    binding.bind_output(session.get_outputs()[0].name)
    run = session.run_with_iobinding
    return lambda: run(binding), lambda: binding.copy_outputs_to_cpu()[0].ravel().astype(int) - 128


def contenders():
    """Names, and functions that run the network and give its output. Who is not installed is left out."""
    makers = {
        "libqgemm": lambda: libqgemm(sys.argv[1]),
        "TensorFlow Lite, XNNPACK": lambda: tensorflow_lite(True),
        "TensorFlow Lite, its own": lambda: tensorflow_lite(False),
        "ONNX Runtime": onnx_runtime,
    }
    for name, make in makers.items():
        try:
            yield name, make()
        except ImportError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)


def main():
    all_of_them = dict(contenders())
    times = {name: [] for name in all_of_them}
    gc.disable()
    for warm in [False] * 20 + [True] * ROUNDS:
        for name, (run, _) in all_of_them.items():
            start = time.perf_counter()
            run()
            if warm:
                times[name].append((time.perf_counter() - start) * 1e6)
    golden = layers[-1].golden.ravel().astype(int)
    ours = statistics.median(times["libqgemm"])
    print("| | median, us | fastest, us | times libqgemm's median | output |\n| --- | --- | --- | --- | --- |")
    wrong = False
    for name, (_, output) in all_of_them.items():
        median = statistics.median(times[name])
        numbers = output().astype(int)
        wrong = wrong or abs(numbers - golden).max() > (0 if name == "libqgemm" else 3)
        print(f"| {name} | {median:.0f} | {min(times[name]):.0f} | {median / ours:.2f} | {numbers.tolist()} |")
    print(f"\nTensorFlow Lite's reference kernels give {golden.tolist()}.")
    return int(wrong)


sys.exit(main())
