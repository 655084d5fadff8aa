"""Servers in separate processes, each connected to a client of the SDK by a pipe."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult

ROOT = Path(__file__).parents[2]
NOON = "2026-11-16T12:00:00"


@dataclass(frozen=True, slots=True)
class Connection:
    """A client that tests can call without being asynchronous."""

    portal: BlockingPortal
    client: Client

    def begin(self, tool: str, **arguments: Any) -> Future[CallToolResult]:
        """Call a tool without waiting; cancelling the future cancels the call."""
        return self.portal.start_task_soon(self.client.call_tool, tool, arguments)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return self.begin(tool, **arguments).result(timeout=60)

    def document(self, tool: str, **arguments: Any) -> Any:
        """Return the structured result; the client checks it against the output schema."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.structured_content
        return result.structured_content

    def error(self, tool: str, **arguments: Any) -> Any:
        result = self.call(tool, **arguments)
        assert result.is_error
        return result.structured_content["error"]


@dataclass(frozen=True, slots=True)
class Servers:
    """Two servers that write and a read-only one, all on one brain.

    The client of `right` uses the protocol version from before 2026.
    """

    brain: Path
    left: Connection
    right: Connection
    reader: Connection


def words(brain: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "gbrain", "serve", "--db", str(brain), *more]


@pytest.fixture(scope="session")
def servers(embedded_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("served")
    brain = folder / "brain.db"
    shutil.copy(embedded_sample, brain)
    talk = folder / "talk"
    with ExitStack() as stack:
        errors = stack.enter_context(talk.open("w"))
        portal = stack.enter_context(start_blocking_portal())

        def connect(mode: str, *options: str) -> tuple[Client, Callable[..., object]]:
            command, *rest = words(brain, *options)
            started = StdioServerParameters(
                command=command,
                args=rest,
                env={"GBRAIN_NOW": NOON, "TZ": "UTC", "XDG_STATE_HOME": str(folder)},
                cwd=ROOT,
            )
            context = portal.wrap_async_context_manager(
                Client(stdio_client(started, errlog=errors), mode=mode)
            )
            return context.__enter__(), context.__exit__

        # Most of a start is the loading of modules: all of them start at once.
        with ThreadPoolExecutor(3) as pool:
            kinds = [("auto",), ("legacy",), ("auto", "--read-only")]
            begun = list(pool.map(lambda kind: connect(*kind), kinds))
        for _, leave in begun:
            stack.push(leave)
        yield Servers(brain, *(Connection(portal, client) for client, _ in begun))
    assert talk.read_text() == "", "a healthy server prints nothing on standard error"
