"""A length of time is read with one meaning for each letter."""

from __future__ import annotations

import pytest

from gbrain.text.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), (" 8H ", 28_800), ("2 d", 172_800), ("2w", 1_209_600),
     ("1y", 31_536_000)],
)  # fmt: skip
def test_a_length_of_time_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "m", "15", "15 min", "1.5d", "-1d", "1d2h", "١٥m", "9999999d"]
)
def test_other_text_is_no_length_of_time(text: str) -> None:
    assert parse_duration(text) is None
