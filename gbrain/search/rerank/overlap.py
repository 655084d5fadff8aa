"""The reranker without a model of its own: rare words, and sentences near in meaning."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gbrain.search.rerank.interface import RerankRequest, RerankScores
from gbrain.store.keyword_index import chunks_with, count_chunks, count_chunks_with

# What the words and sentences are worth beside a cross-encoder's opinion.
SHARE = 0.2


def score_pages(request: RerankRequest) -> RerankScores:
    """The question's rare words in a page's passages, evenly mixed with its nearest sentence.

    Sentences count only if the vector lane ran, for then the embedding model is open anyway.
    """
    found = _term_scores(request)
    if any("vector" in page.lanes for page in request.pages):
        near = _near(request)
        found = {page_id: (words + near[page_id]) / 2 for page_id, words in found.items()}
    return RerankScores(found, SHARE * request.settings.rerank_mix, request.chunk_count)


def _term_scores(request: RerankRequest) -> dict[int, float]:
    """The share of the question's terms, by rarity, in the passage that holds most of them."""
    connection, terms = request.connection, request.query.terms
    total = count_chunks(connection)
    rarities = [rarity(count_chunks_with(connection, term), total) for term in terms]
    chunk_ids = [chunk.id for found in request.chunks.values() for chunk in found]
    holders = [chunks_with(connection, term, chunk_ids) for term in terms]
    return {
        page_id: max(
            weighted_coverage(rarities, [passage.id in held for held in holders])
            for passage in found
        )
        for page_id, found in request.chunks.items()
        if found
    }


def _near(request: RerankRequest) -> dict[int, float]:
    """How near the nearest sentence of each page's best passage is to the question."""
    embedder = request.resources.embedder()
    query = embedder.embed_query(request.question)
    pages = {
        page_id: sentences(found[0].text, request.question)
        for page_id, found in request.chunks.items()
        if found
    }
    vectors = embedder.embed_chunks(part for parts in pages.values() for part in parts)
    return {
        page_id: scale_cosine(max(float(query @ next(vectors)) for _ in parts))
        for page_id, parts in pages.items()
    }


# Fewer letters are a heading, a bullet or an "I see."
_LEAST_LETTERS = 16
# Each costs a run of the embedding model.
_MOST_SENTENCES = 4
# Cosines of this model between a question and any sentence at all, and one that says the same.
_UNRELATED, _SAME = 0.5, 0.9

_WORD = re.compile(r"\w+")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


def sentences(text: str, question: str) -> list[str]:
    """The few sentences of a passage that share most words with the question, the first of equals.

    The whole passage if it has no sentences to speak of.
    """
    asked = _words(question)
    parts = [part.strip() for part in _END.split(text)]
    telling = [part for part in parts if len(part) >= _LEAST_LETTERS]
    shared = sorted(telling, key=lambda part: -len(asked & _words(part)))
    return shared[:_MOST_SENTENCES] or [text]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def rarity(holding: int, all_passages: int) -> float:
    """What a term is worth that stands in `holding` of all passages (BM25's IDF, above 0)."""
    return math.log(1 + (max(all_passages - holding, 0) + 0.5) / (holding + 0.5))


def weighted_coverage(rarities: Sequence[float], held: Sequence[bool]) -> float:
    """The share of the question's terms, by rarity, that a passage holds; 0 without terms."""
    total = sum(rarities)
    return sum(worth for worth, holds in zip(rarities, held, strict=True) if holds) / (total or 1)


def scale_cosine(cosine: float) -> float:
    """A cosine as a number from 0 (any sentence) to 1 (one that says the same)."""
    return min(max((cosine - _UNRELATED) / (_SAME - _UNRELATED), 0.0), 1.0)
