"""Text of pages, file names and crafted brains never controls a terminal or a browser."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from malicious_brain import (
    ESCAPES,
    MARKUP,
    commands,
    craft_rows,
    make_brain,
    page_of,
    write_files_beside,
)

import gbrain
from tests.conftest import Run

# These print the bytes of pages unchanged into a pipe, for other programs.
_AS_WRITTEN = (["get"], ["export", "-"])
# Options that print the same in another form.
_FORMS = frozenset(("--tsv", "--raw", "--verbose", "--dot", "--debug"))
# A server, and what changes the brain beyond use for what follows.
_NOT_RUN = frozenset(("demo", "down", "serve", "ui", "up"))
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Colours, links to files and to what a Markdown link names, and what redraws a line of progress.
_PROTOCOLS = ("mcp/server.py", "mcp/error_stream.py")
_OWN_CONTROLS = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\]8;(?:id=[\d.-]+;(?:file|http)[!-~]*|;)\x1b\\|\x1b\[\?25[lh]|\r?\x1b\[2K"
    r"|\x1b\[1A|\r(?![\ufffd\x9b])"
)
# Runs all commands in one process, which is much faster.
_RUN_ALL = """
import json, sys
from gbrain.cli.app import app
for words in json.load(open(sys.argv[1])):
    print("\\n@@", json.dumps(words), flush=True)
    try:
        app(words)
    except SystemExit:
        pass
