"""Options: their names, their order, and the numbers of Core ML's file format."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lucid.coreml.options import ComputeUnits, DeploymentTarget, Metadata, Precision, State, opset_of
from lucid.errors import UsageError


@pytest.mark.parametrize(
    ("names", "version", "opset"),
    [
        (("iOS15", "macOS12", "watchOS8", "tvOS15"), 6, "CoreML5"),
        (("iOS16", "macOS13", "watchOS9", "tvOS16"), 7, "CoreML6"),
        (("iOS17", "macOS14", "watchOS10", "tvOS17"), 8, "CoreML7"),
        (("iOS18", "macOS15", "watchOS11", "tvOS18"), 9, "CoreML8"),
    ],
)
def test_targets_of_a_year_share_version_and_opset(names: tuple[str, ...], version: int, opset: str) -> None:
    for name in names:
        target = DeploymentTarget.parse(name)
        assert (target.specification_version, target.opset) == (version, opset)
        assert target.supports_states is (version == 9)


def test_there_are_sixteen_targets() -> None:
    assert len(DeploymentTarget) == 16


def test_targets_are_ordered_by_year() -> None:
    assert DeploymentTarget.iOS15 < DeploymentTarget.macOS13 < DeploymentTarget.watchOS10 < DeploymentTarget.tvOS18
    assert DeploymentTarget.iOS18 <= DeploymentTarget.macOS15
    assert DeploymentTarget.iOS18 >= DeploymentTarget.macOS15
    assert not DeploymentTarget.iOS18 > DeploymentTarget.macOS15
    assert max(DeploymentTarget.iOS16, DeploymentTarget.macOS12) is DeploymentTarget.iOS16


def test_opset_of_the_newest_format() -> None:
    assert opset_of(10) == "CoreML9"


@pytest.mark.parametrize("text", ["float16", "FLOAT16", "Float16", Precision.FLOAT16])
def test_precision_is_found_whatever_the_case(text: object) -> None:
    assert Precision.parse(text) is Precision.FLOAT16


def test_compute_units_are_found_with_hyphens() -> None:
    assert ComputeUnits.parse("cpu-and-gpu") is ComputeUnits.CPU_AND_GPU


@pytest.mark.parametrize("text", ["iOS19", "", 18, None])
def test_unknown_target_names_the_known_ones(text: object) -> None:
    with pytest.raises(UsageError, match=r"deployment target .*: not known\. Use one of iOS15, iOS16, .*, tvOS18\."):
        DeploymentTarget.parse(text)


def test_options_are_values() -> None:
    assert State("cache", "output_0") == State(input="cache", output="output_0")
    assert Metadata().user_defined == {}


def test_options_import_nothing_heavy() -> None:
    program = (
        "import sys, lucid.coreml.options, lucid.coreml.packaged\n"
        "print([name for name in ('numpy', 'coremltools', 'google.protobuf', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
