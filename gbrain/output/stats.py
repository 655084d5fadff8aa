"""Render the numbers of a brain as JSON, text and a screen, and the overview of bare `gbrain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.messages import counted, one_line, plural, tab_separated
from gbrain.output import screen
from gbrain.output.json import Document
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
            when = datetime.fromisoformat(page.updated_at).astimezone().strftime("%Y-%m-%d %H:%M")
            name = Text(one_line(page.title)).append(f"  {one_line(page.slug)}", "cyan")
            newest.add_row(Text(when, style="dim"), name)
        terminal.print(newest)


def _number_lines(stats: Stats) -> Iterator[tuple[str, str]]:
    """Yield each number with its description."""
    size, synonyms = _format_size(stats.page_bytes), counted(stats.aliases, "synonym")
    dangling = f"{stats.dangling_links:,} of them to pages that do not exist"
    yield f"{stats.pages:,}", f"{plural(stats.pages, 'page')}, {size} of text"
    yield f"{stats.chunks:,}", f"chunks, {stats.timeline_entries:,} of them timeline entries"
    yield f"{stats.versions:,}", f"{plural(stats.versions, 'earlier version')} of pages"
    yield f"{stats.links:,}", f"{plural(stats.links, 'link')}, {dangling}"
    yield f"{stats.tags:,}", f"{plural(stats.tags, 'tag')}, {synonyms} for queries"
    model = f" by {stats.model_name}" if stats.model_name else ""
    pending = f"{stats.jobs:,} chunks still to embed" if stats.jobs else "every chunk is embedded"
    yield f"{stats.vectors:,}", f"vectors{model}, {pending}"
    for folder in stats.folders:
        yield f"{folder.pages:,}", f"{plural(folder.pages, 'page')} from {folder.name}"
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


# --- overview of gbrain without arguments: the brain's state and next steps ------------------

Step = tuple[str, str]

FIRST_STEPS: tuple[Step, ...] = (
    ("gbrain demo", "try gbrain on sample pages; leaves nothing behind"),
    ("gbrain import DIR", "create a brain from a folder of Markdown notes"),
    ('gbrain capture "…"', "or start with a single note"),
)


def next_steps(stats: Stats) -> list[Step]:
    """Return commands that are useful now, the most useful first."""
    if stats.pages == 0:
        return list(FIRST_STEPS[1:])
    steps: list[Step] = []
    if stats.jobs:
        steps.append(("gbrain embed", f"embed {counted(stats.jobs, 'chunk')} for vector search"))
    steps.append(('gbrain query "your question"', "search by keyword and by meaning"))
    if stats.folders:
        steps.append(
            ("gbrain sync", f"import what changed in {shorten_path(stats.folders[0].name)}")
        )
    steps.append(('gbrain capture "…"', "add a note with today's date"))
    return steps


def overview_lines(path: Path, stats: Stats, now: datetime) -> list[str]:
    """Return lines with the brain's path, its size and its last change."""
    lines = [shorten_path(path), " · ".join([counted(stats.pages, "page"), _embedded_share(stats)])]
    if stats.newest:
        last = stats.newest[0]
        lines.append(f"Last change {time_ago(last.updated_at, now)}: {one_line(last.title)}")
    return lines


def _embedded_share(stats: Stats) -> str:
    if not stats.chunks:
        return "nothing to embed"
    share = max(stats.chunks - stats.jobs, 0) / stats.chunks
    # 100 % only when nothing is left to embed, 0 % only when nothing is embedded.
    percent = 100 if share == 1 else min(max(round(100 * share), 1 if share else 0), 99)
    return f"{percent} % of {counted(stats.chunks, 'chunk')} embedded"


def time_ago(written: str, now: datetime) -> str:
    """Return how long ago a stored time was: `3 hours ago`."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return one_line(written)
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    minutes = int((now - moment).total_seconds() // 60)
    for unit, length in (("day", 24 * 60), ("hour", 60), ("minute", 1)):
        if minutes >= length:
            return f"{counted(minutes // length, unit)} ago"
    return "just now"


def shorten_path(path: str | Path) -> str:
    """Return a path as a user would type it, with ~ for the home folder."""
    try:
        return one_line(f"~/{Path(path).relative_to(Path.home())}")
    except (ValueError, RuntimeError):
        return one_line(path)


def show_overview(lines: list[str], steps: list[Step]) -> None:
    """Print the lines, and below them the commands with what they do."""
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console

    screen = console()
    screen.print(Text(lines[0], style="bold"))
    for line in lines[1:]:
        screen.print(Text(line))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for command, purpose in [*steps, ("gbrain --help", "every command")]:
        table.add_row(Text(f"  {command}", style="cyan"), Text(purpose, style="dim"))
    screen.print(Text("\nNext"), table)
