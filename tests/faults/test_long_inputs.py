"""No text takes longer than linear time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from long_inputs import NOON, PAGES, QUERIES

# Quadratic time would exceed the timeout: most of these once took minutes or all memory.
LARGE, SMALL = 400_000, 60_000
ALL_STEPS = [
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


def run_in_time(program: str, seconds: float) -> None:
    """Run a Python program that imports modules of this folder; fail after `seconds`."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "GBRAIN_NOW": NOON},
        capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_page_is_parsed_in_time() -> None:
    run_in_time(
        "from long_inputs import PAGES\n"
        "from gbrain.errors import GbrainError\n"
        "from gbrain.text.page import parse_page\n"
        "for name, make in PAGES.items():\n"
        "    try: parse_page('a.md', make(50_000).encode())\n"
        "    except GbrainError: pass\n",
        200,
    )


@pytest.mark.parametrize("part", range(2))
def test_all_steps_of_a_page_and_a_query_end_in_time(part: int) -> None:
    names = ALL_STEPS[part::2]
    run_in_time(
        "from long_inputs import PAGES, measure_steps\n"
        f"for name in {names!r}:\n"
        f"    measure_steps(name, {SMALL} if name in PAGES and 'long' not in name else {LARGE})\n",
        200,
    )


def test_texts_have_the_requested_length() -> None:
    for name, make in {**PAGES, **QUERIES}.items():
        assert 20_000 < len(make(50_000).encode()) < 60_000, name
