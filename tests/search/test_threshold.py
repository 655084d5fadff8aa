"""Thresholds: which pages are dropped, by example."""

from __future__ import annotations

from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import Settings
from gbrain.search.threshold import (
    ThresholdResult,
    apply_noise,
    apply_threshold,
    find_weak_pages,
)
from gbrain.types import Candidate, Ranked


def page(slug: str, score: float, **lanes: float) -> Ranked:
    found = {lane: Candidate(ord(slug), slug, None, 1, value) for lane, value in lanes.items()}
    return Ranked(ord(slug), slug, score, found)


def test_nothing_is_dropped_by_default() -> None:
    pages = [page("a", 1.0, vector=0.1), page("b", 0.0)]
    assert apply_threshold(pages, Settings()) == ThresholdResult(pages)


def test_the_threshold_is_a_share_of_the_best_score() -> None:
    pages = [page("a", 0.05), page("b", 0.03), page("c", 0.02)]
    assert apply_threshold(pages, Settings(threshold=0.6)) == ThresholdResult(
        pages[:2], below_threshold=("c",)
    )


def test_the_best_score_may_be_at_any_place() -> None:
    pages = [page("a", 0.5), page("b", 2.0)]
    assert apply_threshold(pages, Settings(threshold=0.6)).below_threshold == ("a",)


def test_scores_of_zero_or_less_drop_nothing() -> None:
    pages = [page("a", 0.0), page("b", -3.0)]
    assert apply_threshold(pages, Settings(threshold=0.9)).kept == pages


def test_the_floor_is_for_pages_of_the_vector_lane_alone() -> None:
    pages = [
        page("a", 1.0, vector=0.7),
        page("b", 0.9, vector=0.4),
        page("c", 0.8, vector=0.4, fts=2.0),
        page("d", 0.7, fts=0.1),
    ]
    found = apply_threshold(pages, Settings(relevance_floor=0.6))
    assert [one.slug for one in found.kept] == ["a", "c", "d"]
    assert found.below_floor == ("b",)


def test_the_reranker_is_not_a_lane_for_the_floor() -> None:
    pages = [page("a", 1.0, vector=0.4, rerank=0.9), page("b", 0.5, vector=0.7, rerank=0.1)]
    assert apply_threshold(pages, Settings(relevance_floor=0.6)).below_floor == ("a",)


def test_the_threshold_applies_after_the_floor() -> None:
    pages = [page("a", 1.0, vector=0.1), page("b", 0.4, fts=1.0)]
    settings = Settings(relevance_floor=0.5, threshold=0.6)
    assert apply_threshold(pages, settings) == ThresholdResult(pages[1:], below_floor=("a",))


def test_a_duplicate_page_is_kept_at_its_first_place() -> None:
    pages = [page("a", 1.0), page("b", 0.9), page("a", 0.5)]
    assert apply_threshold(pages, Settings()).kept == pages[:2]


def test_pages_far_below_the_best_one_are_weak() -> None:
    pages = [page("a", 2.0), page("b", 0.8), page("c", 0.79), page("d", -1.0)]
    weak = [pages[2].page_id, pages[3].page_id]
    assert find_weak_pages(pages, ()) == set(weak)
    assert find_weak_pages(pages, {weak[0]}) == {weak[1]}
    assert find_weak_pages([], ()) == find_weak_pages([page("a", 0.0)], ()) == set()


def test_a_raised_page_is_not_weak_and_makes_no_other_page_weak() -> None:
    raised = page("a", 3.0)._replace(boosts={"date": 3.0})
    lowered = page("c", 0.3)._replace(boosts={"recency": 0.3})
    pages = [raised, page("b", 0.9), lowered]
    assert find_weak_pages(pages, ()) == {lowered.page_id}
    best = page("d", 9.0)
    assert find_weak_pages([best, *pages], ()) == {pages[1].page_id, lowered.page_id}


scored = st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(-1, 2)), unique_by=lambda p: p[0])


@given(scored, st.floats(0, 1))
def test_every_page_is_kept_or_reported(given_: list[tuple[str, float]], threshold: float) -> None:
    pages = [page(slug, score) for slug, score in given_]
    found = apply_threshold(pages, Settings(threshold=threshold))
    assert {one.slug for one in found.kept} | set(found.below_threshold) == {
        one.slug for one in pages
    }
    assert len(found.kept) + len(found.below_threshold) == len(pages)
    if pages:
        assert max(pages, key=lambda one: one.score) in found.kept


def test_noise_depends_on_the_seed_and_not_on_other_pages() -> None:
    settings = Settings(noise_sigma=0.02)
    pages = [Ranked(number, f"page-{number}", 1.0, {}) for number in range(9)]
    (alone,) = apply_noise(pages[:1], "x", settings)
    together = apply_noise(pages, "x", settings)
    assert alone in together
    assert [page.score for page in together] == sorted((p.score for p in together), reverse=True)
    assert all(page.score == page.boosts["noise"] for page in together)
    (other,) = apply_noise(pages[:1], "x", Settings(noise_sigma=0.02, noise_seed=1))
    assert other.score != alone.score != apply_noise(pages[:1], "y", settings)[0].score


def test_noise_has_the_spread_it_is_given() -> None:
    many = [Ranked(number, f"page-{number}", 1.0, {}) for number in range(2000)]
    noisy = [page.score for page in apply_noise(many, "x", Settings(noise_sigma=0.1))]
    assert mean(noisy) == pytest.approx(1, abs=0.01)
    assert stdev(noisy) == pytest.approx(0.1, abs=0.01)
