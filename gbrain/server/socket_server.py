"""The Unix socket on which a warm process takes commands of the same user, and runs them."""

from __future__ import annotations

import gc
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import perf_counter
from typing import Any

import anyio
import anyio.abc

from gbrain.brain import Brain
from gbrain.brain_session import Session
from gbrain.errors import GbrainError
from gbrain.locations import brain_key, is_private, runtime_folder
from gbrain.output.json import dumps
from gbrain.server.protocol import (
    ALIVE,
    ALIVE_SECONDS,
    ASK_STATUS,
    DECLINED,
    EXIT,
    LENGTH_BYTES,
    MAX_REQUEST_BYTES,
    RELEASE,
    RUN,
    SILENCE_SECONDS,
    STATUS,
    STOP,
    encode_frame,
)
from gbrain.server.run_command import Request, parse_request, route_streams, run_for
from gbrain.server.socket_lock import hold_lock

# A command sends its request at once; a slower sender is not a command.
_REQUEST_SECONDS = 2.0
_CHECK_SECONDS = 1.0
# A thread that has a result waits at most this long for one that computes in Python. The default of
# five milliseconds is as long as a stage of a query.
_SWITCH_SECONDS = 0.0005
# More commands at once than this are declined: they would wait longer than they take.
_MAX_WAITING = 16


class AlreadyWarm(GbrainError):
    """Another process listens for this brain."""


class SocketServer:
    """Runs commands of other processes with the brain of a session.

    `idle_seconds` is how long it may be unused before `serve` returns; None for ever. `dedicated`
    says that the process ends then.
    """

    def __init__(
        self,
        session: Session,
        brain: str,
        idle_seconds: float | None = None,
        *,
        dedicated: bool = False,
    ) -> None:
        self._session, self._brain, self._idle_seconds = session, brain, idle_seconds
        self._dedicated = dedicated
        self._started = self._last_used = anyio.current_time()
        self._waiting = 0
        self._answered = 0
        self._usual_seconds = 0.0
        self._stopping = anyio.Event()

    async def serve(self, ready: Callable[[], None] = lambda: None) -> None:
        """Run commands until `stop`, or until none came for `idle_seconds`.

        If the brain file is replaced, it listens for the new one.

        Raises AlreadyWarm if another process listens for the brain.
        """
        sys.setswitchinterval(_SWITCH_SECONDS)
        # What was loaded until now stays: no collection has to look at it again.
        gc.collect()
        gc.freeze()
        with route_streams():
            await self._serve(ready)

    async def _serve(self, ready: Callable[[], None]) -> None:
        while not self._stopping.is_set():
            key = brain_key(self._brain)
            if key is None:
                await anyio.sleep(_CHECK_SECONDS)
                continue
            with claim_socket(key, dedicated=self._dedicated) as path:
                listener = await anyio.create_unix_listener(path, mode=0o600)
                ready()
                async with anyio.create_task_group() as group, listener:
                    group.start_soon(listener.serve, self._handle)
                    while not self._ends() and brain_key(self._brain) == key:
                        with anyio.move_on_after(_CHECK_SECONDS):
                            await self._stopping.wait()
                    group.cancel_scope.cancel()

    def stop(self) -> None:
        """Let `serve` return; a command that runs is finished first."""
        self._stopping.set()

    def idle_seconds(self) -> float:
        """Return how long no command has run; 0 while one runs or waits."""
        return 0.0 if self._waiting else anyio.current_time() - self._last_used

    def _ends(self) -> bool:
        if self._idle_seconds is not None and self.idle_seconds() > self._idle_seconds:
            self._stopping.set()
        return self._stopping.is_set()

    async def _handle(self, stream: anyio.abc.SocketStream) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            async with stream:
                if _peer_user(stream.extra(anyio.abc.SocketAttribute.raw_socket)) != os.getuid():
                    return
                request = await _receive_request(stream)
                if request is None:
                    return
                try:
                    await stream.send(await self._reply(request, stream))
                finally:
                    # Also if the reply took so long that nobody waits for it any more.
                    if request.kind == STOP:
                        self._stopping.set()
                # Between commands, so that it rarely happens during one.
                gc.collect(1)

    async def _reply(self, request: Request, stream: anyio.abc.SocketStream) -> bytes:
        if request.kind == ASK_STATUS:
            return encode_frame(STATUS, dumps(self._status()).encode()) + encode_frame(EXIT, b"0")
        if request.kind == RELEASE:
            await self._session.release()
        if request.kind in (STOP, RELEASE):
            return encode_frame(EXIT, b"0")
        if request.kind != RUN or not request.is_for_this_program:
            return encode_frame(DECLINED)
        if self._waiting >= _MAX_WAITING:
            return encode_frame(DECLINED)
        self._last_used = anyio.current_time()
        self._waiting += 1
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_show_life, stream)
                reply = await self._run(request)
                group.cancel_scope.cancel()
        finally:
            self._waiting -= 1
            self._last_used = anyio.current_time()
        return reply

    async def _run(self, request: Request) -> bytes:
        # The command that asks would be done sooner if it does not wait for a slow one. Several
        # usual ones in a row are faster than processes that all start at once.
        patience = max(SILENCE_SECONDS, 3 * self._usual_seconds)
        seconds = 0.0

        def run(brain: Brain) -> bytes | None:
            nonlocal seconds
            began = perf_counter()
            frames = run_for(request, brain)
            seconds = perf_counter() - began
            return frames

        # The work is finished even if nobody waits any more: the next command needs the brain.
        with anyio.CancelScope(shield=True):
            try:
                reply = await self._session.run(run, writes=True, patience=patience)
                self._usual_seconds += (seconds - self._usual_seconds) / 8
            except Exception:
                reply = None
        self._answered += reply is not None
        return encode_frame(DECLINED) if reply is None else reply

    def _status(self) -> dict[str, Any]:
        now = anyio.current_time()
        return {
            "pid": os.getpid(),
            "brain": self._brain,
            "running_seconds": round(now - self._started),
            "idle_seconds": round(now - self._last_used),
            "ends_after_idle_seconds": self._idle_seconds and round(self._idle_seconds),
            "answered": self._answered,
            "memory_bytes": _resident_bytes(),
        }


