"""Files into pages, in a process of their own when there are many."""

from __future__ import annotations

import os
import pickle
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain, islice
from typing import BinaryIO

from gbrain.errors import BadPage, GbrainError
from gbrain.text.page import MAX_PAGE_BYTES, parse_page
from gbrain.types import Page

# A path below the vault's root, and the hash of the file as it was last taken in.
FileToParse = tuple[str, bytes | None]
# The page of a file, what is wrong with it, or None when it is as it was.
ParsedFile = tuple[str, Page | GbrainError | None]

# Fewer files are read before another process has even started.
_WORTH_A_PROCESS = 300
_GROUP = 64
_GROUPS_AHEAD = 32

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from gbrain.importing.parse_worker import serve; serve(sys.argv[2])"
)


def parse_files(root: str, files: Iterable[FileToParse]) -> Iterator[ParsedFile]:
    """Each file's path with what was read, in order; a file that did not change is not parsed.

    With many files and a second core, another process reads while the caller stores, and only a
    few pages are held at a time. `files` may then be asked for on another thread.
    """
    source = iter(files)
    first = list(islice(source, _WORTH_A_PROCESS + 1))
    many = len(first) > _WORTH_A_PROCESS and (os.cpu_count() or 1) > 1 and sys.executable
    everything = chain(first, source)
    if many:
        return _read_elsewhere(root, everything)
    return (_read(root, file) for file in everything)


def _read(root: str, file: FileToParse) -> ParsedFile:
    path, taken_in = file
    try:
        data = _bytes(f"{root}/{path}")
        if taken_in is not None and sha256(data).digest() == taken_in:
            return path, None
        return path, parse_page(path, data)
    except OSError as error:
        return path, GbrainError(
            f"cannot be read: {error.strerror}",
            hint="Check who may read it, or name it in .gbrainignore.",
            code="cannot_read",
        )
    except GbrainError as error:
        return path, error


def _bytes(path: str) -> bytes:
    """The file's bytes; a file beyond the limit is not read into memory."""
    # Asked before it is opened: opening a pipe waits for somebody to write into it.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise BadPage(
            "not a regular file", hint="A line in .gbrainignore leaves it out.", code="not_a_file"
        )
    with open(path, "rb") as file:
        return file.read(MAX_PAGE_BYTES + 1)


def _read_elsewhere(root: str, files: Iterator[FileToParse]) -> Iterator[ParsedFile]:
    from queue import Queue
    from subprocess import PIPE, Popen
    from threading import Thread

    failure: list[BaseException] = []
    # Enough for the other process to go on while this one stores a batch.
    ready: Queue[bytes | None] = Queue(_GROUPS_AHEAD)

    def feed(pipe: BinaryIO) -> None:
        try:
            with pipe:
                while group := list(islice(files, _GROUP)):
                    _send(pickle.dumps(group), pipe)
        except BaseException as error:
            failure.append(error)

    def collect(pipe: BinaryIO) -> None:
        while (answer := _receive(pipe)) is not None:
            ready.put(answer)
        ready.put(None)

    # With -P: a module that lies in the current folder, which may be the vault, is not loaded.
    command = [sys.executable, "-P", "-c", _START, _PACKAGES, root]
    with Popen(command, stdin=PIPE, stdout=PIPE) as child:
        feeder = Thread(target=feed, args=(child.stdin,), daemon=True)
        collector = Thread(target=collect, args=(child.stdout,), daemon=True)
        feeder.start()
        collector.start()
        try:
            while (answer := ready.get()) is not None:
                yield from pickle.loads(answer)
            feeder.join()
            code = child.wait()
        finally:
            child.kill()
    if failure and not isinstance(failure[0], BrokenPipeError):
        raise failure[0]
    if code != 0:
        raise GbrainError(
            "The process that reads the files ended too early",
            hint="What was read is in the brain; run the command again for the rest.",
            code="interrupted",
        )


def _send(message: bytes, pipe: BinaryIO) -> None:
    pipe.write(len(message).to_bytes(8, "big") + message)
    pipe.flush()


def _receive(pipe: BinaryIO) -> bytes | None:
    """The next message; None when there are no more, or the other end died in the middle."""
    size = pipe.read(8)
    message = pipe.read(int.from_bytes(size, "big")) if len(size) == 8 else b""
    return message if message else None


def serve(root: str) -> None:
    """Reads groups of files and answers each with its pages, until there are no more."""
    # Ctrl-C reaches both processes; the one that asked for the pages ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while (message := _receive(source)) is not None:
        group: list[FileToParse] = pickle.loads(message)
        answers = [_read(root, file) for file in group]
        _send(pickle.dumps(answers, pickle.HIGHEST_PROTOCOL), target)
