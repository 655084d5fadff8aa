"""Real server processes on free ports of 127.0.0.1, and clients for them."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import pytest

from gbrain.brain import Brain
from gbrain.server import tokens
from gbrain.types import Scope

ROOT = Path(__file__).parents[2]
NOON = "2026-11-16T12:00:00"


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]


@dataclass(frozen=True, slots=True)
class Served:
    """A server: its port, its brain, and the folder with its state; `token` may do everything."""

    port: int
    brain: Path
    folder: Path
    token: str
    environment: dict[str, str] = field(default_factory=dict)
    process: int = 0

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {} if token == "" else {"Authorization": f"Bearer {token or self.token}"}
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, data, {**sent, **(headers or {})})
            response = connection.getresponse()
            known = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, known, response.read())
        finally:
            connection.close()

    def get(self, path: str, *, token: str | None = None) -> Any:
        """Return the document at a path."""
        answer = self.send("GET", path, token=token)
        assert answer.status == 200, answer.body
        return answer.json

    @contextmanager
    def state(self) -> Iterator[str]:
        """Use the server's state folder in this process; yields the brain's identity."""
        with patch.dict(os.environ, self.environment), Brain.open(self.brain) as brain:
            yield brain.identity()

    def add_token(
        self, name: str, *, read_only: bool = False, limits: Scope = Scope(), **more: Any
    ) -> str:
        with self.state() as identity:
            _, secret = tokens.add_token(
                identity, name, "2026-11-16T12:00:00.000Z", read_only=read_only, limits=limits,
                **more,
            )  # fmt: skip
        return secret

    def revoke_token(self, name: str) -> None:
        with self.state() as identity:
            tokens.revoke_token(identity, name)


Serve = Callable[..., Served]


@contextmanager
def start_server(brain: Path, folder: Path, *options: str) -> Iterator[Served]:
    """Run `gbrain serve --http` on a free port."""
    environment = {
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HOME": str(folder),
    }
    inherited = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "gbrain", "serve", "--http", "127.0.0.1:0", "--db", str(brain),
         *options],
        env={**inherited, **environment, "GBRAIN_NOW": NOON, "TZ": "UTC"},
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "Listening on http://127.0.0.1:" in line, line + process.stderr.read()
    port = int(line.partition("127.0.0.1:")[2].partition("/")[0])
    said: list[str] = []
    reader = Thread(target=lambda: said.extend(process.stderr or ()))
    reader.start()
    served = Served(port, brain, folder, "", environment)
    try:
        token = served.add_token("all")
        yield Served(port, brain, folder, token, environment, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=20)
        reader.join()
        process.stderr.close()
    assert said == [], "a healthy server prints nothing on standard error"


@pytest.fixture(scope="session")
def served(embedded_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the sample pages that all tests share; they may add pages below tests/."""
    folder = tmp_path_factory.mktemp("http")
    shutil.copy(embedded_sample, folder / "brain.db")
    with start_server(folder / "brain.db", folder) as server:
        yield server


@pytest.fixture
def serve(embedded_sample: Path, tmp_path: Path) -> Iterator[Serve]:
    """`serve("--read-only")` starts a server of its own for one test."""
    with ExitStack() as stack:
        shutil.copy(embedded_sample, tmp_path / "served.db")

        def start(*options: str, brain: Path = tmp_path / "served.db") -> Served:
            return stack.enter_context(start_server(brain, tmp_path, *options))

        yield start
