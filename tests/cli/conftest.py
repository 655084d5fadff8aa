"""A brain with vectors, and outputs compared with what was looked at once and found good."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent.parent / "fixtures" / "golden"
_TOOK = re.compile(r'("took_ms": )[\d.]+')

Golden = Callable[[str, str], None]


@pytest.fixture
def golden() -> Golden:
    """`golden("search.json", output)` compares with fixtures/golden, times aside.

    With WRITE_GOLDEN=1 in the environment the files are written instead, to be looked at.
    """

    def compare(name: str, output: str) -> None:
        output = _TOOK.sub(r"\g<1>0", output)
        if os.environ.get("WRITE_GOLDEN"):
            (GOLDEN / name).write_bytes(output.encode())
        assert output == (GOLDEN / name).read_bytes().decode()

    return compare


@pytest.fixture
def embedded(embedded_sample: Path, brain_path: Path) -> Path:
    """The brain of this test: the sample pages with vectors."""
    shutil.copy(embedded_sample, brain_path)
    return brain_path
