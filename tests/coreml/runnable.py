"""Packages with control flow and unusual interfaces, made by coremltools' builder: ``python runnable.py FOLDER``."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

sys.modules["torch"] = None  # type: ignore[assignment]  # coremltools would import it
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")

import coremltools as ct  # noqa: E402
import numpy as np  # noqa: E402
from coremltools.converters.mil import Builder as mb  # noqa: E402, N813
from coremltools.converters.mil.mil import get_new_symbol, types  # noqa: E402

_IOS16, _IOS17, _IOS18 = ct.target.iOS16, ct.target.iOS17, ct.target.iOS18


def _program(target: Any, *shapes: tuple[Any, ...], states: tuple[tuple[int, ...], ...] = ()) -> Any:
    specs = [mb.TensorSpec(shape) for shape in shapes]
    specs += [mb.StateTensorSpec(shape, dtype=types.fp16) for shape in states]
    return mb.program(input_specs=specs, opset_version=target)


@_program(_IOS17, (3,), (1,))
def nested(x: Any, steps: Any) -> Any:
    """Collatz on each call: while steps are left, halve even numbers, and take 3 n + 1 of odd ones."""
    left = mb.cast(x=mb.squeeze(x=steps, axes=[0]), dtype="int32")
    numbers = mb.cast(x=x, dtype="int32")
    total = mb.reduce_sum(x=numbers, axes=[0], keep_dims=False)
    one = mb.identity(x=mb.cast(x=mb.equal(x=left, y=left), dtype="int32"))  # computed outside, read inside

    def advance(value: Any, count: Any) -> Any:
        is_even = mb.equal(x=mb.mod(x=value, y=2), y=0)
        new = mb.cond(
            pred=is_even,
            _true_fn=lambda: mb.floor_div(x=value, y=2),
            _false_fn=lambda: mb.cond(
                pred=mb.greater(x=value, y=total),
                _true_fn=lambda: mb.add(x=mb.mul(x=value, y=3), y=one),
                _false_fn=lambda: mb.add(x=mb.mul(x=value, y=3), y=1),
            ),
        )
        return new, mb.sub(x=count, y=one)

    looped = mb.while_loop(_cond=lambda value, count: mb.greater(x=count, y=0), _body=advance, loop_vars=(total, left))
    return mb.cast(x=mb.add(x=looped[0], y=mb.mul(x=total, y=1000)), dtype="fp32", name="result")


@_program(_IOS17, (2, 3))
def grown(x: Any) -> Any:
    """A list that grows in a loop, is scattered into and read."""
    rows = mb.make_list(init_length=1, elem_shape=(3,), dtype="fp32")
    row = mb.reduce_sum(x=x, axes=[0])

    def write(count: Any, held: Any) -> Any:
        factor = mb.cast(x=count, dtype="fp32")
        return mb.add(x=count, y=1), mb.list_write(ls=held, index=count, value=mb.mul(x=row, y=factor))

    looped = mb.while_loop(_cond=lambda count, _: mb.less(x=count, y=4), _body=write, loop_vars=(mb.const(val=0), rows))
    ahead = mb.list_scatter(ls=looped[1], indices=[0, 5], value=x)
    length = mb.cast(x=mb.list_length(ls=ahead), dtype="fp32")
    gathered = mb.list_gather(ls=ahead, indices=[5, 0, 3, 4])
    return mb.add(x=mb.add(x=gathered, y=mb.list_read(ls=ahead, index=1)), y=length, name="result")


@_program(_IOS18, (1, 2), states=((4, 2),))
def stated(x: Any, held: Any) -> Any:
    """A cache whose old value a block reads after the update was computed, before it is written back."""
    old = mb.read_state(input=held)
    new = mb.slice_update(x=old, update=mb.cast(x=x, dtype="fp16"), begin=[1, 0], end=[2, 2])
    positive = mb.greater(x=mb.reduce_sum(x=x, keep_dims=False), y=0.0)
    before = mb.cond(
        pred=positive,
        _true_fn=lambda: mb.reduce_sum(x=mb.read_state(input=held), axes=[0, 1], keep_dims=False),
        _false_fn=lambda: mb.reduce_sum(x=mb.mul(x=old, y=np.float16(-1)), axes=[0, 1], keep_dims=False),
    )
    again = mb.coreml_update_state(state=held, value=new)
    after = mb.reduce_sum(x=again, axes=[0, 1], keep_dims=False)
    return mb.stack(values=(before, after), axis=0, name="result")


@_program(_IOS16, (2, 3))
def cast(x: Any) -> Any:
    weight = np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float16)
    return mb.linear(x=x, weight=mb.constexpr_cast(source_val=weight, output_dtype="fp32"), name="result")


@_program(_IOS17, (1, 4), (1, 4))
def optional(x: Any, y: Any) -> Any:
    return mb.sub(x=x, y=y, name="result")


@_program(_IOS17, (1, 3))
def numbered(x: Any) -> Any:
    return mb.softmax(x=x, axis=-1)


def picture(channels: int, height: Any = 4, width: Any = 5) -> Any:
    @_program(_IOS17, (1, channels, height, width))
    def program(x: Any) -> Any:
        return mb.add(x=x, y=np.float32([10, 20, 30][:channels]).reshape(1, channels, 1, 1), name="result")

    return program


@_program(_IOS17, (1, 4))
def drawn(x: Any) -> Any:
    return mb.mul(x=x, y=2.0, name="result")


@mb.program(input_specs=[mb.TensorSpec((1, get_new_symbol(), get_new_symbol()))], opset_version=_IOS17)
def flexible(x: Any) -> Any:
    return mb.reduce_sum(x=x, axes=[1], name="result")


def _save(program: Any, path: Path, **options: Any) -> Any:
    target = next(iter(program.functions.values())).opset_version
    options.setdefault("compute_precision", ct.precision.FLOAT32)
    options.setdefault("pass_pipeline", ct.PassPipeline.EMPTY)
    options |= {"convert_to": "mlprogram", "minimum_deployment_target": target, "skip_model_load": True}
    model = ct.convert(program, **options)
    model.save(str(path))
    return model


def main(folder: Path) -> None:
    for name in ("nested", "grown", "stated", "cast"):
        _save(globals()[name], folder / f"{name}.mlpackage")
    given = [ct.TensorType("x", (1, 4)), ct.TensorType("y", (1, 4), default_value=np.full((1, 4), 2.5, np.float32))]
    _save(optional, folder / "optional.mlpackage", inputs=given)
    usual: dict[str, Any] = {"pass_pipeline": ct.PassPipeline.DEFAULT}
    _save(numbered, folder / "numbered.mlpackage", classifier_config=ct.ClassifierConfig([7, 8, 9]), **usual)
    layouts = {"rgb": ct.colorlayout.RGB, "bgr": ct.colorlayout.BGR, "grey": ct.colorlayout.GRAYSCALE}
    layouts["grey16"] = ct.colorlayout.GRAYSCALE_FLOAT16
    for name, layout in layouts.items():
        bias = [1.0, 2.0, 3.0] if name in ("rgb", "bgr") else 1.0
        channels = 3 if name in ("rgb", "bgr") else 1
        image = ct.ImageType("x", (1, channels, 4, 5), color_layout=layout, scale=0.5, bias=bias)
        model = _save(picture(channels), folder / f"{name}_array.mlpackage", inputs=[image], **usual)
        spec = model.get_spec()
        described = spec.description
        described.output[0].type.imageType.CopyFrom(described.input[0].type.imageType)
        ct.models.utils.save_spec(spec, str(folder / f"{name}.mlpackage"), weights_dir=model.weights_dir)
    sizes = {
        "picture_ranged": ct.Shape((1, 3, ct.RangeDim(2, 4, default=3), ct.RangeDim(1, 6, default=5))),
        "picture_chosen": ct.EnumeratedShapes([(1, 3, 2, 5), (1, 3, 4, 6)], default=(1, 3, 4, 6)),
    }
    for name, shape in sizes.items():
        program = picture(3, get_new_symbol(), get_new_symbol())
        image = ct.ImageType("x", shape, color_layout=ct.colorlayout.RGB)
        _save(program, folder / f"{name}.mlpackage", inputs=[image], **usual)
    height, width = ct.RangeDim(2, 4, default=3), ct.RangeDim(1, 7, default=5)
    _save(flexible, folder / "ranged.mlpackage", inputs=[ct.TensorType("x", (1, height, width))], **usual)
    shapes = ct.EnumeratedShapes([(1, 2, 5), (1, 4, 6)], default=(1, 4, 6))
    _save(flexible, folder / "chosen.mlpackage", inputs=[ct.TensorType("x", shapes)], **usual)
    plain = _save(drawn, folder / "plain.mlpackage")
    unknown = plain.get_spec()
    block = unknown.mlProgram.functions["main"].block_specializations["CoreML7"]
    next(each for each in block.operations if each.type == "mul").type = "frobnicate"
    ct.models.utils.save_spec(unknown, str(folder / "unknown.mlpackage"), weights_dir=plain.weights_dir)
    several = ct.utils.MultiFunctionDescriptor()
    several.add_function(str(folder / "stated.mlpackage"), "main", "cached")
    several.add_function(str(folder / "plain.mlpackage"), "main", "doubled")
    several.default_function_name = "doubled"
    ct.utils.save_multifunction(several, str(folder / "several.mlpackage"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
