"""Properties of fusion, by hand and for all lanes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import Settings
from gbrain.search.fusion import (
    fuse,
    lane_shares,
    min_max,
    shared_chunk_scores,
    weigh_agreement,
)
from gbrain.types import Candidate, LaneResult, MergeStrategy, ScoredChunk

SETTINGS = Settings()
MERGES: tuple[MergeStrategy, ...] = ("set-union", "set-union-rank", "rrf", "blend")
EVEN: Mapping[str, float] = {}


def lane(*pages: str, scores: tuple[float, ...] = ()) -> LaneResult:
    """A lane that found these pages, best first."""
    given = scores or tuple(float(len(pages) - at) for at in range(len(pages)))
    return LaneResult(
        tuple(
            Candidate(ord(page), page, None, rank, score)
            for rank, (page, score) in enumerate(zip(pages, given, strict=True), 1)
        )
    )


@st.composite
def lanes(draw: st.DrawFn) -> LaneResult:
    pages = draw(st.lists(st.sampled_from("abcdefgh"), unique=True))
    number = st.floats(0, 30)
    scores = sorted(draw(st.lists(number, min_size=len(pages), max_size=len(pages))), reverse=True)
    return lane(*pages, scores=tuple(scores))


merges = st.sampled_from(MERGES)


def scores(found: Mapping[str, LaneResult], merge: MergeStrategy) -> dict[str, float]:
    return {ranked.slug: ranked.score for ranked in fuse(found, EVEN, merge, SETTINGS)}


def test_rrf_adds_one_over_sixty_and_the_rank() -> None:
    fused = scores({"fts": lane("a", "b"), "vector": lane("c", "d", "b", "a")}, "rrf")
    assert fused["a"] == pytest.approx(1 / 61 + 1 / 64)
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 63)
    assert fused["c"] == pytest.approx(1 / 61)


def test_rrf_adds_the_setting_to_the_rank() -> None:
    found = {"fts": lane("a", "b"), "vector": lane("b")}
    fused = fuse(found, EVEN, "rrf", Settings(rrf_k=10))
    assert [page.score for page in fused] == pytest.approx([1 / 12 + 1 / 11, 1 / 11])


def test_set_union_adds_a_share_of_the_lower_score() -> None:
    found = {
        "fts": lane("a", "b", "c", scores=(10.0, 6.0, 2.0)),
        "vector": lane("b", "d", scores=(0.9, 0.5)),
    }
    fused = scores(found, "set-union")
    assert fused == pytest.approx({"a": 1.0, "b": 1.0 + 0.6 * 0.5, "c": 0.0, "d": 0.0})


def scored_chunks(*scored: tuple[int, str, float]) -> tuple[ScoredChunk, ...]:
    """Chunks by number, page and score, best first."""
    return tuple(ScoredChunk(number, ord(page), score) for number, page, score in scored)


def test_the_best_passage_counts_by_what_both_lanes_say_of_it() -> None:
    words = LaneResult((), scored_chunks((1, "a", 8.0), (2, "b", 6.0), (3, "b", 4.0)))
    vector = LaneResult((), scored_chunks((3, "b", 0.9), (2, "b", 0.8), (4, "c", 0.5)))
    assert shared_chunk_scores(words, vector) == pytest.approx(
        {ord("a"): 0.5, ord("b"): (0.5 + 0.75) / 2, ord("c"): 0.0}
    )


def test_set_union_favours_a_chunk_found_by_both_lanes() -> None:
    found = {
        "fts": lane("a", "b", "c", scores=(9.0, 9.0, 1.0)),
        "vector": lane("a", "b", "c", scores=(0.9, 0.9, 0.1))._replace(
            combined_chunk_scores={ord("a"): 0.5, ord("b"): 1.0}
        ),
    }
    some = Settings(chunk_bonus=0.4)
    fused = fuse(found, EVEN, "set-union", some)
    assert [page.slug for page in fused] == ["b", "a", "c"]
    assert [page.score for page in fused] == pytest.approx([1.4 + 0.6, 1.2 + 0.6, 0.0])
    off = fuse(found, EVEN, "set-union", Settings(chunk_bonus=0.0))
    assert [page.slug for page in off] == ["a", "b", "c"]
    alone = fuse(found, {"fts": 0.0}, "set-union", some)
    assert [page.score for page in alone] == pytest.approx([1.0, 1.0, 0.0])


def test_a_page_in_one_pool_keeps_its_score_beyond_another() -> None:
    found = {
        "fts": lane("a", "b", "c", scores=(10.0, 6.0, 0.0)),
        "vector": lane("b", scores=(0.9,))._replace(
            overflow=(
                Candidate(ord("a"), "a", None, 2, 0.7),
                Candidate(ord("z"), "z", None, 3, 0.6),
            ),
            lowest_score=0.5,
        ),
    }
    fused = {page.slug: page for page in fuse(found, EVEN, "set-union", SETTINGS)}
    assert set(fused) == {"a", "b", "c"}
    # Three pages: the lane's scale starts at three tenths of its lowest score.
    part = (0.7 - 0.15) / (0.9 - 0.15)
    assert fused["a"].score == pytest.approx(1.0 + 0.6 * part)
    assert fused["a"].lanes["vector"].rank == 2
    assert lane_shares(found, EVEN, "set-union", SETTINGS)[ord("a")] == pytest.approx(
        {"fts": 1.0, "vector": part}
    )


def test_the_second_of_two_pages_is_not_worthless() -> None:
    found = {"fts": lane("a", "b", scores=(7.8, 7.08))._replace(lowest_score=7.08)}
    first, second = fuse(found, EVEN, "set-union", SETTINGS)
    assert first.score == 1.0
    assert second.score > 0.8


def test_a_page_of_the_vector_lane_alone_gets_no_chunk_bonus() -> None:
    """The only page with a rare word stays before the nearest page without it."""
    found = {
        "fts": lane("a", scores=(5.0,))._replace(word_factors={ord("a"): 1.5}),
        "vector": lane("b", "c", scores=(0.8, 0.5))._replace(
            combined_chunk_scores={ord("b"): 0.5, ord("c"): 0.1}
        ),
    }
    weights = Settings().lane_weights
    first, *_ = fuse(found, weights, "set-union", Settings())
    assert first.slug == "a"
    some = Settings(chunk_bonus=0.4)
    assert lane_shares(found, EVEN, "set-union", some)[ord("b")] == {"vector": 1.0}


def test_agreement_counts_less_if_no_page_has_much_of_the_query() -> None:
    weak = lane("b", "c", scores=(2.0, 1.0))._replace(coverage=0.3)
    found = {"fts": weak, "vector": lane("a", "b", "c", scores=(0.7, 0.68, 0.5))}
    chosen = weigh_agreement(found, "set-union", SETTINGS)
    assert chosen.both_bonus == pytest.approx(SETTINGS.both_bonus / 4)
    assert chosen.chunk_bonus == pytest.approx(SETTINGS.chunk_bonus / 4)
    known = {**found, "fts": weak._replace(coverage=0.6)}
    for unchanged in (
        weigh_agreement(known, "set-union", SETTINGS),
        weigh_agreement(found, "rrf", SETTINGS),
        weigh_agreement({"fts": weak}, "set-union", SETTINGS),
    ):
        assert unchanged == SETTINGS
    off = Settings(full_coverage=0.0)
    assert weigh_agreement(found, "set-union", off) == off


@pytest.mark.parametrize("merge", ["rrf", "set-union-rank"])
def test_ranks_beyond_a_pool_count_for_nothing(merge: MergeStrategy) -> None:
    found = {"fts": lane("a", "b"), "vector": lane("b")}
    beyond = (Candidate(ord("a"), "a", None, 2, 0.5),)
    longer = {**found, "vector": found["vector"]._replace(overflow=beyond)}
    assert fuse(longer, EVEN, merge, SETTINGS) == fuse(found, EVEN, merge, SETTINGS)


def test_set_union_rank_adds_a_bonus_for_both_lanes() -> None:
    fused = scores({"fts": lane("a", "b"), "vector": lane("c", "b")}, "set-union-rank")
    assert fused == pytest.approx({"a": 1.0, "b": 0.5 + 0.25, "c": 1.0})


def test_blend_adds_scaled_scores_by_weight() -> None:
    found = {"fts": lane("a", "b"), "vector": lane("b", "c")}
    fused = fuse(found, {"fts": 0.6, "vector": 0.4}, "blend", SETTINGS)
    assert [(ranked.slug, ranked.score) for ranked in fused] == [
        ("a", pytest.approx(0.6)),
        ("b", pytest.approx(0.4)),
        ("c", 0.0),
    ]


@given(lanes(), lanes(), merges)
def test_the_order_of_the_lanes_does_not_matter(
    one: LaneResult, other: LaneResult, merge: MergeStrategy
) -> None:
    forward = fuse({"fts": one, "vector": other}, EVEN, merge, SETTINGS)
    assert fuse({"vector": other, "fts": one}, EVEN, merge, SETTINGS) == forward


@given(lanes(), lanes(), merges)
def test_a_lane_of_weight_nothing_lets_nobody_in(
    one: LaneResult, other: LaneResult, merge: MergeStrategy
) -> None:
    alone = fuse({"fts": one}, EVEN, merge, SETTINGS)
    assert fuse({"fts": one, "vector": other}, {"vector": 0.0}, merge, SETTINGS) == alone


@given(lanes(), lanes(), merges)
def test_every_page_comes_once_best_first_and_ties_by_slug(
    one: LaneResult, other: LaneResult, merge: MergeStrategy
) -> None:
    fused = fuse({"fts": one, "vector": other}, EVEN, merge, SETTINGS)
    assert {ranked.slug for ranked in fused} == {c.slug for c in [*one.pages, *other.pages]}
    assert len({ranked.page_id for ranked in fused}) == len(fused)
    assert fused == sorted(fused, key=lambda ranked: (-ranked.score, ranked.slug))


@given(lanes(), merges)
def test_one_lane_alone_keeps_its_order(one: LaneResult, merge: MergeStrategy) -> None:
    fused = {ranked.slug: ranked.score for ranked in fuse({"fts": one}, EVEN, merge, SETTINGS)}
    in_lane = [fused[candidate.slug] for candidate in one.pages]
    assert in_lane == sorted(in_lane, reverse=True)


def test_a_page_keeps_what_each_lane_said_of_it() -> None:
    found = {"fts": lane("a", "b"), "vector": lane("b")}
    fused = {ranked.slug: ranked for ranked in fuse(found, EVEN, "rrf", SETTINGS)}
    assert fused["b"].lanes == {"fts": found["fts"].pages[1], "vector": found["vector"].pages[0]}
    assert list(fused["a"].lanes) == ["fts"]


@pytest.mark.parametrize(
    ("given_", "scaled"),
    [([], []), ([3.0], [1.0]), ([2.0, 2.0], [1.0, 1.0]), ([5.0, 3.0, 1.0], [1.0, 0.5, 0.0])],
)
def test_scores_are_scaled_from_lowest_to_highest(given_: list[float], scaled: list[float]) -> None:
    assert min_max(given_) == scaled
