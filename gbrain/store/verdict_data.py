"""Which of a query's words a hit holds, and how many pages hold them: what a verdict asks."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

from gbrain.text.query_terms import fts_whole_term, has_unspaced_script
from gbrain.types import Term, TermStatistics

# Counting stops here, so that a common word costs no more than a rare one.
_COUNTED = 400
_MOST_TERMS = 32


def approximate_page_count(connection: sqlite3.Connection) -> int:
    """About how many pages there are: a count would read them all."""
    return connection.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()[0] or 0


def packaged_model_is_active(connection: sqlite3.Connection) -> bool:
    """Whether cosines are those of the packaged model, which verdicts are calibrated on."""
    active = "SELECT 1 FROM embedding_models WHERE active AND folder IS NULL"
    return connection.execute(active).fetchone() is not None


def term_statistics(
    connection: sqlite3.Connection, terms: Sequence[Term], chunk_ids: Sequence[int], pages: int
) -> tuple[TermStatistics, ...]:
    """For each term, about how many of the brain's `pages` hold it, and whether a passage does."""
    return tuple(_fact(connection, term, chunk_ids, pages) for term in terms[:_MOST_TERMS])


def _fact(
    connection: sqlite3.Connection, term: Term, chunk_ids: Sequence[int], pages: int
) -> TermStatistics:
    match = fts_whole_term(term)
    counted: int = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? LIMIT ?)",
        (match, _COUNTED),
    ).fetchone()[0]
    if counted == _COUNTED:
        counted = max(counted, int(math.sqrt(_COUNTED * pages)))
    held = any(_holds(connection, term, match, chunk_id) for chunk_id in chunk_ids)
    return TermStatistics(" ".join(term.words), max(counted, int(held)), held)


def _holds(connection: sqlite3.Connection, term: Term, match: str, chunk_id: int) -> bool:
    found = connection.execute(
        "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid = ?", (match, chunk_id)
    ).fetchone()
    if found is None and any(map(has_unspaced_script, term.words)):
        found = connection.execute(
            "SELECT 1 FROM chunks WHERE id = ? AND instr(text, ?) > 0",
            (chunk_id, " ".join(term.words)),
        ).fetchone()
    return found is not None
