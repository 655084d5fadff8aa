"""Render citations that `gbrain verify` checked as JSON, rows and a terminal screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gbrain.output.json import Document
from gbrain.output.plain_text import one_line
from gbrain.store.citations import CheckedCitation, CitationStatus

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