async def _receive_request(stream: anyio.abc.SocketStream) -> Request | None:
    """Return the request; None if it is malformed, too long or too slow."""
    received = bytearray()
    with anyio.move_on_after(_REQUEST_SECONDS), suppress(anyio.EndOfStream):
        while True:
            received += await stream.receive()
            length = int.from_bytes(received[:LENGTH_BYTES], "big")
            if length > MAX_REQUEST_BYTES:
                return None
            if len(received) >= LENGTH_BYTES + length >= LENGTH_BYTES:
                break
    with suppress(ValueError):
        return parse_request(bytes(received[LENGTH_BYTES:]))
    return None


async def _show_life(stream: anyio.abc.SocketStream) -> None:
    with suppress(anyio.BrokenResourceError, OSError):
        while True:
            await stream.send(encode_frame(ALIVE))
            await anyio.sleep(ALIVE_SECONDS)


def _peer_user(connection: socket.socket) -> int | None:
    """Return the id of the user at the other end; None if the system does not say."""
    if hasattr(socket, "SO_PEERCRED"):
        numbers = connection.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
        )
        return int(struct.unpack("3i", numbers)[1])
    if sys.platform == "darwin":
        # struct xucred of LOCAL_PEERCRED at SOL_LOCAL: a version, then the user.
        return int(struct.unpack("2I", connection.getsockopt(0, 1, 8))[1])
    return None


async def serve_beside(brain: str, session: Session) -> None:
    """Run commands for others, unless another process does that or no socket can be made."""
    with suppress(GbrainError, OSError):
        if hasattr(socket, "AF_UNIX"):
            await SocketServer(session, brain).serve()


@contextmanager
def serve_in_background(open_brain: Callable[[], Brain], brain: str) -> Iterator[None]:
    """Run commands for others on another thread until the block ends."""
    from anyio.from_thread import start_blocking_portal

    async def serve() -> None:
        session = Session(open_brain)
        try:
            await serve_beside(brain, session)
        finally:
            session.close()

    with start_blocking_portal() as portal:
        running = portal.start_task_soon(serve)
        try:
            yield
        finally:
            running.cancel()


@contextmanager
def claim_socket(key: str, *, dedicated: bool) -> Iterator[str]:
    """Yield the path of a socket for the brain file with this key, free to listen on.

    Raises AlreadyWarm if another process has it. The process that holds the lock may remove a
    socket that a killed one left behind.
    """
    folder = runtime_folder(os.environ)
    try:
        with suppress(FileExistsError):
            os.makedirs(folder, mode=0o700)
    except OSError as error:
        raise GbrainError(
            f"Cannot create the folder {folder}: {error.strerror}",
            hint="Set $XDG_RUNTIME_DIR to a folder that you can write to.",
            code="no_folder",
        ) from None
    if not is_private(folder):
        raise GbrainError(
            f"Other users can use {folder}",
            hint="Give it to yourself alone (chmod 700), or set $XDG_RUNTIME_DIR.",
            code="not_private",
        )
    path = os.path.join(folder, f"{key}.sock")
    with ExitStack() as held:
        try:
            held.enter_context(hold_lock(os.path.join(folder, f"{key}.lock"), dedicated=dedicated))
        except BlockingIOError:
            raise AlreadyWarm(
                "A gbrain process has this brain open already",
                hint="gbrain status shows it, gbrain down ends it.",
                code="already_warm",
            ) from None
        with suppress(FileNotFoundError):
            os.unlink(path)
        try:
            yield path
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _resident_bytes() -> int | None:
    """Return how much memory this process uses; None if the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
