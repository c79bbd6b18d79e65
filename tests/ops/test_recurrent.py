"""Recurrent layers against PyTorch, and loops written from MIL's formulas where PyTorch has no such layer."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from lucid import ops
from lucid.errors import ShapeError, UsageError
from lucid.ops.execution import execute

S, B, F, H = 5, 3, 4, 6
IFOZ = (0, 1, 3, 2)  # the gates of PyTorch's lstm (i, f, z, o) in MIL's order
ROZ = (0, 2, 1)  # those of its gru (r, z, n)

ACTIVATIONS = {
    "tanh": np.tanh,
    "scaled_tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "relu": lambda x: np.maximum(x, 0),
    "linear": lambda x: x,
}


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def close(found: Any, expected: Any) -> None:
    expected = expected.detach().numpy() if isinstance(expected, torch.Tensor) else expected
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)


def weights(layer: Any, order: tuple[int, ...], suffix: str = "") -> dict[str, np.ndarray]:
    """Return a PyTorch layer's weights with its gates in MIL's order, by MIL's names, and its two biases summed."""

    def turned(name: str) -> np.ndarray:
        parts = np.split(getattr(layer, name).detach().numpy(), len(order))
        return np.concatenate([parts[i] for i in order])

    back = "_reverse" if suffix else ""
    found = {f"weight_{what}{suffix}": turned(f"weight_{what}_l0{back}") for what in ("ih", "hh")}
    if layer.bias:
        found[f"bias{suffix}"] = turned(f"bias_ih_l0{back}") + turned(f"bias_hh_l0{back}")
    return found


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_rnn_is_pytorchs(activation: str, direction: str, has_bias: bool, every: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.RNN(F, H, nonlinearity=activation, bias=has_bias)
    x, h = normal(S, B, F), normal(B, H)
    found, last = ops.rnn(
        x, h, **weights(layer, (0,)), direction=direction, output_sequence=every, activation=activation
    )
    read = x if direction == "forward" else x[::-1].copy()
    expected, final = layer(torch.tensor(read), torch.tensor(h)[None])
    close(found, expected if every else expected[-1:])
    close(last, final[0])


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lstm_is_pytorchs(direction: str, has_bias: bool, every: bool) -> None:
    torch.manual_seed(1)
    ways = 2 if direction == "bidirectional" else 1
    layer = torch.nn.LSTM(F, H, bias=has_bias, bidirectional=ways == 2)
    x, h, c = normal(S, B, F), normal(B, ways * H), normal(B, ways * H, seed=1)
    own = weights(layer, IFOZ) | (weights(layer, IFOZ, "_back") if ways == 2 else {})
    found, last, cell = ops.lstm(x, h, c, **own, direction=direction, output_sequence=every)
    read = x[::-1].copy() if direction == "reverse" else x
    split = [torch.tensor(np.stack(np.split(state, ways, axis=1))) for state in (h, c)]
    expected, (final, finals) = layer(torch.tensor(read), tuple(split))
    joined = torch.cat(tuple(final), dim=-1)
    close(found, expected if every else joined[None])
    close(last, joined)
    close(cell, torch.cat(tuple(finals), dim=-1))


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_gru_that_resets_after_is_pytorchs(has_bias: bool, direction: str) -> None:
    torch.manual_seed(2)
    layer = torch.nn.GRU(F, H, bias=has_bias)
    own = weights(layer, ROZ)
    if has_bias:
        for name, source in (("bias", "bias_hh_l0"), ("input_bias", "bias_ih_l0")):
            r, z, n = np.split(getattr(layer, source).detach().numpy(), 3)
            own[name] = np.concatenate([r, n, z])
    x, h = normal(S, B, F), normal(B, H)
    found, last = ops.gru(x, h, **own, direction=direction, output_sequence=True, reset_after=True)
    read = x if direction == "forward" else x[::-1].copy()
    expected, final = layer(torch.tensor(read), torch.tensor(h)[None])
    close(found, expected)
    close(last, final[0])


@pytest.mark.parametrize(("gate", "activation"), list(product(ACTIVATIONS, repeat=2)))
def test_gru_resets_before_the_product(gate: str, activation: str) -> None:
    """Number by number, as coremltools' tests of Core ML compute it."""
    f, g = ACTIVATIONS[gate], ACTIVATIONS[activation]
    ih, hh, bias = normal(3 * H, F) * 0.3, normal(3 * H, H) * 0.3, normal(3 * H)
    x, start = normal(S, B, F), normal(B, H)
    states = np.empty((S, B, H))
    for row in range(B):
        h = start[row].astype(np.float64)
        for step in range(S):
            of_r, of_o, of_z = np.split(ih @ x[step, row] + bias, 3)
            to_r, to_o, to_z = np.split(hh, 3)
            r, z = f(of_r + to_r @ h), f(of_z + to_z @ h)
            h = (1 - z) * g(of_o + to_o @ (r * h)) + z * h
            states[step, row] = h
    found, last = ops.gru(
        x, start, ih, hh, bias, output_sequence=True, recurrent_activation=gate, activation=activation
    )
    close(found, states)
    close(last, states[-1])
    split, _ = ops.gru(
        x, start, ih, hh, bias * 0.25, input_bias=bias * 0.75, recurrent_activation=gate, activation=activation
    )
    close(split, states[-1:])


@pytest.mark.parametrize("clip", [None, 0.2])
@pytest.mark.parametrize("names", list(product(("sigmoid", "hard_sigmoid", "linear"), ("tanh", "relu"), ACTIVATIONS)))
def test_lstm_with_peepholes_activations_and_clip(names: tuple[str, str, str], clip: float | None) -> None:
    f, g, out = (ACTIVATIONS[name] for name in names)
    ih, hh, bias, peep = (normal(*shape) * 0.3 for shape in ((4 * H, F), (4 * H, H), (4 * H,), (3 * H,)))
    x, start, cell = normal(S, B, F) * 0.5, normal(B, H) * 0.5, normal(B, H, seed=1) * 0.5
    p_i, p_f, p_o = np.split(peep, 3)
    h, c = start.astype(np.float64), cell.astype(np.float64)
    states = []
    for step in x:
        i, forget, o, z = np.split(step @ ih.T + h @ hh.T + bias, 4, axis=1)
        c = f(forget + p_f * c) * c + f(i + p_i * c) * g(z)
        c = c if clip is None else np.clip(c, -clip, clip)
        h = f(o + p_o * c) * out(c)
        states.append(h)
    settings = {"recurrent_activation": names[0], "cell_activation": names[1], "activation": names[2], "clip": clip}
    found, last, final = ops.lstm(x, start, cell, ih, hh, bias, peep, output_sequence=True, **settings)
    close(found, np.stack(states))
    close(last, h)
    close(final, c)
    shared = {"weight_ih_back": ih, "weight_hh_back": hh, "bias_back": bias, "peephole_back": peep.reshape(3, H)}
    twice = [np.concatenate([array, array], axis=1) for array in (start, cell)]
    both, _, _ = ops.lstm(
        x, *twice, ih, hh, bias, peep, **shared, direction="bidirectional", output_sequence=True, **settings
    )
    close(both[..., :H], np.stack(states))
    turned, _, _ = ops.lstm(x, start, cell, ih, hh, bias, peep, direction="reverse", output_sequence=True, **settings)
    np.testing.assert_allclose(both[::-1, :, H:], turned, rtol=1e-6)


def test_names_of_activations_take_any_case_and_both_orders() -> None:
    x, h, ih, hh = normal(S, B, F), normal(B, H), normal(H, F), normal(H, H)
    first, _ = ops.rnn(x, h, ih, hh, activation="sigmoid_hard")
    second, _ = ops.rnn(x, h, ih, hh, activation="HARD_SIGMOID")
    np.testing.assert_array_equal(first, second)


def test_an_empty_sequence_leaves_the_state() -> None:
    h, ih, hh = normal(B, H), normal(H, F), normal(H, H)
    x = np.zeros((0, B, F), np.float32)
    every, last = ops.rnn(x, h, ih, hh, output_sequence=True)
    assert every.shape == (0, B, H)
    np.testing.assert_array_equal(last, h)
    np.testing.assert_array_equal(ops.rnn(x, h, ih, hh)[0], h[None])


def test_large_inputs_do_not_overflow() -> None:
    x = np.full((1, 1, 1), 1e4, np.float32)
    h = np.zeros((1, 1), np.float32)
    for sign in (1, -1):
        arguments = ops.lstm.bind(x * sign, h, h, np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32))
        every, _, _ = execute(ops.lstm, arguments)
        np.testing.assert_allclose(every.item(), np.tanh(1.0) if sign > 0 else 0.0, rtol=1e-6)


