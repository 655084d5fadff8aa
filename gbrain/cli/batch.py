"""Answer one query for each line of standard input; a JSON object carries options with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from gbrain.errors import GbrainError, UsageError
from gbrain.output.json import Document, error_fields
from gbrain.query_options import QUERY_OPTIONS, QueryOption

MAX_LINE_CHARACTERS = 1_000_000

_TOO_LONG = UsageError(
    f"The line has more than {MAX_LINE_CHARACTERS:,} characters", hint="Write one query per line."
)
_NOT_UTF8 = UsageError("The line is not UTF-8", hint="Convert it, for example with iconv.")


def answer_lines(
    source: TextIO, answer: Callable[[dict[str, Any]], Document], names: Iterable[str]
) -> Iterator[Document]:
    """Yield a document for each line that is not blank, in order; a line may fail alone.

    A line is a query, or a JSON object with a `query` and any of the options `names`.
    """
    allowed = ("query", *names)
    for text in _read_lines(source):
        try:
            if len(text) > MAX_LINE_CHARACTERS:
                raise _TOO_LONG
            yield answer(_parse_line(text, allowed))
        except GbrainError as error:
            yield {"query": text[:MAX_LINE_CHARACTERS], "error": error_fields(error)}
        except UnicodeEncodeError:
            yield {"query": text, "error": error_fields(_NOT_UTF8)}


def _read_lines(source: TextIO) -> Iterator[str]:
    """Yield lines that are not blank; one that is too long is cut one character after the limit."""
    most = MAX_LINE_CHARACTERS + 2
    while line := source.readline(most):
        rest = line
        while len(rest) == most and not rest.endswith("\n"):
            rest = source.readline(most)
        text = line.rstrip("\r\n")
        if text.strip():
            yield text


def _parse_line(text: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    if not text.lstrip().startswith("{"):
        return {"query": text}
    try:
        options = json.loads(text)
    except (ValueError, RecursionError):
        return {"query": text}
    if not isinstance(options, dict) or not isinstance(options.get("query"), str):
        raise UsageError(
            'A JSON line needs a "query"', hint='For example: {"query": "river ai", "limit": 5}'
        )
    for name in options:
        if name not in allowed:
            raise UsageError(
                f"There is no option {name!r}", hint=f"The options are {', '.join(allowed)}."
            )
    values = {
        name: _check_value(QUERY_OPTIONS[name], options[name])
        for name in options
        if name != "query"
    }
    return {"query": options["query"], **values}


def _check_value(option: QueryOption, value: Any) -> Any:
    """Return a value as the command line would pass it; null means that it is not given."""
    if value is None:
        return None
    if option.kind in ("texts", "pairs"):
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return items
        raise _wrong_value(option, "a text or a list of texts", value)
    if option.kind == "flag":
        valid, expected = isinstance(value, bool), "true or false"
    elif option.kind == "choice":
        valid, expected = value in option.choices, " | ".join(option.choices)
    elif option.kind == "number":
        whole = isinstance(value, int) and not isinstance(value, bool)
        valid = whole and 1 <= value <= option.maximum
        expected = f"a number from 1 to {option.maximum}"
    else:
        valid, expected = isinstance(value, str), "a text"
    if not valid:
        raise _wrong_value(option, expected, value)
    return value


def _wrong_value(option: QueryOption, expected: str, value: Any) -> UsageError:
    return UsageError(
        f"{option.name} takes {expected}, not {value!r}",
        hint=f"Correct the line, or leave out {option.name}.",
    )
