"""No text keeps the program busy for longer than its length deserves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from long_inputs import NOON, PAGES, QUERIES

# Quadratic time would show: most of these took minutes, or all the memory, before they were mended.
LARGE, SMALL = 400_000, 60_000
WHOLE_WAY = [
    "backticks on a line",
    "blanks on lines",
    "no-break spaces on lines",
    "carriage returns",
    "one long name",
    "an alias",
    "directives",
    "query of one phrase",
    "query of marks on a letter",
    "query of brackets",
    "query of not",
    "query of compounds",
]


def in_time(program: str, seconds: float) -> None:
    """Runs a program of this folder's modules; too long is a failure, whatever the machine."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "GBRAIN_NOW": NOON},
        capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_page_is_parsed_in_time() -> None:
    in_time(
        "from long_inputs import PAGES\n"
        "from gbrain.errors import GbrainError\n"
        "from gbrain.text.page import parse_page\n"
        "for name, make in PAGES.items():\n"
        "    try: parse_page('a.md', make(50_000).encode())\n"
        "    except GbrainError: pass\n",
        200,
    )


@pytest.mark.parametrize("part", range(2))
def test_the_whole_way_of_a_page_and_a_query(part: int) -> None:
    names = WHOLE_WAY[part::2]
    in_time(
        "from long_inputs import PAGES, seconds\n"
        f"for name in {names!r}:\n"
        f"    seconds(name, {SMALL} if name in PAGES and 'long' not in name else {LARGE})\n",
        200,
    )


def test_the_texts_are_as_long_as_they_say() -> None:
    for name, make in {**PAGES, **QUERIES}.items():
        assert 20_000 < len(make(50_000).encode()) < 60_000, name
