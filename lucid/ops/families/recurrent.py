"""Recurrent layers over sequences: lstm, gru and rnn.

`x` is (s, b, I): sequence, batch, features. Weights hold their gates one below the other, (gates * H, I) and
(gates * H, H), and one bias, the sum of that of the input and that of the state. The first result is every state,
(s, b, H), or, without ``output_sequence``, the last one, (1, b, H); the last state follows without its first axis.

**Directions.** ``reverse`` reads the sequence from its end, and its states come in the order in which they were made,
the one after the last element first (so coremltools' tests of Core ML have it; MIL's text is silent). In a
``bidirectional`` lstm both halves of a state belong to the same element of the sequence.

**Activations** are tanh, scaled_tanh, sigmoid, hard_sigmoid (or sigmoid_hard), relu and linear. MIL gives no numbers to
them; as in those tests, scaled_tanh is tanh, linear gives back what it takes, and hard_sigmoid is
``min(max(0.2 x + 0.5, 0), 1)``. Another name, or another direction, raises UsageError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lucid.errors import ShapeError, UsageError
from lucid.ops.array import Array, namespace
from lucid.ops.record import operation, sample

__all__ = ["gru", "lstm", "rnn"]

_ACTIVATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "tanh": lambda xp, x: xp.tanh(x),
    "scaled_tanh": lambda xp, x: xp.tanh(x),
    "sigmoid": lambda xp, x: 1.0 / (xp.exp(-x) + 1.0),
    "hard_sigmoid": lambda xp, x: xp.minimum(xp.maximum(0.2 * x + 0.5, 0), 1),
    "sigmoid_hard": lambda xp, x: xp.minimum(xp.maximum(0.2 * x + 0.5, 0), 1),
    "relu": lambda xp, x: xp.maximum(x, 0),
    "linear": lambda _, x: x,
}


def _half(*names: str) -> dict[str, str]:
    """Return what opset iOS17 added to the inputs of a layer: float16."""
    return {f"{name}:half": "iOS17" for name in ("x", "initial_h", "weight_ih", "weight_hh", "bias", *names)}


def _activation(name: str, parameter: str, value: str) -> Callable[[Any, Any], Any]:
    try:
        return _ACTIVATIONS[value.lower()]
    except KeyError:
        raise UsageError(f"{name}: {parameter} is {value!r}. Choose one of {', '.join(_ACTIVATIONS)}.") from None


def _check_direction(name: str, direction: str, *allowed: str) -> None:
    if direction not in allowed:
        raise UsageError(f"{name}: direction is {direction!r}. Choose one of {', '.join(allowed)}.")


def _expect(name: str, shapes: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Raise ShapeError for the first input that is given and does not have its shape."""
    for key, (array, shape) in shapes.items():
        if array is not None and array.shape != shape:
            raise ShapeError(f"{name}: {key} has shape {array.shape}, expected {shape}.")


def _check_layer(name: str, gates: int, x: Any, suffix: str, ih: Any, hh: Any, bias: Any) -> int:
    """Return the size of a state, which ``weight_hh`` has; ShapeError for weights that do not fit it and `x`."""
    if x.ndim != 3 or hh.ndim != 2:
        raise ShapeError(
            f"{name}: x has shape {x.shape} and weight_hh{suffix} {hh.shape}, expected (s, b, I) and ({gates} H, H)."
        )
    size = int(hh.shape[1])
    _expect(
        name,
        {
            f"weight_hh{suffix}": (hh, (gates * size, size)),
            f"weight_ih{suffix}": (ih, (gates * size, x.shape[2])),
            f"bias{suffix}": (bias, (gates * size,)),
        },
    )
    return size


def _steps(xp: Any, x: Any, weight: Any, bias: Any, is_reverse: bool) -> Iterator[Any]:
    """Yield, step by step, what the input adds to the gates: (b, gates * H)."""
    added = xp.matmul(x, weight.T)
    if bias is not None:
        added = added + bias
    for step in range(x.shape[0]):
        yield added[-1 - step if is_reverse else step]


def _states(xp: Any, x: Any, states: list[Any], last: Any, output_sequence: bool) -> Any:
    """Return all states, or the last one, with an axis of steps."""
    if not output_sequence:
        return last[None]
    return xp.stack(states) if states else xp.zeros((0, *last.shape), dtype=x.dtype)


