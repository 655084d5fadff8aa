"""Which text enters a context: never twice, never beyond the limit, joined in page order."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import Settings
from gbrain.models.catalog import packaged_model
from gbrain.models.tokenizer import ModelTokenizer
from gbrain.search.context_selection import ContextCandidate, ContextSelection, best_excerpt
from gbrain.search.fusion import chunk_values
from gbrain.types import LaneResult, Ranked, ScoredChunk

PAGE = ("one two three four five six seven eight nine ten " * 4).encode()


def words(text: str) -> int:
    return len(text.split())


def candidate(start: int, stop: int, page_id: int = 1) -> ContextCandidate:
    return ContextCandidate(page_id, start, stop, "hit")


@pytest.fixture(scope="module")
def tokens() -> ModelTokenizer:
    return ModelTokenizer.open(packaged_model())


def test_what_overlaps_is_counted_and_taken_once() -> None:
    selection = ContextSelection(100, words)
    assert selection.take(candidate(0, 14), PAGE) == 3
    assert selection.take(candidate(8, 19), PAGE) == 1
    assert selection.take(candidate(4, 19), PAGE) == 0
    assert [(s.start, s.stop) for s in selection.joined_spans()] == [(0, 19)]
    assert selection.used == 4


def test_a_stretch_around_others_adds_what_is_between_and_beside() -> None:
    selection = ContextSelection(100, words)
    selection.take(candidate(4, 8), PAGE)
    selection.take(candidate(14, 19), PAGE)
    assert selection.uncovered_spans(candidate(0, 24)) == [(0, 4), (8, 14), (19, 24)]


def test_what_does_not_fit_changes_nothing() -> None:
    selection = ContextSelection(3, words)
    selection.take(candidate(0, 8), PAGE)
    assert selection.take(candidate(8, 24), PAGE) is None
    assert selection.needs(candidate(8, 24), PAGE) == 3
    assert selection.used == 2
    assert selection.take(candidate(8, 14), PAGE) == 1


def test_pages_keep_their_order_and_chunks_that_of_the_page() -> None:
    selection = ContextSelection(100, words)
    for start, stop, page_id in ((14, 19, 2), (0, 4, 1), (0, 4, 2)):
        selection.take(candidate(start, stop, page_id), PAGE)
    assert [(s.page_id, s.start) for s in selection.joined_spans()] == [(2, 0), (2, 14), (1, 0)]


def test_what_joins_a_hit_is_a_hit() -> None:
    selection = ContextSelection(100, words)
    selection.take(ContextCandidate(1, 0, 4, "neighbour"), PAGE)
    selection.take(ContextCandidate(1, 4, 8, "hit"), PAGE)
    selection.take(ContextCandidate(1, 14, 19, "linked"), PAGE)
    assert [span.role for span in selection.joined_spans()] == ["hit", "linked"]


def test_a_word_joined_from_halves_is_counted_as_the_word(tokens: ModelTokenizer) -> None:
    page = b"sourdough"
    assert tokens.count("sour") + tokens.count("dough") < tokens.count("sourdough")
    selection = ContextSelection(tokens.count("sour") + tokens.count("dough"), tokens.count)
    selection.take(candidate(0, 4), page)
    assert selection.take(candidate(4, 9), page) is None
    larger = ContextSelection(tokens.count("sourdough"), tokens.count)
    larger.take(candidate(0, 4), page)
    assert larger.take(candidate(4, 9), page) is not None
    assert larger.used == tokens.count("sourdough")


spans = st.lists(st.tuples(st.integers(0, 90), st.integers(1, 60), st.integers(1, 3)), max_size=15)
pages = st.text(st.sampled_from("sourdghpw \n\té知"), min_size=150, max_size=150)


@given(spans, st.integers(1, 60), pages)
def test_no_choice_of_stretches_repeats_text_or_breaks_the_limit(
    tokens: ModelTokenizer, spans: list[tuple[int, int, int]], limit: int, text: str
) -> None:
    edges = [len(text[:at].encode()) for at in range(len(text) + 1)]
    page = text.encode()
    selection = ContextSelection(limit, tokens.count)
    taken: set[tuple[int, int]] = set()
    for start, length, page_id in spans:
        wanted = candidate(edges[start], edges[start + length], page_id)
        if selection.take(wanted, page) is not None:
            taken |= {(page_id, at) for at in range(wanted.start, wanted.stop)}
    joined = selection.joined_spans()
    assert sum(tokens.count(page[s.start : s.stop].decode()) for s in joined) <= limit
    held = [(s.page_id, at) for s in joined for at in range(s.start, s.stop)]
    assert len(held) == len(set(held))
    assert set(held) == taken
    for one, other in pairwise(joined):
        assert one.page_id != other.page_id or one.stop < other.start


def test_the_best_part_holds_the_words_asked_for() -> None:
    text = "alpha beta gamma delta river epsilon RIVER zeta eta theta"
    start, stop = best_excerpt(text, ["river", "zeta"], 4, words)
    assert text[start:stop].split() == ["river", "epsilon", "RIVER", "zeta"]


def test_a_part_of_a_text_without_those_words_is_its_beginning() -> None:
    text = "alpha beta gamma delta"
    start, stop = best_excerpt(text, ["river"], 2, words)
    assert text[start:stop].split() == ["alpha", "beta"]


@given(
    st.text(st.sampled_from("ab river知é각🚀\n."), min_size=1),
    st.integers(1, 20),
    st.lists(st.sampled_from(["river", "a", "知"]), max_size=3),
)
def test_a_part_is_within_the_limit_or_a_single_character(
    tokens: ModelTokenizer, text: str, limit: int, wanted: list[str]
) -> None:
    start, stop = best_excerpt(text, wanted, limit, tokens.count)
    assert 0 <= start < stop <= len(text)
    assert tokens.count(text[start:stop]) <= limit or stop == start + 1


def test_a_long_text_without_words_is_counted_fast() -> None:
    counted = []

    def signs(text: str) -> int:
        counted.append(text)
        return len(text)

    assert best_excerpt("\u00a0\n" * 5_000, ["river"], 100, signs) == (0, 100)
    assert len(counted) < 20


def ranked(page_id: int, score: float) -> Ranked:
    return Ranked(page_id, f"page{page_id}", score, {})


def test_a_passage_is_worth_its_places_and_its_page() -> None:
    lanes = {
        "fts": LaneResult((), (ScoredChunk(11, 1, 9.0), ScoredChunk(21, 2, 3.0))),
        "vector": LaneResult((), (ScoredChunk(21, 2, 0.8), ScoredChunk(31, 3, 0.7))),
    }
    values = chunk_values(lanes, [ranked(1, 2.0), ranked(2, 1.0)], Settings())
    assert set(values) == {11, 21}
    assert values[21] > values[11] > 1


def test_without_lanes_no_passage_is_worth_anything() -> None:
    assert chunk_values({}, [ranked(1, 1.0)], Settings()) == {}
