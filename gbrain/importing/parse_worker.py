"""Read and parse files or texts, in a second process when there are many."""

from __future__ import annotations

import os
import pickle
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain, islice
from queue import SimpleQueue
from typing import BinaryIO, Self

from gbrain.errors import BadPage, GbrainError
from gbrain.text.page import MAX_PAGE_BYTES, parse_page
from gbrain.types import Page

# A path below the folder's root, and the file's hash at the last import.
FileToParse = tuple[str, bytes | None]
# A path with its page, the error for it, or None if the file is unchanged.
ParsedFile = tuple[str, Page | GbrainError | None]
# A path and the text of the page there.
TextToParse = tuple[str, bytes]

# Fewer files are parsed before a second process has started.
_MIN_FILES_FOR_PROCESS = 300
_FILES_PER_MESSAGE = 64
_MAX_WAITING_MESSAGES = 32

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from gbrain.importing.parse_worker import serve; serve(sys.argv[2])"
)


def parse_files(root: str, files: Iterable[FileToParse]) -> Iterator[ParsedFile]:
    """Yield each file's path with its page, in order; an unchanged file is not parsed.

    With many files and more than one core, a second process parses while the caller writes, and
    only a few pages are in memory at a time. `files` may then be consumed on another thread.
    """
    source = iter(files)
    first = list(islice(source, _MIN_FILES_FOR_PROCESS + 1))
    many = len(first) > _MIN_FILES_FOR_PROCESS and (os.cpu_count() or 1) > 1 and sys.executable
    everything = chain(first, source)
    if many:
        groups = iter(lambda: list(islice(everything, _FILES_PER_MESSAGE)), [])
        return _parse_in_process(root, groups)
    return (_parse_file(root, file) for file in everything)


class TextParser:
    """Parses batches of texts, each while the caller works on the one before; use it in `with`.

    With `many` texts and more than one core a second process does it.
    """

    def __init__(self, *, many: bool) -> None:
        self._in_process = many and (os.cpu_count() or 1) > 1 and bool(sys.executable)
        self._groups: SimpleQueue[list[TextToParse]] = SimpleQueue()
        self._parsed: Iterator[ParsedFile] = iter(())
        if self._in_process:
            self._parsed = _parse_in_process("", iter(self._groups.get, []))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Ends the process: nothing else is sent to it.
        self._groups.put([])
        close = getattr(self._parsed, "close", None)
        if close:
            close()

    def submit(self, texts: list[TextToParse]) -> None:
        """Begin to parse a batch that is not empty."""
        self._groups.put(texts)

    def results(self, count: int) -> list[ParsedFile]:
        """Return the next `count` results, in the order of the texts."""
        if self._in_process:
            return list(islice(self._parsed, count))
        return [_parse_text(text) for text in self._groups.get()] if count else []


def _parse_text(text: TextToParse) -> ParsedFile:
    """Return the page of a text, or the error for it."""
    path, data = text
    try:
        return path, parse_page(path, data)
    except GbrainError as error:
        return path, error


def _parse_file(root: str, file: FileToParse) -> ParsedFile:
    """Return the file's page or error; None for the page if the file's hash is unchanged."""
    path, imported_hash = file
    try:
        data = _read_bytes(f"{root}/{path}")
        if imported_hash is not None and sha256(data).digest() == imported_hash:
            return path, None
        return path, parse_page(path, data)
    except FileNotFoundError:
        # An editor replaces it at this moment; the next run reads it.
        return path, None
    except OSError as error:
        return path, GbrainError(
            f"cannot be read: {error.strerror}",
            hint="Check its permissions, or list it in .gbrainignore.",
            code="cannot_read",
        )
    except GbrainError as error:
        return path, error


def _read_bytes(path: str) -> bytes:
    """Return the file's bytes, at most one more than a page may have."""
    # Checked before opening: opening a pipe blocks until another process writes to it.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise BadPage(
            "not a regular file", hint="List it in .gbrainignore to skip it.", code="not_a_file"
        )
    with open(path, "rb") as file:
        return file.read(MAX_PAGE_BYTES + 1)


def _parse_in_process(
    root: str, groups: Iterator[list[FileToParse]] | Iterator[list[TextToParse]]
) -> Iterator[ParsedFile]:
    """Yield what a second process parsed; raise GbrainError if it ended early.

    Without a `root` the groups have texts, else files below it.
    """
    from queue import Queue
    from subprocess import PIPE, Popen
    from threading import Thread

    failure: list[BaseException] = []
    # Enough for the second process to keep working while this one writes a batch.
    ready: Queue[bytes | None] = Queue(_MAX_WAITING_MESSAGES)

    def feed(pipe: BinaryIO) -> None:
        try:
            with pipe:
                for group in groups:
                    _send(pickle.dumps(group, pickle.HIGHEST_PROTOCOL), pipe)
        except BaseException as error:
            failure.append(error)

    def collect(pipe: BinaryIO) -> None:
        while (answer := _receive(pipe)) is not None:
            ready.put(answer)
        ready.put(None)

    # -P: never load a Python module from the current folder, which may be the notes folder.
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
            "The process that parses the files ended too early",
            hint="Run the command again to import the remaining files.",
            code="interrupted",
        )


def _send(message: bytes, pipe: BinaryIO) -> None:
    pipe.write(len(message).to_bytes(8, "big") + message)
    pipe.flush()


def _receive(pipe: BinaryIO) -> bytes | None:
    """Return the next message; None at the end, or if the other process died."""
    size = pipe.read(8)
    message = pipe.read(int.from_bytes(size, "big")) if len(size) == 8 else b""
    return message if message else None


def serve(root: str) -> None:
    """Parse files in the second process: answer each message until the input ends."""
    # Ctrl-C reaches both processes; the main one ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while (message := _receive(source)) is not None:
        group = pickle.loads(message)
        answers = [_parse_file(root, each) if root else _parse_text(each) for each in group]
        try:
            _send(pickle.dumps(answers, pickle.HIGHEST_PROTOCOL), target)
        except BrokenPipeError:
            # The main process was killed; a traceback would appear in its user's terminal.
            os._exit(1)
