"""Pages as lines of JSON: what one line says, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

from gbrain.errors import BadPage
from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.text.slug import is_page_file

# A character takes at most six bytes in JSON.
MAX_JSONL_LINE_BYTES = 6 * MAX_PAGE_BYTES + 1_000_000

_HINT = 'A line reads {"slug": "notes/a", "text": "# A\\n"}, or has title, tags and body.'
_NAMES = ("path", "slug", "title")
_PARTS = frozenset(("path", "slug", "body", "text"))
_BOM = b"\xef\xbb\xbf"


class JsonlRecord(NamedTuple):
    """The page that a line holds: `name` is a path or a slug."""

    name: str
    data: bytes


def read_records(source: BinaryIO) -> Iterator[tuple[int, JsonlRecord | BadPage]]:
    """Each line's number, from 1, with its page or what is wrong; blank lines are left out."""
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
                yield number, _record(line)
            except BadPage as error:
                yield number, error


def page_path(name: str) -> str:
    """Where the page called `name` is kept."""
    return name if is_page_file(name) else f"{name}.md"


def _record(line: bytes) -> JsonlRecord:
    try:
        said = json.loads(line.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise _bad("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _bad(f"not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise _bad("not JSON: a number or a nesting that is too large") from None
    if not isinstance(said, dict):
        raise _bad("not a JSON object")
    name = next((said[key] for key in _NAMES if said.get(key) is not None), None)
    if not isinstance(name, str):
        raise _bad("no slug, path or title that is text")
    text = said["text"] if said.get("text") is not None else _page_text(said)
    if not isinstance(text, str):
        raise _bad("neither a text nor a body that is text")
    try:
        return JsonlRecord(name, text.encode())
    except UnicodeEncodeError:
        raise _bad("half of a surrogate pair, which is no character") from None


def _page_text(said: dict[str, Any]) -> str | None:
    """A page made of a body and of everything else as front matter."""
    body = said.get("body")
    if not isinstance(body, str):
        return None
    values = {key: value for key, value in said.items() if key not in _PARTS and value is not None}
    # JSON is YAML, so that every value comes back as it was given.
    lines = [
        f"{key if key.isidentifier() else _json(key)}: {_json(value)}\n"
        for key, value in values.items()
    ]
    return f"---\n{''.join(lines)}---\n{body}" if lines else body


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _refuse_constant(name: str) -> NoReturn:
    raise _bad(f"not JSON: {name}")


def _bad(reason: str) -> BadPage:
    return BadPage(reason, hint=_HINT, code="bad_line")
