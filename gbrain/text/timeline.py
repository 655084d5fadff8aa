"""Parse timeline entries, add one to a page in the page's own style, and drop later ones."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from gbrain.errors import BadPage, UsageError
from gbrain.text.dates import leading_date, leading_written_date
from gbrain.text.frontmatter import split_front_matter
from gbrain.text.markdown import Structure, scan_blocks
from gbrain.text.periods import Period
from gbrain.text.sections import (
    find_timeline_line,
    is_timeline_heading,
    parse_list_date,
    split_sections,
)

_BULLET = re.compile(r"( {0,3}[-*+][ \t]+)(\*\*|__)?")
_JOINT = re.compile(r"(\*\*|__)?[ \t]*(?:[—–|:：｜]|--?(?=\s)|$)")
_LONG_DASH = re.compile(r"(?<=[ \t])[—–](?=[ \t]|$)")
_SHORT_DASH = re.compile(r"(?<=[ \t])--?(?=[ \t]|$)")
_NEWLINE = re.compile(r"\r\n?|\n")

_LONGEST_DATE = 64
_PLAIN_BULLET = "- "


class EntryText(NamedTuple):
    """The content of an entry; the lines of `words` have no indentation."""

    source: str | None
    words: str


def parse_entry(text: str) -> EntryText:
    """Return the source and the words of an entry; text that is no entry is all words."""
    first, *others = _NEWLINE.split(text)
    head = _read_head(first)
    if head is None:
        return EntryText(None, text.strip())
    source = first[slice(*head.source)] if head.source else None
    column = _text_column(head.bullet)
    words = [head.bold + first[head.words :], *(_dedent(line, column) for line in others)]
    return EntryText(source, "\n".join(words).strip())


def parse_list_item(text: str) -> EntryText | None:
    """Return the source and the words of a dated list item; None if it starts with no date."""
    first, *others = _NEWLINE.split(text)
    dated = parse_list_date(first)
    if dated is None or _read_head(first):
        return parse_entry(text) if dated else None
    words = [first[dated[1] :], *(_dedent(line, len(_PLAIN_BULLET)) for line in others)]
    return EntryText(None, "\n".join(words).strip())


def entry_day(line: str) -> str | None:
    """Return the first day (ISO) of the entry that starts on this line; None if none does."""
    head = _read_head(line.rstrip("\r\n"))
    return head.period.first if head else None


class _Head(NamedTuple):
    """The parts of an entry's first line, as offsets in it: `words` is where the words start.

    `bold` is the mark that opens before the date and closes only within the words.
    """

    bullet: str
    period: Period
    date: tuple[int, int]
    source: tuple[int, int] | None
    words: int
    bold: str


def _read_head(line: str) -> _Head | None:
    bullet = _BULLET.match(line)
    if bullet is None:
        return None
    start = bullet.end()
    dated = leading_written_date(line[start : start + _LONGEST_DATE])
    if dated is None:
        return None
    period, length = dated
    joint = _JOINT.match(line, start + length)
    if joint is None:
        return None
    words, bold, source = joint.end(), "", None
    if bullet[2] and not joint[1]:
        closes = line.startswith(bullet[2], words)
        words, bold = (words + 2, "") if closes else (words, bullet[2])
    words = _skip_blanks(line, words)
    if joint[0].endswith("|"):
        dash = _LONG_DASH.search(line, words) or _SHORT_DASH.search(line, words)
        written = line[words : dash.start()].rstrip() if dash else ""
        if dash and written:
            source = (words, words + len(written))
            words = _skip_blanks(line, dash.end())
    return _Head(bullet[1], period, (start, start + length), source, words, bold)


def _skip_blanks(line: str, at: int) -> int:
    return len(line) - len(line[at:].lstrip(" \t"))


def _text_column(bullet: str) -> int:
    """Return the column that the lines of a list item are indented to."""
    marker = len(bullet.rstrip(" \t"))
    width = len(bullet.expandtabs(4))
    return width if width - marker <= 4 else marker + 1


def _dedent(line: str, column: int) -> str:
    at = width = 0
    while width < column and line[at : at + 1] in (" ", "\t"):
        width += 1 if line[at] == " " else 4 - width % 4
        at += 1
    return line[at:]


# --- add an entry ----------------------------------------------------------------------------


def add_entry(text: str, date: str, words: str, source: str | None = None) -> str:
    """Return the page with one more timeline entry; the rest of its text is unchanged.

    The entry is written like the others and placed by its date, below a new Timeline heading if
    there is none. A page with the same entry on that date is returned unchanged. Raises UsageError
    for a date, a source or words that make no entry, and BadPage for a page in which the new lines
    would not be read as an entry.
    """
    period = _entry_period(date)
    wanted = _parse_input(words, source)
    front, body = split_front_matter(text)
    structure = scan_blocks(body)
    newline = _line_ending(text)
    top, last = find_timeline_line(body, structure), len(structure.starts) - 1
    existing = list(_existing_entries(body, structure, top))
    same_date = (entry for entry in existing if entry.head.period.text == period.text)
    if any(parse_entry(_entry_text(body, structure, entry)) == wanted for entry in same_date):
        return text
    if top == last:
        written = _format_entry(period, wanted, _PLAIN_BULLET, (), None, newline)
        above = _add_timeline_heading(front.raw, body, structure, newline)
        new_body, at = above + written, len(above)
    else:
        span = _dated_heading_span(structure, _timeline_span(structure, top, existing), period)
        nearby = [entry for entry in existing if span[0] <= entry.line < span[1]]
        place = (
            _place_by_date(period, nearby)
            if nearby
            else _place_below_heading(body, structure, span)
        )
        written = _format_entry(period, wanted, place.bullet, existing, place.like, newline)
        new_body, at = _insert(body, structure, place, written, newline)
    _check_readable(front.raw, new_body, at)
    return front.raw + new_body


def _entry_period(date: str) -> Period:
    dated = leading_date(date)
    if dated is None or dated[1] != len(date):
        raise UsageError(
            f"A timeline entry cannot be dated {date}",
            hint="Give a day, a month, a quarter or a year, like 2026-04-03 or 2026-04.",
        )
    return dated[0]


def _parse_input(words: str, source: str | None) -> EntryText:
    lines = [line if line.strip(" \t") else "" for line in _NEWLINE.split(words)]
    wanted = EntryText(" ".join((source or "").split()) or None, "\n".join(lines).strip())
    if not wanted.words:
        raise UsageError(
            "A timeline entry needs text", hint="Say what happened, in quotes: 'Moved to Lisbon'."
        )
    return wanted


def _line_ending(text: str) -> str:
    found = _NEWLINE.search(text)
    return found[0] if found else "\n"


@dataclass(frozen=True, slots=True)
class _ExistingEntry:
    """An entry of the page: its lines in the body, `end` exclusive, and the text of the first."""

    line: int
    end: int
    first: str
    head: _Head


def _existing_entries(body: str, structure: Structure, top: int) -> Iterator[_ExistingEntry]:
    """Yield the dated entries from line `top` on, in page order."""
    starts = structure.starts
    for item in structure.items:
        if item.ordered or item.line < top:
            continue
        first = body[starts[item.line] : starts[item.line + 1]].rstrip("\r\n")
        head = _read_head(first)
        if head:
            yield _ExistingEntry(item.line, item.end, first, head)


def _entry_text(body: str, structure: Structure, entry: _ExistingEntry) -> str:
    return body[structure.starts[entry.line] : structure.starts[entry.end]]


# --- where the entry goes --------------------------------------------------------------------


class _Place(NamedTuple):
    """The line that a new entry goes before, the blank lines around it, and the entry to copy."""

    line: int
    blank_above: bool
    blank_below: bool
    bullet: str
    like: _ExistingEntry | None


def _timeline_span(
    structure: Structure, top: int, existing: Sequence[_ExistingEntry]
) -> tuple[int, int]:
    """Return the lines of the Timeline section, or all lines below if no entry is in it."""
    last = len(structure.starts) - 1
    level, stop = 0, last
    for heading in structure.headings:
        if heading.line < top:
            continue
        if not level and is_timeline_heading(heading.text):
            level = heading.level
        elif not level or heading.level <= level:
            stop = heading.line
            break
    if existing and existing[0].line >= stop:
        stop = last
    return top, stop


def _dated_heading_span(
    structure: Structure, span: tuple[int, int], period: Period
) -> tuple[int, int]:
    """Return the part of `span` under a heading with this year, month or day, if there is one."""
    first, stop = span
    level = 0
    for heading in structure.headings:
        if not first <= heading.line < stop:
            continue
        if level and heading.level <= level:
            return first, heading.line
        dated = leading_date(heading.text)
        if dated and dated[0].first <= period.first and period.last <= dated[0].last:
            first, level = heading.line, heading.level
    return first, stop


def _place_by_date(period: Period, entries: Sequence[_ExistingEntry]) -> _Place:
    """Return the place by the order of dates; after the last entry if they have no order.

    Among entries of one day the new one comes last if dates rise, and first if they fall.
    """
    periods = [entry.head.period for entry in entries]
    order = _date_order(periods)
    before = len(entries)
    if order > 0:
        while before and periods[before - 1].first > period.first:
            before -= 1
    elif order < 0:
        before = next((i for i, p in enumerate(periods) if p.first <= period.last), before)
    spaced = len(entries) > 1 and all(a.end < b.line for a, b in pairwise(entries))
    if before:
        like = entries[before - 1]
        return _Place(like.end, spaced, False, like.head.bullet, like)
    like = entries[0]
    return _Place(like.line, False, spaced, like.head.bullet, like)


def _date_order(periods: Sequence[Period]) -> int:
    """Return 1 if dates rise down the page, -1 if they fall, 0 if neither.

    A few entries out of order do not count.
    """
    rises = sum(a.last < b.first for a, b in pairwise(periods))
    falls = sum(a.first > b.last for a, b in pairwise(periods))
    if min(rises, falls) * 4 > max(rises, falls):
        return 0
    return (rises > falls) - (rises < falls)


def _place_below_heading(body: str, structure: Structure, span: tuple[int, int]) -> _Place:
    """Return the place after the text right under the heading or rule that starts the span."""
    first, stop = span
    begins = first + 1
    headings = [heading for heading in structure.headings if first <= heading.line < stop]
    if headings and _is_blank(body, structure, begins, headings[0].line):
        begins = headings.pop(0).end
    if headings:
        stop = headings[0].line
    end = stop
    while end > begins and _is_blank(body, structure, end - 1, end):
        end -= 1
    # A heading that is indented as far as the entry's text would be read as part of the entry.
    bullet = "-   " if body.startswith("  ", structure.starts[stop]) else _PLAIN_BULLET
    if end > begins:
        after_item = any(item.end == end for item in structure.items)
        return _Place(end, not after_item, end == stop, bullet, None)
    line = min(begins + 1, stop)
    return _Place(line, False, line == stop, bullet, None)


def _is_blank(body: str, structure: Structure, first: int, stop: int) -> bool:
    return not body[structure.starts[first] : structure.starts[max(first, stop)]].strip(" \t\r\n")


def _insert(
    body: str, structure: Structure, place: _Place, written: str, newline: str
) -> tuple[str, int]:
    """Return the body with the entry, and the offset where the entry starts."""
    at = structure.starts[place.line]
    above, below = body[:at], body[at:]
    if above and not above.endswith(("\n", "\r")):
        above += newline
    if place.blank_above:
        above += newline
    next_line = body[at : structure.starts[min(place.line + 1, len(structure.starts) - 1)]]
    # Plain text right below an entry would be read as its last line.
    separate = place.blank_below or not _starts_block(structure, place.line)
    if separate and next_line.strip(" \t\r\n"):
        written += newline
    return above + written + below, len(above)


def _starts_block(structure: Structure, line: int) -> bool:
    """Return whether a list item, a rule or a heading marked with # starts on a line."""
    return (
        line in structure.rules
        or any(item.line == line for item in structure.items)
        or any(heading.line == line == heading.end - 1 for heading in structure.headings)
    )


