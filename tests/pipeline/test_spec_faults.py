"""Specs with faults: each gives one finding at its place, in words that say what to write."""

# ruff: noqa: E501 - a case is one line with its whole message

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lucid.errors import SpecError
from lucid.pipeline.spec import SIZE_LIMIT, read

GOOD = """\
lucid = 1

[package]
name = "decoder"
version = "1.0"

[model]
entry = "decoder.py:Decoder"

[[input]]
name = "x"
shape = [1, 4]
values = {normal = {mean = 0, std = 1}}

[[input]]
name = "cache"
shape = [1, 4]

[[output]]
name = "y"
atol = 0.5

[[output]]
name = "cache_out"

[[state]]
input = "cache"
output = "cache_out"

[lowering]
precision = "float16"
deployment_target = "iOS18"

[golden]
calls = 4

[build]
directory = "out"
"""


def faults(folder: Path, text: str | bytes) -> list[str]:
    """Return the findings of a spec as ``line:column: key: message``."""
    (folder / "decoder.py").touch()
    path = folder / "decoder.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as caught:
        read(path)
    assert caught.value.code == 3
    assert caught.value.where == (caught.value.findings[0].where if caught.value.findings else str(path))
    return [f"{each.line}:{each.column}: {each.statement}" for each in caught.value.findings]


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_the_good_spec_is_good(tmp_path: Path) -> None:
    (tmp_path / "decoder.py").touch()
    (tmp_path / "decoder.toml").write_text(GOOD)
    assert read(tmp_path / "decoder.toml").package.name == "decoder"


