"""Graphs written by hand, for the tests of the package format."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np

from lucid.coreml.protobuf import coremltools_folder
from lucid.dtypes import DType, as_dtype, float16, float32, int32
from lucid.graph import Argument, Constant, Function, Node, Value


def const(data: object, name: str = "") -> Constant:
    array = np.asarray(data)
    return Constant(name, as_dtype(array.dtype.name), array.shape, array)


def node(op: str, name: str, shape: tuple[int | None, ...], dtype: DType = float32, /, **inputs: Argument) -> Node:
    return Node(op, inputs, (Value(name, dtype, shape),))


def linear() -> Function:
    x = Value("x", float32, (2, 3))
    weight = const(np.arange(12, dtype=np.float32).reshape(4, 3), "weight")
    bias = const(np.array([1, 2, 3, 4], np.float32), "bias")
    y = node("linear", "y", (2, 4), x=x, weight=weight, bias=bias)
    z = node("add", "z", (2, 4), x=y.output, y=const(np.float32(0.5)))
    return Function("main", (x,), (y, z), {"z": z.output})


def cache(dtype: DType = float16) -> Function:
    """A cache write at a fixed slot: `output_0` is the new cache, `output_1` twice its contents."""
    x, held = Value("x", dtype, (1, 4)), Value("cache", dtype, (2, 4))
    begin, end = const(np.array([1, 0], np.int32)), const(np.array([2, 4], np.int32))
    new = node("slice_update", "new", (2, 4), dtype, x=held, update=x, begin=begin, end=end)
    two = const(np.array(2, dtype.numpy))
    twice = node("mul", "twice", (2, 4), dtype, x=new.output, y=two)
    return Function("main", (x, held), (new, twice), {"output_0": new.output, "output_1": twice.output})


def every_kind() -> Function:
    """Inputs and outputs of every kind that the interface must fit: bool, no axes, passed through, twice, constant."""
    flag, position, x = Value("flag", as_dtype("bool"), (2,)), Value("position", int32, ()), Value("x", float32, (2,))
    is_not = node("logical_not", "is_not", (2,), as_dtype("bool"), x=flag)
    cast = node("cast", "0/position.cast", (), float32, x=position, dtype=text("fp32"))
    y = node("add", "x.y", (2,), x=x, y=cast.output)
    return Function(
        "main",
        (flag, position, x),
        (is_not, cast, y),
        {"inverse": is_not.output, "y": y.output, "again": y.output, "same": x, "fixed": const(np.ones(2, np.float32))},
    )


def text(data: str) -> Constant:
    return Constant("", as_dtype("string"), (), data)


def weight_library() -> ModuleType:
    """coremltools' own library for weight files, without the import of coremltools, if another test has not made it."""
    loaded = sys.modules.get("coremltools.libmilstoragepython")  # its types can be registered once
    if loaded is not None:
        return loaded
    (path,) = coremltools_folder().glob("libmilstoragepython*")
    spec = importlib.util.spec_from_file_location("libmilstoragepython", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