def _add_timeline_heading(front: str, body: str, structure: Structure, newline: str) -> str:
    """Return the body with an empty timeline at its end."""
    words = body.rstrip(" \t\r\n")
    heading = f"## Timeline{newline}"
    if not front and not words:
        return body + heading
    above = body if (front + body).endswith(("\n", "\r")) else body + newline
    if words.endswith("---") and bisect_left(structure.starts, len(words)) - 1 in structure.rules:
        return above + heading
    line_ends = 1 if not words and front.endswith(("\n", "\r")) else 2
    if len(_NEWLINE.findall(above, len(words))) < line_ends:
        above += newline
    divided = f"{above}---{newline}{heading}"
    # If the page starts with a rule, a second one would turn the text between into front matter.
    return divided if _keeps_front_matter(front, divided) else above + heading


def _keeps_front_matter(front: str, body: str) -> bool:
    try:
        return split_front_matter(front + body)[0].raw.rstrip("\r\n") == front.rstrip("\r\n")
    except BadPage:
        return False


def _check_readable(front: str, body: str, at: int) -> None:
    """Raise BadPage if the entry at this offset of the body would not be read as one."""
    if not _keeps_front_matter(front, body):
        raise BadPage(
            "line 1: the page starts with ---, and with this entry that would become front matter",
            hint="Put an empty line above the ---.",
        )
    structure = scan_blocks(body)
    line = bisect_left(structure.starts, at)
    if find_timeline_line(body, structure) <= line and any(i.line == line for i in structure.items):
        return
    opened = max((start for start, _ in structure.code if start < line), default=0)
    raise BadPage(
        f"line {len(_NEWLINE.findall(front)) + opened + 1}: a code block or HTML comment starts "
        "here and never ends, so no entry can be added",
        hint="End it in an editor: ``` ends a code block, --> ends a comment.",
        code="open_block",
    )


