"""The public names: each is found, is what it says, and stays what it is whatever has been imported before."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import lucid

ROOT = Path(__file__).parents[1]
SURFACE = (ROOT / "tests" / "public_surface.txt").read_text("utf-8").split()
PACKAGES = sorted({name.rpartition(".")[0] for name in SURFACE})


def submodules(package: ModuleType) -> set[str]:
    """Return the names of the modules in a package's folder."""
    return {each.name for each in pkgutil.iter_modules(package.__path__)}


def test_the_list_is_of_the_packages_that_users_import() -> None:
    assert {"lucid", "lucid.coreml", "lucid.functional", "lucid.nn"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_are_those_of_the_list(package: str) -> None:
    module = import_module(package)
    listed = {name.rpartition(".")[2] for name in SURFACE if name.rpartition(".")[0] == package}
    names = dir(lucid) if module is lucid else module.__all__
    assert len(names) == len(set(names))
    gone, new = sorted(listed - set(names)), sorted(set(names) - listed)
    assert not gone, f"{package} has lost {gone}. If that is meant, run: python docs/derive.py"
    assert not new, f"{package} has gained {new}. If that is meant, run: python docs/derive.py"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_found(package: str) -> None:
    module = import_module(package)
    listed = [name.rpartition(".")[2] for name in SURFACE if name.rpartition(".")[0] == package]
    assert listed
    assert [name for name in listed if getattr(module, name, None) is None] == []


def test_no_name_is_hidden_by_a_module_once_everything_is_imported() -> None:
    code = (
        "import pkgutil, sys\n"
        "from importlib import import_module\n"
        "import lucid\n"
        "for each in pkgutil.walk_packages(lucid.__path__, 'lucid.'):\n"
        "    if not each.name.endswith(('__main__', '.refereeing')):\n"
        "        import_module(each.name)\n"
        "for name in sys.argv[1:]:\n"
        "    package, _, attribute = name.rpartition('.')\n"
        "    for attempt in range(2):\n"
        "        if isinstance(getattr(import_module(package), attribute), type(sys)):\n"
        "            print(name)\n"
    )
    modules = {f"lucid.{each}" for each in submodules(lucid)} - {"lucid.tensor"} | {
        "lucid.nn.functional",
        "lucid.nn.init",
    }
    names = [name for name in SURFACE if name not in modules]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'lucid' has no attribute 'tensr'"):
        lucid.tensr  # noqa: B018  # looking it up is the test
    with pytest.raises(AttributeError, match=r"Core ML has no 64-bit integers\. Use lucid\.int32\."):
        lucid.int64  # noqa: B018  # looking it up is the test