"""


@pytest.fixture(scope="module")
def malicious_brain_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "brain.db"
    make_brain(path, ESCAPES + MARKUP)
    return path


@pytest.fixture
def malicious_folder(
    malicious_brain_file: Path, brain_path: Path, tmp_path: Path, monkeypatch
) -> Path:
    """A folder with a malicious brain and malicious notes."""
    shutil.copy(malicious_brain_file, brain_path)
    write_files_beside(tmp_path, ESCAPES + MARKUP)
    monkeypatch.setenv("EDITOR", "true")
    return tmp_path


def leaves() -> dict[tuple[str, ...], Any]:
    """Return every command that can be run, those of groups by both words."""
    from gbrain.cli.app import COMMANDS, program

    context = program().make_context("gbrain", ["list"], resilient_parsing=True)
    found: dict[tuple[str, ...], Any] = {}
    for name in COMMANDS:
        command = program().get_command(context, name)
        members = getattr(command, "commands", {})
        for member in members.values():
            found[name, member.name] = member
        if not members or command.invoke_without_command:
            found[(name,)] = command
    return found


def leaf_of(words: list[str]) -> tuple[str, ...]:
    return tuple(words[:2]) if tuple(words[:2]) in leaves() else tuple(words[:1])


def other_forms(calls: list[list[str]]) -> Iterator[list[str]]:
    """Yield each call again with each option that prints the same in another form."""
    known = leaves()
    for words in calls:
        leaf = known.get(leaf_of(words))
        names = {name for option in leaf.params for name in option.opts} if leaf else set()
        for form in sorted(_FORMS & names - set(words)):
            yield [*words, form]


def test_every_command_is_covered() -> None:
    covered = {leaf_of(words) for words in commands(Path(), "")}
    missing = {leaf for leaf in leaves() if leaf not in covered and leaf[0] not in _NOT_RUN}
    assert not missing
    assert len(leaves()) > 70


def test_only_one_module_writes_to_standard_output() -> None:
    """`write_exact` is for what `get` and `export` print in a pipe; all else is made printable."""
    writers, exact = set(), set()
    for file in sorted(Path(gbrain.__file__).parent.rglob("*.py")):
        name = file.relative_to(Path(gbrain.__file__).parent).as_posix()
        source = file.read_text("utf-8")
        if re.search(r"sys\.(?:__)?stdout(?:__)?\.(?:buffer|write)|\bos\.write\(1\b", source):
            writers.add(name)
        exact |= {name} if "screen.write_exact(" in source else set()
    # The words of a shell, pages between two processes of gbrain, and messages of MCP.
    assert writers <= {
        "output/screen.py", "cli/completer.py", "importing/parse_worker.py", *_PROTOCOLS,
    }  # fmt: skip
    assert exact == {"cli/pages.py", "cli/import_export.py"}


def test_no_control_characters_in_a_pipe(run: Run, malicious_folder: Path) -> None:
    documents = [["list", "--json"], ["get", "people/first", "--json"], ["get", ESCAPES, "--json"]]
    calls = commands(malicious_folder, ESCAPES + MARKUP)
    # First what only reads, in all forms.
    for words in [*documents, *other_forms(calls), *calls]:
        ran = run(*words, stdin=b"")
        is_data = any(words[: len(sign)] == sign for sign in _AS_WRITTEN) and "--json" not in words
        shown = ran.stderr if is_data else ran.stdout + ran.stderr
        found = _CONTROL.search(shown)
        assert not found, (words, shown[max(0, found.start() - 80) : found.end() + 20])


FORGED = "\nHint: run evil.sh"


@pytest.fixture
def forged(brain_path: Path, tmp_path: Path) -> Path:
    """A folder with a brain and notes whose names all contain a line break."""
    make_brain(brain_path, " of mine")
    craft_rows(brain_path, FORGED)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / f"bad{FORGED}.md").write_bytes(b"\xff")
    (tmp_path / "vault" / f"good{FORGED}.md").write_text("# Good\n")
    (tmp_path / "page.md").write_text(page_of(""))
    (tmp_path / "cited.txt").write_text("As in [people/first#L1-2:0123456789ab]\n")
    return tmp_path


def test_no_name_starts_a_new_line(run: Run, forged: Path, monkeypatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    wrong = []
    for words in commands(forged, FORGED):
        ran = run(*words, stdin=b"")
        # A setting is printed unchanged, and SQL has the name of a role between quotation marks.
        as_it_is = words[:2] in (["config", "get"], ["remote", "roles"])
        shown = ran.stderr if as_it_is else ran.stdout + ran.stderr
        if "\nHint: run evil" in shown:
            wrong.append(words)
    assert not wrong


def test_no_object_of_a_crafted_brain_starts_a_new_line(run: Run, sample: Path) -> None:
    with closing(sqlite3.connect(sample)) as raw:
        raw.execute(f'CREATE TRIGGER "t{FORGED}" AFTER UPDATE ON pages BEGIN SELECT 1; END')
    for words in (["list"], ["doctor"], ["doctor", "-v"]):
        ran = run(*words)
        assert "Hint: run evil" in ran.stdout + ran.stderr
        assert "\nHint: run evil" not in ran.stdout + ran.stderr


def at_terminal(words: list[list[str]], folder: Path) -> list[str]:
    """What the terminal is sent by each command."""
    (folder / "words.json").write_text(json.dumps(words))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    about = {"TERM": "xterm-256color", "PAGER": "cat", "PYTHONPATH": str(Path(__file__).parents[2])}
    environment = {name: os.environ[name] for name in os.environ if name != "NO_COLOR"}
    with os.fdopen(ours, "r+b", buffering=0) as screen:
        running = subprocess.Popen(
            [sys.executable, "-c", _RUN_ALL, str(folder / "words.json")],
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env={**environment, **about},
        )  # fmt: skip
        os.close(theirs)
        sent = b""
        try:
            while part := screen.read(65536):
                sent += part
        except OSError:
            pass
        assert running.wait() == 0, sent.decode(errors="replace")[-2000:]
    return sent.decode().split("\n@@ ")[1:]


def test_no_foreign_control_characters_on_a_terminal(malicious_folder: Path) -> None:
    calls = [
        words
        for words in commands(malicious_folder, ESCAPES + MARKUP)
        if words[:2] != ["export", "-"]
    ]
    calls = [*other_forms(calls), *calls]
    shown = at_terminal(calls, malicious_folder)
    assert len(shown) == len(calls)
    coloured = 0
    for text in shown:
        left = _OWN_CONTROLS.sub("", text)
        found = _CONTROL.search(left)
        assert not found, (text[:60], left[max(0, found.start() - 80) : found.end() + 20])
        for sign in ("\x1b[6;31;47m", "\x1b[1;31mB", "evil.example\x1b"):
            assert sign not in text, "neither escapes nor markup of a page are followed"
        coloured += "\x1b[" in text
    assert coloured > 30, "the terminal is one"


# --- pages for a browser ---------------------------------------------------------------------

SCRIPT = "\"'><script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>"


class Elements(HTMLParser):
    """The elements of an HTML page, and attributes that could run or load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.acting: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found[tag] += 1
        for name, value in attrs:
            leads = name in ("href", "src") and ":" in (value or "")
            if name.startswith("on") or name == "srcdoc" or leads:
                self.acting.append((name, value))


def test_html_contains_no_active_elements_of_pages(
    run: Run, brain_path: Path, tmp_path: Path
) -> None:
    make_brain(brain_path, SCRIPT)
    ran = run("export", tmp_path / "site", "--format", "html")
    assert ran.exit_code == 0, ran.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) == 5
    for page in pages:
        elements = Elements(page.read_text())
        assert not elements.acting
        assert elements.found.keys().isdisjoint(("img", "iframe", "form", "object"))
        is_index = page == tmp_path / "site" / "index.html"
        assert elements.found["script"] == (2 if is_index else 0), "its data and its search"
    for words in ([], ["people/first"]):
        drawn = Elements(run("graph", *words, "--html", "-").stdout)
        assert not drawn.acting
        assert (drawn.found["script"], drawn.found["img"]) == (2, 0), "the data and the program"
