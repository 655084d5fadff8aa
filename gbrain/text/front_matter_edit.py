"""One key of a page's front matter written or taken out, every other byte left as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from gbrain.errors import BadPage
from gbrain.text.frontmatter import FrontMatter, Value, split

_BOM = "\ufeff"
_NEWLINE = re.compile(r"\r\n?|\n")
_OPENING = re.compile(r"\ufeff?---[ \t]*(\r\n?|\n)")
_CLOSING = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\r\n?|\n)?\Z")
_NEEDS_NO_QUOTES = re.compile(r"[^\W\d_][\w./-]*")
# Words that some reader of YAML takes for something other than text.
_WORDS = frozenset("true false null yes no on off y n".split())


def with_key(text: str, key: str, value: str) -> str:
    """The page with `key: value` in its front matter, which is made if there is none.

    A key that is there gets the new value. `without_key` gives back the bytes as they were
    without the key. Raises BadPage for front matter that takes no further line.
    """
    if split(text)[0].values.get(key) == value:
        return text
    bare = without_key(text, key)
    front, body = split(bare)
    wanted = {**front.values, key: value}
    for edited in _with_line(front, body, key, value):
        if _reads_as(edited, wanted, body):
            return edited
    raise BadPage(
        f"line 1: {key} cannot be written into this front matter",
        hint=f"Write '{key}: {value}' into it by hand.",
    )


def without_key(text: str, key: str) -> str:
    """The page without that key; front matter that held nothing else goes with it.

    Raises BadPage where the key cannot be told from what is around it.
    """
    front, body = split(text)
    if key not in front.values:
        return text
    wanted = {name: value for name, value in front.values.items() if name != key}
    for edited in _without_line(front, body, key):
        if _reads_as(edited, wanted, body):
            return edited
    raise BadPage(
        f"line {front.lines[key]}: {key} cannot be taken out of this front matter",
        hint="Take it out by hand.",
    )


def _reads_as(text: str, values: Mapping[str, Value], body: str) -> bool:
    try:
        front, rest = split(text)
    except BadPage:
        return False
    return dict(front.values) == values and rest == body


def _with_line(front: FrontMatter, body: str, key: str, value: str) -> Iterator[str]:
    """Pages that may hold the key, the best place first."""
    opening, closing = _OPENING.match(front.raw), _CLOSING.search(front.raw)
    line = f"{key}: {_spelled(value)}"
    if opening is None or closing is None:
        found = _NEWLINE.search(body)
        newline = found[0] if found else "\n"
        yield f"{front.raw}---{newline}{line}{newline}---{newline}{body}"
        return
    top, bottom = opening.end(), closing.start()
    if top == bottom:
        # Single quotes tell a front matter that was there, and empty, from one made for the key.
        line = f"{key}: {_single_quoted(value)}"
    first = _NEWLINE.split(front.raw)[min(front.lines.values(), default=1) - 1]
    indents = dict.fromkeys((first[: len(first) - len(first.lstrip(" "))], ""))
    for place in (bottom, top):
        for indent in indents:
            added = f"{indent}{line}{opening[1]}"
            yield front.raw[:place] + added + front.raw[place:] + body
    brace = front.raw.find("{") + 1
    yield f"{front.raw[:brace]}{line}, {front.raw[brace:]}{body}"


def _without_line(front: FrontMatter, body: str, key: str) -> Iterator[str]:
    """Pages that may be without the key, the whole front matter gone first."""
    written = rf'{key}: (?:[^\s"\'][^\r\n]*|"[^\r\n]*")'
    if re.fullmatch(rf"\ufeff?---(\r\n?|\n){written}\1---\1", front.raw):
        yield (_BOM if front.raw.startswith(_BOM) else "") + body
    starts = [0, *(end.end() for end in _NEWLINE.finditer(front.raw))]
    line = front.lines[key] - 1
    yield front.raw[: starts[line]] + front.raw[starts[line + 1] :] + body
    stop = line + 1
    while front.raw.startswith((" ", "-", "\t", "\r", "\n"), starts[stop]):
        if front.raw.startswith("---", starts[stop]):
            break
        stop += 1
    yield front.raw[: starts[line]] + front.raw[starts[stop] :] + body
    yield re.sub(rf"(\{{){key}: (?:[\w./-]+|\"[^\r\n]*?\"), ", r"\1", front.raw, count=1) + body


def _spelled(value: str) -> str:
    plain = _NEEDS_NO_QUOTES.fullmatch(value) and value.casefold() not in _WORDS
    return value if plain else json.dumps(value, ensure_ascii=False)


def _single_quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
