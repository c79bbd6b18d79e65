"""Matrix products. float16 inputs are multiplied and summed in float32; int32 wraps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from lucid.errors import ShapeError, UnsupportedError
from lucid.ops.array import Array, namespace
from lucid.ops.record import operation, sample

__all__ = ["einsum", "linear", "matmul"]


@operation(
    sample([[4.0, 10.0]], x=[[1.0, 2.0]], weight=[[2.0, 1.0], [3.0, 4.0]], bias=[0.0, -1.0]),
    sample([[[5], [11]]], x=[[[1, 2], [3, 4]]], weight=[[1, 2]]),
    sample([7.0], x=[1.0, 2.0], weight=[[1.0, 3.0]]),
    later={"weight:dtype": "iOS17", "bias:dtype": "iOS17"},
)
def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Return ``x @ weight.T + bias``. ``x``: (*D, in), ``weight``: (out, in), ``bias``: (out,); the result: (*D, out).

    MIL takes `x` of rank 1 to 3; the weight and the bias are known when the program is made. From opset iOS17 on they
    may have another dtype than `x`. Shapes that do not fit raise ShapeError: a bias never broadcasts.
    """
    if x.ndim == 0 or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise ShapeError(
            f"linear: weight has shape {weight.shape}, x has {x.shape}. "
            "The weight is (out, in), where in is the last size of x."
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError(
            f"linear: bias has shape {bias.shape}, expected {weight.shape[:1]} = weight.shape[:1]. "
            "Pass one value per output feature."
        )
    xp = namespace(x)
    rows = x if x.ndim <= 2 else xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    out = rows @ weight.T
    if bias is not None:
        out += bias
    return out if x.ndim <= 2 else xp.reshape(out, (*x.shape[:-1], weight.shape[0]))


@operation(
    sample([[3.0], [7.0]], x=[[1.0, 2.0], [3.0, 4.0]], y=[[1.0], [1.0]]),
    sample([[1, 2], [2, 4]], x=[[1, 2]], y=[[1], [2]], transpose_x=True, transpose_y=True),
    sample(11.0, x=[1.0, 2.0], y=[3.0, 4.0]),
    sample([[3, 4], [3, 4]], x=[1, 0], y=[[[3, 4], [5, 6]], [[3, 4], [5, 6]]]),
    later={"y:dtype": "iOS17"},
)
def matmul(x: Array, y: Array, transpose_x: bool = False, transpose_y: bool = False) -> Array:
    """Return the matrix product of the last two axes; the axes before them broadcast as NumPy's do.

    ``transpose_x`` and ``transpose_y`` swap the last two axes of an input first; on a vector they have no effect. A
    vector `x` is a row, a vector `y` a column, and that axis is not in the result. (MIL's text says so; its shape
    rule refuses a transposed vector `x` and fails on a vector `y`, so the writer should give those a second axis.)
    """
    a = x.mT if transpose_x and x.ndim > 1 else x
    b = y.mT if transpose_y and y.ndim > 1 else y
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise _mismatch(x, y, transpose_x, transpose_y)
    xp = namespace(x, y)
    if b.ndim == 2 and a.ndim > 2 and not transpose_x:  # one product instead of one per matrix of the batch
        return xp.reshape(xp.matmul(xp.reshape(a, (prod(a.shape[:-1]), a.shape[-1])), b), (*a.shape[:-1], b.shape[1]))
    try:
        out = xp.matmul(a, b)
    except (ValueError, TypeError):
        raise _mismatch(x, y, transpose_x, transpose_y) from None
    return out if a.ndim > 1 or b.ndim > 1 else xp.asarray(out)


def _mismatch(x: Any, y: Any, transpose_x: bool, transpose_y: bool) -> ShapeError:
    return ShapeError(
        f"matmul: x of shape {x.shape}{' transposed' if transpose_x else ''} and y of shape "
        f"{y.shape}{' transposed' if transpose_y else ''} do not fit. The last size of x is the last but one of y, "
        "and the sizes before them are equal or 1."
    )


@operation(
    sample(
        [[[3.0], [14.0]]],
        values=[[[[1.0, 1.0], [2.0, 2.0]]], [[[1.0], [3.0]], [[2.0], [4.0]]]],
        equation="chw,whr->chr",
    ),
    sample(
        [[[[2.0], [4.0]]], [[[3.0], [6.0]]]],
        values=[[[[[1.0], [2.0]]]], [[[[2.0]]], [[[3.0]]]]],
        equation="nchw,nwhu->nchu",
    ),
)
def einsum(values: Sequence[Array], equation: str) -> Array:
    """Multiply the matrices on axes -3 and -1 of two tensors, the axes between and before them running together.

    ``equation`` is ``nchw,nwhu->nchu`` or ``chw,whr->chr``, under any letters; Core ML takes no other, so another one
    raises UnsupportedError. The axes n and h broadcast where one tensor has size 1.
    """
    x, y = _two(values)
    if _pattern(equation) not in _EQUATIONS.get(x.ndim, ()):
        raise UnsupportedError(
            f"einsum: equation {equation!r} on tensors of rank {x.ndim} is not one that Core ML takes: "
            "nchw,nwhu->nchu (rank 4) or chw,whr->chr (rank 3). Write it with transpose, reshape and matmul."
        )
    xp = namespace(x, y)
    batch = (0,) if x.ndim == 4 else ()
    c, h, w = range(len(batch), x.ndim)
    if y.ndim != x.ndim or x.shape[w] != y.shape[c]:
        raise _apart(x, y, equation)
    try:
        out = xp.matmul(xp.permute_dims(x, (*batch, h, c, w)), xp.permute_dims(y, (*batch, h, c, w)))
    except (ValueError, TypeError):
        raise _apart(x, y, equation) from None
    return xp.permute_dims(out, (*batch, h, c, w))


_EQUATIONS = {4: ("abcd,adce->abce",), 3: ("abc,cbd->abd",)}


def _pattern(equation: str) -> str:
    """Return the equation under the letters a, b, c … in the order in which its own come."""
    letters: dict[str, str] = {}
    for letter in equation:
        if letter.isalpha():
            letters.setdefault(letter, chr(ord("a") + len(letters)))
    return "".join(letters.get(letter, letter) for letter in equation if not letter.isspace())


def _two(values: Sequence[Any]) -> tuple[Any, Any]:
    if len(values) != 2:
        raise ShapeError(f"einsum: values has {len(values)} tensors, expected 2. Multiply more in several steps.")
    return values[0], values[1]


def _apart(x: Any, y: Any, equation: str) -> ShapeError:
    return ShapeError(
        f"einsum: tensors of shapes {x.shape} and {y.shape} do not fit {equation!r}. Axes with one letter have one "
        "size; n and h may be 1 in one of them."
    )
