"""Render timeline entries as JSON, rows and a terminal screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING

from gbrain.output.json import Document
from gbrain.store.timeline import TimelineEntry
from gbrain.text.periods import MONTH_NAMES

if TYPE_CHECKING:
    from rich.text import Text

_DAY, _MONTH = len("2026-04-03"), len("2026-04")
# A line that goes on with a paragraph: no list item, heading, quotation or row of a table.
_IN_PARAGRAPH = r"(?![0-9]+[.)]\s)[^\s#>|*+-]"
# What ends a line of a paragraph for good in Markdown.
_HARD_BREAKS = ("  ", "\\")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def timeline_document(entries: Iterable[TimelineEntry], total: int) -> Document:
    """Return dated entries, and how many there are without a limit."""
    return {"entries": [entry_document(entry) for entry in entries], "total": total}


def entry_document(entry: TimelineEntry) -> Document:
    """Return a timeline entry as JSON."""
    return {
        "slug": entry.slug,
        "title": entry.title,
        "date": entry.date,
        "source": entry.source,
        "text": entry.text,
        "lines": list(entry.lines),
        "kind": entry.kind,
        "heading": entry.heading,
    }


def entry_rows(entries: Iterable[TimelineEntry]) -> list[tuple[str | None, ...]]:
    """Return the date, slug, source and text of each entry."""
    return [(entry.date, entry.slug, _source(entry), entry.text) for entry in entries]


def _source(entry: TimelineEntry) -> str | None:
    """Return the source that an entry names; outside of a timeline, else where it stands."""
    if entry.source or entry.kind == "timeline":
        return entry.source
    return "page" if entry.kind == "page" else entry.heading


def show_timeline(entries: Sequence[TimelineEntry], *, pager: bool = True) -> None:
    """Print the entries of one page, each next to its date."""
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console, open_pager

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for entry in entries:
        table.add_row(Text(entry.date, style="bold"), _entry_text(entry))
    screen = console()
    with open_pager(screen, wanted=pager):
        screen.print(table)


def show_all_timelines(entries: Sequence[TimelineEntry], *, pager: bool = True) -> None:
    """Print the entries of many pages, grouped by month and day."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from gbrain.messages import one_line
    from gbrain.output.screen import console, open_pager

    screen = console()
    with open_pager(screen, wanted=pager):
        for number, (period, period_entries) in enumerate(groupby(entries, key=_period)):
            screen.print(Text(("\n" if number else "") + _period_name(period), style="bold"))
            table = Table.grid(padding=(0, 2, 0, 0))
            table.add_column(no_wrap=True)
            table.add_column(overflow="fold")
            for day, day_entries in groupby(period_entries, key=lambda entry: entry.date[:_DAY]):
                shown = _day_name(day)
                for entry in day_entries:
                    page = Text(one_line(entry.title), style="cyan").append(
                        f"  {entry.slug}", "dim"
                    )
                    if entry.date[_DAY:]:
                        page.append(f"  {entry.date[_DAY + 1 :]}", "dim")
                    table.add_row(shown, page.append("\n").append(_entry_text(entry)))
                    shown = ""
            screen.print(Padding(table, (0, 0, 0, 2)))


def _period(entry: TimelineEntry) -> str:
    """Return the month of an entry, or its date if that is only a quarter or a year."""
    return entry.date[:_MONTH] if _parse_date(entry.date[:_DAY]) else entry.date


def _period_name(period: str) -> str:
    month = _parse_date(f"{period}-01")
    return f"{MONTH_NAMES[month.month - 1]} {month.year}" if month else period


def _day_name(day: str) -> str:
    """Return the weekday and day; a dash if only the month or year is known."""
    parsed = _parse_date(day)
    return f"{_WEEKDAYS[parsed.weekday()]} {parsed.day:>2}" if parsed else f"{'—':>6}"


def _parse_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _entry_text(entry: TimelineEntry) -> Text:
    from rich.text import Text

    from gbrain.messages import one_line, printable

    text = Text()
    # Of which page the text is, its title above or the command says.
    if entry.kind != "page" and (source := _source(entry)):
        text.append(f"{one_line(source)} — ", "dim")
    return text.append(_join_lines(printable(entry.text)))


def _join_lines(text: str) -> str:
    """Return a text with the lines of each paragraph joined, so that they wrap at the screen."""
    if "```" in text or "~~~" in text:
        return text
    joined: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        goes_on = goes_on and re.match(_IN_PARAGRAPH, line) is not None
        joined += " " if goes_on else "\n", line
        goes_on = (goes_on or line[:1] not in ("", "#", "|")) and not line.endswith(_HARD_BREAKS)
    return "".join(joined[1:])
