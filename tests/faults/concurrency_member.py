"""Runs one of the processes that use a brain at the same time.

    python tests/faults/concurrency_member.py ROLE FOLDER NUMBER SEED SECONDS

It prints a line of JSON for each action with its milliseconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from concurrency import Member
from concurrency_readers import agent, commands, reader
from concurrency_writers import embedder, writer

ROLES: dict[str, Callable[[Member], None]] = {
    "writer": writer, "embedder": embedder, "reader": reader, "commands": commands, "agent": agent,
}  # fmt: skip

if __name__ == "__main__":
    role, folder, number, seed, seconds = sys.argv[1:]
    ROLES[role](Member(Path(folder), int(number), int(seed), float(seconds)))
