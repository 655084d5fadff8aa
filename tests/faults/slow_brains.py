"""Brains in processes of their own, whose calls to the disk are delayed by `slow_disk.c`.

As a program this is such a process: it reads method calls from standard input.

    LD_PRELOAD=slow_disk.so … python slow_brains.py BRAIN
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import pytest

_SOURCE = Path(__file__).with_name("slow_disk.c")


def compile_slow_disk(folder: Path) -> Path:
    """Compile the library into `folder` and return it; skip the test without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler for the LD_PRELOAD library")
    library = folder / "slow_disk.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE)], check=True
    )
    return library


class SlowBrain:
    """A brain in another process; its methods are those of `Brain`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: object, **options: object) -> Any:
            assert self._process.stdin
            assert self._process.stdout
            with self._lock:
                order = (os.environ["GBRAIN_NOW"], name, arguments, options)
                pickle.dump(order, self._process.stdin)
                self._process.stdin.flush()
                answer = pickle.load(self._process.stdout)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


@contextmanager
def slow_brain(
    library: Path, brain: Path, root: Path, milliseconds: float, environment: Mapping[str, str]
) -> Iterator[SlowBrain]:
    """Open a brain in a process whose calls below `root` take up to so many milliseconds longer."""
    with subprocess.Popen(
        [sys.executable, __file__, str(brain)],
        env={
            **os.environ, **environment, "LD_PRELOAD": str(library), "SLOW_DISK_ROOT": str(root),
            "SLOW_DISK_MICROSECONDS": str(int(milliseconds * 1000)),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield SlowBrain(process)
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(timeout=60)


def _serve(path: str, orders: BinaryIO, answers: BinaryIO) -> None:
    from gbrain.brain import Brain

    while True:
        try:
            now, name, arguments, options = pickle.load(orders)
        except EOFError:
            return
        os.environ["GBRAIN_NOW"] = now
        try:
            # Opened anew for each call, as each command does.
            with Brain.open(path) as brain:
                answer = getattr(brain, name)(*arguments, **options)
            sent = pickle.dumps(answer)
        except Exception as error:
            error.__traceback__ = None
            sent = _pickled_error(error)
        answers.write(sent)
        answers.flush()


def _pickled_error(error: Exception) -> bytes:
    try:
        sent = pickle.dumps(error)
        pickle.loads(sent)
    except Exception:
        from gbrain.errors import GbrainError

        text = f"{type(error).__name__}: {error}"
        if isinstance(error, GbrainError):
            return pickle.dumps(GbrainError(text, hint="", code=error.code))
        return pickle.dumps(RuntimeError(text))
    return sent


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _serve(sys.argv[1], sys.stdin.buffer, out)
