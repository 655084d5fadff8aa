"""The packaged cross-encoder: reads the question and a passage together."""

from __future__ import annotations

from gbrain.ranking.confidence import relevance, telling_titles, together, trust
from gbrain.ranking.rerank import contested
from gbrain.rerankers.head import Head, Opinions
from gbrain.store.facts import facts
from gbrain.store.passages import Passage
from gbrain.text.chunking import content_hash, embedding_text


def opinions(head: Head) -> Opinions:
    """How relevant a page's best passages are, weighed by the kind of question.

    A page that so light an opinion could not move is not read.
    """
    weight = head.settings.rerank_mix * trust(head.question)
    movable = contested(head.pages, len(head.pages), weight)
    known = facts(head.connection, dict.fromkeys(head.passages))
    titles = telling_titles({page_id: page.title for page_id, page in known.items()})
    texts = {
        page_id: [_text(titles[page_id], known[page_id].title, passage) for passage in passages]
        for page_id, passages in head.passages.items()
        if passages and page_id in movable
    }
    names = {text: content_hash(text) for read in texts.values() for text in read}
    logits = head.helpers.cross_encoder().scores(
        head.question, {name: text for text, name in names.items()}
    )
    by_page = {
        page_id: relevance(together([logits[names[text]] for text in read]))
        for page_id, read in texts.items()
    }
    return Opinions(by_page, weight)


def _text(shown_title: str, title: str, passage: Passage) -> str:
    """Where a passage stands, then what it says; a page's first heading repeats its title."""
    path = (
        passage.heading_path[1:] if passage.heading_path[:1] == (title,) else passage.heading_path
    )
    return embedding_text(shown_title, path, passage.date, passage.text)
