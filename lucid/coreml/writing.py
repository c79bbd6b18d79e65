"""The writer of ``.mlpackage``: functions to MIL's protobuf, constants to the weight file, reproducible to the byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lucid.coreml import protobuf
from lucid.coreml.blobs import WeightWriter, digest_of, pack
from lucid.coreml.elements import LAYOUTS, element, parts
from lucid.coreml.manifest_json import DATA, MANIFEST, MODEL, WEIGHTS, render_manifest
from lucid.coreml.names import identifier, is_identifier
from lucid.coreml.options import Metadata, opset_of
from lucid.coreml.packaged import Feature, Interface, PackagedModel
from lucid.coreml.placing import placed
from lucid.dtypes import DType, string
from lucid.errors import InternalError, PackageError
from lucid.graph import Block, Constant, Function, Node, Value

__all__ = ["write"]

_WEIGHT_FILE = "weight.bin"
_WEIGHT_NAME = f"@model_path/weights/{_WEIGHT_FILE}"
_SMALLEST_WEIGHT = 10  # elements; smaller constants stand in the program itself
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755
# Parameters that Core ML's compiler takes as values in place only, not by the name of a `const`.
# Parameters whose constant no other operation may share: coremltools' reader writes into the array it was given.
_UNSHARED = {("slice_by_index", "stride")}
_LITERALS = {"classify": {"classes"}, "reshape_like": {"begins", "ends", "end_masks"}}
# Up to here, what a `constexpr` operation works on are attributes.
_OPSETS_BEFORE_CONSTEXPR_INPUTS = {"CoreML5", "CoreML6", "CoreML7"}

Message = Any  # protobuf's classes are made while a program runs


def write(package: PackagedModel, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write `package` to the folder `path` and return the SHA-256 of each of its files, by sorted relative path.

    A package that is there already is replaced whole, in one step; until then, and after any error, it stays as it
    was. Raises PackageError where the folder cannot be written.
    """
    place = Path(path)
    try:
        is_free = not place.exists() or (place.is_dir() and ((place / MANIFEST).is_file() or not any(place.iterdir())))
        if not is_free:
            what = "folder" if place.is_dir() else "file"
            raise PackageError(f"a {what} that is no package is in the way. Choose another path.", where=str(place))
        place.parent.mkdir(parents=True, exist_ok=True)
        with placed(place) as folder:
            return _fill(package, folder)
    except OSError as error:
        raise PackageError(f"the package cannot be written: {error.strerror or error}.", where=str(place)) from error


def _fill(package: PackagedModel, folder: Path) -> dict[str, str]:
    weights = folder / DATA / WEIGHTS
    weights.mkdir(parents=True)
    file = weights / _WEIGHT_FILE
    with WeightWriter(file) as writer:
        program = _Program(package.specification_version, writer)
        data = _model(package, program).SerializeToString(deterministic=True)
        stored = writer.count
        writer.close()
    (folder / DATA / MODEL).write_bytes(data)
    digests = {f"{DATA}/{MODEL}": hashlib.sha256(data).hexdigest()}
    items = {MODEL: digests[f"{DATA}/{MODEL}"]}
    if stored:
        digests[f"{DATA}/{WEIGHTS}/{_WEIGHT_FILE}"] = items[WEIGHTS] = digest_of(file)
    else:
        file.unlink()
        weights.rmdir()
    manifest = render_manifest(items)
    (folder / MANIFEST).write_bytes(manifest)
    digests[MANIFEST] = hashlib.sha256(manifest).hexdigest()
    for root, folders, files in os.walk(folder):
        for name in folders:
            os.chmod(os.path.join(root, name), _FOLDER_MODE)
        for name in files:
            os.chmod(os.path.join(root, name), _FILE_MODE)
    return dict(sorted(digests.items()))


def _model(package: PackagedModel, program: _Program) -> Message:
    model = protobuf.model().Model(specificationVersion=package.specification_version)
    model.mlProgram.version = 1
    for name, function in package.functions.items():
        model.mlProgram.functions[name].CopyFrom(program.function(function))
    description = model.description
    if list(package.functions) == ["main"] == [package.main]:
        _describe(description, package.interfaces["main"])
    else:
        description.defaultFunctionName = package.main
        for name, interface in package.interfaces.items():
            _describe(description.functions.add(name=name), interface)
    _set_metadata(description.metadata, package.metadata)
    return model


def _set_metadata(message: Message, metadata: Metadata) -> None:
    message.shortDescription = metadata.description
    message.author = metadata.author
    message.license = metadata.license
    message.versionString = metadata.version
    for key, text in metadata.user_defined.items():
        message.userDefined[key] = text


def _describe(description: Message, interface: Interface) -> None:
    for feature in interface.inputs:
        _set_feature(description.input.add(), feature)
    for feature in interface.outputs:
        _set_feature(description.output.add(), feature)
    for feature in interface.states:
        state = description.state.add(name=feature.name, shortDescription=feature.description)
        _set_array(state.type.stateType.arrayType, feature)


