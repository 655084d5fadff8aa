"""Let a warm process run a command, if one has the brain open; otherwise say so and do nothing.

It must never cause a failure: whatever goes wrong, the command does the work itself. Imports are
those that Python has already loaded when it starts.
"""

from __future__ import annotations

import os
import sys

from gbrain import __version__
from gbrain.locations import brain_key, default_brain, is_private, runtime_folder
from gbrain.server.protocol import (
    COMMANDS,
    DECLINED,
    EQUAL_VARIABLES,
    EXIT,
    OUTPUT_VARIABLES,
    PAGED,
    PATH_VARIABLES,
    RUN,
    SILENCE_SECONDS,
    STDERR,
    STDOUT,
    encode_request,
    take_frames,
)

# Not imported from typing, which would slow down every start of the program.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# A reply is kept until it is complete, so that nothing is printed twice.
_MAX_REPLY_BYTES = 1 << 28
_READ_BYTES = 1 << 16
_BUFFER_BYTES = 8192


def run_warm(words: Sequence[str]) -> int | None:
    """Run the command in a warm process and return its exit code; None if there is none for it."""
    try:
        if not _can_be_warm(words):
            return None
        option = brain_option(words)
        path = find_socket(default_brain(os.environ) if option is None else option)
        frames = path and _ask(path, request_fields(RUN, words))
    except KeyboardInterrupt:
        return 130
    except OSError:
        return None
    return _print_frames(frames) if frames else None


def find_socket(brain: str) -> str | None:
    """Return the socket of the warm process that has this brain open; None if there is none."""
    if not hasattr(os, "getuid"):
        return None
    folder, key = runtime_folder(os.environ), brain_key(os.path.expanduser(brain))
    if key is None or not is_private(folder):
        return None
    path = os.path.join(folder, f"{key}.sock")
    return path if os.path.exists(path) else None


def request_fields(kind: str, words: Sequence[str]) -> list[str]:
    """Return the fields of a request: what to do, for which program, terminal and environment."""
    variables = [f"{name}={os.environ[name]}" for name in EQUAL_VARIABLES if name in os.environ]
    output = {name: os.environ[name] for name in OUTPUT_VARIABLES if name in os.environ}
    output = {**_terminal_size(output), **output}
    terminals = "".join("1" if os.isatty(number) else "0" for number in range(3))
    return [
        kind,
        __version__,
        os.path.dirname(os.path.dirname(__file__)),
        terminals,
        sys.stdout.encoding if sys.stdout else "utf-8",
        sys.stderr.encoding if sys.stderr else "utf-8",
        str(len(variables)),
        *variables,
        str(len(output)),
        *(f"{name}={value}" for name, value in output.items()),
        *words,
    ]


def exchange(
    path: str, fields: Sequence[str], patience: float | None = None
) -> list[tuple[bytes, bytes]]:
    """Send a request and return the frames of the reply.

    Raises OSError if the process gives no sign of life for `patience` seconds (default:
    SILENCE_SECONDS).
    """
    # The C module under `socket`, which would double the time until the request is sent.
    import _socket

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(SILENCE_SECONDS if patience is None else patience)
        connection.connect(path)
        connection.sendall(encode_request(fields))
        frames: list[tuple[bytes, bytes]] = []
        received, total = bytearray(), 0
        while not frames or frames[-1][0] not in (EXIT, DECLINED):
            data = connection.recv(_READ_BYTES)
            total += len(data)
            if not data or total > _MAX_REPLY_BYTES:
                raise OSError("the reply is not complete")
            received += data
            frames += take_frames(received)
        return frames
    finally:
        connection.close()


def _ask(path: str, fields: Sequence[str]) -> list[tuple[bytes, bytes]] | None:
    frames = exchange(path, fields)
    return None if frames[-1] == (DECLINED, b"") else frames


def _can_be_warm(words: Sequence[str]) -> bool:
    """Return whether a command reads pages, and nothing from standard input."""
    position = 2 if words[:1] == ["--db"] else 1 if words[:1] and words[0][:5] == "--db=" else 0
    if len(words) <= position or words[position] not in COMMANDS:
        return False
    for word in words:
        # Typer fits help to the terminal of the process that prints it; -qh asks for help too.
        helps = word == "--help" or (word[:1] == "-" and word[1:2] != "-" and "h" in word)
        if helps or word == "-" or word.partition("=")[0] == "--as-of":
            return False
    if None in (sys.stdin, sys.stdout, sys.stderr):
        return False
    # A relative path means another folder in another process.
    folders = [os.environ[name] for name in PATH_VARIABLES if os.environ.get(name)]
    return all(os.path.isabs(folder) for folder in folders)


def brain_option(words: Sequence[str]) -> str | None:
    """Return the last value of --db; None if it is not given."""
    found = None
    for number, word in enumerate(words):
        if word[:5] == "--db=":
            found = word[5:]
        elif word == "--db" and number + 1 < len(words):
            found = words[number + 1]
    return found


def _terminal_size(environ: dict[str, str]) -> dict[str, str]:
    """Return COLUMNS and LINES of the terminal, as Rich would measure it; empty without one."""
    if environ.get("TERM") in ("dumb", "unknown"):
        return {}
    for number in range(3):
        try:
            columns, lines = os.get_terminal_size(number)
        except OSError:
            continue
        if columns and lines:
            return {"COLUMNS": str(columns), "LINES": str(lines)}
    return {}


def _print_frames(frames: Sequence[tuple[bytes, bytes]]) -> int:
    """Write the reply to the terminal and return the exit code."""
    code = next(int(data) for kind, data in frames if kind == EXIT)
    try:
        for kind, data in frames:
            if kind == STDOUT:
                _write(1, data)
            elif kind == STDERR:
                _write(2, data)
            elif kind == PAGED:
                from gbrain.output.screen import page_text

                page_text(data.decode(errors="replace"))
    except BrokenPipeError:
        # As for a command that writes directly: what fits into its buffer is never noticed.
        return code if sum(len(data) for _, data in frames) <= _BUFFER_BYTES else 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        from gbrain.cli.errors import report, system_error

        report(system_error(error), as_json="--json" in sys.argv)
        return code or 1
    return code


def _write(number: int, data: bytes) -> None:
    view: Any = memoryview(data)
    while view:
        view = view[os.write(number, view) :]
