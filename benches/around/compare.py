"""What surrounds quantized products in libqgemm, TensorFlow Lite and ONNX Runtime, on one thread, one after the other, again and
again: compare.py LIBRARY [ELEMENTS...]. Prints medians, and ratios of them."""

import ctypes
import gc
import pathlib
import re
import sys

import engines
import numpy
import rivals
from engines import SCALES, ZERO_POINTS

HEADER = pathlib.Path(__file__).parent.parent.parent / "include" / "qgemm" / "qgemm.h"
DEFINED = dict(re.findall(r"#define QGEMM_(\w+) (\d+)", HEADER.read_text()))
SIZES = [1 << 16, 1 << 24]
# Of small tensors as many nodes, and twice as many: the difference is what nodes take, without what a call does.
FEW = 2


def defined(name):
    return ctypes.c_uint32(int(DEFINED[name]))


class Libqgemm(rivals.Rival):
    """A function of around.cc, called with these inputs, as many places, how many elements, and more arguments."""

    def __init__(self, library, function, inputs, result_type, count, *arguments):
        self.places = [numpy.zeros(len(inputs[0]), result_type) for _ in range(count)]
        places = (ctypes.c_void_p * count)(*[place.ctypes.data for place in self.places])
        sources = [ctypes.c_void_p(data.ctypes.data) for data in inputs]
        call = getattr(library, function)
        self.kept = inputs
        self.call = lambda: call(*sources, places, count, ctypes.c_int64(len(inputs[0])), *arguments)

    def run(self):
        if status := self.call():
            sys.exit(f"libqgemm: status {status}")

    def result(self):
        return self.places[-1]


def operations(library, elements):
    """For each operation its name, that of the rival, by how much results may differ, and two makers of a `Rival` with so many
    nodes: ours, and theirs."""
    random = numpy.random.default_rng(1)
    real = (random.standard_normal(elements) * 2).astype(numpy.float32)
    a, b = (random.integers(-128, 128, elements).astype(numpy.int8) for _ in range(2))
    # The same numbers for who wants unsigned bytes.
    ua, ub = ((x.astype(numpy.int16) + 128).astype(numpy.uint8) for x in (a, b))
    scales, zero_points = [ctypes.c_float(x) for x in SCALES], [ctypes.c_int32(x) for x in ZERO_POINTS]
    unsigned = [ctypes.c_int32(x + 128) for x in ZERO_POINTS]

    def ours(function, inputs, result_type, *arguments):
        return lambda count: Libqgemm(library, function, inputs, result_type, count, *arguments)

    def lite(kind, inputs, result_type, with_xnnpack):
        return lambda count: engines.TensorFlowLite(kind, inputs, result_type, count, with_xnnpack)

    def onnx(kind, inputs, result_type):
        return lambda count: engines.OnnxRuntime(kind, inputs, result_type, count)

    u8, s8 = defined("TYPE_U8"), defined("TYPE_S8")

    def add(mode, inputs, result_type, type, zero_points):
        arrays = (ctypes.c_float * 3)(*SCALES), (ctypes.c_int32 * 3)(*zero_points)
        return ours("around_add", inputs, result_type, type, defined(f"ADD_{mode}"), *arrays)

    names = ["TFLite's own", "TFLite, XNNPACK"]
    yield (
        "f32 to u8", "ONNX Runtime, QuantizeLinear", 0,
        ours("around_quantize", [real], "uint8", u8, defined("QUANTIZE_DIVIDE"), scales[2], unsigned[2]),
        onnx("QuantizeLinear", [real], "uint8"),
    )  # fmt: skip
    yield (
        "f32 to u8, dynamic", "ONNX Runtime, DynamicQuantizeLinear", 0,
        ours("around_quantize_dynamic", [real], "uint8"), onnx("DynamicQuantizeLinear", [real], "uint8"),
    )  # fmt: skip
    quantize = ours("around_quantize", [real], "int8", s8, defined("QUANTIZE_MULTIPLY"), scales[2], zero_points[2])
    for i, name in enumerate(names):
        yield "f32 to s8", name + ", QUANTIZE", 0, quantize, lite("QUANTIZE", [real], "int8", i == 1)
    yield (
        "u8 to f32", "ONNX Runtime, DequantizeLinear", 0,
        ours("around_dequantize", [ua], "float32", u8, scales[0], unsigned[0]), onnx("DequantizeLinear", [ua], "float32"),
    )  # fmt: skip
    dequantize = ours("around_dequantize", [a], "float32", s8, scales[0], zero_points[0])
    for i, name in enumerate(names):
        yield "s8 to f32", name + ", DEQUANTIZE", 1e-6, dequantize, lite("DEQUANTIZE", [a], "float32", i == 1)
    requantize = ours("around_requantize", [a], "int8", scales[0], zero_points[0], scales[2], zero_points[2])
    for i, name in enumerate(names):
        yield "s8 to s8", name + ", QUANTIZE", i, requantize, lite("QUANTIZE", [a], "int8", i == 1)
    yield (
        "u8 + u8", "ONNX Runtime, QLinearAdd", 1,
        add("F32", [ua, ub], "uint8", u8, [x.value for x in unsigned]), onnx("QLinearAdd", [ua, ub], "uint8"),
    )  # fmt: skip
    for i, mode in enumerate(["TFLITE", "XNNPACK"]):
        yield "s8 + s8", names[i] + ", ADD", i, add(mode, [a, b], "int8", s8, ZERO_POINTS), lite("ADD", [a, b], "int8", i == 1)


def main():
    library = ctypes.CDLL(sys.argv[1])
    sizes = [int(x) for x in sys.argv[2:]] or SIZES
    gc.disable()
    print("| elements | what | beside | libqgemm, us | theirs, us | theirs / ours | of the fastest | differing | by |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    wrong = False
    for elements in sizes:
        is_small = elements < 1 << 20
        for name, rival, allowed, our_maker, their_maker in operations(library, elements):
            counts = [FEW, 2 * FEW] if is_small else [1]
            try:
                ours, theirs = [our_maker(count) for count in counts], [their_maker(count) for count in counts]
            except ImportError as error:
                print(f"{rival}: left out: {error}", file=sys.stderr)
                continue
            (of_ours, our_best), (of_theirs, their_best) = rivals.seconds(
                [ours, theirs], 400 if is_small else 25, FEW if is_small else 0
            )
            got, want = ours[0].result().astype(float), theirs[0].result().astype(float)
            distance = abs(got - want)
            differing, by = numpy.count_nonzero(distance) / elements, distance.max()
            wrong = wrong or by > allowed
            print(
                f"| {elements} | {name} | {rival} | {of_ours * 1e6:.1f} | {of_theirs * 1e6:.1f} | {of_theirs / of_ours:.2f} "
                f"| {their_best / our_best:.2f} | {differing * 100:.2g} % | {by:.2g}{' (!)' if by > allowed else ''} |",
                flush=True,
            )
    return int(wrong)


sys.exit(main())
