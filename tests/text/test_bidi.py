"""Text with letters that are written from right to left is recognised."""

from __future__ import annotations

import pytest

from gbrain.text.bidi import has_rtl


@pytest.mark.parametrize("text", ["שלום", "مرحبا", "Trip: ירושלים", "سلام ۱۲"])
def test_right_to_left_letters_are_found(text: str) -> None:
    assert has_rtl(text)


@pytest.mark.parametrize("text", ["", "plain", "naïve café", "日本語", "Ελλάδα"])
def test_other_text_has_none(text: str) -> None:
    assert not has_rtl(text)
