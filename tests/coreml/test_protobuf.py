"""coremltools' protobuf classes without coremltools: sound beside a real import in either order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_EXCHANGE = """
message = model().Model(specificationVersion=9)
message.mlProgram.version = 1
message.description.metadata.userDefined["b"] = "2"
data = message.SerializeToString(deterministic=True)
theirs = coremltools.proto.Model_pb2.Model.FromString(data)
assert theirs.SerializeToString(deterministic=True) == data
assert theirs.mlProgram.version == 1 and theirs == message
back = model().Model.FromString(theirs.SerializeToString())
assert back.description.metadata.userDefined["b"] == "2"
operation = coremltools.proto.MIL_pb2.Operation(type="add")
block = mil().Block()
block.operations.append(operation)
assert block.operations[0].type == "add"
array = feature_types().ArrayFeatureType(shape=[1], dataType=65568)
model().FeatureDescription().type.multiArrayType.CopyFrom(array)
print("exchanged")
"""
_OURS = "from lucid.coreml.protobuf import feature_types, mil, model\n"
_THEIRS = (
    "import logging; logging.disable(logging.WARNING)\nimport sys; sys.modules['torch'] = None\nimport coremltools\n"
)
_ORDERS = {
    "ours first": _OURS + "model(); mil(); feature_types()\n" + _THEIRS,
    "theirs first": _THEIRS + _OURS,
    "ours in between": _OURS + "mil()\n" + _THEIRS,
}


@pytest.mark.parametrize("implementation", ["upb", "python"])
@pytest.mark.parametrize("order", list(_ORDERS))
def test_messages_pass_between_both_worlds(order: str, implementation: str) -> None:
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation}
    program = _ORDERS[order] + _EXCHANGE
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.strip() == "exchanged", done.stderr


def test_classes_come_without_coremltools_and_numpy() -> None:
    program = (
        "import sys\nfrom lucid.coreml.protobuf import mil, model\n"
        "model().Model(); mil().Program()\n"
        "print([name for name in ('coremltools', 'numpy', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