ONE_FAULT = [
    # an unknown key in every table
    ("lucid = 1", "lucid = 1\nlucd = 1", '2:1: lucd: unknown key. Did you mean "lucid"?'),
    ('version = "1.0"', 'verson = "1.0"', '5:1: package.verson: unknown key. Did you mean "version"?'),
    ('version = "1.0"', "colour = 1", "5:1: package.colour: unknown key. [package] has name, description, author, license, version."),
    ('entry = "decoder.py:Decoder"', 'entri = "decoder.py:Decoder"', '8:1: model.entri: unknown key. Did you mean "entry"?'),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshpe = [1, 4]', '12:1: input[0].shpe: unknown key. Did you mean "shape"?'),
    ("atol = 0.5", "atoll = 0.5", '21:1: output[0].atoll: unknown key. Did you mean "atol"?'),
    ('output = "cache_out"', 'ouput = "cache_out"', '28:1: state[0].ouput: unknown key. Did you mean "output"?'),
    ('precision = "float16"', 'precison = "float16"', '31:1: lowering.precison: unknown key. Did you mean "precision"?'),
    ("calls = 4", "call = 4", '35:1: golden.call: unknown key. Did you mean "calls"?'),
    ('directory = "out"', 'folder = "out"', "38:1: build.folder: unknown key. [build] has directory."),
    ("mean = 0", "meen = 0", '13:21: input[0].values.normal.meen: unknown key. Did you mean "mean"?'),
    ("[golden]", "[goldn]", '34:1: goldn: unknown key. Did you mean "golden"?'),
    ("[[state]]", "[[states]]", '26:1: states: unknown key. Did you mean "state"?'),
    ("[package]", "[pakage]", '3:1: pakage: unknown key. Did you mean "package"?'),
    # a key in the wrong table
    ('version = "1.0"', 'precision = "float16"', "5:1: package.precision: unknown key in [package]; it belongs in [lowering]."),
    ("lucid = 1", 'lucid = 1\nentry = "a.py:b"', "2:1: entry: unknown key in the top level; it belongs in [model]."),
    ("calls = 4", 'calls = 4\ncompute_units = "all"', "36:1: golden.compute_units: unknown key in [golden]; it belongs in [lowering]."),
    ("calls = 4", "calls = 4\nshape = [1]", "36:1: golden.shape: unknown key in [golden]; it belongs in [[input]]."),
    # a key that is not there
    ("lucid = 1\n", "", "1:1: lucid: missing key \"lucid\": version of the spec's format. Write lucid = 1."),
    ('name = "decoder"\n', "", '3:1: package.name: missing key "name": name of the package, `<name>.mlpackage`, and of its build folder. Write name = "decoder".'),
    ('[model]\nentry = "decoder.py:Decoder"\n', "", '1:1: model: missing table [model]. Write [model] and, below it, entry = "decoder.py:Decoder".'),
    ('input = "cache"\n', "", '26:1: state[0].input: missing key "input": the input that reads the state. Write input = "cache".'),
    ("values = {normal = {mean = 0, std = 1}}\n", "", '10:1: input[0]: missing key "values", which says how each call\'s values are made. Write values = {normal = {mean = 0, std = 1}}.'),
    # a value of the wrong type
    ("lucid = 1", 'lucid = "1"', '1:9: lucid: this lucid reads format 1, found the text "1". Write lucid = 1.'),
    ("lucid = 1", "lucid = true", "1:9: lucid: this lucid reads format 1, found true. Write lucid = 1."),
    ("lucid = 1", "lucid = 1.0", "1:9: lucid: this lucid reads format 1, found the number 1.0. Write lucid = 1."),
    ("lucid = 1", "lucid = 2", "1:9: lucid: this lucid reads format 1, found the whole number 2. Write lucid = 1."),
    ('version = "1.0"', "version = 1.0", '5:11: package.version: expected text in quotes, found the number 1.0. Write version = "1.0".'),
    ('entry = "decoder.py:Decoder"', "entry = 3", '8:9: model.entry: expected text in quotes, found the whole number 3. Write entry = "3".'),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\nseed = 1.0', "9:8: model.seed: expected a whole number, found the number 1.0. Write seed = 1."),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\nseed = true', "9:8: model.seed: expected a whole number, found true."),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\narguments = [1]', "9:13: model.arguments: expected a table, found an array of 1."),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = 4', "12:9: input[0].shape: expected an array, found the whole number 4. Write shape = [4]."),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = "1,4"', '12:9: input[0].shape: expected an array, found the text "1,4". Write shape = [1, 4].'),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = "[1 x 4]"', '12:9: input[0].shape: expected an array, found the text "[1 x 4]". Write shape = [1, 4].'),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = "wide"', '12:9: input[0].shape: expected an array, found the text "wide". Write shape = ["wide"].'),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = [1, "4"]', '12:13: input[0].shape[1]: expected a whole number, found the text "4". Write 4.'),
    ("atol = 0.5", 'atol = "0.5"', '21:8: output[0].atol: expected a number, found the text "0.5". Write atol = 0.5.'),
    ('input = "cache"', "input = {}", "27:9: state[0].input: expected text in quotes, found a table."),
    ("calls = 4", 'calls = "4"', '35:9: golden.calls: expected a whole number, found the text "4". Write calls = 4.'),
    ("calls = 4", "calls = 2020-01-01", "35:9: golden.calls: expected a whole number, found a date or time."),
    ('directory = "out"', "directory = false", '38:13: build.directory: expected text in quotes, found false. Write directory = "false".'),
    ("[package]", "[[package]]", "3:1: package: there is only one. Write [package] with one bracket."),
    ("[[state]]", "[state]", "26:1: state: there may be several. Write [[state]] with two brackets."),
    ("[build]\n", "[build]\n[model.x]\n", "38:1: model.x: unknown key. [model] has entry, arguments, seed, weights."),
    # a value that is none of the choices
    ('precision = "float16"', 'precision = "flaot16"', '31:13: lowering.precision: expected one of "float16", "float32", found the text "flaot16". Did you mean "float16"?'),
    ('precision = "float16"', 'precision = "half"', '31:13: lowering.precision: expected one of "float16", "float32", found the text "half".'),
    ('deployment_target = "iOS18"', 'deployment_target = "ios18"', '32:21: lowering.deployment_target: the text "ios18" is none of the 16 choices. Did you mean "iOS18"?'),
    ('precision = "float16"', 'interface = "float32"', '31:13: lowering.interface: expected "float16", found the text "float32". Did you mean "float16"?'),
    # numbers out of range
    ("calls = 4", "calls = 0", "35:9: golden.calls: expected at least 1, found 0."),
    ("calls = 4", "calls = 4\natol = nan", "36:8: golden.atol: expected a finite number, found nan."),
    ("calls = 4", "calls = 4\natol = inf", "36:8: golden.atol: expected a finite number, found inf."),
    ("calls = 4", "calls = 4\nrtol = -0.1", "36:8: golden.rtol: expected a number above 0, found -0.1."),
    ("atol = 0.5", "rtol = 0", "21:8: output[0].rtol: expected a number above 0, found 0."),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\nseed = -1', "9:8: model.seed: expected at least 0, found -1."),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = [1, 0]', "12:13: input[0].shape[1]: expected at least 1, found 0."),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = [1, 1, 1, 1, 1, 1]', "12:9: input[0].shape: expected at most 5 axes, found 6."),
    ('name = "x"\nshape = [1, 4]', 'name = "x"\nshape = [65536, 65536]', "12:9: input[0].shape: 4294967296 elements are more than the limit, 2147483647."),
    # names and paths
    ('name = "decoder"', 'name = "a/b"', '4:8: package.name: "a/b" cannot name a file everywhere. Use up to 100 letters, digits, "_", "-" and ".", starting with a letter, digit or underscore.'),
    ('name = "decoder"', 'name = "con.x"', '4:8: package.name: "con.x" cannot name a file everywhere. Use up to 100 letters, digits, "_", "-" and ".", starting with a letter, digit or underscore.'),
    ('name = "decoder"', 'name = "a.mlpackage"', '4:8: package.name: leave the suffix out: lucid adds it. Write "a".'),
    ('name = "x"', 'name = "1/x"', '11:8: input[0].name: "1/x" is not a name that Core ML takes. Use letters, digits and underscores, not starting with a digit, such as "_1_x".'),
    ('name = "x"', 'name = "tensor"', '11:8: input[0].name: "tensor" is a reserved word of Core ML programs. Choose another, such as "tensor_".'),
    ('name = "y"', 'name = "x"', '20:8: output[0].name: "x" is also the name of input[0]. Give each its own name.'),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py"', '8:9: model.entry: "decoder.py" does not say what to load. Write "package.module:attribute" or "file.py:attribute".'),
    ('entry = "decoder.py:Decoder"', 'entry = "a-b:C"', '8:9: model.entry: "a-b" is neither a file that ends in .py nor a module. Write "package.module:attribute" or "file.py:attribute".'),
    ('entry = "decoder.py:Decoder"', 'entry = "/tmp/a.py:C"', "8:9: model.entry: the path is not relative. Write it from the folder of the spec on."),
    ('entry = "decoder.py:Decoder"', 'entry = "decodr.py:Decoder"', '8:9: model.entry: no file "decodr.py" in the folder of the spec. Did you mean "decoder.py"?'),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\nweights = "w.bin"', '9:11: model.weights: "w.bin" is not a .safetensors file. Convert it, or read it in the entry point.'),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\nweights = "w.safetensors"', '9:11: model.weights: no file "w.safetensors" in the folder of the spec.'),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\narguments = {a = [1, nan]}', "9:22: model.arguments.a[1]: nan cannot be kept in the manifest's JSON. Make it in the entry point."),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\narguments.day = 2020-01-01', "9:17: model.arguments.day: a date or time cannot be kept in the manifest's JSON. Write it as text."),
    ('entry = "decoder.py:Decoder"', 'entry = "decoder.py:Decoder"\narguments."a b" = 1', '9:19: model.arguments."a b": "a b" cannot be the name of a Python argument.'),
    ('directory = "out"', 'directory = "~/out"', '38:13: build.directory: "~" is not expanded here. Write the path in full, or "./~/out" for a folder of that name.'),
    ('directory = "out"', 'directory = "a\\u0000b"', "38:13: build.directory: a path has no zero character. Remove it."),
    ('directory = "out"', f'directory = "a/{"é" * 128}/b"', "38:13: build.directory: a name in it has 256 bytes, more than the 255 that systems take. Shorten it."),
    ('directory = "out"', f'directory = "{"abc/" * 1024}"', "38:13: build.directory: the path has 4096 bytes, more than the 4095 that systems take. Shorten it."),
    # states
    ('input = "cache"', 'input = "cach"', '27:9: state[0].input: no input "cach"; the inputs are x, cache. Did you mean "cache"?'),
    ('input = "cache"', 'input = "xx"', '27:9: state[0].input: no input "xx"; the inputs are x, cache. Did you mean "x"?'),
    ('output = "cache_out"', 'output = "cache_ot"', '28:10: state[0].output: no output "cache_ot"; the outputs are y, cache_out. Did you mean "cache_out"?'),
    ('output = "cache_out"\n', 'output = "cache_out"\n[[state]]\ninput = "cache"\noutput = "y"\n', '30:9: state[1].input: "cache" is already the input of state[0]. An input belongs to one state.'),
    ('name = "cache"\nshape = [1, 4]', 'name = "cache"\nshape = [1, 4]\ndtype = "int32"', '28:9: state[0].input: "cache" is int32, but Core ML keeps states in float16 only. Keep it as an input, or make it a floating input.'),
    ('name = "cache"\nshape = [1, 4]', 'name = "cache"\nshape = [1, 4]\nvalues = "ones"', '18:10: input[1].values: "cache" is a state and begins at zero. Remove its values.'),
    ('deployment_target = "iOS18"', 'deployment_target = "macOS14"', "32:21: lowering.deployment_target: macOS14 has no states, and the spec declares 1. Set iOS18, macOS15, watchOS11 or tvOS18."),
    ("calls = 4", "calls = 2", "35:9: golden.calls: 2 calls cannot show that a state accumulates. Set at least 3."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), ONE_FAULT)
