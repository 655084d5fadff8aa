"""How far a cross-encoder is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.ranking.confidence import relevance, telling_titles, together, trust


def test_logits_become_numbers_from_0_to_1_in_proportion() -> None:
    assert [relevance(logit) for logit in (-1e6, -11.5, -1, 9.5, 1e6)] == [0, 0, 0.5, 1, 1]


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_a_higher_logit_is_never_less_relevant(one: float, other: float) -> None:
    assert (relevance(one) - relevance(other)) * (one - other) >= 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When did Caroline paint a sunrise?", 1),
        ("who likes bread", 1),
        ("“Is it true”", 1),
        ("¿Dónde está la llave?", 1),
        ("鍵はどこですか？", 1),
        ("Sunlight makes vitamin D.", 0.1),
        ("backup restore", 0.1),
        ("how " + "very " * 23, 0.25),
        ("Draft a memo " + "on all of this " * 5 + "now", 0.025),
        ("", 0.1),
    ],
)
def test_short_questions_are_what_it_was_trained_on(text: str, expected: float) -> None:
    assert trust(text) == pytest.approx(expected)


@given(st.text())
def test_any_query_is_trusted_a_little(text: str) -> None:
    assert 0 < trust(text) <= 1


def test_titles_of_a_series_tell_nothing() -> None:
    titles = {1: "Weekly call 11", 2: "Weekly Call 12", 3: "Sourdough", 4: "Bread"}
    assert telling_titles(titles) == {1: "", 2: "", 3: "Sourdough", 4: "Bread"}
    assert telling_titles({**titles, 5: "Rye"})[1] == "Weekly call 11"
    assert telling_titles({3: "Sourdough", 4: "Bread"}) == {3: "Sourdough", 4: "Bread"}
    assert telling_titles({}) == {}


def test_further_passages_add_a_little_to_the_best() -> None:
    assert together([3.0]) == 3.0
    assert together([3.0, 3.0]) == pytest.approx(3.0 + 0.693, abs=1e-3)
    assert together([3.0, -9.0]) == pytest.approx(3.0, abs=1e-3)
    assert together([1e9, -1e9]) == 1e9
