"""Another program in front: it has the terminal, and Ctrl-C is its own, until it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

_NOTHING_MORE: Mapping[str, str] = {}


def run_in_foreground(
    command: Sequence[str],
    *,
    data: bytes | None = None,
    defaults: Mapping[str, str] = _NOTHING_MORE,
) -> int:
    """The program's exit code; raises OSError when it cannot start.

    `data` goes to its standard input, which is else ours. `defaults` are variables of its
    environment, where the person has not set them.
    """
    # A handler, unlike SIG_IGN, does not reach the program: it hears Ctrl-C as it always does.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        running = subprocess.Popen(
            command,
            stdin=None if data is None else subprocess.PIPE,
            env={**defaults, **os.environ},
        )
        with suppress(BrokenPipeError):
            running.communicate(data)
        return running.wait()
    finally:
        signal.signal(signal.SIGINT, before)