def test_one_fault_gives_one_finding(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert faults(tmp_path, changed(old, new)) == [expected]


VALUES = [
    # dtype, values, column of the fault, key below values, message
    ("float32", '"one"', 10, "", 'expected "ones", "zeros", "index" or a table with one of constant, normal, uniform, integers, list, file, found the text "one". Did you mean "ones"?'),
    ("float32", "2", 10, "", 'expected "ones", "zeros", "index" or a table with one of constant, normal, uniform, integers, list, file, found the whole number 2. Write values = {constant = 2}.'),
    ("float32", "{unifrom = {low = 0}}", 10, "", 'expected "ones", "zeros", "index" or a table with one of constant, normal, uniform, integers, list, file, found a table. Did you mean {uniform = …}?'),
    ("float32", "{}", 10, "", 'expected "ones", "zeros", "index" or a table with one of constant, normal, uniform, integers, list, file, found an empty table.'),
    ("float32", "{constant = inf}", 22, ".constant", "expected a finite number, found inf."),
    ("float32", '{constant = "1"}', 22, ".constant", 'expected a number (for a bool input, true or false), found the text "1". Write constant = 1.'),
    ("float32", '{constant = "a"}', 22, ".constant", 'expected a number (for a bool input, true or false), found the text "a".'),
    ("float32", "{constant = 1, normal = {}}", 10, "", "found constant and normal. Give one kind of values."),
    ("float16", "{normal = {std = 1e5}}", 27, ".normal.std", "100000.0 is outside float16, which ends at 65504."),
    ("float32", "{normal = {mean = 1e39}}", 28, ".normal.mean", "1e+39 is outside float32, which ends at 3.40282e+38."),
    ("float32", "{constant = 1, std = 2}", 25, ".std", "unknown key. [input.values] has constant, normal, uniform, integers, list, file, key."),
    ("float16", "{constant = 1e5}", 22, ".constant", "100000.0 is outside float16, which ends at 65504."),
    ("float32", "{constant = true}", 22, ".constant", "the input is float32: expected a number, found true."),
    ("int32", "{constant = 1.5}", 22, ".constant", "the input is int32: expected a whole number, found 1.5."),
    ("bool", "{constant = 1}", 22, ".constant", "the input is bool: expected true or false, found 1."),
    ("float32", "{normal = {std = 0}}", 27, ".normal.std", "expected a number above 0, found 0."),
    ("int32", "{normal = {}}", 20, ".normal", "normal makes fractions, but the input is int32. Write {integers = {low = 0, high = 100}}."),
    ("bool", "{uniform = {}}", 21, ".uniform", "uniform makes fractions, but the input is bool. Write {integers = {low = 0, high = 2}}."),
    ("float32", "{uniform = {low = 2, high = 1}}", 21, ".uniform", "low is 2 and high is 1. Give a high that is above low."),
    ("int32", "{integers = {low = 3, high = 3}}", 22, ".integers", "low is 3 and high is 3, which is excluded: no number is left. Give a high that is above low."),
    ("int32", "{integers = {low = 0, high = 2147483649}}", 39, ".integers.high", "2147483648 is outside int32, which ends at -2147483648 and 2147483647."),
    ("int32", "{integers = {low = 0, high = 2.5}}", 39, ".integers.high", "expected a whole number, found the number 2.5."),
    ("bool", "{integers = {low = 0, high = 3}}", 22, ".integers", "a bool input takes low = 0 and high = 2, not 0 and 3."),
    ("bool", '"index"', 10, "", "a bool input has no call index. Write values = {integers = {low = 0, high = 2}}."),
    ("float32", "{list = [1, 2, 3]}", 18, ".list", "3 entries for 4 calls. Give one entry for each call, or lower golden.calls."),
    ("float32", "{list = []}", 18, ".list", "expected at least 1, found none."),
    ("float32", "{list = [1, 2, 3, nan]}", 28, ".list[3]", "nan cannot be written here. Put it in a file of values."),
    ("float32", "{list = [1, 2, 3, [[1, 2, 3]]]}", 29, ".list[3][0]", "3 values where the input's shape has 4."),
    ("float32", "{list = [1, 2, 3, [1]]}", 29, ".list[3][0]", "expected an array of 4, as the input's shape says."),
    ("float32", "{list = [1, 2, 3, [[1, 2, 3, [4]]]]}", 39, ".list[3][0][3]", "an array is nested deeper than the input's shape."),
    ("int32", "{list = [1, 2, 3, 4.5]}", 28, ".list[3]", "the input is int32: expected a whole number, found 4.5."),
    ("float32", '{file = "none.npy"}', 18, ".file", 'no file "none.npy" in the folder of the spec.'),
    ("float32", '{file = "../../x\\\\y.npy"}', 18, ".file", 'only / separates folders on every system. Write "../../x/y.npy".'),
    ("float32", '{file = "x.npy", key = "a"}', 33, ".key", "an .npy file holds one array and no names. Remove the key."),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "values", "column", "key", "message"), VALUES)
