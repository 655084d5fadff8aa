"""Calls a function whenever gbrain is about to touch a file below a folder, or ends a transaction.

Python's audit events come before each open, rename, link, unlink and listing, whichever module
asks for it, so a test of what happens in between does not depend on the names of functions.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gbrain.store import atomic_rename
from gbrain.store.connection import Database

_EVENTS = frozenset(
    {"open", "os.rename", "os.link", "os.remove", "os.scandir", "os.listdir", "os.mkdir"}
)


class _Watch:
    """What is being watched; audit hooks cannot be removed, so there is one for the process."""

    call: Callable[[], None] | None = None
    root = ""
    installed = False
    busy = False
    # Write transactions that are open: another one would wait for them.
    writing = 0


def in_write_transaction() -> bool:
    """Tell whether gbrain, in this process, is inside of a write transaction."""
    return _Watch.writing > 0


def _report() -> None:
    if _Watch.call is None or _Watch.busy:
        return
    _Watch.busy = True
    try:
        _Watch.call()
    finally:
        _Watch.busy = False


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _Watch.call is None or _Watch.busy or event not in _EVENTS:
        return
    path = arguments[0]
    if isinstance(path, int):
        return
    if os.fsdecode(path).startswith(_Watch.root):
        _report()


@contextmanager
def unreported() -> Iterator[None]:
    """Report nothing during the block: what other programs do to files."""
    before, _Watch.busy = _Watch.busy, True
    try:
        yield
    finally:
        _Watch.busy = before


@lru_cache(maxsize=1)
def _sleeping_modules(loaded: int) -> list[ModuleType]:
    """Return the modules of gbrain that sleep, while so many modules are loaded."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("gbrain.") and getattr(module, "sleep", None) is time.sleep
    ]


@contextmanager
def reported_files(
    root: str, call: Callable[[], None], slept: Callable[[], None]
) -> Iterator[None]:
    """Call `call` before each access to a file below `root` and around each transaction.

    Nothing is reported that `call` itself does. Where modules of gbrain sleep, `slept` is called
    instead.
    """
    if not _Watch.installed:
        sys.addaudithook(_hear)
        _Watch.installed = True
    real = Database.write_transaction

    @contextmanager
    def write_transaction(self: Database) -> Iterator[Any]:
        _report()
        with real(self) as connection:
            _Watch.writing += 1
            try:
                yield connection
            finally:
                _Watch.writing -= 1
        _report()

    rename = atomic_rename._rename_with_flag

    def rename_with_flag(source: Path, target: Path, flag: int) -> bool:
        # A call of the system library, which Python does not announce.
        _report()
        return rename(source, target, flag)

    def sleep(seconds: float) -> None:
        # Also in a command that another one was interrupted for: time passes for everybody.
        with unreported():
            slept()

    sleeping = _sleeping_modules(len(sys.modules))
    Database.write_transaction = write_transaction  # type: ignore[method-assign]
    for module in sleeping:
        module.sleep = sleep  # type: ignore[attr-defined]
    atomic_rename._rename_with_flag = rename_with_flag
    _Watch.root, _Watch.call = root, call
    try:
        yield
    finally:
        _Watch.call = None
        atomic_rename._rename_with_flag = rename
        Database.write_transaction = real  # type: ignore[method-assign]
        for module in sleeping:
            module.sleep = time.sleep  # type: ignore[attr-defined]
