"""The reader of ``.mlpackage``: any ML Program, whoever wrote it, back to graph functions.

Constants are views of the mapped weight file. Operations keep MIL's names and inputs; `const` operations, values in
place and attributes other than the name become :class:`~lucid.graph.Constant` arguments.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from lucid.coreml import protobuf
from lucid.coreml.blobs import Array, WeightFile, unpack
from lucid.coreml.elements import (
    LAYOUTS,
    Element,
    dictionary_of,
    element,
    element_of_array,
    element_of_mil,
    element_of_name,
    list_of,
    storage,
)
from lucid.coreml.manifest_json import find_model
from lucid.coreml.options import Metadata
from lucid.coreml.packaged import Feature, Interface, PackagedModel
from lucid.dtypes import DType, float32, string
from lucid.errors import LucidError, PackageError
from lucid.graph import Argument, Block, Constant, Function, Node, Value

__all__ = ["read"]

_MODEL_PATH = "@model_path"
_KNOWN_VERSIONS = range(6, 11)
# What Core ML calls the model types that are no ML Programs, by protobuf field.
_FOREIGN_TYPES = {
    "neuralNetwork": "a NeuralNetwork",
    "neuralNetworkClassifier": "a NeuralNetwork classifier",
    "neuralNetworkRegressor": "a NeuralNetwork regressor",
    "pipeline": "a pipeline",
    "pipelineClassifier": "a pipeline classifier",
    "pipelineRegressor": "a pipeline regressor",
}

Message = Any  # protobuf's classes are made while a program runs
Shape = tuple[int | None, ...]


def read(path: str | os.PathLike[str]) -> PackagedModel:
    """Return the package in the folder `path` as plain data.

    Raises PackageError naming the member and the damage where it is no package, no ML Program, or not whole. No file
    outside of the package is read.
    """
    package = Path(path)
    try:
        member = find_model(package)
        model = _decoded(member)
        try:
            return _package(model, package, member)
        except LucidError as error:
            if error.where is None or str(package) not in error.where:
                error.at(str(member))
            raise
    except (OSError, RuntimeError) as error:  # pathlib's word for a loop of links is RuntimeError
        reason = getattr(error, "strerror", None) or error
        raise PackageError(f"the package cannot be read: {reason}.", where=str(package)) from error


def _decoded(member: Path) -> Message:
    data = member.read_bytes()
    try:
        return protobuf.model().Model.FromString(data)
    except Exception as error:  # protobuf's DecodeError is another class in each of its implementations
        if type(error).__name__ != "DecodeError":
            raise
        raise PackageError("the model is damaged: it is no protobuf, or cut short.", where=str(member)) from error


def _package(model: Message, package: Path, member: Path) -> PackagedModel:
    kind = model.WhichOneof("Type")
    if kind != "mlProgram":
        what = "empty" if kind is None else _FOREIGN_TYPES.get(kind, f"of the type {kind}")
        raise PackageError(f"the model is {what}, not an ML Program. Convert it to an ML Program first.")
    version = model.specificationVersion
    if version not in _KNOWN_VERSIONS:
        known = f"{_KNOWN_VERSIONS[0]} to {_KNOWN_VERSIONS[-1]}"
        raise PackageError(f"the specification version is {version}, lucid reads {known}. Update lucid.")
    description = model.description
    if description.functions:
        main = description.defaultFunctionName or description.functions[0].name
        interfaces = {entry.name: _interface(entry) for entry in description.functions}
    else:
        main = "main"
        interfaces = {main: _interface(description)}
    programs = model.mlProgram.functions
    for name in (main, *interfaces):
        if name not in programs:
            raise PackageError(f"the description names the function {name}, the program has {_names(programs)}.")
    weights = _Weights(package, member)
    functions = {name: _function(name, programs[name], weights) for name in interfaces}
    for name, interface in interfaces.items():
        _check_interface(functions[name], interface)
    return PackagedModel(functions, interfaces, main, version, _metadata(description.metadata), package)


def _names(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)) or "none"


def _metadata(message: Message) -> Metadata:
    return Metadata(
        description=message.shortDescription,
        author=message.author,
        license=message.license,
        version=message.versionString,
        user_defined=dict(sorted(message.userDefined.items())),
    )


def _interface(message: Message) -> Interface:
    return Interface(
        tuple(_feature(entry) for entry in message.input),
        tuple(_feature(entry) for entry in message.output),
        tuple(_array(entry, entry.type.stateType.arrayType) for entry in message.state),
    )


def _feature(message: Message) -> Feature:
    kind = message.type.WhichOneof("Type")
    if kind == "multiArrayType":
        return _array(message, message.type.multiArrayType)
    about = {"description": message.shortDescription, "is_optional": message.type.isOptional}
    if kind == "imageType":
        return _image(message, message.type.imageType, **about)
    if kind == "dictionaryType":
        key = "int64" if message.type.dictionaryType.WhichOneof("KeyType") == "int64KeyType" else "string"
        dtype = dictionary_of(_named(key), _named("float64"))
        return Feature(message.name, dtype, (), "dictionary", **about)
    if kind == "int64Type":
        return Feature(message.name, _named("int64"), (), "int64", **about)
    if kind == "doubleType":
        return Feature(message.name, _named("float64"), (), "double", **about)
    if kind == "stringType":
        return Feature(message.name, string, (), "string", **about)
    raise PackageError(f"the feature {message.name} is of the type {kind}, which no ML Program has.")


def _image(message: Message, image: Message, **about: Any) -> Feature:
    layout = LAYOUTS.get(image.colorSpace)
    if layout is None:
        raise PackageError(f"the image {message.name} has the unknown colour space {image.colorSpace}.")
    bounds = (image.imageSizeRange.heightRange, image.imageSizeRange.widthRange)
    is_ranged = image.WhichOneof("SizeFlexibility") == "imageSizeRange"
    ranges = tuple((each.lowerBound, each.upperBound) for each in bounds) if is_ranged else ()
    choices = tuple((size.height, size.width) for size in image.enumeratedSizes.sizes)
    shape = (image.height, image.width)
    return Feature(message.name, float32, shape, "image", ranges=ranges, choices=choices, layout=layout, **about)


def _named(name: str) -> DType:
    row = element_of_name(name)
    return row.dtype if row else string


def _array(message: Message, array: Message) -> Feature:
    row = element_of_array(array.dataType)
    if row is None:
        raise PackageError(f"the feature {message.name} has the unknown element type {array.dataType}.")
    return Feature(
        message.name,
        row.dtype,
        tuple(array.shape),
        description=message.shortDescription,
        ranges=tuple((size.lowerBound, size.upperBound) for size in array.shapeRange.sizeRanges),
        choices=tuple(tuple(shape.shape) for shape in array.enumeratedShapes.shapes),
        is_optional=message.type.isOptional,
        default=_default(array, row.dtype),
    )


def _default(array: Message, dtype: DType) -> float | None:
    field = array.WhichOneof("defaultOptionalValue")
    if field is None:
        return None
    value = getattr(array, field)
    return float(value) if dtype.kind == "f" or not math.isfinite(value) else int(value)


def _check_interface(function: Function, interface: Interface) -> None:
    for what, features, names in (
        ("input", interface.inputs, [value.name for value in function.inputs]),
        ("output", interface.outputs, list(function.outputs)),
        ("state", interface.states, [value.name for value in function.states]),
    ):
        declared = [feature.name for feature in features]
        if sorted(declared) != sorted(names):
            raise PackageError(
                f"function {function.name}: the description has the {what}s {', '.join(declared) or 'none'}, "
                f"the program {', '.join(names) or 'none'}."
            )


class _Weights:
    """The weight files of one package, opened when first asked for."""

    def __init__(self, package: Path, member: Path) -> None:
        self._package = package
        self._root = member.parent
        self._files: dict[str, WeightFile] = {}

    def read(self, name: str, offset: int, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Return the blob at `offset` of the file that the program calls `name`."""
        file = self._files.get(name)
        if file is None:
            first, *rest = PurePosixPath(name).parts or ("",)
            path = self._root.joinpath(*rest)
            if first != _MODEL_PATH or not rest or not path.resolve().is_relative_to(self._root.resolve()):
                raise PackageError(f"the program names the weight file {name!r}, which leaves the package.")
            if not path.is_file():
                raise PackageError("the weight file is missing. Build or fetch the package again.", where=str(path))
            file = self._files[name] = WeightFile(path, str(path))
        return file.read(offset, dtype, shape)


