"""The packaged cross-encoder: reads the question and a passage together."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence

from gbrain.search.rerank.interface import RerankRequest, RerankScores
from gbrain.search.rerank.mixing import mix_scores, movable_pages
from gbrain.store.boost_data import read_boost_data
from gbrain.store.chunk_context import texts_with_next_chunk
from gbrain.store.chunks import StoredChunk
from gbrain.text.chunking import content_hash, embedding_text

# Pages, the best by one passage of each, of which the other passages are read as well.
READ_ON = 10


def score_pages(request: RerankRequest) -> RerankScores:
    """How relevant a page's best passages are, weighed by the kind of question.

    A page that so light an opinion could not move is not read; of one that does not get ahead by
    its best passage, nothing more is.
    """
    weight = request.settings.rerank_mix * query_trust(request.question)
    texts = _texts(request, movable_pages(request.pages, len(request.pages), weight))
    logits = _read(request, {page: found[:1] for page, found in texts.items()})
    ahead = mix_scores(request.pages, _by_page(logits), len(request.pages), weight)[:READ_ON]
    more = _read(request, {page.page_id: texts.get(page.page_id, [])[1:] for page in ahead})
    logits = {page: [*read, *more.get(page, ())] for page, read in logits.items()}
    return RerankScores(_by_page(logits), weight, sum(map(len, logits.values())))


def _by_page(logits: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {page_id: relevance(combine_logits(read)) for page_id, read in logits.items()}


def _texts(request: RerankRequest, movable: Container[int]) -> dict[int, list[str]]:
    """What there is to read of these pages, best first, each passage with what follows it."""
    known = read_boost_data(request.connection, dict.fromkeys(request.chunks))
    titles = distinctive_titles({page_id: page.title for page_id, page in known.items()})
    asked = {page: found for page, found in request.chunks.items() if found and page in movable}
    whole = texts_with_next_chunk(
        request.connection, [passage for found in asked.values() for passage in found]
    )
    return {
        page_id: [
            _text(titles[page_id], known[page_id].title, passage._replace(text=whole[passage.id]))
            for passage in found
        ]
        for page_id, found in asked.items()
    }


def _read(request: RerankRequest, texts: Mapping[int, Sequence[str]]) -> dict[int, list[float]]:
    """The logits of these texts, by page."""
    names = {text: content_hash(text) for read in texts.values() for text in read}
    logits = request.resources.cross_encoder().score_chunks(
        request.question, {name: text for text, name in names.items()}
    )
    return {page_id: [logits[names[text]] for text in read] for page_id, read in texts.items()}


def _text(shown_title: str, title: str, passage: StoredChunk) -> str:
    """Where a passage stands, then what it says; a page's first heading repeats its title."""
    path = (
        passage.heading_path[1:] if passage.heading_path[:1] == (title,) else passage.heading_path
    )
    return embedding_text(shown_title, path, passage.date, passage.text)


# Logits between which nearly all pairs lie. As probabilities, good passages would be all alike.
LOWEST, HIGHEST = -11.5, 9.5
# Claims, notes and instructions are not what it was trained on.
TRUST_IN_STATEMENTS = 0.1
# Words up to which a question is a short one.
SHORT = 12

_OPENING = frozenset(
    """who whom whose who's what what's when where where's why which how is are was were am do does
    did has have had can could will would should shall may might must""".split()
)
_MARKS = ("?", "？", "؟")


def relevance(logit: float) -> float:
    """A logit on a scale from 0 to 1, in proportion."""
    return min(max((logit - LOWEST) / (HIGHEST - LOWEST), 0.0), 1.0)


def query_trust(text: str) -> float:
    """The share of its weight that an opinion on this query deserves, above 0 up to 1."""
    words = text.split()
    kind = 1.0 if _is_question(words) else TRUST_IN_STATEMENTS
    return kind * min(1.0, SHORT / max(len(words), 1)) ** 2


def combine_logits(logits: Collection[float]) -> float:
    """One logit for a page from its passages': the best, and a little more for others as good."""
    best = max(logits)
    return best + math.log(sum(math.exp(max(logit - best, -50)) for logit in logits))


def distinctive_titles(titles: Mapping[int, str]) -> dict[int, str]:
    """The titles, empty for pages of a series that half of them or more belong to.

    "Weekly call 12" before each passage tells those pages apart by nothing but noise.
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
