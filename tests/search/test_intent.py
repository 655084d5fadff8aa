"""The intent of questions, by example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import Settings
from gbrain.search.intent import INTENT_PATTERNS, Intent, detect_intent, lane_weights


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("Why did we drop the cache?", "why"),
        ("what was the reason for the delay", "why"),
        ("how come the build fails", "why"),
        ("When did Caroline join the group?", "when"),
        ("do you know when the lease ends", "when"),
        ("what year was the bridge opened", "when"),
        ("Who's lukewarm on cloud RAG?", "who"),
        ("whose idea was it", "who"),
        ("which person said so", "who"),
        ("How do I rotate the keys?", "how"),
        ("steps for a release", "how"),
        ("how many people came", "what"),
        ("What did Caroline research?", "what"),
        ("river ai", "what"),
        ("", "what"),
    ],
)
def test_the_kind_of_a_question_is_detected(asked: str, kind: str) -> None:
    assert detect_intent(asked).kind == kind


@pytest.mark.parametrize(
    ("asked", "is_one"),
    [
        ("what is my favourite tea?", True),
        ("what do I prefer for breakfast", True),
        ("do i like jazz", True),
        ("what is Caroline's favourite book", False),
        ("favourite books of the team", False),
        ("what did I eat", False),
    ],
)
def test_a_preference_needs_the_first_person(asked: str, is_one: bool) -> None:
    assert detect_intent(asked).preference is is_one


@pytest.mark.parametrize(
    ("asked", "is_one"),
    [
        ("what's the version of sqlite", True),
        ("When did the fire happen?", True),
        ("how many seats has the boat", True),
        ("what time does it open", True),
        ("when it rains I stay in", False),
        ("what do we think of conversions", False),
    ],
)
def test_a_question_for_a_fact_is_detected(asked: str, is_one: bool) -> None:
    assert detect_intent(asked).concrete is is_one


@pytest.mark.parametrize(
    ("asked", "shape"),
    [
        ("Alice Chen", "entity"),
        ("Catch me up on Noor Wrenhaven.", "entity"),
        ("what is Caroline's plan", "entity"),
        ("who runs the shop", "entity"),
        ("how to reach Noor Wrenhaven", "how-to"),
        ("how do I deploy it", "how-to"),
        ("Exporting events to SQLite", None),
        ("what happened in April", None),
        ("What Is", None),
    ],
)
def test_the_shape_of_a_question_is_detected(asked: str, shape: str | None) -> None:
    assert detect_intent(asked).shape == shape


@pytest.mark.parametrize(
    "asked",
    [
        "Was ist meine Lieblingsfarbe?",
        "Wie richte ich den Server ein, Frau Angela Merkel?",
        "¿Cuándo fue la boda de Ana María?",
        "Quelle est ma couleur favorite?",
        "Pourquoi le projet est en retard",
        "Wat is mijn favoriete kleur",
        "как меня зовут",
        "誰が川を作ったのか",
    ],
)
def test_other_languages_have_no_intent(asked: str) -> None:
    intent = detect_intent(asked)
    assert intent == Intent(english=False)
    assert lane_weights(intent, Settings(intent_weights=True)) == lane_weights(None, Settings())


@given(st.text())
def test_any_text_has_an_intent(text: str) -> None:
    assert detect_intent(text).kind in INTENT_PATTERNS


ALL_ON = {"graph_weight": 1.0, "associative_weight": 1.0}


@pytest.mark.parametrize(
    ("kind", "vector", "fts", "graph", "associative"),
    [
        ("why", 1.0, 0.8, 1.5, 0.6),
        ("when", 0.8, 1.2, 0.8, 0.6),
        ("who", 0.8, 0.8, 1.8, 0.6),
        ("how", 1.2, 1.0, 0.8, 0.6),
        ("what", 1.0, 1.0, 1.0, 0.6),
    ],
)
def test_the_kind_changes_lane_weights(
    kind: str, vector: float, fts: float, graph: float, associative: float
) -> None:
    intent = detect_intent(f"{kind} is it")
    assert lane_weights(intent, Settings(intent_weights=True, **ALL_ON)) == {
        "vector": vector,
        "fts": fts,
        "graph": graph,
        "associative": associative,
    }


def test_the_kind_multiplies_settings_and_keeps_lanes_off() -> None:
    settings = Settings(intent_weights=True, semantic_weight=0.5, keyword_weight=2.0)
    weights = lane_weights(detect_intent("why is it"), settings)
    assert weights == {"vector": 0.5, "fts": 1.6, "graph": 0.0, "associative": 0.0}


def test_without_intent_weights_the_settings_count() -> None:
    settings = Settings(keyword_weight=2.0, graph_weight=0.5)
    weights = lane_weights(detect_intent("who is it"), settings)
    assert weights == {"vector": 1.0, "fts": 2.0, "graph": 0.5, "associative": 0.0}
