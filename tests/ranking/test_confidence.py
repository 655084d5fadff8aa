"""How far a cross-encoder is believed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.ranking.confidence import probability, trust


def test_logits_become_softened_probabilities() -> None:
    assert probability(0) == 0.5
    assert probability(3 * math.log(3)) == pytest.approx(0.75)
    assert probability(1e6) == 1
    assert probability(-1e6) == 0


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_a_higher_logit_is_never_less_likely(one: float, other: float) -> None:
    assert (probability(one) - probability(other)) * (one - other) >= 0
    assert probability(one) + probability(-one) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When did Caroline paint a sunrise?", 1),
        ("who likes bread", 1),
        ("“Is it true”", 1),
        ("¿Dónde está la llave?", 1),
        ("鍵はどこですか？", 1),
        ("Sunlight makes vitamin D.", 0.5),
        ("backup restore", 0.5),
        ("how " + "very " * 27, 0.25),
        ("Draft a memo " + "on all of this " * 6 + "now", 0.125),
        ("", 0.5),
    ],
)
def test_short_questions_are_what_it_was_trained_on(text: str, expected: float) -> None:
    assert trust(text) == pytest.approx(expected)


@given(st.text())
def test_any_query_is_trusted_a_little(text: str) -> None:
    assert 0 < trust(text) <= 1
