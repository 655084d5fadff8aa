"""Write text, JSON, tables and progress bars: Rich on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gbrain.output.json import dumps
from gbrain.output.plain_text import printable, tab_separated, without_newlines

if TYPE_CHECKING:
    from rich.console import Console

# On a narrower terminal, table columns would be a few characters wide.
_MIN_TABLE_WIDTH = 60


def on_terminal() -> bool:
    """Tell whether standard output is a terminal."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def write(text: str) -> None:
    """Write data to standard output, without control characters."""
    sys.stdout.write(printable(text if text.endswith("\n") or not text else text + "\n"))


def write_json(document: Any) -> None:
    """Write a document to standard output as one line of JSON."""
    sys.stdout.write(dumps(document) + "\n")


def say(text: str) -> None:
    """Write a message to standard error, on one line."""
    print(without_newlines(text), file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    """Return a Rich console that follows NO_COLOR and the terminal's width.

    It removes control characters that are not Rich's own, and interprets no markup in text.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class PlainConsole(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else printable(text), style, control)

    return PlainConsole(highlight=False, soft_wrap=False, markup=False, emoji=False, stderr=stderr)


def write_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    empty: str,
    *,
    quiet: bool = False,
    pager: bool = False,
) -> None:
    """Print a table, or tab-separated rows in a pipe; without rows, the message `empty`."""
    if not rows:
        if on_terminal() and not quiet:
            say(empty)
        return
    if not on_terminal():
        write(tab_separated(rows))
        return
    from gbrain.output.pager import open_pager

    with open_pager(terminal := console(), wanted=pager):
        if terminal.width < _MIN_TABLE_WIDTH and len(rows[0]) > 2:
            _print_stacked(terminal, rows)
        else:
            _print_table(terminal, headers, rows)


def _print_stacked(terminal: Console, rows: Sequence[Sequence[object]]) -> None:
    """Print the first cell of each row, the others below."""
    from rich.padding import Padding
    from rich.text import Text

    for first, *others in rows:
        terminal.print(Text(without_newlines(str(first)), style="cyan", overflow="fold"))
        details = " · ".join(
            without_newlines(str(cell)) for cell in others if cell not in (None, "")
        )
        terminal.print(Padding(Text(details, overflow="fold"), (0, 0, 0, 2)))


def _print_table(
    terminal: Console, headers: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for number, header in enumerate(headers):
        right = all(isinstance(row[number], int | float) for row in rows)
        table.add_column(header, overflow="fold", justify="right" if right else "left")
    for row in rows:
        table.add_row(*(Text("" if cell is None else without_newlines(str(cell))) for cell in row))
    terminal.print(table)


@contextmanager
def show_progress(title: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (done, total) that draws a bar if standard error is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from time import monotonic

    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=None, rate="")
        started = monotonic()

        def show(done: int, total: int) -> None:
            rate = done / max(monotonic() - started, 0.001)
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f}/s")

        yield show
