"""The graph's verifier, printer and rewriting, on graphs built by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lucid.dtypes import float32, int32, string
from lucid.errors import InternalError
from lucid.graph import Constant, Function, Node, Pair, Value, render, substitute, users, verify

X = Value("x", float32, (2,))
C = Constant("c", float32, (2,), np.float32([1, 2]))
Y = Value("y", float32, (2,))
Z = Value("z", float32, (2,))
ADD = Node("add", {"x": X, "y": C}, (Y,))
MUL = Node("mul", {"x": Y, "y": Y}, (Z,))
FUNCTION = Function("main", (X,), (ADD, MUL), {"z": Z})


def test_render() -> None:
    assert render(FUNCTION) == (
        "main(%x: (2, fp32)) {\n"
        "  %y: (2, fp32) = add(x=%x, y=[1.0, 2.0])\n"
        "  %z: (2, fp32) = mul(x=%y, y=%y)\n"
        "  return z=%z\n"
        "}"
    )


def test_verify_accepts() -> None:
    assert verify(FUNCTION) is FUNCTION
    assert users(FUNCTION) == {X: 1, C: 1, Y: 2, Z: 1}


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (replace(FUNCTION, nodes=(MUL, ADD)), "%y is read before it is defined"),
        (replace(FUNCTION, nodes=(ADD, ADD, MUL)), "%y is defined twice"),
        (replace(FUNCTION, outputs={"z": Value("w", float32, ())}), "%w is read before it is defined"),
        (replace(FUNCTION, inputs=(X, Value("y", float32, ()))), "two values are called %y"),
        (
            replace(FUNCTION, nodes=(replace(ADD, inputs={"x": X, "y": replace(C, shape=(3,))}), MUL)),
            "does not describe its data",
        ),
        (
            replace(FUNCTION, nodes=(replace(ADD, inputs={"x": X, "y": replace(C, dtype=int32)}), MUL)),
            "does not describe its data",
        ),
        (
            replace(FUNCTION, nodes=(replace(ADD, inputs={"x": X, "y": Constant("s", int32, (), "text")}), MUL)),
            "does not describe its data",
        ),
        (replace(FUNCTION, pairs=(Pair(X, "nowhere"),)), "the output is None"),
        (replace(FUNCTION, pairs=(Pair(Y, "z"),)), "not one of the function's"),
        (replace(FUNCTION, pairs=(Pair(X, "z"), Pair(X, "z"))), "in two pairs"),
    ],
)
def test_verify_refuses(broken: Function, text: str) -> None:
    with pytest.raises(InternalError, match=text):
        verify(broken)


def test_pairs_of_other_shapes_are_refused() -> None:
    wide = Value("state", float32, (3,))
    with pytest.raises(InternalError, match=r"the input is %state: \(3, fp32\), the output is %z: \(2, fp32\)"):
        verify(replace(FUNCTION, inputs=(X, wide), pairs=(Pair(wide, "z"),)))


def test_substitute_reaches_everything_that_reads() -> None:
    changed = substitute(MUL, {Y: X})
    assert changed.inputs == {"x": X, "y": X}
    assert substitute(MUL, {X: Y}) is MUL


def test_strings_are_constants() -> None:
    cast = Node("cast", {"x": Y, "dtype": Constant("d", string, (), "int32")}, (Value("i", int32, (2,)),))
    verify(replace(FUNCTION, nodes=(ADD, cast), outputs={"i": cast.output}))
