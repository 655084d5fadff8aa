"""Timelines as JSON, as rows and for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gbrain.output.json import Document
from gbrain.store.timeline import DatedEntry

if TYPE_CHECKING:
    from rich.text import Text

_DAY = len("2026-04-03")


def entry_document(entry: DatedEntry) -> Document:
    return {
        "slug": entry.slug,
        "title": entry.title,
        "date": entry.date,
        "source": entry.source,
        "text": entry.text,
        "lines": list(entry.lines),
    }


def entry_rows(entries: Iterable[DatedEntry]) -> list[tuple[str | None, ...]]:
    """Date, slug, source and words of each entry."""
    return [(entry.date, entry.slug, entry.source, entry.text) for entry in entries]


def show_timeline(entries: Sequence[DatedEntry]) -> None:
    """One page's entries beside their dates."""
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for entry in entries:
        table.add_row(Text(entry.date, style="bold"), _words(entry))
    console().print(table)


def show_chronicle(entries: Sequence[DatedEntry]) -> None:
    """The entries of many pages under their days, each below the page it stands on."""
    from rich.padding import Padding
    from rich.text import Text

    from gbrain.output.screen import console
    from gbrain.output.text import one_line

    screen = console()
    for day, of_day in groupby(entries, key=lambda entry: entry.date[:_DAY]):
        screen.print(Text(day, style="bold"))
        for entry in of_day:
            page = Text(one_line(entry.title), style="cyan").append(f"  {entry.slug}", "dim")
            if entry.date[_DAY:]:
                page.append(f"  {entry.date[_DAY + 1 :]}", "dim")
            screen.print(Padding(page, (0, 0, 0, 2)))
            screen.print(Padding(_words(entry), (0, 0, 0, 4)))


def _words(entry: DatedEntry) -> Text:
    from rich.text import Text

    from gbrain.output.text import one_line, printable

    words = Text()
    if entry.source:
        words.append(f"{one_line(entry.source)} — ", "dim")
    return words.append(printable(entry.text))
