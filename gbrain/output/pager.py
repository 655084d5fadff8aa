"""Send output that is taller than the screen through a pager."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gbrain.output.foreground import run_in_foreground

if TYPE_CHECKING:
    from rich.console import Console

# Pass colours, leave the text on the screen, quit at once if it fits.
_LESS = "FRX"
_HYPERLINK = re.compile(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")


@contextmanager
def open_pager(screen: Console, *, wanted: bool = True) -> Iterator[None]:
    """Print what the block prints, in a pager if `screen` is a terminal too small for it."""
    with screen.capture() as shown:
        yield
    text = shown.get()
    command = pager_command(os.environ) if wanted and _too_tall(screen, text) else []
    # A pager without hyperlink support would print their escape codes.
    if not command or not _through(command, _HYPERLINK.sub("", text)):
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


def _through(command: Sequence[str], text: str) -> bool:
    """Show the text in the pager; return False if it cannot be started."""
    about = {"LESS": _LESS, "LESSCHARSET": "utf-8"}
    try:
        run_in_foreground(command, data=text.encode(errors="replace"), defaults=about)
    except OSError:
        return False
    return True
