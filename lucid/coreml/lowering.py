"""Lowering precision: a float32 graph becomes a float16 one, except where float16 would not hold the values.

A value is *wide*, and stays float32, where float16 is known to break it:

- its magnitude on the example calls comes near float16's largest number, 65504; a square's, or a mean of squares',
  comes within a factor of 256, since other inputs that are 16 times as large make it overflow;
- it is a constant beyond that, or is computed from one and nothing has bounded it since (a mask's -1e9 or -3.4e38);
- it is a constant so small that rounding it loses its meaning (Adam's 1e-8), or a sum with one, or a reciprocal that
  only an epsilon so small keeps finite;
- it counts: a sum over true and false;
- it is made from integers, or integers are made from it: float16 counts to 2048, and who knows what they will be;
- it is an angle: a sine's or cosine's, and what the angle is computed from;
- the author lifted it from float16 on purpose, or the spec names it.

An operation that reads or makes a wide value computes in float32; casts stand at the borders. The attributes that an
operation's record keeps in float32 (the epsilon of a logarithm) do so beside float16 tensors and widen nothing.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from lucid import ops
from lucid.coreml.options import Precision
from lucid.coreml.profile import Profile
from lucid.dtypes import DType, float16, float32, int16, int32, string, uint16, uint32
from lucid.errors import UsageError
from lucid.graph import Argument, Constant, Function, Node, Pair, Value, arguments, verify

__all__ = ["lower", "wide_values"]

LARGEST = 65504.0
_MARGIN, _MARGIN_OF_SQUARES = 1 / 2, 1 / 256
_WIDE_INTEGERS = frozenset({int16, int32, uint16, uint32})  # those that go beyond 2048, up to which float16 counts
_FILL = 4096.0  # a constant from here on may be the fill of a mask, or a table of positions
_TRANSPARENT = ("elementwise_binary", "elementwise_unary", "tensor_transformation", "reduction")
_MOVING = ("concat", "cumsum", "einsum", "matmul", "select", "split", "stack", "tile")
_MIXING = ("linear", "conv", "conv_transpose")  # what they give are activations, whatever goes in
_LOST = 1 / 64
_COUNTED = 2048
_LARGE = 4096
_KEEPING_SQUARES = ("add", "sub", "mul", "real_div", "reduce_mean", "reduce_sum", "reduce_max")
# Operations whose results are small however large the input that is named here is.
_BOUNDING = {
    **dict.fromkeys(("softmax", "sigmoid", "sigmoid_hard", "tanh", "erf", "sin", "cos", "atan", "log", "sign"), "x"),
    **dict.fromkeys(("batch_norm", "instance_norm", "layer_norm", "l2_norm", "softsign", "rsqrt"), "x"),
    "real_div": "y",
}


def lower(
    function: Function,
    precision: Precision,
    *,
    seen: Profile | None = None,
    keep: Sequence[str] = (),
    interface: Precision | None = None,
) -> Function:
    """Return the function at `precision`. Inputs and outputs keep their dtypes, unless `interface` asks for float16.

    `keep` are glob patterns of value names that stay float32; a pattern without a match is a UsageError. `seen` is
    what the values look like on example calls. Pairs become float16 at both ends, as Core ML's states are.
    """
    if precision is Precision.FLOAT32:
        return function
    wide = wide_values(function, seen or Profile(), keep)
    return verify(_Lowering(function, wide, interface is Precision.FLOAT16).run())


def wide_values(function: Function, seen: Profile, keep: Sequence[str] = ()) -> set[Value]:
    """Return the float32 values of a function that must stay float32."""
    wide: set[Value] = set()
    made_by: dict[Value, Node] = {value: node for node in function.nodes for value in node.outputs}
    squares = _squares(function)
    for value in _floats(function):
        limit = LARGEST * (_MARGIN_OF_SQUARES if value in squares else _MARGIN)
        if seen.peak.get(value.name, 0.0) > limit or (isinstance(value, Constant) and _breaks(value)):
            wide.add(value)
    for node in function.nodes:
        inputs = [value for value in arguments(node) if value not in wide]
        if node.op == "cast" and node.output.dtype in _WIDE_INTEGERS:
            _widen_sources(inputs, made_by, wide)
        elif _gives_wide(node, made_by):
            wide.update(value for value in node.outputs if value.dtype == float32)
        elif node.op in ("sin", "cos", "tan"):
            _widen_sources(inputs, made_by, wide)
        if node.op in ("add", "maximum") and any(_is_lost(value) for value in arguments(node)):
            _widen_sources((value for value in arguments(node) if value not in wide), made_by, wide)
    wide |= _kept(function, keep)
    return _with_islands(function, wide | _beyond(function))


def _squares(function: Function) -> set[Value]:
    """Return squares, powers and exponentials, and what is summed, averaged or scaled of them, up to the root."""
    found: set[Value] = set()
    for node in function.nodes:
        squares = node.op in ("square", "pow", "reduce_sum_square", "exp", "exp2")
        squares |= node.op == "mul" and node.inputs["x"] is node.inputs["y"]
        if squares or (node.op in _KEEPING_SQUARES and not found.isdisjoint(arguments(node))):
            found.update(node.outputs)
    return found


def _gives_wide(node: Node, made_by: Mapping[Value, Node]) -> bool:
    """Whether float16 cannot hold a node's result, whatever the example calls show."""
    if node.op == "cast":
        return any(value.dtype == float16 or value.dtype in _WIDE_INTEGERS for value in arguments(node))
    if any(_is_near_zero(value, made_by) for value in node.outputs) or _overflows_at_zero(node):
        return True
    if node.op in ("inverse", "real_div", "rsqrt"):
        return any(_is_near_zero(value, made_by) for value in arguments(node))
    return node.op in ("reduce_sum", "cumsum") and any(_is_truth(value, made_by) for value in arguments(node))


