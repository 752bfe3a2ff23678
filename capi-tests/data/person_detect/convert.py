#!/usr/bin/env python3
"""Writes network.txt, a line for each layer, from the description of the network as JSON: convert.py network.json."""

import json
import sys

network = json.load(open(sys.argv[1]))


def tensor(number):
    """Shape, scale and zero point of a tensor of numbers."""
    described = network["tensors"][str(number)]
    shape = ([1] * 4 + described["shape"])[-3:]
    return "{} {} {} scale {!r} zero_point {}".format(*shape, described["scales"][0], described["zero_points"][0])


print("input", tensor(network["input"]))
last = network["input"]
for op in network["ops"]:
    assert op["input"] == last and op.get("dilation_h", 1) == op.get("dilation_w", 1) == 1
    last = op["output"]
    words = ["{:02}".format(op["index"]), op["op"]]
    if "weights" in op:
        assert not any(op["weights"]["zero_points"])
        words += ["filter", *op["weights"]["shape"][1:3]]
    if "filter_h" in op:
        words += ["filter", op["filter_h"], op["filter_w"]]
    if "stride_h" in op:
        words += ["stride", op["stride_h"], op["stride_w"]]
        words += ["padding", op["padding"], "activation", op["activation"]]
    words += ["output", tensor(op["output"])]
    if "weights" in op:
        words += ["weight_scales", *map(repr, op["weights"]["scales"])]
    print(*words)
