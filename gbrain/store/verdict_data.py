"""Read what a query's verdict needs: how rare its terms are, which the best hit contains."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

from gbrain.text.query_terms import fts_whole_term, has_unspaced_script
from gbrain.types import Term, TermStatistics

# Counting stops here, so that a common word does not cost more than a rare one.
_MAX_COUNTED_PAGES = 400
_MAX_TERMS = 32


def approximate_page_count(connection: sqlite3.Connection) -> int:
    """Return the highest page id, about the number of pages; counting would read them all."""
    return connection.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()[0] or 0


def packaged_model_is_active(connection: sqlite3.Connection) -> bool:
    """Return whether the packaged model is active; verdicts are calibrated on its cosines."""
    active = "SELECT 1 FROM embedding_models WHERE active AND folder IS NULL"
    return connection.execute(active).fetchone() is not None


def term_statistics(
    connection: sqlite3.Connection, terms: Sequence[Term], chunk_ids: Sequence[int], pages: int
) -> tuple[TermStatistics, ...]:
    """Return for each term about how many pages have it, and whether one of the chunks does."""
    return tuple(_one_term(connection, term, chunk_ids, pages) for term in terms[:_MAX_TERMS])


def _one_term(
    connection: sqlite3.Connection, term: Term, chunk_ids: Sequence[int], pages: int
) -> TermStatistics:
    match = fts_whole_term(term)
    counted: int = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? LIMIT ?)",
        (match, _MAX_COUNTED_PAGES),
    ).fetchone()[0]
    if counted == _MAX_COUNTED_PAGES:
        counted = max(counted, int(math.sqrt(_MAX_COUNTED_PAGES * pages)))
    contained = any(_contains(connection, term, match, chunk_id) for chunk_id in chunk_ids)
    return TermStatistics(" ".join(term.words), max(counted, int(contained)), contained)


def _contains(connection: sqlite3.Connection, term: Term, match: str, chunk_id: int) -> bool:
    found = connection.execute(
        "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid = ?", (match, chunk_id)
    ).fetchone()
    if found is None and any(map(has_unspaced_script, term.words)):
        found = connection.execute(
            "SELECT 1 FROM chunks WHERE id = ? AND instr(text, ?) > 0",
            (chunk_id, " ".join(term.words)),
        ).fetchone()
    return found is not None
