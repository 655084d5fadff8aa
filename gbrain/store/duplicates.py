"""Find pages with nearly the same text: all pairs by their vectors, or the duplicates of one page.

All pairs: page centroids give candidates, in blocks of a matrix product to save memory, and chunk
vectors decide. One page: shared phrases in the keyword index give candidates, and wording decides.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gbrain.store.pages import StoredPage, page_body, require_page
from gbrain.store.scope import page_condition
from gbrain.store.vector_space import VectorSpace
from gbrain.store.vectors import vectors_at
from gbrain.text.similarity import (
    distinctive_phrases,
    have_different_dates,
    shingle_overlap,
    word_shingles,
)
from gbrain.types import Progress, Scope, no_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gbrain.store.vector_space import Floats

    Integers = NDArray[np.int64]

# Pages that follow the same template have similar vectors without sharing the text filled into it.
MIN_SHARED_WORDING = 0.3
# About one word in ten changed, or a tenth more text.
MIN_COPY_WORDING = 0.7
# In a short note a template is most of the text: it counts only as a copy.
_MIN_SHINGLES_OF_LONG_TEXT = 10
# Chunk vectors can be more similar than the centroids of their pages, by up to about this cosine.
_CENTROID_SLACK = 0.03
# A template that thousands of pages follow must not give millions of pairs.
_MAX_PAIRS_PER_PAGE = 16
_MATRIX_ROWS = 256
_ROWS_PER_FETCH = 4096
_PHRASES = 8
_PAGES_PER_PHRASE = 20
_MAX_COMPARED_PAGES = 5


class DuplicatePair(NamedTuple):
    """Two pages with nearly the same text, and why the first counts as the older one.

    `cosine` is the mean over chunks of the best match on the other page, the lower of the two
    directions; `words` is the share of the longer page's word runs that both have.
    """

    older: StoredPage
    newer: StoredPage
    cosine: float
    words: float
    reason: str


class DuplicateResult(NamedTuple):
    """Pairs, most similar first; `pages` were compared, `without_vectors` could not be."""

    pairs: tuple[DuplicatePair, ...]
    pages: int
    without_vectors: int


class SimilarPage(NamedTuple):
    """Another page with nearly the same text; `words` is the share of word runs that both have."""

    slug: str
    title: str
    words: float


def find_duplicate_pairs(
    connection: sqlite3.Connection,
    space: VectorSpace,
    threshold: float,
    scope: Scope = Scope(),
    progress: Progress = no_progress,
) -> DuplicateResult:
    """Return pairs of pages in scope whose cosine is at least `threshold`, most similar first.

    Superseded pages, pages of a title alone, notes of different days, and pages that follow the
    same template but share few words are left out.
    """
    slugs, missing = _comparable_pages(connection, space, scope)
    page_ids, centroids = _centroids(connection, space, list(slugs))
    candidates = [
        (int(page_ids[a]), int(page_ids[b]))
        for a, b in _candidate_pairs(centroids, threshold - _CENTROID_SLACK, progress)
    ]
    vectors = lru_cache(512)(lambda page_id: _chunk_vectors(connection, space, page_id))
    shingles = lru_cache(512)(lambda page_id: word_shingles(page_body(connection, page_id)))
    pairs = []
    for a, b in candidates:
        if have_different_dates(slugs[a], slugs[b]):
            continue
        cosine = page_cosine(vectors(a), vectors(b))
        if cosine < threshold:
            continue
        words = shingle_overlap(shingles(a), shingles(b))
        short = max(len(shingles(a)), len(shingles(b))) < _MIN_SHINGLES_OF_LONG_TEXT
        if words >= (MIN_COPY_WORDING if short else MIN_SHARED_WORDING):
            older, newer = order_by_age(
                require_page(connection, slugs[a]), require_page(connection, slugs[b])
            )
            pairs.append(DuplicatePair(older, newer, cosine, words, _age_reason(older, newer)))
    pairs.sort(key=lambda pair: (-pair.cosine, -pair.words, pair.older.slug, pair.newer.slug))
    return DuplicateResult(tuple(pairs), len(slugs), missing)


def find_duplicate_of(connection: sqlite3.Connection, slug: str) -> SimilarPage | None:
    """Return the page whose wording is most similar to the page `slug`, if it is nearly the same.

    Pages of a title alone, notes of different days and superseded pages are not compared.
    """
    page = require_page(connection, slug)
    text = page_body(connection, page.id)
    shingles = word_shingles(text)
    if not shingles or _is_superseded(connection, page.id):
        return None
    best: SimilarPage | None = None
    for other in _pages_with_same_phrases(connection, page.id, text):
        name, title = connection.execute(
            "SELECT slug, title FROM pages WHERE id = ?", (other,)
        ).fetchone()
        if have_different_dates(page.slug, name) or _is_superseded(connection, other):
            continue
        words = shingle_overlap(shingles, word_shingles(page_body(connection, other)))
        if words >= MIN_COPY_WORDING and (
            best is None or (-words, name) < (-best.words, best.slug)
        ):
            best = SimilarPage(name, title, words)
    return best


def order_by_age(one: StoredPage, other: StoredPage) -> tuple[StoredPage, StoredPage]:
    """Return the older page first: by date, else by time of writing.

    If both are equally old, the shorter text counts as older, then the longer slug.
    """
    older, newer = sorted((one, other), key=_age_key(one, other))
    return older, newer


def page_cosine(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """Return the cosine of two pages, each given by its chunks' unit vectors and their weights."""
    import numpy as np

    (a, weights_a), (b, weights_b) = one, other
    best_a = np.empty(len(a), np.float32)
    best_b = np.full(len(b), -1, np.float32)
    for start in range(0, len(a), _MATRIX_ROWS):
        products = a[start : start + _MATRIX_ROWS] @ b.T
        best_a[start : start + _MATRIX_ROWS] = products.max(axis=1)
        np.maximum(best_b, products.max(axis=0), out=best_b)
    directions = np.average(best_a, weights=weights_a), np.average(best_b, weights=weights_b)
    return float(min(directions))


