"""The picture of a first session in README is what the program does.

`python tests/test_first_session.py` runs the commands below on a terminal and writes what they
printed to fixtures/first-session.svg with Rich's own export.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "fixtures" / "first-session.svg"
COLUMNS, ROWS = 96, 60

SESSION = (
    "gbrain import notes",
    'gbrain query "who is lukewarm on cloud RAG?" -n 2',
    'gbrain capture "Ask about the audit log" --to people/noor-haddad',
    "gbrain timeline people/noor-haddad",
    "gbrain graph people/noor-haddad",
    'gbrain query "why did we decide against Lanternworks?" --depth auto --budget 90',
    "gbrain",
)

_MOVES = re.compile(r"(\r|\n|\x1b\[2K|\x1b\[\d*A|\x1b\[\?25[hl])")


def record(session: tuple[str, ...] = SESSION) -> str:
    """The session as SVG: each command after a prompt, and what it left on the screen."""
    with TemporaryDirectory() as home, open(os.devnull, "w", encoding="utf-8") as nowhere:
        shutil.copytree(ROOT / "gbrain" / "sample", Path(home, "notes"))
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        for number, command in enumerate(session):
            prompt = Text.assemble("\n" if number else "", ("$ ", "green"), (command, "bold"))
            console.print(prompt)
            for line in settled(run(shlex.split(command)[1:], home, minute=number)):
                console.print(Text.from_ansi(line), no_wrap=True, crop=False)
    return console.export_svg(
        title="gbrain", code_format=own_fonts(CONSOLE_SVG_FORMAT), unique_id="first-session"
    )


def run(words: list[str], home: str, minute: int) -> str:
    """All that a command sends to a terminal, past noon of a day soon after the sample's last."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    about = {
        **kept, "HOME": home, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "TZ": "UTC",
        "GBRAIN_PAGER": "", "GBRAIN_NOW": f"2026-11-16T12:{minute:02}:00Z",
    }  # fmt: skip
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    running = subprocess.Popen(
        [sys.executable, "-m", "gbrain", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, env=about, cwd=home,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with os.fdopen(ours, "rb", buffering=0) as screen:
        while part := _read(screen.fileno()):
            shown += part
    if running.wait():
        raise SystemExit(f"gbrain {shlex.join(words)} failed:\n{shown.decode()}")
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the program's end of the terminal is closed
        return b""


def settled(shown: str) -> list[str]:
    """The lines that are left when bars of progress have come and gone, with their colours."""
    lines, row, begun = [""], 0, False
    for part in _MOVES.split(shown):
        if part == "\n":
            row, begun = row + 1, False
            lines += [""] * (row == len(lines))
        elif part == "\r":
            begun = True
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part.endswith("A") and _MOVES.fullmatch(part):
            row = max(row - int(part[2:-1] or 1), 0)
        elif part and not _MOVES.fullmatch(part):
            lines[row] = part if begun else lines[row] + part
            begun = False
    return lines if lines[-1] else lines[:-1]


def own_fonts(template: str) -> str:
    """Rich's picture without fonts from the network: whoever looks at it asks nobody."""
    without = re.sub(r"@font-face \{\{.*?\}\}", "", template, flags=re.S)
    return without.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


def words(picture: str) -> str:
    """What stands in a picture, line by line, figures of time aside."""
    lines: dict[float, str] = {}
    for y, text in re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        lines[float(y)] = lines.get(float(y), "") + unescape(text).replace("\xa0", " ")
    return re.sub(r"\d+ ms", "ms", "\n".join(line.rstrip() for line in lines.values()))


def test_the_recorded_session_is_up_to_date() -> None:
    assert words(record()) == words(PICTURE.read_text()), "run: python tests/test_first_session.py"


def test_readme_shows_the_session_without_network_access() -> None:
    picture = PICTURE.read_text()
    assert "](fixtures/first-session.svg)" in (ROOT / "README.md").read_text()
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", picture)
    for command in SESSION:
        assert f"$ {command}" in words(picture)


def test_remote_fonts_are_removed() -> None:
    assert "://" in CONSOLE_SVG_FORMAT.partition("<defs>")[0].partition("@font-face")[2]
    assert "font-face" not in own_fonts(CONSOLE_SVG_FORMAT)


@pytest.mark.parametrize(
    ("shown", "left"),
    [
        ("a\r\nb\r\n", ["a", "b"]),
        ("\x1b[?25lbar 1\r\x1b[2Kbar 2\r\x1b[2K\x1b[?25hdone\r\n", ["done"]),
        ("a\r\nbar\r\n\r\x1b[1A\x1b[2Kend\r\n", ["a", "end"]),
    ],
)
def test_progress_bars_disappear(shown: str, left: list[str]) -> None:
    assert settled(shown) == left


if __name__ == "__main__":
    PICTURE.write_text(record(), "utf-8")
