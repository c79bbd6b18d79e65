"""What a graph is made of.

A value is defined once: by a function or block input, by a node's output, or by being a :class:`Constant`. Values are
compared by identity, their names are for people and for the package. A state pair is plain data beside the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lucid.dtypes import DType

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Argument", "Block", "Constant", "Function", "Node", "Pair", "Value", "arguments", "rank_of"]


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A tensor that flows through the graph. A size that is only known when the program runs is ``None``."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...]

    def __repr__(self) -> str:
        return (
            f"%{self.name}: ({', '.join('?' if size is None else str(size) for size in self.shape)}, {self.dtype.mil})"
        )


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Value):
    """A value known before the program runs: an array of the value's dtype and shape, or a string.

    The array of a float16 constant may be float32: it is rounded where it is used.
    """

    data: np.ndarray | str

    def __repr__(self) -> str:
        return Value.__repr__(self)


Argument = Value | tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """A straight run of nodes with its own inputs and outputs, as the branches of ``cond`` have."""

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One use of an operation: MIL's name, its inputs by MIL's names, the values it defines, its inner blocks."""

    op: str
    inputs: Mapping[str, Argument]
    outputs: tuple[Value, ...]
    blocks: tuple[Block, ...] = ()

    @property
    def output(self) -> Value:
        """The one output of a node that has one."""
        (value,) = self.outputs
        return value


@dataclass(frozen=True, eq=False, slots=True)
class Pair:
    """A state, before the package is written: an input the model reads and the output that replaces it."""

    input: Value
    output: str


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A pure graph: named inputs, nodes in execution order, outputs by name.

    ``states`` are values that ``read_state`` and ``write_state`` nodes name: only programs read from or bound for a
    package have them. ``pairs`` are the states of a graph that is still pure. ``opset`` names the MIL opset a read
    program was written for.
    """

    name: str
    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: Mapping[str, Value]
    pairs: tuple[Pair, ...] = ()
    states: tuple[Value, ...] = ()
    opset: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


def arguments(node: Node) -> Iterator[Value]:
    """Yield every value that a node reads, in the order of its inputs; inner blocks are not entered."""
    for argument in node.inputs.values():
        if isinstance(argument, tuple):
            yield from argument
        else:
            yield argument


def rank_of(value: Value) -> int:
    """Return the number of axes of a value."""
    return len(value.shape)
