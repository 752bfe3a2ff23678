"""Records what TFLite's kernels compute, by whichever of its packages is installed. Usage: tflite_cases.py DIRECTORY"""

import sys
from importlib.metadata import version

import numpy
import tflite

from recorded import Recorded, integers, limits, reals, scale, zero_point
from tflite_model import Tensor, model

try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    PACKAGE = "ai-edge-litert"
except ImportError:
    from tflite_runtime.interpreter import Interpreter, OpResolverType

    PACKAGE = "tflite-runtime"

RESOLVERS = {
    "reference": OpResolverType.BUILTIN_REF,
    "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "xnnpack": OpResolverType.AUTO,
}
ACTIVATIONS = {
    "none": (tflite.ActivationFunctionType.NONE, None, None),
    "relu": (tflite.ActivationFunctionType.RELU, 0, None),
    "relu6": (tflite.ActivationFunctionType.RELU6, 0, 6),
    "relu_n1_to_1": (tflite.ActivationFunctionType.RELU_N1_TO_1, -1, 1),
}


def run(resolver, content, *arguments):
    interpreter = Interpreter(
        model_content=content, experimental_op_resolver_type=RESOLVERS[resolver], num_threads=1
    )
    interpreter.allocate_tensors()
    for detail, argument in zip(interpreter.get_input_details(), arguments, strict=True):
        interpreter.set_tensor(detail["index"], argument)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).ravel()


def confined(activation, dtype, output_scale, output_zero):
    """The codes that an activation leaves, as CalculateActivationRangeQuantized has them."""
    least, greatest = limits(dtype)

    def code(real):
        quotient = float(numpy.float32(real) / output_scale)
        return output_zero + int(numpy.sign(quotient) * numpy.floor(abs(quotient) + 0.5))

    _, low, high = ACTIVATIONS[activation]
    return (
        least if low is None else max(least, code(low)),
        greatest if high is None else min(greatest, code(high)),
    )


def pairs(dtype):
    """Every pair of bytes."""
    all_codes = numpy.arange(256, dtype=numpy.uint8).view(dtype)
    return numpy.repeat(all_codes, 256), numpy.tile(all_codes, 256)


def add(recorded, random, resolver, dtype, activation, is_sub, every_pair):
    a, b = pairs(dtype) if every_pair else (integers(random, dtype, 600), integers(random, dtype, 600))
    scales = [scale(random) for _ in range(2)]
    scales.append(scale(random, max(scales) * 0.3, max(scales) * 3))
    zeros = [0 if dtype == numpy.int16 else zero_point(random, dtype) for _ in range(3)]
    shape = (1, len(a))
    tensors = [Tensor(dtype, shape, s, z) for s, z in zip(scales, zeros)]
    name = "Sub" if is_sub else "Add"

    def options(builder):
        getattr(tflite, name + "OptionsStart")(builder)
        getattr(tflite, name + "OptionsAddFusedActivationFunction")(builder, ACTIVATIONS[activation][0])
        if dtype == numpy.int16:
            getattr(tflite, name + "OptionsAddPotScaleInt16")(builder, False)
        return getattr(tflite, name + "OptionsEnd")(builder)

    code, kind = getattr(tflite.BuiltinOperator, name.upper()), getattr(tflite.BuiltinOptions, name + "Options")
    revision = {"uint8": 1, "int8": 2, "int16": 3}[numpy.dtype(dtype).name]
    content = model(code, revision, (options, kind), tensors[:2], tensors[2])
    c = run(resolver, content, a.reshape(shape), b.reshape(shape))
    least, greatest = confined(activation, dtype, scales[2], zeros[2])
    # Every pair need not be written down.
    operands = {} if every_pair else {"a": a, "b": b}
    recorded.case(
        "sub" if is_sub else "add", kernels=resolver, activation=activation,
        a_scale=scales[0], a_zero_point=zeros[0], b_scale=scales[1], b_zero_point=zeros[1],
        c_scale=scales[2], c_zero_point=zeros[2], c_least=least, c_greatest=greatest, **operands, c=c,
    )  # fmt: skip


def operands(dtype, shape):
    """Input and weights: the same for each shape, so that they are recorded once."""
    batch, units, depth = shape
    random = numpy.random.Generator(numpy.random.PCG64(depth))
    x = integers(random, dtype, batch * depth)
    weights = integers(random, dtype, units * depth)
    if dtype == numpy.int8:
        weights = numpy.maximum(weights, -127).astype(dtype)
    return x, weights


