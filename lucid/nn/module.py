"""The base of all models: a function with named parameters, buffers and parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from lucid.dtypes import as_dtype, float16, float32
from lucid.errors import DTypeError, UsageError
from lucid.nn.parameter import Parameter
from lucid.nn.state import Incompatible, load_state
from lucid.tensor import Tensor
from lucid.tracing import scope

__all__ = ["Module"]


class _Members(NamedTuple):
    """What a module holds by name; it lives beside the plain attributes."""

    parameters: dict[str, Parameter | None]
    buffers: dict[str, Tensor | None]
    modules: dict[str, Module | None]
    fleeting: set[str]


class Module:
    """A model or a part of one. Subclasses call ``super().__init__()``, set parts as attributes and define ``forward``.

    A :class:`Parameter` or :class:`Module` set as an attribute is found by name from then on; tensors that are saved
    but not learned are buffers (:meth:`register_buffer`).
    """

    training: bool
    _members: _Members

    def __init__(self) -> None:
        object.__setattr__(self, "_members", _Members({}, {}, {}, set()))
        object.__setattr__(self, "training", True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's result, and name what a trace records after the module."""
        with scope(self):
            return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002 -- the form that subclasses fill in
        """Compute the module's result. Subclasses define it; calling the module calls it."""
        raise UsageError(f"{type(self).__name__}: forward is not defined. Define forward(self, ...) in the class.")

    # -- members ----------------------------------------------------------------------------------------------------

    def _own(self) -> _Members:
        members = self.__dict__.get("_members")
        if members is None:
            name = type(self).__name__
            raise UsageError(f"{name}: a member is set before the module is ready. Call super().__init__() first.")
        found: _Members = members
        return found

    def __setattr__(self, name: str, value: object) -> None:
        members = self.__dict__.get("_members")
        if isinstance(value, Parameter):
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name)
            self.add_module(name, value)
        elif members is None:
            object.__setattr__(self, name, value)
        elif name in members.parameters:
            if value is not None:
                raise UsageError(
                    f"{name} is a parameter; cannot set it to {type(value).__name__}. Wrap it: nn.Parameter(...)."
                )
            members.parameters[name] = None
        elif name in members.modules:
            if value is not None:
                raise UsageError(f"{name} is a module; cannot set it to {type(value).__name__}. Use a Module or None.")
            members.modules[name] = None
        elif name in members.buffers:
            if value is not None and not isinstance(value, Tensor):
                raise UsageError(f"{name} is a buffer; cannot set it to {type(value).__name__}. Use a Tensor or None.")
            members.buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__.get("_members")
        if members is not None:
            for table in (members.parameters, members.buffers, members.modules):
                if name in table:
                    return table[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        members = self._own()
        return sorted({*super().__dir__(), *members.parameters, *members.buffers, *members.modules})

    def _forget(self, name: str) -> bool:
        members = self._own()
        known = False
        tables: tuple[dict[str, Any], ...] = (members.parameters, members.buffers, members.modules, self.__dict__)
        for table in tables:
            known |= table.pop(name, self) is not self
        members.fleeting.discard(name)
        return known

    def _check_name(self, kind: str, name: str) -> None:
        if not name or "." in name:
            raise UsageError(f"{kind} {name!r}: a name is not empty and holds no '.'.")
        members = self._own()
        if name in (*members.parameters, *members.buffers, *members.modules) or hasattr(self, name):
            raise UsageError(f"{kind} {name!r}: {type(self).__name__} has an attribute of that name already.")

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Add a parameter, or the place of one that is not there (``None``)."""
        self._check_name("parameter", name)
        self._own().parameters[name] = parameter

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module but is not learned; only a persistent one is in the state_dict."""
        self._check_name("buffer", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise UsageError(f"buffer {name!r}: cannot hold {type(tensor).__name__}. Use a Tensor or None.")
        members = self._own()
        members.buffers[name] = tensor
        if not persistent:
            members.fleeting.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a part."""
        self._check_name("module", name)
        self._own().modules[name] = module

    register_module = add_module

    # -- walking ----------------------------------------------------------------------------------------------------

    def named_modules(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yield the module itself and all parts below it, with their dotted paths."""
        yield from _walk(self, prefix, set() if remove_duplicate else None)

    def modules(self) -> Iterator[Module]:
        """Yield the module itself and all parts below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the module's own parts with their names."""
        seen: set[int] = set()
        for name, module in self._own().modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the module's own parts."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their dotted paths; one that stands in two places comes once."""
        yield from self._named(lambda module: module._own().parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their dotted paths; one that stands in two places comes once."""
        yield from self._named(lambda module: module._own().buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _named(
        self, table: Callable[[Module], Mapping[str, Any]], prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = self.named_modules(prefix, remove_duplicate) if recurse else iter([(prefix, self)])
        for path, module in owners:
            for name, value in table(module).items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def get_submodule(self, target: str) -> Module:
        """Return the part at a dotted path; the empty path is the module itself."""
        module: Module = self
        for name in target.split(".") if target else ():
            part = module._own().modules.get(name)
            if part is None:
                known = ", ".join(module._own().modules) or "none"
                raise UsageError(
                    f"get_submodule: {target!r}: {type(module).__name__} has no part {name!r}; it has {known}."
                )
            module = part
        return module

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path."""
        found = dict(self.named_parameters(remove_duplicate=False)).get(target)
        if found is None:
            raise UsageError(f"get_parameter: {type(self).__name__} has no parameter {target!r}.")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path."""
        found = dict(self.named_buffers(remove_duplicate=False)).get(target)
        if found is None:
            raise UsageError(f"get_buffer: {type(self).__name__} has no buffer {target!r}.")
        return found

    # -- changing ---------------------------------------------------------------------------------------------------

    def apply(self, function: Callable[[Module], object]) -> Self:
        """Call a function with every part and then with the module itself."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set whether the module and its parts are in training."""
        for module in self.modules():
            object.__setattr__(module, "training", bool(mode))
        return self

    def eval(self) -> Self:
        """Leave training: dropout is off, and batch normalization uses its running statistics."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients are wanted for the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self) -> None:
        """Forget the gradients of the parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    def to(self, dtype: object) -> Self:
        """Cast the floating parameters and buffers, in place; other buffers keep their dtype."""
        wanted = as_dtype(dtype)
        if not wanted.is_floating_point:
            raise DTypeError(f"to: dtype is {wanted}. A module takes a floating dtype.")
        for tensor in (*self.parameters(), *self.buffers()):
            if tensor.is_floating_point():
                tensor._value = tensor.to(wanted)._value
        return self

    def half(self) -> Self:
        """Cast the floating parameters and buffers to float16."""
        return self.to(float16)

    def float(self) -> Self:
        """Cast the floating parameters and buffers to float32."""
        return self.to(float32)

    # -- saving -----------------------------------------------------------------------------------------------------

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """Return the parameters and persistent buffers by dotted path: their values at this moment, not copied."""
        return {name: Tensor._boxed(box._value) for name, box in self._saved(prefix).items()}

    def _saved(self, prefix: str = "") -> dict[str, Tensor]:
        table: dict[str, Tensor] = {}
        for path, module in self.named_modules(prefix.removesuffix("."), remove_duplicate=False):
            members = module._own()
            for name, box in (*members.parameters.items(), *members.buffers.items()):
                if box is not None and name not in members.fleeting:
                    table[f"{path}.{name}" if path else name] = box
        return table

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Incompatible:
        """Take over the values of a state_dict: of lucid, NumPy or PyTorch tensors.

        Values are cast to the dtypes the module has; with ``assign`` they are taken as they are, dtype included, and
        NumPy arrays are not copied. Raises LoadError, and changes nothing, where keys are missing or unexpected (unless
        `strict` is off) or shapes differ. Returns the missing and unexpected keys.
        """
        return load_state(type(self).__name__, self._saved(), state_dict, strict=strict, assign=assign)

    # -- showing ----------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the module's own line."""
        return ""

    def __repr__(self) -> str:
        parts = [f"({name}): {_indented(repr(module))}" for name, module in self._own().modules.items()]
        extra = self.extra_repr()
        if not parts:
            return f"{type(self).__name__}({extra})"
        lines = ([extra] if extra else []) + parts
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _walk(module: Module, path: str, seen: set[int] | None) -> Iterator[tuple[str, Module]]:
    if seen is not None:
        if id(module) in seen:
            return
        seen.add(id(module))
    yield path, module
    for name, part in module._own().modules.items():
        if part is not None:
            yield from _walk(part, f"{path}.{name}" if path else name, seen)