def _function(name: str, message: Message, weights: _Weights) -> Function:
    opset = message.opset
    if opset not in message.block_specializations:
        found = _names(message.block_specializations)
        raise PackageError(f"function {name} is for the opset {opset!r}, but has blocks for {found}.")
    inputs: list[Value] = []
    states: list[Value] = []
    scope = _Scope({}, weights, name)
    for entry in message.inputs:
        is_state = entry.type.WhichOneof("type") == "stateType"
        value = _value(entry.name, entry.type.stateType.wrappedType if is_state else entry.type)
        scope.define(value)
        (states if is_state else inputs).append(value)
    block = message.block_specializations[opset]
    nodes = scope.nodes(block.operations)
    outputs = {output: scope.find(output, "the function's outputs") for output in block.outputs}
    return Function(name, tuple(inputs), nodes, outputs, states=tuple(states), opset=opset)


class _Scope:
    """The values that the operations of a block can name."""

    def __init__(self, known: Mapping[str, Value], weights: _Weights, where: str) -> None:
        self._known = dict(known)
        self._weights = weights
        self._where = where

    def define(self, value: Value) -> Value:
        self._known[value.name] = value
        return value

    def find(self, name: str, reader: str) -> Value:
        value = self._known.get(name)
        if value is None:
            raise PackageError(f"function {self._where}: {reader} read %{name}, which nothing defines before.")
        return value

    def nodes(self, operations: Message) -> tuple[Node, ...]:
        """Return the nodes of a run of operations; every `const` becomes a value that can be found."""
        nodes = []
        for operation in operations:
            if operation.type == "const":
                self._const(operation)
            else:
                nodes.append(self._node(operation))
        return tuple(nodes)

    def _const(self, operation: Message) -> None:
        if len(operation.outputs) != 1 or "val" not in operation.attributes:
            raise PackageError(f"function {self._where}: a const needs one output and a value.")
        self.define(self._constant(operation.outputs[0].name, operation.attributes["val"]))

    def _node(self, operation: Message) -> Node:
        stem = operation.outputs[0].name if operation.outputs else operation.type
        inputs: dict[str, Argument] = {}
        for name, attribute in sorted(operation.attributes.items()):
            if name != "name":
                inputs[name] = self._constant(f"{stem}_{name}", attribute)
        for name, argument in sorted(operation.inputs.items()):
            values = tuple(
                self.find(binding.name, f"{operation.type} -> {stem}: {name}")
                if binding.WhichOneof("binding") == "name"
                else self._constant(f"{stem}_{name}", binding.value)
                for binding in argument.arguments
            )
            is_many = len(values) != 1 or (operation.type, name) in _TUPLES
            inputs[name] = values if is_many else values[0]
        blocks = tuple(self._block(block) for block in operation.blocks)
        outputs = tuple(self.define(_value(entry.name, entry.type)) for entry in operation.outputs)
        return Node(operation.type, inputs, outputs, blocks)

    def _block(self, message: Message) -> Block:
        inner = _Scope(self._known, self._weights, self._where)
        inputs = tuple(inner.define(_value(entry.name, entry.type)) for entry in message.inputs)
        nodes = inner.nodes(message.operations)
        return Block(inputs, nodes, tuple(inner.find(name, "a block's outputs") for name in message.outputs))

    def _constant(self, name: str, message: Message) -> Constant:
        try:
            return self._decoded(name, message)
        except (ValueError, OverflowError, TypeError) as error:
            raise PackageError(f"function {self._where}: constant %{name} is damaged: {error}.") from error

    def _decoded(self, name: str, message: Message) -> Constant:
        value = _value(name, message.type)
        where = message.WhichOneof("value")
        if where == "blobFileValue":
            shape = _fixed(value)
            file = message.blobFileValue
            data = self._weights.read(file.fileName, file.offset, value.dtype, shape)
            return Constant(name, value.dtype, shape, data)
        kind = message.immediateValue.WhichOneof("value") if where else None
        if kind == "tensor" and value.dtype.kind not in "ld":
            shape = _fixed(value)
            content = _tensor(message.immediateValue.tensor, element(value.dtype), shape)
            if value.dtype == string and not shape:
                return Constant(name, string, (), str(content[()]))
            return Constant(name, value.dtype, shape, content)
        if kind == "list" and value.dtype.kind == "l":
            items = [self._decoded(name, item).data for item in message.immediateValue.list.values]
            return Constant(name, value.dtype, (len(items), *value.shape[1:]), np.asarray(items))
        raise PackageError(f"function {self._where}: constant %{name} has no value that its type {value!r} can have.")


