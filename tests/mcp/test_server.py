"""`gbrain serve` over real pipes, with the client of the SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from gbrain.brain import Brain

READING = (
    "brain_search", "brain_query", "brain_get", "brain_list", "brain_timeline", "brain_links",
    "brain_tasks", "brain_today",
    "brain_why",
    "brain_stats", "brain_explain", "memory_search", "memory_recall", "memory_ask",
)  # fmt: skip
WRITING = ("brain_put", "brain_timeline_add", "brain_undo", "brain_done")


def names(connection) -> set[str]:
    listed = connection.portal.call(connection.client.list_tools)
    return {tool.name for tool in listed.tools}


def wait_until(condition, seconds: float = 30) -> None:
    until = monotonic() + seconds
    while not condition():
        assert monotonic() < until, "timed out"
        sleep(0.02)


# --- tools -----------------------------------------------------------------------------------


def test_every_tool_is_listed_with_its_schemas(servers) -> None:
    listed = servers.left.portal.call(servers.left.client.list_tools).tools
    assert {tool.name for tool in listed} == {*READING, *WRITING}
    assert listed
    assert all(tool.description and tool.output_schema for tool in listed)
    assert {tool.name for tool in listed if tool.annotations.read_only_hint} == set(READING)
    assert "brain_query" in servers.left.client.instructions


@pytest.mark.parametrize(
    ("tool", "arguments", "shown"),
    [
        ("brain_search", {"query": "river ai"}, "companies/river-ai"),
        ("brain_query", {"query": "who is lukewarm on cloud RAG?"}, "people/noor-haddad"),
        ("brain_query", {"query": "cloud", "depth": "auto", "budget": 200}, "[people/noor-haddad#"),
        ("brain_get", {"slug": "people/alice-chen"}, "# Alice Chen"),
        ("brain_list", {"wing": "people", "limit": 1}, "people/alice-chen"),
        ("brain_timeline", {"slug": "people/alice-chen"}, "7 of 7 entries"),
        ("brain_links", {"slug": "people/alice-chen"}, "from\tindex"),
        ("brain_tasks", {}, " tasks."),
        ("brain_today", {"date": "2026-04-03"}, "people/alice-chen"),
        ("brain_stats", {}, "people 5"),
        ("brain_explain", {"query": "backup", "why_not": "people/ivy-marlow"}, "people/ivy-marlow"),
        ("memory_search", {"query": "backup", "tags": []}, "projects/home-backup"),
        ("memory_recall", {"name": "Ally"}, "title: Alice Chen"),
        ("memory_ask", {"query": "what did we decide about backups?"}, "[projects/home-backup#"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_tool_answers_with_a_document_and_a_text(
    servers, tool: str, arguments: dict[str, Any], shown: str
) -> None:
    result = servers.right.call(tool, **arguments)
    assert not result.is_error
    assert isinstance(result.structured_content, dict)
    assert shown in result.content[0].text


def test_documents_equal_those_of_the_command_line(servers, run) -> None:
    printed = run("query", "restore test", "--json", "--db", servers.brain).json
    given = servers.left.document("brain_query", query="restore test")
    assert {**printed, "took_ms": 0} == {**given, "took_ms": 0}
    printed = run("get", "people/alice-chen", "--json", "--db", servers.brain).json
    given = servers.left.document("brain_get", slug="people/alice-chen")
    assert printed.items() <= given.items()


def test_a_written_page_is_found_by_vector_at_once(servers) -> None:
    text = "# Estuary\n\nThe heron stands in the shallows at dawn and catches eels.\n"
    put = servers.left.document("brain_put", slug="ideas/estuary", content=text)
    assert put.pop("file")["outcome"] == "behind"
    assert put == {
        "slug": "ideas/estuary", "version": 1, "outcome": "created", "nearly_the_same": None,
    }  # fmt: skip
    found = servers.left.document(
        "brain_query", query="a bird that hunts fish early in the morning", mode="semantic"
    )
    assert found["results"][0]["slug"] == "ideas/estuary"
    assert servers.left.document("brain_stats")["jobs"] == 0


def test_a_page_of_many_chunks_is_embedded_between_calls(servers) -> None:
    body = "".join(f"## Part {n}\n\nOnly part {n} says this.\n\n" for n in range(100))
    servers.left.document("brain_put", slug="ideas/long", content=f"# Long\n\n{body}")
    assert servers.left.document("brain_search", query="river ai")["results"]
    wait_until(lambda: servers.left.document("brain_stats")["jobs"] == 0)


# --- errors ----------------------------------------------------------------------------------


def test_a_version_conflict_says_what_to_call(servers) -> None:
    servers.left.document("brain_put", slug="ideas/twice", content="one", expected_version=0)
    error = servers.right.error("brain_put", slug="ideas/twice", content="two", expected_version=0)
    assert error == {
        "code": "version_conflict",
        "message": "ideas/twice is at version 1, not at version 0",
        "hint": "Read it again with brain_get ideas/twice and repeat your change.",
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "message"),
    [
        ("brain_search", {}, "usage", "query is missing"),
        ("brain_query", {"query": "x", "limit": 101}, "usage",
         "limit takes a number from 1 to 100, not 101"),
        ("brain_query", {"query": "x", "since": "the day"}, "usage",
         "Cannot read the date 'the day'"),
        ("brain_get", {"slug": "people/alise-chen"}, "not_found",
         "There is no page people/alise-chen"),
        ("brain_put", {"slug": "../../etc", "content": "x"}, "bad_slug",
         "'../../etc' does not name a page"),
        ("brain_put", {"slug": "a", "content": "---\ntitle: [\n---\n"}, "bad_page", None),
    ],
)  # fmt: skip
def test_a_wrong_call_is_a_tool_error_with_a_hint(
    servers, tool: str, arguments: dict[str, Any], code: str, message: str | None
) -> None:
    error = servers.right.error(tool, **arguments)
    assert error["code"] == code
    assert message is None or error["message"] == message
    assert error["hint"]


def test_an_unknown_tool_is_a_protocol_error(servers) -> None:
    with pytest.raises(MCPError, match=r"no tool 'brain_delete'\. The tools are brain_search"):
        servers.left.call("brain_delete", slug="index")


# --- read only -------------------------------------------------------------------------------


def test_a_read_only_server_has_no_tool_that_writes(servers) -> None:
    assert names(servers.reader) == set(READING)
    for tool, more in (("brain_put", {"content": "x"}), ("brain_timeline_add", {"text": "x"})):
        assert servers.reader.error(tool, slug="index", **more)["code"] == "read_only"


def test_a_read_only_server_leaves_the_file_and_sees_writes(servers) -> None:
    before = [sha256(path.read_bytes()).digest() for path in wal_and_file(servers.brain)]
    assert servers.reader.document("brain_get", slug="index")["version"] == 1
    assert servers.reader.document("brain_query", query="where to begin")["results"]
    after = [sha256(path.read_bytes()).digest() for path in wal_and_file(servers.brain)]
    assert after == before
    servers.left.document("brain_timeline_add", slug="people/ivy-marlow", text="Seen by the reader")
    found = servers.reader.document("brain_search", query='"seen by the reader"')
    assert found["results"][0]["slug"] == "people/ivy-marlow"


def wal_and_file(brain: Path) -> Iterator[Path]:
    yield brain
    yield Path(f"{brain}-wal")


# --- concurrency --------------------------------------------------------------------------------


def test_two_servers_can_write_one_page(servers) -> None:
    calls = [
        server.begin("brain_timeline_add", slug="projects/home-backup", text=f"{who} {n}")
        for n in range(8)
        for who, server in (("left", servers.left), ("right", servers.right))
    ]
    written = [call.result(timeout=60).structured_content for call in calls]
    assert sorted({document["version"] for document in written}) == list(range(2, 18))
    text = servers.reader.document("brain_get", slug="projects/home-backup")["text"]
    assert all(f"{who} {n}\n" in text for n in range(8) for who in ("left", "right"))


def test_a_changed_setting_applies_to_the_next_call(servers) -> None:
    assert len(servers.left.document("brain_search", query="notes")["results"]) > 2
    with Brain.open(servers.brain) as brain:
        brain.set("default_limit", "2")
    try:
        assert len(servers.left.document("brain_search", query="notes")["results"]) == 2
    finally:
        with Brain.open(servers.brain) as brain:
            brain.set("default_limit", "10")


_SLOW = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "begun").touch()
while folder.exists() and not (folder / "enough").exists():
    time.sleep(0.02)
"""


