"""Whether the brain holds nearly the same page already, told by words alone, without a model."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from typing import NamedTuple

from gbrain.store.pages import page_body, require_page
from gbrain.text.similarity import of_different_days, shared_wording, telling_phrases, word_runs

# About one word in ten changed, or a tenth more text.
NEAR = 0.7
_PHRASES = 8
_PAGES_PER_PHRASE = 20
_PAGES_COMPARED = 5


class Near(NamedTuple):
    """Another page that says nearly the same; `words` is the share of word runs both have."""

    slug: str
    title: str
    words: float


def nearly_the_same(connection: sqlite3.Connection, slug: str) -> Near | None:
    """The other page whose text is nearest to that of the page `slug`, if it is very near.

    Not told of are pages of few words, notes of different days, and pages of which one is
    superseded already.
    """
    page = require_page(connection, slug)
    text = page_body(connection, page.id)
    runs = word_runs(text)
    if not runs or _superseded(connection, page.id):
        return None
    best: Near | None = None
    for other in _candidates(connection, page.id, text):
        name, title = connection.execute(
            "SELECT slug, title FROM pages WHERE id = ?", (other,)
        ).fetchone()
        if of_different_days(page.slug, name) or _superseded(connection, other):
            continue
        words = shared_wording(runs, word_runs(page_body(connection, other)))
        if words >= NEAR and (best is None or (-words, name) < (-best.words, best.slug)):
            best = Near(name, title, words)
    return best


def _candidates(connection: sqlite3.Connection, page_id: int, text: str) -> list[int]:
    """The pages that share most of the text's telling phrases."""
    shared: Counter[int] = Counter()
    for phrase in telling_phrases(text, _PHRASES):
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
