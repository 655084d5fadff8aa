"""Read the YAML front matter of a page, and set or remove one key without touching other text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gbrain.errors import BadPage

FrontMatterValue: TypeAlias = (
    "bool | int | float | str | list[FrontMatterValue] | dict[str, FrontMatterValue] | None"
)

MAX_FRONT_MATTER_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_VALUES = 10_000

_BOM = "\ufeff"
_FIRST_YAML_LINE = 2
_NEWLINE = re.compile(r"\r\n?|\n")
_OPENING = re.compile(r"\ufeff?---[ \t]*(\r\n?|\n)")
_CLOSING = re.compile(r"[\r\n](?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)")
_CLOSING_AT_END = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\r\n?|\n)?\Z")
_KEY_LINE = re.compile(r"""["']?[\w.-]+["']?[ \t]*:(?:\s|\Z)""")
_FORBIDDEN = re.compile(
    r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|[\ud800-\udfff]|[\ufffe\uffff]"
)
_DIRECTIVE = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?+[\r\n]++)*+%")
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(\.[0-9]*)?|(\.[0-9]+))([eE][-+]?[0-9]+)?")

# The parser follows YAML 1.1, which ends a line at these; YAML 1.2 and editors do not.
_YAML_1_1_LINE_ENDS = "\x85\u2028\u2029"
# More characters than fit into MAX_FRONT_MATTER_BYTES: one is always unused.
_PLACEHOLDERS = range(0x10FFFF, 0xFFFF, -1)

_CONSTANTS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip

_NEEDS_NO_QUOTES = re.compile(r"[^\W\d_][\w./-]*")
# Words that some YAML parsers do not read as text.
_RESERVED_WORDS = frozenset("true false null yes no on off y n".split())

_HINT_CLOSE = "End the front matter with a line that contains only ---."
_HINT_QUOTE = (
    "Close every bracket and quote; put quotes around text that contains ': ' or ' #', or starts "
    "with one of {[*&!|>%@`."
)
_HINT_TAB = "Indent with spaces: YAML does not allow tabs."
_HINT_SMALLER = "Move long or deep data out of the front matter, into the page or another file."
_HINT_MAP = "Write front matter as 'key: value' lines."


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a page: its text, its values and the lines of its keys.

    `raw` is the page from its first character to the newline after the closing `---`; without
    front matter it is empty or a byte order mark. `values` are in the order of the page and can be
    written as JSON. `lines` has the line of each top-level key in the page, counted from 1.
    """

    raw: str
    values: Mapping[str, FrontMatterValue]
    lines: Mapping[str, int]


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Split a page into front matter and body; `front.raw + body == text` always.

    Raises BadPage for front matter that has no end or is not valid YAML.
    """
    start = len(_BOM) if text.startswith(_BOM) else 0
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter(text[:start], {}, {}), text[start:]
    closing = _CLOSING.search(text, opening.end() - 1)
    has_key = _KEY_LINE.match(text, opening.end()) is not None
    if closing is None and has_key:
        raise BadPage("front matter starts on line 1 and has no end", hint=_HINT_CLOSE)
    if closing is not None:
        end = closing.end()
        if len(text[:end].encode("utf-8", "surrogatepass")) <= MAX_FRONT_MATTER_BYTES:
            parsed = _parse_yaml(text[opening.end() : closing.start() + 1])
            if parsed is not None:
                return FrontMatter(text[:end], *parsed), text[end:]
        elif has_key:
            raise _bad_line(1, "front matter is longer than 1 MB", _HINT_SMALLER)
    return FrontMatter(text[:start], {}, {}), text[start:]


def _parse_yaml(source: str) -> tuple[dict[str, FrontMatterValue], dict[str, int]] | None:
    """Return values and key lines of the YAML between the delimiters; None if it is plain text."""
    import yaml

    if forbidden := _FORBIDDEN.search(source):
        line = _FIRST_YAML_LINE + len(_NEWLINE.findall(source, 0, forbidden.start()))
        raise _not_allowed(forbidden[0], line)
    if directive := _DIRECTIVE.match(source):
        line = _FIRST_YAML_LINE + len(_NEWLINE.findall(directive[0]))
        raise _bad_line(
            line,
            "front matter must not contain YAML directives",
            "Remove the line that starts with %.",
        )
    replaced = _line_end_placeholders(source)
    if replaced:
        source = source.translate(replaced)
    parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _ValueBuilder(yaml, {new: old for old, new in replaced.items()})
    try:
        return builder.build(parser(source).get_event)
    except yaml.YAMLError as error:
        raise _parser_error(error, source) from None
    except (ValueError, OverflowError):
        # In the pure-Python parser, chr() fails on an escape such as "\UFFFFFFFF".
        raise _bad_line(builder.line, "an escape stands for no character", _HINT_QUOTE) from None


