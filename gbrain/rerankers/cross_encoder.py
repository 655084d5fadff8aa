"""The packaged cross-encoder: reads the question and a passage together."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from gbrain.ranking.confidence import relevance, telling_titles, together, trust
from gbrain.ranking.rerank import contested, reordered
from gbrain.rerankers.head import Head, Opinions
from gbrain.store.boost_data import facts
from gbrain.store.chunk_context import followed
from gbrain.store.chunks import Passage
from gbrain.text.chunking import content_hash, embedding_text

# Pages, the best by one passage of each, of which the other passages are read as well.
READ_ON = 10


def opinions(head: Head) -> Opinions:
    """How relevant a page's best passages are, weighed by the kind of question.

    A page that so light an opinion could not move is not read; of one that does not get ahead by
    its best passage, nothing more is.
    """
    weight = head.settings.rerank_mix * trust(head.question)
    texts = _texts(head, contested(head.pages, len(head.pages), weight))
    logits = _read(head, {page: found[:1] for page, found in texts.items()})
    ahead = reordered(head.pages, _by_page(logits), len(head.pages), weight)[:READ_ON]
    more = _read(head, {page.page_id: texts.get(page.page_id, [])[1:] for page in ahead})
    logits = {page: [*read, *more.get(page, ())] for page, read in logits.items()}
    return Opinions(_by_page(logits), weight, sum(map(len, logits.values())))


def _by_page(logits: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {page_id: relevance(together(read)) for page_id, read in logits.items()}


def _texts(head: Head, movable: Container[int]) -> dict[int, list[str]]:
    """What there is to read of these pages, best first, each passage with what follows it."""
    known = facts(head.connection, dict.fromkeys(head.passages))
    titles = telling_titles({page_id: page.title for page_id, page in known.items()})
    asked = {page: found for page, found in head.passages.items() if found and page in movable}
    whole = followed(head.connection, [passage for found in asked.values() for passage in found])
    return {
        page_id: [
            _text(titles[page_id], known[page_id].title, passage._replace(text=whole[passage.id]))
            for passage in found
        ]
        for page_id, found in asked.items()
    }


def _read(head: Head, texts: Mapping[int, Sequence[str]]) -> dict[int, list[float]]:
    """The logits of these texts, by page."""
    names = {text: content_hash(text) for read in texts.values() for text in read}
    logits = head.helpers.cross_encoder().scores(
        head.question, {name: text for text, name in names.items()}
    )
    return {page_id: [logits[names[text]] for text in read] for page_id, read in texts.items()}


def _text(shown_title: str, title: str, passage: Passage) -> str:
    """Where a passage stands, then what it says; a page's first heading repeats its title."""
    path = (
        passage.heading_path[1:] if passage.heading_path[:1] == (title,) else passage.heading_path
    )
    return embedding_text(shown_title, path, passage.date, passage.text)
