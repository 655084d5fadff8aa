"""A TCP proxy that delays, cuts or swallows what goes to a server, for tests of slow networks."""

from __future__ import annotations

import socket
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
