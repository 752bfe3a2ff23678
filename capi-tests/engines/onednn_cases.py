"""Records what oneDNN's products with attributes are. Usage: onednn_cases.py LIBRARY DIRECTORY, where the library is made
of onednn_product.cc."""

import ctypes
import sys
from importlib.metadata import version

import numpy

from recorded import Recorded, integers, scale, zero_point

ELTWISE, SUM, BINARY = range(3)
PER_COLUMN, PER_ELEMENT = range(2)
SHAPES = ((7, 24, 40), (1, 5, 333), (16, 16, 3))
TYPES = {
    "u8": numpy.uint8, "s8": numpy.int8, "s32": numpy.int32, "f32": numpy.float32, "bf16": numpy.uint16,
}  # fmt: skip


class Post(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int64),
        ("algorithm", ctypes.c_char_p),
        ("alpha", ctypes.c_double),
        ("beta", ctypes.c_double),
        ("sum_zero_point", ctypes.c_int64),
        ("axis", ctypes.c_int64),
        ("operand", ctypes.c_void_p),
    ]


class Product(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_int64) for name in ("m", "n", "k")]
        + [(name, ctypes.c_char_p) for name in ("a_type", "c_type")]
        + [(name, ctypes.c_void_p) for name in ("a", "b", "a_scales", "b_scales", "c_scale")]
        + [(name, ctypes.c_int64) for name in ("a_scale_count", "b_scale_count")]
        + [(name, ctypes.c_void_p) for name in ("a_zero_point", "b_zero_point", "c_zero_point", "bias", "c")]
        + [("post_count", ctypes.c_int64), ("posts", ctypes.POINTER(Post)), ("told", ctypes.c_char * 256)]
    )


def pointer(tensor):
    return None if tensor is None else tensor.ctypes.data


class Engine:
    """The library, and where results are recorded."""

    def __init__(self, library, directory):
        self.library = ctypes.CDLL(library)
        self.library.version.restype = ctypes.c_char_p
        engine = f"oneDNN {self.library.version().decode()} of onednn-cpu-gomp {version('onednn-cpu-gomp')}"
        self.recorded = Recorded(directory, "onednn", engine)
        self.refused = {}

    def product(self, shape, a_type, c_type, tensors, posts):
        """Records a product. Tensors may lack scales, zero points and bias. Posts: a list of (word, Post, operand)."""
        m, n, k = shape
        before = tensors.get("before")
        c = numpy.zeros(m * n, TYPES[c_type]) if before is None else before.copy()
        list_ = (Post * len(posts))(*[post for _, post, _ in posts])
        product = Product(
            m=m, n=n, k=k, a_type=a_type.encode(), c_type=c_type.encode(), c=pointer(c), post_count=len(posts),
            posts=list_, a_scale_count=tensors["a_scales"].size if "a_scales" in tensors else 0,
            b_scale_count=tensors["b_scales"].size if "b_scales" in tensors else 0,
            **{name: pointer(value) for name, value in tensors.items() if name != "before"},
        )  # fmt: skip
        if not self.library.product(ctypes.byref(product)):
            what = f"{c_type} {' '.join(sorted(tensors))}: {product.told.decode()}"
            self.refused[what] = self.refused.get(what, 0) + 1
            return
        words = {f"post{i}": word for i, (word, _, _) in enumerate(posts)}
        operands = {f"operand{i}": operand for i, (_, _, operand) in enumerate(posts) if operand is not None}
        self.recorded.case(
            "product", implementation=product.told.decode(), m=m, n=n, k=k, c_type=c_type, **words, **operands,
            **tensors, c=c,
        )  # fmt: skip


def eltwise(algorithm, alpha=0.0, beta=0.0):
    post = Post(kind=ELTWISE, algorithm=algorithm.encode(), alpha=alpha, beta=beta)
    return f"{algorithm} {float(alpha).hex()} {float(beta).hex()}", post, None


def plus_before(random, c_type):
    """A sum post-op: its scale, and its zero point."""
    factor, zero = scale(random, 0.1, 2), zero_point(random, TYPES[c_type]) if c_type in ("u8", "s8") else 0
    return f"sum {float(factor).hex()} {zero}", Post(kind=SUM, alpha=factor, sum_zero_point=zero), None


def binary(random, algorithm, shape, axis):
    operand = random.uniform(-3, 3, shape[1] * (shape[0] if axis == PER_ELEMENT else 1)).astype(numpy.float32)
    post = Post(kind=BINARY, algorithm=algorithm.encode(), axis=axis, operand=pointer(operand))
    return f"{algorithm} {'element' if axis == PER_ELEMENT else 'column'}", post, operand