@operation(
    sample(
        [[[0.5]], [[0.75]]],
        [[0.75]],
        x=[[[0.5]], [[0.25]]],
        initial_h=[[0.0]],
        weight_ih=[[1.0]],
        weight_hh=[[1.0]],
        activation="linear",
        output_sequence=True,
    ),
    sample(
        [[[4.0, 0.0]]],
        [[4.0, 0.0]],
        x=[[[1.0]], [[2.0]]],
        initial_h=[[1.0, 2.0]],
        weight_ih=[[1.0], [-1.0]],
        weight_hh=[[0.0, 1.0], [1.0, 0.0]],
        bias=[3.0, -9.0],
        direction="reverse",
        activation="relu",
    ),
    sample(
        [[[0.7615942]]],
        [[0.7615942]],
        x=[[[1.0]]],
        initial_h=[[5.0]],
        weight_ih=[[1.0]],
        weight_hh=[[0.0]],
    ),
    later=_half(),
)
def rnn(
    x: Array,
    initial_h: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias: Array | None = None,
    direction: str = "forward",
    output_sequence: bool = False,
    activation: str = "tanh",
) -> tuple[Array, Array]:
    """Return the states ``h = activation(W_ih x + W_hh h + b)`` of a simple recurrent layer, and the last of them.

    `x`: (s, b, I), ``initial_h``: (b, H), ``weight_ih``: (H, I), ``weight_hh``: (H, H), ``bias``: (H,). Directions are
    forward and reverse. Shapes that do not fit raise ShapeError.
    """
    _check_direction("rnn", direction, "forward", "reverse")
    size = _check_layer("rnn", 1, x, "", weight_ih, weight_hh, bias)
    _expect("rnn", {"initial_h": (initial_h, (x.shape[1], size))})
    act = _activation("rnn", "activation", activation)
    xp = namespace(x, initial_h)
    h, states = initial_h, []
    for added in _steps(xp, x, weight_ih, bias, direction == "reverse"):
        h = act(xp, added + xp.matmul(h, weight_hh.T))
        states.append(h)
    return _states(xp, x, states, h, output_sequence), h