def _set_feature(message: Message, feature: Feature) -> None:
    message.name, message.shortDescription = feature.name, feature.description
    message.type.isOptional = feature.is_optional
    if feature.kind == "array":
        _set_array(message.type.multiArrayType, feature)
    elif feature.kind == "dictionary":
        key = parts(feature.dtype)[0]
        field = "stringKeyType" if key == string else "int64KeyType"
        getattr(message.type.dictionaryType, field).SetInParent()
    elif feature.kind in ("string", "int64", "double"):
        getattr(message.type, f"{feature.kind}Type").SetInParent()
    elif feature.kind == "image":
        _set_image(message.type.imageType, feature)
    else:
        raise InternalError(f"the writer has no {feature.kind} features.", where=feature.name)


def _set_array(message: Message, feature: Feature) -> None:
    number = element(feature.dtype).array
    if number is None:
        raise InternalError(f"the interface of a package has no {feature.dtype}.", where=feature.name)
    message.dataType = number
    message.shape.extend(feature.shape)
    for lowest, highest in feature.ranges:
        message.shapeRange.sizeRanges.add(lowerBound=lowest, upperBound=highest)
    for shape in feature.choices:
        message.enumeratedShapes.shapes.add().shape.extend(shape)
    if feature.default is not None:
        fields = {"float32": "floatDefaultValue", "float16": "floatDefaultValue", "float64": "doubleDefaultValue"}
        setattr(message, fields.get(feature.dtype.name, "intDefaultValue"), feature.default)


def _set_image(message: Message, feature: Feature) -> None:
    message.height, message.width = feature.shape
    message.colorSpace = next(number for number, layout in LAYOUTS.items() if layout == feature.layout)
    if feature.ranges:
        bounds = (message.imageSizeRange.heightRange, message.imageSizeRange.widthRange)
        for bound, (lowest, highest) in zip(bounds, feature.ranges, strict=True):
            bound.lowerBound, bound.upperBound = lowest, highest
    for height, width in feature.choices:
        message.enumeratedSizes.sizes.add(height=height, width=width)


