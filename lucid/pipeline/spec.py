"""The spec: a TOML file that says which model becomes which package, and how the result is checked.

>>> from lucid.pipeline.spec import read
>>> spec = read("specs/decoder.toml")  # doctest: +SKIP
>>> spec.package.name, spec.lowering.precision  # doctest: +SKIP
('decoder', 'float16')

Reading a spec looks at the spec and at nothing else: no user code is imported, no array library is loaded.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli
from pydantic import BeforeValidator, Field, PrivateAttr

from lucid.errors import SpecError
from lucid.pipeline.spec_base import Table
from lucid.pipeline.spec_tables import Build, Golden, Input, Lowering, Model, Output, Package, State
from lucid.tolerance import Tolerance, default_tolerance

__all__ = ["FORMAT", "SIZE_LIMIT", "Spec", "Tolerance", "parsed", "read", "with_tuples"]

FORMAT = 1
SIZE_LIMIT = 1 << 20
"""The largest spec in bytes: beyond it, a file given by mistake is likelier than a spec."""


def _whole(value: object) -> object:
    """Accept no truth value and no fraction in the place of a whole number, though they are equal to it in Python."""
    if type(value) is not int:
        raise ValueError(f"expected a whole number, found {value}.")
    return value


class Spec(Table):
    """A package, its model, the model's interface, how it is lowered and how the result is checked."""

    lucid: Annotated[Literal[1], BeforeValidator(_whole)] = Field(
        description="Version of the spec's format; this is 1.", examples=[1]
    )
    package: Package = Field(description="What the package is called and what it says about itself.")
    model: Model = Field(description="Where the model comes from.")
    inputs: tuple[Input, ...] = Field(alias="input", min_length=1, description="The arguments of the model.")
    outputs: tuple[Output, ...] = Field(
        default=(),
        alias="output",
        description="The results of the model; unset, they have the names that the model returns them under, "
        "or are `output_0`, `output_1`, …",
    )
    states: tuple[State, ...] = Field(
        default=(), alias="state", description="Pairs of an input and an output that Core ML keeps."
    )
    lowering: Lowering = Field(default_factory=Lowering, description="How the model is lowered to Core ML.")
    golden: Golden = Field(
        default_factory=Golden, description="The check of the written package against the original model."
    )
    build: Build = Field(default_factory=Build, description="Where the results go.")

    _path: Path = PrivateAttr(default=Path("spec.toml"))
    _content: bytes = PrivateAttr(default=b"")

    @property
    def path(self) -> Path:
        """The file of the spec, as it was given to :func:`read`."""
        return self._path

    @property
    def root(self) -> Path:
        """The folder of the spec, to which its paths are relative."""
        return self._path.parent

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes that were read, as 64 hexadecimal digits."""
        import hashlib

        return hashlib.sha256(self._content).hexdigest()

    @property
    def directory(self) -> Path:
        """The folder for the results, relative to the current folder."""
        return Path(self.build.directory or f"build/{self.package.name}")

    def tolerance(self, output: str) -> Tolerance:
        """Return the tolerance of `output`: its own, that of the golden check, or the precision's default."""
        own = next((each for each in self.outputs if each.name == output), None)
        usual = default_tolerance(self.lowering.precision, stateful=bool(self.states))
        return Tolerance(
            atol=(own and own.atol) or self.golden.atol or usual.atol,
            rtol=(own and own.rtol) or self.golden.rtol or usual.rtol,
        )

    def resolved(self) -> dict[str, Any]:
        """Return the spec as JSON-able data in the layout of the file, with all defaults filled in.

        Keys that are still unset (`weights`, `interface`, tolerances of a single output …) are null.
        """
        data = self.model_dump(mode="json", by_alias=True)
        data["build"]["directory"] = self.directory.as_posix()
        for table in (data["golden"], *data["output"]):
            tolerance = self.tolerance(table.get("name", ""))
            table["atol"], table["rtol"] = tolerance.atol, tolerance.rtol
        for each in data["input"]:
            each["values"] = each["values"] or "zeros"
        return data


def read(path: str | Path) -> Spec:
    """Read and check the spec at `path`.

    Raises :class:`lucid.errors.SpecError` whose ``findings`` hold each independent fault with line, column and excerpt.
    The files that the spec names must exist; they are not opened.
    """
    path = Path(path)
    content = _content(path)
    try:
        text = content.decode("utf-8-sig")
        spec = Spec.model_validate(parsed(text))
    except (ValueError, RecursionError) as error:  # TOML, UTF-8 and pydantic errors are ValueErrors
        from lucid.pipeline.spec_faults import explain

        raise explain(error, content, path) from None
    from lucid.pipeline.spec_rules import problems

    spec._path, spec._content = path, content
    found = tuple(problems(spec))
    if found:
        from lucid.pipeline.spec_faults import located

        raise located(found, text, path)
    return spec


def _content(path: Path) -> bytes:
    """Return the bytes of a regular file that is not too large, or raise SpecError."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # to open a pipe would wait for its writer
            raise SpecError("this is not a regular file. Give the path of a TOML file.", where=str(path))
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except (OSError, ValueError) as error:  # a path with a zero character is a ValueError
        from lucid.pipeline.spec_faults import unreadable

        raise unreadable(error, path) from None
    if len(content) > SIZE_LIMIT:
        raise SpecError(f"the file is larger than {SIZE_LIMIT} bytes: it cannot be a spec.", where=str(path))
    return content


def parsed(text: str) -> dict[str, Any]:
    """Return the data of a TOML text with its arrays as tuples, so that what is frozen stays frozen."""
    data: dict[str, Any] = with_tuples(tomli.loads(text))
    return data


def with_tuples(value: Any) -> Any:
    """Return plain data with tuples for its lists, however deep."""
    if isinstance(value, dict):
        return {key: with_tuples(each) for key, each in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value
