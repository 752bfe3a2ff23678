"""Convolution layers in libqgemm, TensorFlow Lite, ONNX Runtime and oneDNN, on one thread, one after the other, again
and again: compare.py LIBRARIES [BITS]. Prints medians, and ratios of them; weights have so many bits."""

import ctypes
import gc
import pathlib
import sys

import engines
import numpy
import rivals
from layer import SHAPES, Layer

LIBRARIES = pathlib.Path(sys.argv[1])
WEIGHT_BITS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
ROUNDS = 150


class Given(ctypes.Structure):
    """The layer of layer.h."""

    _fields_ = [
        *[(name, ctypes.c_int64) for name in ["size", "channels", "taps", "stride", "results", "groups"]],
        *[(name, ctypes.c_int64) for name in ["pad_before", "pad_after"]],
        *[(name, ctypes.c_void_p) for name in ["image", "weights", "result", "biases", "scales"]],
        *[(name, ctypes.c_int32) for name in ["image_zero_point", "weights_zero_point", "result_zero_point"]],
        *[(name, ctypes.c_int32) for name in ["image_is_signed", "weights_are_signed", "in_fixed_point"]],
    ]


class Compiled(rivals.Rival):
    """A layer, so many times, in a library that has the functions of layer.h."""

    def __init__(self, name, layer, count, in_fixed_point=False):
        library = ctypes.CDLL(LIBRARIES / f"liblayers_{name}.so")
        library.layer_open.restype = ctypes.c_void_p
        shape = layer.shape
        self.arrays = [layer.image, layer.weights, layer.biases, layer.scales]
        image, weights, biases, scales = [array.ctypes.data for array in self.arrays]
        self.places = [numpy.zeros(shape.out**2 * shape.results, layer.image.dtype) for _ in range(count)]
        opened = (ctypes.c_void_p * count)()
        for i, place in enumerate(self.places):
            opened[i] = library.layer_open(ctypes.byref(Given(
                *shape[:5], shape.groups, shape.pad_before, shape.pad_after,
                image, weights, place.ctypes.data, biases, scales,
                layer.image_zero_point, layer.weights_zero_point, layer.result_zero_point,
                *[one == "s8" for one in layer.types], in_fixed_point,
            )))  # fmt: skip
            if not opened[i]:
                raise NotImplementedError("no such layer")
        run = library.layer_run
        self.run = lambda: run(opened, count)

    def result(self):
        return self.places[-1]


def contenders(shape):
    """For each pair that compares, the name of the rival, and makers of two `Rival` with so many nodes: ours, and theirs."""
    types = [("u8", "s8"), ("s8", "s8"), ("u8", "u8")]
    u8s8, s8s8, u8u8 = (Layer(shape, *pair, WEIGHT_BITS) for pair in types)

    def ours(layer, in_fixed_point=False):
        return lambda count: Compiled("libqgemm", layer, count, in_fixed_point)

    in_floats = ours(u8s8)
    yield "TFLite, XNNPACK, s8 x s8", ours(s8s8, True), lambda count: engines.TensorFlowLite(s8s8, count)
    yield "ONNX Runtime, u8 x s8", in_floats, lambda count: engines.OnnxRuntime(u8s8, count)
    yield "oneDNN, u8 x s8", in_floats, lambda count: Compiled("onednn", u8s8, count)
    yield "ONNX Runtime, u8 x u8", ours(u8u8), lambda count: engines.OnnxRuntime(u8u8, count)


def compare(shape):
    """Prints a line for each rival; returns by how much results differ, at most."""
    # Two models by each maker: of a node, and of two.
    made, pairs = {}, []
    for name, *makers in contenders(shape):
        try:
            for maker in makers:
                if maker not in made:
                    made[maker] = [maker(count) for count in (1, 2)]
        except (ImportError, OSError, NotImplementedError) as error:
            print(f"{shape}, {name}: left out: {error}", file=sys.stderr)
            continue
        pairs.append((name, *makers))
    taken = dict(zip(made, rivals.seconds(list(made.values()), ROUNDS, 1)))
    most = 0
    for name, ours, theirs in pairs:
        (of_ours, our_best), (of_theirs, their_best) = taken[ours], taken[theirs]
        print(
            f"| {shape} | {name} | {of_ours * 1e6:.1f} | {of_theirs * 1e6:.1f} | {of_theirs / of_ours:.2f} "
            f"| {their_best / our_best:.2f} |",
            flush=True,
        )
        distance = abs(made[ours][1].result().astype(int) - made[theirs][1].result())
        most = max(most, distance.max())
        if distance.max() > 1:
            print(f"{shape}, {name}: results are up to {distance.max()} apart", file=sys.stderr)
    return most


def main():
    gc.disable()
    print("| layer | beside | libqgemm, us | theirs, us | theirs / ours | of the fastest |")
    print("| --- | --- | --- | --- | --- | --- |")
    return int(max([compare(shape) for shape in SHAPES]) > 1)


sys.exit(main())