def _age_key(one: StoredPage, other: StoredPage) -> Callable[[StoredPage], tuple[object, ...]]:
    both_dated = one.date is not None and other.date is not None

    def age(page: StoredPage) -> tuple[object, ...]:
        date = page.date if both_dated else ""
        return (date, page.updated_at, page.size, -len(page.slug), page.slug)

    return age


def _age_reason(older: StoredPage, newer: StoredPage) -> str:
    if older.date and newer.date and older.date != newer.date:
        return f"dated {older.date}, the other {newer.date}"
    if older.updated_at != newer.updated_at:
        return f"written {older.updated_at}, the other {newer.updated_at}"
    if older.size != newer.size:
        return "as old, and the shorter text"
    return "as old, and the longer name"


def _comparable_pages(
    connection: sqlite3.Connection, space: VectorSpace, scope: Scope
) -> tuple[dict[int, str], int]:
    """Return the slugs of the pages to compare, by page id, and how many are not embedded yet."""
    within = page_condition(scope)
    slugs: dict[int, str] = {}
    missing = 0
    for page_id, slug, embedded in connection.execute(
        f"SELECT id, slug, NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.page_id = pages.id AND "
        f"NOT EXISTS (SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? "
        "AND v.hash = chunks.hash)) FROM pages "
        "WHERE EXISTS (SELECT 1 FROM chunks WHERE chunks.page_id = pages.id) "
        "AND json_extract(meta, '$.superseded_by') IS NULL "
        f"AND {within.sql} ORDER BY id",
        (space.model_id, *within.values),
    ):
        if embedded:
            slugs[page_id] = slug
        else:
            missing += 1
    return slugs, missing


