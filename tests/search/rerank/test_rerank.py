"""The rerank stage: when the reranker runs, how scores are mixed, what a failure leaves."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import Settings, find_setting, override_settings
from gbrain.errors import ModelUnavailable
from gbrain.search.rerank.rerank import best_chunks
from gbrain.search.rerank.scores import mix_scores, movable_pages
from gbrain.types import Candidate, LaneResult, Ranked, ScoredChunk

QUESTION = "who would rather not send notes to a hosted service?"


def test_every_kind_in_the_settings_exists() -> None:
    kinds = ("cross-encoder", "overlap", "command", "learned")
    assert find_setting("rerank").choices == ("off", *kinds, "cross-encoder+learned")
    for kind in kinds:
        module = import_module(f"gbrain.search.rerank.{kind.replace('-', '_')}")
        assert callable(module.score_pages)


@pytest.mark.parametrize("kind", ["cross-encoder", "overlap"])
def test_the_head_is_reordered_and_the_tail_stays(ask: Callable, kind: str) -> None:
    fused = ask(QUESTION)
    found = fused.reranked(rerank=kind, rerank_head="5", rerank_mix="1")
    assert (found.how, found.pages, found.skipped, found.notice) == (kind, 5, None, None)
    assert 5 <= found.chunks <= 15
    assert found.ranked[5:] == fused.ranked[5:]
    assert {page.slug for page in found.ranked[:5]} == {page.slug for page in fused.ranked[:5]}
    assert all("rerank" in page.lanes for page in found.ranked[:5])
    assert fused.reranked(rerank=kind, rerank_head="5", rerank_mix="1") == found


def test_agreeing_lanes_skip_the_reranker(ask: Callable) -> None:
    fused = ask("how do I back up a SQLite database while it is in use?")
    fused = fused._replace(resources=fused.resources._replace(cross_encoder=never))
    found = fused.reranked(rerank="cross-encoder", unanimity="on")
    assert found.skipped == "the lanes agree"
    assert found.ranked == fused.ranked


def never() -> None:
    raise AssertionError("nobody needs this model")


@pytest.mark.parametrize(
    "text", ["Sunlight makes vitamin D.", "notes sync offline", "what " + "else " * 40 + "?"]
)
def test_a_query_that_it_may_not_judge_skips_the_model(ask: Callable, text: str) -> None:
    fused = ask(text)
    fused = fused._replace(resources=fused.resources._replace(cross_encoder=never))
    found = fused.reranked(rerank="cross-encoder")
    assert found.ranked == fused.ranked
    assert found.skipped == "its scores would hardly count for this query"


def test_a_single_page_skips_the_reranker(ask: Callable) -> None:
    fused = ask(QUESTION)
    alone = fused._replace(ranked=fused.ranked[:1]).reranked(rerank="command")
    assert (alone.ranked, alone.skipped) == (fused.ranked[:1], "fewer than two pages")
    assert fused._replace(ranked=[]).reranked(rerank="overlap").ranked == []


def test_a_failing_model_keeps_the_order(ask: Callable) -> None:
    def broken() -> None:
        raise ModelUnavailable("model.onnx is missing.", hint="Reinstall gbrain.")

    fused = ask(QUESTION)
    fused = fused._replace(resources=fused.resources._replace(cross_encoder=broken))
    found = fused.reranked(rerank="cross-encoder")
    assert found.ranked == fused.ranked
    assert found.notice == "Not reranked: model.onnx is missing. Reinstall gbrain."


def test_a_failing_command_keeps_the_order(ask: Callable) -> None:
    fused = ask(QUESTION, command="/no/such/program")
    found = fused.reranked(rerank="command", rerank_command="true")
    assert found.ranked == fused.ranked
    assert found.notice is not None
    assert found.notice.startswith("Not reranked: rerank_command did not start: ")


def test_a_command_decides_the_order(ask: Callable) -> None:
    backwards = "import json, sys; print(list(range(len(json.load(sys.stdin)['passages']))))"
    fused = ask(QUESTION, command=shlex.join([sys.executable, "-c", backwards]))
    found = fused.reranked(rerank="command", rerank_head="4", rerank_mix="1")
    assert [page.slug for page in found.ranked[:4]] == [page.slug for page in fused.ranked[3::-1]]


def test_a_page_without_chunks_keeps_its_place(ask: Callable) -> None:
    fused = ask(QUESTION)
    gone = fused.ranked[1]._replace(page_id=10**9, slug="gone", lanes={})
    fused = fused._replace(ranked=[fused.ranked[0], gone, *fused.ranked[2:]])
    found = fused.reranked(rerank="cross-encoder")
    assert found.ranked[1].slug == "gone"
    assert found.notice is None


def test_operators_and_fields_are_left_out_of_the_question(ask: Callable) -> None:
    plain, structured = ask("which backup database"), ask("which backup database NOT sourdough")
    answers = [
        {page.slug: page.lanes["rerank"].score for page in found.ranked if "rerank" in page.lanes}
        for found in (fused.reranked(rerank="cross-encoder") for fused in (plain, structured))
    ]
    common = answers[0].keys() & answers[1].keys()
    assert len(common) > 3
    assert any(answers[0][slug] == answers[1][slug] for slug in common)


def test_a_kind_loads_only_what_it_needs() -> None:
    script = (
        "import sys, gbrain.search.rerank.rerank\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'subprocess', 'gbrain.models.reranker'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def answer(*scores: float) -> list[Ranked]:
    """Pages 1, 2, 3 … with these fused scores."""
    return [Ranked(page, f"p{page}", score, {}) for page, score in enumerate(scores, 1)]


def pages(ranked: list[Ranked]) -> list[int]:
    return [page.page_id for page in ranked]


def test_the_mix_can_be_computed_by_hand() -> None:
    mixed = mix_scores(answer(1.6, 1.2, 0.8, 0.1), {1: 0.0, 2: 0.9, 3: 0.7}, head=3, mix=0.5)
    assert pages(mixed) == [2, 1, 3, 4]
    # Fused on a scale from 0 to 1: 1, .5, 0; mixed: .5, .7, .35; back on the scale .8 to 1.6.
    assert [page.score for page in mixed] == pytest.approx([1.36, 1.2, 1.08, 0.1])


def test_a_reranker_score_is_shown_as_a_lane() -> None:
    mixed = mix_scores(answer(1.6, 1.2, 0.8), {1: 0.0, 3: 0.7}, head=3, mix=0.5)
    shown = {page.page_id: page.lanes.get("rerank") for page in mixed}
    assert shown == {
        1: Candidate(1, "p1", None, 2, 0.0),
        2: None,
        3: Candidate(3, "p3", None, 1, 0.7),
    }


def test_a_page_without_a_score_keeps_its_place() -> None:
    mixed = mix_scores(answer(5, 4, 3, 2), {1: 0.0, 3: 0.5, 4: 1.0}, head=4, mix=1)
    assert pages(mixed) == [4, 2, 3, 1]


def test_ties_keep_their_order() -> None:
    assert pages(mix_scores(answer(2, 2, 2), {1: 0.5, 2: 0.5, 3: 0.5}, 3, 0.5)) == [1, 2, 3]


def test_a_mix_of_zero_keeps_the_order() -> None:
    assert pages(mix_scores(answer(3, 2, 1), {1: 0.0, 2: 0.5, 3: 1.0}, 3, 0)) == [1, 2, 3]
    assert pages(mix_scores(answer(3, 2, 1), {1: 0.0, 2: 0.5, 3: 1.0}, 3, 1)) == [3, 2, 1]


def test_pages_far_apart_are_not_movable() -> None:
    # Fused from 0 to 1: 1, .9, .2, 0; opinions that weigh a third bridge at most a half.
    assert movable_pages(answer(10, 9, 2, 0), head=4, mix=1 / 3) == {1, 2, 3, 4}
    assert movable_pages(answer(10, 9, 2, 0), head=4, mix=0.1) == {1, 2}
    assert movable_pages(answer(10, 9, 2, 0), head=3, mix=0.1) == set()


@given(
    st.lists(st.floats(0, 10), max_size=20).map(lambda scores: sorted(scores, reverse=True)),
    st.dictionaries(st.integers(1, 20), st.floats(0, 1)),
    st.floats(0, 1),
)
def test_scores_of_unmovable_pages_change_no_order(
    scores: list[float], opinions: dict[int, float], mix: float
) -> None:
    ranked = answer(*scores)
    of_all = {page.page_id: opinions.get(page.page_id, 0.5) for page in ranked}
    movable = movable_pages(ranked, 20, mix)
    asked = {page: opinion for page, opinion in of_all.items() if page in movable}
    assert pages(mix_scores(ranked, asked, 20, mix)) == pages(mix_scores(ranked, of_all, 20, mix))


@given(
    st.lists(st.floats(0, 10), max_size=30).map(lambda scores: sorted(scores, reverse=True)),
    st.dictionaries(st.integers(1, 30), st.floats(0, 1)),
    st.integers(1, 25),
    st.floats(0, 1),
)
def test_mixing_moves_only_scored_pages(
    scores: list[float], opinions: dict[int, float], head: int, mix: float
) -> None:
    before = answer(*scores)
    after = mix_scores(before, opinions, head, mix)
    assert sorted(pages(after)) == sorted(pages(before))
    assert after[head:] == before[head:]
    assert all(a.score >= b.score for a, b in pairwise(after))
    for place, page in enumerate(before[:head]):
        if page.page_id not in opinions:
            assert after[place].page_id == page.page_id
    assert mix_scores(before, opinions, head, mix) == after


LANES = {
    "fts": LaneResult(
        (), (ScoredChunk(11, 1, 9.0), ScoredChunk(12, 1, 5.0), ScoredChunk(21, 2, 4.0))
    ),
    "vector": LaneResult(
        (), (ScoredChunk(13, 1, 0.9), ScoredChunk(12, 1, 0.8), ScoredChunk(31, 3, 0.7))
    ),
}


def test_chunks_of_both_lanes_come_first() -> None:
    three = override_settings(Settings(), {"rerank_chunks": "3"})
    assert best_chunks(answer(2, 1), LANES, three) == {1: [12, 11, 13], 2: [21]}


def test_at_most_rerank_chunks_are_read() -> None:
    settings = override_settings(Settings(), {"rerank_chunks": "1"})
    assert best_chunks(answer(2, 1), LANES, settings) == {1: [12], 2: [21]}


def test_the_best_chunk_is_read_if_no_lane_scored_one() -> None:
    spoken = Ranked(7, "p7", 1.0, {"fts": Candidate(7, "p7", 70, 1, 3.0)})
    silent = Ranked(8, "p8", 1.0, {"sms": Candidate(8, "p8", None, 1, 1.0)})
    assert best_chunks([spoken, silent], LANES, Settings()) == {7: [70], 8: []}
