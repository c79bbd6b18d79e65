"""Matrix products against float64, PyTorch and einsum."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch

from lucid import ops
from lucid.errors import ShapeError, UnsupportedError
from lucid.ops.execution import execute


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def close(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(6,), (1, 6), (4, 6), (1, 1, 6), (2, 3, 6), (2, 3, 4, 6), (0, 6), (2, 0, 6)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_linear_is_the_product_in_float64(shape: tuple[int, ...], has_bias: bool) -> None:
    x, weight, bias = normal(*shape), normal(5, 6), normal(5) if has_bias else None
    expected = x.astype(np.float64) @ weight.T.astype(np.float64) + (bias if has_bias else 0)
    close(ops.linear(x, weight, bias), expected)


def test_linear_without_features() -> None:
    assert ops.linear(np.zeros((2, 0), np.float32), np.zeros((3, 0), np.float32)).tolist() == [[0.0] * 3] * 2
    assert ops.linear(normal(2, 3), np.zeros((0, 3), np.float32)).shape == (2, 0)


def test_linear_on_one_token_does_not_copy_the_weight() -> None:
    """The peak of memory is the result's size, not the weight's (8 MB)."""
    x, weight = normal(1, 1, 256), np.zeros((8192, 256), np.float32)
    ops.linear(x, weight)
    tracemalloc.start()
    try:
        ops.linear(x, weight)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000


def test_integers_wrap_and_never_pass_through_floats() -> None:
    x = np.array([[16777217, 2147483647]], np.int32)
    weight = np.array([[1, 0], [0, 2], [1, 1]], np.int32)
    assert ops.linear(x, weight).tolist() == [[16777217, -2, 16777217 - 2147483649]]
    assert ops.matmul(x, weight, transpose_y=True).tolist() == [[16777217, -2, 16777217 - 2147483649]]
    assert ops.linear(x, weight).dtype == np.int32


def test_half_precision_sums_in_float32() -> None:
    x, weight = np.ones((1, 4096), np.float16), np.full((1, 4096), 0.5, np.float16)
    (found,) = execute(ops.linear, ops.linear.bind(x, weight))
    assert (found.dtype, found.tolist()) == (np.float16, [[2048.0]])
    (found,) = execute(ops.matmul, ops.matmul.bind(x, weight, transpose_y=True))
    assert (found.dtype, found.tolist()) == (np.float16, [[2048.0]])


def test_linear_refuses_what_would_broadcast() -> None:
    with pytest.raises(ShapeError) as caught:
        ops.linear(normal(2, 3), normal(4, 3), normal(1))
    assert str(caught.value) == (
        "linear: bias has shape (1,), expected (4,) = weight.shape[:1]. Pass one value per output feature."
    )
    with pytest.raises(ShapeError, match=r"linear: weight has shape \(3, 4\), x has \(2, 3\)"):
        ops.linear(normal(2, 3), normal(3, 4))
    with pytest.raises(ShapeError, match=r"linear: bias has shape \(2, 4\)"):
        ops.linear(normal(2, 3), normal(4, 3), normal(2, 4))
    with pytest.raises(ShapeError, match=r"linear: weight has shape \(3,\)"):
        ops.linear(normal(2, 3), normal(3))


PAIRS = [
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((4, 3), (3,)),
    ((4, 3), (3, 2)),
    ((3,), (5, 3, 2)),
    ((5, 4, 3), (3,)),
    ((5, 4, 3), (3, 2)),
    ((4, 3), (5, 3, 2)),
    ((2, 1, 4, 3), (5, 3, 2)),
    ((2, 5, 4, 3), (1, 5, 3, 2)),
    ((0, 4, 3), (3, 2)),
    ((2, 4, 0), (2, 0, 3)),
]


@pytest.mark.parametrize("transpose_y", [False, True])
@pytest.mark.parametrize("transpose_x", [False, True])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_matmul_is_pytorchs(
    first: tuple[int, ...], second: tuple[int, ...], transpose_x: bool, transpose_y: bool
) -> None:
    x, y = normal(*first), normal(*second)
    expected = torch.matmul(torch.tensor(x).double(), torch.tensor(y).double()).numpy()
    given_x = np.ascontiguousarray(x.mT) if transpose_x and x.ndim > 1 else x
    given_y = np.ascontiguousarray(y.mT) if transpose_y and y.ndim > 1 else y
    found = ops.matmul(given_x, given_y, transpose_x, transpose_y)
    assert isinstance(found, np.ndarray)
    close(found, expected)


@pytest.mark.parametrize(
    ("first", "second"), [((2, 3), (2, 3)), ((2, 4, 3), (3, 3, 2)), ((3,), (2,)), ((), (2, 2)), ((5, 4, 3), (4, 2))]
)
def test_matmul_names_both_shapes(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as caught:
        ops.matmul(normal(*first), normal(*second))
    assert f"matmul: x of shape {first} and y of shape {second} do not fit." in str(caught.value)


@pytest.mark.parametrize(
    ("equation", "first", "second"),
    [
        ("nchw,nwhu->nchu", (2, 3, 4, 5), (2, 5, 4, 6)),
        ("abcd, adce -> abce", (1, 3, 4, 5), (2, 5, 4, 6)),
        ("nchw,nwhu->nchu", (2, 3, 1, 5), (1, 5, 4, 6)),
        ("chw,whr->chr", (3, 4, 5), (5, 4, 6)),
        ("chw,whr->chr", (3, 4, 5), (5, 1, 6)),
        ("chw,whr->chr", (3, 4, 0), (0, 4, 6)),
    ],
)
def test_einsum_is_numpys(equation: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    x, y = normal(*first), normal(*second)
    sizes = [max(a, b) for a, b in zip(first, second, strict=True)]
    h = len(first) - 2
    wide = [
        np.broadcast_to(
            value, [sizes[i] if i == h or (i == 0 and h == 2) else size for i, size in enumerate(value.shape)]
        )
        for value in (x, y)
    ]
    close(ops.einsum([x, y], equation), np.einsum(equation, *(value.astype(np.float64) for value in wide)))


@pytest.mark.parametrize("equation", ["ij,jk->ik", "nchw,nwhu->nhcu", "nchw,nchw->nchw", "chw,whr->chr", "nchw,nwhu"])
def test_einsum_refuses_other_equations(equation: str) -> None:
    with pytest.raises(UnsupportedError, match="is not one that Core ML takes"):
        ops.einsum([normal(2, 3, 4, 5), normal(2, 5, 4, 6)], equation)


def test_einsum_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"einsum: tensors of shapes \(3, 4, 5\) and \(6, 4, 6\) do not fit"):
        ops.einsum([normal(3, 4, 5), normal(6, 4, 6)], "chw,whr->chr")
    with pytest.raises(ShapeError, match=r"einsum: tensors of shapes \(3, 4, 5\) and \(5, 2, 6\) do not fit"):
        ops.einsum([normal(3, 4, 5), normal(5, 2, 6)], "chw,whr->chr")
    with pytest.raises(ShapeError, match="einsum: values has 1 tensors, expected 2"):
        ops.einsum([normal(3, 4, 5)], "chw,whr->chr")
