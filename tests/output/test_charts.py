"""Bars and lines of blocks: as long and as high as their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.output.charts import bar, sparkline


@pytest.mark.parametrize(
    ("value", "expected"),
    [(8, "████"), (4, "██"), (3, "█▌"), (1, "▌"), (0.001, "▏"), (0, ""), (16, "████")],
)
def test_a_bar_is_as_long_as_its_value(value: float, expected: str) -> None:
    assert bar(value, 8, 4) == expected


def test_a_bar_beside_nothing_is_empty() -> None:
    assert bar(0, 0, 10) == ""


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 80))
def test_a_bar_never_leaves_its_width(value: int, largest: int, width: int) -> None:
    drawn = bar(value, largest, width)
    assert len(drawn) <= width
    assert bool(drawn) == (value > 0)


def test_a_line_shows_its_numbers() -> None:
    assert sparkline([0, 1, 4, 8]) == " ▂▅█"
    assert sparkline([5, 5]) == "██"
    assert sparkline([0, 0]) == "  "
    assert sparkline([]) == ""


@given(st.lists(st.integers(0, 10**9)))
def test_a_line_has_a_character_a_number(values: list[int]) -> None:
    drawn = sparkline(values)
    assert len(drawn) == len(values)
    assert [character == " " for character in drawn] == [value == 0 for value in values]
