"""`gbrain serve --read-only`: calls of every tool leave every file as it is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.mcp.tools import TOOLS

ROOT = Path(__file__).parents[2]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "brain_search": {"query": "river ai"},
    "brain_query": {"query": "who is lukewarm on cloud RAG?", "depth": "auto", "rerank": True},
    "brain_get": {"slug": "index"},
    "brain_put": {"slug": "index", "content": "# Other\n"},
    "brain_list": {},
    "brain_timeline": {"since": "2026-01"},
    "brain_timeline_add": {"slug": "index", "text": "entry"},
    "brain_undo": {"slug": "index"},
    "brain_tasks": {"all": True},
    "brain_done": {"number": "1234"},
    "brain_today": {},
    "brain_links": {"slug": "index"},
    "brain_why": {"slug": "index"},
    "brain_stats": {},
    "brain_explain": {"query": "backup", "why_not": "people/ivy-marlow"},
    "memory_search": {"query": "backup"},
    "memory_recall": {"name": "alice chen"},
    "memory_ask": {"query": "where to begin"},
}


def hash_files(folder: Path) -> dict[str, bytes]:
    """Return the hash of every file below a folder.

    Leaves out the -shm file, which a reader may change, and the -wal file, which must be empty.
    """
    log = folder / "brain.db-wal"
    assert not log.exists() or log.stat().st_size == 0
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).digest()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("brain.db-wal", "brain.db-shm")
    }


def call_every_tool(brain: Path, folder: Path) -> dict[int, Any]:
    """Call every tool of a read-only server; return the results by position, from 1."""
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
def test_a_read_only_server_writes_nothing(
    embedded_sample: Path, built_sample: Path, tmp_path: Path, waiting: bool
) -> None:
    brain = tmp_path / "brain.db"
    shutil.copy(built_sample if waiting else embedded_sample, brain)
    with Brain.open(brain) as opened:
        opened.set("record_queries", "on")
        opened.set("record_access", "on")
    before = hash_files(tmp_path)
    answers = call_every_tool(brain, tmp_path)
    assert hash_files(tmp_path) == before
    assert TOOLS
    for number, tool in enumerate(TOOLS, 1):
        assert answers[number].get("isError", False) is tool.writes, tool.name
        if tool.writes:
            assert answers[number]["structuredContent"]["error"]["code"] == "read_only"
