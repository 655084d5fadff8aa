"""Render findings of `gbrain doctor`, gaps and checked citations as JSON, rows and screens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gbrain.messages import one_line, tab_separated
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.store.citations import CheckedCitation, CitationStatus
from gbrain.store.gaps import Gap, GapKind

if TYPE_CHECKING:
    from rich.console import Console

    from gbrain.store.doctor.findings import Finding

# Details of a finding that are shown without --verbose.
MAX_SHOWN_DETAILS = 5

_MARKS = {
    "ok": ("✓", "green"),
    "note": ("•", "yellow"),
    "problem": ("✗", "bold red"),
    "repaired": ("✓", "bold green"),
}


def finding_document(name: str, finding: Finding, *, verbose: bool) -> Document:
    """Return a finding as JSON with its first 5 details, or all of them with `verbose`."""
    details = finding.details if verbose else finding.details[:MAX_SHOWN_DETAILS]
    return {
        "name": name,
        "status": finding.status,
        "message": finding.message,
        "fix": finding.fix,
        "count": finding.count,
        "details": list(details),
    }


def show_finding(name: str, finding: Finding, *, verbose: bool) -> None:
    """Print a finding: with a mark and the fix below on a terminal, tab-separated in a pipe."""
    details = finding.details if verbose else finding.details[:MAX_SHOWN_DETAILS]
    if not screen.on_terminal():
        screen.write(tab_separated([(finding.status, name, finding.message, finding.fix)]))
        for detail in details:
            screen.write(tab_separated([("", name, detail)]))
        return
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    for width in (1, 15, None):
        grid.add_column(width=width, overflow="fold")
    mark, style = _MARKS[finding.status]
    prefix = "repaired: " if finding.status == "repaired" else ""
    grid.add_row(Text(mark, style), name, Text(prefix + one_line(finding.message)))
    lines = [Text(one_line(detail), "dim") for detail in details]
    if len(details) < len(finding.details):
        lines.append(Text(f"… {len(finding.details) - len(details):,} more; -v shows all", "dim"))
    if finding.fix:
        lines.append(Text(one_line(finding.fix), "cyan"))
    for line in lines:
        grid.add_row("", "", line)
    screen.console().print(grid)


# --- gaps ------------------------------------------------------------------------------------

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
    from gbrain.output.screen import console, open_pager

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


# --- citations that verify checked -----------------------------------------------------------

_STYLES: Mapping[CitationStatus, str] = {
    "unchanged": "green",
    "moved": "yellow",
    "changed": "bold red",
    "gone": "bold red",
    "unknown": "bold red",
}


def citation_document(checked: CheckedCitation) -> Document:
    """Return a checked citation as JSON."""
    return {
        "citation": str(checked.citation),
        "slug": checked.citation.slug,
        "lines": list(checked.citation.lines),
        "hash": checked.citation.hash,
        "status": checked.status,
        "now": {"slug": checked.slug, "lines": list(checked.lines)}
        if checked.slug and checked.lines
        else None,
        "last_version": checked.version,
        "until": checked.until,
    }


def citation_row(checked: CheckedCitation) -> tuple[str, str, str]:
    """Return the status, the citation, and where its text is now or was last."""
    return checked.status, str(checked.citation), _describe_place(checked)


def _describe_place(checked: CheckedCitation) -> str:
    if checked.status == "unknown":
        return "no version of this page has this text"
    if checked.slug and checked.lines:
        if checked.status == "unchanged":
            return ""
        first, last = checked.lines
        return f"now {checked.slug}#L{first}" + (f"-{last}" if last > first else "")
    if checked.version is None:
        return ""
    return f"last in version {checked.version}, until {(checked.until or '')[:10]}"


def show_citations(citations: Sequence[CheckedCitation]) -> None:
    """Print one line for each citation, with its status in colour."""
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console

    table = Table.grid(padding=(0, 2, 0, 0))
    for one in citations:
        status, citation, where = citation_row(one)
        table.add_row(
            Text(status, _STYLES[one.status]), Text(one_line(citation)), Text(where, "dim")
        )
    console().print(table)


def count_statuses(citations: Sequence[CheckedCitation]) -> str:
    """Return how many citations have each status: `2 unchanged, 1 moved`."""
    counts = Counter(one.status for one in citations)
    return ", ".join(f"{counts[status]} {status}" for status in _STYLES if counts[status])
