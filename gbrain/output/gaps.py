"""Render the gaps that `gbrain gaps` finds as JSON, rows and a terminal screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gbrain.output.json import Document
from gbrain.output.plain_text import one_line
from gbrain.store.gaps import Gap, GapKind

if TYPE_CHECKING:
    from rich.console import Console

_TITLES: Mapping[GapKind, str] = {
    "asked": "Questions without a good answer",
    "unwritten": "Pages that are linked to but do not exist",
    "empty": "Pages without compiled truth",
    "stale": "Pages that may be out of date",
}
_COUNTS: Mapping[GapKind, tuple[str, ...]] = {
    "asked": ("asked",),
    "unwritten": ("backlinks",),
    "empty": ("opens", "backlinks"),
    "stale": ("opens", "backlinks"),
}


def gap_document(gap: Gap) -> Document:
    """Return a gap as JSON."""
    return gap._asdict()


def gap_row(gap: Gap) -> tuple[str | int | None, ...]:
    """Return all fields of a gap as a row, for a pipe."""
    return tuple(gap)


def show_gaps(
    shown: Mapping[GapKind, Sequence[Gap]], totals: Mapping[GapKind, int], *, pager: bool = True
) -> None:
    """Print the gaps of each kind under its title, with the command that closes each."""
    from gbrain.output.pager import open_pager
    from gbrain.output.screen import console

    with open_pager(screen := console(), wanted=pager):
        for kind, gaps in shown.items():
            if gaps:
                _show_kind(screen, kind, gaps, totals[kind])


def _show_kind(screen: Console, kind: GapKind, gaps: Sequence[Gap], total: int) -> None:
    from rich.table import Table
    from rich.text import Text

    screen.print(Text.assemble((_TITLES[kind], "bold"), (f"  {total}", "dim")))
    table = Table.grid(padding=(0, 2, 0, 0))
    for count in _COUNTS[kind]:
        table.add_column(justify="right", no_wrap=True, min_width=len(count) + 2)
    table.add_column(overflow="fold")
    table.add_row(*(Text(count, "dim") for count in _COUNTS[kind]), "")
    for gap in gaps:
        fields = gap._asdict()
        about = " · ".join(part for part in (gap.day, gap.why) if part)
        table.add_row(
            *(str(fields[count]) for count in _COUNTS[kind]),
            Text.assemble(
                (one_line(gap.name), "cyan"),
                ("  " + one_line(about), "dim"),
                "\n$ " + one_line(gap.command),
            ),
        )
    screen.print(table)
    if len(gaps) < total:
        more = f"{len(gaps)} of {total}; all: gbrain gaps --kind {kind} --limit 1000"
        screen.print(Text(more, "dim"))
    screen.print()
