"""How the values of an input are made, call by call: the forms of `input.values`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from lucid.pipeline.spec_base import Table
from lucid.pipeline.spec_names import relative_path

__all__ = ["FORMS", "WORDS", "Constant", "File", "Integers", "Listed", "Normal", "Uniform", "Values"]

WORDS = ("ones", "zeros", "index")
FORMS = ("constant", "normal", "uniform", "integers", "list", "file")

Number = bool | int | float


class Constant(Table):
    """The same number at every place of every call."""

    constant: Number = Field(description="The number, or true or false for a bool input.", examples=[1.5])


class NormalParameters(Table):
    """Mean and standard deviation."""

    mean: float = Field(default=0.0, description="Mean.")
    std: float = Field(default=1.0, gt=0, description="Standard deviation.")


class Normal(Table):
    """Random numbers of the normal distribution, other ones in each call."""

    normal: NormalParameters = Field(description="Mean and standard deviation.", examples=[{"mean": 0, "std": 1}])


class UniformRange(Table):
    """Both ends of a range of numbers."""

    low: float = Field(default=0.0, description="The lowest number.")
    high: float = Field(default=1.0, description="The highest number, itself excluded.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low is {self.low:g} and high is {self.high:g}. Give a high that is above low.")
        return self


class Uniform(Table):
    """Random numbers between two ends, all equally likely, other ones in each call."""

    uniform: UniformRange = Field(description="Both ends.", examples=[{"low": -1, "high": 1}])


class IntegerRange(Table):
    """Both ends of a range of whole numbers."""

    low: int = Field(default=0, description="The lowest number.")
    high: int = Field(description="One above the highest number.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise ValueError(
                f"low is {self.low} and high is {self.high}, which is excluded: no number is left. "
                "Give a high that is above low."
            )
        return self


class Integers(Table):
    """Random whole numbers of a range, other ones in each call."""

    integers: IntegerRange = Field(
        description="Both ends, the high one excluded.", examples=[{"low": 0, "high": 32000}]
    )


class Listed(Table):
    """Values written out, one entry a call: a number for the whole input, or nested arrays of its shape."""

    list: tuple[Any, ...] = Field(
        min_length=1,
        description="One entry for each golden call; entries beyond them are not used.",
        examples=[[0, 1, 2]],
    )


class File(Table):
    """Values read from a file, one entry a call along the first axis."""

    file: Annotated[str, AfterValidator(relative_path)] = Field(
        description="A `.npy`, `.npz` or `.safetensors` file, relative to the spec; its array has one axis more than "
        "the input, and entries beyond the golden calls are not used.",
        examples=["tokens.npy"],
    )
    key: str | None = Field(
        default=None, description="Name of the array in an `.npz` or `.safetensors` file; unset, the only one there."
    )


def _form(value: object) -> str | None:
    """Name the member of `Values` that `value` is meant to be; the brackets tell the name from a key of that name."""
    if isinstance(value, str):
        return "<word>"
    if isinstance(value, dict):
        forms = [f"<{form}>" for form in FORMS if form in value]
        return forms[0] if len(forms) == 1 else None
    return f"<{type(value).__name__.lower().removesuffix('ed')}>"


Values = Annotated[
    Annotated[Literal["ones", "zeros", "index"], Tag("<word>")]
    | Annotated[Constant, Tag("<constant>")]
    | Annotated[Normal, Tag("<normal>")]
    | Annotated[Uniform, Tag("<uniform>")]
    | Annotated[Integers, Tag("<integers>")]
    | Annotated[Listed, Tag("<list>")]
    | Annotated[File, Tag("<file>")],
    Discriminator(_form),
]
