"""Ranked pages into hits: here their text enters, the passage that speaks for each of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from gbrain.store.chunks import (
    StoredChunk,
    first_chunk,
    highlighted_snippet,
    plain_snippet,
    read_chunks,
)
from gbrain.store.page_names import page_labels
from gbrain.text.query_terms import fts_expression
from gbrain.types import Hit, HitChunk, Query, Ranked


def build_hits(
    connection: sqlite3.Connection, ranked: Sequence[Ranked], query: Query
) -> tuple[Hit, ...]:
    """Pages with their text; one that went away since its lane saw it is left out."""
    match = fts_expression(query.terms) if query.terms else None
    chosen = {page.page_id: page.chunk_id for page in ranked}
    known = read_chunks(connection, [chunk for chunk in chosen.values() if chunk is not None])
    hits: list[Hit] = []
    for page in ranked:
        row = page_labels(connection, page.page_id)
        if row is None:
            continue
        chunk_id = chosen[page.page_id]
        passage = known.get(chunk_id) if chunk_id is not None else None
        passage = passage or first_chunk(connection, page.page_id)
        snippet = highlighted_snippet(connection, passage.id, match) if passage and match else None
        title, wing, room, type_, date = row
        hits.append(
            Hit(
                rank=len(hits) + 1,
                slug=page.slug,
                title=title,
                wing=wing,
                room=room,
                type=type_,
                date=(passage.date if passage else None) or date,
                score=page.score,
                snippet=snippet or (plain_snippet(passage.text) if passage else ""),
                chunk=_chunk(passage) if passage else None,
                lanes=page.lanes,
                boosts=page.boosts,
            )
        )
    return tuple(hits)


def _chunk(passage: StoredChunk) -> HitChunk:
    return HitChunk(
        passage.kind,
        passage.heading_path,
        passage.date,
        (passage.first_line, passage.last_line),
        passage.hash.hex(),
    )