def _beyond(function: Function) -> set[Value]:
    """Return large constants, floats made from integers, and what is computed from them, up to what bounds it.

    A mask's fill takes part in the sum on every call, though on the example calls it may be multiplied by zero; and a
    position is small on the first calls only.
    """
    beyond: set[Value] = set()
    for node in function.nodes:
        harmless = _harmless(node)
        for value in arguments(node):
            if isinstance(value, Constant) and value.dtype == float32 and _exceeds(value, _FILL):
                beyond.add(value)
        carries = any(value in beyond and value not in harmless for value in arguments(node))
        made = node.op == "cast" and any(value.dtype in _WIDE_INTEGERS for value in arguments(node))
        if made or (carries and node.op not in _MIXING):
            beyond.update(value for value in node.outputs if value.dtype == float32)
    return beyond


def _harmless(node: Node) -> set[Value]:
    """Return the inputs of a node that do not make its result large, however large they are."""
    if node.op == "clip":
        return {value for name, value in node.inputs.items() if name != "x" and isinstance(value, Value)}
    if node.op in ("maximum", "minimum"):
        sign = 1 if node.op == "maximum" else -1
        return {
            value
            for value in arguments(node)
            if isinstance(value, Constant) and not isinstance(value.data, str) and np.all(sign * value.data <= LARGEST)
        }
    bounded = node.inputs.get(_BOUNDING.get(node.op, ""))
    return {bounded} if isinstance(bounded, Value) else set()


def _with_islands(function: Function, wide: set[Value]) -> set[Value]:
    """Spread what the author lifted from float16 downstream, up to the next cast."""
    lifted: set[Value] = set()
    for node in function.nodes:
        source = next(iter(arguments(node)), None)
        if node.op == "cast":
            if source is not None and source.dtype == float16:
                lifted.update(value for value in node.outputs if value.dtype == float32)
        elif not lifted.isdisjoint(arguments(node)):
            lifted.update(value for value in node.outputs if value.dtype == float32)
    return wide | lifted


def _widen_sources(values: Iterable[Value], made_by: Mapping[Value, Node], wide: set[Value]) -> None:
    """Mark values and what they are computed from, up to what mixes them with weights or bounds them."""
    stack = [value for value in values if value.dtype == float32]
    while stack:
        value = stack.pop()
        if value in wide:
            continue
        wide.add(value)
        node = made_by.get(value)
        if node is not None and (ops.find(node.op).family in _TRANSPARENT or node.op in _MOVING):
            stack.extend(source for source in arguments(node) if source.dtype == float32)


