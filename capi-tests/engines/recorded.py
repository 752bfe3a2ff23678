"""Writes cases: an index of words in .txt, and the numbers of tensors in .bin. See ../data/engines/README.md."""

import numpy

# What numpy calls uint16 here are the bits of bf16.
NAMES = {"uint8": "u8", "int8": "s8", "int16": "s16", "uint16": "bf16", "int32": "s32", "float32": "f32"}


class Recorded:
    def __init__(self, directory, engine, versions):
        self.path = f"{directory}/{engine}"
        self.lines = [f"engine {versions}"]
        self.offsets = {}
        self.blob = b""

    def case(self, operation, **fields):
        """A case: words, numbers, and tensors, which are one-dimensional here."""
        self.lines.append(f"case {operation}")
        for name, value in fields.items():
            if isinstance(value, numpy.ndarray):
                value = f"{NAMES[value.dtype.name]} {value.size} {self.place(value)}"
            elif isinstance(value, (float, numpy.floating)):
                value = float(value).hex()
            self.lines.append(f"{name} {value}")

    def place(self, tensor):
        """Where the tensor's numbers are, little-endian; the same numbers are there once."""
        data = tensor.astype(tensor.dtype.newbyteorder("<")).tobytes()
        if data not in self.offsets:
            self.blob += bytes(-len(self.blob) % 4)
            self.offsets[data] = len(self.blob)
            self.blob += data
        return self.offsets[data]

    def write(self):
        with open(self.path + ".txt", "w", encoding="ascii") as file:
            file.write("\n".join(self.lines) + "\n")
        with open(self.path + ".bin", "wb") as file:
            file.write(self.blob)


def limits(dtype):
    info = numpy.iinfo(dtype)
    return int(info.min), int(info.max)


def integers(random, dtype, count):
    """Any integers of the type, one in eight of them the least or the greatest."""
    least, greatest = limits(dtype)
    values = random.integers(least, greatest + 1, count)
    extreme = random.integers(0, 8, count) == 0
    return numpy.where(extreme, random.choice([least, greatest], count), values).astype(dtype)


def scale(random, least=0.001, greatest=0.1):
    """A scale, one in four a power of two, which makes ties."""
    value = numpy.exp(random.uniform(numpy.log(least), numpy.log(greatest)))
    return numpy.float32(2.0 ** numpy.round(numpy.log2(value)) if random.integers(4) == 0 else value)


def zero_point(random, dtype):
    least, greatest = limits(dtype)
    return int(random.choice([least, greatest, (least + greatest + 1) // 2, random.integers(least, greatest + 1)]))


def reals(random, scales, count):
    """Floats around what bytes of these scales stand for: halves among them, just beside halves, and far away."""
    codes = random.uniform(-300, 300, count)
    halves = numpy.floor(codes) + 0.5
    codes = numpy.choose(random.integers(0, 4, count), [codes, halves, numpy.floor(codes), codes * 50])
    values = (codes * scales).astype(numpy.float32)
    beside = numpy.nextafter(values, numpy.float32(numpy.inf) * random.choice([-1, 1], count).astype(numpy.float32))
    return numpy.where(random.integers(0, 3, count) == 0, beside, values).astype(numpy.float32)
