"""Golden outputs, an editor that changes text, and the program on a terminal."""

from __future__ import annotations

import io
import os
import re
import shlex
import sqlite3
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

from gbrain.__main__ import main
from gbrain.cli.app import COMMANDS
from gbrain.cli.main import EXIT_INTERNAL_ERROR

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


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`editor("text = text.upper()")` sets an editor that does this to the file."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def call(change: str) -> None:
        program = tmp_path / "editor.py"
        program.write_text(
            "import os, subprocess, sys\n"
            "file = sys.argv[-1]\n"
            "text = open(file, newline='').read()\n"
            f"{change}\n"
            "open(file, 'w', newline='').write(text)\n"
        )
        command = shlex.join([sys.executable, str(program)])
        monkeypatch.setenv("EDITOR", command)

    return call


@pytest.fixture
def run_sql() -> Callable[..., None]:
    """`run_sql(path, "DELETE FROM tags")` runs statements on a brain without gbrain."""

    def call(path: Path, *statements: str) -> None:
        with closing(sqlite3.connect(path)) as raw, raw:
            for statement in statements:
                raw.execute(statement)

    return call


AtTerminal = Callable[..., tuple[int, str]]


@pytest.fixture
def at_terminal() -> AtTerminal:
    """`at_terminal("search", "river", columns=60, keys="q")` runs the program on a terminal.

    Returns its exit code and all that the terminal was sent, escape sequences included. The
    program runs in a fork of this process, which saves importing its modules each time.
    """
    import fcntl
    import pty
    import struct
    import termios

    for name in {module for module, _ in COMMANDS.values()}:
        import_module(f"gbrain.cli.{name}")
    for name in ("markdown", "padding", "progress", "table", "tree"):
        import_module(f"rich.{name}")

    def call(
        *words: str, columns: int = 100, rows: int = 50, keys: str = "", **variables: str
    ) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in _SCREEN}
        about = {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])}
        child = os.fork()
        if child == 0:
            _run_program(words, theirs, {**kept, **about, **variables})
        os.close(theirs)
        with os.fdopen(ours, "r+b", buffering=0) as screen:
            screen.write(keys.encode())
            shown = b""
            while part := _read(screen):
                shown += part
            _, status = os.waitpid(child, 0)
            return os.waitstatus_to_exitcode(status), shown.decode().replace("\r\n", "\n")

    return call


def _run_program(words: tuple[str, ...], terminal: int, environment: dict[str, str]) -> NoReturn:
    """Run the program with the terminal as its input and output, and end this process."""
    code = EXIT_INTERNAL_ERROR
    try:
        for stream in range(3):
            os.dup2(terminal, stream)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        sys.stderr = os.fdopen(2, "w", buffering=1)
        sys.argv = ["gbrain", *words]
        os.environ.clear()
        os.environ.update(environment)
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else bool(ended.code)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


_SCREEN = ("COLUMNS", "LINES", "NO_COLOR", "PAGER", "GBRAIN_PAGER", "LESS", "EDITOR", "VISUAL")


def _read(screen: io.RawIOBase) -> bytes:
    try:
        return screen.read(65536) or b""
    except OSError:  # the program's end of the terminal is closed
        return b""
