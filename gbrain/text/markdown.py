"""Find the headings, list items, code and rules of a Markdown page in one pass over its lines.

Written by hand because it is five times faster than markdown-it's block parser on our pages; tests
compare the two.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside lists and quotes; `text` is its Markdown on one line."""

    line: int
    end: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item outside other lists and quotes; `end` follows its last non-blank line."""

    line: int
    end: int
    ordered: bool


@dataclass(frozen=True, slots=True)
class Structure:
    """The blocks of a page in order; lines count from 0, an `end` is the line after the last.

    `starts` has the character offset of every line, and at last the length of the text. `code` has
    the line ranges of fenced code, indented code and HTML blocks at any depth. `rules` has the
    lines of thematic breaks outside lists and quotes.
    """

    starts: tuple[int, ...]
    headings: tuple[Heading, ...]
    code: tuple[tuple[int, int], ...]
    rules: tuple[int, ...]
    items: tuple[ListItem, ...]


# Deeper lists and quotes are text: a line of ten million markers must not open as many blocks.
MAX_NESTING_DEPTH = 32
# As in the CommonMark reference implementations: deeper ones are not a link destination.
MAX_PARENTHESES = 32

_BLANK = " \t"
# CommonMark trims these from inline text; str.strip() would also remove control characters.
_TRIMMED = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# A line that starts with any other character starts or continues a paragraph.
_BLOCK_STARTS = frozenset(["", *" \t#`~>-+*_=<[0123456789"])
_OPENER = re.compile(
    r"(?P<heading>#{1,6})(?:[ \t]|$)"
    r"|(?P<fence>`{3,}(?=[^`]*$)|~{3,})"
    r"|(?P<quote>>)"
    r"|(?P<rule>-[ \t]*-[ \t]*-[- \t]*+$|\*[ \t]*\*[ \t]*\*[* \t]*+$|_[ \t]*_[ \t]*_[_ \t]*+$)"
    r"|(?P<item>[-+*]|[0-9]{1,9}[.)])(?:[ \t]|$)"
    r"|(?P<html><)"
    r"|(?P<bracket>\[)"
)
# A top-level item whose text is a paragraph: most items are, and this is a fast path for them.
_PLAIN_ITEM = re.compile(
    r"([-+*]|[0-9]{1,9}[.)])( {1,4})"
    r"(?:[^ \t#`~>\-+*_=<\[0-9]|[0-9]++(?![.)])|\*++[^ \t]|`[^`]|\[(?:\[|[ xX]\] ))"
)
# The patterns below are strings: `re` compiles and caches them when a page needs them.
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

# Kinds of the innermost open block, the leaf; the last three are `code`.
_NOTHING, _PARAGRAPH, _EMPTY_ITEM, _FENCE, _INDENTED, _HTML_BLOCK = range(6)


def is_within(ranges: Sequence[tuple[int, int]], place: int) -> bool:
    """Tell whether a line or an offset is in one of the ranges, which must be sorted."""
    at = bisect_right(ranges, (place, sys.maxsize)) - 1
    return at >= 0 and place < ranges[at][1]


def scan_blocks(text: str) -> Structure:
    """Return the blocks of a page, as markdown-it finds them with its CommonMark preset.

    Lines end with \\n, \\r\\n or \\r. Lists and quotes nested deeper than MAX_NESTING_DEPTH are
    text.
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
    """The state of the scan: a stack of open containers (page, items, quotes) and the open leaf."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.headings: list[Heading] = []
        self.code: list[tuple[int, int]] = []
        self.rules: list[int] = []
        self.items: list[ListItem] = []
        # The column where the content of each container starts; the containers that are quotes.
        self.columns = [0]
        self.quotes: list[int] = []
        # First line of the open top-level item, and whether it is ordered.
        self.item: tuple[int, bool] | None = None
        self.leaf = _NOTHING
        self.start = 0
        self.fence = ""
        self.margin = ""
        self.indented_end = 0
        self.html_ends: tuple[str, ...] = ()

    def run(self) -> None:
        """Scan all lines; common cases are handled here, the others in `scan_line`."""
        lines, quotes = self.lines, self.quotes
        line, count = 0, len(lines)
        while line < count:
            leaf, source = self.leaf, lines[line]
            if leaf <= _PARAGRAPH and source[:1] not in _BLOCK_STARTS:
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
                line = self.scan_line(line)
        self.close(1, count)

    def scan_line(self, line: int) -> int:
        """Scan a line, or a whole link reference definition; return the next line to scan."""
        columns, quotes = self.columns, self.quotes
        text, column, shift, depth = self.strip_quotes(line)
        opener = _OPENER.match(text) if text[:1] in _BLOCK_STARTS else None
        if depth < len(quotes):
            if text and self.leaf == _PARAGRAPH and self.is_lazy(depth, column, opener):
                return line + 1
            self.close(quotes[depth], line)
        if not text:
            self.end_at_blank(line)
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
            opener = _OPENER.match(text) if text[:1] in _BLOCK_STARTS else None
        return line + 1

    def strip_quotes(self, line: int) -> tuple[str, int, int, int]:
        """Return a line without the markers of the open quotes that it continues.

        The result is its text, the column of the text, the column of the innermost quote's content
        as seen from outside that quote (tab stops count from there), and the number of quotes.
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
        """Tell whether a line without the marker of a quote continues a paragraph inside it."""
        if self.interrupts(opener, column, self.quotes[depth] - 1):
            return False
        # Quotes inside that quote see the line without its indentation.
        return depth + 1 == len(self.quotes) or not self.interrupts(opener, -1, 0)

    def interrupts(
        self, opener: re.Match[str] | None, column: int, place: int, *, paragraph: bool = False
    ) -> bool:
        """Tell whether a line starts a block that ends a paragraph in the container at `place`.

        Directly below a `paragraph` of that container, a list item must have text and number 1.
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

    def end_at_blank(self, line: int) -> None:
        """Close the block that a blank line ends, if any."""
        if self.leaf == _EMPTY_ITEM:
            self.close(len(self.columns) - 1, line)
        elif self.leaf == _PARAGRAPH or (self.leaf == _HTML_BLOCK and not self.html_ends):
            self.end_leaf(line)

    def continues_leaf(
        self, line: int, text: str, column: int, opener: re.Match[str] | None
    ) -> bool:
        """Tell whether a line belongs to the open leaf; close the leaf if it ends with the line."""
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
        """Open a list item; return the text after its marker and the column of that text."""
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
        """Open the leaf that starts on a line; return the next line to scan."""
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
            # No line starts with a newline: inside quotes, `scan_line` scans every line.
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
        """Turn the open paragraph into a heading."""
        self.leaf = _NOTHING
        if len(self.columns) == 1:
            text = " ".join(part.strip(_BLANK) for part in self.lines[self.start : line])
            self.headings.append(Heading(self.start, line + 1, level, text.strip(_TRIMMED)))

    def close(self, kept: int, line: int) -> None:
        """Close the leaf and all but the first `kept` containers before a line."""
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
        """Close the leaf before a line."""
        if self.leaf >= _FENCE:
            self.code.append((self.start, self.indented_end if self.leaf == _INDENTED else line))
        self.leaf = _NOTHING

    def definition_end(self, line: int, text: str) -> int:
        """Return the line after the link definition on `line`; `line` if there is none."""
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
        # markdown-it reads a backslash at the end of the line as an escape: the definition ends.
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
        """Return the text of a line that may continue the definition above it, or an empty text."""
        if line == len(self.lines):
            return ""
        text, column, _, depth = self.strip_quotes(line)
        opener = _OPENER.match(text)
        if depth < len(self.quotes):
            return text if text and self.is_lazy(depth, column, opener) else ""
        return "" if self.interrupts(opener, column, len(self.columns) - 1) else text


def _width(blanks: str, column: int) -> int:
    """Return the width of blanks that start at a column, with a tab stop every four columns."""
    if "\t" not in blanks:
        return len(blanks)
    before = column % 4
    return len((" " * before + blanks).expandtabs(4)) - before


def _unquote(text: str, column: int, shift: int) -> tuple[str, int, int]:
    """Return text, column and shift, as in `strip_quotes`, after the marker of a quote."""
    inside = text[1:]
    content = column + 1
    if inside[:1] not in _BLANK:
        return inside, 0, content
    # A tab wider than the optional blank counts as indentation for the rest of its width.
    if inside[:1] == " " or (content + shift) % 4 == 3:
        inside = inside[1:]
    content += 1
    body = inside.lstrip(_BLANK)
    return body, _width(inside[: len(inside) - len(body)], content + shift), content


def _heading_text(text: str) -> str:
    """Return the text after the marker of a heading, without the closing marker."""
    text = text.rstrip(_BLANK)
    unclosed = text.rstrip("#")
    return (unclosed if unclosed.endswith((" ", "\t")) else text).strip(_TRIMMED)


def _html_ends(text: str, *, interrupting: bool) -> tuple[str, ...] | None:
    """Return the texts that end the HTML block at the start of `text`; None if there is no block.

    An empty result means that a blank line ends it. A single tag of any name starts a block too,
    unless it is `interrupting` a paragraph.
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
    """Return the end of a match at `place`; `place` itself if there is no match."""
    match = re.compile(pattern).match(text, place)
    return match.end() if match else place


def _is_destination(text: str) -> bool:
    """Tell whether a text is a link destination: no script URL, with balanced parentheses."""
    if not text or re.match(_UNSAFE, text):
        return False
    if text[0] == "<" or not ("(" in text or ")" in text):
        return True
    nested = re.sub(_NOT_PARENTHESES, "", text)
    for _ in range(MAX_PARENTHESES):
        nested = nested.replace("()", "")
    return not nested
