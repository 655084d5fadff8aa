"""Find chunks related to given ones (adjacent, linked), and where they contain terms."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from gbrain.store.chunks import StoredChunk, first_chunk, neighbouring_chunks, read_chunks
from gbrain.store.links import pages_linked_from
from gbrain.store.pages import fetch_pages
from gbrain.store.scope import pages_in_scope
from gbrain.text.query_terms import fts_expression
from gbrain.text.snippet import MARK_ON
from gbrain.text.unspaced import plain_text
from gbrain.types import Role, Scope, Term

# Links that are followed from the pages of a context.
_MAX_LINKS = 1_000


class ChunkSpan(NamedTuple):
    """Where a chunk is on its page, in bytes."""

    id: int
    page_id: int
    start: int
    stop: int


def with_adjacent_chunks(
    connection: sqlite3.Connection, chunk_ids: Iterable[int]
) -> list[ChunkSpan]:
    """Return the chunks and those before and after each on its page, in page order, pages by id."""
    rows = connection.execute(
        "WITH one AS (SELECT chunks.id, page_id, section, part FROM json_each(?) AS wanted "
        "CROSS JOIN chunks ON chunks.id = wanted.value), "
        "found AS (SELECT id FROM one "
        "UNION SELECT (SELECT id FROM chunks AS before WHERE before.page_id = one.page_id "
        "AND (before.section, before.part) < (one.section, one.part) "
        "ORDER BY before.section DESC, before.part DESC LIMIT 1) FROM one "
        "UNION SELECT (SELECT id FROM chunks AS after WHERE after.page_id = one.page_id "
        "AND (after.section, after.part) > (one.section, one.part) "
        "ORDER BY after.section, after.part LIMIT 1) FROM one) "
        "SELECT chunks.id, page_id, byte_start, byte_stop FROM found "
        "CROSS JOIN chunks ON chunks.id = found.id ORDER BY page_id, section, part",
        (json.dumps(list(chunk_ids)),),
    )
    return [ChunkSpan(*row) for row in rows]


def term_offsets(
    connection: sqlite3.Connection, term: Term, chunk_ids: Iterable[int]
) -> dict[int, tuple[str, list[int]]]:
    """Return, by chunk, its text and the byte offsets in it at which a term occurs."""
    ids = json.dumps(list(chunk_ids))
    # With the plus FTS5 goes through the matches once. Without it, it looks up each row by itself:
    # of 700 rows on 162,000 chunks that takes 17 ms a term instead of 4. Of a join, unlike IN,
    # SQLite makes a Bloom filter, which takes another seventh off.
    rows = connection.execute(
        "WITH wanted AS MATERIALIZED (SELECT value AS id FROM json_each(?)) "
        "SELECT rowid, highlight(chunks_fts, 2, ?, '') FROM chunks_fts "
        "CROSS JOIN wanted ON wanted.id = +chunks_fts.rowid WHERE chunks_fts MATCH ?",
        (ids, MARK_ON, fts_expression((term,))),
    )
    found: dict[int, tuple[str, list[int]]] = {}
    for chunk_id, marked in rows:
        *before, last = plain_text(marked).split(MARK_ON)
        offsets = list(accumulate(len(text.encode()) for text in before))
        if offsets:
            found[chunk_id] = ("".join((*before, last)), offsets)
    return found


def texts_with_next_chunk(
    connection: sqlite3.Connection, chosen: Iterable[StoredChunk]
) -> dict[int, str]:
    """Return each chunk's text together with that of the next chunk in its section, by chunk id.

    A chunk that matches a question is often a question or an announcement; the answer follows it.
    """
    texts = {chunk.id: chunk.text for chunk in chosen}
    rows = connection.execute(
        "SELECT one.id, substr(CAST(front_matter || compiled_truth || timeline AS BLOB), "
        "one.byte_stop + 1, next.byte_stop - one.byte_stop) FROM json_each(?) AS wanted "
        "CROSS JOIN chunks AS one ON one.id = wanted.value "
        "CROSS JOIN chunks AS next ON next.page_id = one.page_id "
        "AND next.section = one.section AND next.part = one.part + 1 "
        "CROSS JOIN pages ON pages.id = one.page_id",
        (json.dumps(list(texts)),),
    )
    for chunk_id, after in rows:
        texts[chunk_id] += f"\n{after.decode(errors='replace').strip()}"
    return texts


def related_chunks(
    connection: sqlite3.Connection, chunk_ids: Sequence[int], scope: Scope
) -> Iterator[tuple[StoredChunk, Role]]:
    """Yield the neighbours of the chunks, in order, then the first chunks of pages they link to."""
    known = read_chunks(connection, chunk_ids)
    here = [known[chunk_id] for chunk_id in chunk_ids if chunk_id in known]
    for chunk in here:
        for other in neighbouring_chunks(connection, chunk, 1):
            if other.id not in known:
                yield other, "neighbour"
    pages = dict.fromkeys(chunk.page_id for chunk in here)
    if not pages:
        return
    place = {page_id: number for number, page_id in enumerate(pages)}
    links = sorted(
        pages_linked_from(connection, place, _MAX_LINKS), key=lambda link: place[link[0]]
    )
    linked = list(dict.fromkeys(other for _, other in links if other not in place))
    inside = pages_in_scope(connection, fetch_pages(connection, linked), scope)
    for page_id in linked:
        if page_id in inside and (first := first_chunk(connection, page_id)):
            yield first, "linked"


def missing_terms_by_chunk(
    connection: sqlite3.Connection,
    terms: Iterable[Term],
    taken: Iterable[int],
    offered: Iterable[int],
) -> dict[int, set[Term]]:
    """Return the terms that no chunk of `taken` contains, by the chunks of `offered` that do."""
    brings: dict[int, set[Term]] = {}
    for term in terms:
        if next(_chunks_with_term(connection, term, taken), None) is None:
            for chunk_id in sorted(_chunks_with_term(connection, term, offered)):
                brings.setdefault(chunk_id, set()).add(term)
    return brings


def _chunks_with_term(
    connection: sqlite3.Connection, term: Term, chunk_ids: Iterable[int]
) -> Iterator[int]:
    """Yield the ids of chunks that contain a term in title, headings or text."""
    ids = json.dumps(list(chunk_ids))
    matched = connection.execute(
        "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? "
        "AND +rowid IN (SELECT value FROM json_each(?))",
        (fts_expression((term,)), ids),
    )
    yield from (row[0] for row in matched)
