"""One query a line on standard input, each with options of its own if it is a JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO, get_args

from gbrain.errors import GbrainError, UsageError
from gbrain.output.json import Document, error_about
from gbrain.types import Depth, Merge, Mode

FILTERS = ("wing", "room", "type", "tag", "slug_prefix", "since", "until", "where", "exclude")

_TEXTS = ("query", "wing", "room", "type", "slug_prefix", "since", "until", "profile")
_LISTS = ("tag", "where", "exclude", "boost")
_FLAGS = ("rerank", "no_decay", "include_superseded")
_NUMBERS = {"limit": 1000, "budget": 1_000_000}
_CHOICES = {"mode": get_args(Mode), "merge": get_args(Merge), "depth": get_args(Depth)}

_LONGEST = 1_000_000
_TOO_LONG = UsageError(
    f"The line has more than {_LONGEST:,} characters", hint="Ask one question a line."
)
_NOT_UTF8 = UsageError("The line is not UTF-8", hint="Convert it, with iconv say.")


def answers(
    source: TextIO, ask: Callable[[dict[str, Any]], Document], allowed: Iterable[str]
) -> Iterator[Document]:
    """A document for each line that is not blank, in order; a line that fails says why."""
    for text in _lines(source):
        try:
            if len(text) > _LONGEST:
                raise _TOO_LONG
            yield ask(_options(text, ("query", *allowed)))
        except GbrainError as error:
            yield {"query": text[:_LONGEST], "error": error_about(error)}
        except UnicodeEncodeError:
            yield {"query": text, "error": error_about(_NOT_UTF8)}


def _lines(source: TextIO) -> Iterator[str]:
    """Lines that are not blank; of one that is too long so much that this can be seen."""
    while line := source.readline(_LONGEST + 2):
        rest = line
        while len(rest) == _LONGEST + 2 and not rest.endswith("\n"):
            rest = source.readline(_LONGEST + 2)
        text = line.rstrip("\r\n")
        if text.strip():
            yield text


def _options(text: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    if not text.lstrip().startswith("{"):
        return {"query": text}
    try:
        options = json.loads(text)
    except (ValueError, RecursionError):
        return {"query": text}
    if not isinstance(options, dict) or not isinstance(options.get("query"), str):
        raise UsageError('A JSON line needs a "query"', hint='{"query": "river ai", "limit": 5}')
    for name in options:
        if name not in allowed:
            raise UsageError(
                f"There is no option {name!r}", hint=f"There are {', '.join(allowed)}."
            )
    return {name: _checked(name, value) for name, value in options.items()}


def _checked(name: str, value: Any) -> Any:
    """An option's value as the command line would have given it; null is as if it were absent."""
    if value is None:
        return None
    if name in _TEXTS and isinstance(value, str):
        return value
    if name in _LISTS:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return items
        raise _wrong(name, "a text or a list of texts", value)
    if name in _FLAGS:
        if isinstance(value, bool):
            return value
        raise _wrong(name, "true or false", value)
    if name in _CHOICES:
        if value in _CHOICES[name]:
            return value
        raise _wrong(name, " | ".join(_CHOICES[name]), value)
    if name in _NUMBERS:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if whole and 1 <= value <= _NUMBERS[name]:
            return value
        raise _wrong(name, f"a number from 1 to {_NUMBERS[name]}", value)
    raise _wrong(name, "a text", value)


def _wrong(name: str, taken: str, value: Any) -> UsageError:
    return UsageError(
        f"{name} takes {taken}, not {value!r}", hint=f"Mend the line, or leave out {name}."
    )
