"""No error tells what a page says: whatever is broken, standard error holds no word of it.

    python tests/faults/test_secrets.py SECONDS [SEED]

breaks random cells of a brain and runs random commands on it, for as long as that.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from time import monotonic

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from malicious_brain import commands, make, page_of
from mcp.types import CallToolRequestParams, CallToolResult

from gbrain.brain import Brain
from gbrain.cli.app import INTERNAL, ended
from gbrain.errors import BadPage
from gbrain.mcp.server import ToolService
from gbrain.mcp.session import Session
from gbrain.text.page import parse_page
from tests.conftest import Run
from tests.mcp.test_read_only import ARGUMENTS

SECRET = "Xyzzy7plugh"
# Errors may name pages, files, models and settings.
NAMES = ("slug", "path", "root", "name", "target", "key", "word")

_ASKED = (["links"], ["failed_jobs"])

# What a cell may hold that the program never writes there.
BROKEN = (
    SECRET,
    SECRET.encode(),
    f'{{"{SECRET}": ',
    f'["{SECRET}"]',
    f'{{"{SECRET}": "{SECRET}"}}',
    f"2026-13-{SECRET}",
    SECRET.encode() + b"\xff",
    None,
    -1,
    1e300,
)
ACTS = (
    ["list"], ["search", "notes"], ["query", "what are notes?"], ["query", "notes", "--depth",
    "auto"], ["explain", "notes"], ["get", "people/first"], ["get", "people/first", "--json"],
    ["history", "people/first"], ["diff", "people/first"], ["tags"], ["links", "people/first"],
    ["graph", "--dot"], ["why", "people/first"], ["timeline"], ["gaps"], ["dedupe", "--dry-run"],
    ["stats"], ["doctor"], ["doctor", "--full"], ["doctor", "--repair"], ["config", "list"],
    ["alias", "list"],
    ["jobs", "list"], ["model", "list"], ["embed"], ["selftest", "--questions", "2"], ["compact"],
    ["supersede", "--list"], ["timeline-add", "people/first", "entry"], ["rename", "people/first",
    "people/other"], ["export", "-", "--format", "json"], ["delete", "people/second"],
)  # fmt: skip


@pytest.fixture(scope="module")
def secretive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secretive") / "brain.db"
    make(path, SECRET, names=False)
    return path


def test_no_command_says_more_than_it_was_asked(
    run: Run, secretive: Path, brain_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(secretive, brain_path)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "good.md").write_text(page_of(SECRET))
    (tmp_path / "vault" / "bad.md").write_text(f"---\na: [{SECRET}\nb: }}\n---\n{SECRET}")
    (tmp_path / "vault" / "not-utf-8.md").write_bytes(SECRET.encode() + b"\xff")
    (tmp_path / "vault" / "people").mkdir()
    (tmp_path / "vault" / "people" / "second.md").write_text(f"# {SECRET}\n")
    (tmp_path / "page.md").write_text(page_of(SECRET))
    (tmp_path / "cited.txt").write_text(f"{SECRET} [people/first#L1-2 0123456789ab] {SECRET}\n")
    monkeypatch.setenv("EDITOR", "false")
    failed = 0
    for words in commands(tmp_path, ""):
        ran = run(*words)
        assert SECRET not in ran.stderr, words
        failed += ran.exit_code != 0
    assert failed > 20


# --- pages that cannot be read ---------------------------------------------------------------

_PIECES = st.sampled_from(
    [SECRET, "\n", ": ", "- ", "[", "]", "{", "}", "'", '"', "&", "*", "!", "|", ">", "%", "@",
     "\t", "  ", "#", "---\n", "a", ",", "!!int ", "&a ", "*a", "? ", "<<: ", "\\x", "\ufeff",
     "\x85", "\u2028", "0x1F", "~", "2026-04-03", "\\uD800", "!<tag:" + SECRET + "> "]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=12), st.booleans())
def test_a_page_that_cannot_be_read_is_not_quoted(pieces: list[str], known: bool) -> None:
    front = f"a: {SECRET}\n" if known else ""
    source = f"---\n{front}{''.join(pieces)}\n---\n# {SECRET}\n"
    assert SECRET not in complaint_about(source)


def complaint_about(source: str) -> str:
    """What is wrong with a page; nothing if it is none."""
    try:
        parse_page("people/x.md", source.encode())
    except BadPage as error:
        return error.full_message
    return ""


@pytest.mark.parametrize(
    "line",
    [
        f'{{"slug": "a", "text": "{SECRET}"',
        f'{{"slug": 7, "text": "{SECRET}"}}',
        f'{{"slug": "a", "text": ["{SECRET}"]}}',
        f'{{"slug": "a", "title": {{"{SECRET}": 1}}, "body": "{SECRET}"}}',
        f'{{"slug": "a", "tags": "{SECRET}", "body": 1}}',
        f'{{"{SECRET}": 1}}',
        f'["{SECRET}"]',
        f'"{SECRET}"',
        SECRET,
        f'{{"slug": "a", "text": "---\\n{SECRET}: 1\\n{SECRET}: 2\\n---\\n"}}',
        f'{{"slug": "a", "text": "---\\na: *{SECRET}\\n---\\n"}}',
    ],
)
def test_a_line_that_is_no_page_is_not_quoted(run: Run, brain_path: Path, line: str) -> None:
    for more in ([], ["--json"], ["--dry-run"]):
        ran = run("import", "--stdin", "--no-embed", *more, stdin=line.encode() + b"\n")
        assert SECRET not in ran.stdout + ran.stderr


# --- brains that cannot be read --------------------------------------------------------------


def columns_of(brain: Path) -> list[tuple[str, str]]:
    """Every column of every table that is not SQLite's own, but for names of things."""
    with closing(sqlite3.connect(brain)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' "
            "AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        return [
            (table, row[1])
            for (table,) in tables
            for row in connection.execute(f"PRAGMA table_info({table})")
            if row[1] not in NAMES
        ]


