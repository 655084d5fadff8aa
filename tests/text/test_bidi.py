"""Right-to-left text is isolated on a terminal, and nothing else is."""

from __future__ import annotations

import pytest

from gbrain.text.bidi import has_rtl, isolate


@pytest.mark.parametrize("text", ["عقد الإيجار", "note: שכר דירה 2026", "تیتر"])
def test_right_to_left_text_is_isolated(text: str) -> None:
    assert has_rtl(text)
    assert isolate(text) == f"\u2068{text}\u2069"


@pytest.mark.parametrize("text", ["", "rent", "Mietverträge", "家賃", "ค่าเช่า"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert isolate(text) == text