class _ValueBuilder:
    """Builds values from YAML events in one pass; enforces MAX_DEPTH and MAX_VALUES."""

    def __init__(self, yaml: Any, restore: dict[int, int]) -> None:
        self._yaml = yaml
        self._next: Callable[[], Any] = lambda: None
        self._restore = restore
        self._anchored: dict[str, FrontMatterValue] = {}
        self._nodes = 0
        self.line = _FIRST_YAML_LINE

    def build(
        self, next_event: Callable[[], Any]
    ) -> tuple[dict[str, FrontMatterValue], dict[str, int]] | None:
        """Return the top-level values and the line of each key; None if the root is plain text."""
        self._next = next_event
        self._next()
        if type(self._next()) is self._yaml.StreamEndEvent:
            return {}, {}
        root = self._next()
        if type(root) is self._yaml.SequenceStartEvent:
            raise _bad_line(_line(root), "front matter is a list, not a map", _HINT_MAP)
        if type(root) is not self._yaml.MappingStartEvent:
            return None
        lines: dict[str, int] = {}
        values = self._mapping(root, 1, lines)
        self._next()
        after = self._next()
        if type(after) is not self._yaml.StreamEndEvent:
            raise _bad_line(_line(after), "a second YAML document starts here", _HINT_CLOSE)
        return values, lines

    def _value(self, event: Any, depth: int) -> FrontMatterValue:
        kind = type(event)
        if kind is self._yaml.ScalarEvent:
            return self._scalar(event)[1]
        if kind is self._yaml.MappingStartEvent:
            return self._mapping(event, depth, {})
        if kind is self._yaml.SequenceStartEvent:
            return self._sequence(event, depth)
        return self._alias(event, depth)

    def _mapping(
        self, start: Any, depth: int, lines: dict[str, int]
    ) -> dict[str, FrontMatterValue]:
        self._enter_node(start, depth)
        values: dict[str, FrontMatterValue] = {}
        while type(event := self._next()) is not self._yaml.MappingEndEvent:
            if type(event) is not self._yaml.ScalarEvent:
                what = "a key must be text, not a list, a map or an alias"
                raise _bad_line(_line(event), what, _HINT_QUOTE)
            key = self._scalar(event)[0]
            if key in lines:
                what = f"a duplicate key, first on line {lines[key]}"
                raise _bad_line(self.line, what, "Remove one of the two.")
            lines[key] = self.line
            values[key] = self._value(self._next(), depth + 1)
        self._anchor(start, values)
        return values

    def _sequence(self, start: Any, depth: int) -> list[FrontMatterValue]:
        self._enter_node(start, depth)
        values: list[FrontMatterValue] = []
        while type(event := self._next()) is not self._yaml.SequenceEndEvent:
            values.append(self._value(event, depth + 1))
        self._anchor(start, values)
        return values

    def _scalar(self, event: Any) -> tuple[str, FrontMatterValue]:
        """Return the text of a scalar and its value."""
        self._count(event, 1)
        text: str = event.value
        if event.style == '"' and (escaped := _FORBIDDEN.search(text)):
            raise _not_allowed(escaped[0], self.line)
        if self._restore:
            text = text.translate(self._restore)
        value = text if event.style or event.tag is not None else _parse_plain(text)
        self._anchor(event, value)
        return text, value

    def _alias(self, event: Any, depth: int) -> FrontMatterValue:
        if event.anchor not in self._anchored:
            what = "an alias without an anchor above it"
            raise _bad_line(_line(event), what, _HINT_QUOTE)
        value = self._anchored[event.anchor]
        nodes, height = _measure(value)
        self._count(event, nodes)
        self._limit_depth(depth + height - 1)
        return value

    def _enter_node(self, start: Any, depth: int) -> None:
        self._count(start, 1)
        self._limit_depth(depth)
        self._anchored.pop(start.anchor, None)

    def _anchor(self, event: Any, value: FrontMatterValue) -> None:
        if event.anchor is not None:
            self._anchored[event.anchor] = value

    def _count(self, event: Any, nodes: int) -> None:
        self.line = _line(event)
        self._nodes += nodes
        if self._nodes > MAX_VALUES:
            what = f"front matter has more than {MAX_VALUES} values with aliases expanded"
            raise _bad_line(self.line, what, _HINT_SMALLER)

    def _limit_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            what = f"front matter is nested more than {MAX_DEPTH} levels deep"
            raise _bad_line(self.line, what, _HINT_SMALLER)


