"""Functions and methods of tensors against PyTorch: one row of the table is one call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch_oracle import agree, numbers, ours

import lucid
from lucid.errors import DTypeError, IndexingError, LucidError, ShapeError, UnsupportedError

M = numbers(3, 4)
N = numbers(3, 4, seed=1)
P = M.abs() + 0.1
C = numbers(2, 3, 4)
V = numbers(4)
I = numbers(3, 4, dtype=torch.int32)  # noqa: E741
J = torch.where(numbers(3, 4, dtype=torch.int32, seed=5) == 0, 3, numbers(3, 4, dtype=torch.int32, seed=5))
J = J.to(torch.int32)
B = numbers(3, 4, dtype=torch.bool)
D = numbers(3, 4, dtype=torch.bool, seed=3)
S = torch.tensor(2.5)
U = torch.tanh(M)
NAN = torch.tensor([1.0, math.nan, math.inf, -math.inf, 0.0, -0.0])
SPAN = torch.tensor([-1e4, -50.0, -1.0, -1e-4, -1e-7, 0.0, 1e-7, 1e-4, 0.3, 1.0, 50.0, 1e4])
INT8 = numbers(3, 4, dtype=torch.int8)
INDEX = torch.tensor([[0, 2, 1, 0], [1, 1, 0, 2]])
ROWS = torch.tensor([2, 0])

UNARY = [
    "abs",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "atan",
    "asinh",
    "sigmoid",
    "erf",
    "erfc",
    "floor",
    "ceil",
    "round",
    "trunc",
    "frac",
    "sign",
    "neg",
    "square",
    "isnan",
    "isinf",
    "isfinite",
    "relu",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
]
LOGIC = ["logical_and", "logical_or", "logical_xor"]

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((name, (M,), {}) for name in UNARY),
    *((name, (NAN,), {}) for name in UNARY if name not in ("sin", "cos", "tan", "sign", "rsqrt")),
    *((name, (SPAN,), {}) for name in ("expm1", "log1p", "asinh", "atan", "sigmoid", "tanh", "erf", "sqrt", "rsqrt")),
    *((name, (I,), {}) for name in UNARY if name not in ("log1p", "rsqrt", "frac")),
    *((name, (U,), {}) for name in ("asin", "acos", "atanh")),
    ("acosh", (P + 1.0,), {}),
    *((name, (M, N), {}) for name in (*BINARY, *LOGIC)),
    *((name, (I, J), {}) for name in (*BINARY, *LOGIC)),
    *((name, (M, V), {}) for name in BINARY),
    *((name, (I, N), {}) for name in BINARY if name not in ("fmod", "remainder", "floor_divide")),
    *((name, (INT8, INT8 + 1), {}) for name in ("add", "sub", "mul", "eq", "lt", "maximum", "minimum", "div")),
    *((name, (B, D), {}) for name in ("add", "mul", "eq", "ne", *LOGIC, "maximum", "minimum", "lt", "div")),
    ("atan2", (M, N), {}),
    ("pow", (P, N), {}),
    *(("pow", (P, exponent), {}) for exponent in (2, 3, 0.5, -0.5, -1, 0, 1.7)),
    ("pow", (I, 3), {}),
    ("pow", (2.0, M), {}),
    ("add", (M, N), {"alpha": 2.5}),
    ("sub", (M, N), {"alpha": 2}),
    ("div", (M, N), {"rounding_mode": "floor"}),
    ("div", (M, N), {"rounding_mode": "trunc"}),
    ("div", (I, J), {"rounding_mode": "floor"}),
    ("div", (I, J), {"rounding_mode": "trunc"}),
    ("lerp", (M, N, 0.25), {}),
    ("addcmul", (M, N, P), {"value": 0.5}),
    ("addcdiv", (M, N, P), {"value": 0.5}),
    ("where", (B, M, N), {}),
    ("where", (B, M, 0.0), {}),
    ("where", (B[:, :1], V, N), {}),
    ("where", (B, I, 7), {}),
    ("where", (B, B, D), {}),
    ("masked_fill", (M, B, -math.inf), {}),
    ("masked_fill", (I, B, 4), {}),
    ("isclose", (M, M + 1e-7), {}),
    ("isclose", (NAN, NAN), {"equal_nan": True}),
    ("isclose", (NAN, NAN), {}),
    ("allclose", (M, M + 1e-7), {}),
    ("equal", (M, N), {}),
    ("bitwise_and", (B, D), {}),
    ("bitwise_or", (B, D), {}),
    ("bitwise_xor", (B, D), {}),
    ("bitwise_not", (B,), {}),
    ("bitwise_not", (I,), {}),
    ("logical_not", (M,), {}),
    ("clamp", (M, -1.0, 1.0), {}),
    ("clamp", (M,), {"min": 0.5}),
    ("clamp", (M,), {"max": 0.5}),
    ("clamp", (M, 1.0, -1.0), {}),
    ("clamp", (M, N, P), {}),
    ("clamp", (I, -2, 3), {}),
    ("round", (M,), {"decimals": 1}),
    ("nan_to_num", (NAN,), {}),
    ("nan_to_num", (NAN,), {"nan": 3.0, "posinf": 4.0, "neginf": -4.0}),
    # reductions
    *(
        (name, (C,), {})
        for name in ("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "prod", "std", "var")
    ),
    *(
        (name, (C, 1), {})
        for name in ("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "prod", "std", "var")
    ),
    *(
        (name, (C,), {"dim": -1, "keepdim": True})
        for name in ("sum", "mean", "amax", "max", "argmin", "prod", "std", "var")
    ),
    *((name, (C, (0, 2)), {}) for name in ("sum", "mean", "amax", "amin", "std", "var", "logsumexp")),
    *((name, (S,), {}) for name in ("sum", "mean", "amax", "max", "argmax", "prod")),
    *((name, (I,), {}) for name in ("sum", "prod", "amax", "max", "argmax", "any", "all", "count_nonzero")),
    *((name, (B,), {}) for name in ("sum", "amax", "any", "all", "count_nonzero")),
    *((name, (B, 1), {}) for name in ("sum", "any", "all", "count_nonzero")),
    ("any", (M, 0, True), {}),
    ("max", (M, N), {}),
    ("min", (M, N), {}),
    ("sum", (M,), {"dtype": torch.float16}),
    ("nansum", (torch.tensor([1.0, math.nan, 2.0]),), {}),
    ("var", (C, 1), {"correction": 0}),
    ("var", (C, 1), {"unbiased": False}),
    ("std_mean", (C, 1), {}),
    ("var_mean", (C, 1), {"keepdim": True}),
    *(("norm", (C, p), {}) for p in (1, 2, 3, math.inf, -math.inf, 0)),
    ("norm", (C, 2, 1, True), {}),
    ("norm", (C,), {}),
    ("logsumexp", (SPAN, 0), {}),
    ("cumsum", (C, 1), {}),
    ("cumsum", (I, -1), {}),
    ("cumsum", (B, 0), {}),
    ("topk", (V, 2), {}),
    ("topk", (C, 2, 1, False), {}),
    ("sort", (C, 1), {}),
    ("sort", (C,), {"descending": True}),
    ("argsort", (C, 0), {}),
    # shapes
    ("reshape", (C, (4, -1)), {}),
    ("reshape", (C, (-1,)), {}),
    ("reshape", (torch.ones(1, 1), ()), {}),
    ("reshape", (S, (1, 1)), {}),
    ("flatten", (C,), {}),
    ("flatten", (C, 1), {}),
    ("flatten", (C, 0, 1), {}),
    ("flatten", (S,), {}),
    ("ravel", (C,), {}),
    ("unflatten", (C, 2, (2, -1)), {}),
    ("permute", (C, (2, 0, 1)), {}),
    ("transpose", (C, 0, -1), {}),
    ("swapaxes", (C, 1, 2), {}),
    ("t", (M,), {}),
    ("movedim", (C, 0, 2), {}),
    ("movedim", (C, (0, 2), (1, 0)), {}),
    ("squeeze", (torch.ones(1, 3, 1),), {}),
    ("squeeze", (torch.ones(1, 3, 1), 0), {}),
    ("squeeze", (torch.ones(1, 3, 1), 1), {}),
    ("squeeze", (torch.ones(1, 3, 1), (0, 2)), {}),
    ("unsqueeze", (M, 1), {}),
    ("unsqueeze", (M, -1), {}),
    ("tile", (M, (2,)), {}),
    ("repeat_interleave", (M, 3), {}),
    ("repeat_interleave", (M, 2, 1), {}),
    ("repeat_interleave", (M, torch.tensor([1, 0, 2]), 0), {}),
    ("flip", (C, (0, 2)), {}),
    ("flip", (B, (1,)), {}),
    ("roll", (C, 1), {}),
    ("roll", (C, -1, 2), {}),
    ("roll", (C, (1, 2), (0, 2)), {}),
    ("broadcast_to", (V, (2, 3, 4)), {}),
    ("broadcast_tensors", (V, M[:, :1]), {}),
    # joining
    ("cat", ([M, N],), {}),
    ("cat", ([M, N, I], 1), {}),
    ("cat", ([torch.empty(0), M],), {}),
    ("cat", ([B, D], -1), {}),
    ("stack", ([M, N], 1), {}),
    ("stack", ([M, N], -1), {}),
    ("hstack", ([V, V],), {}),
    ("vstack", ([V, V],), {}),
    ("split", (C, 2, 2), {}),
    ("split", (C, 3, 2), {}),
    ("split", (C, [1, 0, 3], 2), {}),
    ("chunk", (C, 3, 2), {}),
    ("chunk", (C, 2, 1), {}),
    ("unbind", (C, 1), {}),
    # selecting
    ("narrow", (C, 2, 1, 2), {}),
    ("narrow", (C, -1, -1, 1), {}),
    ("select", (C, 1, -1), {}),
    ("index_select", (C, 1, ROWS), {}),
    ("index_select", (B, 1, ROWS), {}),
    ("gather", (M, 0, INDEX), {}),
    ("gather", (M, 1, INDEX), {}),
    ("gather", (B, 1, INDEX), {}),
    ("take_along_dim", (M, INDEX[:1], 0), {}),
    ("scatter", (M, 0, INDEX, N), {}),
    ("scatter", (M, 1, torch.tensor([[0, 3], [2, 1]]), 7.0), {}),
    ("scatter", (M, 1, torch.tensor([[0, 3], [2, 1]]), N), {}),
    ("scatter", (M, 0, INDEX, 2.0), {"reduce": "add"}),
    ("scatter", (M, 0, INDEX[:1], 2.0), {"reduce": "multiply"}),
    ("scatter_add", (M, 0, INDEX, N), {}),
    ("scatter_add", (M, 1, INDEX, N), {}),
    ("index_copy", (M, 0, ROWS, N[:2]), {}),
    ("index_copy", (M, 1, torch.tensor([3]), N[:, :1]), {}),
    ("index_add", (M, 0, torch.tensor([0, 0]), N[:2]), {"alpha": 2}),
    ("index_fill", (M, 1, ROWS, 5.0), {}),
    ("slice_scatter", (M, N[:2], 0, 1, 3), {}),
    ("slice_scatter", (M, N[:, :2], 1, 0, 4, 2), {}),
    ("select_scatter", (M, N[0], 0, 1), {}),
    ("masked_select", (M, B), {}),
    ("nonzero", (B,), {}),
    ("tril", (C,), {}),
    ("tril", (C, 1), {}),
    ("triu", (C, -1), {}),
    ("triu", (B,), {}),
    ("diagonal", (C, 1, 1, 2), {}),
    ("diagonal", (C, -1, 0, 2), {}),
    ("diagonal", (M,), {}),
    # linear algebra
    ("mm", (M, N.T.contiguous()), {}),
    ("bmm", (C, C.transpose(1, 2).contiguous()), {}),
    ("mv", (M, V), {}),
    ("dot", (V, V), {}),
    ("inner", (C, V), {}),
    ("inner", (C, M), {}),
    ("outer", (V, V), {}),
    ("addmm", (N[:, :3].contiguous(), M, N.T.contiguous()), {"beta": 0.5, "alpha": 2}),
    ("baddbmm", (torch.ones(2, 3, 3), C, C.transpose(1, 2).contiguous()), {}),
    ("softmax", (M, -1), {}),
    ("softmax", (C, 1), {}),
    ("log_softmax", (M, 0), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=[f"{name}-{i}" for i, (name, _, _) in enumerate(CALLS)])
def test_function_is_pytorchs(name: str, args: Any, kwargs: Any) -> None:
    theirs = getattr(torch, name, None) or getattr(torch.Tensor, name)
    dtypes = {key: getattr(lucid, str(value).removeprefix("torch.")) for key, value in kwargs.items() if key == "dtype"}
    expected = theirs(*args, **kwargs)
    wanted = {"floor_divide": 0, "remainder": 1e-5}.get(name, 1e-6)
    agree(getattr(lucid, name)(*ours(args), **{**kwargs, **dtypes}), expected, atol=max(wanted, 1e-6))
    if isinstance(args[0], torch.Tensor) and hasattr(torch.Tensor, name) and name not in ("where",):
        method = getattr(ours(args[0]), name)
        agree(method(*ours(args[1:]), **{**kwargs, **dtypes}), expected, atol=max(wanted, 1e-6))


MATMUL = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5))]
MATMUL += [
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((6, 3, 4), (1, 4, 2)),
    ((1, 4), (4, 1)),
]


@pytest.mark.parametrize(("left", "right"), MATMUL)
def test_matmul_of_every_rank(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = numbers(*left), numbers(*right, seed=1)
    agree(ours(x) @ ours(y), x @ y)
    agree(lucid.matmul(ours(x), ours(y)), torch.matmul(x, y))


EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bhld,bhsd->bhls", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ij->ji", (3, 4)),
    ("ij->", (3, 4)),
    ("ij->j", (3, 4)),
    ("ii->i", (4, 4)),
    ("ii", (4, 4)),
    ("iij->j", (3, 3, 2)),
    ("i,j->ij", (3,), (4,)),
    ("i,i->", (4,), (4,)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,kj,lk->il", (2, 3), (4, 3), (5, 4)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("b...d,d->b...", (2, 3, 4), (4,)),
    ("ba,ca", (2, 3), (4, 3)),
    ("ijk,k->ij", (2, 3, 1), (4,)),
    ("a b , b -> a", (2, 3), (3,)),
    ("ij,k->i", (2, 3), (4,)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=[case[0] for case in EINSUMS])
def test_einsum(case: tuple[Any, ...]) -> None:
    tensors = [numbers(*shape, seed=place) for place, shape in enumerate(case[1:])]
    agree(lucid.einsum(case[0], *ours(tensors)), torch.einsum(case[0], *tensors))


OPERATORS = [
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "x // y",
    "x % y",
    "x ** 2",
    "2 ** x",
    "-x",
    "+x",
    "abs(x)",
    "x + 1",
    "1 + x",
    "x - 1.5",
    "1.5 - x",
    "2 * x",
    "x / 2",
    "2 / x",
    "x // 2",
    "7 // x",
    "x % 3",
    "7 % x",
    "x % 1",
    "x < y",
    "x <= 1",
    "x > y",
    "x >= 0",
    "x == y",
    "x != y",
    "x == 1",
    "(x > 0) & (y > 0)",
    "(x > 0) | (y > 0)",
    "(x > 0) ^ (y > 0)",
    "~(x > 0)",
    "(x > 0) & True",
    "x + True",
    "(x > 0) + 1",
    "(x > 0) * x",
    "(x > 0) * 2.5",
]


@pytest.mark.parametrize("text", OPERATORS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.float16], ids=str)
def test_operator(text: str, dtype: torch.dtype) -> None:
    x, y = numbers(3, 4, dtype=dtype), numbers(3, 4, dtype=dtype, seed=9)
    x, y = torch.where(x == 0, 2, x).to(dtype), torch.where(y == 0, 3, y).to(dtype)
    if dtype == torch.int32 and text == "2 ** x":
        x = x.abs()
    expected = eval(text, {"x": x, "y": y})  # noqa: S307
    half = {"rtol": 2e-3, "atol": 4e-3} if dtype == torch.float16 else {}
    agree(eval(text, {"x": ours(x), "y": ours(y)}), expected, **half)  # noqa: S307


def test_fractions_survive_remainder_by_one() -> None:
    x = lucid.tensor([0.25, 1.25, 2.5, -0.25])
    assert (x % 1).tolist() == [0.25, 0.25, 0.5, 0.75]
    assert (x % lucid.ones(4)).tolist() == [0.25, 0.25, 0.5, 0.75]
    assert (x % -1).tolist() == [-0.75, -0.75, -0.5, -0.25]
    assert (x % 0.5).tolist() == [0.25, 0.25, 0.0, 0.25]


def test_integers_never_pass_through_floats() -> None:
    a = lucid.tensor([4099, -7, 16777217, 2147483647])
    assert (a // 2).tolist() == [2049, -4, 8388608, 1073741823]
    assert lucid.div(a, 2, rounding_mode="trunc").tolist() == [2049, -3, 8388608, 1073741823]
    assert (a // 1).tolist() == a.tolist()
    assert (a % 10).tolist() == [9, 3, 7, 7]
    assert (a + 0).tolist() == a.tolist()
    assert a.clamp(-1, 16777217).tolist() == [4099, -1, 16777217, 16777217]
    assert lucid.pad(a, (1, 0), value=5).tolist() == [5, *a.tolist()]
    assert a[[2, 3]].tolist() == [16777217, 2147483647]
    assert (a // 2).dtype == (a % 10).dtype == lucid.int32


def test_log_softmax_keeps_small_probabilities() -> None:
    for margin in (5.0, 50.0, 200.0):
        logits = torch.zeros(8)
        logits[3] = margin
        agree(lucid.log_softmax(ours(logits), -1), torch.log_softmax(logits, -1))
    assert lucid.log_softmax(lucid.tensor([0.0, 200.0]), -1).tolist() == [-200.0, 0.0]


def test_ties_come_in_order_of_position() -> None:
    x = lucid.tensor([1, 5, 3, 5, 5])
    assert x.topk(3).values.tolist() == [5, 5, 5]
    assert x.argmax().item() == 1
    assert x.argsort(stable=True).tolist() == [0, 2, 1, 3, 4]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [(1, 2), (2, 0), (1, 1, 2, 1), (0, 0, 1, 2)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_pad(mode: str, pads: tuple[int, ...], dtype: torch.dtype) -> None:
    x = numbers(1, 2, 4, 5, dtype=dtype) if len(pads) == 4 else numbers(2, 4, 5, dtype=dtype)
    agree(lucid.pad(ours(x), pads, mode), torch.nn.functional.pad(x, pads, mode))


@pytest.mark.parametrize(
    ("pads", "value"), [((-1, 2), 0), ((1, -1), 3), ((1, 0, -2, 1), 2), ((0, 0), 1), ((1, 2, 0, 0, 1, 0), 4)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
def test_pad_with_a_constant(pads: tuple[int, ...], value: int, dtype: torch.dtype) -> None:
    x = numbers(2, 3, 4, dtype=dtype)
    agree(lucid.pad(ours(x), pads, value=value), torch.nn.functional.pad(x, pads, value=value))


def test_one_hot() -> None:
    x = torch.tensor([[0, 2], [1, 2]])
    agree(lucid.one_hot(ours(x), 4), torch.nn.functional.one_hot(x, 4))
    agree(lucid.one_hot(ours(x)), torch.nn.functional.one_hot(x))


def test_meshgrid() -> None:
    x, y = torch.arange(3.0), torch.arange(2.0)
    agree(lucid.meshgrid(ours(x), ours(y), indexing="ij"), torch.meshgrid(x, y, indexing="ij"))
    agree(lucid.meshgrid(ours(x), ours(y), indexing="xy"), torch.meshgrid(x, y, indexing="xy"))


METHODS = [
    ("expand", (V,), (3, -1)),
    ("expand", (V,), ((2, 3, 4),)),
    ("expand", (B[:, :1],), (-1, 5)),
    ("repeat", (M,), (2, 1, 3)),
    ("repeat", (V,), (2,)),
    ("view", (C,), (6, 4)),
    ("view", (C,), (-1,)),
    ("expand_as", (V,), (M,)),
    ("reshape", (C,), (4, 6)),
    ("permute", (C,), (2, 1, 0)),
    ("type_as", (I,), (M,)),
    ("half", (M,), ()),
    ("int", (M,), ()),
    ("bool", (I,), ()),
    ("float", (I,), ()),
    ("double", (M,), ()),
    ("clone", (M,), ()),
    ("contiguous", (M,), ()),
    ("masked_fill", (M,), (B, 1.0)),
    ("where", (M,), (B, N)),
    ("new_zeros", (M,), (2, 3)),
    ("new_full", (I,), ((2,), 4)),
    ("new_ones", (B,), (2,)),
    ("view_as", (C,), (torch.ones(6, 4),)),
    ("flip", (C,), (0,)),
    ("dim", (C,), ()),
    ("numel", (C,), ()),
    ("size", (C,), ()),
    ("size", (C,), (-1,)),
    ("is_floating_point", (C,), ()),
    ("tolist", (C,), ()),
]


@pytest.mark.parametrize(("name", "first", "rest"), METHODS)
def test_method(name: str, first: Any, rest: Any) -> None:
    agree(getattr(ours(first[0]), name)(*ours(rest)), getattr(first[0], name)(*rest))


IN_PLACE = [
    ("add_", (M,), (N,)),
    ("add_", (I,), (2,)),
    ("sub_", (M,), (N,)),
    ("mul_", (M,), (2,)),
    ("div_", (M,), (V,)),
    ("copy_", (M,), (V,)),
    ("copy_", (I,), (M,)),
    ("fill_", (M,), (3,)),
    ("zero_", (I,), ()),
    ("masked_fill_", (M,), (B, 2.0)),
    ("clamp_", (M,), (-1, 1)),
    ("index_copy_", (M,), (0, ROWS, N[:2])),
    ("index_add_", (M,), (0, ROWS, N[:2])),
    ("scatter_", (M,), (0, INDEX, N)),
    ("scatter_add_", (M,), (0, INDEX, N)),
    ("neg_", (M,), ()),
    ("exp_", (M,), ()),
    ("pow_", (M,), (2,)),
    ("remainder_", (I,), (3,)),
    ("addcmul_", (M,), (N, P)),
    ("lerp_", (M,), (N, 0.5)),
    ("logical_not_", (B,), ()),
    ("tril_", (M,), ()),
    ("sqrt_", (P,), ()),
]


@pytest.mark.parametrize(("name", "first", "rest"), IN_PLACE)
def test_in_place(name: str, first: Any, rest: Any) -> None:
    box, theirs = ours(first[0]), first[0].clone()
    before = box.clone()
    kept = before.tolist()
    assert getattr(box, name)(*ours(rest)) is box
    agree(box, getattr(theirs, name)(*rest))
    assert before.tolist() == kept


@pytest.mark.parametrize("text", ["x += y", "x -= 1", "x *= y", "x /= 2", "x //= 2", "x %= 2", "x **= 2", "x += h"])
def test_in_place_operator_keeps_the_box(text: str) -> None:
    theirs, ours_ = {}, {}
    for space, make in ((theirs, torch.tensor), (ours_, lucid.tensor)):
        space.update(x=make([1.5, 2.5]), y=make([3.0, 4.0]), h=make([1, 2]))
    box = ours_["x"]
    for space in (theirs, ours_):
        exec(text, space)  # noqa: S102
    assert ours_["x"] is box
    agree(box, theirs["x"])


CREATED = [
    ("zeros", (2, 3), {}),
    ("zeros", ((2, 3),), {}),
    ("ones", (1, 4), {}),
    ("ones", ((),), {}),
    ("full", ((2, 3), 1.5), {}),
    ("full", ((2,), 7), {}),
    ("full", ((2,), True), {}),
    ("arange", (5,), {}),
    ("arange", (1, 6), {}),
    ("arange", (1, 2, 0.3), {}),
    ("arange", (5, 0, -2), {}),
    ("arange", (0.0, 1.0, 0.1), {}),
    ("arange", (5.0,), {}),
    ("arange", (0,), {}),
    ("linspace", (0, 1, 5), {}),
    ("linspace", (-1, 2, 7), {}),
    ("linspace", (3, 3, 1), {}),
    ("eye", (3,), {}),
    ("eye", (2, 4), {}),
    ("zeros_like", (I,), {}),
    ("ones_like", (M,), {}),
    ("full_like", (M, 2), {}),
    ("full_like", (I, 2.7), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CREATED)
def test_creation(name: str, args: Any, kwargs: Any) -> None:
    agree(getattr(lucid, name)(*ours(args), **kwargs), getattr(torch, name)(*args, **kwargs))


@pytest.mark.parametrize("name", ["float16", "float32", "int32", "int8", "uint8", "bool"])
def test_creation_with_a_dtype(name: str) -> None:
    for function, args in (("zeros", (2,)), ("ones", (2,)), ("full", ((2,), 1)), ("eye", (2,))):
        agree(
            getattr(lucid, function)(*args, dtype=getattr(lucid, name)),
            getattr(torch, function)(*args, dtype=getattr(torch, name)),
        )


ERRORS = [
    (lambda: lucid.ones(2, 3) + lucid.ones(4), ShapeError, "add: the shapes (2, 3), (4,) do not broadcast"),
    (lambda: lucid.ones(2, 3) @ lucid.ones(2, 3), ShapeError, "3 columns meet 2 rows"),
    (lambda: lucid.ones(2, 3).sum(2), IndexingError, "sum: dim is 2, the tensor has 2 axes"),
    (lambda: lucid.ones(2, 3).sum((0, -2)), IndexingError, "names an axis twice"),
    (lambda: lucid.ones(2, 3).reshape(4), ShapeError, "does not hold the 6 elements"),
    (lambda: lucid.arange(3).mean(), DTypeError, "mean: the tensor is int32"),
    (lambda: lucid.arange(3) & 1, UnsupportedError, "bitwise operations for bool only"),
    (lambda: lucid.ones(3).softmax(), ShapeError, "softmax: dim is missing"),
    (lambda: lucid.cat([]), ShapeError, "no tensors"),
    (lambda: lucid.cat([lucid.ones(2, 3), lucid.ones(2, 4)]), ShapeError, "differ outside axis 0"),
    (lambda: lucid.stack([lucid.ones(2), lucid.ones(3)]), ShapeError, "differ"),
    (lambda: lucid.ones(3).split(0), ShapeError, "must be positive"),
    (lambda: lucid.ones(3).topk(4), ShapeError, "k is 4"),
    (lambda: lucid.ones(2, 2) @ lucid.ones(2, 2).half(), DTypeError, "float32 and float16"),
    (lambda: -lucid.ones(2).bool(), DTypeError, "logical_not"),
    (lambda: lucid.ones(2).bool() - lucid.ones(2).bool(), DTypeError, "logical_xor"),
    (lambda: lucid.arange(3).add_(0.5), DTypeError, "does not go into int32"),
    (lambda: lucid.ones(3).add_(lucid.ones(2, 3)), ShapeError, "in-place write"),
    (lambda: lucid.arange(4).pow(-1), DTypeError, "power -1"),
    (lambda: lucid.where(lucid.ones(2), 1.0, 0.0), UnsupportedError, "condition is float32"),
    (lambda: lucid.where(lucid.ones(2).bool()), UnsupportedError, "no fixed shape"),
    (lambda: lucid.ones(2, 3).expand(4, 3), ShapeError, "does not fill the shape (4, 3)"),
    (lambda: lucid.ones(2, 3).permute(0, 0), IndexingError, "each of them once"),
    (lambda: lucid.ones(3).narrow(0, 2, 2), IndexingError, "leave axis 0, of size 3"),
    (lambda: lucid.ones(3).gather(0, lucid.ones(3)), DTypeError, "takes integers"),
    (lambda: lucid.einsum("ij,jk->ik", lucid.ones(2, 3)), ShapeError, "2 terms for 1 operands"),
    (lambda: lucid.pad(lucid.ones(3), (3, 0), "reflect"), ShapeError, "does not suit axis 0"),
    (lambda: lucid.pad(lucid.ones(3), (1, 0), "mirror"), UnsupportedError, "mode is 'mirror'"),
    (lambda: lucid.zeros(2, -1), ShapeError, "negative size"),
    (lambda: lucid.arange(3, 0), ShapeError, "does not lead from 3 to 0"),
    (lambda: lucid.arange(1 << 31, (1 << 31) + 2), DTypeError, "does not fit int32"),
    (lambda: lucid.div(lucid.ones(2), 2, rounding_mode="up"), DTypeError, "rounding_mode is 'up'"),
    (lambda: lucid.gelu(lucid.ones(2), "fast"), DTypeError, "approximate is 'fast'"),
    (lambda: lucid.ones(2).norm("nuc"), DTypeError, "p is 'nuc'"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS, ids=[text for _, _, text in ERRORS])
def test_error(call: Any, kind: type[LucidError], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_half_precision_rounds_once() -> None:
    x, y = numbers(5, 6, dtype=torch.float16), numbers(6, 5, dtype=torch.float16)
    product = (ours(x) @ ours(y)).numpy()
    assert product.dtype == np.float16
    np.testing.assert_array_equal(product, (x.float() @ y.float()).half().numpy())


def test_a_number_does_not_change_the_dtype() -> None:
    assert (lucid.ones(2).half() * 2.5).dtype == lucid.float16
    assert (lucid.ones(2).half() + 1).dtype == lucid.float16
    assert (lucid.arange(2) * 2.5).dtype == lucid.float32
    assert (lucid.ones(2).half() + lucid.ones(2)).dtype == lucid.float32


def test_numpy_operands() -> None:
    x = lucid.ones(2)
    array = np.array([1.0, 2.0], np.float32)
    assert isinstance(x + array, lucid.Tensor)
    assert isinstance(array + x, lucid.Tensor)
    assert (array * x).tolist() == [1.0, 2.0]


def test_comparison_with_what_is_no_number() -> None:
    x = lucid.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    with pytest.raises(TypeError):
        x + "a"
