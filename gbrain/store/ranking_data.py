"""Read what boosts and the verdict need: dates and use of pages, how rare the query's terms are."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gbrain.store.keyword_index import count_matches
from gbrain.store.scope import any_page
from gbrain.store.whole_brain import known_totals
from gbrain.text.query_terms import fts_expression, fts_whole_term
from gbrain.types import BoostData, Scope, Term, TermStatistics

# Counting stops here, so that a common word does not cost more than a rare one.
_MAX_COUNTED_PAGES = 400
_MAX_TERMS = 32


def approximate_page_count(connection: sqlite3.Connection) -> int:
    """Return the highest page id, about the number of pages; counting would read them all."""
    if totals := known_totals(connection):
        return totals.pages
    return connection.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()[0] or 0


def term_statistics(
    connection: sqlite3.Connection,
    terms: Sequence[Term],
    page_id: int,
    chunk_ids: Iterable[int],
    pages: int,
) -> tuple[TermStatistics, ...]:
    """Return for each term about how many pages have it, and whether the page's chunks do.

    Without `chunk_ids`, all chunks of the page count.
    """
    chosen = json.dumps(sorted(chunk_ids) or _all_chunk_ids(connection, page_id))
    return tuple(_one_term(connection, term, page_id, chosen, pages) for term in terms[:_MAX_TERMS])


def _all_chunk_ids(connection: sqlite3.Connection, page_id: int) -> list[int]:
    """Return the ids of a page's chunks."""
    rows = connection.execute("SELECT id FROM chunks WHERE page_id = ?", (page_id,))
    return [row[0] for row in rows]


def _one_term(
    connection: sqlite3.Connection, term: Term, page_id: int, chunk_ids: str, pages: int
) -> TermStatistics:
    match = fts_whole_term(term)
    (counted,) = count_matches(connection, "pages", (match,), _MAX_COUNTED_PAGES)
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
    return found is not None


def names_a_person(connection: sqlite3.Connection, word: str) -> bool:
    """Tell whether a word is part of the title or of an alias of a page about a person."""
    title = f"{{title aliases}} : ({fts_whole_term(Term((word,)))})"
    return any_page(connection, Scope(wing="people"), title)


class BoostDataRequest(NamedTuple):
    """Optional data that costs extra: best chunks, open counts, dated entries, phrases.

    `days` are spans of days: the first and last day of each entry in or around them is read.
    """

    chunks: bool = False
    days: tuple[tuple[str, str], ...] = ()
    opens: bool = False
    entries: bool = False
    phrases: tuple[Term, ...] = ()


_PAGES = (
    "SELECT id, title, wing, room, tags, first_day, last_day, "
    # A file that never changed since its import has the time of the import.
    "CASE WHEN version > 1 OR vault_id IS NULL THEN substr(updated_at, 1, 10) END, "
    # Most front matter has none of these keys; instr costs a tenth of parsing the JSON.
    "CASE WHEN (instr(meta, 'superseded_by') OR instr(meta, 'importance')) AND json_valid(meta) "
    "THEN json_extract(meta, '$.superseded_by', '$.pinned', '$.importance') END "
    "FROM pages WHERE id IN (SELECT value FROM json_each(?))"
)


def read_boost_data(
    connection: sqlite3.Connection,
    chosen: Mapping[int, int | None],
    wanted: BoostDataRequest = BoostDataRequest(),
) -> dict[int, BoostData]:
    """Return boost data by page id; `chosen` maps each page to its best chunk."""
    pages = json.dumps(list(chosen))
    known = {row[0]: _from_row(row) for row in connection.execute(_PAGES, (pages,))}
    if wanted.chunks:
        best_chunks = json.dumps([chunk for chunk in chosen.values() if chunk is not None])
        rows = connection.execute(
            "SELECT page_id, kind, first_day, last_day, text FROM chunks "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (best_chunks,),
        )
        for page_id, kind, first, last, text in rows:
            if page_id in known:
                known[page_id] = known[page_id]._replace(
                    chunk_kind=kind,
                    chunk_first_day=first,
                    chunk_last_day=last,
                    chunk_text=text,
                )
    if wanted.days:
        first, last = min(span[0] for span in wanted.days), max(span[1] for span in wanted.days)
        entries: dict[int, dict[tuple[str, str], None]] = {}
        rows = connection.execute(
            "SELECT DISTINCT page_id, first_day, last_day FROM chunks "
            "WHERE page_id IN (SELECT value FROM json_each(?)) "
            "AND last_day >= date(?, '-31 days') AND first_day <= date(?, '+31 days')",
            (pages, first, last),
        )
        for page_id, *days in rows:
            entries.setdefault(page_id, {})[days[0], days[1]] = None
        for page_id, found in entries.items():
            if page_id in known:
                known[page_id] = known[page_id]._replace(entry_days=tuple(found))
    # A read-only brain with schema 1 has no table page_use.
    if wanted.opens and _has_table(connection, "page_use"):
        rows = connection.execute(
            "SELECT page_id, opens FROM page_use WHERE page_id IN (SELECT value FROM json_each(?))",
            (pages,),
        )
        for page_id, opens in rows:
            known[page_id] = known[page_id]._replace(opens=opens)
    if wanted.entries:
        rows = connection.execute(
            "SELECT value FROM json_each(?) WHERE EXISTS "
            "(SELECT 1 FROM chunks WHERE page_id = value AND first_day IS NOT NULL)",
            (pages,),
        )
        for (page_id,) in rows:
            if page_id in known:
                known[page_id] = known[page_id]._replace(has_entries=True)
    if wanted.phrases:
        # The plus keeps SQLite from running the match once per page.
        rows = connection.execute(
            "SELECT rowid FROM pages_fts WHERE pages_fts MATCH ? "
            "AND +rowid IN (SELECT value FROM json_each(?))",
            (fts_expression(wanted.phrases, "AND"), pages),
        )
        for (page_id,) in rows:
            known[page_id] = known[page_id]._replace(has_phrase=True)
    return known


def _from_row(row: tuple[Any, ...]) -> BoostData:
    _, title, wing, room, tags, first_day, last_day, written, meta = row
    superseded_by, pinned, importance = json.loads(meta) if meta else (None, None, None)
    return BoostData(
        title=title,
        wing=wing,
        room=room,
        tags=tuple(tags.split("\n")) if tags else (),
        first_day=first_day,
        last_day=last_day,
        changed_day=written or "",
        superseded_by=_successor(superseded_by),
        pinned=pinned is True,
        importance=_importance(importance),
    )


def _successor(value: object) -> str | None:
    """Return the page that supersedes this one, or the first of several."""
    first = value[0] if isinstance(value, list) and value else value
    return first.strip() or None if isinstance(first, str) else None


def _importance(value: object) -> float | None:
    """Return an importance from 0 to 1; values above 1 up to 10 are tenths, others None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if 0 <= value <= 1:
        return float(value)
    return value / 10 if 1 < value <= 10 else None


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,))
    return found.fetchone() is not None
