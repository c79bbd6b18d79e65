"""Packages made by coremltools' own builder, in a process of its own: ``python foreign.py FOLDER``."""

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
from coremltools.converters.mil.mil import types  # noqa: E402

_IOS16, _IOS17, _IOS18 = ct.target.iOS16, ct.target.iOS17, ct.target.iOS18


def _program(target: Any, *shapes: tuple[Any, ...], states: tuple[tuple[int, ...], ...] = ()) -> Any:
    specs = [mb.TensorSpec(shape) for shape in shapes]
    specs += [mb.StateTensorSpec(shape, dtype=types.fp16) for shape in states]
    return mb.program(input_specs=specs, opset_version=target)


@_program(_IOS17, (1,))
def cond(x: Any) -> Any:
    wide = np.arange(12, dtype=np.float32)
    positive = mb.greater(x=mb.reduce_sum(x=x, keep_dims=False), y=0.0)
    return mb.cond(
        pred=positive,
        _true_fn=lambda: mb.add(x=mb.reshape(x=x, shape=[1]), y=wide),
        _false_fn=lambda: mb.mul(x=x, y=wide * 2),
        name="chosen",
    )


@_program(_IOS17, (1,))
def while_loop(x: Any) -> Any:
    return mb.while_loop(
        _cond=lambda value, count: mb.less(x=count, y=3),
        _body=lambda value, count: (mb.mul(x=value, y=2.0), mb.add(x=count, y=1)),
        loop_vars=(x, mb.const(val=0)),
        name="looped",
    )[0]


@_program(_IOS18, (1, 4), states=((2, 4),))
def states(x: Any, held: Any) -> Any:
    update = mb.cast(x=x, dtype="fp16")
    new = mb.slice_update(x=mb.read_state(input=held), update=update, begin=[1, 0], end=[2, 4])
    again = mb.coreml_update_state(state=held, value=new)
    return mb.reduce_sum(x=again, axes=[0], name="total")


@_program(_IOS16, (2, 16))
def constexpr_attributes(x: Any) -> Any:
    table = np.array([0.0, 0.5, -1.0, 2.0], np.float32)
    indices = np.packbits(np.tile([0, 1, 1, 0], 32)).astype(np.uint8)
    looked = mb.constexpr_lut_to_dense(lut=table, indices=indices, shape=np.array([4, 16], np.uint32))
    quantized = np.arange(16, dtype=np.int8).reshape(4, 4)
    scale, offset = np.float32(0.25), np.int8(3)
    scaled = mb.constexpr_affine_dequantize(quantized_data=quantized, zero_point=offset, axis=0, scale=scale)
    return mb.linear(x=mb.linear(x=x, weight=looked), weight=scaled)


@_program(_IOS18, (2, 16))
def constexpr_inputs(x: Any) -> Any:
    data = np.arange(64).reshape(4, 16) % 16 - 8
    data = data.astype(types.np_int4_dtype)
    scale = np.linspace(0.5, 2, 4, dtype=np.float32).reshape(4, 1)
    return mb.linear(x=x, weight=mb.constexpr_blockwise_shift_scale(data=data, scale=scale))


@_program(_IOS17, (2, 3))
def lists(x: Any) -> Any:
    rows = mb.make_list(init_length=2, elem_shape=(3,), dtype="fp32", dynamic_length=False)
    rows = mb.list_write(ls=rows, index=0, value=mb.reduce_sum(x=x, axes=[0]))
    rows = mb.list_write(ls=rows, index=1, value=mb.reduce_max(x=x, axes=[0]))
    return mb.list_gather(ls=rows, indices=[1, 0])


@_program(_IOS17, (1, 3))
def classifier(x: Any) -> Any:
    return mb.softmax(x=x, axis=-1)


def flexible() -> Any:
    sizes = mb.TensorSpec((1, _symbol()))

    @mb.program(input_specs=[sizes], opset_version=_IOS17)
    def program(x: Any) -> Any:
        return mb.relu(x=x)

    return program


def _symbol() -> Any:
    from coremltools.converters.mil.mil.program import get_new_symbol

    return get_new_symbol()


@_program(_IOS18, (1, 4))
def longer(x: Any) -> Any:
    return mb.add(x=x, y=np.arange(12, dtype=np.float32).reshape(3, 4))


def _save(program: Any, target: Any, path: Path, **options: Any) -> None:
    options.setdefault("compute_precision", ct.precision.FLOAT32)
    ct.convert(program, convert_to="mlprogram", minimum_deployment_target=target, **options).save(str(path))


def main(folder: Path) -> None:
    for program in (cond, while_loop, states, constexpr_attributes, constexpr_inputs, lists, longer):
        target = next(iter(program.functions.values())).opset_version
        _save(program, target, folder / f"{program_name(program)}.mlpackage", pass_pipeline=ct.PassPipeline.EMPTY)
    labels = ct.ClassifierConfig(["cat", "dog", "eel"])
    _save(classifier, _IOS17, folder / "classifier.mlpackage", classifier_config=labels)
    ranged = ct.TensorType(name="x", shape=(1, ct.RangeDim(2, 8, default=4)))
    _save(flexible(), _IOS17, folder / "ranged.mlpackage", inputs=[ranged])
    chosen = ct.TensorType(name="x", shape=ct.EnumeratedShapes([(1, 4), (1, 7)], default=(1, 7)))
    _save(flexible(), _IOS17, folder / "chosen.mlpackage", inputs=[chosen])
    several = ct.utils.MultiFunctionDescriptor()
    several.add_function(str(folder / "longer.mlpackage"), "main", "first")
    several.add_function(str(folder / "states.mlpackage"), "main", "second")
    several.default_function_name = "second"
    ct.utils.save_multifunction(several, str(folder / "several.mlpackage"))
    network = ct.models.neural_network.NeuralNetworkBuilder(
        [("x", ct.models.datatypes.Array(3))], [("y", ct.models.datatypes.Array(3))]
    )
    network.add_activation("act", "RELU", "x", "y")
    ct.models.MLModel(network.spec).save(str(folder / "network.mlpackage"))
    pipeline = ct.models.pipeline.Pipeline(["x"], ["y"])
    pipeline.spec.description.input[0].CopyFrom(network.spec.description.input[0])
    pipeline.spec.description.output[0].CopyFrom(network.spec.description.output[0])
    pipeline.add_model(network.spec)
    ct.models.MLModel(pipeline.spec).save(str(folder / "pipeline.mlpackage"))


def program_name(program: Any) -> str:
    return next(name for name, value in globals().items() if value is program)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
