"""Runs gbrain commands under `disk_shim.c`, which records or fails what they write.

As a program this is the server that loads gbrain once and forks for each command:

    LD_PRELOAD=disk_shim.so … python disk_shim.py
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

NOON = "2026-11-16T12:00:00"
_SOURCE = Path(__file__).with_name("disk_shim.c")
_RECORD = struct.Struct("=c3xIIIQq")


class Event(NamedTuple):
    """One change of the disk: `kind` is the letter that `disk_shim.c` gives it."""

    kind: str
    path: str
    second: str
    inode: int
    offset: int
    data: bytes


class Failure(NamedTuple):
    """Which call fails (counted from 0), with which error, and what becomes of the later ones."""

    call: int
    error: int
    kind: int


FAIL_ONCE, SHORT_WRITE, FAIL_FROM_HERE = 0, 1, 2


class Outcome(NamedTuple):
    """The end of a command; `calls` are those that could have failed."""

    exit_code: int
    stderr: str
    calls: int


class ShimmedPrograms:
    """gbrain commands whose changes below `root` are recorded in a log."""

    def __init__(self, root: Path, log: Path, server: subprocess.Popen[str]) -> None:
        self.root, self._log, self._server = root, log, server
        self._read = 0

    def run(
        self,
        *arguments: str,
        stdin: str = "",
        root: Path | None = None,
        failure: Failure | None = None,
    ) -> Outcome:
        """Run a command in a child of the server, with the brain `brain.db` of the root."""
        assert self._server.stdin
        assert self._server.stdout
        order = {
            "arguments": arguments, "stdin": stdin, "root": str(root or self.root),
            "failure": failure,
        }  # fmt: skip
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, "the server died"
        return Outcome(*json.loads(answer))

    def events(self) -> list[Event]:
        """Return what was recorded since the last call."""
        if not self._log.exists():
            return []
        with self._log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        return list(_parse_log(data))


def _parse_log(data: bytes) -> Iterator[Event]:
    at = 0
    while at < len(data):
        kind, path, second, size, inode, offset = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        texts = []
        for length in (path, second, size):
            texts.append(data[at : at + length])
            at += length
        yield Event(
            kind.decode(), os.fsdecode(texts[0]), os.fsdecode(texts[1]), inode, offset, texts[2]
        )


@contextmanager
def shimmed_programs(root: Path, folder: Path) -> Iterator[ShimmedPrograms]:
    """Compile the shim into `folder`, start the server and yield it; skip without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler for the LD_PRELOAD library")
    library, log = folder / "disk_shim.so", folder / "log"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE)], check=True
    )
    environment = {
        **os.environ, "LD_PRELOAD": str(library), "DISK_SHIM_ROOT": str(root.resolve()),
        "DISK_SHIM_LOG": str(log), "GBRAIN_NOW": NOON,
    }  # fmt: skip
    with subprocess.Popen(
        [sys.executable, __file__, str(library)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            yield ShimmedPrograms(root, log, server)
        finally:
            assert server.stdin
            server.stdin.close()
            server.wait(timeout=60)


# --- the server ----------------------------------------------------------------------------------


def _serve() -> None:
    library = ctypes.CDLL(sys.argv[1])
    import_all()
    # Not from sys.stdin, which belongs to the commands.
    with open(os.dup(0)) as orders, open(os.dup(1), "w") as answers:
        for line in orders:
            print(json.dumps(_run_order(json.loads(line), library)), file=answers, flush=True)


def _run_order(order: dict[str, Any], library: ctypes.CDLL) -> Outcome:
    results, errors = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(order, library, results[1], errors[1])
    os.close(results[1])
    os.close(errors[1])
    with open(errors[0]) as stream:
        stderr = stream.read()
    with open(results[0]) as stream:
        calls = int(stream.read() or -1)
    _, status = os.waitpid(child, 0)
    return Outcome(os.waitstatus_to_exitcode(status), stderr, calls)


def import_all() -> None:
    """Import what commands import lazily, so that each fork has it."""
    from importlib import import_module

    import sqlite_utils  # noqa: F401

    from gbrain.cli.app import COMMANDS

    for module in sorted({name for name, _ in COMMANDS.values()}):
        import_module(f"gbrain.cli.{module}")


def _run_child(order: dict[str, Any], library: ctypes.CDLL, result: int, errors: int) -> None:
    from gbrain.cli.main import run_command

    code = 1
    try:
        root = order["root"]
        os.environ.update(
            GBRAIN_DB=f"{root}/brain.db", HOME=f"{root}/home",
            **{f"XDG_{name}_HOME": f"{root}/home/{name}" for name in ("STATE", "CACHE", "DATA")},
        )  # fmt: skip
        read, write = os.pipe()
        os.write(write, order["stdin"].encode())
        os.close(write)
        os.dup2(read, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        if order["failure"]:
            library.disk_fail(*map(int, order["failure"]))
        try:
            code = run_command(order["arguments"])
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os.write(result, str(library.disk_calls()).encode())
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve()
