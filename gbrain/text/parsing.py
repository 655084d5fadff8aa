"""Many files into pages, in a process of their own when there are many."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import BinaryIO

from gbrain.errors import GbrainError
from gbrain.text.page import parse_page
from gbrain.types import Page

File = tuple[str, bytes]
Parsed = tuple[str, Page | GbrainError]

# Fewer files are parsed before another process has even started.
_WORTH_A_PROCESS = 300
_GROUP = 32


def parse_all(files: Iterable[File]) -> Iterator[Parsed]:
    """Each file's path with its page, or with what is wrong with it, in order.

    With many files and a second core, another process parses while the caller stores; only a few
    files are held at a time. `files` may then be read on another thread.
    """
    source = iter(files)
    first = list(islice(source, _WORTH_A_PROCESS + 1))
    many = len(first) > _WORTH_A_PROCESS and (os.cpu_count() or 1) > 1 and sys.executable
    everything = chain(first, source)
    return _parsed_elsewhere(everything) if many else map(_parsed, everything)


def _parsed(file: File) -> Parsed:
    path, data = file
    try:
        return path, parse_page(path, data)
    except GbrainError as error:
        return path, error


def _parsed_elsewhere(files: Iterator[File]) -> Iterator[Parsed]:
    from subprocess import PIPE, Popen
    from threading import Thread

    failure: list[BaseException] = []

    def feed(pipe: BinaryIO) -> None:
        try:
            with pipe:
                while group := list(islice(files, _GROUP)):
                    pickle.dump(group, pipe)
                    pipe.flush()
        except BaseException as error:
            failure.append(error)

    with Popen([sys.executable, "-m", "gbrain.text.parsing"], stdin=PIPE, stdout=PIPE) as child:
        assert child.stdin
        assert child.stdout
        feeder = Thread(target=feed, args=(child.stdin,), daemon=True)
        feeder.start()
        try:
            while True:
                yield from pickle.load(child.stdout)
        except EOFError:
            feeder.join()
        finally:
            child.kill()
    if failure:
        raise failure[0]


def _serve(source: BinaryIO, target: BinaryIO) -> None:
    """Reads groups of files and answers each with its pages, until there are no more."""
    while True:
        try:
            group: list[File] = pickle.load(source)
        except EOFError:
            return
        pickle.dump([_parsed(file) for file in group], target, pickle.HIGHEST_PROTOCOL)
        target.flush()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