def _parse_plain(text: str) -> FrontMatterValue:
    """Return the value of an unquoted scalar: text, unless it is a constant or number of JSON."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    if number.lastindex is None:
        # A 64-bit integer has at most twenty characters.
        return int(text) if len(text) <= 20 and -(2**63) <= int(text) < 2**63 else text
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


def _measure(value: FrontMatterValue) -> tuple[int, int]:
    """Return how many values and keys a value contains, and how deep it is nested."""
    if isinstance(value, dict):
        children, keys = list(value.values()), len(value)
    elif isinstance(value, list):
        children, keys = value, 0
    else:
        return 1, 0
    measured = [_measure(child) for child in children]
    return 1 + keys + sum(n for n, _ in measured), 1 + max((h for _, h in measured), default=0)


def _line_end_placeholders(source: str) -> dict[int, int]:
    """Return an unused character for each one that only YAML 1.1 takes as the end of a line."""
    if source.isascii():
        return {}
    used = set(source)
    unused = (code for code in _PLACEHOLDERS if chr(code) not in used)
    return {ord(mark): next(unused) for mark in _YAML_1_1_LINE_ENDS if mark in used}


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + _FIRST_YAML_LINE


def _bad_line(line: int, what: str, hint: str) -> BadPage:
    return BadPage(f"line {line}: {what}", hint=hint)


def _not_allowed(character: str, line: int) -> BadPage:
    what = f"the character U+{ord(character):04X} is not allowed in front matter"
    return _bad_line(line, what, "Remove it.")


def _parser_error(error: Any, source: str) -> BadPage:
    """Return the parser's error, at the line where a person would look for the mistake."""
    mark = error.problem_mark
    # Report an unclosed quote or bracket where it starts; a block may start far above the error.
    if error.context_mark and "block" not in error.context and "tab" not in error.problem:
        mark = error.context_mark
    text = _NEWLINE.split(source)[mark.line]
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    hint = _HINT_TAB if "\t" in indent else _HINT_QUOTE
    # The parser's own words mean little to a user of notes, and may quote text of the page.
    return _bad_line(mark.line + _FIRST_YAML_LINE, "this front matter is not valid YAML", hint)


def set_key(text: str, key: str, value: str) -> str:
    """Return the page with `key: value` in its front matter, which is added if there is none.

    An existing key gets the new value. `remove_key` restores the text exactly. Raises BadPage if
    the line cannot be added without changing other values.
    """
    if split_front_matter(text)[0].values.get(key) == value:
        return text
    bare = remove_key(text, key)
    front, body = split_front_matter(bare)
    wanted = {**front.values, key: value}
    for edited in _add_key_variants(front, body, key, value):
        if _parses_to(edited, wanted, body):
            return edited
    raise BadPage(
        f"line 1: {key} cannot be added to this front matter",
        hint=f"Add '{key}: {value}' in an editor: gbrain edit SLUG",
    )


def remove_key(text: str, key: str) -> str:
    """Return the page without the key; front matter that is empty then is removed too.

    Raises BadPage if the key cannot be removed without changing other values.
    """
    front, body = split_front_matter(text)
    if key not in front.values:
        return text
    wanted = {name: value for name, value in front.values.items() if name != key}
    for edited in _remove_key_variants(front, body, key):
        if _parses_to(edited, wanted, body):
            return edited
    raise BadPage(
        f"line {front.lines[key]}: {key} cannot be removed from this front matter",
        hint="Remove it in an editor: gbrain edit SLUG",
    )


def _parses_to(text: str, values: Mapping[str, FrontMatterValue], body: str) -> bool:
    try:
        front, rest = split_front_matter(text)
    except BadPage:
        return False
    return dict(front.values) == values and rest == body


def _add_key_variants(front: FrontMatter, body: str, key: str, value: str) -> Iterator[str]:
    """Yield the page with the key in different places, the best place first."""
    opening, closing = _OPENING.match(front.raw), _CLOSING_AT_END.search(front.raw)
    line = f"{key}: {_quote_if_needed(value)}"
    if opening is None or closing is None:
        found = _NEWLINE.search(body)
        newline = found[0] if found else "\n"
        yield f"{front.raw}---{newline}{line}{newline}---{newline}{body}"
        return
    top, bottom = opening.end(), closing.start()
    if top == bottom:
        # Single quotes mark a front matter that was empty before, so that remove_key keeps it.
        line = f"{key}: {_single_quote(value)}"
    first = _NEWLINE.split(front.raw)[min(front.lines.values(), default=1) - 1]
    indents = dict.fromkeys((first[: len(first) - len(first.lstrip(" "))], ""))
    for place in (bottom, top):
        for indent in indents:
            added = f"{indent}{line}{opening[1]}"
            yield front.raw[:place] + added + front.raw[place:] + body
    brace = front.raw.find("{") + 1
    yield f"{front.raw[:brace]}{line}, {front.raw[brace:]}{body}"


def _remove_key_variants(front: FrontMatter, body: str, key: str) -> Iterator[str]:
    """Yield the page without the key: without front matter, line or lines, flow-style entry."""
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


def _quote_if_needed(value: str) -> str:
    plain = _NEEDS_NO_QUOTES.fullmatch(value) and value.casefold() not in _RESERVED_WORDS
    return value if plain else json.dumps(value, ensure_ascii=False)


def _single_quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
