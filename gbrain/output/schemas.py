"""JSON Schemas of the documents that commands print, read from the package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gbrain.errors import NotFound
from gbrain.messages import did_you_mean, similar_names
from gbrain.output.json import Document

_FOLDER = Path(__file__).parent.parent / "schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

# What else is printed: an error, and lines of commands that print many.
_OTHERS = ("error", "unanswered", "followed", "exported_page")


class Described(NamedTuple):
    """A document by name, with the commands that print it with --json."""

    name: str
    commands: tuple[str, ...]
    about: str | None


def documents() -> list[Described]:
    """Every document, in the order of the commands."""
    printed: dict[str, list[str]] = {}
    for command, name in commands().items():
        printed.setdefault(name, []).append(command)
    printed |= {name: [] for name in _OTHERS}
    about = {name: _definitions()[name].get("description") for name in printed}
    return [Described(name, tuple(words), about[name]) for name, words in printed.items()]


def schema(name: str) -> Document:
    """The schema of a document, complete in itself; `name` may be a command that prints it.

    Raises NotFound with the nearest name.
    """
    known = [*commands(), *(document.name for document in documents())]
    if name not in known:
        similar = (f"'{near}'" for near in similar_names(name, known))
        hint = did_you_mean(similar, "gbrain schema lists them.")
        raise NotFound(f"There is no document {name!r}", hint=hint)
    title = commands().get(name, name)
    used = sorted(_used(title))
    parts = {part: _within(_definitions()[part]) for part in used}
    return {
        "$schema": _DIALECT,
        "title": title,
        **_within(_definitions()[title]),
        **({"$defs": parts} if parts else {}),
    }


@cache
def commands() -> dict[str, str]:
    """The document that each command prints with --json."""
    read: dict[str, str] = json.loads((_FOLDER / "commands.json").read_text("utf-8"))
    return read


@cache
def _definitions() -> dict[str, Any]:
    """All definitions of all files by name; a name stands in one file only."""
    files = (file for file in sorted(_FOLDER.glob("*.json")) if file.name != "commands.json")
    read = [json.loads(file.read_text("utf-8"))["$defs"] for file in files]
    return {name: part for definitions in read for name, part in definitions.items()}


def _used(name: str) -> set[str]:
    """What a definition refers to, and what that refers to."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for reference in _references(_definitions()[waiting.pop()]):
            part = reference.partition("#/$defs/")[2].partition("/")[0]
            if part not in found:
                found.add(part)
                waiting.append(part)
    return found


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _within(part: Any) -> Any:
    """The same with references that lead into the file where it will stand."""
    if isinstance(part, list):
        return [_within(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {
        key: "#" + value.partition("#")[2] if key == "$ref" else _within(value)
        for key, value in part.items()
    }


class Keys(NamedTuple):
    """The keys of a document, or of an object in it that stands below `of`."""

    of: str | None
    about: list[tuple[str, str]]


def described_keys(name: str) -> Iterator[Keys]:
    """What each key of a document holds, in words, for a manual.

    Alternatives come one after the other, and what objects in a document hold after its own keys.
    """
    whole = _definitions()[name]
    for alternative in whole.get("oneOf", [whole]):
        document = _resolved(alternative)
        yield Keys(None, _keys(document))
        for key, part in document["properties"].items():
            inner = _resolved(part.get("items", part.get("anyOf", [part])[0]))
            if "properties" in inner and inner is not document:
                yield Keys(key, _keys(inner))


def _keys(part: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key, _told(inner)) for key, inner in part["properties"].items()]


def _told(part: dict[str, Any]) -> str:
    about = part.get("description") or _resolved(part).get("description")
    held = _held(part)
    return f"{held[0].upper()}{held[1:]}." + (f" {about}." if about else "")


_ONE_AND_MANY = {
    "string": ("text", "texts"),
    "integer": ("whole number", "whole numbers"),
    "number": ("number", "numbers"),
    "boolean": ("true or false", "true or false"),
    "object": ("object", "objects"),
    "array": ("list", "lists"),
    "null": ("null", "null"),
}


def _held(part: dict[str, Any], *, many: bool = False) -> str:
    """What a value is, in words."""
    part = _resolved(part)
    if "anyOf" in part:
        return " or ".join(_held(inner, many=many) for inner in part["anyOf"])
    if "enum" in part:
        return "one of " + ", ".join("null" if v is None else f"`{v}`" for v in part["enum"])
    if "const" in part:
        return f"always {json.dumps(part['const'])}"
    kinds = part.get("type", "object")
    first, *others = [kinds] if isinstance(kinds, str) else kinds
    word = _ONE_AND_MANY[first][many]
    if first == "array" and "maxItems" not in part:
        word += f" of {_held(part['items'], many=True)}"
    elif isinstance(part.get("additionalProperties"), dict):
        word += f" with {_held(part['additionalProperties'], many=True)} by name"
    return " or ".join([word, *(_ONE_AND_MANY[kind][many] for kind in others)])


def _resolved(part: dict[str, Any]) -> dict[str, Any]:
    """What a reference leads to; anything else as it is."""
    if "$ref" not in part:
        return part
    first, *deeper = part["$ref"].partition("#/$defs/")[2].split("/")
    found: dict[str, Any] = _definitions()[first]
    for step in deeper:
        found = found[step]
    return found