def broken(brain: Path, chance: random.Random, columns: list[tuple[str, str]]) -> str:
    """Breaks one column of one or all rows; says which, and how."""
    while True:
        table, column = chance.choice(columns)
        value = chance.choice(BROKEN)
        rows = chance.choice(("", " LIMIT 1"))
        with closing(sqlite3.connect(brain, isolation_level=None)) as connection:
            key = "rowid" if _has_rowid(connection, table) else column
            try:
                connection.execute(
                    f"UPDATE OR IGNORE {table} SET {column} = ? "
                    f"WHERE {key} IN (SELECT {key} FROM {table}{rows})",
                    (value,),
                )
            except sqlite3.Error:
                continue
        return f"{table}.{column} = {value!r}{rows}"


def _has_rowid(connection: sqlite3.Connection, table: str) -> bool:
    try:
        connection.execute(f"SELECT rowid FROM {table} LIMIT 1")
    except sqlite3.Error:
        return False
    return True


def complaint(words: list[str]) -> tuple[int, str]:
    """How a command ends, and what it says of that: on standard error, or as the doctor."""
    said, answered = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(answered):
        sys.stdout.buffer = io.BytesIO()  # type: ignore[misc, attr-defined]
        code = ended(words)
    return code, said.getvalue() + (_findings(answered.getvalue()) if words[0] == "doctor" else "")


def _findings(answered: str) -> str:
    """What the doctor found, but for links that lead nowhere and jobs that failed: he was asked."""
    lines = [line for line in answered.splitlines() if line.split("\t")[1:2] not in _ASKED]
    return "\n".join(lines)


def attempt(
    source: Path, place: Path, chance: random.Random, acts: int, tables: tuple[str, ...] = ()
) -> Counter[int]:
    """Breaks a copy of the brain, in one of the `tables` if any are named, and runs commands on it.

    Counts their exit codes.
    """
    shutil.copy(source, place)
    columns = [column for column in columns_of(place) if not tables or column[0] in tables]
    how = broken(place, chance, columns)
    codes: Counter[int] = Counter()
    for words in chance.sample(ACTS, acts):
        code, said = complaint(words)
        assert SECRET not in said, (how, words, said)
        assert "Traceback" not in said, (how, words)
        if code == INTERNAL and os.environ.get("SHOW_BUGS"):
            print(how, words, said)
        codes[code] += 1
    return codes


