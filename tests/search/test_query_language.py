"""Operators and fields limit every lane, and any query gets an answer."""

from __future__ import annotations

import pytest

from gbrain.brain import Brain
from gbrain.types import Mode


def holding(brain: Brain, word: str) -> set[str]:
    rows = brain.database.connection.execute(
        "SELECT slug FROM pages WHERE lower(title || compiled_truth || timeline) LIKE ?",
        (f"%{word}%",),
    )
    return {row[0] for row in rows}


@pytest.mark.parametrize("mode", ["bm25", "semantic", "hybrid"])
def test_not_excludes_pages_in_every_lane(embedded: Brain, mode: Mode) -> None:
    unwanted = holding(embedded, "alice")
    asked = embedded.query("the field notebook project", mode=mode, limit=30)
    assert unwanted & {hit.slug for hit in asked.hits}
    answer = embedded.query("the field notebook project NOT alice", mode=mode, limit=30)
    assert answer.hits
    assert not unwanted & {hit.slug for hit in answer.hits}


def test_not_excludes_pages_in_graph_and_associative_lanes(embedded: Brain) -> None:
    unwanted = holding(embedded, "alice")
    alone = {"semantic_weight": "0", "keyword_weight": "0"}
    for lane in ("graph", "associative"):
        only = {**alone, f"{lane}_weight": "1"}
        asked = embedded.query("River AI and offline first", changes=only, limit=30)
        assert unwanted & {hit.slug for hit in asked.hits}
        answer = embedded.query("River AI and offline first NOT alice", changes=only, limit=30)
        assert {found for hit in answer.hits for found in hit.lanes} == {lane}
        assert not unwanted & {hit.slug for hit in answer.hits}
    everything = {"graph_weight": "1", "associative_weight": "1"}
    answer = embedded.query("River AI and offline first NOT alice", changes=everything, limit=30)
    assert {found for hit in answer.hits for found in hit.lanes} == {
        "fts", "vector", "graph", "associative",
    }  # fmt: skip
    assert not unwanted & {hit.slug for hit in answer.hits}


def test_not_excludes_linked_pages_from_the_context(embedded: Brain) -> None:
    unwanted = holding(embedded, "alice")
    answer = embedded.query("the field notebook project NOT alice", depth="auto", budget=4000)
    assert answer.context
    assert not unwanted & {piece.slug for piece in answer.context}


@pytest.mark.parametrize("mode", ["bm25", "semantic", "hybrid"])
def test_fields_limit_every_lane(embedded: Brain, mode: Mode) -> None:
    answer = embedded.query(
        "the field notebook project (wing:people OR wing:projects)", mode=mode, limit=30
    )
    assert {hit.wing for hit in answer.hits} == {"people", "projects"}


@pytest.mark.parametrize(
    "text", ["NOT alice", "wing:people", "(", "AND", "title:", "NOT", "tag:x OR"]
)
@pytest.mark.parametrize("mode", ["bm25", "hybrid"])
def test_a_query_without_words_has_an_answer(embedded: Brain, text: str, mode: Mode) -> None:
    answer = embedded.query(text, mode=mode)
    assert answer.query == text
    if text in ("NOT alice", "wing:people"):
        assert answer.hits


@pytest.mark.parametrize("mode", ["bm25", "auto"])
@pytest.mark.parametrize(
    "text", ["wing:people", "tag:founder", "NOT river", "wing:people OR wing:companies"]
)
def test_a_query_of_fields_only_is_a_strong_answer(embedded: Brain, text: str, mode: Mode) -> None:
    verdict = embedded.query(text, mode=mode).verdict
    assert (verdict.grade, verdict.confidence) == ("strong", 1.0)
    assert verdict.reasons == ("every page fulfils the query's own fields and NOT",)
    assert embedded.query("wing:nowhere", mode=mode).verdict.grade == "nothing"


def test_a_name_that_not_excludes_finds_nothing(embedded: Brain) -> None:
    assert embedded.query("people/alice-chen NOT alice").verdict.grade == "nothing"


def test_a_misspelt_word_finds_the_right_page(embedded: Brain) -> None:
    answer = embedded.search("sourdogh for the bakery")
    assert answer.hits[0].slug == "resources/sourdough-starter"
    assert any(stage.name == "repair" for stage in answer.trace.stages)
