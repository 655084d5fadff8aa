"""The reranker that needs no model but the embedder: rare words and similar sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gbrain.models.catalog import Calibration
from gbrain.search.calibration import active_calibration
from gbrain.search.rerank.scores import RerankRequest, RerankScores
from gbrain.store.keyword_index import chunks_with, count_chunks, count_chunks_with

# The weight of these scores, as a share of a cross-encoder's.
SHARE = 0.2


def score_pages(request: RerankRequest) -> RerankScores:
    """Score pages by the mean of rare words in a chunk and the most similar sentence.

    Sentences count only if the vector lane ran: then the embedding model is loaded already.
    """
    found = _term_scores(request)
    if any("vector" in page.lanes for page in request.pages):
        similar = _sentence_scores(request)
        found = {page_id: (words + similar[page_id]) / 2 for page_id, words in found.items()}
    return RerankScores(found, SHARE * request.settings.rerank_mix, request.chunk_count)


def _term_scores(request: RerankRequest) -> dict[int, float]:
    """Return the share of the question's terms, by rarity, in the best chunk of each page."""
    connection, terms = request.connection, request.query.terms
    total = count_chunks(connection)
    rarities = [rarity(count_chunks_with(connection, term), total) for term in terms]
    chunk_ids = [chunk.id for found in request.chunks.values() for chunk in found]
    holders = [chunks_with(connection, term, chunk_ids) for term in terms]
    return {
        page_id: max(
            weighted_coverage(rarities, [chunk.id in held for held in holders]) for chunk in found
        )
        for page_id, found in request.chunks.items()
        if found
    }


def _sentence_scores(request: RerankRequest) -> dict[int, float]:
    """Return the similarity of the best sentence in each page's best chunk, from 0 to 1."""
    embedder = request.resources.embedder()
    calibration = active_calibration(request.connection) or Calibration()
    query = embedder.embed_query(request.question)
    pages = {
        page_id: sentences(found[0].text, request.question)
        for page_id, found in request.chunks.items()
        if found
    }
    vectors = embedder.embed_chunks(part for parts in pages.values() for part in parts)
    return {
        page_id: scale_similarity(
            calibration.similarity(max(float(query @ next(vectors)) for _ in parts))
        )
        for page_id, parts in pages.items()
    }


# Shorter text is a heading, a bullet or an "I see."
_MIN_SENTENCE_LETTERS = 16
# Each sentence costs a run of the embedding model.
_MAX_SENTENCES = 4
# Similarities between a question and an unrelated sentence, and a paraphrase.
_UNRELATED, _SAME = 0.5, 0.9

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


def sentences(text: str, question: str) -> list[str]:
    """Return the sentences of a chunk that share most words with the question, most first.

    The whole chunk is returned if it has no sentence that is long enough.
    """
    asked = _words(question)
    parts = [part.strip() for part in _SENTENCE_END.split(text)]
    long_enough = [part for part in parts if len(part) >= _MIN_SENTENCE_LETTERS]
    shared = sorted(long_enough, key=lambda part: -len(asked & _words(part)))
    return shared[:_MAX_SENTENCES] or [text]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def rarity(holding: int, all_chunks: int) -> float:
    """Return the weight of a term that `holding` of all chunks contain (BM25's IDF, above 0)."""
    return math.log(1 + (max(all_chunks - holding, 0) + 0.5) / (holding + 0.5))


def weighted_coverage(rarities: Sequence[float], held: Sequence[bool]) -> float:
    """Return the share of the terms, by rarity, that a chunk contains; 0 without terms."""
    total = sum(rarities)
    return sum(worth for worth, holds in zip(rarities, held, strict=True) if holds) / (total or 1)


def scale_similarity(similarity: float) -> float:
    """Scale a similarity to 0 (unrelated sentence) to 1 (same meaning)."""
    return min(max((similarity - _UNRELATED) / (_SAME - _UNRELATED), 0.0), 1.0)