def _floats(function: Function) -> Iterable[Value]:
    yield from (value for value in function.inputs if value.dtype == float32)
    for node in function.nodes:
        yield from (value for value in (*_following(node), *node.outputs) if value.dtype == float32)


def _following(node: Node) -> Iterable[Value]:
    """Yield the values a node reads but for the attributes that stay float32 beside a float16 tensor."""
    own = [node.inputs[name] for name in ops.find(node.op).float32 if name in node.inputs]
    return (value for value in arguments(node) if value not in own)


def _breaks(constant: Constant) -> bool:
    """Whether rounding a constant to float16 changes what it means."""
    return _overflows(constant) or _is_lost(constant) or _counts(constant)


def _is_lost(value: Value) -> bool:
    """Whether a value is a constant whose numbers are all so small that float16 keeps too little of them."""
    if not isinstance(value, Constant) or isinstance(value.data, str) or value.dtype != float32 or not value.data.size:
        return False
    number = _largest(value.data)
    return 0.0 < number < 1.0 and abs(float(np.float16(number)) - number) > _LOST * number


def _counts(constant: Constant) -> bool:
    """Whether a constant holds whole numbers only, and float16 would change one: positions above 2048."""
    data = constant.data
    if isinstance(data, str) or not data.size or constant.dtype != float32 or _largest(data) <= _COUNTED:
        return False
    return bool(np.all(data == np.rint(data)) and np.any(_rounded(data, float16) != data))


def _is_near_zero(value: Value, made_by: Mapping[Value, Node]) -> bool:
    """Whether a value may be as small as a number that float16 loses: a sum with one, its square root."""
    node = made_by.get(value)
    if node is None or node.op not in ("add", "maximum", "sqrt"):
        return False
    if node.op == "sqrt":
        return any(_is_near_zero(source, made_by) for source in arguments(node))
    return any(_is_lost(source) for source in arguments(node))


def _overflows_at_zero(node: Node) -> bool:
    """Whether what an epsilon makes of 0 is finite, but beyond float16's range."""
    epsilon = node.inputs.get("epsilon")
    if node.op not in ("inverse", "rsqrt") or not isinstance(epsilon, Constant) or isinstance(epsilon.data, str):
        return False
    number = float(epsilon.data.item())
    return number > 0.0 and number ** (-0.5 if node.op == "rsqrt" else -1.0) > LARGEST


def _is_truth(value: Value, made_by: Mapping[Value, Node]) -> bool:
    """Whether a value is made from booleans or small integers."""
    node = made_by.get(value)
    if node is None or node.op != "cast":
        return False
    source = node.inputs["x"]
    return isinstance(source, Value) and not source.dtype.is_floating_point


def _overflows(constant: Constant) -> bool:
    """Whether a constant holds finite numbers that are beyond float16's range."""
    return _exceeds(constant, LARGEST)


def _exceeds(constant: Constant, limit: float) -> bool:
    """Whether a constant holds finite numbers of a larger magnitude than `limit`."""
    return not isinstance(constant.data, str) and constant.data.size > 0 and _largest(constant.data) > limit