def test_values_that_do_not_fit(tmp_path: Path, dtype: str, values: str, column: int, key: str, message: str) -> None:
    (tmp_path / "x.npy").touch()
    text = changed("values = {normal = {mean = 0, std = 1}}", f'dtype = "{dtype}"\nvalues = {values}')
    assert faults(tmp_path, text) == [f"14:{column}: input[0].values{key}: {message}"]


def test_a_file_of_values_of_an_unknown_kind(tmp_path: Path) -> None:
    (tmp_path / "x.csv").touch()
    text = changed("{normal = {mean = 0, std = 1}}", '{file = "x.csv"}')
    assert faults(tmp_path, text) == ['13:18: input[0].values.file: "x.csv" is none of .npy, .npz and .safetensors.']


def test_more_entries_than_calls_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "decoder.py").touch()
    (tmp_path / "decoder.toml").write_text(changed("{normal = {mean = 0, std = 1}}", "{list = [1, 2, 3, 4, 5, 6]}"))
    assert read(tmp_path / "decoder.toml").golden.calls == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pipe.npy", '"pipe.npy" is a pipe or a device. Give a regular file.'),
        ("loop.npy", '"loop.npy" cannot be read: Too many levels of symbolic links.'),
        ("dead.npy", '"dead.npy" is a link to "gone.npy", which does not exist.'),
        ("folder.npy", '"folder.npy" is a folder. Give a file.'),
        ("pip.npy", 'no file "pip.npy" in the folder of the spec. Did you mean "pipe.npy"?'),
        ("decoder.py/x.npy", 'no file "decoder.py/x.npy" in the folder of the spec.'),
        ("n" * 300 + ".npy", f'"{"n" * 300}.npy" cannot be read: File name too long.'),
    ],
)
def test_files_that_are_no_files(tmp_path: Path, name: str, message: str) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    (tmp_path / "dead.npy").symlink_to("gone.npy")
    (tmp_path / "folder.npy").mkdir()
    text = changed("{normal = {mean = 0, std = 1}}", f'{{file = "{name}"}}')
    assert faults(tmp_path, text) == [f"13:18: input[0].values.file: {message}"]


