"""The inputs of ``lucid run``: ``name=value`` arguments turned into one array for each call."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucid.errors import LucidError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lucid.coreml.packaged import Feature

__all__ = ["per_call"]

PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
_SHOWN = 60  # characters of a value that is not understood
SUFFIXES = (".npy", ".npz", ".safetensors", ".json")


def per_call(arguments: Iterable[str], features: Sequence[Feature], calls: int) -> dict[str, list[NDArray[Any]]]:
    """Return for each input its arrays, one a call.

    Raises UsageError for an argument that is no ``name=value``, an unknown, repeated or missing input, a file that
    cannot be read, and values whose shape or type does not fit.
    """
    known = {feature.name: feature for feature in features}
    given: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals:
            raise UsageError(f'--input "{argument}": expected NAME=VALUE, such as {next(iter(known), "x")}=1.5.')
        if name not in known:
            raise UsageError(f"--input {name}: no such input; the inputs are {', '.join(known) or 'none'}.")
        if name in given:
            raise UsageError(f"--input {name}: given twice. Give each input once.")
        given[name] = value
    absent = [name for name in known if name not in given and not known[name].is_optional]
    if absent:
        raise UsageError(f"no value for the input {', '.join(absent)}. Add --input {absent[0]}=VALUE.")
    return {name: _arrays(known[name], value, calls) for name, value in given.items()}


def _arrays(feature: Feature, value: str, calls: int) -> list[NDArray[Any]]:
    import numpy as np

    try:
        array = np.asarray(_load(feature, value))
    except (ValueError, MemoryError) as error:
        raise UsageError(
            f"--input {feature.name}: the nested list makes no array: {error}. Give every row the same length."
        ) from None
    if feature.kind == "image":
        return _pictures(feature, array, calls)
    shape = feature.shape
    flexible = bool(feature.ranges or feature.choices)
    if array.ndim == 0:
        array = np.broadcast_to(array, shape)
    if array.shape == shape or (flexible and array.ndim == len(shape)):
        return [_cast(feature, array)] * calls
    if array.ndim == len(shape) + 1 and (flexible or array.shape[1:] == shape):
        if len(array) < calls:
            raise UsageError(f"--input {feature.name}: {len(array)} entries for {calls} calls. Lower --calls.")
        return [_cast(feature, each) for each in array[:calls]]
    raise UsageError(
        f"--input {feature.name}: shape {array.shape}, expected {shape}, or {('calls', *shape)} with one entry a call."
    )


def _pictures(feature: Feature, array: NDArray[Any], calls: int) -> list[NDArray[Any]]:
    """Return one picture a call: (height, width, 3), or (height, width) where it is grey; the package checks them."""
    axes = 3 if feature.layout in ("rgb", "bgr") else 2
    if array.ndim != axes + 1:
        return [array] * calls
    if len(array) < calls:
        raise UsageError(f"--input {feature.name}: {len(array)} entries for {calls} calls. Lower --calls.")
    return list(array[:calls])


def _cast(feature: Feature, array: NDArray[Any]) -> NDArray[Any]:
    """Return `array` in the input's dtype, where no value changes by more than rounding to that dtype."""
    import numpy as np

    dtype = feature.dtype.numpy
    if array.dtype.kind not in "biuf":
        raise UsageError(f"--input {feature.name}: {array.dtype} values, expected {feature.dtype.name}.")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.ascontiguousarray(array.astype(dtype))
    if feature.dtype.is_floating_point:
        spoilt = np.isfinite(array) & ~np.isfinite(cast)
    else:
        spoilt = cast.astype(np.float64) != array.astype(np.float64)
    if spoilt.any():
        raise UsageError(f"--input {feature.name}: {array[spoilt].flat[0]} cannot be a {feature.dtype.name}.")
    return cast


def _load(feature: Feature, value: str) -> Any:
    path, name = Path(value), feature.name
    suffixes = (*SUFFIXES, *PICTURES) if feature.kind == "image" else SUFFIXES
    if path.suffix not in suffixes:
        try:
            return json.loads(value)
        except RecursionError:
            raise UsageError(f"--input {name}: the list is nested too deeply. Give it the input's axes.") from None
        except ValueError:
            shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
            raise UsageError(
                f'--input {name}: "{shown}" is neither a number, a nested list nor a {", ".join(suffixes)} file.'
            ) from None
    try:
        _refuse_special(name, path)
        return _picture(feature, path) if path.suffix in PICTURES else _file(name, path)
    except LucidError:
        raise
    except FileNotFoundError:
        raise UsageError(f"--input {name}: there is no file {path}.") from None
    except RecursionError:
        raise UsageError(f"--input {name}: {path} cannot be read: its lists are nested too deeply.") from None
    except Exception as error:  # each reader has its own errors for damaged files
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"--input {name}: {path} cannot be read: {reason}") from error


def _refuse_special(name: str, path: Path) -> None:
    """Refuse folders, and pipes and devices: to open one would wait for its other end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(f"--input {name}: {path} is no regular file. Give a file.")


def _file(name: str, path: Path) -> Any:
    if path.suffix == ".json":
        data = json.loads(path.read_text(encoding="utf-8"))
        return _member(name, path, data) if isinstance(data, dict) else data
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return _member(name, path, load_file(path))
    import numpy as np

    loaded = np.load(path, allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        return loaded
    with loaded:
        return _member(name, path, loaded)


def _picture(feature: Feature, path: Path) -> Any:
    """Return the pixels of a picture: in grey where the input is, else in red, green, blue."""
    import numpy as np

    try:
        from PIL import Image
    except ImportError:
        raise UsageError(f"--input {feature.name}: pictures need Pillow. Install it (pip install pillow).") from None
    with Image.open(path) as picture:
        return np.asarray(picture.convert("L" if feature.layout.startswith("grayscale") else "RGB"))


def _member(name: str, path: Path, arrays: Mapping[str, Any]) -> Any:
    """Return the array called `name`, or the only one there is."""
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise UsageError(f'--input {name}: no "{name}" in {path}, which holds {", ".join(arrays)}.')
