"""The layers that are compared, and what they compute with."""

import typing

import numpy

DTYPES = {"u8": numpy.uint8, "s8": numpy.int8}


class Shape(typing.NamedTuple):
    """A layer of square images and filters, padded so that pixels over stride come out."""

    size: int
    channels: int
    taps: int
    stride: int
    results: int
    is_depthwise: bool = False

    def __str__(self):
        size, taps = f"{self.size}x{self.size}x{self.channels}", f"{self.taps}x{self.taps}"
        return f"{size} {taps} depthwise" if self.is_depthwise else f"{size} {taps}s{self.stride} to {self.results}"

    @property
    def out(self):
        return -(-self.size // self.stride)

    @property
    def groups(self):
        return self.channels if self.is_depthwise else 1

    @property
    def depth(self):
        """Products in a sum."""
        return self.taps**2 * self.channels // self.groups

    @property
    def padding(self):
        return max((self.out - 1) * self.stride + self.taps - self.size, 0)

    @property
    def pad_before(self):
        return self.padding // 2

    @property
    def pad_after(self):
        return self.padding - self.padding // 2


# Those of benches/conv.rs, and what MobileNets have of benches/depthwise.rs.
SHAPES = [
    Shape(56, 64, 3, 1, 64),
    Shape(28, 128, 3, 1, 128),
    Shape(14, 256, 3, 1, 256),
    Shape(7, 512, 3, 1, 512),
    Shape(224, 3, 7, 2, 64),
    Shape(56, 256, 1, 1, 64),
    Shape(112, 32, 3, 2, 64),
    Shape(112, 16, 3, 1, 16),
    Shape(112, 64, 3, 1, 64, is_depthwise=True),
    Shape(14, 512, 3, 1, 512, is_depthwise=True),
    Shape(28, 120, 5, 1, 120, is_depthwise=True),
]


class Layer:
    """A shape, types of bytes ("u8" or "s8"), and noise. Images and results have the zero point that a ReLU leaves, the
    least number. Signed weights have a scale for each channel, and zero points of 0; unsigned ones a scale and a zero
    point."""

    image_scale, result_scale = 0.02, 0.03

    def __init__(self, shape, image_type, weights_type, weight_bits):
        random = numpy.random.default_rng(1)
        self.shape, self.types = shape, (image_type, weights_type)
        self.per_channel = weights_type == "s8"
        self.image_zero_point = self.result_zero_point = -128 if image_type == "s8" else 0
        self.weights_zero_point = 0 if self.per_channel else 131
        pixels = random.integers(0, 256, (1, shape.size, shape.size, shape.channels))
        self.image = (pixels + self.image_zero_point).astype(DTYPES[image_type])
        greatest = (1 << weight_bits - 1) - 1
        # As TensorFlow Lite has them.
        dimensions = (1 if shape.is_depthwise else shape.results, shape.taps, shape.taps)
        dimensions += (shape.results if shape.is_depthwise else shape.channels,)
        weights = random.integers(-greatest, greatest + 1, dimensions) + self.weights_zero_point
        self.weights = weights.clip(0 if weights_type == "u8" else -128, 255).astype(DTYPES[weights_type])
        # That of a sum. Results use all of their range, and some are out of it.
        deviation = 147 * greatest / 3**0.5 * shape.depth**0.5
        self.biases = ((random.standard_normal(shape.results) / 2 + 1) * deviation).astype(numpy.int32)
        factors = random.uniform(0.5, 1, shape.results) if self.per_channel else numpy.full(shape.results, 0.75)
        self.weight_scales = (factors * 100 / deviation * self.result_scale / self.image_scale).astype(numpy.float32)

    @property
    def scales(self):
        """What sums are multiplied by."""
        return numpy.float32(self.image_scale) * self.weight_scales / numpy.float32(self.result_scale)
