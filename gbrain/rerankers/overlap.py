"""The reranker without a model of its own: rare words, and sentences near in meaning."""

from __future__ import annotations

import json

from gbrain.ranking.overlap import covered, nearness, rarity, sentences
from gbrain.rerankers.head import Head, Opinions
from gbrain.text.query import match_expression

# What the words and sentences are worth beside a cross-encoder's opinion.
SHARE = 0.2


def opinions(head: Head) -> Opinions:
    """The question's rare words in a page's passages, evenly mixed with its nearest sentence.

    Sentences count only if the vector lane ran, for then the embedding model is open anyway.
    """
    found = _words(head)
    if any("vector" in page.lanes for page in head.pages):
        near = _near(head)
        found = {page_id: (words + near[page_id]) / 2 for page_id, words in found.items()}
    return Opinions(found, SHARE * head.settings.rerank_mix, head.passage_count)


def _words(head: Head) -> dict[int, float]:
    """The share of the question's terms, by rarity, in the passage that holds most of them."""
    everything = head.connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    ids = json.dumps([passage.id for found in head.passages.values() for passage in found])
    rarities, holders = [], []
    for term in head.query.terms:
        match = match_expression((term,))
        count = "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?"
        rarities.append(rarity(head.connection.execute(count, (match,)).fetchone()[0], everything))
        rows = head.connection.execute(
            "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? "
            "AND +rowid IN (SELECT value FROM json_each(?))",
            (match, ids),
        )
        holders.append({row[0] for row in rows})
    return {
        page_id: max(
            covered(rarities, [passage.id in held for held in holders]) for passage in found
        )
        for page_id, found in head.passages.items()
        if found
    }


def _near(head: Head) -> dict[int, float]:
    """How near the nearest sentence of each page's best passage is to the question."""
    embedder = head.helpers.embedder()
    query = embedder.embed_query(head.question)
    pages = {
        page_id: sentences(found[0].text, head.question)
        for page_id, found in head.passages.items()
        if found
    }
    vectors = embedder.embed_passages(part for parts in pages.values() for part in parts)
    return {
        page_id: nearness(max(float(query @ next(vectors)) for _ in parts))
        for page_id, parts in pages.items()
    }
