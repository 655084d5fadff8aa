"""Run a command for another process and return what it prints, as frames of a reply."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from gbrain import __version__
from gbrain.brain import Brain
from gbrain.cli.main import register_json_escape, run_command
from gbrain.cli.open_brain import Declined, LentBrain, lent_brain
from gbrain.output.screen import RemoteTerminal, remote_terminal
from gbrain.server.client import brain_option
from gbrain.server.protocol import (
    EQUAL_VARIABLES,
    EXIT,
    PAGED,
    STDERR,
    STDOUT,
    decode_request,
    encode_frame,
)

# Other exit codes are errors. The process that asks runs into them itself: their messages may
# depend on its folder and its environment.
_ANSWERED = (0, 3)


class Request(NamedTuple):
    """What another process asks for: a command, with its terminal and environment."""

    kind: str
    version: str
    package: str
    terminals: str
    encodings: tuple[str, str]
    variables: tuple[str, ...]
    output_variables: dict[str, str]
    words: list[str]

    @property
    def is_for_this_program(self) -> bool:
        """Whether it comes from the same version of gbrain and the same environment."""
        here = tuple(f"{name}={os.environ[name]}" for name in EQUAL_VARIABLES if name in os.environ)
        package = str(Path(__file__).parent.parent)
        return (self.version, self.package, self.variables) == (__version__, package, here)


def parse_request(data: bytes) -> Request:
    """Return a request; raise ValueError if it is malformed."""
    fields = iter(decode_request(data))
    try:
        kind, version, package, terminals, stdout, stderr = (next(fields) for _ in range(6))
        variables = tuple(next(fields) for _ in range(int(next(fields))))
        output = [next(fields).partition("=") for _ in range(int(next(fields)))]
        looks = {name: value for name, _, value in output}
        words = list(fields)
        return Request(kind, version, package, terminals, (stdout, stderr), variables, looks, words)
    except (StopIteration, RuntimeError):
        raise ValueError("the request is too short") from None


class _Frames:
    """Pieces of output in the order in which they were written."""

    def __init__(self) -> None:
        self._parts: list[tuple[bytes, bytearray]] = []

    def add(self, kind: bytes, data: bytes) -> None:
        if self._parts and self._parts[-1][0] == kind != PAGED:
            self._parts[-1][1].extend(data)
        else:
            self._parts.append((kind, bytearray(data)))

    def encode(self, code: int) -> bytes:
        parts = [encode_frame(kind, bytes(data)) for kind, data in self._parts]
        return b"".join([*parts, encode_frame(EXIT, str(code).encode())])


class _BytesStream(io.RawIOBase):
    def __init__(self, frames: _Frames, kind: bytes) -> None:
        super().__init__()
        self._frames, self._kind = frames, kind

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._frames.add(self._kind, bytes(data))
        return len(data)


class _TextStream(io.TextIOWrapper):
    """A standard stream of the other process."""

    def __init__(self, frames: _Frames, kind: bytes, encoding: str, *, terminal: bool) -> None:
        super().__init__(
            io.BufferedWriter(_BytesStream(frames, kind)),
            encoding,
            errors="json_escape",
            newline="\n",
            write_through=True,
        )
        self._terminal = terminal

    def write(self, text: str) -> int:
        count = super().write(text)
        self.flush()
        return count

    def isatty(self) -> bool:
        return self._terminal


class _RoutedStream:
    """Stands for `sys.stdout` or `sys.stderr`; each command writes to the streams it runs for."""

    def __init__(self, own: TextIO, number: int) -> None:
        self._own, self._number = own, number

    def __getattr__(self, name: str) -> Any:
        streams = _streams.get()
        return getattr(streams[self._number] if streams else self._own, name)


_streams: ContextVar[tuple[_TextStream, _TextStream] | None] = ContextVar("streams", default=None)


@contextmanager
def route_streams() -> Iterator[None]:
    """Let commands that run in the block for others write to the streams of those."""
    own = sys.stdout, sys.stderr
    register_json_escape()
    sys.stdout, sys.stderr = (_RoutedStream(stream, number) for number, stream in enumerate(own))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = own


def run_for(request: Request, brain: Brain) -> bytes | None:
    """Run the command with this brain and return the frames of the reply; None to decline.

    It must be called inside `route_streams`, and by one thread at a time.
    """
    frames = _Frames()
    streams = (
        _TextStream(frames, STDOUT, request.encodings[0], terminal=request.terminals[1] == "1"),
        _TextStream(frames, STDERR, request.encodings[1], terminal=request.terminals[2] == "1"),
    )
    words = _without_root_option(request.words)
    terminal = RemoteTerminal(
        request.output_variables,
        request.terminals[0] == "1",
        lambda text: frames.add(PAGED, text.encode()),
    )
    brain.confirm = _decline
    with (
        _setting(_streams, streams),
        _setting(remote_terminal, terminal),
        _setting(lent_brain, LentBrain(brain, brain_option(words))),
    ):
        try:
            code = run_command(words)
        except Declined:
            return None
    for stream in streams:
        stream.flush()
    return frames.encode(code) if code in _ANSWERED else None


def _decline(command: str) -> bool:
    raise Declined


def _without_root_option(words: Sequence[str]) -> list[str]:
    """Return the words without a --db before the command: it would change this process."""
    first = words[0] if words else ""
    return list(words[2 if first == "--db" else 1 if first.startswith("--db=") else 0 :])


@contextmanager
def _setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
