"""The JSON Schemas in gbrain/schemas: the only description of every document that --json prints.

`gbrain schema` prints them in full, MCP tools list an outline, and man pages describe the keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gbrain.errors import NotFound
from gbrain.messages import did_you_mean, similar_names
from gbrain.output.json import Document

Schema = dict[str, Any]

SCHEMA_FOLDER = Path(__file__).parent.parent / "schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

# Documents that no command prints as its whole output: errors, lines of long outputs, and what only
# the HTTP server answers.
_OTHER_DOCUMENTS = ("error", "unanswered", "followed", "exported_page", "rendered")

# How many levels of objects an outline describes.
_OUTLINE_DEPTH = 2


class DocumentEntry(NamedTuple):
    """A document by name, with the commands that print it with --json."""

    name: str
    commands: tuple[str, ...]
    about: str | None


def list_documents() -> list[DocumentEntry]:
    """Return every document, in the order of the commands."""
    printed: dict[str, list[str]] = {}
    for command, name in document_by_command().items():
        printed.setdefault(name, []).append(command)
    printed |= {name: [] for name in _OTHER_DOCUMENTS}
    about = {name: _definitions()[name].get("description") for name in printed}
    return [DocumentEntry(name, tuple(words), about[name]) for name, words in printed.items()]


def document_schema(name: str) -> Document:
    """Return the schema of a document, with all it refers to; `name` may be a command.

    Raises NotFound with the nearest name.
    """
    known = [*document_by_command(), *(document.name for document in list_documents())]
    if name not in known:
        # Among short names, one with another first letter is rarely meant: nope is not open.
        similar = (f"'{near}'" for near in similar_names(name, known) if near[0] == name[:1])
        hint = did_you_mean(similar, "gbrain schema lists the documents.")
        raise NotFound(f"There is no document {name!r}", hint=hint)
    title = document_by_command().get(name, name)
    referred = {part: _make_local(_definitions()[part]) for part in sorted(referred_names(title))}
    return {
        "$schema": _DIALECT,
        "title": title,
        **_make_local(_definitions()[title]),
        **({"$defs": referred} if referred else {}),
    }


def document_outline(name: str) -> Schema:
    """Return a short schema of a document: without references, deep objects left open.

    An MCP client gets it with every tool. In outline the schemas of all tools have 27 KB, in full
    they would have 44 KB.
    """
    definition = _definitions()[name]
    return {**_outline(definition, _OUTLINE_DEPTH), "required": definition["required"]}


def _outline(part: Schema, depth: int) -> Schema:
    about = {"description": part["description"]} if "description" in part else {}
    part = {**_resolve(part), **about}
    if "anyOf" in part:
        # Every alternative in our schemas is one to null.
        value, _null = part["anyOf"]
        short = _outline(value, depth)
        return {**short, "type": [short["type"], "null"], **about}
    short = {key: part[key] for key in ("type", "enum", "const", "description") if key in part}
    if "items" in part:
        short["items"] = _outline(part["items"], depth)
    if "properties" in part and depth:
        inner = part["properties"].items()
        short["properties"] = {key: _outline(value, depth - 1) for key, value in inner}
    return short


@cache
def document_by_command() -> dict[str, str]:
    """Return the name of the document that each command prints with --json."""
    read: dict[str, str] = json.loads((SCHEMA_FOLDER / "commands.json").read_text("utf-8"))
    return read


@cache
def _definitions() -> dict[str, Schema]:
    """Return the definitions of all files by name; each name is defined in one file only."""
    files = (file for file in sorted(SCHEMA_FOLDER.glob("*.json")) if file.name != "commands.json")
    read = [json.loads(file.read_text("utf-8"))["$defs"] for file in files]
    return {name: part for definitions in read for name, part in definitions.items()}


def referred_names(name: str) -> set[str]:
    """Return the definitions that a definition refers to, directly or through others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for reference in references(_definitions()[waiting.pop()]):
            part = reference.partition("#/$defs/")[2].partition("/")[0]
            if part not in found:
                found.add(part)
                waiting.append(part)
    return found


def references(part: Any) -> Iterator[str]:
    """Yield the value of every `$ref` in a schema."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from references(inner)


def _make_local(part: Any) -> Any:
    """Return a schema whose references name no file: all definitions will be in one file."""
    if isinstance(part, list):
        return [_make_local(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {
        key: "#" + value.partition("#")[2] if key == "$ref" else _make_local(value)
        for key, value in part.items()
    }


def _resolve(part: Schema) -> Schema:
    """Return what a reference refers to; a schema without one as it is."""
    if "$ref" not in part:
        return part
    first, *deeper = part["$ref"].partition("#/$defs/")[2].split("/")
    found = _definitions()[first]
    for step in deeper:
        found = found[step]
    return found


class KeyList(NamedTuple):
    """Keys and descriptions of a document, or of the object in it with the key `of`."""

    of: str | None
    about: list[tuple[str, str]]


def describe_keys(name: str) -> Iterator[KeyList]:
    """Yield the keys of a document in words for its man page, then those of objects inside it.

    If the document has alternatives, they follow one another.
    """
    whole = _definitions()[name]
    for alternative in whole.get("oneOf", [whole]):
        document = _resolve(alternative)
        yield KeyList(None, _describe_properties(document))
        for key, part in document["properties"].items():
            inner = _resolve(part.get("items", part.get("anyOf", [part])[0]))
            if "properties" in inner and inner is not document:
                yield KeyList(key, _describe_properties(inner))


def _describe_properties(part: Schema) -> list[tuple[str, str]]:
    return [(key, _describe_value(inner)) for key, inner in part["properties"].items()]


def _describe_value(part: Schema) -> str:
    about = part.get("description") or _resolve(part).get("description")
    kind = _describe_kind(part)
    return f"{kind[0].upper()}{kind[1:]}." + (f" {about}." if about else "")


_SINGULAR_AND_PLURAL = {
    "string": ("text", "texts"),
    "integer": ("whole number", "whole numbers"),
    "number": ("number", "numbers"),
    "boolean": ("true or false", "true or false"),
    "object": ("object", "objects"),
    "array": ("list", "lists"),
    "null": ("null", "null"),
}


def _describe_kind(part: Schema, *, plural: bool = False) -> str:
    """Return what kind of value a schema allows, in words."""
    part = _resolve(part)
    if "anyOf" in part:
        return " or ".join(_describe_kind(inner, plural=plural) for inner in part["anyOf"])
    if "enum" in part:
        return "one of " + ", ".join("null" if v is None else f"`{v}`" for v in part["enum"])
    if "const" in part:
        return f"always {json.dumps(part['const'])}"
    kinds = part.get("type", "object")
    first, *others = [kinds] if isinstance(kinds, str) else kinds
    word = _SINGULAR_AND_PLURAL[first][plural]
    if first == "array" and "maxItems" not in part:
        word += f" of {_describe_kind(part['items'], plural=True)}"
    elif isinstance(part.get("additionalProperties"), dict):
        word += f" with {_describe_kind(part['additionalProperties'], plural=True)} by name"
    return " or ".join([word, *(_SINGULAR_AND_PLURAL[kind][plural] for kind in others)])