@operation(
    sample(  # r = 0.5 and z = 0.5, so o = x + 0.5 h and h' = (o + h) / 2
        [[[2.5]], [[3.875]]],
        [[3.875]],
        x=[[[2.0]], [[4.0]]],
        initial_h=[[2.0]],
        weight_ih=[[0.0], [1.0], [0.0]],
        weight_hh=[[0.0], [1.0], [0.0]],
        activation="linear",
        output_sequence=True,
    ),
    sample(  # r = 1 for the first number of the state and 0 for the second; z = 0; o = W_ho (r * h)
        [[[0.0, 3.0]]],
        [[0.0, 3.0]],
        x=[[[0.0]]],
        initial_h=[[3.0, 5.0]],
        weight_ih=[[0.0], [0.0], [0.0], [0.0], [0.0], [0.0]],
        weight_hh=[[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        bias=[9.0, -9.0, 0.0, 0.0, -9.0, -9.0],
        activation="linear",
        recurrent_activation="hard_sigmoid",
    ),
    sample(  # r = 0.5, z = 0: o = x + 2 + 0.5 * (h + 4)
        [[[6.0]]],
        [[6.0]],
        x=[[[1.0]]],
        initial_h=[[2.0]],
        weight_ih=[[0.0], [1.0], [0.0]],
        weight_hh=[[0.0], [1.0], [0.0]],
        bias=[0.0, 4.0, -9.0],
        activation="linear",
        recurrent_activation="hard_sigmoid",
        reset_after=True,
        input_bias=[0.0, 2.0, 0.0],
    ),
    later={**_half(), "reset_after": "iOS18", "input_bias": "iOS18"},
)
def gru(
    x: Array,
    initial_h: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias: Array | None = None,
    direction: str = "forward",
    output_sequence: bool = False,
    recurrent_activation: str = "sigmoid",
    activation: str = "tanh",
    reset_after: bool | None = None,
    input_bias: Array | None = None,
) -> tuple[Array, Array]:
    """Return the states of a gated recurrent unit, and the last of them.

    With f for ``recurrent_activation``: ``r = f(W_ir x + W_hr h + b_r)``, ``z = f(W_iz x + W_hz h + b_z)``,
    ``o = activation(W_io x + W_ho (r * h) + b_o)``, and the new state is ``(1 - z) * o + z * h``. MIL's text writes
    ``r * W_ho h``; Core ML resets the state before the product, as coremltools' tests of it show. From opset iOS18 on
    ``reset_after`` (false where it is not given) resets after it, as PyTorch does: ``o = activation(W_io x + c_o +
    r * (W_ho h + b_o))``, with c, the ``input_bias``, which is added to the other gates too.

    `x`: (s, b, I), ``initial_h``: (b, H), ``weight_ih``: (3 H, I), ``weight_hh``: (3 H, H), both biases: (3 H,), gates
    in the order r, o, z. Directions are forward and reverse. Shapes that do not fit raise ShapeError.
    """
    _check_direction("gru", direction, "forward", "reverse")
    size = _check_layer("gru", 3, x, "", weight_ih, weight_hh, bias)
    _expect("gru", {"initial_h": (initial_h, (x.shape[1], size)), "input_bias": (input_bias, (3 * size,))})
    gate = _activation("gru", "recurrent_activation", recurrent_activation)
    act = _activation("gru", "activation", activation)
    xp = namespace(x, initial_h)
    reset, output, update = (weight_hh[i * size : (i + 1) * size].T for i in range(3))
    own = None if bias is None else xp.split(bias, 3)
    h, states = initial_h, []
    for added in _steps(xp, x, weight_ih, input_bias, direction == "reverse"):
        of_r, of_o, of_z = (added[:, i * size : (i + 1) * size] for i in range(3))
        if own is not None:
            of_r, of_z = of_r + own[0], of_z + own[2]
        r = gate(xp, of_r + xp.matmul(h, reset))
        z = gate(xp, of_z + xp.matmul(h, update))
        inner = xp.matmul(h if reset_after else r * h, output)
        inner = inner if own is None else inner + own[1]
        o = act(xp, of_o + (r * inner if reset_after else inner))
        h = (1 - z) * o + z * h
        states.append(h)
    return _states(xp, x, states, h, output_sequence), h


@operation(
    sample(  # all gates are 0.5: c = (c + z) / 2, h = c / 2
        [[[1.0]], [[1.5]]],
        [[1.5]],
        [[3.0]],
        x=[[[2.0]], [[4.0]]],
        initial_h=[[0.0]],
        initial_c=[[2.0]],
        weight_ih=[[0.0], [0.0], [0.0], [1.0]],
        weight_hh=[[0.0], [0.0], [0.0], [0.0]],
        cell_activation="linear",
        activation="linear",
        output_sequence=True,
    ),
    sample(  # forward sums the sequence, backward its doubles; i, f and o are 1
        [[[1.0, 12.0]], [[3.0, 10.0]], [[6.0, 6.0]]],
        [[6.0, 12.0]],
        [[6.0, 12.0]],
        x=[[[1.0]], [[2.0]], [[3.0]]],
        initial_h=[[0.0, 0.0]],
        initial_c=[[0.0, 0.0]],
        weight_ih=[[0.0], [0.0], [0.0], [1.0]],
        weight_hh=[[0.0], [0.0], [0.0], [0.0]],
        bias=[9.0, 9.0, 9.0, 0.0],
        weight_ih_back=[[0.0], [0.0], [0.0], [2.0]],
        weight_hh_back=[[0.0], [0.0], [0.0], [0.0]],
        bias_back=[9.0, 9.0, 9.0, 0.0],
        direction="bidirectional",
        output_sequence=True,
        recurrent_activation="hard_sigmoid",
        cell_activation="linear",
        activation="linear",
    ),
    sample(  # the peephole of the output gate sees the new, clipped cell
        [[[2.25]]],
        [[2.25]],
        [[1.5]],
        x=[[[4.0]]],
        initial_h=[[0.0]],
        initial_c=[[0.0]],
        weight_ih=[[0.0], [0.0], [0.0], [1.0]],
        weight_hh=[[0.0], [0.0], [0.0], [0.0]],
        bias=[1.0, 0.0, 0.0, 0.0],
        peephole=[0.0, 0.0, 1.0],
        recurrent_activation="linear",
        cell_activation="linear",
        activation="linear",
        clip=1.5,
    ),
    later=_half(
        *("initial_c", "peephole", "weight_ih_back", "weight_hh_back", "bias_back", "peephole_back", "clip"),
    ),
)
def lstm(
    x: Array,
    initial_h: Array,
    initial_c: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias: Array | None = None,
    peephole: Array | None = None,
    weight_ih_back: Array | None = None,
    weight_hh_back: Array | None = None,
    bias_back: Array | None = None,
    peephole_back: Array | None = None,
    direction: str = "forward",
    output_sequence: bool = False,
    recurrent_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    activation: str = "tanh",
    clip: float | None = None,
) -> tuple[Array, Array, Array]:
    """Return the states of a long short-term memory, and the last state and cell.

    With f for ``recurrent_activation`` and g for ``cell_activation``: ``i = f(W_ii x + W_hi h + p_i * c + b_i)``,
    ``f`` likewise, ``z = g(W_iz x + W_hz h + b_z)``; the new cell is ``c = f * c + i * z``, held to -clip to clip;
    ``o = f(W_io x + W_ho h + p_o * c + b_o)`` sees the new cell; the new state is ``o * activation(c)``. (MIL's text
    has no formula for peepholes and says that the clip is the cell gate's; this is what coremltools' tests of Core ML
    show.)

    `x`: (s, b, I), ``initial_h`` and ``initial_c``: (b, H), ``weight_ih``: (4 H, I), ``weight_hh``: (4 H, H), ``bias``:
    (4 H,), gates in the order i, f, o, z; ``peephole``: (3 H,), order i, f, o. Directions are forward, reverse and
    bidirectional: the last needs the weights of the way back, and its states and cells are (b, 2 H), forward first.
    Shapes that do not fit raise ShapeError.
    """
    _check_direction("lstm", direction, "forward", "reverse", "bidirectional")
    ways = [("", weight_ih, weight_hh, bias, peephole)]
    if direction == "bidirectional":
        if weight_ih_back is None or weight_hh_back is None:
            raise ShapeError("lstm: direction is 'bidirectional'. Pass weight_ih_back and weight_hh_back too.")
        ways.append(("_back", weight_ih_back, weight_hh_back, bias_back, peephole_back))
    xp = namespace(x, initial_h)
    gates = (
        _activation("lstm", "recurrent_activation", recurrent_activation),
        _activation("lstm", "cell_activation", cell_activation),
        _activation("lstm", "activation", activation),
    )
    sizes = [_check_layer("lstm", 4, x, suffix, ih, hh, b) for suffix, ih, hh, b, _ in ways]
    _expect(
        "lstm",
        {key: (array, (x.shape[1], sum(sizes))) for key, array in (("initial_h", initial_h), ("initial_c", initial_c))},
    )
    outputs = []
    for way, (suffix, ih, hh, b, peep) in enumerate(ways):
        size = sizes[way]
        if peep is not None:
            peep = xp.reshape(peep, (-1,))
            _expect("lstm", {f"peephole{suffix}": (peep, (3 * size,))})
            peep = xp.reshape(peep, (3, size))
        h, c = (array[:, way * sizes[0] : way * sizes[0] + size] for array in (initial_h, initial_c))
        is_reverse = direction == "reverse" or suffix == "_back"
        states = []
        for added in _steps(xp, x, ih, b, is_reverse):
            h, c = _cell(xp, gates, added + xp.matmul(h, hh.T), c, peep, clip)
            states.append(h)
        if suffix:
            states.reverse()
        outputs.append((_states(xp, x, states, h, output_sequence), h, c))
    if len(outputs) == 1:
        return outputs[0]
    every, last, cell = (xp.concatenate(parts, axis=-1) for parts in zip(*outputs, strict=True))
    return every, last, cell


def _cell(xp: Any, activations: Any, added: Any, c: Any, peephole: Any, clip: float | None) -> tuple[Any, Any]:
    """Return the state and the cell after one step; ``added``: (b, 4 H), what input and state add to the gates."""
    recurrent, inner, outer = activations
    size = c.shape[1]
    block = added[:, 3 * size :]
    if peephole is None:  # three gates in one pass
        gates = recurrent(xp, added[:, : 3 * size])
        i, f, o = (gates[:, gate * size : (gate + 1) * size] for gate in range(3))
        c = _clipped(xp, f * c + i * inner(xp, block), clip)
        return o * outer(xp, c), c
    i, f, o = (added[:, gate * size : (gate + 1) * size] for gate in range(3))
    i, f = recurrent(xp, i + peephole[0] * c), recurrent(xp, f + peephole[1] * c)
    c = _clipped(xp, f * c + i * inner(xp, block), clip)
    return recurrent(xp, o + peephole[2] * c) * outer(xp, c), c


def _clipped(xp: Any, cell: Any, clip: float | None) -> Any:
    return cell if clip is None else xp.minimum(xp.maximum(cell, -clip), clip)
