"""Where output goes: Rich on a terminal, plain text in a pipe, one JSON document when asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gbrain.output.json import dumps
from gbrain.output.text import columns, printable

if TYPE_CHECKING:
    from rich.console import Console


def on_terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def write(text: str) -> None:
    """Data, to standard output."""
    sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")


def write_json(document: Any) -> None:
    write(dumps(document))


def say(text: str) -> None:
    """Talk, to standard error."""
    print(printable(text), file=sys.stderr)


def console() -> Console:
    """Rich's console; it follows NO_COLOR and the terminal's width."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


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
        write(columns(rows))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.pager import paged

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for number, header in enumerate(headers):
        right = all(isinstance(row[number], int | float) for row in rows)
        table.add_column(header, overflow="fold", justify="right" if right else "left")
    for row in rows:
        table.add_row(*(Text(printable("" if cell is None else str(cell))) for cell in row))
    with paged(terminal := console(), wanted=pager):
        terminal.print(table)
