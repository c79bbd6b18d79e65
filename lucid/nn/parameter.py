"""The tensor that a module learns."""

from __future__ import annotations

from lucid.errors import DTypeError
from lucid.tensor import Tensor, as_tensor

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A tensor that a module counts among its parameters when it is set as an attribute.

    It shares the value of `data`, and wants gradients unless told otherwise. ``grad`` is the gradient last computed
    for it, or ``None``.
    """

    __slots__ = ("grad",)

    grad: Tensor | None

    def __init__(self, data: object, requires_grad: bool = True) -> None:
        box = as_tensor(data)
        if requires_grad and not box.is_floating_point():
            raise DTypeError(f"Parameter: the data is {box.dtype}. Pass requires_grad=False, or floating data.")
        self._value = box._value
        self.requires_grad = requires_grad
        self.grad = None

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"
