"""The tensor: a box that holds an immutable value.

There are no aliasing views. ``t[...] = v``, ``t += v`` and ``t.copy_(v)`` put a new value into the box; a tensor made
from `t` before that keeps the value it was made from. Every operation passes one door,
:meth:`Tensor.__lucid_apply__`, which runs it and, while a trace is being recorded, writes it down.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lucid import ops
from lucid.dtypes import DType, as_dtype, bool_, float32, int32, promote
from lucid.errors import DTypeError, ShapeError
from lucid.gradmode import is_grad_enabled
from lucid.ops.execution import execute
from lucid.ops.record import Kind, Operation, Parameter
from lucid.tracing import current_trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lucid.functional.operands import TensorLike

__all__ = ["Tensor", "as_tensor", "from_numpy", "tensor"]

_INT32 = np.iinfo(np.int32)
_NAMES = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "float64")
_DTYPES = {np.dtype(name): as_dtype(name) for name in _NAMES}


class Tensor:
    """An n-dimensional array with PyTorch's methods and Core ML's dtypes.

    Make one with :func:`lucid.tensor`, :func:`lucid.from_numpy` or a creation function. ``requires_grad`` marks the
    tensors that gradients are wanted for; results of operations on them carry the mark unless ``no_grad`` is active.
    """

    __slots__ = ("__weakref__", "_value", "requires_grad")
    __array_priority__ = 1000.0

    _value: NDArray[Any]
    requires_grad: bool

    def __init__(self, data: object, dtype: object = None, *, requires_grad: bool = False) -> None:
        self._value = _to_array(data, None if dtype is None else as_dtype(dtype))
        self.requires_grad = requires_grad
        trace = current_trace()
        if trace is not None:
            trace.make(self)

    @classmethod
    def _boxed(cls, value: NDArray[Any], requires_grad: bool = False) -> Tensor:
        """Box an array that nobody else will write to, without checks."""
        box = object.__new__(Tensor)
        box._value = value
        box.requires_grad = requires_grad
        trace = current_trace()
        if trace is not None:
            trace.make(box)
        return box

    @staticmethod
    def __lucid_apply__(operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """Run an operation on bound arguments, record it in the current trace, and box its outputs."""
        boxes: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        sources: list[Tensor] = []
        for name, parameter in operation.parameters.items():
            argument = arguments[name]
            if argument is None:
                arrays[name] = None
            elif parameter.kind is Kind.ARRAY:
                box = argument if isinstance(argument, Tensor) else as_tensor(argument)
                boxes[name], arrays[name] = box, box._value
                sources.append(box)
            elif parameter.kind is Kind.ARRAYS:
                several = tuple(item if isinstance(item, Tensor) else as_tensor(item) for item in argument)
                boxes[name], arrays[name] = several, [box._value for box in several]
                sources.extend(several)
            else:
                boxes[name] = arrays[name] = _attribute(operation, parameter, argument)
        known = {id(box._value) for box in sources}
        wants_grad = is_grad_enabled() and any(box.requires_grad for box in sources)
        results = []
        for output in execute(operation, arrays):
            array = np.asarray(output)
            if id(array) in known:
                array = array.view()
            results.append(Tensor._boxed(array, wants_grad and array.dtype.kind == "f"))
        trace = current_trace()
        if trace is not None:
            trace.record(operation, boxes, results)
        return results[0] if len(results) == 1 else tuple(results)

    # -- what it is -------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The element type."""
        found = _DTYPES.get(self._value.dtype)
        return as_dtype(self._value.dtype.name) if found is None else found

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._value.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._value.ndim

    def dim(self) -> int:
        """Return the number of axes."""
        return self._value.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self._value.size

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def is_floating_point(self) -> bool:
        """Return whether the dtype is float16, float32 or float64."""
        return self.dtype.is_floating_point

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients are wanted for this tensor, in place."""
        if requires_grad and not self.is_floating_point():
            raise DTypeError(f"requires_grad_: the tensor is {self.dtype}; only floating tensors have gradients.")
        self.requires_grad = requires_grad
        return self

    def _is_held_alone(self) -> bool:
        """Whether nobody but this box can see its array: then a write in place is a new value in the box."""
        value = self._value
        counted = getattr(sys, "_is_gil_enabled", lambda: True)() and hasattr(sys, "getrefcount")
        return counted and sys.getrefcount(value) == 3 and value.base is None and value.flags.writeable

    def detach(self) -> Tensor:
        """Return a tensor of the same value for which no gradients are wanted."""
        return Tensor._boxed(self._value)

    # -- out of the box ---------------------------------------------------------------------------------------------

    def numpy(self) -> NDArray[Any]:
        """Return the value as a read-only NumPy array, without copying."""
        self._seen()
        view = self._value.view()
        view.flags.writeable = False
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        self._seen()
        return np.array(self._value, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        self._seen()
        return (self._value if self._value.flags.writeable else self._value.copy()).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._value.__dlpack_device__()

    def tolist(self) -> Any:
        """Return the value as nested lists of Python numbers (a number for rank 0)."""
        self._seen()
        return self._value.tolist()

    def item(self) -> Any:
        """Return the only element as a Python number."""
        self._seen()
        if self._value.size != 1:
            raise ShapeError(f"item: the tensor has {self._value.size} elements, shape {self.shape}; it needs one.")
        return self._value.item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if not (self.dtype.is_integer or self.dtype == bool_):
            raise DTypeError(f"index: the tensor is {self.dtype}. Only integers can be used as an index.")
        return int(self.item())

    def __len__(self) -> int:
        if self.ndim == 0:
            raise ShapeError("len: a tensor of rank 0 has no length.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self)))

    def _seen(self) -> None:
        trace = current_trace()
        if trace is not None:
            trace.read_on_host(self)

    def __repr__(self) -> str:
        text = np.array2string(self._value, separator=", ", precision=4, threshold=200, edgeitems=3, prefix="tensor(")
        notes = "" if self.dtype in (float32, int32, bool_) else f", dtype={self.dtype}"
        if self._value.size == 0 and self.shape != (0,):
            notes = f", shape={self.shape}" + notes
        return f"tensor({text}{notes}{', requires_grad=True' if self.requires_grad else ''})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else format(repr(self), spec)

    __hash__ = object.__hash__

    # -- into the box -----------------------------------------------------------------------------------------------

    def copy_(self, source: object) -> Self:
        """Put `source`, cast and broadcast to this tensor's dtype and shape, into the box."""
        value = as_tensor(source).to(self.dtype)
        if value.shape != self.shape:
            value = value.expand(self.shape)
        return self._put(value)

    def _put(self, value: Tensor) -> Self:
        if value.shape != self.shape or value.dtype != self.dtype:
            raise ShapeError(
                f"in-place write: the tensor is {self.dtype} {self.shape}, the new value {value.dtype} {value.shape}. "
                "Cast or reshape the value first."
            )
        if value is self:
            return self
        trace, before = current_trace(), self._value
        if trace is not None and trace.depends_on_inputs(self):
            value = ops.identity(value)  # a value of its own, whose way to an output can be followed
        self._value = value._value
        self.requires_grad = self.requires_grad or value.requires_grad
        if trace is not None:
            trace.write(self, before)
        return self

    def __setitem__(self, index: object, value: object) -> None:
        from lucid.indexing import replaced

        self._put(replaced(self, index, as_tensor(value), in_place=True))

    def __getitem__(self, index: object) -> Tensor:
        from lucid.indexing import selected

        return selected(self, index)

    # -- dtype ------------------------------------------------------------------------------------------------------

    def to(self, dtype: object) -> Tensor:
        """Return the tensor in another dtype (itself, if it has it already). Floats lose their fraction to integers."""
        wanted = as_dtype(dtype)
        if wanted == self.dtype:
            return self
        if "fp64" in (wanted.mil, self.dtype.mil):
            trace = current_trace()
            if trace is not None:
                trace.refuse_float64(self)
            return Tensor._boxed(self._value.astype(wanted.numpy), self.requires_grad and wanted.is_floating_point)
        result: Tensor = ops.cast(self, dtype=wanted.mil)
        return result

    if TYPE_CHECKING:  # the methods that lucid.functional attaches

        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...
        def __add__(self, other: TensorLike) -> Tensor: ...
        def __radd__(self, other: TensorLike) -> Tensor: ...
        def __iadd__(self, other: TensorLike) -> Self: ...
        def __sub__(self, other: TensorLike) -> Tensor: ...
        def __rsub__(self, other: TensorLike) -> Tensor: ...
        def __isub__(self, other: TensorLike) -> Self: ...
        def __mul__(self, other: TensorLike) -> Tensor: ...
        def __rmul__(self, other: TensorLike) -> Tensor: ...
        def __imul__(self, other: TensorLike) -> Self: ...
        def __truediv__(self, other: TensorLike) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike) -> Tensor: ...
        def __itruediv__(self, other: TensorLike) -> Self: ...
        def __floordiv__(self, other: TensorLike) -> Tensor: ...
        def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
        def __ifloordiv__(self, other: TensorLike) -> Self: ...
        def __mod__(self, other: TensorLike) -> Tensor: ...
        def __rmod__(self, other: TensorLike) -> Tensor: ...
        def __imod__(self, other: TensorLike) -> Self: ...
        def __pow__(self, other: TensorLike) -> Tensor: ...
        def __rpow__(self, other: TensorLike) -> Tensor: ...
        def __ipow__(self, other: TensorLike) -> Self: ...
        def __matmul__(self, other: TensorLike) -> Tensor: ...
        def __rmatmul__(self, other: TensorLike) -> Tensor: ...
        def __imatmul__(self, other: TensorLike) -> Self: ...
        def __and__(self, other: TensorLike) -> Tensor: ...
        def __rand__(self, other: TensorLike) -> Tensor: ...
        def __iand__(self, other: TensorLike) -> Self: ...
        def __or__(self, other: TensorLike) -> Tensor: ...
        def __ror__(self, other: TensorLike) -> Tensor: ...
        def __ior__(self, other: TensorLike) -> Self: ...
        def __xor__(self, other: TensorLike) -> Tensor: ...
        def __rxor__(self, other: TensorLike) -> Tensor: ...
        def __ixor__(self, other: TensorLike) -> Self: ...
        def __lt__(self, other: TensorLike) -> Tensor: ...
        def __le__(self, other: TensorLike) -> Tensor: ...
        def __gt__(self, other: TensorLike) -> Tensor: ...
        def __ge__(self, other: TensorLike) -> Tensor: ...
        def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]  # element by element
        def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]  # element by element
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...

        T: Tensor
        mT: Tensor  # noqa: N815 -- the Array API's name


