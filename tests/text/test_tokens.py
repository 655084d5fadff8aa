"""The estimate of a text's length in tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), (" \n\t", 0), ("river", 1), ("the river, wide", 4), ("2026-04-03", 6), ("知识", 2)],
)
def test_words_digits_and_signs_are_counted(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_text_apart_is_counted_apart(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n{other}") == estimate_tokens(one) + estimate_tokens(other)


@given(st.text())
def test_never_more_tokens_than_characters(text: str) -> None:
    assert estimate_tokens(text) <= len(text)