# Parameters that take any number of values, and so a tuple even of one.
_TUPLES = {("concat", "values"), ("stack", "values"), ("einsum", "values"), ("while_loop", "loop_vars")} | {
    ("make_list", "elem_shape"),
    ("custom_layer", "input"),
}


def _value(name: str, message: Message) -> Value:
    kind = message.WhichOneof("type")
    if not name:
        raise PackageError("the program has a value without a name.")
    if kind == "tensorType":
        dtype, shape = _tensor_type(name, message.tensorType)
        return Value(name, dtype, shape)
    if kind == "listType":
        dtype, shape = _tensor_type(name, message.listType.type.tensorType)
        return Value(name, list_of(dtype), (_size(message.listType.length), *shape))
    if kind == "dictionaryType":
        pair = message.dictionaryType.keyType.tensorType, message.dictionaryType.valueType.tensorType
        key, value = (_tensor_type(name, inner)[0] for inner in pair)
        return Value(name, dictionary_of(key, value), ())
    raise PackageError(f"value %{name} has the type {kind}, which lucid does not read.")


def _tensor_type(name: str, message: Message) -> tuple[DType, Shape]:
    row = element_of_mil(message.dataType)
    if row is None:
        raise PackageError(f"value %{name} has the unknown element type {message.dataType}.")
    if message.rank != len(message.dimensions):
        raise PackageError(f"value %{name} has rank {message.rank} but {len(message.dimensions)} sizes.")
    return row.dtype, tuple(_size(dimension) for dimension in message.dimensions)


def _size(message: Message) -> int | None:
    if message.WhichOneof("dimension") != "constant":
        return None
    return int(message.constant.size)


def _fixed(value: Value) -> tuple[int, ...]:
    shape = tuple(size for size in value.shape if size is not None and 0 <= size < 2**40)
    if len(shape) != len(value.shape):
        raise PackageError(f"constant {value!r} has no fixed shape.")
    return shape


def _tensor(message: Message, row: Element, shape: tuple[int, ...]) -> Array:
    content = getattr(message, row.field).values
    size = math.prod(shape)
    if row.field != "bytes":
        if len(content) != size:
            raise ValueError(f"it has {len(content)} values for the shape {shape}")
        return np.array(list(content), dtype=None if row.dtype == string else row.dtype.numpy).reshape(shape)
    length = -(-size * row.dtype.bits // 8)
    if len(content) != length:
        raise ValueError(f"it has {len(content)} bytes, {row.dtype} of the shape {shape} take {length}")
    if row.dtype.bits < 8:
        return unpack(np.frombuffer(content, np.uint8), row.dtype, size).reshape(shape)
    return np.frombuffer(content, storage(row.dtype).numpy.newbyteorder("<")).reshape(shape)