def test_a_brain_with_a_broken_cell_is_not_quoted(secretive: Path, brain_path: Path) -> None:
    codes: Counter[int] = Counter()
    for seed in range(10):
        codes += attempt(secretive, brain_path, random.Random(seed), 4, ("pages", "chunks"))
    assert codes[0] > 10, "a broken cell is no reason to refuse all work"
    assert codes.total() > codes[0], "some of it cannot be done"


def test_the_doctor_names_a_fault_and_does_not_quote_it(secretive: Path, brain_path: Path) -> None:
    found = 0
    for seed in range(12):
        shutil.copy(secretive, brain_path)
        how = broken(brain_path, random.Random(seed), columns_of(brain_path))
        for words in (["doctor"], ["doctor", "--full"], ["doctor", "--repair"]):
            code, said = complaint(words)
            assert SECRET not in said, (how, words, said)
            found += code
    assert found


def replies(brain: Path) -> list[CallToolResult]:
    """What every tool of the server says of a brain."""
    told: list[CallToolResult] = []

    async def call() -> None:
        session = Session(partial(Brain.open, brain))
        async with anyio.create_task_group() as background:
            service = ToolService(session, background, read_only=False)
            for name, given in ARGUMENTS.items():
                about = {"slug": "people/first", "why_not": "people/first"}
                arguments = {**given, **{key: about[key] for key in given if key in about}}
                call = CallToolRequestParams(name=name, arguments=arguments)
                told.append(await service.call_tool(None, call))
        session.close()

    anyio.run(call)
    return told


def test_no_tool_quotes_a_broken_cell(
    secretive: Path, brain_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failed = 0
    for seed in range(6):
        shutil.copy(secretive, brain_path)
        columns = [column for column in columns_of(brain_path) if column[0] in ("pages", "chunks")]
        how = broken(brain_path, random.Random(seed), columns)
        for told in replies(brain_path):
            if told.is_error:
                failed += 1
                assert SECRET not in told.model_dump_json(), how
    assert failed
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE embedding_jobs SET due_at = 1e300", ["jobs", "list"]),
        ("UPDATE query_aliases SET expansion = x'ff'", ["alias", "list"]),
        ("UPDATE query_aliases SET expansion = x'ff'", ["search", "word"]),
    ],
)
def test_a_broken_cell_is_passed_over(
    secretive: Path, brain_path: Path, run: Run, change: str, words: list[str]
) -> None:
    shutil.copy(secretive, brain_path)
    with closing(sqlite3.connect(brain_path)) as connection, connection:
        assert connection.execute(change).rowcount
    assert run(*words).exit_code == 0


def test_a_bug_is_told_without_its_words(
    sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("gbrain.store.pages.require_page", fail)
    assert ended(["get", "x"]) == INTERNAL
    said = capsys.readouterr().err
    assert (
        said.startswith("Error: gbrain failed: KeyError at tests.faults") or "KeyError at" in said
    )
    assert SECRET not in said
    assert ended(["get", "x", "--json"]) == INTERNAL
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "internal"
    monkeypatch.setenv("GBRAIN_DEBUG", "1")
    with pytest.raises(KeyError, match=SECRET):
        ended(["get", "x"])


def main(seconds: float, seed: int) -> None:
    chance, codes, brains = random.Random(seed), Counter[int](), 0
    with tempfile.TemporaryDirectory() as folder:
        source, place = Path(folder, "source.db"), Path(folder, "brain.db")
        os.environ |= {"GBRAIN_DB": str(place), "HOME": folder, "SHOW_BUGS": "1"}
        make(source, SECRET, names=False)
        until = monotonic() + seconds
        while monotonic() < until:
            codes += attempt(source, place, chance, 8)
            brains += 1
    print(f"{brains} brains, {codes.total()} commands, exit codes {dict(codes)}")


if __name__ == "__main__":
    main(float(sys.argv[1]), int((sys.argv[2:] or ["0"])[0]))
