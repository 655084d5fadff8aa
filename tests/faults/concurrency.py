"""Pages and turns that all processes of the concurrency test share."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import TypeVar

Action = TypeVar("Act")

DAY = "2026-11-16"
LOG = "shared/log"
SHARED = ("shared/1", "shared/2")
GONE = tuple(f"gone/{number}" for number in range(6))
FILES = 5
MIN_TURNS = 5
STAMP = re.compile(r"\bc\d+x\d+\b")
_STAMPS_ON_A_PAGE = 7


def token(slug: str) -> str:
    """Return a word that is in every chunk of a page and on no other page."""
    return "tok" + slug.replace("/", "").replace("-", "")


def stamped_page(slug: str, stamp: str) -> str:
    """Return a page with the same stamp in each of its parts."""
    own = token(slug)
    return (
        f"---\ntitle: Page {own} {stamp}\ncounter: {stamp}\n---\n# Page {own} {stamp}\n\n"
        f"{own} stands at {stamp} in its truth.\n\n## First\n\n{own} first says {stamp}.\n\n"
        f"## Second\n\n{own} second says {stamp}.\n\n## Timeline\n\n- {DAY} — {own} was {stamp}\n"
    )


def stamp_of(text: str) -> str:
    """Return the stamp of a page; fails if parts are missing or of two versions."""
    found = STAMP.findall(text)
    assert len(found) == _STAMPS_ON_A_PAGE, f"parts are missing: {text!r}"
    assert len(set(found)) == 1, f"parts of two versions: {text!r}"
    return found[0]


def is_stamped(slug: str) -> bool:
    return slug not in (LOG, *SHARED) and not slug.startswith("watched/")


def write_files(root: Path, name: str, stamp: str) -> list[str]:
    slugs = [f"{name}/{number}" for number in range(FILES)]
    for slug in slugs:
        file = root / f"{slug}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(stamped_page(slug, stamp))
    return slugs


class Member:
    """One of the processes that use a brain: its random numbers, its end and its reports."""

    def __init__(self, folder: Path, number: int, seed: int, seconds: float) -> None:
        self.folder, self.number = folder, number
        self.path = folder / "brain.db"
        self.rng = random.Random(f"{seed} {number}")
        self.until = monotonic() + seconds

    def report(self, kind: str, began: float, **details: object) -> None:
        took = (perf_counter() - began) * 1000
        print(json.dumps({"kind": kind, "ms": round(took, 2), **details}), flush=True)

    def turns(self, longest_pause: float) -> Iterator[int]:
        """Yield numbers from 1 until the time is over, but at least MIN_TURNS."""
        for number in count(1):
            if number > MIN_TURNS and monotonic() > self.until:
                return
            yield number
            sleep(self.rng.uniform(0, longest_pause))

    def shuffled(self, actions: Sequence[Action]) -> Iterator[Action]:
        """Yield all actions again and again, each time in another order."""
        while True:
            yield from self.rng.sample(actions, len(actions))

    def command(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """Return exit code, output and errors; fails if the command met a lock."""
        process = subprocess.run(
            [sys.executable, "-m", "gbrain", *arguments],
            input=stdin.encode(), capture_output=True,
            env={**os.environ, "GBRAIN_DB": str(self.path)},
        )  # fmt: skip
        output, errors = process.stdout.decode(), process.stderr.decode()
        assert "locked" not in errors, errors
        assert "another program" not in errors, errors
        assert "Traceback" not in errors, errors
        assert process.returncode in (0, 1), errors
        return process.returncode, output, errors