def test_specs_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    expected = {
        tmp_path / "pipe": "this is not a regular file. Give the path of a TOML file.",
        Path("/dev/null"): "this is not a regular file. Give the path of a TOML file.",
        tmp_path / "loop": "the file cannot be read: Too many levels of symbolic links.",
        tmp_path / ("n" * 300): "the file cannot be read: File name too long.",
        tmp_path / ("n" * 300) / "a.toml": "the file cannot be read: File name too long.",
        tmp_path: "this is a folder. Give the path of a TOML file.",
    }
    for path, message in expected.items():
        with pytest.raises(SpecError) as caught:
            read(path)
        assert str(caught.value) == f"{path}: {message}"


SYNTAX = [
    ("calls = 4", "calls = 4\ncalls = 5", "36:1: golden.calls: written twice, first in line 35. Remove one of the two."),
    ("[golden]", "[lowering]", "34:1: lowering: written twice, first in line 30. Remove one of the two."),
    ("{mean = 0, std = 1}", "{mean = 0, mean = 1}", "13:31: input[0].values.normal.mean: written twice, first in line 13. Remove one of the two."),
    ("calls = 4", "calls = ", "35:9: a value is missing here."),
    ("calls = 4", "calls = four", '35:9: text stands in quotes. Write "four".'),
    ("calls = 4", "calls = True", "35:9: truth values are in small letters. Write true."),
    ("calls = 4", "calls = 4 5", "35:11: expected the end of the line here."),
    ("calls = 4", "calls 4", '35:7: expected "=" after the key.'),
    ("calls = 4", "calls: 4", '35:6: expected "=" after the key.'),
    ('directory = "out"\n', 'directory = """out', "38:13: the value that begins here is not closed."),
    ('directory = "out"\n', "directory = [1,\n", "38:13: the value that begins here is not closed."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), SYNTAX)
