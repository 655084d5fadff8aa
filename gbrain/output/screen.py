"""Where output goes: Rich on a terminal, plain text in a pipe, one JSON document when asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gbrain.output.json import dumps
from gbrain.output.plain_text import printable, tab_separated, without_newlines

if TYPE_CHECKING:
    from rich.console import Console

# Columns beside each other would be a few letters wide.
_NARROW = 60


def on_terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def write(text: str) -> None:
    """Data, to standard output; whatever it came from, it does not drive the terminal."""
    sys.stdout.write(printable(text if text.endswith("\n") or not text else text + "\n"))


def write_json(document: Any) -> None:
    sys.stdout.write(dumps(document) + "\n")


def say(text: str) -> None:
    """Talk, to standard error, one line of it."""
    print(without_newlines(text), file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    """Rich's console; it follows NO_COLOR and the terminal's width.

    It sends the terminal no control characters but Rich's own, and reads no markup in any text.
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
    """A table on a terminal, tab-separated rows in a pipe; `empty` is said where there are none."""
    if not rows:
        if on_terminal() and not quiet:
            say(empty)
        return
    if not on_terminal():
        write(tab_separated(rows))
        return
    from gbrain.output.pager import open_pager

    with open_pager(terminal := console(), wanted=pager):
        if terminal.width < _NARROW and len(rows[0]) > 2:
            _print_stacked(terminal, rows)
        else:
            _print_table(terminal, headers, rows)


def _print_stacked(terminal: Console, rows: Sequence[Sequence[object]]) -> None:
    """The first cell of each row, and below it the others."""
    from rich.padding import Padding
    from rich.text import Text

    for first, *others in rows:
        terminal.print(Text(without_newlines(str(first)), style="cyan", overflow="fold"))
        told = " · ".join(without_newlines(str(cell)) for cell in others if cell not in (None, ""))
        terminal.print(Padding(Text(told, overflow="fold"), (0, 0, 0, 2)))


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
