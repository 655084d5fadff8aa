"""HTTP connections that slow or silent clients cannot hold open."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
STALL_SECONDS = 20.0


class TimedProtocol(H11Protocol):
    """uvicorn's protocol, with a limit on the time for headers and for a client that reads nothing.

    uvicorn itself limits only the time between two requests.
    """

    _header_timer: asyncio.TimerHandle | None = None
    _stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_headers()

    def _watch_headers(self) -> None:
        """Start the clock while a request is incomplete, and stop it when its headers are there."""
        if self.conn.their_state is not h11.IDLE:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None
        elif self._header_timer is None and not self.transport.is_closing():
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def _watch_reader(self, unread: int) -> None:
        """Close the connection if the client reads nothing of the response for a while."""
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        self._stall_timer = self.loop.call_later(STALL_SECONDS, self._check_reader, unread)

    def _check_reader(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= unread:
            self.transport.abort()
        elif left:
            self._watch_reader(left)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        # Closing waits until everything is sent.
        if self.transport.get_write_buffer_size():
            self._watch_reader(self.transport.get_write_buffer_size())

    def _stop_timers(self) -> None:
        for timer in (self._header_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        self._header_timer = self._stall_timer = None
