"""A brain with vectors, and outputs compared with what was looked at once and found good."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
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


AtTerminal = Callable[..., tuple[int, str]]


@pytest.fixture
def at_terminal() -> AtTerminal:
    """`at_terminal("search", "river", columns=60, keys="q")` runs the program on a terminal.

    Gives its exit code and all that the terminal was sent, escape sequences included.
    """
    import fcntl
    import pty
    import struct
    import termios

    def call(
        *words: str, columns: int = 100, rows: int = 50, keys: str = "", **variables: str
    ) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in _SCREEN}
        about = {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])}
        with os.fdopen(ours, "r+b", buffering=0) as screen:
            running = subprocess.Popen(
                [sys.executable, "-m", "gbrain", *words],
                stdin=theirs, stdout=theirs, stderr=theirs, env={**kept, **about, **variables},
            )  # fmt: skip
            os.close(theirs)
            screen.write(keys.encode())
            shown = b""
            while part := _read(screen):
                shown += part
            return running.wait(), shown.decode().replace("\r\n", "\n")

    return call


_SCREEN = ("COLUMNS", "LINES", "NO_COLOR", "PAGER", "GBRAIN_PAGER", "LESS", "EDITOR", "VISUAL")


def _read(screen: io.RawIOBase) -> bytes:
    try:
        return screen.read(65536) or b""
    except OSError:  # the program's end of the terminal is closed
        return b""