class _Program:
    """Turns functions into MIL's protobuf; all functions of a package share one weight file."""

    def __init__(self, specification_version: int, weights: WeightWriter) -> None:
        self._version = specification_version
        self._weights = weights
        self._mil = protobuf.mil()
        self._names: set[str] = set()
        self._constants: dict[object, str] = {}
        self._identities: dict[Constant, str] = {}
        self._has_constexpr_inputs = True

    def function(self, function: Function) -> Message:
        """Return ``MIL.Function`` for the function's opset, or else the one of the specification version."""
        self._names, self._constants, self._identities = set(), {}, {}
        opset = function.opset or opset_of(self._version)
        self._has_constexpr_inputs = opset not in _OPSETS_BEFORE_CONSTEXPR_INPUTS
        message = self._mil.Function(opset=opset)
        states = set(function.states)
        self._claim((*function.inputs, *function.states), function.nodes, frozenset())
        for value in (*function.inputs, *function.states):
            entry = message.inputs.add(name=value.name)
            self._set_type(entry.type.stateType.wrappedType if value in states else entry.type, value)
        block = message.block_specializations[opset]
        for node in function.nodes:
            self._node(block.operations, block.operations, node)
        for name, value in function.outputs.items():
            if value.name != name or isinstance(value, Constant):
                raise InternalError(f"output {name} is {value!r}, which has another name.", where=function.name)
            block.outputs.append(name)
        return message

    def _claim(self, inputs: Iterable[Value], nodes: Iterable[Node], outer: frozenset[str]) -> None:
        """Take the names of a block and its inner blocks; blocks side by side may use the same ones."""
        names = set(outer)
        for value in (*inputs, *(value for node in nodes for value in node.outputs)):
            if not is_identifier(value.name) or value.name in names:
                raise InternalError(f"the name of {value!r} is no identifier, or is taken.")
            names.add(value.name)
        self._names |= names
        for node in nodes:
            for block in node.blocks:
                self._claim(block.inputs, block.nodes, frozenset(names))

    def _free(self, name: str) -> str:
        name = identifier(name, self._names)
        self._names.add(name)
        return name

    def _node(self, constants: Message, operations: Message, node: Node) -> None:
        """Append `node` to `operations`, and the constants it needs, also in its blocks, to `constants`."""
        is_constexpr = node.op.startswith("constexpr_")
        literals = _LITERALS.get(node.op, ())
        message = self._mil.Operation(type=node.op)
        stem = node.outputs[0].name if node.outputs else self._free(_stem(node))
        _set_string(message.attributes["name"], stem)
        for parameter, argument in sorted(node.inputs.items()):
            if is_constexpr and not self._has_constexpr_inputs:
                if not isinstance(argument, Constant):
                    raise InternalError(f"{node.op}: {parameter} must be a constant.", where=stem)
                self._set_value(message.attributes[parameter], argument)
                continue
            bindings = message.inputs[parameter].arguments
            for value in argument if isinstance(argument, tuple) else (argument,):
                if not isinstance(value, Constant):
                    bindings.add(name=value.name)
                elif is_constexpr or parameter in literals:
                    self._set_value(bindings.add().value, value, in_place=parameter in literals)
                else:
                    is_shared = (node.op, parameter) not in _UNSHARED
                    bindings.add(name=self._constant(constants, value, f"{stem}_{parameter}_0", is_shared))
        for value in node.outputs:
            self._set_type(message.outputs.add(name=value.name).type, value)
        for block in node.blocks:
            self._block(constants, message.blocks.add(), block, stem)
        operations.append(message)

    def _block(self, constants: Message, message: Message, block: Block, stem: str) -> None:
        for value in block.inputs:
            self._set_type(message.inputs.add(name=value.name).type, value)
        for node in block.nodes:
            self._node(constants, message.operations, node)
        for position, value in enumerate(block.outputs):
            name = value.name
            if isinstance(value, Constant):
                name = self._constant(constants, value, f"{stem}_result_{position}")
            message.outputs.append(name)

    def _constant(self, operations: Message, value: Constant, name: str, is_shared: bool = True) -> str:
        """Return the name of the `const` that holds `value`, appending it where no equal one may be shared."""
        known = self._identities.get(value) if is_shared else None
        if known is not None:
            return known
        message = self._mil.Operation(type="const")
        content = message.attributes["val"]
        self._set_value(content, value)
        key = content.SerializeToString(deterministic=True)
        found = self._constants.get(key) if is_shared else None
        if found is None:
            found = self._free(value.name or name)
            _set_string(message.attributes["name"], found)
            message.outputs.add(name=found).type.CopyFrom(content.type)
            operations.append(message)
        if is_shared:
            self._constants[key] = self._identities[value] = found
        return found

    def _set_value(self, message: Message, value: Constant, in_place: bool = False) -> None:
        self._set_type(message.type, value)
        data = value.data
        if isinstance(data, str):
            message.immediateValue.tensor.strings.values.append(data)
            return
        if value.dtype.kind == "l":
            (kind,) = parts(value.dtype)
            for item in data.tolist():
                entry = message.immediateValue.list.values.add()
                entry.type.tensorType.dataType = element(kind).mil
                _set_tensor(entry.immediateValue.tensor, np.asarray(item), kind)
            return
        row = element(value.dtype)
        in_file = row.blob is not None and row.in_files_since <= self._version and data.size >= _SMALLEST_WEIGHT
        if in_file and not in_place:
            message.blobFileValue.fileName = _WEIGHT_NAME
            message.blobFileValue.offset = self._weights.add(data, value.dtype)
        else:
            _set_tensor(message.immediateValue.tensor, data, value.dtype)

    def _set_type(self, message: Message, value: Value) -> None:
        kind = value.dtype.kind
        if kind == "l":
            length, *shape = value.shape
            _set_size(message.listType.length, length)
            _set_tensor_type(message.listType.type.tensorType, parts(value.dtype)[0], shape)
        elif kind == "d":
            keys, values = message.dictionaryType.keyType, message.dictionaryType.valueType
            for inner, dtype in zip((keys, values), parts(value.dtype), strict=True):
                _set_tensor_type(inner.tensorType, dtype, ())
        else:
            _set_tensor_type(message.tensorType, value.dtype, value.shape)


def _stem(node: Node) -> str:
    first = next(iter(node.inputs.values()), None)
    return f"{first.name}_{node.op}" if isinstance(first, Value) else node.op


def _set_string(message: Message, text: str) -> None:
    message.type.tensorType.dataType = element(string).mil
    message.immediateValue.tensor.strings.values.append(text)


def _set_tensor_type(message: Message, dtype: DType, shape: Iterable[int | None]) -> None:
    message.dataType = element(dtype).mil
    for size in shape:
        _set_size(message.dimensions.add(), size)
    message.rank = len(message.dimensions)


def _set_size(message: Message, size: int | None) -> None:
    if size is None:
        message.unknown.variadic = False
    else:
        message.constant.size = size


def _set_tensor(message: Message, data: np.ndarray[Any, np.dtype[Any]], dtype: DType) -> None:
    field = element(dtype).field
    content = getattr(message, field)
    content.SetInParent()
    if field != "bytes":
        content.values.extend(data.reshape(-1).tolist())
    elif dtype.bits < 8:
        content.values = pack(data, dtype).tobytes()
    else:
        content.values = data.astype(dtype.numpy.newbyteorder("<"), casting="same_kind").tobytes()