@pytest.fixture
def slow_reranking(servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The brain reranks by a command that takes until `enough` is in the folder, if that exists."""
    monkeypatch.setenv("XDG_STATE_HOME", str(servers.brain.parent))
    script = tmp_path / "slow.py"
    script.write_text(_SLOW)
    command = f"{sys.executable} {script} {tmp_path}"
    changes = {"rerank": "command", "rerank_command": command, "rerank_seconds": "60"}
    with Brain.open(servers.brain) as brain:
        for name, value in changes.items():
            brain.set(name, value)
    yield tmp_path
    (tmp_path / "enough").touch()
    with Brain.open(servers.brain) as brain:
        brain.set("rerank", "off")


@pytest.mark.filterwarnings("ignore:ping is removed")
def test_the_server_goes_on_after_a_cancelled_query(servers, slow_reranking: Path) -> None:
    long = servers.right.begin("brain_query", query="which notes are about notes?")
    wait_until((slow_reranking / "begun").exists)
    servers.right.portal.call(servers.right.client.send_ping)
    waiting = servers.right.begin("brain_stats")
    assert not waiting.done(), "one call has the brain at a time"
    long.cancel()
    assert waiting.result(timeout=30).structured_content["pages"] > 20
    found = servers.right.document("brain_search", query="river ai")
    assert found["results"][0]["slug"] == "companies/river-ai"
    assert not (slow_reranking / "enough").exists()


def test_an_unapproved_rerank_command_is_not_run(servers, tmp_path: Path) -> None:
    changes = {"rerank": "command", "rerank_command": f"touch {tmp_path / 'ran'}"}
    with Brain.open(servers.brain) as brain:
        for name, value in changes.items():
            brain.set(name, value)
    try:
        for tool in ("brain_query", "brain_explain", "memory_ask"):
            for server in (servers.left, servers.reader):
                assert server.error(tool, query="notes")["code"] == "unknown_command"
    finally:
        with Brain.open(servers.brain) as brain:
            brain.set("rerank", "off")
    assert not (tmp_path / "ran").exists()


# --- the pipe -------------------------------------------------------------------------


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}


def message(number: int, method: str, **parameters: Any) -> bytes:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(request).encode() + b"\n"


def started(brain: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "gbrain", "serve", "--db", str(brain)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )


def test_invalid_lines_are_answered_until_input_ends(sample: Path) -> None:
    lines = [
        b"{not json\n",
        b"\xff\xfe\x00\n",
        b"[" * 5000 + b"\n",
        message(1, "initialize", **HELLO),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n',
        b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": 7}}\n',
        b"\n",
        message(3, "tools/call", name="brain_search", arguments={"query": "\ud800 backup"}),
        b'{"jsonrpc": "2.0", "id": "five", "method": "tools/call", "params": "x"}\n',
        b'{"jsonrpc": "2.0", "id": 6}\n',
        # The SDK takes a request with such an id for a notification.
        b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}\n',
        b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}\n',
        b'{"jsonrpc": "2.0", "id": true, "method": "tools/call", "params": {"name": "x"}}\n',
        b'{"jsonrpc": "2.0", "id": ["a"], "method": "ping"}\n',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": "x"}\n',
        message(4, "tools/call", name="brain_search", arguments={"query": "backup"}),
    ]
    with started(sample) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        server.stdin.write(b"".join(lines))
        server.stdin.flush()
        answers, of_nobody = {}, []
        while 4 not in answers:
            answer = json.loads(server.stdout.readline())
            answers[answer["id"]] = answer
            of_nobody += [answer["error"]["code"]] if answer["id"] is None else []
        server.stdin.close()
        assert server.wait(timeout=20) == 0
        assert server.stdout.read() == b""
        assert b"Traceback" not in server.stderr.read()
    assert answers[1]["result"]["serverInfo"]["name"] == "gbrain"
    assert of_nobody == [-32700] * 3 + [-32600] * 4
    codes = {number: answers[number]["error"]["code"] for number in (2, 3, "five", 6)}
    assert codes == {2: -32602, 3: -32602, "five": -32602, 6: -32600}
    assert answers.keys() == {None, 1, 2, 3, 4, "five", 6}
    found = answers[4]["result"]["structuredContent"]["results"]
    assert found[0]["slug"] == "projects/home-backup"
    assert list(sample.parent.glob("brain.db*")) == [sample]


def test_the_server_ends_when_its_agent_dies(sample: Path) -> None:
    with started(sample) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        server.stdin.write(message(1, "initialize", **HELLO))
        server.stdin.flush()
        server.stdout.readline()
        server.stdin.write(message(2, "tools/list"))
        server.stdout.close()
        server.stdin.close()
        assert server.wait(timeout=20) == 0
        assert server.stderr.read() == b""


def test_a_missing_brain_is_reported_before_the_protocol(run, tmp_path: Path) -> None:
    for more in ((), ("--read-only",)):
        ran = run("serve", "--db", tmp_path / "none.db", *more)
        assert ran.exit_code == 1
        assert ran.stdout == ""
        assert "gbrain init creates one" in ran.stderr
