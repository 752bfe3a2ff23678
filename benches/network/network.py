"""The network of capi-tests/data/person_detect, as its README describes the files."""

import dataclasses
import pathlib

import numpy

DATA = pathlib.Path(__file__).resolve().parents[2] / "capi-tests/data/person_detect"


@dataclasses.dataclass
class Tensor:
    height: int
    width: int
    channels: int
    scale: float
    zero_point: int

    @classmethod
    def parse(cls, words):
        height, width, channels, _, scale, _, zero_point = (next(words) for _ in range(7))
        return cls(int(height), int(width), int(channels), float(scale), int(zero_point))

    @property
    def shape(self):
        return [1, self.height, self.width, self.channels]


@dataclasses.dataclass
class Layer:
    number: str
    kind: str
    input: Tensor
    output: Tensor = None
    filter: tuple = (1, 1)
    stride: tuple = (1, 1)
    padding: str = "VALID"
    activation: str = "NONE"
    weight_scales: list = None

    @property
    def is_depthwise(self):
        return self.kind == "DEPTHWISE_CONV_2D"

    @property
    def weights(self):
        """As they lie: 1HWO if it is depthwise, else OHWI."""
        flat = numpy.fromfile(DATA / f"weights/{self.number}_weights.s8", numpy.int8)
        shape = [1, *self.filter, -1] if self.is_depthwise else [self.output.channels, *self.filter, -1]
        return flat.reshape(shape)

    @property
    def biases(self):
        return numpy.fromfile(DATA / f"weights/{self.number}_bias.s32", "<i4")

    @property
    def golden(self):
        return numpy.fromfile(DATA / f"golden/person/{self.number}.s8", numpy.int8).reshape(self.output.shape)


def pairs(words):
    return int(next(words)), int(next(words))


def read():
    """The input and the layers."""
    first, *lines = (DATA / "network.txt").read_text().splitlines()
    network_input = last = Tensor.parse(iter(first.split()[1:]))
    layers = []
    for line in lines:
        words = iter(line.split())
        layer = Layer(next(words), next(words), last)
        for key in words:
            if key in ("filter", "stride"):
                setattr(layer, key, pairs(words))
            elif key == "output":
                layer.output = Tensor.parse(words)
            elif key == "weight_scales":
                layer.weight_scales = [float(word) for word in words]
            else:
                setattr(layer, key, next(words))
        last = layer.output
        layers.append(layer)
    return network_input, layers


def picture(network_input):
    return numpy.fromfile(DATA / "golden/person/input.s8", numpy.int8).reshape(network_input.shape)
