"""Render the numbers of `gbrain stats` as a JSON document, plain lines and a terminal screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.plain_text import one_line, tab_separated
from gbrain.output.plots import bar, sparkline
from gbrain.store.stats import PageCount, Stats

if TYPE_CHECKING:
    from rich.table import Table

_BAR_WIDTH = 16
_MAX_BARS = 15
_MAX_MONTHS = 36
# Columns from which two bar charts fit side by side.
_WIDTH_FOR_TWO_CHARTS = 90


def stats_document(path: Path, stats: Stats) -> Document:
    """Return the numbers of the brain at `path` as JSON."""
    return {
        "path": str(path),
        "file_bytes": stats.file_bytes,
        "schema_version": stats.schema_version,
        "pages": stats.pages,
        "page_bytes": stats.page_bytes,
        "chunks": stats.chunks,
        "timeline_entries": stats.timeline_entries,
        "versions": stats.versions,
        "links": stats.links,
        "dangling_links": stats.dangling_links,
        "tags": stats.tags,
        "aliases": stats.aliases,
        "vaults": [{"root": folder.name, "pages": folder.pages} for folder in stats.folders],
        "vectors": stats.vectors,
        "jobs": stats.jobs,
        "model": {"name": stats.model_name, "dimension": stats.model_dimension}
        if stats.model_name is not None
        else None,
        "wings": [{"wing": wing.name, "pages": wing.pages} for wing in stats.wings],
        "rooms": [{"room": room.name, "pages": room.pages} for room in stats.rooms],
        "months": [{"month": month.name, "pages": month.pages} for month in stats.months],
        "newest": [
            {"slug": page.slug, "title": page.title, "updated_at": page.updated_at}
            for page in stats.newest
        ],
    }


def stats_text(path: Path, stats: Stats) -> str:
    """Return one `name<TAB>value` line for each number, with the names of the JSON document.

    Values inside an object or list are named `outer.inner`.
    """
    return tab_separated(_flatten(stats_document(path, stats)))


def _flatten(document: Document) -> Iterator[tuple[str, object]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", number) for inner, number in value.items())
        elif isinstance(value, list):
            for entry in value:
                label, *_, last = entry.values()
                yield f"{name}.{label}", last
        else:
            yield name, value


def show_stats(path: Path, stats: Stats, month: str) -> None:
    """Print numbers, bar charts and a sparkline of months up to `month` (`2026-04`)."""
    from rich.table import Table
    from rich.text import Text

    terminal = screen.console()
    terminal.print(Text(one_line(path), style="bold"))
    numbers = Table(box=None, show_header=False, pad_edge=False)
    numbers.add_column(justify="right", no_wrap=True)
    numbers.add_column(overflow="fold")
    for value, description in _number_lines(stats):
        numbers.add_row(Text(value, style="bold"), Text(one_line(description)))
    terminal.print(numbers)
    charts = [
        _bar_chart(title, counts)
        for title, counts in (("Wings", stats.wings), ("Rooms", stats.rooms))
        if counts
    ]
    side_by_side = terminal.width >= _WIDTH_FOR_TWO_CHARTS
    for row in [charts] if side_by_side else [[chart] for chart in charts]:
        grid = Table.grid(padding=(0, 4, 0, 0))
        grid.add_row(*row)
        terminal.print(Text(), grid)
    months = fill_months(stats.months, month)
    if len(months) > 1:
        terminal.print(Text("\nPages by month", style="bold"))
        line = sparkline([one.pages for one in months])
        terminal.print(Text.assemble(months[0].name, " ", (line, "cyan"), " ", months[-1].name))
    if stats.newest:
        terminal.print(Text("\nLast changed", style="bold"))
        newest = Table(box=None, show_header=False, pad_edge=False)
        newest.add_column(no_wrap=True)
        newest.add_column(overflow="fold")
        for page in stats.newest:
            when = page.updated_at[:16].replace("T", " ")
            name = Text(one_line(page.title)).append(f"  {one_line(page.slug)}", "cyan")
            newest.add_row(Text(when, style="dim"), name)
        terminal.print(newest)


def _number_lines(stats: Stats) -> Iterator[tuple[str, str]]:
    """Yield each number with its description."""
    yield f"{stats.pages:,}", f"pages, {_format_size(stats.page_bytes)} of text"
    yield f"{stats.chunks:,}", f"chunks, {stats.timeline_entries:,} of them timeline entries"
    yield f"{stats.versions:,}", "earlier versions of pages"
    yield f"{stats.links:,}", f"links, {stats.dangling_links:,} of them to pages that do not exist"
    yield f"{stats.tags:,}", f"tags, {stats.aliases:,} query aliases"
    model = f" by {stats.model_name}" if stats.model_name else ""
    pending = f"{stats.jobs:,} chunks still to embed" if stats.jobs else "every chunk is embedded"
    yield f"{stats.vectors:,}", f"vectors{model}, {pending}"
    for folder in stats.folders:
        yield f"{folder.pages:,}", f"pages from {folder.name}"
    yield _format_size(stats.file_bytes), f"file size, schema version {stats.schema_version}"


def _bar_chart(title: str, counts: Sequence[PageCount]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None, show_header=False, pad_edge=False,
        title=Text(title, style="bold"), title_justify="left",
    )  # fmt: skip
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for one in counts[:_MAX_BARS]:
        length = bar(one.pages, counts[0].pages, _BAR_WIDTH)
        table.add_row(Text(one_line(one.name)), f"{one.pages:,}", Text(length, style="cyan"))
    if counts[_MAX_BARS:]:
        rest = sum(one.pages for one in counts[_MAX_BARS:])
        table.add_row(Text(f"{len(counts) - _MAX_BARS} others", style="dim"), f"{rest:,}", "")
    return table


def fill_months(months: Sequence[PageCount], last: str) -> list[PageCount]:
    """Return every month from the first to the last with pages, at most 36, oldest first.

    Months after `last` count only if every page has such a month.
    """
    pages = {_month_number(month.name): month.pages for month in months}
    if not pages:
        return []
    past = [number for number in pages if number <= _month_number(last)] or list(pages)
    end = max(past)
    start = max(min(past), end - _MAX_MONTHS + 1)
    return [
        PageCount(f"{number // 12:04}-{number % 12 + 1:02}", pages.get(number, 0))
        for number in range(start, end + 1)
    ]


def _month_number(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7]) - 1


def _format_size(count: int) -> str:
    size, unit = float(count), "bytes"
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
