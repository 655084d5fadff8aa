"""One of many at a brain, as a process of its own.

    python tests/faults/concurrency_member.py ROLE FOLDER NUMBER SEED SECONDS

It prints a line of JSON for each thing it did and how many milliseconds that took.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from concurrency import Crowd
from concurrency_readers import agent, commands, reader
from concurrency_writers import embedder, writer

ROLES: dict[str, Callable[[Crowd], None]] = {
    "writer": writer, "embedder": embedder, "reader": reader, "commands": commands, "agent": agent,
}  # fmt: skip

if __name__ == "__main__":
    role, place, given, seed, seconds = sys.argv[1:]
    ROLES[role](Crowd(Path(place), int(given), int(seed), float(seconds)))
