"""Write files atomically: under a temporary name that is renamed to the target at the end."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import ENOENT
from pathlib import Path
from time import time
from typing import BinaryIO, Self

from gbrain.errors import GbrainError
from gbrain.paths import make_folder
from gbrain.store.atomic_rename import rename_exclusive
from gbrain.store.edited_files import FileChanged, replace_unchanged

# Files that SQLite keeps next to a database.
SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")

_UNFINISHED = ".gbrain-new"
# Younger files are never removed: a process in another container may be writing them.
_ABANDONED_SECONDS = 3600.0


class TemporaryFile:
    """A new file under a name that nobody can predict, until it gets its final name.

    The file stays open, so that the file that is published is the one that was created.
    """

    def __init__(self, folder: Path, mode: int) -> None:
        # Not named after the target, whose name may already have the maximum length.
        self.path = folder / f".file.{os.urandom(8).hex()}{_UNFINISHED}"
        # Exclusive: never write through a link that somebody else put there.
        self.handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)

    def place(self, target: Path) -> None:
        """Give the file its final name; raise FileExistsError if that exists."""
        self._release()
        rename_exclusive(self.path, target)

    def replace_unchanged(self, target: Path, expected: bytes) -> None:
        """Give the file its final name; raise FileChanged if its file has other content."""
        self._release()
        replace_unchanged(self.path, target, expected)

    def replace(self, target: Path) -> None:
        """Give the file its final name, replacing a file of that name."""
        self._release()
        os.replace(self.path, target)

    def _release(self) -> None:
        """Close the file; raise FileNotFoundError if its name no longer refers to it."""
        same = os.path.samestat(os.lstat(self.path), os.fstat(self.handle))
        self.close()
        if not same:
            raise FileNotFoundError(ENOENT, "its temporary file was replaced", str(self.path))

    def close(self) -> None:
        """Close the file, if it is open: Windows renames no open file."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


@contextmanager
def temporary_file(folder: Path, mode: int = 0o600) -> Iterator[TemporaryFile]:
    """Yield a new file in `folder`; it is deleted at the end unless it got its final name."""
    file = TemporaryFile(folder, mode)
    try:
        yield file
    finally:
        file.close()
        remove_temporary(file.path)


