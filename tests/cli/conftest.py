"""Outputs that are compared with what was looked at once and found good."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent.parent / "fixtures" / "golden"
_TOOK = re.compile(r'("took_ms": )[\d.]+')

Golden = Callable[[str, str], None]


@pytest.fixture
def golden() -> Golden:
    """`golden("search.json", output)` compares with fixtures/golden, times aside."""

    def compare(name: str, output: str) -> None:
        kept = (GOLDEN / name).read_text("utf-8")
        assert _TOOK.sub(r"\g<1>0", output) == kept

    return compare
