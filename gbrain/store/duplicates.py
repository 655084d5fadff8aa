"""Find pages with nearly the same text, by their vectors and by their wording.

Page centroids give candidate pairs, in blocks of a matrix product to save memory; the chunk vectors
then decide.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gbrain.store.pages import StoredPage, page_body, require_page
from gbrain.store.scope import page_condition
from gbrain.store.vectors import VectorSpace, vectors_at
from gbrain.text.similarity import have_different_dates, shingle_overlap, word_shingles
from gbrain.types import Progress, Scope, no_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gbrain.store.vectors import Floats

    Numbers = NDArray[np.int64]
import json
from collections import Counter

from gbrain.text.similarity import distinctive_phrases

# Pages that share a form are near in meaning without sharing what is written in it.
MIN_SHARED_WORDING = 0.3
# Two pages can be as near as this below the threshold by their centroids and reach it by passages.
_CENTROID_SLACK = 0.03
# A form that thousands of pages share must not make millions of pairs.
_MAX_PAIRS_PER_PAGE = 16
_STRIP = 256
_BATCH = 4096
_FEWEST_BYTES = 100


class DuplicatePair(NamedTuple):
    """Two pages that say nearly the same, and why the first counts as the older one.

    `cosine` is the mean over passages of the best match on the other page, the lower of the two
    directions; `words` the share of the longer page's word runs that both have.
    """

    older: StoredPage
    newer: StoredPage
    cosine: float
    words: float
    reason: str


class DuplicateResult(NamedTuple):
    """Near pairs, nearest first, of the `pages` that could be compared; the others lack vectors."""

    pairs: tuple[DuplicatePair, ...]
    pages: int
    without_vectors: int


def find_duplicate_pairs(
    connection: sqlite3.Connection,
    space: VectorSpace,
    threshold: float,
    scope: Scope = Scope(),
    progress: Progress = no_progress,
) -> DuplicateResult:
    """Pairs of pages in `scope` whose cosine is at least `threshold`, the nearest first.

    Left out are pages that are superseded already, very short ones, notes of different days, and
    pages that share a form but few words.
    """
    slugs, missing = _comparable(connection, space, scope)
    numbers, centroids = _centroids(connection, space, list(slugs))
    candidates = [
        (int(numbers[a]), int(numbers[b]))
        for a, b in _candidate_pairs(centroids, threshold - _CENTROID_SLACK, progress)
    ]
    vectors = lru_cache(512)(lambda page_id: _passages(connection, space, page_id))
    runs = lru_cache(512)(lambda page_id: word_shingles(page_body(connection, page_id)))
    found = []
    for a, b in candidates:
        if have_different_dates(slugs[a], slugs[b]):
            continue
        cosine = page_cosine(vectors(a), vectors(b))
        if cosine < threshold:
            continue
        words = shingle_overlap(runs(a), runs(b))
        if words >= MIN_SHARED_WORDING:
            older, newer = order_by_age(
                require_page(connection, slugs[a]), require_page(connection, slugs[b])
            )
            found.append(DuplicatePair(older, newer, cosine, words, _why(older, newer)))
    found.sort(key=lambda pair: (-pair.cosine, -pair.words, pair.older.slug, pair.newer.slug))
    return DuplicateResult(tuple(found), len(slugs), missing)


def order_by_age(one: StoredPage, other: StoredPage) -> tuple[StoredPage, StoredPage]:
    """Return the older page first: by date, else by time of writing.

    If both are equally old, the shorter text counts as older, then the longer slug.
    """
    older, newer = sorted((one, other), key=_age(one, other))
    return older, newer


def _age(one: StoredPage, other: StoredPage) -> Callable[[StoredPage], tuple[object, ...]]:
    dated = one.date is not None and other.date is not None

    def age(page: StoredPage) -> tuple[object, ...]:
        return (page.date if dated else "", page.updated_at, page.size, -len(page.slug), page.slug)

    return age


def _why(older: StoredPage, newer: StoredPage) -> str:
    if older.date and newer.date and older.date != newer.date:
        return f"dated {older.date}, the other {newer.date}"
    if older.updated_at != newer.updated_at:
        return f"written {older.updated_at}, the other {newer.updated_at}"
    if older.size != newer.size:
        return "as old, and the shorter text"
    return "as old, and the longer name"


def _comparable(
    connection: sqlite3.Connection, space: VectorSpace, scope: Scope
) -> tuple[dict[int, str], int]:
    """Slugs of the pages to compare by number, and how many are not embedded yet."""
    within = page_condition(scope)
    slugs: dict[int, str] = {}
    missing = 0
    for page_id, slug, embedded in connection.execute(
        f"SELECT id, slug, NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.page_id = pages.id AND "
        f"NOT EXISTS (SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? "
        "AND v.hash = chunks.hash)) FROM pages "
        f"WHERE bytes >= {_FEWEST_BYTES} AND json_extract(meta, '$.superseded_by') IS NULL "
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
) -> tuple[Numbers, Floats]:
    """The pages' numbers and, a row each, the unit mean of their passages by length."""
    import numpy as np

    row_of = {page_id: row for row, page_id in enumerate(page_ids)}
    sums = np.zeros((len(page_ids), space.dimension), np.float32)
    rows = connection.execute(
        "SELECT chunks.page_id, byte_stop - byte_start, v.slot FROM chunks "
        f"CROSS JOIN {space.vectors} AS v ON v.model_id = ? AND v.hash = chunks.hash",
        (space.model_id,),
    )
    while batch := rows.fetchmany(_BATCH):
        kept = [row for row in batch if row[0] in row_of]
        if kept:
            where = [row_of[row[0]] for row in kept]
            np.add.at(sums, where, _vectors(connection, space, kept) * _weights(kept)[:, None])
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.array(page_ids, np.int64), sums / np.maximum(norms, 1e-9)


