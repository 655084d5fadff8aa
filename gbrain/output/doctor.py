"""Render the findings of `gbrain doctor` as JSON documents, plain lines and terminal tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.plain_text import one_line, tab_separated

if TYPE_CHECKING:
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
