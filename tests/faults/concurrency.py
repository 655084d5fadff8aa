"""What all who use one brain at the same time have in common: their pages and their turns."""

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

Act = TypeVar("Act")

DAY = "2026-11-16"
LOG = "shared/log"
SHARED = ("shared/1", "shared/2")
GONE = tuple(f"gone/{number}" for number in range(6))
FILES = 5
LEAST_TURNS = 5
STAMP = re.compile(r"\bc\d+x\d+\b")
_STAMPS_ON_A_PAGE = 7


def token(slug: str) -> str:
    """A word that stands in every passage of a page and on no other page."""
    return "tok" + slug.replace("/", "").replace("-", "")


def counted(slug: str, stamp: str) -> str:
    """A page whose parts all carry the same stamp."""
    own = token(slug)
    return (
        f"---\ntitle: Page {own} {stamp}\ncounter: {stamp}\n---\n# Page {own} {stamp}\n\n"
        f"{own} stands at {stamp} in its truth.\n\n## First\n\n{own} first says {stamp}.\n\n"
        f"## Second\n\n{own} second says {stamp}.\n\n## Timeline\n\n- {DAY} — {own} was {stamp}\n"
    )


def stamp_of(text: str) -> str:
    """The one stamp of a whole page; half a page fails."""
    found = STAMP.findall(text)
    assert len(found) == _STAMPS_ON_A_PAGE, f"parts are missing: {text!r}"
    assert len(set(found)) == 1, f"parts of two versions: {text!r}"
    return found[0]


def is_counted(slug: str) -> bool:
    return slug not in (LOG, *SHARED) and not slug.startswith("watched/")


def write_files(root: Path, name: str, stamp: str) -> list[str]:
    slugs = [f"{name}/{number}" for number in range(FILES)]
    for slug in slugs:
        file = root / f"{slug}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(counted(slug, stamp))
    return slugs


class Crowd:
    """One of many at a brain: its chance, its end, and what it tells of itself."""

    def __init__(self, folder: Path, number: int, seed: int, seconds: float) -> None:
        self.folder, self.number = folder, number
        self.path = folder / "brain.db"
        self.chance = random.Random(f"{seed} {number}")
        self.until = monotonic() + seconds

    def tell(self, kind: str, began: float, **facts: object) -> None:
        took = (perf_counter() - began) * 1000
        print(json.dumps({"kind": kind, "ms": round(took, 2), **facts}), flush=True)

    def turns(self, longest_pause: float) -> Iterator[int]:
        """Numbers from 1 until the time is over; a few in any case, on the slowest machine."""
        for number in count(1):
            if number > LEAST_TURNS and monotonic() > self.until:
                return
            yield number
            sleep(self.chance.uniform(0, longest_pause))

    def dealt(self, acts: Sequence[Act]) -> Iterator[Act]:
        """The acts in ever new orders."""
        while True:
            yield from self.chance.sample(acts, len(acts))

    def command(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        """Exit code, output and errors of the program; what no user may see fails here."""
        done = subprocess.run(
            [sys.executable, "-m", "gbrain", *words],
            input=stdin.encode(), capture_output=True,
            env={**os.environ, "GBRAIN_DB": str(self.path)},
        )  # fmt: skip
        said, complained = done.stdout.decode(), done.stderr.decode()
        assert "locked" not in complained, complained
        assert "another program" not in complained, complained
        assert "Traceback" not in complained, complained
        assert done.returncode in (0, 1), complained
        return done.returncode, said, complained