def _largest(data: np.ndarray) -> float:
    """Return the largest finite magnitude of an array, without a copy of the array where all is finite."""
    ends = float(data.min()), float(data.max())
    if np.isfinite(ends).all():
        return max(abs(end) for end in ends)
    finite = data[np.isfinite(data)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _kept(function: Function, patterns: Sequence[str]) -> set[Value]:
    found: set[Value] = set()
    for pattern in patterns:
        clean = pattern.replace(".", "_")
        matches = {value for value in _floats(function) if fnmatch.fnmatchcase(value.name, clean)}
        if not matches:
            raise UsageError(
                f"float32 pattern {pattern!r}: no value of the program has such a name. Names follow module paths."
            )
        found |= matches
    return found


class _Lowering:
    """One walk over the nodes; `forms` holds each old value in the dtypes in which it is at hand."""

    def __init__(self, function: Function, wide: Collection[Value], half_interface: bool) -> None:
        self.function = function
        self.wide = wide
        self.paired = {pair.input for pair in function.pairs}
        self.half_interface = half_interface
        self.nodes: list[Node] = []
        self.forms: dict[Value, dict[DType, Value]] = {}
        self.names = {value.name for value in _values(function)}

    def run(self) -> Function:
        inputs = tuple(self._input(value) for value in self.function.inputs)
        for node in self.function.nodes:
            self._lower(node)
        paired = {pair.output for pair in self.function.pairs}
        outputs = {}
        for name, value in self.function.outputs.items():
            half = value.dtype == float32 and (self.half_interface or name in paired)
            outputs[name] = self._form(value, float16 if half else value.dtype)
        renamed = dict(zip(self.function.inputs, inputs, strict=True))
        pairs = tuple(Pair(renamed[pair.input], pair.output) for pair in self.function.pairs)
        return replace(self.function, inputs=inputs, nodes=tuple(self.nodes), outputs=outputs, pairs=pairs)

    def _input(self, value: Value) -> Value:
        half = value.dtype == float32 and (self.half_interface or value in self.paired)
        new = replace(value, dtype=float16) if half else value
        self.forms[value] = {new.dtype: new}
        return new

    def _lower(self, node: Node) -> None:
        own = ops.find(node.op).float32
        floats = [value for value in (*_following(node), *node.outputs) if value.dtype == float32]
        dtype = float32 if any(value in self.wide for value in floats) else float16
        if node.op == "cast":
            self._lower_cast(node, dtype)
            return
        inputs = {
            name: self._argument(argument, float32 if name in own else dtype) for name, argument in node.inputs.items()
        }
        outputs = tuple(self._output(value, dtype) for value in node.outputs)
        self.nodes.append(replace(node, inputs=inputs, outputs=outputs))

    def _lower_cast(self, node: Node, dtype: DType) -> None:
        source, target = node.inputs["x"], node.output
        assert isinstance(source, Value)  # noqa: S101  # cast has one x
        if target.dtype != float32:
            (at_hand, *_) = self.forms.get(source, {source.dtype: source}).values()
            self.forms[target] = {target.dtype: at_hand if at_hand.dtype == target.dtype else target}
            if at_hand.dtype != target.dtype:
                self.nodes.append(replace(node, inputs={**node.inputs, "x": at_hand}))
            return
        output = self._output(target, dtype)
        choice = Constant(f"{output.name}_dtype", string, (), dtype.mil)
        self.nodes.append(
            replace(node, inputs={"x": self._form(source, source.dtype), "dtype": choice}, outputs=(output,))
        )

    def _argument(self, argument: Argument, dtype: DType) -> Argument:
        if isinstance(argument, tuple):
            return tuple(self._form(value, dtype) for value in argument)
        return self._form(argument, dtype)

    def _output(self, value: Value, dtype: DType) -> Value:
        new = replace(value, dtype=dtype) if value.dtype == float32 else value
        self.forms[value] = {new.dtype: new}
        return new

    def _form(self, value: Value, dtype: DType) -> Value:
        """Return an old value as it is read at `dtype`: integers and float16 values as they are."""
        if value.dtype != float32:
            return self.forms.get(value, {value.dtype: value})[value.dtype]
        forms = self.forms.setdefault(value, {float32: value} if isinstance(value, Constant) else {})
        if dtype not in forms:
            forms[dtype] = self._converted(value, dtype, forms)
        return forms[dtype]

    def _converted(self, value: Value, dtype: DType, forms: Mapping[DType, Value]) -> Value:
        if isinstance(value, Constant) and not isinstance(value.data, str):
            return replace(value, name=self._unique(value.name), dtype=dtype, data=_rounded(value.data, dtype))
        (source,) = forms.values()
        target = Value(self._unique(f"{source.name}_{dtype.name}"), dtype, value.shape)
        choice = Constant(f"{target.name}_dtype", string, (), dtype.mil)
        self.nodes.append(Node("cast", {"x": source, "dtype": choice}, (target,)))
        return target

    def _unique(self, name: str) -> str:
        fresh, count = name, 0
        while fresh in self.names:
            count += 1
            fresh = f"{name}_{count}"
        self.names.add(fresh)
        return fresh


def _rounded(data: np.ndarray, dtype: DType) -> np.ndarray:
    """Round small constants; large ones keep their array, which the writer rounds piece by piece."""
    if data.size > _LARGE:
        return data
    with np.errstate(over="ignore"):
        return data.astype(dtype.numpy)


def _values(function: Function) -> Iterable[Value]:
    yield from function.inputs
    for node in function.nodes:
        yield from node.outputs
