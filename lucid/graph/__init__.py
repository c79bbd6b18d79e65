"""The graph: pure data. Values, nodes, blocks, functions and state pairs, one printer, one verifier."""

from lucid.graph.model import Argument, Block, Constant, Function, Node, Pair, Value, arguments, rank_of
from lucid.graph.printer import render
from lucid.graph.rewriting import reads, substitute, users, walk
from lucid.graph.verifier import verify

__all__ = [
    "Argument",
    "Block",
    "Constant",
    "Function",
    "Node",
    "Pair",
    "Value",
    "arguments",
    "rank_of",
    "reads",
    "render",
    "substitute",
    "users",
    "verify",
    "walk",
]
