"""Records what ONNX Runtime computes. Usage: onnxruntime_cases.py DIRECTORY"""

import sys
from importlib.metadata import version

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from recorded import Recorded, integers, reals, scale, zero_point

BYTES = (numpy.uint8, numpy.int8)


def run(operation, arguments, outputs=1, domain="", **attributes):
    """The results of an operation. What `constant_` arguments are is part of the model; None leaves one out."""
    names = ["" if value is None else name for name, value in arguments.items()]
    results = [f"result{i}" for i in range(outputs)]
    node = helper.make_node(operation, names, results, domain=domain, **attributes)
    given = {name: value for name, value in arguments.items() if value is not None}
    constants = {name: value for name, value in given.items() if name.startswith("constant_")}
    variables = {name: value for name, value in given.items() if name not in constants}
    graph = helper.make_graph(
        [node],
        operation,
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in variables.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in results],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    imports = [helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)]
    content = helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, variables)


def scalar(value, dtype=numpy.float32):
    return numpy.array(value, dtype)


def channels(random, dtype, is_per_axis):
    """Shape, axis, scales and zero points."""
    shape, axis = random.permutation([3, 5, 41]), int(random.integers(0, 3))
    count = shape[axis] if is_per_axis else 1
    scales = numpy.array([scale(random) for _ in range(count)], numpy.float32)
    return shape, axis, scales, numpy.array([zero_point(random, dtype) for _ in range(count)], dtype)


def around(shape, axis, is_per_axis):
    """outer, channels and inner, as qgemm_channels has them."""
    if not is_per_axis:
        return {"outer": 1, "channels": 1, "inner": int(numpy.prod(shape))}
    return {
        "outer": int(numpy.prod(shape[:axis])),
        "channels": int(shape[axis]),
        "inner": int(numpy.prod(shape[axis + 1 :])),
    }


def parameters(scales, zeros, is_per_axis):
    return (scales, zeros) if is_per_axis else (scales[0], zeros[0])


def quantize(recorded, random, dtype, is_per_axis):
    shape, axis, scales, zeros = channels(random, dtype, is_per_axis)
    around_axis = [1, 1, 1]
    around_axis[axis] = -1
    spread = numpy.broadcast_to(scales.reshape(around_axis if is_per_axis else (1, 1, 1)), shape).ravel()
    x = reals(random, spread, spread.size)
    x[:3] = [numpy.inf, -numpy.inf, -0.0]
    s, z = parameters(scales, zeros, is_per_axis)
    (y,) = run("QuantizeLinear", {"x": x.reshape(shape), "scale": scalar(s), "zero": scalar(z, dtype)}, axis=axis)
    recorded.case(
        "quantize", **around(shape, axis, is_per_axis), scales=scales, zero_points=zeros.astype(numpy.int32), x=x,
        y=y.ravel(),
    )  # fmt: skip


def dequantize(recorded, random, dtype, is_per_axis):
    shape, axis, scales, zeros = channels(random, dtype, is_per_axis)
    if dtype == numpy.int32:
        zeros = numpy.zeros_like(zeros)
    x = integers(random, dtype, int(numpy.prod(shape)))
    s, z = parameters(scales, zeros, is_per_axis)
    arguments = {"x": x.reshape(shape), "scale": scalar(s), "zero": scalar(z, dtype)}
    (y,) = run("DequantizeLinear", arguments, axis=axis)
    recorded.case(
        "dequantize", **around(shape, axis, is_per_axis), scales=scales, zero_points=zeros.astype(numpy.int32), x=x,
        y=y.ravel(),
    )  # fmt: skip


def dynamic_quantize(recorded, random, low, high):
    x = random.uniform(low, high, 500).astype(numpy.float32)
    y, y_scale, y_zero = run("DynamicQuantizeLinear", {"x": x}, outputs=3)
    recorded.case("dynamic_quantize", scale=y_scale.item(), zero_point=int(y_zero), x=x, y=y)


