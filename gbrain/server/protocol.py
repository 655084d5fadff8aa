"""The messages between a command and the warm process that runs it, on a Unix socket.

A request is its length and then fields that end with NUL, because no argument, variable or path
contains one. The reply is a sequence of frames: a kind, a length, data. This module is imported by
every command, so it imports nothing.
"""

from __future__ import annotations

# Not imported from typing, which would slow down every start of the program.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_REQUEST_BYTES = 1 << 20
LENGTH_BYTES = 4

# A command waits this long for a sign of life, then it does the work itself.
SILENCE_SECONDS = 0.1
# A warm process that works gives a sign of life this often.
ALIVE_SECONDS = 0.03

# Kinds of frames: text for standard output, the same for a pager, text for standard error, the
# exit code, "do it yourself", "still working", and a document about the process itself.
STDOUT, PAGED, STDERR, EXIT, DECLINED, ALIVE, STATUS = b"o", b"p", b"e", b"x", b"n", b"a", b"s"

# Requests that are not commands.
ASK_STATUS, STOP, RELEASE = "status", "stop", "release"
RUN = "run"

# Variables that change what a command does. A process that was started with other values declines.
PATH_VARIABLES = (
    "HOME", "LOCALAPPDATA", "SQLITE_TMPDIR", "TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME",
)  # fmt: skip
EQUAL_VARIABLES = (
    "GBRAIN_DEBUG", "GBRAIN_NOW", "OPENBLAS_NUM_THREADS", "TZ", *PATH_VARIABLES,
)  # fmt: skip
# Variables that change how its output looks. The process takes them from the request.
OUTPUT_VARIABLES = (
    "COLORTERM", "COLUMNS", "FORCE_COLOR", "GBRAIN_PAGER", "LINES", "NO_COLOR", "PAGER", "TERM",
    "TTY_COMPATIBLE", "TTY_INTERACTIVE", "UNICODE_VERSION",
)  # fmt: skip

# Commands that only read pages: the others run in their own process.
COMMANDS = frozenset(
    ("backlinks", "conflicts", "diff", "explain", "gaps", "get", "graph", "history", "links",
     "list", "query", "search", "stats", "tags", "tasks", "timeline", "today", "why")
)  # fmt: skip


def encode_request(fields: Sequence[str]) -> bytes:
    """Return the fields as one message."""
    # As os.fsencode: an argument may contain bytes that are no characters.
    data = b"".join(field.encode("utf-8", "surrogateescape") + b"\0" for field in fields)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def decode_request(data: bytes) -> list[str]:
    """Return the fields of a message without its length."""
    return data.decode("utf-8", "surrogateescape").split("\0")[:-1]


def encode_frame(kind: bytes, data: bytes = b"") -> bytes:
    """Return a part of a reply."""
    return kind + len(data).to_bytes(LENGTH_BYTES, "big") + data


def take_frames(received: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Remove the complete frames from the start of `received` and yield their kind and data."""
    head = 1 + LENGTH_BYTES
    while len(received) >= head:
        stop = head + int.from_bytes(received[1:head], "big")
        if len(received) < stop:
            return
        yield bytes(received[:1]), bytes(received[head:stop])
        del received[:stop]
