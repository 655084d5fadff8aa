"""A brain's numbers and a check's findings as documents, plain lines and terminal screens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.plots import bar, sparkline
from gbrain.output.text import columns, one_line
from gbrain.store.stats import Counted, Stats

if TYPE_CHECKING:
    from rich.table import Table

    from gbrain.store.doctor.examine import Finding

SHOWN_DETAILS = 5

_BAR_WIDTH = 16
_TWO_CHARTS = 90
_BARS_SHOWN = 15
_MONTHS_SHOWN = 36
_MARKS = {
    "ok": ("✓", "green"),
    "note": ("•", "yellow"),
    "problem": ("✗", "bold red"),
    "repaired": ("✓", "bold green"),
}

# --- stats -----------------------------------------------------------------------------------


def stats_document(path: Path, stats: Stats) -> Document:
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
        "vaults": [{"root": vault.name, "pages": vault.pages} for vault in stats.vaults],
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
    """A number a line, named as in the JSON document, with dots for what is inside."""
    return columns(_flat(stats_document(path, stats)))


def _flat(document: Document) -> Iterator[tuple[str, object]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", of) for inner, of in value.items())
        elif isinstance(value, list):
            for entry in value:
                label, *_, last = entry.values()
                yield f"{name}.{label}", last
        else:
            yield name, value


def show_stats(path: Path, stats: Stats, month: str) -> None:
    """Numbers, bars and a line of months up to `month` (`2026-04`)."""
    from rich.table import Table
    from rich.text import Text

    terminal = screen.console()
    terminal.print(Text(one_line(path), style="bold"))
    numbers = Table(box=None, show_header=False, pad_edge=False)
    numbers.add_column(justify="right", no_wrap=True)
    numbers.add_column(overflow="fold")
    for value, about in _told(stats):
        numbers.add_row(Text(value, style="bold"), Text(one_line(about)))
    terminal.print(numbers)
    charts = [
        _bars(title, counted)
        for title, counted in (("Wings", stats.wings), ("Rooms", stats.rooms))
        if counted
    ]
    beside = terminal.width >= _TWO_CHARTS
    for row in [charts] if beside else [[chart] for chart in charts]:
        together = Table.grid(padding=(0, 4, 0, 0))
        together.add_row(*row)
        terminal.print(Text(), together)
    run = months_until(stats.months, month)
    if len(run) > 1:
        terminal.print(Text("\nPages by month", style="bold"))
        line = sparkline([one.pages for one in run])
        terminal.print(Text.assemble(run[0].name, " ", (line, "cyan"), " ", run[-1].name))
    if stats.newest:
        terminal.print(Text("\nWritten last", style="bold"))
        newest = Table(box=None, show_header=False, pad_edge=False)
        newest.add_column(no_wrap=True)
        newest.add_column(overflow="fold")
        for page in stats.newest:
            when = page.updated_at[:16].replace("T", " ")
            name = Text(one_line(page.title)).append(f"  {one_line(page.slug)}", "cyan")
            newest.add_row(Text(when, style="dim"), name)
        terminal.print(newest)


def _told(stats: Stats) -> Iterator[tuple[str, str]]:
    yield f"{stats.pages:,}", f"pages, {_size(stats.page_bytes)} of text"
    yield f"{stats.chunks:,}", f"passages, {stats.timeline_entries:,} of them timeline entries"
    yield f"{stats.versions:,}", "earlier versions"
    yield f"{stats.links:,}", f"links, {stats.dangling_links:,} of them lead nowhere"
    yield f"{stats.tags:,}", f"tags, {stats.aliases:,} query aliases"
    model = f" by {stats.model_name}" if stats.model_name else ""
    waiting = f"{stats.jobs:,} passages wait for one" if stats.jobs else "none is missing"
    yield f"{stats.vectors:,}", f"vectors{model}, {waiting}"
    for vault in stats.vaults:
        yield f"{vault.pages:,}", f"pages from {vault.name}"
    yield _size(stats.file_bytes), f"in the file, schema {stats.schema_version}"


def _bars(title: str, counted: Sequence[Counted]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None, show_header=False, pad_edge=False,
        title=Text(title, style="bold"), title_justify="left",
    )  # fmt: skip
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for one in counted[:_BARS_SHOWN]:
        length = bar(one.pages, counted[0].pages, _BAR_WIDTH)
        table.add_row(Text(one_line(one.name)), f"{one.pages:,}", Text(length, style="cyan"))
    if counted[_BARS_SHOWN:]:
        rest = sum(one.pages for one in counted[_BARS_SHOWN:])
        table.add_row(Text(f"{len(counted) - _BARS_SHOWN} others", style="dim"), f"{rest:,}", "")
    return table


def months_until(months: Sequence[Counted], last: str) -> list[Counted]:
    """Each month from the first to `last` or the last that has pages, three years at most.

    A brain whose dates all lie ahead is shown up to its own last month.
    """
    pages = {_number(month.name): month.pages for month in months}
    if not pages:
        return []
    past = [number for number in pages if number <= _number(last)] or list(pages)
    end = max(past)
    start = max(min(past), end - _MONTHS_SHOWN + 1)
    return [
        Counted(f"{number // 12:04}-{number % 12 + 1:02}", pages.get(number, 0))
        for number in range(start, end + 1)
    ]


def _number(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7]) - 1


def _size(count: int) -> str:
    size, unit = float(count), "bytes"
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


# --- doctor ----------------------------------------------------------------------------------


def finding_document(name: str, finding: Finding, *, verbose: bool) -> Document:
    """`details` holds the first places, with `verbose` all of them; `count` says how many."""
    details = finding.details if verbose else finding.details[:SHOWN_DETAILS]
    return {
        "name": name,
        "status": finding.status,
        "message": finding.message,
        "fix": finding.fix,
        "count": finding.count,
        "details": list(details),
    }


def show_finding(name: str, finding: Finding, *, verbose: bool) -> None:
    """A check's line: on a terminal with a mark and the fix below, in a pipe with tabs."""
    details = finding.details if verbose else finding.details[:SHOWN_DETAILS]
    if not screen.on_terminal():
        screen.write(columns([(finding.status, name, finding.message, finding.fix)]))
        for detail in details:
            screen.write(columns([("", name, detail)]))
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    for width in (1, 15, None):
        grid.add_column(width=width, overflow="fold")
    mark, style = _MARKS[finding.status]
    mended = "repaired: " if finding.status == "repaired" else ""
    grid.add_row(Text(mark, style), name, Text(mended + one_line(finding.message)))
    lines = [Text(one_line(detail), "dim") for detail in details]
    if len(details) < len(finding.details):
        lines.append(Text("… -v shows them all", "dim"))
    if finding.fix:
        lines.append(Text(one_line(finding.fix), "cyan"))
    for line in lines:
        grid.add_row("", "", line)
    screen.console().print(grid)
