"""The reference of the spec and its JSON schema, derived from the tables' fields.

``python -m lucid.pipeline.spec_reference docs`` brings ``docs/spec.md`` (between its two markers) and
``docs/spec.schema.json`` up to date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lucid.pipeline.spec import Spec
from lucid.pipeline.spec_words import fields_at, header, toml

__all__ = ["BEGIN", "COMMAND", "END", "reference", "refreshed", "schema_text"]

BEGIN = "<!-- begin: derived from the fields -->"
END = "<!-- end: derived from the fields -->"
COMMAND = "python -m lucid.pipeline.spec_reference docs"

Schema = Mapping[str, Any]


def schema_text() -> str:
    """Return the JSON schema of the spec, for editors that complete and check TOML."""
    schema = Spec.model_json_schema(by_alias=True)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A spec of lucid"}
    return json.dumps(whole, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def reference() -> str:
    """Return the tables of keys as Markdown."""
    schema = Spec.model_json_schema(by_alias=True)
    return "\n".join(_sections(schema, schema["$defs"]))


def refreshed(text: str) -> str:
    """Return `text`, a Markdown page, with what stands between the markers replaced by :func:`reference`."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def _sections(schema: Schema, definitions: Schema) -> Iterator[str]:
    yield from _section("The top level", "", schema, {"lucid"})
    for key, described in schema["properties"].items():
        if key != "lucid":
            table = definitions[_reference_in(described)]
            yield from _section(f"`{header((key,))}`", table["description"], table, None)
    yield "### `input.values`\n"
    yield "| form | example | meaning |\n|---|---|---|"
    for word, meaning in (("ones", "One everywhere; true for a bool input."), ("zeros", "Zero everywhere; false."),
                          ("index", "The number of the call, from 0, everywhere.")):  # fmt: skip
        yield f'| `"{word}"` | `values = "{word}"` | {meaning} |'
    examples = {form: (info.examples or [None])[0] for form, info in fields_at(("input", "values")).items()}
    for definition in _forms(definitions):
        first = next(iter(definition["properties"]))
        example = toml({first: examples[first]})
        meaning = " ".join([definition["description"], *_details(first, definition, definitions)])
        yield f"| `{first}` | `values = {example}` | {meaning} |"
    yield ""


def _section(title: str, about: str, table: Schema, only: set[str] | None) -> Iterator[str]:
    yield f"### {title}\n"
    if about:
        yield f"{about}\n"
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    for key, described in table["properties"].items():
        if only is None or key in only:
            default = "**required**" if key in table.get("required", ()) else _default(described.get("default"))
            yield f"| `{key}` | {_type(described)} | {default} | {_meaning(described)} |"
    yield ""


def _meaning(described: Schema) -> str:
    examples = described.get("examples")
    return f"{described['description']}{f' Example: `{toml(examples[0])}`.' if examples else ''}"


def _default(value: Any) -> str:
    return "unset" if value is None else f"`{toml(value)}`"


def _details(first: str, definition: Schema, definitions: Schema) -> Iterator[str]:
    """Yield sentences on the keys of a form beyond what its own description says."""
    described = definition["properties"][first]
    inner = definitions[described["$ref"].rpartition("/")[2]] if "$ref" in described else None
    fields = inner["properties"] if inner else definition["properties"]
    for key, each in fields.items():
        optional = f" (default {_default(each['default'])})" if each.get("default") is not None else ""
        yield f"`{key}`{optional}: {each['description'][0].lower()}{each['description'][1:]}"


def _forms(definitions: Schema) -> Iterator[Schema]:
    for option in definitions["Input"]["properties"]["values"]["anyOf"]:
        for member in option.get("oneOf", [option]):
            if "$ref" in member:
                yield definitions[member["$ref"].rpartition("/")[2]]


def _reference_in(described: Schema) -> str:
    found = described.get("$ref") or described.get("items", {}).get("$ref")
    return str(found).rpartition("/")[2]


def _type(described: Schema) -> str:
    if "const" in described:
        return f"`{toml(described['const'])}`"
    if "enum" in described:
        return ", ".join(f"`{toml(each)}`" for each in described["enum"])
    if "anyOf" in described:
        kinds: list[str] = [_type(each) for each in described["anyOf"] if each.get("type") != "null"]
        return kinds[0] if len(kinds) == 1 and "oneOf" not in str(described["anyOf"]) else "text or table"
    kind = described.get("type")
    if kind == "array":
        return f"array of {_type(described['items'])}"
    word = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    limit = ""
    if "minimum" in described:
        limit = f" ≥ {described['minimum']}"
    elif "exclusiveMinimum" in described:
        limit = f" > {described['exclusiveMinimum']:g}"
    return word.get(str(kind), "table") + limit


def main(folder: str) -> None:
    """Bring the files in `folder` up to date."""
    page = Path(folder) / "spec.md"
    page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
    (Path(folder) / "spec.schema.json").write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