def add(recorded, random, dtype):
    a, b = integers(random, dtype, 1000), integers(random, dtype, 1000)
    a_scale, b_scale = scale(random), scale(random)
    c_scale = scale(random, max(a_scale, b_scale) * 0.3, max(a_scale, b_scale) * 3)
    zeros = [zero_point(random, dtype) for _ in range(3)]
    arguments = {
        "a": a, "a_scale": scalar(a_scale), "a_zero": scalar(zeros[0], dtype),
        "b": b, "b_scale": scalar(b_scale), "b_zero": scalar(zeros[1], dtype),
        "c_scale": scalar(c_scale), "c_zero": scalar(zeros[2], dtype),
    }  # fmt: skip
    (c,) = run("QLinearAdd", arguments, domain="com.microsoft")
    recorded.case(
        "add", a_scale=a_scale, a_zero_point=zeros[0], b_scale=b_scale, b_zero_point=zeros[1], c_scale=c_scale,
        c_zero_point=zeros[2], a=a, b=b, c=c,
    )  # fmt: skip


def matmul(recorded, random, a_dtype, b_dtype, is_per_column, shape):
    m, n, k = shape
    a, b = integers(random, a_dtype, m * k), integers(random, b_dtype, k * n)
    # Without VNNI a processor's sums of two products saturate where weights have 8 bits; ONNX Runtime says so itself.
    if b_dtype == numpy.int8:
        b = (b // 2).astype(numpy.int8)
    b_scales = numpy.array([scale(random) for _ in range(n if is_per_column else 1)], numpy.float32)
    a_scale = scale(random)
    wide = float(numpy.median(b_scales)) * float(a_scale) * 75 * 75 * numpy.sqrt(k) / 60
    c_scale = scale(random, wide, wide * 2)
    a_zero, c_zero = zero_point(random, a_dtype), zero_point(random, a_dtype)
    b_zero = zero_point(random, b_dtype)
    b_zeros = numpy.full(len(b_scales), b_zero, b_dtype)
    s, z = parameters(b_scales, b_zeros, is_per_column)
    arguments = {
        "a": a.reshape(m, k), "constant_a_scale": scalar(a_scale), "constant_a_zero": scalar(a_zero, a_dtype),
        "constant_b": b.reshape(k, n), "constant_b_scale": scalar(s), "constant_b_zero": scalar(z, b_dtype),
        "constant_c_scale": scalar(c_scale), "constant_c_zero": scalar(c_zero, a_dtype),
    }  # fmt: skip
    (c,) = run("QLinearMatMul", arguments)
    recorded.case(
        "matmul", m=m, n=n, k=k, a_scale=a_scale, a_zero_point=a_zero, b_zero_point=b_zero, c_scale=c_scale,
        c_zero_point=c_zero, b_scales=b_scales, a=a, b=b, c=c.ravel(),
    )  # fmt: skip


def main(directory):
    recorded = Recorded(directory, "onnxruntime", f"ONNX Runtime {version('onnxruntime')}, onnx {version('onnx')}")
    random = numpy.random.Generator(numpy.random.PCG64(8))
    for is_per_axis in (False, True, True, True):
        for dtype in BYTES:
            quantize(recorded, random, dtype, is_per_axis)
            dequantize(recorded, random, dtype, is_per_axis)
        dequantize(recorded, random, numpy.int32, is_per_axis)
    for low, high in ((-1, 1), (0, 5), (2, 3), (-7, -0.5), (-0.001, 1000), (0, 0), (-1e-3, 1e-4)):
        dynamic_quantize(recorded, random, low, high)
    for dtype in BYTES:
        for _ in range(8):
            add(recorded, random, dtype)
    for shape in ((7, 24, 40), (1, 5, 333), (33, 16, 1)):
        for is_per_column in (False, True):
            for a_dtype, b_dtype in ((numpy.uint8, numpy.uint8), (numpy.uint8, numpy.int8), (numpy.int8, numpy.int8)):
                matmul(recorded, random, a_dtype, b_dtype, is_per_column, shape)
    recorded.write()


if __name__ == "__main__":
    main(sys.argv[1])