def _candidate_pairs(
    centroids: Floats, least: float, progress: Progress
) -> Iterator[tuple[int, int]]:
    """Rows that are at least so near, each pair once; of very many only a row's nearest."""
    import numpy as np

    total = len(centroids)
    for start in range(0, total, _STRIP):
        products = centroids[start : start + _STRIP] @ centroids[start:].T
        for row, near in enumerate(products):
            hits = np.flatnonzero(near[row + 1 :] >= least) + row + 1
            if len(hits) > _MAX_PAIRS_PER_PAGE:
                hits = hits[np.argsort(-near[hits], kind="stable")[:_MAX_PAIRS_PER_PAGE]]
            for hit in hits.tolist():
                yield start + row, start + hit
        progress(min(start + _STRIP, total), total)


def _passages(
    connection: sqlite3.Connection, space: VectorSpace, page_id: int
) -> tuple[Floats, Floats]:
    """The vectors of a page's passages and how long these are."""
    rows = connection.execute(
        "SELECT chunks.page_id, byte_stop - byte_start, v.slot FROM chunks "
        f"CROSS JOIN {space.vectors} AS v ON v.model_id = ? AND v.hash = chunks.hash "
        "WHERE chunks.page_id = ?",
        (space.model_id, page_id),
    ).fetchall()
    return _vectors(connection, space, rows), _weights(rows)


def page_cosine(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """How near two pages are, each given by its passages' unit vectors and their weights."""
    import numpy as np

    (a, weights_a), (b, weights_b) = one, other
    best_a = np.empty(len(a), np.float32)
    best_b = np.full(len(b), -1, np.float32)
    for start in range(0, len(a), _STRIP):
        products = a[start : start + _STRIP] @ b.T
        best_a[start : start + _STRIP] = products.max(axis=1)
        np.maximum(best_b, products.max(axis=0), out=best_b)
    directions = np.average(best_a, weights=weights_a), np.average(best_b, weights=weights_b)
    return float(min(directions))


def _vectors(
    connection: sqlite3.Connection, space: VectorSpace, rows: list[tuple[int, int, int]]
) -> Floats:
    """The vectors in the third column's slots, a row each."""
    held, vectors = vectors_at(connection, space, {row[2] for row in rows})
    row_of = {slot: number for number, slot in enumerate(held)}
    return vectors[[row_of[row[2]] for row in rows]]


def _weights(rows: list[tuple[int, int, int]]) -> Floats:
    import numpy as np

    return np.array([max(row[1], 1) for row in rows], np.float32)


# About one word in ten changed, or a tenth more text.
MIN_COPY_WORDING = 0.7
_PHRASES = 8
_PAGES_PER_PHRASE = 20
_PAGES_COMPARED = 5


class SimilarPage(NamedTuple):
    """Another page that says nearly the same; `words` is the share of word runs both have."""

    slug: str
    title: str
    words: float


def find_duplicate_of(connection: sqlite3.Connection, slug: str) -> SimilarPage | None:
    """Return the page whose wording is most similar to the page `slug`, if it is nearly the same.

    Short pages, notes of different days and superseded pages are not compared.
    """
    page = require_page(connection, slug)
    text = page_body(connection, page.id)
    runs = word_shingles(text)
    if not runs or _superseded(connection, page.id):
        return None
    best: SimilarPage | None = None
    for other in _similar_candidates(connection, page.id, text):
        name, title = connection.execute(
            "SELECT slug, title FROM pages WHERE id = ?", (other,)
        ).fetchone()
        if have_different_dates(page.slug, name) or _superseded(connection, other):
            continue
        words = shingle_overlap(runs, word_shingles(page_body(connection, other)))
        if words >= MIN_COPY_WORDING and (
            best is None or (-words, name) < (-best.words, best.slug)
        ):
            best = SimilarPage(name, title, words)
    return best


def _similar_candidates(connection: sqlite3.Connection, page_id: int, text: str) -> list[int]:
    """The pages that share most of the text's telling phrases."""
    shared: Counter[int] = Counter()
    for phrase in distinctive_phrases(text, _PHRASES):
        match = f'{{compiled_truth timeline}} : "{phrase}"'
        rows = connection.execute(
            "SELECT rowid FROM pages_fts WHERE pages_fts MATCH ? AND rowid <> ? LIMIT ?",
            (match, page_id, _PAGES_PER_PHRASE),
        )
        shared.update(row[0] for row in rows)
    return [number for number, _ in shared.most_common(_PAGES_COMPARED)]


def _superseded(connection: sqlite3.Connection, page_id: int) -> bool:
    row = connection.execute("SELECT meta FROM pages WHERE id = ?", (page_id,)).fetchone()
    return json.loads(row[0]).get("superseded_by") is not None