def operands_of(shape, a_type):
    """a and b: the same for each shape, so that they are recorded once."""
    m, n, k = shape
    random = numpy.random.Generator(numpy.random.PCG64(k))
    a = integers(random, TYPES[a_type], m * k)
    # Of 7 bits: where a processor has no VNNI, sums of two products saturate at 16 bits else.
    b = (integers(random, numpy.int8, k * n) // 2).astype(numpy.int8)
    return a, b


def tensors_of(random, shape, a_type, c_type, names):
    """The operands, and of the others those named."""
    m, n, k = shape
    a, b = operands_of(shape, a_type)
    a_scales = numpy.array([scale(random) for _ in range(m if "a_scale_rows" in names else 1)], numpy.float32)
    b_scales = numpy.array([scale(random) for _ in range(n if "b_scale_columns" in names else 1)], numpy.float32)
    wide = 75.0 * 37 * numpy.sqrt(k)
    for name, scales in (("a_scale", a_scales), ("b_scale", b_scales)):
        if any(word.startswith(name) for word in names):
            wide *= float(numpy.median(scales))
    c_scale = scale(random, wide / 60, wide / 30)
    before = random.uniform(-200, 200, m * n)
    if c_type in ("u8", "s8"):
        before = integers(random, TYPES[c_type], m * n)
    every = {
        "a_scale": ("a_scales", a_scales),
        "a_scale_rows": ("a_scales", a_scales),
        "b_scale": ("b_scales", b_scales),
        "b_scale_columns": ("b_scales", b_scales),
        "c_scale": ("c_scale", numpy.array([c_scale])),
        "a_zero": ("a_zero_point", numpy.array([zero_point(random, TYPES[a_type])], numpy.int32)),
        "b_zero": ("b_zero_point", numpy.array([zero_point(random, numpy.int8) // 2], numpy.int32)),
        "c_zero": ("c_zero_point", numpy.array([zero_point(random, numpy.int8) & 127], numpy.int32)),
        "bias": ("bias", (random.uniform(-1, 1, n) * wide).astype(numpy.float32)),
        "before": ("before", before.astype(TYPES[c_type])),
    }
    return {"a": a, "b": b} | dict(every[name] for name in names)


def main(library, directory):
    engine = Engine(library, directory)
    random = numpy.random.Generator(numpy.random.PCG64(9))

    def record(shape, a_type, c_type, names, posts=()):
        engine.product(shape, a_type, c_type, tensors_of(random, shape, a_type, c_type, names), posts)

    scales = ["a_scale", "b_scale_columns"]
    for a_type in ("u8", "s8"):
        for shape in SHAPES:
            for c_type in TYPES:
                record(shape, a_type, c_type, [])
                narrow = ["c_scale"] if c_type in ("u8", "s8") else []
                record(shape, a_type, c_type, ["a_scale", "b_scale", *narrow])
                record(shape, a_type, c_type, [*scales, "bias", *narrow])
                record(shape, a_type, c_type, ["a_scale_rows", "b_scale_columns", "bias", *narrow])
                record(shape, a_type, c_type, [*scales, "a_zero", "bias", *narrow])
                record(shape, a_type, c_type, [*scales, "a_zero", "b_zero", *narrow])
                if narrow:
                    record(shape, a_type, c_type, [*scales, "a_zero", "bias", "c_scale", "c_zero"])
                    record(shape, a_type, c_type, [*scales, "a_zero", "b_zero", "bias", "c_scale", "c_zero"])
        for c_type in ("u8", "s8", "f32", "bf16"):
            names = [*scales, "a_zero", "bias", *(["c_scale", "c_zero"] if c_type in ("u8", "s8") else [])]
            shape = SHAPES[0]
            for post in (
                eltwise("relu"), eltwise("relu", 0.125), eltwise("clip", -1, 6), eltwise("tanh"), eltwise("logistic"),
                eltwise("gelu_erf"), eltwise("gelu_tanh"), eltwise("swish", 1), eltwise("hardswish", 1 / 6, 0.5),
                eltwise("linear", 0.75, -2), binary(random, "add", shape, PER_COLUMN),
                binary(random, "mul", shape, PER_COLUMN), binary(random, "add", shape, PER_ELEMENT),
                binary(random, "mul", shape, PER_ELEMENT),
            ):  # fmt: skip
                record(shape, a_type, c_type, names, [post])
            many = [eltwise("swish", 1), binary(random, "mul", shape, PER_ELEMENT), eltwise("linear", 0.5, 1)]
            record(shape, a_type, c_type, names, many)
            if c_type == "bf16":
                continue
            before = [*names, "before"]
            record(shape, a_type, c_type, before, [plus_before(random, c_type)])
            record(shape, a_type, c_type, before, [plus_before(random, c_type), eltwise("relu")])
            record(shape, a_type, c_type, before, [eltwise("relu"), plus_before(random, c_type)])
    engine.recorded.write()
    for what, count in engine.refused.items():
        print(f"oneDNN refused {count}: {what}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