def fully_connected(recorded, random, resolver, dtype, activation, is_per_channel, shape):
    batch, units, depth = shape
    x, weights = operands(dtype, shape)
    x_scale, x_zero = scale(random), zero_point(random, dtype)
    weight_scales = numpy.array([scale(random) for _ in range(units if is_per_channel else 1)], numpy.float32)
    weight_zero = zero_point(random, dtype) if dtype == numpy.uint8 else 0
    # Sums are some 75^2 * sqrt(depth) wide, outputs some 128.
    wide = float(numpy.median(weight_scales)) * float(x_scale) * 75 * 75 * numpy.sqrt(depth) / 60
    y_scale, y_zero = scale(random, wide, wide * 2), zero_point(random, dtype)
    bias = random.integers(-20000, 20001, units).astype(numpy.int32)
    tensors = [
        Tensor(dtype, (batch, depth), x_scale, x_zero),
        Tensor(dtype, (units, depth), weight_scales, weight_zero, weights),
        Tensor(numpy.int32, (units,), x_scale * weight_scales, 0, bias),
        Tensor(dtype, (batch, units), y_scale, y_zero),
    ]

    def options(builder):
        tflite.FullyConnectedOptionsStart(builder)
        tflite.FullyConnectedOptionsAddFusedActivationFunction(builder, ACTIVATIONS[activation][0])
        return tflite.FullyConnectedOptionsEnd(builder)

    kind = (options, tflite.BuiltinOptions.FullyConnectedOptions)
    revision = 1 if dtype == numpy.uint8 else 4
    content = model(tflite.BuiltinOperator.FULLY_CONNECTED, revision, kind, tensors[:3], tensors[3])
    y = run(resolver, content, x.reshape(batch, depth))
    least, greatest = confined(activation, dtype, y_scale, y_zero)
    recorded.case(
        "fully_connected", package=PACKAGE, kernels=resolver, activation=activation, batch=batch, units=units,
        depth=depth,
        x_scale=x_scale, x_zero_point=x_zero, weights_zero_point=weight_zero, y_scale=y_scale, y_zero_point=y_zero,
        y_least=least, y_greatest=greatest, weight_scales=weight_scales, weights=weights, bias=bias, x=x, y=y,
    )  # fmt: skip


def quantize(recorded, random, resolver, dtype):
    y_scale, y_zero = scale(random), 0 if dtype == numpy.int16 else zero_point(random, dtype)
    x = reals(random, y_scale, 600)
    shape = (1, len(x))
    tensors = [Tensor(numpy.float32, shape), Tensor(dtype, shape, y_scale, y_zero)]
    y = run(resolver, model(tflite.BuiltinOperator.QUANTIZE, 1, None, tensors[:1], tensors[1]), x.reshape(shape))
    recorded.case("quantize", kernels=resolver, scale=y_scale, zero_point=y_zero, x=x, y=y)


def requantize(recorded, random, resolver, from_dtype, to_dtype):
    x = numpy.arange(256, dtype=numpy.uint8).view(from_dtype)
    x_scale, x_zero = scale(random), zero_point(random, from_dtype)
    y_scale, y_zero = scale(random, float(x_scale) * 0.2, float(x_scale) * 5), zero_point(random, to_dtype)
    shape = (1, len(x))
    tensors = [Tensor(from_dtype, shape, x_scale, x_zero), Tensor(to_dtype, shape, y_scale, y_zero)]
    y = run(resolver, model(tflite.BuiltinOperator.QUANTIZE, 2, None, tensors[:1], tensors[1]), x.reshape(shape))
    recorded.case(
        "requantize", kernels=resolver, x_scale=x_scale, x_zero_point=x_zero, y_scale=y_scale, y_zero_point=y_zero,
        x=x, y=y,
    )  # fmt: skip


def dequantize(recorded, random, resolver, dtype):
    x = numpy.arange(256, dtype=numpy.uint8).view(dtype)
    x_scale, x_zero = scale(random), zero_point(random, dtype)
    shape = (1, len(x))
    tensors = [Tensor(dtype, shape, x_scale, x_zero), Tensor(numpy.float32, shape)]
    y = run(resolver, model(tflite.BuiltinOperator.DEQUANTIZE, 2, None, tensors[:1], tensors[1]), x.reshape(shape))
    recorded.case("dequantize", kernels=resolver, scale=x_scale, zero_point=x_zero, x=x, y=y)


def fully_connected_layers(recorded, random, resolver):
    for activation in ACTIVATIONS:
        for shape in ((7, 24, 40), (1, 5, 333), (33, 16, 1)):
            fully_connected(recorded, random, resolver, numpy.int8, activation, False, shape)
            fully_connected(recorded, random, resolver, numpy.int8, activation, True, shape)
            if resolver != "xnnpack":
                fully_connected(recorded, random, resolver, numpy.uint8, activation, False, shape)


def all_operations(recorded, random):
    bytes_ = (numpy.uint8, numpy.int8)
    for resolver in RESOLVERS:
        for is_sub in (False, True):
            for dtype in bytes_:
                for activation in ACTIVATIONS:
                    add(recorded, random, resolver, dtype, activation, is_sub, False)
    add(recorded, random, "reference", numpy.int8, "none", False, True)
    for activation in ACTIVATIONS:
        add(recorded, random, "reference", numpy.int16, activation, False, False)
    for resolver in RESOLVERS:
        fully_connected_layers(recorded, random, resolver)
    for dtype in bytes_:
        for _ in range(3):
            quantize(recorded, random, "reference", dtype)
            dequantize(recorded, random, "reference", dtype)
    for from_dtype in bytes_:
        for to_dtype in bytes_:
            for _ in range(6):
                requantize(recorded, random, "reference", from_dtype, to_dtype)
    quantize(recorded, random, "reference", numpy.int16)


def main(directory):
    recorded = Recorded(directory, PACKAGE, f"TFLite {PACKAGE} {version(PACKAGE)}")
    random = numpy.random.Generator(numpy.random.PCG64(7))
    if PACKAGE == "ai-edge-litert":
        all_operations(recorded, random)
    else:
        # Only these are rounded otherwise.
        fully_connected_layers(recorded, random, "reference")
    recorded.write()


if __name__ == "__main__":
    main(sys.argv[1])
