"""Einstein summation: products and sums named by letters, carried out as transposes and matrix products."""

# ruff: noqa: A004 -- PyTorch's names

from __future__ import annotations

import math
import string
from collections.abc import Sequence

from lucid.dtypes import promote
from lucid.errors import ShapeError
from lucid.functional.linalg import matmul
from lucid.functional.reductions import sum
from lucid.tensor import Tensor

__all__ = ["einsum"]


def einsum(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Return the sum of products that an equation such as ``"bij,bjk->bik"`` describes.

    Letters name axes; ``...`` stands for axes that broadcast; a letter twice in one term takes the diagonal. Without
    ``->`` the result has the letters that occur once, in the order of the alphabet.
    """
    tensors = operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands
    boxes = [box for box in tensors if isinstance(box, Tensor)]
    terms, result = _parsed(equation, [box.ndim for box in boxes])
    sizes: dict[str, int] = {}
    for box, term in zip(boxes, terms, strict=True):
        for letter, size in zip(term, box.shape, strict=True):
            known = sizes.get(letter, 1)
            if size != known and 1 not in (size, known):
                raise ShapeError(f"einsum: {letter!r} of {equation!r} is {known} in one operand and {size} in another.")
            sizes[letter] = max(known, size) if 0 not in (known, size) else 0
    common = boxes[0].dtype
    for box in boxes[1:]:
        common = promote(common, box.dtype)
    prepared = [_diagonals(box.to(common), term) for box, term in zip(boxes, terms, strict=True)]
    (left, letters), rest = prepared[0], prepared[1:]
    for place, (right, other) in enumerate(rest):
        later = set(result).union(*(term for _, term in rest[place + 1 :]))
        left, letters = _product(left, letters, right, other, later, sizes)
    left, letters = _summed(left, letters, set(result))
    return left.permute([letters.index(letter) for letter in result]) if result else left


def _parsed(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """Return one string of letters per operand and the result's, the dots replaced by letters of their own."""
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ShapeError(f"einsum: {equation!r} has {len(terms)} terms for {len(ranks)} operands.")
    free = [letter for letter in string.ascii_letters if letter not in text]
    hidden = max((rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)), default=0)
    dots = "".join(free[: max(hidden, 0)])
    named = []
    for term, rank in zip(terms, ranks, strict=True):
        missing = rank - len(term.replace("...", ""))
        if missing < 0 or (missing > 0 and "..." not in term):
            raise ShapeError(f"einsum: the term {term!r} of {equation!r} does not name the {rank} axes of its operand.")
        named.append(term.replace("...", dots[len(dots) - missing :]))
    if not arrow:
        letters = sorted(set(inputs) - set(",."))
        output = ("..." if "..." in inputs else "") + "".join(one for one in letters if inputs.count(one) == 1)
    result = output.replace("...", dots)
    unknown = [letter for letter in result if not any(letter in term for term in named)]
    if (
        unknown
        or len(set(result)) < len(result)
        or not all(letter in string.ascii_letters for letter in "".join(named))
    ):
        raise ShapeError(f"einsum: {equation!r} is not valid. The result names letters of the operands, each once.")
    return named, result


def _diagonals(x: Tensor, term: str) -> tuple[Tensor, str]:
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            x = x.diagonal(0, first, second)
            term = "".join(one for place, one in enumerate(term) if place not in (first, second)) + letter
    return x, term


def _summed(x: Tensor, term: str, kept: set[str]) -> tuple[Tensor, str]:
    gone = [axis for axis, letter in enumerate(term) if letter not in kept]
    return (sum(x, gone), "".join(letter for letter in term if letter in kept)) if gone else (x, term)


def _product(x: Tensor, left: str, y: Tensor, right: str, later: set[str], sizes: dict[str, int]) -> tuple[Tensor, str]:
    """Multiply two operands and sum the letters that nothing later needs."""
    x, left = _summed(x, left, later | set(right))
    y, right = _summed(y, right, later | set(left))
    shared = [letter for letter in left if letter in right]
    summed = [letter for letter in shared if letter not in later]
    batch = [letter for letter in shared if letter in later]
    rows = [letter for letter in left if letter not in shared]
    columns = [letter for letter in right if letter not in shared]
    if not summed:
        wide = _arranged(x, left, [*batch, *rows], sizes, batch)
        other = _arranged(y, right, [*batch, *columns], sizes, batch)
        wide = wide.reshape(*wide.shape, *(1 for _ in columns))
        other = other.reshape(*other.shape[: len(batch)], *(1 for _ in rows), *other.shape[len(batch) :])
        return wide * other, "".join([*batch, *rows, *columns])
    first = _arranged(x, left, [*batch, *rows, *summed], sizes, shared)
    second = _arranged(y, right, [*batch, *summed, *columns], sizes, shared)
    lead = [sizes[letter] for letter in batch]
    inside = math.prod(sizes[letter] for letter in summed)
    product = matmul(
        first.reshape(*lead, math.prod(sizes[letter] for letter in rows), inside),
        second.reshape(*lead, inside, math.prod(sizes[letter] for letter in columns)),
    )
    shape = [*lead, *(sizes[letter] for letter in rows), *(sizes[letter] for letter in columns)]
    return product.reshape(shape), "".join([*batch, *rows, *columns])


def _arranged(x: Tensor, term: str, order: list[str], sizes: dict[str, int], full: list[str]) -> Tensor:
    """Put the axes in order, and fill the shared ones that broadcast."""
    moved = x.permute([term.index(letter) for letter in order]) if order else x
    return moved.expand([sizes[letter] if letter in full else -1 for letter in order]) if order else moved
