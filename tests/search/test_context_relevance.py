"""Which lines of a page can be read alone, and how relevant they are."""

from __future__ import annotations

from gbrain.config import Settings
from gbrain.search.context_relevance import (
    chunk_log_odds,
    page_log_odds,
    relevant_texts,
    split_lines,
)
from gbrain.store.chunk_context import ChunkSpan
from gbrain.types import LaneResult, Ranked, ScoredChunk


def split(text: str) -> list[str]:
    page = text.encode()
    return [page[line.start : line.stop].decode() for line in split_lines(page, 0, len(page))]


def test_list_items_and_chat_turns_are_lines() -> None:
    assert split("- one\n- two\n\nAnn: Hi!\nBen: Hello.\n") == [
        "- one\n", "- two\n\n", "Ann: Hi!\n", "Ben: Hello.\n"
    ]  # fmt: skip


def test_headings_tables_code_and_wrapped_text_stay_whole() -> None:
    for text in (
        "# Head\n\ntext below it\n",
        "| a | b. |\n|---|---|\n| 1 | 2. |\n",
        "```\nfirst.\n\nsecond.\n```\n",
        "a sentence that\ngoes on here.\n",
    ):
        assert split(text) == [text]


def test_a_line_after_a_question_is_an_answer() -> None:
    page = b"Why?\nBecause.\nsee a.org/?q=1.\nend.\n"
    assert [line.answers for line in split_lines(page, 0, len(page))] == [False, True, False, False]


def ranked(page_id: int, score: float) -> Ranked:
    return Ranked(page_id, f"page{page_id}", score, {})


def test_chunks_of_good_pages_in_both_lanes_are_most_relevant() -> None:
    lanes = {
        "fts": LaneResult((), (ScoredChunk(11, 1, 9.0), ScoredChunk(21, 2, 3.0))),
        "vector": LaneResult((), (ScoredChunk(11, 1, 0.8), ScoredChunk(31, 3, 0.7))),
    }
    pages = [ranked(1, 2.0), ranked(2, 1.0)]
    odds = chunk_log_odds(lanes, pages, Settings())
    assert set(odds) == {11, 21}
    assert odds[11] > odds[21] > page_log_odds(pages)[2]
    assert chunk_log_odds({}, pages, Settings()) == {}


def test_matched_terms_raise_a_line_and_its_neighbours_inherit() -> None:
    page = b"One.\nTwo heron.\nThree.\nFour.\n"
    chunk = ChunkSpan(7, 1, 0, len(page))
    texts = relevant_texts(page, [chunk], {7: -3.0}, -9.0, {0: [(9, 1.0)]}, 0.0)
    one, two, three, four = (text.relevance for text in texts)
    assert two > 5 * one
    assert one == three == four
    weak = ChunkSpan(8, 1, 16, len(page))
    spans = [ChunkSpan(7, 1, 0, 16), weak]
    texts = relevant_texts(page, spans, {7: 0.0}, -9.0, {}, 0.0)
    assert [text.inherited for text in texts] == [False, False, True, False]