def _attribute(operation: Operation, parameter: Parameter, value: Any) -> Any:
    """Return an attribute as the plain Python value its kind asks for."""
    try:
        match parameter.kind:
            case Kind.INT:
                return value.__index__()
            case Kind.FLOAT:
                return float(value)
            case Kind.BOOL:
                return bool(value)
            case Kind.INTS:
                return tuple(
                    item.__index__() for item in (value if isinstance(value, Sequence | np.ndarray) else (value,))
                )
            case Kind.BOOLS:
                return tuple(bool(item) for item in value)
        if isinstance(value, str):
            return value
    except (AttributeError, TypeError):
        pass
    raise DTypeError(f"{operation.name}: {parameter.name} is {value!r}. It takes {parameter.kind.value}.")


def _to_array(data: object, dtype: DType | None) -> NDArray[Any]:
    if isinstance(data, Tensor):
        return data._value if dtype is None else data.to(dtype)._value
    if isinstance(data, (list, tuple)) and any(isinstance(item, Tensor) for item in data):
        data = [item.tolist() if isinstance(item, Tensor) else item for item in data]
    try:
        array = np.array(np.asarray(data) if hasattr(data, "__array__") else data)
    except ValueError as error:
        raise ShapeError(f"tensor: the nested lists are ragged ({error}).") from None
    if dtype is None and not isinstance(data, (np.ndarray, np.generic)) and not hasattr(data, "__array__"):
        dtype = {"f": float32, "i": int32, "b": bool_}.get(array.dtype.kind)
        if array.size == 0:
            dtype = float32
    if array.dtype.kind not in "biuf":
        raise DTypeError(f"tensor: cannot hold {array.dtype} data. Give numbers or booleans.")
    if array.dtype.kind in "iu" and (dtype is None or dtype == int32) and array.dtype.itemsize >= 4:
        check_int32(array)
        dtype = dtype or int32 if array.dtype != np.uint32 else dtype
    wanted = (dtype or as_dtype(array.dtype)).numpy
    with np.errstate(all="ignore"):
        return array.astype(wanted, copy=False)


