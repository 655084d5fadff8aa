"""Checks that no error message quotes the text of a page.

    python tests/faults/test_secrets.py SECONDS [SEED]

breaks random cells of a brain and runs random commands on it.
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
from malicious_brain import commands, make_brain, page_of
from mcp.types import CallToolRequestParams, CallToolResult

from gbrain.brain import Brain
from gbrain.brain_session import Session
from gbrain.cli.main import EXIT_INTERNAL_ERROR, run_command
from gbrain.errors import BadPage
from gbrain.mcp.server import ToolService
from gbrain.text.page import parse_page
from tests.conftest import Run
from tests.mcp.test_read_only import ARGUMENTS

SECRET = "Xyzzy7plugh"
# Errors may name pages, files, models and settings.
NAMES = ("slug", "path", "root", "name", "target", "key", "word")

_QUOTED_ON_PURPOSE = (["links"], ["failed_jobs"])

# Values that gbrain never writes into a cell.
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
COMMANDS = (
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
def secret_brain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secretive") / "brain.db"
    make_brain(path, SECRET, names=False)
    return path


def test_no_error_of_a_command_quotes_a_page(
    run: Run, secret_brain: Path, brain_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(secret_brain, brain_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "good.md").write_text(page_of(SECRET, names=False))
    (tmp_path / "notes" / "bad.md").write_text(f"---\na: [{SECRET}\nb: }}\n---\n{SECRET}")
    (tmp_path / "notes" / "not-utf-8.md").write_bytes(SECRET.encode() + b"\xff")
    (tmp_path / "notes" / "people").mkdir()
    (tmp_path / "notes" / "people" / "second.md").write_text(f"# {SECRET}\n")
    (tmp_path / "page.md").write_text(page_of(SECRET, names=False))
    (tmp_path / "cited.txt").write_text(f"{SECRET} [people/first#L1-2 0123456789ab] {SECRET}\n")
    monkeypatch.setenv("EDITOR", "false")
    failed = 0
    for words in commands(tmp_path, ""):
        ran = run(*words)
        assert SECRET not in ran.stderr, words
        failed += ran.exit_code != 0
    assert failed > 20


# --- invalid pages ---------------------------------------------------------------

_PIECES = st.sampled_from(
    [SECRET, "\n", ": ", "- ", "[", "]", "{", "}", "'", '"', "&", "*", "!", "|", ">", "%", "@",
     "\t", "  ", "#", "---\n", "a", ",", "!!int ", "&a ", "*a", "? ", "<<: ", "\\x", "\ufeff",
     "\x85", "\u2028", "0x1F", "~", "2026-04-03", "\\uD800", "!<tag:" + SECRET + "> "]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=12), st.booleans())
def test_an_invalid_page_is_not_quoted(pieces: list[str], known: bool) -> None:
    front = f"a: {SECRET}\n" if known else ""
    source = f"---\n{front}{''.join(pieces)}\n---\n# {SECRET}\n"
    assert SECRET not in page_error(source)


def page_error(source: str) -> str:
    """Return the error of parsing a page, or an empty string."""
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
def test_an_invalid_json_line_is_not_quoted(run: Run, brain_path: Path, line: str) -> None:
    for more in ([], ["--json"], ["--dry-run"]):
        ran = run("import", "--stdin", "--no-embed", *more, stdin=line.encode() + b"\n")
        assert SECRET not in ran.stdout + ran.stderr


# --- broken brains --------------------------------------------------------------


def columns_of(brain: Path) -> list[tuple[str, str]]:
    """Return (table, column) of all columns except names and those of SQLite."""
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


def break_cell(brain: Path, rng: random.Random, columns: list[tuple[str, str]]) -> str:
    """Break one column of one row or of all; return a description of the change."""
    while True:
        table, column = rng.choice(columns)
        value = rng.choice(BROKEN)
        rows = rng.choice(("", " LIMIT 1"))
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


def run_for_errors(words: list[str]) -> tuple[int, str]:
    """Return the exit code of a command and its errors; for doctor also its findings."""
    errors, output = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
        sys.stdout.buffer = io.BytesIO()  # type: ignore[misc, attr-defined]
        code = run_command(words)
    return code, errors.getvalue() + (_findings(output.getvalue()) if words[0] == "doctor" else "")


def _findings(output: str) -> str:
    """Return the findings without links and failed jobs, which quote pages on purpose."""
    lines = [
        line for line in output.splitlines() if line.split("\t")[1:2] not in _QUOTED_ON_PURPOSE
    ]
    return "\n".join(lines)


def try_commands(
    source: Path, path: Path, rng: random.Random, count: int, tables: tuple[str, ...] = ()
) -> Counter[int]:
    """Break a copy of the brain, in one of the `tables` if given, and run `count` commands on it.

    Returns the number of runs by exit code.
    """
    shutil.copy(source, path)
    columns = [column for column in columns_of(path) if not tables or column[0] in tables]
    change = break_cell(path, rng, columns)
    codes: Counter[int] = Counter()
    for words in rng.sample(COMMANDS, count):
        code, errors = run_for_errors(words)
        assert SECRET not in errors, (change, words, errors)
        assert "Traceback" not in errors, (change, words)
        if code == EXIT_INTERNAL_ERROR and os.environ.get("SHOW_BUGS"):
            print(change, words, errors)
        codes[code] += 1
    return codes


def test_commands_do_not_quote_a_broken_cell(secret_brain: Path, brain_path: Path) -> None:
    codes: Counter[int] = Counter()
    for seed in range(10):
        codes += try_commands(secret_brain, brain_path, random.Random(seed), 4, ("pages", "chunks"))
    assert codes[0] > 10, "a broken cell is no reason to refuse all work"
    assert codes.total() > codes[0], "some of it cannot be done"


@pytest.mark.slow
def test_no_table_of_a_broken_brain_is_quoted(secret_brain: Path, brain_path: Path) -> None:
    codes: Counter[int] = Counter()
    for seed in range(100):
        codes += try_commands(secret_brain, brain_path, random.Random(seed), 8)
    assert codes[0] > 100


def test_doctor_does_not_quote_a_broken_cell(secret_brain: Path, brain_path: Path) -> None:
    found = 0
    for seed in range(12):
        shutil.copy(secret_brain, brain_path)
        change = break_cell(brain_path, random.Random(seed), columns_of(brain_path))
        for words in (["doctor"], ["doctor", "--full"], ["doctor", "--repair"]):
            code, errors = run_for_errors(words)
            assert SECRET not in errors, (change, words, errors)
            found += code
    assert found


def call_all_tools(brain: Path) -> list[CallToolResult]:
    """Call every tool of the server on a brain; return the results."""
    results: list[CallToolResult] = []

    async def call() -> None:
        session = Session(partial(Brain.open, brain))
        async with anyio.create_task_group() as background:
            service = ToolService(session, background, read_only=False)
            for name, given in ARGUMENTS.items():
                about = {"slug": "people/first", "why_not": "people/first"}
                arguments = {**given, **{key: about[key] for key in given if key in about}}
                call = CallToolRequestParams(name=name, arguments=arguments)
                results.append(await service.call_tool(None, call))
        session.close()

    anyio.run(call)
    return results


def test_no_tool_quotes_a_broken_cell(
    secret_brain: Path, brain_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failed = 0
    for seed in range(6):
        shutil.copy(secret_brain, brain_path)
        columns = [column for column in columns_of(brain_path) if column[0] in ("pages", "chunks")]
        change = break_cell(brain_path, random.Random(seed), columns)
        results = list(call_all_tools(brain_path))
        assert results
        for result in results:
            if result.is_error:
                failed += 1
                assert SECRET not in result.model_dump_json(), change
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
def test_a_broken_cell_is_skipped(
    secret_brain: Path, brain_path: Path, run: Run, change: str, words: list[str]
) -> None:
    shutil.copy(secret_brain, brain_path)
    with closing(sqlite3.connect(brain_path)) as connection, connection:
        assert connection.execute(change).rowcount
    assert run(*words).exit_code == 0


def test_a_bug_report_does_not_quote_the_exception(
    sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("gbrain.store.pages.require_page", fail)
    assert run_command(["get", "x"]) == EXIT_INTERNAL_ERROR
    errors = capsys.readouterr().err
    assert (
        errors.startswith("Error: gbrain failed: KeyError at tests.faults")
        or "KeyError at" in errors
    )
    assert SECRET not in errors
    assert run_command(["get", "x", "--json"]) == EXIT_INTERNAL_ERROR
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "internal"
    monkeypatch.setenv("GBRAIN_DEBUG", "1")
    with pytest.raises(KeyError, match=SECRET):
        run_command(["get", "x"])


def main(seconds: float, seed: int) -> None:
    rng, codes, brains = random.Random(seed), Counter[int](), 0
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder, "source.db"), Path(folder, "brain.db")
        os.environ |= {"GBRAIN_DB": str(path), "HOME": folder, "SHOW_BUGS": "1"}
        make_brain(source, SECRET, names=False)
        until = monotonic() + seconds
        while monotonic() < until:
            codes += try_commands(source, path, rng, 8)
            brains += 1
    print(f"{brains} brains, {codes.total()} commands, exit codes {dict(codes)}")


if __name__ == "__main__":
    main(float(sys.argv[1]), int((sys.argv[2:] or ["0"])[0]))
