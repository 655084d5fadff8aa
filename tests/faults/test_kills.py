"""Fifty processes killed in the middle of what they do."""

from __future__ import annotations

from collections import Counter

import kills


def test_nothing_acknowledged_is_lost() -> None:
    killed = Counter(kills.rounds(50, seed=2026))
    assert killed.total() == 50
    assert set(killed) >= {"put", "import", "sync", "embed"}
