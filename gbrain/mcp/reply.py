"""The reply of a tool: a JSON document for programs and a text for models, both of bounded size."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, NamedTuple

from gbrain.errors import GbrainError
from gbrain.output.json import Document, error_fields

MAX_ENTRIES = 100
MAX_VALUE_CHARACTERS = 10_000
_MAX_KEY_CHARACTERS = 100

_COMMAND = re.compile(
    r"\bgbrain (search|query|get|put|list|timeline(?:-add)?|links|why|stats|explain|undo)\b"
)
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


class Reply(NamedTuple):
    """The result of a tool; `text` says the same as the document in fewer words."""

    document: Document
    text: str


def error_reply(error: GbrainError) -> Reply:
    """Return an error with its code, its message and a hint for an agent."""
    hint = replace_commands(error.hint)
    document = {"error": {**error_fields(error), "hint": hint}}
    return Reply(document, f"Error ({error.code}): {error.message}\nHint: {hint}")


def replace_commands(hint: str) -> str:
    """Replace commands and options in a hint by the tools and arguments that do the same.

    A hint that needs a command without a tool stays as it is: the user must run it.
    """
    hint = hint.replace(" FILE ", " ")
    replaced = _COMMAND.sub(lambda command: "brain_" + command[1].replace("-", "_"), hint)
    if "gbrain " in replaced:
        return replaced
    return _OPTION.sub(lambda option: option[1].replace("-", "_"), replaced)


class TextRange(NamedTuple):
    """A range of a longer text; offsets count characters of the whole text."""

    text: str
    offset: int
    characters: int
    next_offset: int | None

    @property
    def note(self) -> str:
        """How to get the rest of the text; empty if there is none."""
        if self.next_offset is None:
            return ""
        stop = self.offset + len(self.text)
        return (
            f"\n\n[characters {self.offset} to {stop} of {self.characters}; "
            f"pass offset {self.next_offset} for the rest]"
        )


def select_range(
    text: str, offset: int, limit: int, first_line: int | None, last_line: int | None
) -> TextRange:
    """Return up to `limit` characters from `offset` on, within the given lines (from 1) if any."""
    start, stop = 0, len(text)
    if first_line is not None or last_line is not None:
        starts = [0, *(end.end() for end in re.finditer(r"\r\n|\r|\n", text)), len(text)]
        start = starts[min((first_line or 1) - 1, len(starts) - 1)]
        stop = starts[min(last_line or len(starts), len(starts) - 1)]
    start = min(max(start, offset), len(text))
    end = min(max(stop, start), start + limit)
    return TextRange(text[start:end], start, len(text), end if end < stop else None)


def truncate_document(document: Document, keep: tuple[str, ...] = ()) -> Document:
    """Cut long lists, objects and texts; the key `truncated` lists what was cut, if anything.

    Values of the keys in `keep` are bounded elsewhere and stay as they are.
    """
    notes: list[str] = []
    short = {
        key: value if key in keep else _truncate(value, key, notes)
        for key, value in document.items()
    }
    return {**short, "truncated": notes[:MAX_ENTRIES]} if notes else short


def _truncate(value: Any, path: str, notes: list[str]) -> Any:
    if isinstance(value, str) and len(value) > MAX_VALUE_CHARACTERS:
        notes.append(f"{path}: {MAX_VALUE_CHARACTERS} of {len(value)} characters")
        return value[:MAX_VALUE_CHARACTERS]
    if not isinstance(value, list | dict):
        return value
    if len(value) > MAX_ENTRIES:
        notes.append(f"{path}: {MAX_ENTRIES} of {len(value)} entries")
    if isinstance(value, list):
        return [_truncate(item, f"{path}[]", notes) for item in value[:MAX_ENTRIES]]
    short = {}
    for key, item in islice(value.items(), MAX_ENTRIES):
        name = key[:_MAX_KEY_CHARACTERS]
        short[name] = _truncate(item, f"{path}.{name}", notes)
    return short
