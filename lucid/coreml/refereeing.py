"""The process of the referee: coremltools' reader at work. Nothing of lucid imports this module."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from lucid.coreml.blobs import WeightFile
from lucid.coreml.elements import element_of_mil
from lucid.coreml.manifest_json import find_model
from lucid.coreml.packaged import PackagedModel
from lucid.coreml.reading import read
from lucid.dtypes import DType, float16
from lucid.engines.mapping import drop_pages
from lucid.errors import InternalError, LucidError
from lucid.graph import Value

__all__ = ["serve"]

# What coremltools imports where it is installed, to convert from it. Reading a program needs none of it.
_FRAMEWORKS = ("torch", "tensorflow", "executorch", "sklearn", "xgboost", "pandas", "matplotlib")
_PIECE = 1 << 22  # bytes
_LARGE = 4096  # elements; larger weights are compared and not kept
_Signature = tuple[str, tuple[int | None, ...]]


def serve() -> None:
    """Import coremltools, read the path of a package from standard input, write the judgement as JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever coremltools prints is no judgement
    for name in _FRAMEWORKS:
        sys.modules[name] = None  # type: ignore[assignment]  # makes the import fail as if it were not installed
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    import coremltools.converters.mil.frontend.milproto.load  # noqa: F401 -- takes its time while nobody waits

    line = sys.stdin.readline()
    if not line:
        return
    path = json.loads(line)
    start = time.perf_counter()
    try:
        operations, weights = _judge(Path(path))
        answer: dict[str, object] = {"operations": operations, "weights": weights}
        answer |= {"seconds": time.perf_counter() - start, "peak": _peak()}
    except LucidError as error:
        answer = {"error": error.kind, "message": error.message, "where": error.where}
    except Exception as error:
        traceback.print_exc()
        text = f"the referee failed: {type(error).__name__}: {error}"
        answer = {"error": InternalError.kind, "message": text, "where": path}
    json.dump(answer, answers)
    answers.close()


def _judge(path: Path) -> tuple[int, int]:
    from coremltools import proto
    from coremltools.converters.mil.frontend.milproto import load as milproto

    package = read(path)
    member = find_model(path)
    model = proto.Model_pb2.Model.FromString(member.read_bytes())
    weights = _CheckedWeights(milproto)
    place = [""]
    load_operation = milproto._load_operation

    def named_operation(context: Any, operation: Any) -> None:
        place[:] = [f"{operation.type} -> {', '.join(output.name for output in operation.outputs)}"]
        load_operation(context, operation)

    milproto._load_operation = named_operation
    try:
        program = milproto.load(model, model.specificationVersion, os.fspath(member.parent / "weights"))
    except LucidError:
        raise
    except Exception as error:
        traceback.print_exc()
        raise InternalError(
            f"coremltools does not take the operation {place[0]}: {type(error).__name__}: {error}", where=str(path)
        ) from error
    _compare_interfaces(package, program, path)
    return sum(_count(function.operations) for function in program.functions.values()), weights.count


def _count(operations: Any) -> int:
    return sum(1 + sum(_count(block.operations) for block in operation.blocks) for operation in operations)


class _CheckedWeights:
    """Stands in for the loader of values: large weights are read, compared with lucid's reading, and let go."""

    def __init__(self, milproto: Any) -> None:
        self.count = 0
        self._milproto = milproto
        self._load_value = milproto._load_value
        milproto._load_value = self

    def __call__(self, context: Any, message: Any) -> Any:
        if message.WhichOneof("value") != "blobFileValue":
            return self._load_value(context, message)
        self.count += 1
        tensor = message.type.tensorType
        shape = tuple(dimension.constant.size for dimension in tensor.dimensions)
        row = element_of_mil(tensor.dataType)
        if row is None or row.dtype.bits < 8:
            return self._load_value(context, message)
        name = os.path.join(context.weights_dir, message.blobFileValue.fileName.split("/")[-1])
        theirs = self._read(context, message, name, row.dtype)
        ours = WeightFile(name, name).read(message.blobFileValue.offset, row.dtype, shape)
        if not _same_bytes(theirs, ours):
            raise InternalError(f"coremltools reads other weights at {message.blobFileValue.offset}.", where=name)
        if row.dtype.kind == "f" and ours.size >= _LARGE:
            return np.broadcast_to(np.zeros((), row.dtype.numpy), shape)
        return self._load_value(context, message)

    def _read(self, context: Any, message: Any, name: str, dtype: DType) -> Any:
        """Read a weight with coremltools' library; a float16 one as it is, since its caller makes two copies more."""
        if dtype == float16:
            return self._milproto.BlobReader(name).read_fp16_data(message.blobFileValue.offset)
        primitive = self._milproto.proto_to_types(message.type).get_primitive()
        found = self._milproto._load_file_value(context, message.blobFileValue, primitive)
        context.blob_reader_from_filename.clear()  # and with it the pages of the file that it has touched
        return found


def _same_bytes(theirs: Any, ours: Any) -> bool:
    """Compare two arrays piece by piece, letting go of what was compared."""
    first, second = theirs.reshape(-1).view(np.uint8), ours.reshape(-1).view(np.uint8)
    if first.size != second.size:
        return False
    for start in range(0, first.size, _PIECE):
        piece = second[start : start + _PIECE]
        if not np.array_equal(first[start : start + _PIECE], piece):
            return False
        drop_pages(piece)
    return True


def _compare_interfaces(package: PackagedModel, program: Any, path: Path) -> None:
    if set(program.functions) != set(package.functions):
        raise InternalError(
            f"coremltools reads the functions {', '.join(program.functions)}, lucid {', '.join(package.functions)}.",
            where=str(path),
        )
    for name, function in package.functions.items():
        other = program.functions[name]
        ours = {value.name: _ours(value) for value in (*function.inputs, *function.states)}
        _compare(path, name, "inputs and states", ours, {key: _theirs(var) for key, var in other.inputs.items()})
        ours = {key: _ours(value) for key, value in function.outputs.items()}
        _compare(path, name, "outputs", ours, {var.name: _theirs(var) for var in other.outputs})


def _compare(path: Path, name: str, what: str, ours: dict[str, _Signature], theirs: dict[str, _Signature]) -> None:
    if ours != theirs:
        raise InternalError(
            f"function {name}: coremltools reads the {what} {theirs}, lucid reads {ours}.", where=str(path)
        )


def _ours(value: Value) -> _Signature:
    return (value.dtype.mil, value.shape) if value.dtype.kind not in "ld" else (value.dtype.kind, ())


def _theirs(var: Any) -> _Signature:
    from coremltools.converters.mil.mil import types

    kind = var.sym_type
    if types.is_list(kind) or types.is_dict(kind):
        return ("l" if types.is_list(kind) else "d"), ()
    if types.is_state(kind):
        kind = kind.wrapped_type()
    if not types.is_tensor(kind):
        return _mil_name(types.builtin_to_string(kind)), ()
    sizes = tuple(int(size) if isinstance(size, int | np.integer) else None for size in kind.get_shape())
    return _mil_name(types.builtin_to_string(kind.get_primitive())), sizes


def _mil_name(name: str) -> str:
    return {"str": "string"}.get(name, name)


def _peak() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
