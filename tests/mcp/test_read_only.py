"""`gbrain serve --read-only`: after every tool was called, nothing on the disk is another."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain, NotFound
from gbrain.mcp.read_only import open_unwritable
from gbrain.mcp.tools import TOOLS

ROOT = Path(__file__).parents[2]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "brain_search": {"query": "river ai"},
    "brain_query": {"query": "who is lukewarm on cloud RAG?", "depth": "auto", "rerank": True},
    "brain_get": {"slug": "index"},
    "brain_put": {"slug": "index", "content": "# Other\n"},
    "brain_list": {},
    "brain_timeline_add": {"slug": "index", "text": "entry"},
    "brain_links": {"slug": "index"},
    "brain_stats": {},
    "brain_explain": {"query": "backup", "why_not": "people/ivy-marlow"},
    "memory_search": {"query": "backup"},
    "memory_recall": {"name": "alice chen"},
    "memory_ask": {"query": "where to begin"},
}


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and the hash of what it holds.

    Not the two through which SQLite lets a reader see what others write meanwhile: the list of
    who reads, and a log that must be empty.
    """
    log = folder / "brain.db-wal"
    assert not log.exists() or log.stat().st_size == 0
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).digest()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("brain.db-wal", "brain.db-shm")
    }


def served(brain: Path, folder: Path) -> dict[int, Any]:
    """The answer to a call of every tool, by its number."""
    about = {"name": "by hand", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    calls = [{"name": tool.name, "arguments": ARGUMENTS[tool.name]} for tool in TOOLS]
    lines = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *({"id": n, "method": "tools/call", "params": call} for n, call in enumerate(calls, 1)),
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "gbrain", "serve", "--read-only", "--db", str(brain)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
    ) as server:
        assert server.stdin
        assert server.stdout
        for line in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        server.stdin.flush()
        answers: dict[int, Any] = {}
        while len(answers) <= len(calls):
            answer = json.loads(server.stdout.readline())
            answers[answer["id"]] = answer["result"]
        server.stdin.close()
        assert server.wait(timeout=20) == 0
    return answers


@pytest.mark.parametrize("waiting", [False, True], ids=["embedded", "with jobs"])
def test_nothing_is_written(
    embedded_sample: Path, built_sample: Path, tmp_path: Path, waiting: bool
) -> None:
    brain = tmp_path / "brain.db"
    shutil.copy(built_sample if waiting else embedded_sample, brain)
    with Brain.open(brain) as opened:
        opened.set("record_queries", "on")
        opened.set("record_access", "on")
    before = everything(tmp_path)
    answers = served(brain, tmp_path)
    assert everything(tmp_path) == before
    for number, tool in enumerate(TOOLS, 1):
        assert answers[number].get("isError", False) is tool.writes, tool.name
        if tool.writes:
            assert answers[number]["structuredContent"]["error"]["code"] == "read_only"


def test_nothing_can_be_written_not_even_by_sql(sample: Path) -> None:
    before = sha256(sample.read_bytes()).digest()
    with open_unwritable(sample) as brain:
        with pytest.raises(BadBrain) as caught:
            brain.put("a", b"# A\n")
        assert caught.value.code == "read_only"
        for connection in (brain.database.connection, brain.database.open_second_connection()):
            with pytest.raises(sqlite3.OperationalError, match="readonly database"):
                connection.execute("DELETE FROM pages")
        connection.close()
    assert sha256(sample.read_bytes()).digest() == before


def test_use_is_not_recorded(sample: Path) -> None:
    with Brain.open(sample) as brain:
        brain.set("record_queries", "on")
    with open_unwritable(sample) as brain:
        brain.record_open(brain.get("index").id)
        assert brain.query("backup").hits
    with Brain.open(sample) as brain, brain.database.read_transaction() as connection:
        for table in ("page_use", "questions"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_what_others_write_is_seen(sample: Path) -> None:
    with open_unwritable(sample) as reader:
        total = reader.list()[1]
        with Brain.open(sample) as writer:
            writer.put("a", b"# A\n")
        assert reader.list()[1] == total + 1


def test_a_file_that_nobody_may_write_is_read_as_well(sample: Path) -> None:
    sample.chmod(0o400)
    with open_unwritable(sample) as brain:
        assert brain.search("backup").hits
    sample.chmod(0o600)


def test_a_place_with_strange_signs(sample: Path) -> None:
    place = sample.rename(sample.with_name("a #1? 100%.db"))
    with open_unwritable(place) as brain:
        assert brain.list()[1] > 1


def test_an_older_brain_is_left_as_it_is(sample: Path) -> None:
    connection = sqlite3.connect(sample)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = sha256(sample.read_bytes()).digest()
    with pytest.raises(BadBrain) as caught:
        open_unwritable(sample)
    assert caught.value.code == "brain_too_old"
    assert sha256(sample.read_bytes()).digest() == before


def test_no_brain_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_unwritable(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []
