"""Slow, silent, oversized and malformed requests: each is refused, and others are answered."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.errors import GbrainError
from gbrain.server import connections, guard, sessions, tokens
from gbrain.server.guard import MAX_BODY_BYTES
from gbrain.server.http import HttpOptions, HttpServer, serve_http


@pytest.fixture(scope="module")
def patience() -> Iterator[None]:
    """Shorten all timeouts, for a server in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "HEADER_SECONDS", 0.3)
        patch.setattr(connections, "STALL_SECONDS", 0.3)
        patch.setattr(guard, "BODY_SECONDS", 0.3)
        yield


class Here:
    """A server in a thread of this process."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def exchange(self, data: bytes) -> bytes:
        """Send bytes and return all that comes back until the server closes the connection."""
        with self.connect() as client:
            client.sendall(data)
            return b"".join(iter(partial(client.recv, 65536), b""))

    def request(self, method: str = "GET", path: str = "/api/tags", *headers: str) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Authorization: Bearer {self.token}",
            *headers,
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def is_well(self) -> bool:
        answer = self.exchange(self.request("GET", "/api/tags", "Connection: close"))
        return answer.startswith(b"HTTP/1.1 200")


@pytest.fixture(scope="module")
def here(
    built_sample: Path, tmp_path_factory: pytest.TempPathFactory, patience: None
) -> Iterator[Here]:
    folder = tmp_path_factory.mktemp("here")
    brain = Path(shutil.copy(built_sample, folder / "brain.db"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        server = HttpServer(
            partial(Brain.open, brain, read_only=True), HttpOptions(port=0, read_only=True)
        )
        with Brain.open(brain) as opened:
            _, secret = tokens.add_token(opened.identity(), "all", "2026-11-16T12:00:00.000Z")
        thread = Thread(target=server.run)
        thread.start()
        port = int(server.listening.url.rsplit(":", 1)[1].strip("/"))
        try:
            yield Here(port, secret)
        finally:
            server.stop()
            thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    "sent", [b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "]
)
def test_a_client_that_sends_no_headers_is_disconnected(here: Here, sent: bytes) -> None:
    start = time.monotonic()
    with suppress(ConnectionResetError):
        assert here.exchange(sent) == b""
    assert time.monotonic() - start < 8
    assert here.is_well()


def test_a_second_request_has_a_time_limit_too(here: Here) -> None:
    with here.connect() as client:
        client.sendall(here.request())
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        client.sendall(b"GET / HT")
        client.settimeout(8)
        with suppress(ConnectionResetError):
            while client.recv(65536):
                pass
    assert here.is_well()


def test_a_slow_body_is_refused(here: Here) -> None:
    head = here.request(
        "POST", "/api/query", "Content-Type: application/json", "Content-Length: 1000"
    )
    answer = here.exchange(head + b'{"query": ')
    assert answer.startswith(b"HTTP/1.1 408")
    assert here.is_well()


def test_a_client_that_reads_nothing_is_disconnected(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = SimpleQueue[tuple[str, int]]()
    connection_lost = connections.TimedProtocol.connection_lost

    def report_lost(self: connections.TimedProtocol, error: Exception | None) -> None:
        connection_lost(self, error)
        ended.put(self.client)

    monkeypatch.setattr(connections.TimedProtocol, "connection_lost", report_lost)
    monkeypatch.setattr(Brain, "tags", lambda self: [("x" * 1000, 1)] * 20_000)
    with here.connect() as client:
        client.sendall(here.request())
        while ended.get(timeout=60) != client.getsockname():
            pass
        received = 0
        with suppress(ConnectionResetError):
            while data := client.recv(1 << 20):
                received += len(data)
    assert received < 19_000_000
    monkeypatch.undo()
    assert here.is_well()


def test_an_oversized_body_is_refused_before_it_is_read(here: Here) -> None:
    for length in (MAX_BODY_BYTES + 1, 10**18, 10**30):
        head = here.request(
            "PUT", "/api/pages/x", "Content-Type: application/json", f"Content-Length: {length}"
        )
        answer = here.exchange(head)
        assert answer.startswith((b"HTTP/1.1 413", b"HTTP/1.1 400")), answer[:100]
    assert here.is_well()


def test_an_endless_chunked_body_is_refused(here: Here) -> None:
    head = here.request(
        "POST", "/api/session", "Content-Type: application/json", "Transfer-Encoding: chunked"
    )
    with here.connect() as client:
        client.sendall(head)
        with suppress(ConnectionResetError, BrokenPipeError):
            for _ in range(10_000):
                client.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
        answer = b""
        with suppress(ConnectionResetError):
            answer = client.recv(65536)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    assert here.is_well()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 40_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_malformed_requests_are_refused(here: Here, sent: bytes) -> None:
    answer = here.exchange(sent)
    assert answer == b"" or answer.split()[1] in (b"400", b"421", b"501"), answer[:100]
    assert here.is_well()


def test_many_clients_at_once_are_all_answered(here: Here) -> None:
    answers: list[bool] = []
    threads = [Thread(target=lambda: answers.append(here.is_well())) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 40


def test_a_full_queue_is_an_error(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_WAITING_CALLS", 0)
    answer = here.exchange(here.request("GET", "/api/tags", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 503")
    assert b'"busy"' in answer


def test_too_many_requests_are_an_error(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_REQUESTS", 0)
    assert here.exchange(here.request()).startswith(b"HTTP/1.1 503")


@pytest.mark.parametrize("start", ["POST /api/session", "GET /app.js", "POST /nothing"])
def test_slow_strangers_are_not_in_the_way(
    here: Here, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setattr(guard, "MAX_REQUESTS", 12)
    monkeypatch.setattr(guard, "BODY_SECONDS", 10.0)
    head = f"{start} HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\nContent-Length: 1000\r\n\r\n{{"
    strangers = [here.connect() for _ in range(15)]
    for stranger in strangers:
        stranger.sendall(head.encode())
    time.sleep(0.1)
    assert here.is_well()
    for stranger in strangers:
        stranger.close()


def test_bodies_count_while_they_are_read(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_BUFFERED_BYTES", 1000)
    monkeypatch.setattr(guard, "BODY_SECONDS", 10.0)
    head = here.request("PUT", "/api/pages/x", "Content-Length: 2000")
    with here.connect() as first:
        first.sendall(head + b"x" * 900)
        time.sleep(0.1)
        assert here.exchange(head + b"x" * 200).startswith(b"HTTP/1.1 503")
    assert here.is_well()


def test_a_call_that_takes_too_long_is_an_error(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CALL_SECONDS", 0.05)
    monkeypatch.setattr(Brain, "tags", lambda self: time.sleep(0.5) or [])
    answer = here.exchange(here.request("GET", "/api/tags", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 408")


def test_an_unexpected_error_tells_nothing_of_the_page(
    here: Here, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: Any) -> Any:
        raise RuntimeError("my diary")

    monkeypatch.setattr(Brain, "tags", fail)
    answer = here.exchange(here.request("GET", "/api/tags", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 500")
    assert b"diary" not in answer
    assert "RuntimeError" in caplog.text
    assert "diary" not in caplog.text


def test_a_port_in_use_is_an_error(here: Here, sample: Path) -> None:
    with pytest.raises(GbrainError) as caught:
        serve_http(partial(Brain.open, sample), HttpOptions(port=here.port))
    assert caught.value.code == "cannot_listen"


def test_tls_encrypts_what_is_sent(sample: Path, tmp_path: Path) -> None:
    import http.client
    import ssl
    import subprocess

    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", cert, "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    server = HttpServer(partial(Brain.open, sample), HttpOptions(port=0, cert=cert, key=key))
    with Brain.open(sample) as brain:
        _, secret = tokens.add_token(brain.identity(), "tls", "2026-11-16T12:00:00.000Z")
    thread = Thread(target=server.run)
    thread.start()
    try:
        assert server.listening.url.startswith("https://")
        port = int(server.listening.url.rsplit(":", 1)[1].strip("/"))
        client = http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=10, context=ssl.create_default_context(cafile=cert)
        )
        client.request("GET", "/api/tags", headers={"Authorization": f"Bearer {secret}"})
        response = client.getresponse()
        assert response.status == 200
        response.read()
        client.close()
    finally:
        server.stop()
        thread.join(20)
