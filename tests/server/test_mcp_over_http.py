"""MCP over streamable HTTP with the client of the SDK: the tools of stdio, for each token."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from gbrain.mcp.tools import TOOLS
from gbrain.server.audit import audit_file
from gbrain.types import Scope

MODES = ("auto", "legacy")


class Agent:
    """A client that tests can call without being asynchronous."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return self._portal.start_task_soon(self._client.call_tool, tool, arguments).result(30)

    def document(self, tool: str, **arguments: Any) -> Any:
        result = self.call(tool, **arguments)
        assert not result.is_error, result.structured_content
        return result.structured_content

    def error(self, tool: str, **arguments: Any) -> Any:
        result = self.call(tool, **arguments)
        assert result.is_error
        return result.structured_content["error"]

    def tools(self) -> set[str]:
        return {tool.name for tool in self._portal.call(self._client.list_tools).tools}


@contextmanager
def connect(served, token: str, mode: str = "auto") -> Iterator[Agent]:
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)
        stack.enter_context(portal.wrap_async_context_manager(http))
        transport = streamable_http_client(f"http://127.0.0.1:{served.port}/mcp", http_client=http)
        client = portal.wrap_async_context_manager(Client(transport, mode=mode))
        yield Agent(portal, stack.enter_context(client))


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_reads_and_writes(served, mode: str) -> None:
    with connect(served, served.token, mode) as agent:
        assert agent.tools() == {tool.name for tool in TOOLS}
        assert agent.document("brain_search", query="river ai")["results"]
        slug = f"tests/agent-{mode}"
        made = agent.document("brain_put", slug=slug, content="# Agent\n\nLikes marmots.")
        assert made["slug"] == slug
        assert agent.document("brain_get", slug=slug)["text"].startswith("# Agent")
        found = agent.document("brain_query", query="alpine rodents", mode="semantic")
        assert slug in [hit["slug"] for hit in found["results"]]
        assert agent.error("brain_get", slug="no/such")["code"] == "not_found"
        assert agent.error("brain_get", slug=5)["code"] == "usage"


@pytest.mark.parametrize("mode", MODES)
def test_a_read_only_token_offers_no_tools_that_write(served, mode: str) -> None:
    secret = served.add_token(f"mcp-reader-{mode}", read_only=True)
    with connect(served, secret, mode) as agent:
        assert agent.tools() == {tool.name for tool in TOOLS if not tool.writes}
        error = agent.error("brain_put", slug="x", content="# x")
        assert error["code"] == "read_only"


# Arguments that name the hidden page companies/river-ai wherever a tool takes a name.
CALLS: dict[str, dict[str, Any]] = {
    "brain_search": {"query": "river ai"},
    "brain_query": {"query": "river ai", "depth": "auto"},
    "brain_get": {"slug": "companies/river-ai"},
    "brain_put": {"slug": "companies/river-ai", "content": "# x"},
    "brain_list": {},
    "brain_timeline": {},
    "brain_timeline_add": {"slug": "companies/river-ai", "text": "x"},
    "brain_undo": {"slug": "companies/river-ai"},
    "brain_tasks": {},
    "brain_done": {"number": "5323"},
    "brain_today": {"date": "2026-11-14"},
    "brain_links": {"slug": "people/alice-chen"},
    "brain_why": {"slug": "people/alice-chen"},
    "brain_stats": {},
    "brain_explain": {"query": "river ai", "why_not": "companies/river-ai"},
    "memory_search": {"query": "lanternworks"},
    "memory_recall": {"name": "Lanternworks"},
    "memory_ask": {"query": "what does lanternworks sell?"},
}


