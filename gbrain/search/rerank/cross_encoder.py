"""The packaged cross-encoder: a model that reads the question and a chunk together."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence

from gbrain.search.rerank.scores import RerankRequest, RerankScores, mix_scores, movable_pages
from gbrain.store.chunk_context import texts_with_next_chunk
from gbrain.store.chunks import StoredChunk
from gbrain.store.ranking_data import read_boost_data
from gbrain.text.chunking import content_hash, embedding_text

# The model reads the best chunk of each page, then the other chunks of this many best pages.
READ_ON = 10


def score_pages(request: RerankRequest) -> RerankScores:
    """Score pages by the relevance of their best chunks; the weight depends on the question.

    Nothing is read for a query whose scores would hardly count, and no page that they could not
    move. Only pages that are ahead by their best chunk are read further.
    """
    weight = request.settings.rerank_mix * query_trust(request.question)
    if weight < MIN_WEIGHT:
        return RerankScores({}, 0.0, 0, skipped="its scores would hardly count for this query")
    texts = _texts_to_read(request, movable_pages(request.pages, len(request.pages), weight))
    logits = _run_model(request, {page: found[:1] for page, found in texts.items()})
    ahead = mix_scores(request.pages, _by_page(logits), len(request.pages), weight)[:READ_ON]
    more = _run_model(request, {page.page_id: texts.get(page.page_id, [])[1:] for page in ahead})
    logits = {page: [*read, *more.get(page, ())] for page, read in logits.items()}
    return RerankScores(_by_page(logits), weight, sum(map(len, logits.values())))


def _by_page(logits: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {page_id: relevance(combine_logits(read)) for page_id, read in logits.items()}


def _texts_to_read(request: RerankRequest, movable: Container[int]) -> dict[int, list[str]]:
    """Return the texts to read by page, best first, each chunk with the one after it."""
    known = read_boost_data(request.connection, dict.fromkeys(request.chunks))
    titles = distinctive_titles({page_id: page.title for page_id, page in known.items()})
    asked = {page: found for page, found in request.chunks.items() if found and page in movable}
    whole = texts_with_next_chunk(
        request.connection, [chunk for found in asked.values() for chunk in found]
    )
    return {
        page_id: [
            _text_to_read(
                titles[page_id], known[page_id].title, chunk._replace(text=whole[chunk.id])
            )
            for chunk in found
        ]
        for page_id, found in asked.items()
    }


def _run_model(
    request: RerankRequest, texts: Mapping[int, Sequence[str]]
) -> dict[int, list[float]]:
    """Return the logits of the texts, by page."""
    names = {text: content_hash(text) for read in texts.values() for text in read}
    logits = request.resources.cross_encoder().score_chunks(
        request.question, {name: text for text, name in names.items()}
    )
    return {page_id: [logits[names[text]] for text in read] for page_id, read in texts.items()}


def _text_to_read(shown_title: str, title: str, chunk: StoredChunk) -> str:
    """Return a chunk with its title and headings; the first heading may repeat the title."""
    path = chunk.heading_path[1:] if chunk.heading_path[:1] == (title,) else chunk.heading_path
    return embedding_text(shown_title, path, chunk.date, chunk.text)


# Nearly all pairs have logits in this range. As probabilities, good chunks would all be about 1.
LOWEST, HIGHEST = -11.5, 9.5
# The model was trained on questions, not on claims, notes or instructions.
TRUST_IN_STATEMENTS = 0.1
# A question of at most this many words is short.
SHORT = 12
# Scores of less weight swap a few neighbours and cost seconds.
MIN_WEIGHT = 0.1

_OPENING = frozenset(
    """who whom whose who's what what's when where where's why which how is are was were am do does
    did has have had can could will would should shall may might must""".split()
)
_MARKS = ("?", "？", "؟")


def relevance(logit: float) -> float:
    """Scale a logit to 0 to 1."""
    return min(max((logit - LOWEST) / (HIGHEST - LOWEST), 0.0), 1.0)


def query_trust(text: str) -> float:
    """Return the share of `rerank_mix` that scores for this query get, above 0 and at most 1."""
    words = text.split()
    kind = 1.0 if _is_question(words) else TRUST_IN_STATEMENTS
    return kind * min(1.0, SHORT / max(len(words), 1)) ** 2


def combine_logits(logits: Collection[float]) -> float:
    """Return a page's logit: that of its best chunk, and a little more for others as good."""
    best = max(logits)
    return best + math.log(sum(math.exp(max(logit - best, -50)) for logit in logits))


def distinctive_titles(titles: Mapping[int, str]) -> dict[int, str]:
    """Return the titles, empty for those of a series that at least half of the pages belong to.

    A title such as "Weekly call 12" before each chunk would only add noise.
    """
    series = {page: re.sub(r"\d+", "", title.casefold()) for page, title in titles.items()}
    counted = Counter(series.values())
    return {
        page: "" if counted[series[page]] >= max(2, len(titles) / 2) else title
        for page, title in titles.items()
    }


def _is_question(words: list[str]) -> bool:
    return bool(words) and (
        words[-1].rstrip("\"'”’»)").endswith(_MARKS)
        or words[0].strip("\"'“‘«(¿,").casefold() in _OPENING
    )
