"""A query from end to end: modes, weights and merges, with the real model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.config import override_settings
from gbrain.types import Answer, MergeStrategy, Mode, Scope

MERGES: tuple[MergeStrategy, ...] = ("set-union", "set-union-rank", "rrf", "blend")
LUKEWARM = "who is lukewarm on cloud RAG?"


@pytest.fixture
def tuned(embedded: Brain) -> Iterator[Brain]:
    """`embedded`, whose settings a test may change."""
    before = embedded.settings
    yield embedded
    embedded.settings = before


ALWAYS = {"parse", "short_circuit", "fuse", "boost", "cut", "text", "verdict", "repair"}


def stages(answer: Answer) -> set[str]:
    return {stage.name for stage in answer.trace.stages}


def slugs(answer: Answer) -> list[str]:
    return [hit.slug for hit in answer.hits]


def test_a_question_finds_the_page_that_says_it_in_other_words(embedded: Brain) -> None:
    assert slugs(embedded.query(LUKEWARM))[0] == "people/noor-haddad"
    semantic = embedded.query("getting fermented dough to rise", mode="semantic")
    assert slugs(semantic)[0] == "resources/sourdough-starter"


@pytest.mark.parametrize(
    ("mode", "used", "lanes"),
    [
        ("bm25", "bm25", {"fts"}),
        ("semantic", "semantic", {"embed_query", "vector"}),
        ("hybrid", "hybrid", {"fts", "embed_query", "vector"}),
        ("auto", "hybrid", {"fts", "embed_query", "vector"}),
    ],
)
def test_a_mode_runs_its_lanes_and_no_other(
    embedded: Brain, mode: Mode, used: Mode, lanes: set[str]
) -> None:
    answer = embedded.query(LUKEWARM, mode=mode)
    assert answer.mode == used
    assert stages(answer) - ALWAYS == lanes
    assert (answer.fell_back_to_bm25, answer.notice) == (False, None)
    assert answer.merge == ("set-union" if used == "hybrid" else None)
    given = {lane for hit in answer.hits for lane in hit.lanes}
    assert given == lanes - {"embed_query"}


def test_hits_carry_each_lane_s_rank_and_score(embedded: Brain) -> None:
    answer = embedded.query(LUKEWARM, limit=50)
    for lane in ("fts", "vector"):
        found = [hit.lanes[lane] for hit in answer.hits if lane in hit.lanes]
        by_rank = sorted(found, key=lambda candidate: candidate.rank)
        assert len({candidate.rank for candidate in found}) == len(found)
        assert [c.score for c in by_rank] == sorted((c.score for c in found), reverse=True)
    assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("merge", MERGES)
def test_every_merge_ranks_the_same_pages(embedded: Brain, merge: MergeStrategy) -> None:
    answer = embedded.query(LUKEWARM, merge=merge, limit=100)
    assert answer.merge == merge
    assert set(slugs(answer)) == set(slugs(embedded.query(LUKEWARM, limit=100)))
    assert slugs(answer)[0] == "people/noor-haddad"


def test_the_same_question_has_the_same_answer(embedded: Brain) -> None:
    first, second = (embedded.query(LUKEWARM, limit=100) for _ in range(2))
    assert first.hits == second.hits


def test_of_an_endless_question_the_beginning_is_meant(embedded: Brain) -> None:
    beginning = "which database keeps notes? " * 150
    found = [
        [(hit.slug, hit.score) for hit in embedded.query(beginning + end, mode="semantic").hits]
        for end in ("Who is Alice?", "Where is the river?")
    ]
    assert found[0] == found[1]


def test_a_lane_of_no_weight_does_not_run(tuned: Brain) -> None:
    tuned.settings = override_settings(tuned.settings, {"semantic_weight": "0"})
    answer = tuned.query(LUKEWARM)
    assert not stages(answer) & {"vector", "embed_query"}
    assert {lane for hit in answer.hits for lane in hit.lanes} == {"fts"}
    tuned.settings = override_settings(
        tuned.settings, {"semantic_weight": "1", "keyword_weight": "0"}
    )
    answer = tuned.query(LUKEWARM)
    assert "fts" not in stages(answer)
    assert {lane for hit in answer.hits for lane in hit.lanes} == {"vector"}


OFF = {"semantic_weight": "0", "keyword_weight": "0"}


@pytest.mark.parametrize(
    ("weights", "lanes", "notice"),
    [
        (OFF, set(), "The weights of all lanes are 0: gbrain config reset keyword_weight "
         "switches one on."),
        ({**OFF, "graph_weight": "1"}, {"graph"},
         "semantic_weight and keyword_weight are 0: only the graph lane is used."),
        ({**OFF, "associative_weight": "1"}, {"associative"}, None),
        ({"semantic_weight": "0", "associative_weight": "1"}, {"fts", "associative"}, None),
        ({"keyword_weight": "0", "graph_weight": "1"}, {"vector", "graph"}, None),
    ],
)  # fmt: skip
def test_only_lanes_with_a_weight_answer(
    embedded: Brain, weights: dict[str, str], lanes: set[str], notice: str | None
) -> None:
    answer = embedded.query("what does Alice Chen do at River AI", changes=weights)
    assert stages(answer) - ALWAYS - {"embed_query"} == lanes
    assert {lane for hit in answer.hits for lane in hit.lanes} == lanes
    assert (answer.notice, answer.fell_back_to_bm25) == (notice, False)


def test_the_associative_lane_needs_no_vector_lane(embedded: Brain) -> None:
    on = {"associative_weight": "1"}
    _, beside = embedded.query_with_trace(LUKEWARM, changes=on)
    _, alone = embedded.query_with_trace(LUKEWARM, changes={**on, **OFF})
    assert beside.lanes.by_name["associative"] == alone.lanes.by_name["associative"]
    assert beside.lanes.by_name["associative"].pages


def test_words_asked_for_outright_need_no_weight(brain: Brain) -> None:
    for name in ("one", "two"):
        brain.put(f"{name}/plan", b"# Plan\n\nA boat.\n")
    brain.put("other", b"# Other\n\nIs part of the plan.\n")
    answer = brain.query("plan", mode="bm25", changes={"keyword_weight": "0"})
    assert set(slugs(answer)) == {"one/plan", "two/plan", "other"}


def test_both_lanes_keep_to_the_scope(embedded: Brain) -> None:
    inside = embedded.query(LUKEWARM, scope=Scope(wing="people"), limit=50)
    assert {hit.wing for hit in inside.hits} == {"people"}
    assert len(inside.hits) == 5
    without = embedded.query(LUKEWARM, scope=Scope(exclude=("people/noor-haddad",)), limit=50)
    assert "people/noor-haddad" not in slugs(without)
    assert len(without.hits) > 10


def put_many_chunks(brain: Brain) -> None:
    """Write a page of more chunks than a query embeds, one of them about a heron."""
    sections = "".join(f"## Part {n}\n\nWords of part {n}.\n\n" for n in range(20))
    brain.put("birds", f"# Birds\n\n{sections}## Heron\n\nIt stands in the marsh.\n".encode())


def test_a_page_just_written_is_found_by_meaning(brain: Brain) -> None:
    brain.put("tax", b"# Tax office\n\nThe return must be filed by the end of July.\n")
    brain.put("cat", b"# Mruczek\n\nFeed him half a tin twice a day.\n")
    asked = brain.query("what does the pet eat?")
    assert (asked.mode, asked.notice, slugs(asked)[0]) == ("hybrid", None, "cat")
    brain.put("bike", b"# Velo\n\nThe rear tyre has a puncture.\n")
    assert slugs(brain.query("flat wheel of my bicycle", mode="semantic"))[0] == "bike"
    brain.rename("bike", "repairs")
    brain.add_to_timeline("repairs", "Oiled the creaking door hinge", date="2026-11-16")
    asked = brain.query("what was done about the squeaky hinges?", mode="semantic")
    assert (asked.notice, asked.hits[0].slug, asked.hits[0].date) == (None, "repairs", "2026-11-16")


def test_a_name_match_embeds_nothing(brain: Brain) -> None:
    brain.put("birds", b"# Birds\n\nThe heron stands in the marsh.\n")
    answer = brain.query("birds")
    assert (bool(answer.short_circuit), answer.notice, brain.backlog().waiting) == (True, None, 1)


def test_an_answer_says_how_many_chunks_are_not_embedded(
    embedded_sample: Path, brain_path: Path
) -> None:
    shutil.copy(embedded_sample, brain_path)
    with Brain.open(brain_path) as brain:
        before = brain.stats().chunks
        for n in range(65):
            brain.put(f"new/{n}", f"# Note {n}\n\nWords.\n".encode())
        told = f"65 of {before + 65:,} chunks are not embedded yet: gbrain embed."
        assert (brain.query(LUKEWARM).mode, brain.query(LUKEWARM).notice) == ("hybrid", told)
        assert brain.query(LUKEWARM, mode="semantic").notice == told
        assert brain.search(LUKEWARM).notice is None
        off = {"semantic_weight": "0"}
        assert "not embedded" not in (brain.query(LUKEWARM, changes=off).notice or "")
        brain.embed()
        assert brain.query(LUKEWARM).notice is None


def test_the_few_embedded_pages_do_not_outrank_what_keywords_find(brain: Brain) -> None:
    put_many_chunks(brain)
    brain.put("harbour", b"# Harbour\n\nThe gate of the harbour was painted green in May.\n")
    for number in range(12):
        brain.put(
            f"paint/{number}", f"# Paint {number}\n\nA tin of paint, shade {number}.\n".encode()
        )
        brain.embed(f"paint/{number}")
    answer = brain.query("which colour did we paint the gate")
    assert answer.mode == "hybrid"
    assert answer.notice is not None
    assert slugs(answer)[0] == "harbour"
    assert any(slug.startswith("paint/") for slug in slugs(answer))


def test_a_read_only_brain_says_what_is_not_embedded(brain: Brain) -> None:
    brain.put("birds", b"# Birds\n\nThe heron stands in the marsh.\n")
    with Brain.open(brain.path, read_only=True) as reader:
        notice = reader.query("heron marsh").notice
    assert notice == "1 of 1 chunks is not embedded yet: gbrain embed."


def test_a_brain_without_vectors_answers_by_keyword_and_says_so(brain: Brain) -> None:
    put_many_chunks(brain)
    auto = brain.query("heron marsh")
    assert (auto.mode, auto.fell_back_to_bm25) == ("bm25", False)
    assert auto.notice == "21 of 21 chunks are not embedded yet: gbrain embed."
    for mode in ("hybrid", "semantic"):
        answer = brain.query("heron marsh", mode=mode)
        assert (answer.mode, answer.fell_back_to_bm25) == ("bm25", True)
        assert answer.notice == "The brain has no vectors yet: run gbrain embed."
        assert slugs(answer) == ["birds"]


def test_keywords_that_stand_in_for_meaning_say_so(brain: Brain) -> None:
    put_many_chunks(brain)
    answer = brain.query("heron marsh", changes={"keyword_weight": "0"})
    assert (answer.mode, answer.fell_back_to_bm25) == ("bm25", True)
    assert answer.notice == "The brain has no vectors yet: run gbrain embed."
    assert slugs(answer) == ["birds"]
    linked = brain.query("heron marsh", changes={"keyword_weight": "0", "graph_weight": "1"})
    assert (linked.fell_back_to_bm25, linked.notice, linked.hits) == (False, answer.notice, ())


def test_a_name_answers_at_once(embedded: Brain) -> None:
    answer = embedded.query("Alice Chen")
    assert answer.short_circuit
    assert slugs(answer) == ["people/alice-chen"]
    assert stages(answer) == {"parse", "short_circuit", "text", "verdict"}


def test_a_query_of_nothing_finds_nothing_by_keyword(embedded: Brain) -> None:
    assert embedded.query("", mode="bm25").hits == ()
    assert embedded.query("   ", depth="auto", budget=50).budget is not None