# --- how the entry is written ----------------------------------------------------------------


def _format_entry(
    period: Period,
    wanted: EntryText,
    bullet: str,
    existing: Sequence[_ExistingEntry],
    like: _ExistingEntry | None,
    newline: str,
) -> str:
    """Return the lines of the entry, written like the nearest one with or without a source."""
    first, *others = wanted.words.split("\n")
    indent = " " * _text_column(bullet)
    rest = "".join(f"{newline}{indent}{line}" if line else newline for line in others)
    for spelling in _entry_prefixes(period.text, wanted.source, existing, like):
        written = f"{bullet}{spelling}{first}"
        head = _read_head(written)
        if head and head.period.text == period.text and parse_entry(written + rest) == wanted:
            return written + rest + newline
    raise UsageError(
        f"The source {wanted.source!r} cannot be distinguished from the text of the entry",
        hint="Leave out the dash: the text before the first dash would be read as the source.",
    )


def _entry_prefixes(
    date: str, source: str | None, existing: Sequence[_ExistingEntry], like: _ExistingEntry | None
) -> Iterator[str]:
    """Yield what may be between the bullet and the words, best first."""
    same_kind = [
        entry
        for entry in existing
        if (entry.head.source is None) == (source is None) and entry.head.words < len(entry.first)
    ]
    if same_kind and like:
        nearest = min(same_kind, key=lambda entry: abs(entry.line - like.line))
        head, first = nearest.head, nearest.first
        mark = first[len(head.bullet) : head.date[0]]
        if source is None or head.source is None:
            yield f"{mark}{date}{first[head.date[1] : head.words]}"
        else:
            joint, dash = first[head.date[1] : head.source[0]], first[head.source[1] : head.words]
            yield f"{mark}{date}{joint}{source}{dash}"
    yield f"{date} — " if source is None else f"**{date}** | {source} — "


def drop_later_entries(text: str, day: str) -> str:
    """Return the text without the timeline entries after `day` (ISO); the rest is unchanged.

    A later heading in the timeline goes with the undated text below it.
    """
    front, body = split_front_matter(text)
    structure = scan_blocks(body)
    timeline = find_timeline_line(body, structure)
    top = structure.starts[timeline]
    kept = [front.raw]
    later: tuple[str, ...] | None = None
    for section in split_sections(body, structure, timeline):
        path = section.heading_path
        if section.start < top:
            cut = False
        elif section.first_day is not None:
            cut = section.first_day > day
            if section.kind == "truth":
                later = path if cut else None
        else:
            cut = later is not None and path[: len(later)] == later
        if not cut:
            kept.append(body[section.start : section.stop])
    return "".join(kept)