def check_int32(array: NDArray[Any]) -> None:
    """Raise DTypeError naming the first integer that int32, Core ML's widest, cannot hold."""
    if array.size and array.dtype.itemsize > 4 and (array.max() > _INT32.max or array.min() < _INT32.min):
        wide = array[(array > _INT32.max) | (array < _INT32.min)].flat[0]
        raise DTypeError(f"tensor: {wide} does not fit int32, Core ML's widest integer. Scale it down or use float32.")


def tensor(data: object, dtype: object = None, *, requires_grad: bool = False) -> Tensor:
    """Return a tensor holding a copy of `data`: nested lists, a number, a NumPy array or a Tensor.

    Python numbers become float32, int32 or bool; NumPy arrays keep their dtype, except that int64 becomes int32 where
    every value fits. Raises DTypeError where one does not, and ShapeError for ragged lists.

    >>> tensor([[1.0, 2.0], [3.0, 4.0]])
    tensor([[1., 2.],
            [3., 4.]])
    """
    box = Tensor(data, dtype, requires_grad=requires_grad)
    return box


def from_numpy(array: NDArray[Any]) -> Tensor:
    """Return a tensor of a NumPy array without copying it: the caller promises not to write to the array."""
    if array.dtype == np.int64:
        check_int32(array)
        array = array.astype(np.int32)
    as_dtype(array.dtype)
    return Tensor._boxed(array)


def as_tensor(data: object, dtype: object = None) -> Tensor:
    """Return `data` as a tensor: itself if it is one of that dtype."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return Tensor(data, dtype)


def paired(first: object, second: object) -> tuple[Tensor, Tensor]:
    """Return two operands in their common dtype. A Python number takes the tensor's dtype where that can hold it."""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        common = promote(first.dtype, second.dtype)
        return first.to(common), second.to(common)
    if isinstance(first, Tensor):
        return _with_number(first, second)
    number, box = _with_number(as_tensor(second), first)
    return box, number


def _with_number(box: Tensor, number: object) -> tuple[Tensor, Tensor]:
    if not isinstance(number, (bool, int, float)):
        return paired(box, as_tensor(number))
    if isinstance(number, float) and not box.is_floating_point():
        box = box.to(float32)
    elif isinstance(number, int) and not isinstance(number, bool) and box.dtype == bool_:
        box = box.to(int32)
    return box, Tensor(number, box.dtype)


import lucid.functional  # noqa: E402, F401 -- at the end, because it gives the class above its methods
