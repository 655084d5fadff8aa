"""Gaps and verified citations as JSON, as rows and for a person at a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gbrain.output.json import Document
from gbrain.output.plain_text import one_line
from gbrain.store.citations import CheckedCitation, CitationStatus
from gbrain.store.gaps import Gap, GapKind

if TYPE_CHECKING:
    from rich.console import Console

_TITLES: Mapping[GapKind, str] = {
    "asked": "Asked and not answered",
    "unwritten": "Linked to and not written",
    "empty": "Without compiled truth",
    "stale": "Out of date",
}
_USE: Mapping[GapKind, tuple[str, ...]] = {
    "asked": ("asked",),
    "unwritten": ("backlinks",),
    "empty": ("opens", "backlinks"),
    "stale": ("opens", "backlinks"),
}
_STYLES: Mapping[CitationStatus, str] = {
    "unchanged": "green",
    "moved": "yellow",
    "changed": "bold red",
    "gone": "bold red",
    "unknown": "bold red",
}


def gap_document(gap: Gap) -> Document:
    return gap._asdict()


def gap_row(gap: Gap) -> tuple[str | int | None, ...]:
    """All of a gap, for a pipe."""
    return tuple(gap)


def show_gaps(
    shown: Mapping[GapKind, Sequence[Gap]], totals: Mapping[GapKind, int], *, pager: bool = True
) -> None:
    """Each kind under its title, what to do below what is missing."""
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
    for use in _USE[kind]:
        table.add_column(justify="right", no_wrap=True, min_width=len(use) + 2)
    table.add_column(overflow="fold")
    table.add_row(*(Text(use, "dim") for use in _USE[kind]), "")
    for gap in gaps:
        counts = gap._asdict()
        about = " · ".join(part for part in (gap.day, gap.why) if part)
        table.add_row(
            *(str(counts[use]) for use in _USE[kind]),
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


def verified_document(verified: CheckedCitation) -> Document:
    return {
        "citation": str(verified.citation),
        "slug": verified.citation.slug,
        "lines": list(verified.citation.lines),
        "hash": verified.citation.hash,
        "status": verified.status,
        "now": {"slug": verified.slug, "lines": list(verified.lines)}
        if verified.slug and verified.lines
        else None,
        "last_version": verified.version,
        "until": verified.until,
    }


def verified_row(verified: CheckedCitation) -> tuple[str, str, str]:
    """Status, citation, and where the text is or since when it is not."""
    return verified.status, str(verified.citation), _whereabouts(verified)


def _whereabouts(verified: CheckedCitation) -> str:
    if verified.status == "unknown":
        return "the brain never held this text there"
    if verified.slug and verified.lines:
        if verified.status == "unchanged":
            return ""
        first, last = verified.lines
        return f"now {verified.slug}#L{first}" + (f"-{last}" if last > first else "")
    if verified.version is None:
        return ""
    return f"last in version {verified.version}, until {(verified.until or '')[:10]}"


def show_verified(verified: Sequence[CheckedCitation]) -> None:
    """One line a citation, its status in colour."""
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console

    table = Table.grid(padding=(0, 2, 0, 0))
    for one in verified:
        status, citation, where = verified_row(one)
        table.add_row(
            Text(status, _STYLES[one.status]), Text(one_line(citation)), Text(where, "dim")
        )
    console().print(table)


def count_statuses(verified: Sequence[CheckedCitation]) -> str:
    """`2 unchanged, 1 moved`"""
    counts = Counter(one.status for one in verified)
    return ", ".join(f"{counts[status]} {status}" for status in _STYLES if counts[status])
