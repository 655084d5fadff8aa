"""Finds the block structure of a Markdown page in one pass over its lines."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside lists and quotes; `text` is its inline source on one line."""

    line: int
    end: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item outside other lists and quotes, up to its last line that is not blank."""

    line: int
    end: int
    ordered: bool


@dataclass(frozen=True, slots=True)
class Structure:
    """Where a page's blocks are, in page order: lines count from 0, an `end` is the line after.

    `starts` has the character offset of every line, then the length of the text. `code` has the
    line ranges of fenced code, indented code and HTML blocks at any depth. `rules` has the lines
    of thematic breaks outside lists and quotes.
    """

    starts: tuple[int, ...]
    headings: tuple[Heading, ...]
    code: tuple[tuple[int, int], ...]
    rules: tuple[int, ...]
    items: tuple[ListItem, ...]


# Deeper lists and quotes are text, lest a line of ten million markers opens as many blocks.
MAX_NESTING_DEPTH = 32
# As in CommonMark's reference implementations: deeper ones make no link destination.
MAX_PARENTHESES = 32

_BLANK = " \t"
# What CommonMark trims from inline text; str.strip() would take control characters too.
_TRIMMED = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# A line that begins with any other character begins a paragraph or goes on with one.
_TELLING = frozenset(["", *" \t#`~>-+*_=<[0123456789"])
_OPENER = re.compile(
    r"(?P<heading>#{1,6})(?:[ \t]|$)"
    r"|(?P<fence>`{3,}(?=[^`]*$)|~{3,})"
    r"|(?P<quote>>)"
    r"|(?P<rule>-[ \t]*-[ \t]*-[- \t]*+$|\*[ \t]*\*[ \t]*\*[* \t]*+$|_[ \t]*_[ \t]*_[_ \t]*+$)"
    r"|(?P<item>[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$)"
    r"|(?P<html><)"
    r"|(?P<bracket>\[)"
)
# An item at the margin whose text is plainly a paragraph: most items are, and need no more care.
_PLAIN_ITEM = re.compile(
    r"([-+*]|[0-9]{1,9}[.)])( {1,4})"
    r"(?:[^ \t#`~>\-+*_=<\[0-9]|[0-9]++(?![.)])|\*++[^ \t]|`[^`]|\[(?:\[|[ xX]\] ))"
)
# The patterns from here on stay strings, for `re` to compile and keep when a page needs them.
_NEWLINE = r"\r\n?|\n"
_HTML = (
    r"<(?:(!--)|(\?)|(![A-Za-z])|(!\[CDATA\[)|((?ai:script|pre|style|textarea))(?=[\s>]|$)"
    r"|/?(?P<name>[A-Za-z][A-Za-z0-9]*)(?=\s|/?>|$))"
)
_HTML_ENDS = (
    ("-->",),
    ("?>",),
    (">",),
    ("]]>",),
    ("</script>", "</pre>", "</style>", "</textarea>"),
)
_HTML_NAMES = (
    " address article aside base basefont blockquote body caption center col colgroup dd details"
    " dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6"
    " head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option"
    " p param search section summary table tbody td tfoot th thead title tr track ul "
)
_HTML_TAG = (
    r"<(?:/[A-Za-z][A-Za-z0-9-]*+\s*+|[A-Za-z][A-Za-z0-9-]*+(?:\s++[A-Za-z_:][A-Za-z0-9:._-]*+"
    r"(?:\s*+=\s*+(?:[^\"'=<>`\x00-\x20]++|'[^']*+'|\"[^\"]*+\"))?+)*+\s*+/?)>\s*$"
)
_BLANKS = r"[ \t]*"
_LABEL = r"(?:[^\\\[\]]++|\\.?)*+"
_DESTINATION = r"<(?:[^\\<>]++|\\.)*+>|(?!<)(?:[^\x00-\x20\x7f\\]++|\\[^ ])*+"
_UNSAFE = r"(?i)<?\s*(?:javascript|vbscript|file|data(?!:image/(?:gif|png|jpeg|webp);))\\?:"
_NOT_PARENTHESES = r"(?:[^\\()]++|\\.?)++"
_TITLES = {
    '"': ('"', r'(?:[^\\"]++|\\.?)*+'),
    "'": ("'", r"(?:[^\\']++|\\.?)*+"),
    "(": (")", r"(?:[^\\()]++|\\.?)*+"),
}

# The block that is open inside all lists and quotes; the last three are `code`.
_NOTHING, _PARAGRAPH, _EMPTY_ITEM, _FENCE, _INDENTED, _HTML_BLOCK = range(6)


def is_within(ranges: Sequence[tuple[int, int]], place: int) -> bool:
    """Whether a place (a line, an offset) is in one of the ranges, which are in order."""
    at = bisect_right(ranges, (place, sys.maxsize)) - 1
    return at >= 0 and place < ranges[at][1]


def scan_blocks(text: str) -> Structure:
    """The blocks of a page, as markdown-it finds them with its CommonMark preset.

    Lines end with \\n, \\r\\n or \\r. Lists and quotes nested deeper than MAX_DEPTH are text.
    """
    source = text.replace("\0", "\ufffd")
    if "\r" in text:
        lines = re.split(_NEWLINE, source)
        starts = [0, *[newline.end() for newline in re.finditer(_NEWLINE, source)], len(text)]
    else:
        lines = source.split("\n")
        start = 0
        starts = [0, *[start := start + len(line) + 1 for line in lines]]
        starts[-1] = len(text)
    if not lines[-1]:
        lines.pop()
        starts.pop()
    scanner = _Scanner(lines)
    scanner.run()
    return Structure(
        starts=tuple(starts),
        headings=tuple(scanner.headings),
        code=tuple(scanner.code),
        rules=tuple(scanner.rules),
        items=tuple(scanner.items),
    )


class _Scanner:
    """The blocks open above a line: containers (the page, items, quotes) in a stack, one leaf."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.headings: list[Heading] = []
        self.code: list[tuple[int, int]] = []
        self.rules: list[int] = []
        self.items: list[ListItem] = []
        # The column where each container's content begins, and which of the containers are quotes.
        self.columns = [0]
        self.quotes: list[int] = []
        # First line and kind of the open item that will be one of `items`.
        self.item: tuple[int, bool] | None = None
        self.leaf = _NOTHING
        self.start = 0
        self.fence = ""
        self.margin = ""
        self.indented_end = 0
        self.html_ends: tuple[str, ...] = ()

    def run(self) -> None:
        """Reads all lines; what is ordinary is dealt with here, the rest by `step`."""
        lines, quotes = self.lines, self.quotes
        line, count = 0, len(lines)
        while line < count:
            leaf, source = self.leaf, lines[line]
            if leaf <= _PARAGRAPH and source[:1] not in _TELLING:
                if leaf == _NOTHING:
                    self.close(1, line)
                    self.leaf, self.start = _PARAGRAPH, line
                line += 1
            elif leaf <= _PARAGRAPH and not source and not quotes:
                self.leaf = _NOTHING
                line += 1
            elif leaf == _FENCE and self.fence not in source and source.startswith(self.margin):
                line += 1
            elif self.item and (plain := _PLAIN_ITEM.match(source)):
                self.close(1, line)
                self.item = (line, plain.end(1) > 1)
                self.columns.append(plain.end(2))
                self.leaf, self.start = _PARAGRAPH, line
                line += 1
            else:
                line = self.step(line)
        self.close(1, count)

    def step(self, line: int) -> int:
        """Reads a line, or a whole link reference definition; the line to read next."""
        columns, quotes = self.columns, self.quotes
        text, column, shift, depth = self.peel(line)
        opener = _OPENER.match(text) if text[:1] in _TELLING else None
        if depth < len(quotes):
            if text and self.leaf == _PARAGRAPH and self.is_lazy(depth, column, opener):
                return line + 1
            self.close(quotes[depth], line)
        if not text:
            self.pass_blank(line)
            return line + 1
        if self.leaf and self.continues_leaf(line, text, column, opener):
            return line + 1
        if self.leaf or columns[-1] > column:
            kept = len(columns)
            while columns[kept - 1] > column:
                kept -= 1
            self.close(kept, line)
        while text:
            if column - columns[-1] >= 4:
                self.leaf, self.start, self.indented_end = _INDENTED, line, line + 1
                break
            kind = opener.lastgroup if opener else None
            if opener and kind == "item" and len(columns) <= MAX_NESTING_DEPTH:
                text, column = self.open_item(line, text, column, shift, opener["item"])
            elif kind == "quote" and len(columns) <= MAX_NESTING_DEPTH:
                quotes.append(len(columns))
                columns.append(0)
                text, column, shift = _unquote(text, column, shift)
            else:
                return self.open_leaf(line, text, opener)
            opener = _OPENER.match(text) if text[:1] in _TELLING else None
        return line + 1

    def peel(self, line: int) -> tuple[str, int, int, int]:
        """What a line says inside those of the open quotes that it goes on with, and their number.

        That is: its text, the text's column, and the column of the quote's content as seen from
        outside that quote, which tab stops are counted from.
        """
        source = self.lines[line]
        text = source.lstrip(_BLANK)
        column = len(source) - len(text)
        if column and "\t" in source:
            column = _width(source[:column], 0)
        if not self.quotes:
            return text, column, 0, 0
        shift = 0
        for depth, place in enumerate(self.quotes):
            if text[:1] != ">" or column < self.columns[place - 1]:
                return text, column, shift, depth
            text, column, shift = _unquote(text, column, shift)
        return text, column, shift, len(self.quotes)

    def is_lazy(self, depth: int, column: int, opener: re.Match[str] | None) -> bool:
        """Whether a line that lacks the marker of a quote goes on with a paragraph inside it."""
        if self.interrupts(opener, column, self.quotes[depth] - 1):
            return False
        # Quotes inside that quote see the line without its indentation.
        return depth + 1 == len(self.quotes) or not self.interrupts(opener, -1, 0)

    def interrupts(
        self, opener: re.Match[str] | None, column: int, place: int, *, paragraph: bool = False
    ) -> bool:
        """Whether a line begins a block that ends a paragraph in the container at `place`.

        Right below a `paragraph` of that container a list must have text and begin with 1.
        """
        indent = column - self.columns[place]
        if opener is None or indent >= 4 or opener.lastgroup == "bracket":
            return False
        if opener.lastgroup == "html":
            return _html_ends(opener.string, interrupting=True) is not None
        if opener.lastgroup == "item":
            if indent < 0:
                return place == 0 or column - self.columns[place - 1] < 4
            if paragraph:
                marker = opener["item"]
                begins_with_one = len(marker) == 1 or int(marker[:-1]) == 1
                return begins_with_one and len(opener.string.rstrip(_BLANK)) > len(marker)
        return True

    def pass_blank(self, line: int) -> None:
        """Ends what a blank line ends."""
        if self.leaf == _EMPTY_ITEM:
            self.close(len(self.columns) - 1, line)
        elif self.leaf == _PARAGRAPH or (self.leaf == _HTML_BLOCK and not self.html_ends):
            self.end_leaf(line)

    def continues_leaf(
        self, line: int, text: str, column: int, opener: re.Match[str] | None
    ) -> bool:
        """Whether a line belongs to the open leaf; if that ends with the line, it is closed."""
        leaf = self.leaf
        indent = column - self.columns[-1]
        if leaf == _PARAGRAPH:
            is_line = text[0] in "=-" and not text.lstrip(text[0]).strip(_BLANK)
            if is_line and 0 <= indent < 4:
                self.underline(line, 1 if text[0] == "=" else 2)
                return True
            return not self.interrupts(opener, column, len(self.columns) - 1, paragraph=True)
        if leaf == _INDENTED and indent >= 4:
            self.indented_end = line + 1
            return True
        if leaf == _FENCE and indent >= 0:
            closes = indent < 4 and text.startswith(self.fence)
            if closes and not text.lstrip(self.fence[0]).strip(_BLANK):
                self.end_leaf(line + 1)
            return True
        if leaf == _HTML_BLOCK and indent >= 0:
            if _has_any(text, self.html_ends):
                self.end_leaf(line + 1)
            return True
        return False

    def open_item(
        self, line: int, text: str, column: int, shift: int, marker: str
    ) -> tuple[str, int]:
        """Opens a list item; the text behind its marker, and the column of that."""
        tail = text[len(marker) :]
        body = tail.lstrip(_BLANK)
        column += len(marker)
        gap = _width(tail[: len(tail) - len(body)], column + shift)
        if len(self.columns) == 1:
            self.item = (line, len(marker) > 1)
        self.columns.append(column + (gap if body and gap <= 4 else 1))
        if not body:
            self.leaf = _EMPTY_ITEM
        return body, column + gap

    def open_leaf(self, line: int, text: str, opener: re.Match[str] | None) -> int:
        """Opens the leaf that begins on a line; the line to read next."""
        kind = opener.lastgroup if opener else None
        at_top = len(self.columns) == 1
        if opener and kind == "heading":
            if at_top:
                level = opener.end("heading")
                self.headings.append(Heading(line, line + 1, level, _heading_text(text[level:])))
            return line + 1
        if kind == "rule":
            if at_top:
                self.rules.append(line)
            return line + 1
        if opener and kind == "fence":
            self.leaf, self.start, self.fence = _FENCE, line, opener["fence"]
            # No line begins with a newline: inside quotes every line takes the way through `step`.
            self.margin = "\n" if self.quotes else " " * self.columns[-1]
            return line + 1
        if kind == "html" and (ends := _html_ends(text, interrupting=False)) is not None:
            self.leaf, self.start, self.html_ends = _HTML_BLOCK, line, ends
            if _has_any(text, ends):
                self.end_leaf(line + 1)
            return line + 1
        if kind == "bracket" and (end := self.definition_end(line, text)) > line:
            return end
        self.leaf, self.start = _PARAGRAPH, line
        return line + 1

    def underline(self, line: int, level: int) -> None:
        """Makes a heading of the open paragraph."""
        self.leaf = _NOTHING
        if len(self.columns) == 1:
            text = " ".join(part.strip(_BLANK) for part in self.lines[self.start : line])
            self.headings.append(Heading(self.start, line + 1, level, text.strip(_TRIMMED)))

    def close(self, kept: int, line: int) -> None:
        """Closes the leaf and all but the outer `kept` containers before a line."""
        self.end_leaf(line)
        if kept == len(self.columns):
            return
        del self.columns[kept:]
        while self.quotes and self.quotes[-1] >= kept:
            self.quotes.pop()
        if self.item and kept == 1:
            while not self.lines[line - 1].strip(_BLANK):
                line -= 1
            self.items.append(ListItem(self.item[0], line, self.item[1]))
            self.item = None

    def end_leaf(self, line: int) -> None:
        """Closes the leaf before a line."""
        if self.leaf >= _FENCE:
            self.code.append((self.start, self.indented_end if self.leaf == _INDENTED else line))
        self.leaf = _NOTHING

    def definition_end(self, line: int, text: str) -> int:
        """The line after the link reference definition on a line; that line if there is none."""
        none = line
        is_named = False
        place = 1
        while (stop := _end(_LABEL, text, place)) == len(text):
            is_named = is_named or text[place:].strip(_TRIMMED) != ""
            line, place = line + 1, 0
            text = self.continuation(line)
            if not text:
                return none
        if not (is_named or text[place:stop].strip(_TRIMMED)) or not text.startswith("]:", stop):
            return none
        place = _end(_BLANKS, text, stop + 2)
        if place == len(text):
            line, place = line + 1, 0
            text = self.continuation(line)
        stop = _end(_DESTINATION, text, place)
        # A backslash that ends the line ends the definition with it: markdown-it sees an escape.
        if text[stop:] == "\\" and text[place] != "<":
            return line + 1 if _is_destination(text[place:]) else none
        if not _is_destination(text[place:stop]):
            return none
        untitled = none
        place = _end(_BLANKS, text, stop)
        if place == len(text):
            line, place = line + 1, 0
            untitled = line
            text = self.continuation(line)
        elif place == stop:
            return none
        if text[place : place + 1] not in _TITLES:
            return untitled
        closer, pattern = _TITLES[text[place]]
        place += 1
        is_empty = text.startswith(closer, place)
        while (stop := _end(pattern, text, place)) == len(text):
            line, place = line + 1, 0
            text = self.continuation(line)
            if not text:
                return untitled
        if text[stop] == closer and not text[stop + 1 :].strip(_BLANK):
            return line + 1
        return none if is_empty else untitled

    def continuation(self, line: int) -> str:
        """The text of a line that may go on with a definition above it, or nothing."""
        if line == len(self.lines):
            return ""
        text, column, _, depth = self.peel(line)
        opener = _OPENER.match(text)
        if depth < len(self.quotes):
            return text if text and self.is_lazy(depth, column, opener) else ""
        return "" if self.interrupts(opener, column, len(self.columns) - 1) else text


