"""Packages with compressed weights, and the same ones decompressed, both by coremltools: ``compressed.py FOLDER``."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.modules["torch"] = None  # type: ignore[assignment]  # coremltools would import it
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")

import coremltools as ct  # noqa: E402
import coremltools.optimize.coreml as cto  # noqa: E402
import numpy as np  # noqa: E402
from coremltools.converters.mil import Builder as mb  # noqa: E402, N813
from coremltools.converters.mil.mil import types  # noqa: E402

_RANDOM = np.random.default_rng(3)


def _convert(program: Any, target: Any, precision: Any = ct.precision.FLOAT32) -> Any:
    return ct.convert(
        program,
        convert_to="mlprogram",
        minimum_deployment_target=target,
        compute_precision=precision,
        pass_pipeline=ct.PassPipeline.EMPTY if precision == ct.precision.FLOAT32 else ct.PassPipeline.DEFAULT,
        skip_model_load=True,
    )


def model(target: Any, precision: Any = ct.precision.FLOAT32) -> Any:
    """Return a convolution and a linear layer, some of whose weights are 0."""
    kernel = _RANDOM.normal(size=(8, 4, 3, 3)).astype(np.float32)
    weight = _RANDOM.normal(size=(16, 32)).astype(np.float32)
    weight[np.abs(weight) < 0.5] = 0

    @mb.program(input_specs=[mb.TensorSpec((1, 4, 4, 4))], opset_version=target)
    def program(x: Any) -> Any:
        x = mb.relu(x=mb.conv(x=x, weight=kernel, pad_type="valid"))
        return mb.linear(x=mb.reshape(x=x, shape=[1, 32]), weight=weight)

    return _convert(program, target, precision)


def optimized(precision: Any) -> Iterator[tuple[str, Any]]:
    """Yield what coremltools' optimizers make of the model, by name."""
    old, new = model(ct.target.iOS16, precision), model(ct.target.iOS18, precision)

    def palettized(given: Any, **options: Any) -> Any:
        config = cto.OpPalettizerConfig(weight_threshold=0, **options)
        return cto.palettize_weights(given, cto.OptimizationConfig(config))

    def quantized(given: Any, joint: bool = False, **options: Any) -> Any:
        config = cto.OptimizationConfig(cto.OpLinearQuantizerConfig(weight_threshold=0, **options))
        return cto.linear_quantize_weights(given, config, joint_compression=joint)

    def pruned(given: Any) -> Any:
        config = cto.OpMagnitudePrunerConfig(target_sparsity=0.5, weight_threshold=0)
        return cto.prune_weights(given, cto.OptimizationConfig(config))

    for bits in (1, 2, 4, 6, 8):
        yield f"palettized_{bits}", palettized(old, mode="uniform", nbits=bits)
    for bits in (1, 2, 3, 4, 6, 8):
        yield f"palettized_{bits}_new", palettized(new, mode="uniform", nbits=bits)
    for bits in (2, 4):
        grouped = {"granularity": "per_grouped_channel", "group_size": 4}
        yield f"palettized_{bits}_grouped", palettized(new, mode="uniform", nbits=bits, **grouped)
    for dtype in ("int8", "uint8"):
        for mode in ("linear", "linear_symmetric"):
            yield f"{dtype}_{mode}", quantized(old, dtype=dtype, mode=mode)
    for dtype in ("int4", "uint4", "int8"):
        yield f"{dtype}_channel", quantized(new, dtype=dtype, mode="linear", granularity="per_channel")
        yield f"{dtype}_tensor", quantized(new, dtype=dtype, mode="linear_symmetric", granularity="per_tensor")
    yield "int4_block", quantized(new, dtype="int4", mode="linear", granularity="per_block", block_size=2)
    yield "pruned", pruned(old)
    yield "pruned_new", pruned(new)
    sparse = pruned(new)
    options: dict[str, Any] = {"mode": "uniform", "nbits": 4}
    joint = cto.OptimizationConfig(cto.OpPalettizerConfig(weight_threshold=0, **options))
    yield "pruned_palettized", cto.palettize_weights(sparse, joint, joint_compression=True)
    yield "pruned_int8", quantized(sparse, True, dtype="int8", mode="linear_symmetric")
    lut = quantized(palettized(new, mode="uniform", nbits=4), True, dtype="int8", mode="linear_symmetric",
                    granularity="per_tensor")  # fmt: skip
    yield "palettized_int8", lut


def vectors() -> Iterator[tuple[str, Any]]:
    """Yield layers with palettes of vectors, dense and sparse, which the optimizers make with scikit-learn alone."""

    def of(weight: Callable[[], Any], features: int) -> Any:
        @mb.program(input_specs=[mb.TensorSpec((2, features))], opset_version=ct.target.iOS18)
        def program(x: Any) -> Any:
            return mb.linear(x=x, weight=weight())

        return _convert(program, ct.target.iOS18)

    def numbers(*shape: int) -> Any:
        return _RANDOM.normal(size=shape).astype(np.float32)

    indices = _RANDOM.integers(0, 4, (6, 8)).astype(np.uint8).astype(types.np_uint2_dtype)
    table = numbers(2, 1, 4, 3)
    for axis in (0, 1, -2):

        def dense(axis: int = axis) -> Any:
            return mb.constexpr_lut_to_dense(indices=indices, lut=table, vector_axis=np.int32(axis))

        yield f"vectors_{axis}", of(dense, 24 if axis == 1 else 8)
    mask = _RANDOM.integers(0, 2, (4, 6)).astype(np.uint8)
    some = _RANDOM.integers(0, 2, int(mask.sum())).astype(np.uint8).astype(types.np_uint1_dtype)
    bits = mask.astype(types.np_uint1_dtype)

    def sparse() -> Any:
        parts = mb.constexpr_lut_to_sparse(
            indices_mask=bits, indices_nonzero_data=some, lut=numbers(1, 1, 2, 2), vector_axis=np.int32(0)
        )
        return mb.constexpr_sparse_to_dense(nonzero_data=parts[1], mask=parts[0])

    yield "sparse_vectors", of(sparse, 6)
    ones = int(mask.sum())
    data = _RANDOM.integers(-8, 8, ones).astype(np.int8).astype(types.np_int4_dtype)
    offset = np.array([[1], [-2]], np.int8).astype(types.np_int4_dtype)

    def scaled() -> Any:
        parts = mb.constexpr_sparse_blockwise_shift_scale(
            data_mask=bits, nonzero_data=data, scale=np.abs(numbers(2, 1)), offset=offset
        )
        return mb.constexpr_sparse_to_dense(nonzero_data=parts[1], mask=parts[0])

    yield "sparse_scaled", of(scaled, 6)


def main(folder: Path) -> None:
    half = {"palettized_6", "palettized_4_grouped", "int8_linear", "int4_block", "pruned_new", "pruned_int8"}
    found = [*optimized(ct.precision.FLOAT32), *vectors()]
    found += [(f"half_{name}", each) for name, each in optimized(ct.precision.FLOAT16) if name in half]
    for name, each in found:
        each.save(str(folder / f"{name}.mlpackage"))
        cto.decompress_weights(each).save(str(folder / f"{name}_dense.mlpackage"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
