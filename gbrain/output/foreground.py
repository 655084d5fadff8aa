"""Run another program in the foreground, such as a pager or an editor."""

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
    """Run the program until it ends and return its exit code; raises OSError if it cannot start.

    `data` goes to its standard input, which is inherited otherwise. `defaults` are environment
    variables for it, used where the user has not set them.
    """
    # A handler, unlike SIG_IGN, is not inherited: the program still receives Ctrl-C.
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