@pytest.mark.parametrize("limits", [Scope(slug_prefix="people/"), Scope(wing="people")])
def test_no_tool_shows_a_page_outside_the_limits(served, limits: Scope) -> None:
    assert set(CALLS) == {tool.name for tool in TOOLS}
    secret = served.add_token(f"mcp-limited-{limits.wing}", limits=limits)
    before = served.get("/api/pages/companies/river-ai")
    visible = [page["slug"] for page in served.get("/api/pages", token=secret)["pages"]]
    every = [page["slug"] for page in served.get("/api/pages?limit=1000")["pages"]]
    texts = " ".join(served.get(f"/api/pages/{slug}", token=secret)["text"] for slug in visible)
    # A visible page may mention a hidden one.
    unmentioned = [slug for slug in every if slug not in visible and slug not in texts]
    assert len(unmentioned) > 10
    with connect(served, secret) as agent:
        assert len(agent.document("brain_list")["pages"]) >= 5
        for tool, arguments in CALLS.items():
            result = agent.call(tool, **arguments)
            shown = str(result.structured_content) + str(result.content)
            assert [slug for slug in unmentioned if slug in shown] == [], tool
        for tool in ("brain_get", "brain_put", "brain_timeline_add", "brain_undo", "brain_done"):
            assert agent.error(tool, **CALLS[tool])["code"] in ("not_found", "forbidden")
        claimed = {"slug": "2026-11-20", "content": "---\nwing: people\n---\n# Mine\n"}
        assert agent.error("brain_put", **claimed)["code"] == "forbidden"
    assert served.get("/api/pages/companies/river-ai") == before


@pytest.mark.parametrize("mode", MODES)
def test_a_token_revoked_in_mid_session_ends_it(served, mode: str) -> None:
    secret = served.add_token(f"mcp-short-{mode}")
    with connect(served, secret, mode) as agent:
        assert agent.document("brain_stats")["pages"]
        served.revoke_token(f"mcp-short-{mode}")
        with pytest.raises(Exception, match=r"401|Unauthorized|Server returned an error"):
            agent.call("brain_stats")


def test_two_servers_share_one_brain(served, serve) -> None:
    second = serve(brain=served.brain)
    with connect(served, served.token) as left, connect(second, second.token) as right:
        made = left.document("brain_put", slug="tests/shared", content="# One\n")
        assert right.document("brain_get", slug="tests/shared")["version"] == made["version"]
        right.document("brain_put", slug="tests/shared", content="# Two\n", expected_version=1)
        lost = left.error("brain_put", slug="tests/shared", content="# 3\n", expected_version=1)
        assert lost["code"] == "version_conflict"
        assert left.document("brain_search", query="two", slug_prefix="tests/")["results"]
    # Tokens belong to the brain, but each server here has a state folder of its own.
    assert second.send("GET", "/api/tags", token=served.token).status == 401


def test_a_cancelled_call_does_not_block_the_next(served) -> None:
    request = (
        "POST /api/query HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    body = '{"query": "who is lukewarm on cloud retrieval", "rerank": true, "limit": 100}'
    for _ in range(6):
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
            client.sendall(
                request.format(
                    port=served.port, token=served.token, length=len(body), body=body
                ).encode()
            )
    start = time.monotonic()
    assert served.get("/api/search?q=river")["results"]
    assert time.monotonic() - start < 15


def test_a_write_whose_client_is_gone_is_recorded(served) -> None:
    body = '{"content": "# Gone"}'
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
        client.sendall(
            f"PUT /api/pages/tests/gone HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
            f"Authorization: Bearer {served.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
    deadline = time.monotonic() + 10
    written, recorded = False, False
    while not (written and recorded) and time.monotonic() < deadline:
        time.sleep(0.05)
        written = served.send("GET", "/api/pages/tests/gone").status == 200
        with served.state() as identity:
            log = audit_file(identity)
            recorded = log.exists() and '"tests/gone"' in log.read_text()
    # The request may be dropped before its turn; then it must not be in the log either.
    assert written == recorded


def test_mcp_answers_malformed_messages(served) -> None:
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b'{"id": 1}', b"\xff\xfe"):
        answer = served.send("POST", "/mcp", body, headers=accept)
        assert 400 <= answer.status < 500, (body, answer)
    for method in ("GET", "DELETE", "PUT"):
        assert served.send(method, "/mcp").status == 405
    with connect(served, served.token) as agent:
        assert agent.document("brain_stats")["pages"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    "how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_stopped_server_leaves_no_copies_behind(serve, how: int) -> None:
    server = serve()
    secret = server.add_token("limited", limits=Scope(wing="people"))
    assert server.get("/api/pages", token=secret)["pages"]
    copies = server.folder / "cache" / "gbrain" / "limited"
    assert list(copies.iterdir())
    os.kill(server.process, how)
    deadline = time.monotonic() + 15
    while list(copies.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(copies.iterdir()) == []