def test_float16_rounds_each_output_once() -> None:
    arrays = [normal(*shape).astype(np.float16) for shape in ((S, B, F), (B, H), (3 * H, F), (3 * H, H))]
    halves = execute(ops.gru, ops.gru.bind(*arrays))
    singles = ops.gru(*(array.astype(np.float32) for array in arrays))
    for half, single in zip(halves, singles, strict=True):
        assert half.dtype == np.float16
        np.testing.assert_array_equal(half, single.astype(np.float16))


X, STATE = np.zeros((S, B, F), np.float32), np.zeros((B, H), np.float32)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("name", "arguments", "settings", "error", "message"),
    [
        ("rnn", (X, STATE, zeros(H, F), zeros(H, H)), {"direction": "bidirectional"}, UsageError, "one of forward, re"),
        ("rnn", (X, STATE, zeros(H, F), zeros(H, H)), {"activation": "gelu"}, UsageError, "activation is 'gelu'"),
        (
            "rnn",
            (X, STATE, zeros(H, F + 1), zeros(H, H)),
            {},
            ShapeError,
            r"weight_ih has shape \(6, 5\), expected \(6",
        ),
        ("gru", (X[0], STATE, zeros(H, F), zeros(H, H)), {}, ShapeError, r"expected \(s, b, I\) and \(3 H, H\)"),
        ("gru", (X, STATE[:1], zeros(3 * H, F), zeros(3 * H, H)), {}, ShapeError, r"initial_h has shape \(1, 6\)"),
        ("gru", (X, STATE, zeros(3 * H, F), zeros(3 * H, H), zeros(H)), {}, ShapeError, r"bias has shape \(6,\)"),
        (
            "lstm",
            (X, STATE, STATE, zeros(4 * H, F), zeros(4 * H, H)),
            {"direction": "bidirectional"},
            ShapeError,
            "Pass weight_ih_back and weight_hh_back too",
        ),
        (
            "lstm",
            (X, STATE, STATE, zeros(4 * H, F), zeros(4 * H, H)),
            {"peephole": zeros(H)},
            ShapeError,
            r"peephole has shape \(6,\), expected \(18,\)",
        ),
    ],
)
def test_refusals(
    name: str, arguments: tuple[Any, ...], settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        getattr(ops, name)(*arguments, **settings)
