"""Products of matrices and vectors. Two operands share a dtype; half precision is accumulated in float32."""

from __future__ import annotations

from lucid.dtypes import bool_
from lucid.errors import DTypeError, ShapeError
from lucid.functional.arithmetic import add, mul
from lucid.functional.operands import broadcast_shape, is_wide
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor, as_tensor

__all__ = ["addmm", "baddbmm", "bmm", "dot", "inner", "matmul", "mm", "mv", "outer"]


def _same_dtype(name: str, x: Tensor, other: Tensor) -> None:
    if x.dtype != other.dtype:
        raise DTypeError(f"{name}: the operands are {x.dtype} and {other.dtype}. Cast one of them.")
    if x.dtype == bool_ or not is_wide(x):
        raise DTypeError(f"{name}: the operands are {x.dtype}. It takes int32 or a floating dtype.")


def matmul(x: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product over the last two axes; the axes before them broadcast.

    A vector on the left is a row, on the right a column, and its extra axis is dropped from the result.
    """
    first, second = as_tensor(x), as_tensor(other)
    _same_dtype("matmul", first, second)
    if first.ndim == 0 or second.ndim == 0:
        raise ShapeError(f"matmul: the shapes are {first.shape} and {second.shape}. Use * for a number.")
    left = mil.expand_dims(first, axes=(0,)) if first.ndim == 1 else first
    right = mil.expand_dims(second, axes=(1,)) if second.ndim == 1 else second
    if left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"matmul: the shapes are {first.shape} and {second.shape}; {left.shape[-1]} columns meet "
            f"{right.shape[-2]} rows. They must be equal."
        )
    broadcast_shape("matmul", left.shape[:-2], right.shape[:-2])
    result = mil.matmul(left, right, transpose_x=False, transpose_y=False)
    gone = ((-2,) if first.ndim == 1 else ()) + ((-1,) if second.ndim == 1 else ())
    return mil.squeeze(result, axes=tuple(axis + result.ndim for axis in gone)) if gone else result


def _ranks(name: str, x: Tensor, other: Tensor, *ranks: int) -> None:
    if (x.ndim, other.ndim) != ranks:
        raise ShapeError(
            f"{name}: the shapes are {x.shape} and {other.shape}; it takes {ranks[0]} and {ranks[1]} axes."
        )


def mm(x: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices."""
    _ranks("mm", x, mat2, 2, 2)
    return matmul(x, mat2)


def bmm(x: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of two equally long batches of matrices."""
    _ranks("bmm", x, mat2, 3, 3)
    if x.shape[0] != mat2.shape[0]:
        raise ShapeError(f"bmm: the batches are {x.shape[0]} and {mat2.shape[0]} long. They must be equal.")
    return matmul(x, mat2)


def mv(x: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix and a vector."""
    _ranks("mv", x, vec, 2, 1)
    return matmul(x, vec)


def dot(x: Tensor, tensor: Tensor) -> Tensor:
    """Return the sum of the products of two vectors, of rank 0."""
    _ranks("dot", x, tensor, 1, 1)
    return matmul(x, tensor)


def inner(x: Tensor, other: Tensor) -> Tensor:
    """Return the sums of products over the last axes of both operands."""
    if x.ndim == 0 or other.ndim == 0:
        return mul(x, other)
    if x.shape[-1] != other.shape[-1]:
        raise ShapeError(f"inner: the shapes are {x.shape} and {other.shape}. Their last sizes must be equal.")
    rows, columns = x.reshape(-1, x.shape[-1]), other.reshape(-1, other.shape[-1])
    _same_dtype("inner", rows, columns)
    product = mil.matmul(rows, columns, transpose_x=False, transpose_y=True)
    return product.reshape(*x.shape[:-1], *other.shape[:-1])


def outer(x: Tensor, vec2: Tensor) -> Tensor:
    """Return the matrix of the products of each pair of elements of two vectors."""
    _ranks("outer", x, vec2, 1, 1)
    return mul(mil.expand_dims(x, axes=(1,)), mil.expand_dims(vec2, axes=(0,)))


def addmm(x: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return ``beta * x + alpha * (mat1 @ mat2)``."""
    return _added(x, mm(mat1, mat2), beta, alpha)


def baddbmm(x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return ``beta * x + alpha * (batch1 @ batch2)``."""
    return _added(x, bmm(batch1, batch2), beta, alpha)


def _added(x: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    scaled = product if alpha == 1 else mul(product, alpha)
    if beta == 0:
        return scaled
    return add(x if beta == 1 else mul(x, beta), scaled)
