"""TCP proxies for tests: one that delays, cuts or swallows what goes to a server, one with TLS."""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy:
    """A proxy on `port`. `delay_seconds` is added to every packet in both directions.

    After `cut_after` bytes from the client its connection is reset; while `is_silent`, nothing is
    passed on, but connections stay open.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.delay_seconds = 0.0
        self.cut_after: int | None = None
        self.is_silent = False
        self.sent = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        from_client = target.getpeername() == self._target
        with suppress(OSError):
            while data := source.recv(4096):
                if from_client:
                    self.sent += len(data)
                    if self.cut_after is not None and self.sent > self.cut_after:
                        break
                time.sleep(self.delay_seconds)
                while self.is_silent:
                    time.sleep(0.05)
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop listening and end all connections."""
        self.is_silent = False
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.close()


@contextmanager
def run_proxy(host: str, port: int) -> Iterator[Proxy]:
    """Run a proxy to a server until the block ends."""
    proxy = Proxy((host, port))
    try:
        yield proxy
    finally:
        proxy.close()


# What a client of PostgreSQL sends first if it wants TLS, or another encryption.
_TLS_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"
_GSS_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x30"


@contextmanager
def run_tls_proxy(host: str, port: int, context: ssl.SSLContext) -> Iterator[int]:
    """Run a proxy that gives a PostgreSQL server TLS; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=answer, args=(client,), daemon=True).start()

        def answer(client: socket.socket) -> None:
            with suppress(OSError), socket.create_connection((host, port)) as server:
                while (first := client.recv(8)) == _GSS_REQUEST:
                    client.sendall(b"N")
                if first == _TLS_REQUEST:
                    client.sendall(b"S")
                    client = context.wrap_socket(client, server_side=True)
                else:
                    server.sendall(first)
                _relay(client, server)
            client.close()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def _relay(client: socket.socket, server: socket.socket) -> None:
    """Pass data in both directions until one side ends; a TLS socket must stay in one thread."""
    while True:
        for source in select.select((client, server), (), ())[0]:
            data = source.recv(65536)
            while isinstance(source, ssl.SSLSocket) and source.pending():
                data += source.recv(source.pending())
            if not data:
                return
            (server if source is client else client).sendall(data)
