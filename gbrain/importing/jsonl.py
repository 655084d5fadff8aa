"""Parse JSON lines into pages, one page per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, Protocol

from gbrain.errors import BadPage
from gbrain.text.page import MAX_PAGE_BYTES

# A character takes at most six bytes in JSON, as in \u00e9.
MAX_JSONL_LINE_BYTES = 6 * MAX_PAGE_BYTES + 1_000_000

_HINT = 'Write lines like {"slug": "notes/a", "text": "# A\\n"}, or with title, tags and body.'
_NAMES = ("path", "slug", "title")
_NOT_FRONT_MATTER = frozenset(("path", "slug", "body", "text"))
_BOM = b"\xef\xbb\xbf"


class LineSource(Protocol):
    """What lines are read from: a file, or a stream that keeps what is read."""

    def readline(self, limit: int, /) -> bytes:
        """Return the next line of at most `limit` bytes, empty at the end."""


class JsonlRecord(NamedTuple):
    """The page of one line: `name` is a path or slug, `data` the page's bytes."""

    name: str
    data: bytes


def read_records(source: LineSource) -> Iterator[tuple[int, JsonlRecord | BadPage]]:
    """Yield each line's number, from 1, with its page or error; blank lines are skipped."""
    number = 0
    while line := source.readline(MAX_JSONL_LINE_BYTES):
        number += 1
        if len(line) == MAX_JSONL_LINE_BYTES and not line.endswith(b"\n"):
            while (rest := source.readline(MAX_JSONL_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield number, BadPage("the line is too long", hint=_HINT, code="line_too_long")
            continue
        if number == 1:
            line = line.removeprefix(_BOM)
        if line.strip():
            try:
                yield number, _parse_record(line)
            except BadPage as error:
                yield number, error


def _parse_record(line: bytes) -> JsonlRecord:
    """Return the page of one line; raise BadPage if it is not valid."""
    try:
        record = json.loads(line.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise _bad_line("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _bad_line(f"not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise _bad_line("not JSON: a number is too large or the nesting too deep") from None
    if not isinstance(record, dict):
        raise _bad_line("not a JSON object")
    name = next((record[key] for key in _NAMES if record.get(key) is not None), None)
    if not isinstance(name, str):
        raise _bad_line("slug, path or title is missing or not a string")
    text = record["text"] if record.get("text") is not None else _compose_page(record)
    if not isinstance(text, str):
        raise _bad_line("text or body is missing or not a string")
    try:
        return JsonlRecord(name, text.encode())
    except UnicodeEncodeError:
        raise _bad_line("contains half of a surrogate pair, which is not a character") from None


def _compose_page(record: dict[str, Any]) -> str | None:
    """Return a page with the record's body and its other keys as front matter."""
    body = record.get("body")
    if not isinstance(body, str):
        return None
    values = {
        key: value
        for key, value in record.items()
        if key not in _NOT_FRONT_MATTER and value is not None
    }
    # JSON is valid YAML, so every value is parsed back unchanged.
    lines = [
        f"{key if key.isidentifier() else _json(key)}: {_json(value)}\n"
        for key, value in values.items()
    ]
    return f"---\n{''.join(lines)}---\n{body}" if lines else body


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse_constant(name: str) -> NoReturn:
    raise _bad_line(f"not JSON: {name}")


def _bad_line(reason: str) -> BadPage:
    return BadPage(reason, hint=_HINT, code="bad_line")
