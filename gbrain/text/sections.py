"""Find where the timeline of a page begins, and split the body into sections without gaps."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gbrain.errors import BadPage
from gbrain.text.dates import leading_date, leading_written_date
from gbrain.text.markdown import Heading, ListItem, Structure
from gbrain.text.periods import Period
from gbrain.types import ChunkKind, Section

MAX_ENTRIES = 100_000
MAX_HEADINGS = 100_000
# Every section below a heading stores its text again.
MAX_HEADING_CHARACTERS = 300

_BULLET = re.compile(r" {0,3}[-*+][ \t]+(?:\*\*|__)?")
_ENTRY_TAIL = re.compile(r"(?:\*\*|__)?[ \t]*(?:[—–|:：｜]|--?(?=\s)|$)")
_LIST_BULLET = re.compile(r" {0,3}[-*+][ \t]+(?:\[[ xX]\][ \t]+)?(?:\*\*|__|\[\[|\()?(?=\w)")
_LIST_TAIL = re.compile(r"(?:\*\*|__|\]\]|\))?(?:[ \t]{0,8}(?:[—–|:,;：、]|--?(?=\s)|$)|[ \t])")
_BLOCK_HEADING = re.compile(r"^[-*+][ \t]++(#{1,6})[ \t]++([^\r\n]*+)", re.MULTILINE)
_LONE_RULE = re.compile(r" {0,3}---[ \t]*$")


def parse_entry_date(line: str, *, in_words: bool = False) -> Period | None:
    """Return the date of the timeline entry that starts with `line`; None if it is not an entry.

    An entry is written `- DATE — text`, `- **DATE** | source — text` or `- DATE: text`. With
    `in_words` the date may be written as `12. April 2026` or `2026年4月12日` too.
    """
    bullet = _BULLET.match(line)
    if bullet is None:
        return None
    read = leading_written_date if in_words else leading_date
    found = read(line[bullet.end() : bullet.end() + 64])
    if found is None:
        return None
    period, end = found
    return period if _ENTRY_TAIL.match(line, bullet.end() + end) else None


def parse_list_date(line: str) -> tuple[Period, int] | None:
    """Return the date that an item of any list begins with and where its words begin, or None.

    Looser than a timeline entry: `- 05.10.2026: text`, `- 2026-10-31 text`, `- [[2026-10-31]]`.
    """
    bullet = _LIST_BULLET.match(line)
    if bullet is None:
        return None
    found = leading_written_date(line[bullet.end() : bullet.end() + 64])
    if found is None:
        return None
    period, length = found
    # "- 2026 was a good year" is no entry, "- 2026: moved" is.
    tail = _ENTRY_TAIL if len(period.text) == 4 else _LIST_TAIL
    end = tail.match(line, bullet.end() + length)
    return (period, end.end()) if end else None


def find_timeline_line(text: str, structure: Structure) -> int:
    """Return the line on which the timeline begins; the number of lines if there is none."""
    candidates: list[int] = []
    for heading in structure.headings:
        if is_timeline_heading(heading.text):
            candidates.append(heading.line)
        # In Markdown, `---` right below a paragraph makes it a heading; above dated entries it is
        # meant as the line between compiled truth and timeline.
        elif heading.end > heading.line + 1 and _opens_timeline(text, structure, heading.end - 1):
            candidates.append(heading.end - 1)
    candidates += [line for line in structure.rules if _opens_timeline(text, structure, line)]
    return min(candidates, default=len(structure.starts) - 1)


def is_timeline_heading(heading: str) -> bool:
    """Tell whether a heading begins the timeline."""
    return heading.strip("*_ :").casefold() == "timeline"


def _line(text: str, structure: Structure, line: int) -> str:
    return text[structure.starts[line] : structure.starts[line + 1]].rstrip("\r\n")


def _opens_timeline(text: str, structure: Structure, rule: int) -> bool:
    if not _LONE_RULE.match(_line(text, structure, rule)):
        return False
    following = _next_nonblank_line(text, structure, rule + 1)
    if following == len(structure.starts) - 1:
        return False
    written = _line(text, structure, following)
    named = written.lstrip(" ").startswith("#") and is_timeline_heading(written.strip("# \t"))
    return named or parse_entry_date(written) is not None


def split_sections(text: str, structure: Structure, timeline: int) -> tuple[Section, ...]:
    """Return the sections of a body in order; joined together they are the body.

    Truth is cut at every heading, and each item of a list that begins with a date stands alone;
    below line `timeline` each dated entry does.
    """
    section_starts = _find_section_starts(text, structure, timeline)
    lines = sorted(section_starts)
    starts = structure.starts
    return tuple(
        Section(
            kind=start.kind,
            heading_path=start.heading_path,
            start=starts[line],
            # A dated item may begin inside a heading of several lines.
            text_start=starts[min(start.text_line, following)],
            stop=starts[following],
            date=start.period.text if start.period else None,
            first_day=start.period.first if start.period else None,
            last_day=start.period.last if start.period else None,
        )
        for line, following in pairwise([*lines, len(starts) - 1])
        for start in (section_starts[line],)
    )


class _SectionStart(NamedTuple):
    """The start of a section; its text begins on `text_line`, after the heading."""

    text_line: int
    heading_path: tuple[str, ...]
    period: Period | None
    kind: ChunkKind


def _find_section_starts(
    text: str, structure: Structure, timeline: int
) -> dict[int, _SectionStart]:
    headings = [*structure.headings, *_block_headings(text, structure, timeline)]
    if len(headings) > MAX_HEADINGS:
        raise _too_many(len(headings), "headings", MAX_HEADINGS)
    last = len(structure.starts) - 1
    section_starts = {0: _SectionStart(0, (), None, "truth")} if last else {}
    if timeline < last:
        section_starts[timeline] = _SectionStart(timeline, (), None, "truth")
    path: list[tuple[int, str]] = []
    names: tuple[str, ...] = ()
    entries = 0
    blocks: list[Heading | ListItem] = [*headings, *structure.items]
    for block in sorted(blocks, key=lambda block: block.line):
        if isinstance(block, Heading):
            if block.line < timeline < block.end:
                continue
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.text[:MAX_HEADING_CHARACTERS]))
            names = tuple(name for _, name in path if name)
            dated = leading_written_date(block.text)
            section_starts[block.line] = _SectionStart(
                block.end, names, dated[0] if dated else None, "truth"
            )
            continue
        if block.ordered:
            continue
        in_timeline = block.line >= timeline
        line = _line(text, structure, block.line)
        listed = None if in_timeline else parse_list_date(line)
        period = parse_entry_date(line, in_words=True) if in_timeline else listed and listed[0]
        if period is None:
            continue
        entries += in_timeline
        kind: ChunkKind = "timeline" if in_timeline else "truth"
        section_starts[block.line] = _SectionStart(block.line, names, period, kind)
        after = _next_nonblank_line(text, structure, block.end)
        if after < last:
            section_starts.setdefault(after, _SectionStart(after, names, None, "truth"))
    if entries > MAX_ENTRIES:
        raise _too_many(entries, "timeline entries", MAX_ENTRIES)
    return section_starts


def _block_headings(text: str, structure: Structure, timeline: int) -> Iterator[Heading]:
    """Yield headings in list items above the timeline, as in Logseq: `- ## Decisions`."""
    if not _BLOCK_HEADING.search(text):
        return
    items = {item.line for item in structure.items if item.line < timeline}
    for found in _BLOCK_HEADING.finditer(text):
        line = bisect_left(structure.starts, found.start())
        if line in items:
            yield Heading(line, line + 1, len(found[1]), found[2].strip(" \t"))


def _too_many(count: int, things: str, limit: int) -> BadPage:
    return BadPage(
        f"The page has {count:,} {things}; the limit is {limit:,}",
        hint="Split the page, for example into one page per year.",
        code="page_too_large",
    )


def _next_nonblank_line(text: str, structure: Structure, line: int) -> int:
    """Return the first non-blank line from `line` on."""
    starts = structure.starts
    while line < len(starts) - 1 and not text[starts[line] : starts[line + 1]].strip():
        line += 1
    return line