def _centroids(
    connection: sqlite3.Connection, space: VectorSpace, page_ids: list[int]
) -> tuple[Integers, Floats]:
    """Return the page ids and, one row each, the unit mean of their chunks weighted by length."""
    import numpy as np

    row_of = {page_id: row for row, page_id in enumerate(page_ids)}
    sums = np.zeros((len(page_ids), space.dimension), np.float32)
    rows = connection.execute(
        "SELECT chunks.page_id, byte_stop - byte_start, v.slot FROM chunks "
        f"CROSS JOIN {space.vectors} AS v ON v.model_id = ? AND v.hash = chunks.hash",
        (space.model_id,),
    )
    while batch := rows.fetchmany(_ROWS_PER_FETCH):
        wanted = [row for row in batch if row[0] in row_of]
        if wanted:
            at = [row_of[row[0]] for row in wanted]
            vectors = _vectors_of(connection, space, wanted)
            np.add.at(sums, at, vectors * _length_weights(wanted)[:, None])
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.array(page_ids, np.int64), sums / np.maximum(norms, 1e-9)


def _candidate_pairs(
    centroids: Floats, min_cosine: float, progress: Progress
) -> Iterator[tuple[int, int]]:
    """Yield rows with at least this cosine, each pair once; at most the best few of a row."""
    import numpy as np

    total = len(centroids)
    for start in range(0, total, _MATRIX_ROWS):
        products = centroids[start : start + _MATRIX_ROWS] @ centroids[start:].T
        for row, cosines in enumerate(products):
            others = np.flatnonzero(cosines[row + 1 :] >= min_cosine) + row + 1
            if len(others) > _MAX_PAIRS_PER_PAGE:
                best = np.argsort(-cosines[others], kind="stable")[:_MAX_PAIRS_PER_PAGE]
                others = others[best]
            for other in others.tolist():
                yield start + row, start + other
        progress(min(start + _MATRIX_ROWS, total), total)


def _chunk_vectors(
    connection: sqlite3.Connection, space: VectorSpace, page_id: int
) -> tuple[Floats, Floats]:
    """Return the vectors of a page's chunks, and their lengths as weights."""
    rows = connection.execute(
        "SELECT chunks.page_id, byte_stop - byte_start, v.slot FROM chunks "
        f"CROSS JOIN {space.vectors} AS v ON v.model_id = ? AND v.hash = chunks.hash "
        "WHERE chunks.page_id = ?",
        (space.model_id, page_id),
    ).fetchall()
    return _vectors_of(connection, space, rows), _length_weights(rows)


def _vectors_of(
    connection: sqlite3.Connection, space: VectorSpace, rows: list[tuple[int, int, int]]
) -> Floats:
    """Return the vectors of (page id, bytes, slot) rows, in their order."""
    slots, vectors = vectors_at(connection, space, {row[2] for row in rows})
    row_of = {slot: number for number, slot in enumerate(slots)}
    return vectors[[row_of[row[2]] for row in rows]]


def _length_weights(rows: list[tuple[int, int, int]]) -> Floats:
    """Return the byte lengths of (page id, bytes, slot) rows, at least 1."""
    import numpy as np

    return np.array([max(row[1], 1) for row in rows], np.float32)


def _pages_with_same_phrases(connection: sqlite3.Connection, page_id: int, text: str) -> list[int]:
    """Return the ids of the pages that share most of the text's distinctive phrases."""
    shared: Counter[int] = Counter()
    for phrase in distinctive_phrases(text, _PHRASES):
        match = f'{{compiled_truth timeline}} : "{phrase}"'
        rows = connection.execute(
            "SELECT rowid FROM pages_fts WHERE pages_fts MATCH ? AND rowid <> ? LIMIT ?",
            (match, page_id, _PAGES_PER_PHRASE),
        )
        shared.update(row[0] for row in rows)
    return [other for other, _ in shared.most_common(_MAX_COMPARED_PAGES)]


def _is_superseded(connection: sqlite3.Connection, page_id: int) -> bool:
    row = connection.execute("SELECT meta FROM pages WHERE id = ?", (page_id,)).fetchone()
    return json.loads(row[0]).get("superseded_by") is not None