def remove_second_names(path: Path) -> None:
    """Remove temporary names of a finished file, left when the power failed as it got its own."""
    with suppress(OSError):
        for left in path.parent.glob(f".*{_UNFINISHED}"):
            if os.path.samefile(left, path):
                os.unlink(left)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk; ignore file systems that cannot."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_durable_folder(folder: Path, mode: int = 0o700) -> None:
    """Create a folder and its missing parents, and flush their names to the disk."""
    missing = [made for made in (folder, *folder.parents) if not made.exists()]
    make_folder(folder, mode)
    for made in missing:
        flush_folder(made.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed processes; ignore those that cannot be removed."""
    with suppress(OSError):
        for left in find_leftovers(folder):
            remove_temporary(left)


def find_leftovers(folder: Path) -> list[Path]:
    """Return the temporary files in a folder that nobody has written to for an hour."""
    newest = time() - _ABANDONED_SECONDS
    return [left for left in folder.glob(f".*{_UNFINISHED}") if _changed_at(left) < newest]


def _changed_at(file: Path) -> float:
    """Return when a temporary file, or its journal or log, was last written."""
    times = [0.0]
    for ending in ("", *SQLITE_SUFFIXES):
        with suppress(OSError):
            times.append(os.lstat(f"{file}{ending}").st_mtime)
    return max(times)


def remove_temporary(building: Path) -> None:
    """Remove a temporary file and the files that SQLite keeps next to it."""
    # The database last: find_leftovers finds the other files only through it.
    for ending in (*SQLITE_SUFFIXES, ""):
        with suppress(OSError):
            os.unlink(f"{building}{ending}")


_BOM = b"\xef\xbb\xbf"


@contextmanager
def atomic_write(target: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `target` when the block ends without an error.

    The target keeps its permissions; a new file gets those of the user's umask, never writable by
    others. Raises FileExistsError if the target is a link, pipe or device. The caller removes
    leftovers in the folder.
    """
    mode = _mode_of(target)
    with temporary_file(target.parent, 0o644 if mode is None else mode) as temporary:
        with open(temporary.handle, "wb", closefd=False) as file:
            yield file
            file.flush()
            os.fsync(temporary.handle)
        if mode is not None:
            os.chmod(temporary.path, mode)
        temporary.replace(target)
    flush_folder(target.parent)


def copy_attributes(source: Path, target: Path) -> None:
    """Give the target the owner, mode and extended attributes of the source, and a new time."""
    status = source.stat()
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.chown(target, status.st_uid, status.st_gid)
        except PermissionError:
            with suppress(PermissionError):
                os.chown(target, -1, status.st_gid)
    from shutil import copystat

    # After the owner: changing that clears some bits of the mode.
    copystat(source, target)
    os.utime(target)


class AtomicWrites:
    """Many atomic writes that share their flushes: one takes milliseconds, for any number of files.

    Leave the `with` block to delete what was not published.
    """

    def __init__(self) -> None:
        self._files = ExitStack()
        self._written: list[tuple[TemporaryFile, Path, bytes | None]] = []

    def __len__(self) -> int:
        return len(self._written)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def write(self, target: Path, data: bytes, expected: bytes | None) -> None:
        """Write the new content of `target` to a temporary file; raise as `atomic_write` does.

        `expected` is what it contains now, None if it does not exist.
        """
        mode = _mode_of(target)
        temporary = self._files.enter_context(
            temporary_file(target.parent, 0o644 if mode is None else mode)
        )
        with open(temporary.handle, "wb", closefd=False) as file:
            file.write(data)
        if mode is not None:
            copy_attributes(target, temporary.path)
        self._written.append((temporary, target, expected))

    def publish(self) -> dict[Path, OSError]:
        """Give all files their names; return the errors of those that could not get theirs.

        A file that has been changed since it was read is left alone.
        """
        failed: dict[Path, OSError] = {}
        # Data before names: else a power loss leaves empty files, which sync reads as edits.
        if hasattr(os, "sync"):
            os.sync()
        for temporary, target, expected in self._written:
            try:
                if not hasattr(os, "sync"):
                    os.fsync(temporary.handle)
                _publish(temporary, target, expected)
            except OSError as error:
                failed[target] = error
        for folder in {target.parent for _, target, _ in self._written}:
            flush_folder(folder)
        self._written.clear()
        self._files.close()
        return failed


def _publish(temporary: TemporaryFile, target: Path, expected: bytes | None) -> None:
    """Give a file its name; raise FileChanged if another program wrote the target meanwhile."""
    if expected is not None:
        temporary.replace_unchanged(target, expected)
        return
    try:
        temporary.place(target)
    except FileExistsError:
        raise FileChanged from None


def _mode_of(target: Path) -> int | None:
    """Return the permission bits of the target; None if it does not exist."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise FileExistsError(0, "it is not a regular file", str(target))
    return mode & 0o777


def write_markup(target: Path, text: str) -> None:
    """Write an HTML or SVG file atomically; raise GbrainError if that is not possible."""
    check_markup_target(target)
    remove_leftovers(target.parent)
    try:
        with atomic_write(target) as file:
            file.write(text.encode())
    except OSError as error:
        raise _cannot_write(target, error.strerror) from None


def refuse_target(target: Path) -> None:
    """Raise GbrainError for a file that no command may write.

    That is a part of a brain (-wal, -shm, -journal) and a file that this process has open: the
    brain itself. Call this before reading the file, because closing it would release the locks.
    """
    refuse_part_of_brain(target)
    if is_open_here(target):
        raise _cannot_write(target, "it is the brain itself")


def refuse_part_of_brain(target: Path) -> None:
    """Raise GbrainError for a name that SQLite uses for a file next to a brain."""
    if os.path.realpath(target).endswith(SQLITE_SUFFIXES):
        raise _cannot_write(target, "SQLite uses this name for a part of a brain")


def is_open_here(file: Path) -> bool:
    """Return whether this process has the file open, under any name."""
    try:
        known, handles = os.stat(file), os.listdir("/dev/fd")
    except OSError:
        return False
    for name in handles:
        with suppress(OSError, ValueError):
            if os.path.samestat(os.fstat(int(name)), known):
                return True
    return False


def check_markup_target(target: Path) -> None:
    """Raise GbrainError if the target exists and is not HTML or SVG: it might be a brain."""
    refuse_target(target)
    try:
        if _mode_of(target) is None:
            return
        with target.open("rb") as file:
            start = file.read(1000).removeprefix(_BOM).lstrip()
    except OSError as error:
        raise _cannot_write(target, error.strerror) from None
    if start and not start.startswith(b"<"):
        raise _cannot_write(target, "the file exists and is not HTML or SVG")


def _cannot_write(target: Path, reason: str | None) -> GbrainError:
    return GbrainError(
        f"Cannot write {target}: {reason}", hint="Choose another file name.", code="cannot_write"
    )


def process_is_alive(pid: int) -> bool:
    """Return whether a process with this id runs on this machine."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
