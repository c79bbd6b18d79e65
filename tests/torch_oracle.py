"""PyTorch as the oracle: the same call on the same numbers, compared in dtype, shape and value."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import lucid

NAMES = {"int64": "int32"}  # Core ML's widest integer


def ours(value: Any) -> Any:
    """Return nested PyTorch tensors as lucid's, and anything else as it is."""
    if isinstance(value, torch.Tensor):
        return lucid.tensor(value.detach().numpy())
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(ours(item) for item in value)
    return value


def agree(found: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Assert that lucid's result is PyTorch's: same structure, dtypes, shapes and values."""
    if isinstance(expected, torch.Tensor):
        assert isinstance(found, lucid.Tensor), type(found)
        name = str(expected.dtype).removeprefix("torch.")
        assert found.dtype.name == NAMES.get(name, name)
        assert found.shape == tuple(expected.shape)
        numbers = expected.detach().numpy()
        if numbers.dtype.kind == "f":
            np.testing.assert_allclose(found.numpy(), numbers, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(found.numpy(), numbers)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            agree(one, other, rtol, atol)
    else:
        assert found == expected


def numbers(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Return well-spread numbers of a shape, the same on every call: floats of both signs, integers from -9 to 9."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if dtype.is_floating_point:
        return (torch.rand(shape, generator=generator) * 6 - 3).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -9, 10, shape, generator=generator).to(dtype)