def test_text_that_is_not_toml(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert faults(tmp_path, changed(old, new)) == [expected]


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    text = 'lucid = 1\nname = "é'.encode() + b'\xe9"\n'
    assert faults(tmp_path, text) == ["2:10: the byte 0xe9 is not UTF-8. Save the file as UTF-8."]


def test_numbers_and_nesting_beyond_all_measure(tmp_path: Path) -> None:
    assert faults(tmp_path, f"lucid = {'1' * 5000}") == ["1:9: the number has too many digits."]
    assert faults(tmp_path, f"lucid = {'[' * 5000}") == ["1:9: arrays or tables are nested too deeply."]


def test_another_toml_file(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\n'
    assert faults(tmp_path, text) == ['1:1: this is not a spec: it has no key "lucid". A spec begins with lucid = 1.']
    assert faults(tmp_path, "") == ['1:1: this is not a spec: it has no key "lucid". A spec begins with lucid = 1.']


def test_independent_faults_are_all_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        GOOD.replace('version = "1.0"', "version = 1.0")
        .replace('"decoder.py:', '"nope.py:')
        .replace("calls = 4", "cals = 4")
    )
    text = text.replace('output = "cache_out"', 'output = "cache"')
    assert faults(tmp_path, text) == [
        '5:11: package.version: expected text in quotes, found the number 1.0. Write version = "1.0".',
        '8:9: model.entry: no file "nope.py" in the folder of the spec.',
        '28:10: state[0].output: no output "cache"; the outputs are y, cache_out. Did you mean "cache_out"?',
        '35:1: golden.cals: unknown key. Did you mean "calls"?',
    ]


def test_all_inputs_as_states(tmp_path: Path) -> None:
    text = changed('output = "cache_out"\n', 'output = "cache_out"\n[[state]]\ninput = "x"\noutput = "y"\n')
    text = text.replace("values = {normal = {mean = 0, std = 1}}\n", "")
    message = "state: every input is a state, but Core ML needs one that is passed in. Add an [[input]]."
    assert faults(tmp_path, text) == [f"25:1: {message}"]


def test_an_output_of_two_states(tmp_path: Path) -> None:
    third = '[[input]]\nname = "z"\nshape = [1]\n[[state]]\ninput = "z"\noutput = "cache_out"\n'
    message = '"cache_out" is already the output of state[0]. An output belongs to one state.'
    assert faults(tmp_path, GOOD + third) == [f"44:10: state[1].output: {message}"]


def test_a_state_without_declared_outputs(tmp_path: Path) -> None:
    """The model may name its outputs by what it returns, which nobody knows before it is called."""
    text = changed('[[output]]\nname = "y"\natol = 0.5\n\n[[output]]\nname = "cache_out"\n', "")
    (tmp_path / "decoder.py").touch()
    (tmp_path / "decoder.toml").write_text(text)
    assert read(tmp_path / "decoder.toml").states[0].output == "cache_out"


def test_float16_inputs_need_a_target_that_has_them(tmp_path: Path) -> None:
    text = changed('[[state]]\ninput = "cache"\noutput = "cache_out"\n', "").replace('"iOS18"', '"iOS15"')
    text = text.replace('name = "cache"\n', 'name = "cache"\nvalues = "ones"\n')
    (tmp_path / "decoder.py").touch()
    (tmp_path / "decoder.toml").write_text(text)
    assert read(tmp_path / "decoder.toml").lowering.ios == 15
    half = text.replace('name = "x"\n', 'name = "x"\ndtype = "float16"\n')
    assert faults(tmp_path, half) == [
        '31:21: lowering.deployment_target: iOS15 has no float16 inputs and outputs, but the input "x" is float16. '
        "Set iOS16, macOS13, watchOS9 or tvOS16, or later."
    ]


def test_the_rendered_text_of_a_finding(tmp_path: Path) -> None:
    faults(tmp_path, changed('precision = "float16"', 'precison\t= "float16"  # "é"'))
    path = tmp_path / "decoder.toml"
    with pytest.raises(SpecError) as caught:
        read(path)
    assert str(caught.value) == (
        f'{path}:31:1: lowering.precison: unknown key. Did you mean "precision"?\n'
        '   31 | precison\t= "float16"  # "é"\n'
        "      | ^^^^^^^^"
    )
    assert caught.value.message == 'lowering.precison: unknown key. Did you mean "precision"?'


def test_the_carets_stand_below_wide_characters_tabs_and_in_long_lines(tmp_path: Path) -> None:
    (tmp_path / "decoder.py").touch()
    path = tmp_path / "decoder.toml"
    path.write_text(changed("{normal = {mean = 0, std = 1}}", '{"日本" = 1, constant = 1}'), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read(path)
    lines = str(caught.value).split("\n")
    assert lines[1:3] == ['   13 | values = {"日本" = 1, constant = 1}', "      |           ^^^^^^"]
    path.write_text(changed("{normal = {mean = 0, std = 1}}", f'{{list = [{"1, " * 200}"x"]}}'))
    with pytest.raises(SpecError) as caught:
        read(path)
    line, carets = str(caught.value).split("\n")[1:3]
    assert len(line) < 120
    assert line[carets.index("^") : carets.rindex("^") + 1] == '"x"'


def test_control_characters_of_a_spec_do_not_reach_the_terminal(tmp_path: Path) -> None:
    faults(tmp_path, changed('name = "x"', 'name = "\\u001b[31mx"'))
    with pytest.raises(SpecError) as caught:
        read(tmp_path / "decoder.toml")
    assert "\x1b" not in str(caught.value)
    faults(tmp_path, b"lucid = \x1b[31m\n")
    with pytest.raises(SpecError) as caught:
        read(tmp_path / "decoder.toml")
    assert "\x1b" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def refused(path: Path) -> str:
        with pytest.raises(SpecError) as caught:
            read(path)
        return str(caught.value)

    (tmp_path / "decoder.toml").write_text(GOOD)
    missing, folder, lost = tmp_path / "decodr.toml", tmp_path, tmp_path / "specs" / "a.toml"
    assert refused(missing) == f'{missing}: there is no such file. Did you mean "{tmp_path / "decoder.toml"}"?'
    assert refused(folder) == f"{folder}: this is a folder. Give a file in it: decoder.toml."
    assert refused(lost) == f"{lost}: there is no folder {lost.parent}."
    (tmp_path / "large.toml").write_bytes(b"#" * (SIZE_LIMIT + 1))
    assert refused(tmp_path / "large.toml").endswith(
        "large.toml: the file is larger than 1048576 bytes: it cannot be a spec."
    )
    assert refused(Path("/dev/null")) == "/dev/null: this is not a regular file. Give the path of a TOML file."
    assert refused(Path("a\0b")) == "a\0b: the file cannot be read: embedded null byte."
