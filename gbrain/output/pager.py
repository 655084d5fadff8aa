"""Show tall output in a pager, and run other programs (pager, editor) in the foreground."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Options for less: quit at once if the text fits (F), pass colours (R), and leave the text on the
# screen (X).
_LESS_OPTIONS = "FRX"
_HYPERLINK = re.compile(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")
_NO_VARIABLES: Mapping[str, str] = {}


@contextmanager
def open_pager(screen: Console, *, wanted: bool = True) -> Iterator[None]:
    """Print what the block prints, in a pager if `screen` is a terminal too small for it."""
    with screen.capture() as shown:
        yield
    text = shown.get()
    command = pager_command(os.environ) if wanted and _too_tall(screen, text) else []
    # A pager without hyperlink support would print their escape codes.
    if not command or not _page_text(command, _HYPERLINK.sub("", text)):
        sys.stdout.write(text)
        sys.stdout.flush()


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """Return the pager's command: $GBRAIN_PAGER, else $PAGER, else less; empty for no pager.

    An empty value or `cat` means no pager.
    """
    for name in ("GBRAIN_PAGER", "PAGER"):
        if name in environment:
            with suppress(ValueError):
                words = shlex.split(environment[name])
                return [] if words in ([], ["cat"]) else words
    return ["less"] if shutil.which("less") else []


def _too_tall(screen: Console, text: str) -> bool:
    # The shell prompt that follows takes a line too.
    return screen.is_terminal and sys.stdin.isatty() and text.count("\n") >= screen.height


def _page_text(command: Sequence[str], text: str) -> bool:
    """Show the text in the pager; return False if it cannot be started."""
    defaults = {"LESS": _LESS_OPTIONS, "LESSCHARSET": "utf-8"}
    try:
        run_in_foreground(command, data=text.encode(errors="replace"), defaults=defaults)
    except OSError:
        return False
    return True


def run_in_foreground(
    command: Sequence[str],
    *,
    data: bytes | None = None,
    defaults: Mapping[str, str] = _NO_VARIABLES,
) -> int:
    """Run a program until it ends and return its exit code; raise OSError if it cannot start.

    `data` goes to its standard input, which is inherited without it. `defaults` are environment
    variables that apply where the user has not set them.
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
