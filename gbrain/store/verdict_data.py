"""Read what a query's verdict needs: how rare its terms are, which the best hit contains."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence

from gbrain.text.query_terms import fts_whole_term
from gbrain.text.unspaced import has_unspaced_script, looser_forms
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
    connection: sqlite3.Connection,
    terms: Sequence[Term],
    page_id: int,
    chunk_ids: Iterable[int],
    pages: int,
) -> tuple[TermStatistics, ...]:
    """Return for each term about how many pages have it, and whether the page's chunks do.

    Without `chunk_ids`, all chunks of the page count. A term of a script without spaces is divided
    into parts if the chunks contain some of them.
    """
    chosen = json.dumps(sorted(chunk_ids) or _all_chunk_ids(connection, page_id))
    return tuple(
        _one_term(connection, part, page_id, chosen, pages)
        for term in terms[:_MAX_TERMS]
        for part in _parts(connection, term, chosen)
    )


def _all_chunk_ids(connection: sqlite3.Connection, page_id: int) -> list[int]:
    """Return the ids of a page's chunks."""
    rows = connection.execute("SELECT id FROM chunks WHERE page_id = ?", (page_id,))
    return [row[0] for row in rows]


def _parts(connection: sqlite3.Connection, term: Term, chunk_ids: str) -> Sequence[Term]:
    """Return the parts of an unspaced term, or the term alone if it has none or all are missing."""
    unspaced = not term.quoted and has_unspaced_script(term.words[0])
    if not unspaced or _contain(connection, term, chunk_ids):
        return (term,)
    parts = [Term((part,)) for part in looser_forms(term.words[0])]
    return parts if any(_contain(connection, part, chunk_ids) for part in parts) else (term,)


def _one_term(
    connection: sqlite3.Connection, term: Term, page_id: int, chunk_ids: str, pages: int
) -> TermStatistics:
    match = fts_whole_term(term)
    counted: int = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? LIMIT ?)",
        (match, _MAX_COUNTED_PAGES),
    ).fetchone()[0]
    if counted == _MAX_COUNTED_PAGES:
        counted = max(counted, int(math.sqrt(_MAX_COUNTED_PAGES * pages)))
    contained = _contain(connection, term, chunk_ids)
    in_title = connection.execute(
        "SELECT 1 FROM pages_fts WHERE pages_fts MATCH ? AND rowid = ?",
        (f"{{title aliases}} : ({match})", page_id),
    ).fetchone()
    word = " ".join(term.words)
    return TermStatistics(word, max(counted, int(contained)), contained, in_title is not None)


def _contain(connection: sqlite3.Connection, term: Term, chunk_ids: str) -> bool:
    """Return whether one of the chunks, ids as a JSON array, contains the term."""
    within = "IN (SELECT value FROM json_each(?))"
    found = connection.execute(
        f"SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid {within} LIMIT 1",
        (fts_whole_term(term), chunk_ids),
    ).fetchone()
    if found is None and any(map(has_unspaced_script, term.words)):
        found = connection.execute(
            "SELECT 1 FROM chunks JOIN pages ON pages.id = page_id "
            f"WHERE chunks.id {within} AND instr(title || text, ?) > 0 LIMIT 1",
            (chunk_ids, " ".join(term.words)),
        ).fetchone()
    return found is not None
