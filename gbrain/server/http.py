"""Run the HTTP server: the listening socket, TLS, limits of connections, and the end."""

from __future__ import annotations

import logging
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import uvicorn

from gbrain.brain import Brain
from gbrain.errors import GbrainError, needs_replica
from gbrain.limited import LimitedBrain
from gbrain.server.address import DEFAULT_HOST, DEFAULT_PORT
from gbrain.server.app import build_app
from gbrain.server.audit import AuditLog
from gbrain.server.connections import TimedProtocol
from gbrain.server.guard import OwnAddress
from gbrain.server.sessions import Sessions
from gbrain.server.tokens import Authenticator
from gbrain.types import Scope

KEEP_ALIVE_SECONDS = 15
SHUTDOWN_SECONDS = 5
MAX_HEADER_BYTES = 16 * 1024
MAX_CONNECTIONS = 200


class HttpOptions(NamedTuple):
    """How to listen: address, certificate files, and the names of a proxy in front.

    `load_model` loads the embedding model at once, so that the first question does not wait for it.
    Without a `replica` the brain is a shared one that is only searched.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    read_only: bool = False
    cert: Path | None = None
    key: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    load_model: bool = False
    replica: bool = True


class Listening(NamedTuple):
    """A server that accepts requests: its address, and what issues codes for the browser page."""

    url: str
    authenticator: Authenticator


class HttpServer:
    """A server on an open port; `run` answers requests until `stop` or a signal ends it."""

    def __init__(self, open_brain: Callable[[], Brain], options: HttpOptions) -> None:
        with open_brain() as brain:
            identity, path = brain.identity(), brain.path
        if options.cert:
            _check_certificate(options.cert, options.key)
        authenticator = Authenticator(identity)
        sessions = Sessions(
            open_brain,
            lambda limits: _open_limited(path, limits, options),
        )
        self._listener = open_listener(options.host, options.port)
        host, port = self._listener.getsockname()[:2]
        scheme, shown = "https" if options.cert else "http", f"[{host}]" if ":" in host else host
        self.listening = Listening(f"{scheme}://{shown}:{port}/", authenticator)
        app = build_app(
            sessions,
            authenticator,
            AuditLog(identity),
            OwnAddress(options.host, port, tuple(map(str.lower, options.allowed_hosts))),
            read_only=options.read_only,
            replica=options.replica,
            load_model=options.load_model,
        )
        # Both would print texts of requests; what matters of them is in our own log.
        for name in ("uvicorn", "mcp"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=TimedProtocol,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
                limit_concurrency=MAX_CONNECTIONS,
                ssl_certfile=options.cert,
                ssl_keyfile=options.key,
            )
        )

    def run(self) -> None:
        """Answer requests; those that came since the port was opened wait for this."""
        with self._listener:
            self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """End `run`, which another thread called, after the requests in progress."""
        self._server.should_exit = True


def _open_limited(path: Path, limits: Scope, options: HttpOptions) -> Brain:
    if not options.replica:
        # Scores, counts and suggestions of the shared brain depend on its other pages.
        raise needs_replica("A token that is limited to some pages")
    return LimitedBrain.open_within(path, limits, read_only=options.read_only)


def serve_http(
    open_brain: Callable[[], Brain],
    options: HttpOptions = HttpOptions(),
    ready: Callable[[Listening], None] = lambda listening: None,
) -> None:
    """Answer requests until the process is stopped; `ready` is called when the port is open."""
    server = HttpServer(open_brain, options)
    with _stop_on_interrupt(server):
        ready(server.listening)
        server.run()


@contextmanager
def _stop_on_interrupt(server: HttpServer) -> Iterator[None]:
    """Let Ctrl-C end the server, also before it runs, and then be an interrupt as usual.

    Between the first message and the first request Python imports modules, and loses the exception
    of an interrupt that comes during a callback of the import lock.
    """
    interrupted = False

    def stop(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        server.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt


def open_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise GbrainError if the address is taken or unknown."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(MAX_CONNECTIONS)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise GbrainError(
            f"Cannot listen on {host}:{port}: {error.strerror}",
            hint="Choose another port: gbrain serve --http 127.0.0.1:8421",
            code="cannot_listen",
        ) from None
    return listener


def _check_certificate(cert: Path, key: Path | None) -> None:
    """Raise GbrainError for certificate files that cannot be used."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        raise GbrainError(
            f"The certificate {cert} with the key {key} cannot be used: {error.strerror or error}",
            hint="Give PEM files that belong together, with a key that has no password.",
            code="bad_certificate",
        ) from None
