"""The ways in which editors save a file, each as steps between which other programs may act."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

Change = Callable[[str | None], str]
Steps = Iterator[None]


def save_file(file: Path, way: str, change: Change, before: Callable[[], None]) -> Steps:
    """Save the file with its text changed, in the way of `WAYS_TO_SAVE` with this name.

    The text is read at the start, as by an editor that loads a file again when it was changed.
    `before` is called when the first change is made.
    """
    return WAYS_TO_SAVE[way](file, change, before)


def read_text(file: Path) -> str | None:
    """Return the text of a file; None if there is none."""
    try:
        return file.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None


def _in_place(file: Path, change: Change, before: Callable[[], None]) -> Steps:
    """Write into the file that exists, in two parts, and cut it at its new end."""
    data = change(read_text(file)).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    before()
    handle = os.open(file, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.write(handle, data[: len(data) // 2])
        yield
        os.write(handle, data[len(data) // 2 :])
        os.ftruncate(handle, len(data))
    finally:
        os.close(handle)


def _truncate(file: Path, change: Change, before: Callable[[], None]) -> Steps:
    """Empty the file, then write it."""
    data = change(read_text(file)).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    before()
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        yield
        os.write(handle, data)
    finally:
        os.close(handle)


def _rename_over(
    file: Path, change: Change, before: Callable[[], None], *, flush: bool = False
) -> Steps:
    """Write a temporary file and rename it to the name of the file."""
    data = change(read_text(file)).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    before()
    temporary = file.with_name(f".{file.name}.tmp")
    with temporary.open("wb") as new:
        new.write(data)
        if flush:
            yield
            new.flush()
            os.fsync(new.fileno())
    yield
    os.rename(temporary, file)


def _flush_and_rename(file: Path, change: Change, before: Callable[[], None]) -> Steps:
    """Write a temporary file, flush it to the disk, then rename it."""
    return _rename_over(file, change, before, flush=True)


def _rename_away(file: Path, change: Change, before: Callable[[], None]) -> Steps:
    """Rename the file to a backup and write a new one: for a moment there is none."""
    data = change(read_text(file)).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    before()
    backup = file.with_name(f"{file.name}~")
    with suppress(FileNotFoundError):
        os.rename(file, backup)
    yield
    with file.open("wb") as new:
        new.write(data)
    yield
    backup.unlink(missing_ok=True)


WAYS_TO_SAVE: dict[str, Callable[[Path, Change, Callable[[], None]], Steps]] = {
    "in-place": _in_place,
    "rename-over": _rename_over,
    "rename-away": _rename_away,
    "flush-rename": _flush_and_rename,
    "truncate": _truncate,
}
