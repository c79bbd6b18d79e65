"""``Manifest.json`` of a package: which item is the model and where its weights lie.

Items are named by identifiers that Core ML treats as opaque. Here they follow from the items' content, so that equal
packages have equal manifests.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from lucid.errors import PackageError

__all__ = ["DATA", "MANIFEST", "MODEL", "WEIGHTS", "find_model", "render_manifest"]

MANIFEST = "Manifest.json"
DATA = "Data"
MODEL = "com.apple.CoreML/model.mlmodel"
WEIGHTS = "com.apple.CoreML/weights"

_AUTHOR = "com.apple.CoreML"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "lucid-export/mlpackage")
_DESCRIPTIONS = {MODEL: "CoreML Model Specification", WEIGHTS: "CoreML Model Weights"}


def render_manifest(digests: Mapping[str, str]) -> bytes:
    """Return the manifest of a package whose items, MODEL and perhaps WEIGHTS, have these SHA-256 digests."""
    names = {item: str(uuid.uuid5(_NAMESPACE, f"{item}:{digest}")).upper() for item, digest in digests.items()}
    entries = {
        names[item]: {
            "author": _AUTHOR,
            "description": _DESCRIPTIONS[item],
            "name": PurePosixPath(item).name,
            "path": item,
        }
        for item in digests
    }
    content = {"fileFormatVersion": "1.0.0", "itemInfoEntries": entries, "rootModelIdentifier": names[MODEL]}
    return (json.dumps(content, indent=4, sort_keys=True) + "\n").encode()


def find_model(package: Path) -> Path:
    """Return the path of the model file that the manifest of `package` names.

    Raises PackageError where `package` is no package, its manifest is damaged, or an item lies outside of it.
    """
    if not package.exists():
        raise PackageError("there is no such package. Check the path.", where=str(package))
    manifest = package / MANIFEST
    if not manifest.is_file():
        what = (
            f"a folder without {MANIFEST}" if package.is_dir() else "a file" if package.is_file() else "a special file"
        )
        raise PackageError(f"this is {what}, not an .mlpackage. Name the folder of a package.", where=str(package))
    try:
        content = json.loads(manifest.read_bytes())
        entries = content["itemInfoEntries"]
        paths = {key: entries[key]["path"] for key in entries}
        model = paths[content["rootModelIdentifier"]]
    except (ValueError, RecursionError) as error:
        raise _damage(f"it is not JSON ({error})", manifest) from error
    except (KeyError, TypeError, IndexError) as error:
        raise _damage(f"it names no model (looking for {error})", manifest) from error
    for path in paths.values():
        _check_inside(path, package, manifest)
    found = package / DATA / str(model)
    if not found.is_file():
        raise _damage(f"the model it names, {DATA}/{model}, does not exist", manifest)
    return found


def _check_inside(path: object, package: Path, manifest: Path) -> None:
    if not isinstance(path, str) or not path or "\0" in path:
        raise _damage(f"the path {path!r} of an item is not a path", manifest)
    root = (package / DATA).resolve()
    if not (root / path).resolve().is_relative_to(root):
        raise _damage(f"the path {path!r} of an item leaves the package", manifest)


def _damage(what: str, manifest: Path) -> PackageError:
    return PackageError(f"the manifest is damaged: {what}. Build or fetch the package again.", where=str(manifest))
