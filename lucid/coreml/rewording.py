"""The same meaning in another opset's words, where definitions of MIL differ in more than their inputs.

- Before iOS17 the floating inputs of most operations share one dtype.
- Before iOS17 a 0 in the shape of ``reshape`` needs as many axes as `x` has.
- From iOS17 on ``clip`` asks for ``alpha < beta``.
- ``resize`` counts its axes in uint32.
- From iOS17 on a negative index is out of bounds. Constant indices are counted from the front here; those that are
  computed must be so by whoever makes the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lucid import ops
from lucid.coreml.interface import cast
from lucid.coreml.options import DeploymentTarget
from lucid.coreml.renaming import fresh
from lucid.dtypes import DType, float32, int32, uint32
from lucid.errors import UnsupportedError
from lucid.graph import Argument, Constant, Node, Value

__all__ = ["reworded"]

# Half the distance of float16's numbers from each other, where they are no subnormals.
_RESOLUTION = 2.0**-11
# The tensor that the indices of these operations count in.
_INDEXED = {
    **dict.fromkeys(("gather", "gather_along_axis", "gather_nd"), "x"),
    **dict.fromkeys(("scatter", "scatter_along_axis", "scatter_nd"), "data"),
}


def reworded(node: Node, target: DeploymentTarget, taken: set[str]) -> list[Node]:
    """Return the nodes that say in the opset of `target` what `node` says. New values get names not in `taken`.

    Raises UnsupportedError where a size that is needed is known only when the program runs.
    """
    if target >= DeploymentTarget.iOS17:
        if node.op == "clip":
            return _clip(node, taken)
        if node.op == "resize":
            return [_unsigned(node, "resized_dims")]
        return [_from_the_front(node)] if node.op in _INDEXED else [node]
    if node.op == "reshape":
        node = _without_zeros(node, target)
    return _in_one_dtype(node, target, taken)


def _clip(node: Node, taken: set[str]) -> list[Node]:
    low, high = node.inputs["alpha"], node.inputs["beta"]
    if not (_number(low) >= _number(high)):
        return [node]
    raised = replace(node.output, name=fresh(f"{node.output.name}_maximum", taken))
    return [
        Node("maximum", {"x": node.inputs["x"], "y": low}, (raised,)),
        Node("minimum", {"x": raised, "y": high}, node.outputs),
    ]


def _unsigned(node: Node, name: str) -> Node:
    count = node.inputs[name]
    if not isinstance(count, Constant) or isinstance(count.data, str):
        return node
    return replace(node, inputs={**node.inputs, name: replace(count, dtype=uint32, data=count.data.astype(np.uint32))})


def _number(argument: Argument) -> float:
    if not isinstance(argument, Constant) or isinstance(argument.data, str):
        raise UnsupportedError(f"operation clip: {argument!r} is computed at run time; Core ML asks for a constant.")
    return float(argument.data.astype(argument.dtype.numpy).item())


def _from_the_front(node: Node) -> Node:
    indices, tensor = node.inputs["indices"], node.inputs[_INDEXED[node.op]]
    if not isinstance(indices, Constant) or isinstance(indices.data, str) or not np.any(indices.data < 0):
        return node
    if not isinstance(tensor, Value) or _attribute(node, "validate_indices", 0):
        return node
    sizes = _indexed_sizes(node, tensor.shape, indices.shape)
    if None in sizes:
        raise UnsupportedError(
            f"operation {node.op} (-> {node.output.name}): its indices count from the end of {tensor!r}, whose size is "
            "known only when the program runs. Count from the front."
        )
    data = indices.data.astype(np.int32)
    data = np.where(data < 0, data + np.array(sizes, np.int32), data)
    return replace(node, inputs={**node.inputs, "indices": replace(indices, dtype=int32, data=data)})


def _indexed_sizes(node: Node, shape: Sequence[int | None], indices: Sequence[int | None]) -> list[int | None]:
    """Return the size that the indices count in, or one size per coordinate."""
    if not node.op.endswith("_nd"):
        return [shape[_attribute(node, "axis", 0)]]
    first = _attribute(node, "batch_dims", 0)
    return list(shape[first : first + (indices[-1] or 0)])


def _attribute(node: Node, name: str, default: int) -> int:
    argument = node.inputs.get(name)
    return (
        int(argument.data.item()) if isinstance(argument, Constant) and not isinstance(argument.data, str) else default
    )


def _without_zeros(node: Node, target: DeploymentTarget) -> Node:
    shape, x = node.inputs["shape"], node.inputs["x"]
    if not isinstance(shape, Constant) or isinstance(shape.data, str) or not isinstance(x, Value):
        return node
    if np.all(shape.data != 0) or shape.data.size == len(x.shape):
        return node
    if None in node.output.shape:
        raise UnsupportedError(
            f"operation reshape (-> {node.output.name}): shape {tuple(shape.data.tolist())} has a 0 for a size of "
            f"{x!r}, which with another number of axes exists since iOS17; the deployment target is {target.value}. "
            "Raise the target to iOS17 or write the sizes."
        )
    return replace(node, inputs={**node.inputs, "shape": replace(shape, data=np.array(node.output.shape, np.int32))})


def _in_one_dtype(node: Node, target: DeploymentTarget, taken: set[str]) -> list[Node]:
    """Give all floating inputs the dtype of the first; where that would lose a constant, compute in float32."""
    later = ops.find(node.op).later
    free = [name for name in node.inputs if DeploymentTarget(later.get(f"{name}:dtype", "iOS15")) > target]
    first = next(iter(node.inputs.values()), None)
    if not free or not isinstance(first, Value) or not first.dtype.is_floating_point:
        return [node]
    inputs = dict(node.inputs)
    for name in free:
        value = inputs[name]
        if isinstance(value, Value) and value.dtype.is_floating_point and value.dtype != first.dtype:
            if not isinstance(value, Constant) or not _holds(first.dtype, value):
                return _in_float32(node, taken)
            inputs[name] = _as(value, first.dtype)
    return [replace(node, inputs=inputs)]


def _holds(dtype: DType, value: Constant) -> bool:
    """Whether rounding a constant to `dtype` loses no more of it than float16 loses of an ordinary number."""
    if isinstance(value.data, str):
        return False
    data = value.data.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(data.astype(dtype.numpy).astype(np.float64) - data)
        return bool(np.all((error <= _RESOLUTION * np.abs(data)) | ~np.isfinite(data)))


def _in_float32(node: Node, taken: set[str]) -> list[Node]:
    before: list[Node] = []
    inputs: dict[str, Argument] = {}
    for name, value in node.inputs.items():
        if isinstance(value, Value) and value.dtype.is_floating_point and value.dtype != float32:
            if isinstance(value, Constant):
                value = _as(value, float32)
            else:
                before.append(cast(value, float32, fresh(f"{value.name}_{float32.name}", taken)))
                value = before[-1].output
        inputs[name] = value
    outputs: list[Value] = []
    after: list[Node] = []
    for value in node.outputs:
        wide = value
        if value.dtype.is_floating_point and value.dtype != float32:
            wide = Value(fresh(f"{value.name}_{float32.name}", taken), float32, value.shape)
            wanted = cast(wide, value.dtype, value.name)
            after.append(replace(wanted, outputs=(value,)))
        outputs.append(wide)
    return [*before, replace(node, inputs=inputs, outputs=tuple(outputs)), *after]


def _as(value: Constant, dtype: DType) -> Constant:
    data = value.data
    return value if isinstance(data, str) else replace(value, dtype=dtype, data=data.astype(dtype.numpy))
