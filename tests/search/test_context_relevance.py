"""Which lines of a page can be read alone, and how relevant they are."""

from __future__ import annotations

from gbrain.search.context_relevance import (
    BROAD_QUESTION,
    TermOffsets,
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
    odds = chunk_log_odds(lanes, pages)
    assert set(odds) == {11, 21}
    assert odds[11] > odds[21] > page_log_odds(pages)[2]
    assert chunk_log_odds({}, pages) == {}


def relevance(page: bytes, question: str = "", *terms: TermOffsets) -> list[float]:
    chunk = ChunkSpan(7, 1, 0, len(page))
    texts = relevant_texts(page, [chunk], {7: 0.0}, -9.0, terms, question, 0.0)
    return [text.density for text in texts]


def test_matched_terms_raise_a_line_and_its_neighbours_inherit() -> None:
    page = b"One.\nTwo heron.\nThree.\nFour.\n"
    other, heron = relevance(b"A stork.\nA heron.\n", "", TermOffsets(1.0, [11]))
    assert heron > 5 * other
    spans = [ChunkSpan(7, 1, 0, 16), ChunkSpan(8, 1, 16, len(page))]
    texts = relevant_texts(page, spans, {7: 0.0}, -9.0, (), "", 0.0)
    assert [text.inherited for text in texts] == [False, False, True, False]
    assert [text.chunk_id for text in texts] == [7, 7, 8, 8]


def test_a_long_line_is_divided_around_a_url() -> None:
    url = f"https://a.org/{'x9' * 400}"
    page = f"He asks for a third of the sum: {url} was his offer.\n".encode()
    texts = relevant_texts(page, [ChunkSpan(7, 1, 0, len(page))], {7: 0.0}, -9.0, (), "", 0.0)
    assert [page[text.start : text.stop].decode() for text in texts] == [
        "He asks for a third of the sum: ", url, " was his offer.\n"
    ]  # fmt: skip


def test_a_term_counts_for_the_two_lines_after_it() -> None:
    page = b"It is big.\nSo a heron.\nIt is big.\nIt is big.\nIt is big.\n"
    before, heron, next_one, second, third = relevance(page, "", TermOffsets(1.0, [16]))
    assert heron > next_one == second > 3 * before >= 3 * third


def test_the_best_line_of_a_page_has_more_than_the_others() -> None:
    page = b"A heron and a stork.\nA heron on its own.\nNothing of the kind.\n"
    terms = (TermOffsets(0.1, [2, 23]), TermOffsets(0.1, [14]))
    best, second, _ = relevance(page, "", *terms)
    assert best > 1.5 * second


def test_questions_for_several_things_are_broad() -> None:
    for broad in (
        "What books has Tim read?",
        "Which old friends did Ann meet?",
        "Would Ben like a heron?",
        "What do Ann and Ben eat?",
    ):
        assert BROAD_QUESTION.search(broad), broad
    for narrow in (
        "When does my passport expire?",
        "What is his address?",
        "Where did Ann go in May?",
        "passport",
    ):
        assert not BROAD_QUESTION.search(narrow), narrow


def test_a_turn_goes_on_up_to_the_next_label() -> None:
    text = "Ann: Look!\n[a photo of a heron]\nBen: I see it\nAnn: Where was it?\n"
    assert split(text) == [
        "Ann: Look!\n[a photo of a heron]\n", "Ben: I see it\n", "Ann: Where was it?\n"
    ]  # fmt: skip


def test_a_label_that_the_query_names_raises_its_line() -> None:
    page = b"Ann: yes it is.\nBen: yes it is.\n\nIt is so, Ann.\n"
    ann, ben, other = relevance(page, "Ann", TermOffsets(0.5, [0, 43]))
    assert ann > 2 * other > 2 * ben


def test_a_time_or_number_answers_a_question_for_one() -> None:
    page = b"It was last Tuesday.\nIt was great for us.\nIt was like 7 or so.\n"
    when, plain, number = relevance(page, "When did it happen?")
    assert when > 2 * plain == 2 * number
    when, plain, number = relevance(page, "How many herons were there?")
    assert number > 2 * plain == 2 * when
    assert len(set(relevance(page, "Was it great?"))) == 1


def test_a_question_is_less_relevant_than_a_statement() -> None:
    asks, says = relevance(b"Was it a heron?\nIt was a heron.\n")
    assert says > asks