def _width(blanks: str, column: int) -> int:
    """How many columns blanks take from a column on, with tab stops every four columns."""
    if "\t" not in blanks:
        return len(blanks)
    before = column % 4
    return len((" " * before + blanks).expandtabs(4)) - before


def _unquote(text: str, column: int, shift: int) -> tuple[str, int, int]:
    """What a line says behind the marker of a quote: text, column and shift as in `peel`."""
    inside = text[1:]
    content = column + 1
    if inside[:1] not in _BLANK:
        return inside, 0, content
    # Of a tab that is wider than the one optional blank, the rest is indentation.
    if inside[:1] == " " or (content + shift) % 4 == 3:
        inside = inside[1:]
    content += 1
    body = inside.lstrip(_BLANK)
    return body, _width(inside[: len(inside) - len(body)], content + shift), content


def _heading_text(text: str) -> str:
    """The text behind a heading's marker, without the closing one."""
    text = text.rstrip(_BLANK)
    unclosed = text.rstrip("#")
    return (unclosed if unclosed.endswith((" ", "\t")) else text).strip(_TRIMMED)


def _html_ends(text: str, *, interrupting: bool) -> tuple[str, ...] | None:
    """What ends the HTML block that a text begins, () being a blank line; None if it begins none.

    A lone tag of whatever name begins one too, but not when `interrupting` a paragraph.
    """
    opener = re.match(_HTML, text)
    if opener and opener["name"] is None:
        return _HTML_ENDS[(opener.lastindex or 0) - 1]
    if opener and f" {opener['name'].lower()} " in _HTML_NAMES:
        return ()
    return () if not interrupting and re.match(_HTML_TAG, text) else None


def _has_any(text: str, ends: tuple[str, ...]) -> bool:
    folded = text.lower()
    return any(end in folded for end in ends)


def _end(pattern: str, text: str, place: int) -> int:
    """Where a match at a place ends: at that place if there is none."""
    match = re.compile(pattern).match(text, place)
    return match.end() if match else place


def _is_destination(text: str) -> bool:
    """Whether a link may lead there: markdown-it refuses scripts, and parentheses must pair up."""
    if not text or re.match(_UNSAFE, text):
        return False
    if text[0] == "<" or not ("(" in text or ")" in text):
        return True
    nested = re.sub(_NOT_PARENTHESES, "", text)
    for _ in range(MAX_PARENTHESES):
        nested = nested.replace("()", "")
    return not nested
