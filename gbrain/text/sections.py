"""Where a page's timeline begins, and the sections that its body falls into without a gap."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gbrain.errors import BadPage
from gbrain.text.dates import Period, leading_date
from gbrain.text.markdown import Heading, ListItem, Structure
from gbrain.types import ChunkKind, Section

MAX_ENTRIES = 100_000
MAX_HEADINGS = 100_000
# Every section below a heading repeats its name.
MAX_HEADING_CHARACTERS = 300

_BULLET = re.compile(r" {0,3}[-*+][ \t]+(?:\*\*|__)?")
_ENTRY_TAIL = re.compile(r"(?:\*\*|__)?[ \t]*(?:[—–|:]|--?(?=\s)|$)")
_BLOCK_HEADING = re.compile(r"^[-*+][ \t]++(#{1,6})[ \t]++([^\r\n]*+)", re.MULTILINE)
_LONE_RULE = re.compile(r" {0,3}---[ \t]*$")


def parse_entry_date(line: str) -> Period | None:
    """The date of a timeline entry whose first line is `line`, or None if it is not an entry.

    Three spellings: `- DATE — text`, `- **DATE** | source — text`, `- DATE: text`.
    """
    bullet = _BULLET.match(line)
    if bullet is None:
        return None
    found = leading_date(line[bullet.end() : bullet.end() + 64])
    if found is None:
        return None
    period, end = found
    return period if _ENTRY_TAIL.match(line, bullet.end() + end) else None


def find_timeline_line(text: str, structure: Structure) -> int:
    """The line on which the timeline begins; the number of lines when there is none."""
    candidates: list[int] = []
    for heading in structure.headings:
        if is_timeline_heading(heading.text):
            candidates.append(heading.line)
        # A `---` right under a paragraph reads as an underlined heading to Markdown; to the
        # person who wrote dated entries below it, it is the line between the two halves.
        elif heading.end > heading.line + 1 and _opens_timeline(text, structure, heading.end - 1):
            candidates.append(heading.end - 1)
    candidates += [line for line in structure.rules if _opens_timeline(text, structure, line)]
    return min(candidates, default=len(structure.starts) - 1)


def is_timeline_heading(heading: str) -> bool:
    """Whether a heading says that the timeline begins there."""
    return heading.strip("*_ :").casefold() == "timeline"


def _line(text: str, structure: Structure, line: int) -> str:
    return text[structure.starts[line] : structure.starts[line + 1]].rstrip("\r\n")


def _opens_timeline(text: str, structure: Structure, rule: int) -> bool:
    if not _LONE_RULE.match(_line(text, structure, rule)):
        return False
    following = _next_written(text, structure, rule + 1)
    if following == len(structure.starts) - 1:
        return False
    written = _line(text, structure, following)
    named = written.lstrip(" ").startswith("#") and is_timeline_heading(written.strip("# \t"))
    return named or parse_entry_date(written) is not None


def split_sections(text: str, structure: Structure, timeline: int) -> tuple[Section, ...]:
    """The sections of a body in page order; joined together they are the body.

    Truth is cut at every heading; below line `timeline` each dated entry stands alone as well.
    """
    cuts = _cuts(text, structure, timeline)
    lines = sorted(cuts)
    starts = structure.starts
    return tuple(
        Section(
            kind=cut.kind,
            heading_path=cut.heading_path,
            start=starts[line],
            text_start=starts[cut.text_line],
            stop=starts[following],
            date=cut.period.text if cut.period else None,
            first_day=cut.period.first if cut.period else None,
            last_day=cut.period.last if cut.period else None,
        )
        for line, following in pairwise([*lines, len(starts) - 1])
        for cut in (cuts[line],)
    )


class _Cut(NamedTuple):
    """A line on which a section begins; its words begin on `text_line`."""

    text_line: int
    heading_path: tuple[str, ...]
    period: Period | None
    kind: ChunkKind


def _cuts(text: str, structure: Structure, timeline: int) -> dict[int, _Cut]:
    headings = [*structure.headings, *_block_headings(text, structure, timeline)]
    if len(headings) > MAX_HEADINGS:
        raise _too_many(len(headings), "headings", MAX_HEADINGS)
    last = len(structure.starts) - 1
    cuts = {0: _Cut(0, (), None, "truth")} if last else {}
    if timeline < last:
        cuts[timeline] = _Cut(timeline, (), None, "truth")
    below = structure.items[bisect_left(structure.items, timeline, key=lambda item: item.line) :]
    path: list[tuple[int, str]] = []
    names: tuple[str, ...] = ()
    entries = 0
    blocks: list[Heading | ListItem] = [*headings, *below]
    for block in sorted(blocks, key=lambda block: block.line):
        if isinstance(block, Heading):
            if block.line < timeline < block.end:
                continue
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.text[:MAX_HEADING_CHARACTERS]))
            names = tuple(name for _, name in path if name)
            dated = leading_date(block.text)
            cuts[block.line] = _Cut(block.end, names, dated[0] if dated else None, "truth")
            continue
        period = None if block.ordered else parse_entry_date(_line(text, structure, block.line))
        if period is None:
            continue
        entries += 1
        cuts[block.line] = _Cut(block.line, names, period, "timeline")
        after = _next_written(text, structure, block.end)
        if after < last:
            cuts.setdefault(after, _Cut(after, names, None, "truth"))
    if entries > MAX_ENTRIES:
        raise _too_many(entries, "timeline entries", MAX_ENTRIES)
    return cuts


def _block_headings(text: str, structure: Structure, timeline: int) -> Iterator[Heading]:
    """Headings of an outline above the timeline, where every block is an item: `- ## Decisions`."""
    if not _BLOCK_HEADING.search(text):
        return
    items = {item.line for item in structure.items if item.line < timeline}
    for found in _BLOCK_HEADING.finditer(text):
        line = bisect_left(structure.starts, found.start())
        if line in items:
            yield Heading(line, line + 1, len(found[1]), found[2].strip(" \t"))


def _too_many(count: int, things: str, most: int) -> BadPage:
    return BadPage(
        f"{count:,} {things}; a page may hold {most:,}",
        hint="Split the page: one page a year, say.",
        code="page_too_large",
    )


def _next_written(text: str, structure: Structure, line: int) -> int:
    """The first line from `line` on that is not blank."""
    starts = structure.starts
    while line < len(starts) - 1 and not text[starts[line] : starts[line + 1]].strip():
        line += 1
    return line
