"""Replace, remove and move files that other programs may be saving at that moment.

A file is first renamed, in one step, to a hidden name next to its own, and only then compared with
the text that was expected. One with another text gets its name back. So no text is lost that a
program saved before that step, by any means, or after it; nor, where the system tells which files
are open (Linux), one that it writes into the old file later.

The hidden name has the digests of the texts that are known, so that after a kill or a power loss
`recover_files` can tell a file that nobody needs from one that must get its name back.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EAGAIN, EWOULDBLOCK
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep, time
from typing import Literal

from gbrain.store.atomic_rename import CannotExchange, exchange, rename_exclusive

_SET_ASIDE = ".gbrain-old"
# Its name, the known digests, and what makes the hidden name unique.
_HIDDEN_NAME = re.compile(
    r"\.(.+)\.([0-9a-f]{16}(?:-[0-9a-f]{16})*)\.[0-9a-f]{8}" + re.escape(_SET_ASIDE), re.DOTALL
)
_MAX_NAME_BYTES = 255
# Where a folder cannot be locked, who set a file aside is taken for dead after this time.
_ABANDONED_SECONDS = 3600.0
# An editor that writes into a file has it open for milliseconds.
_WRITER_TIMEOUT_SECONDS = 0.25
_BINARY = getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | _BINARY


class FileChanged(OSError):
    """The file was changed, created or removed after its content was read.

    `content` is what it had in place of the expected one, if it was replaced for a moment. By now
    that may be overwritten by a program that read the new content in that moment.
    """

    def __init__(self, content: bytes | None = None) -> None:
        super().__init__("it was changed meanwhile")
        self.content = content


def replace_unchanged(new: Path, target: Path, expected: bytes) -> None:
    """Rename the finished file `new` to `target`, which has the content `expected`.

    Raises FileChanged if it has another; then `target` has that, and `new` is gone.
    """
    known = (_digest_of(expected), _digest_of(new.read_bytes()))
    with _busy(target.parent):
        hidden = _hidden_name(target, known)
        os.rename(new, hidden)
        try:
            old = _swap(hidden, target, known)
        except OSError as error:
            # The new file: it was not placed.
            _drop(hidden, known)
            if isinstance(error, FileNotFoundError):
                raise FileChanged from None
            raise
        if not _drop(old, known[:1]):
            content = _read_settled(old)
            _put_back(old, target, known)
            raise FileChanged(content)


def _swap(new: Path, target: Path, known: tuple[str, str]) -> Path:
    """Give `new` the name `target`; return the hidden name of the file that had it."""
    if not _is_settled(target, known[:1]):
        raise FileChanged
    try:
        exchange(new, target)
    except CannotExchange:
        old = _hidden_name(target, known)
        os.rename(target, old)
        try:
            if not _is_settled(old, known[:1]):
                raise FileChanged
            rename_exclusive(new, target)
        except OSError as error:
            _put_back(old, target, known)
            if isinstance(error, FileExistsError):
                raise FileChanged from None
            raise
        return old
    return new


def remove_unchanged(target: Path, expected: bytes) -> None:
    """Remove a file with the content `expected`; raise FileChanged if it has another."""
    known = (_digest_of(expected),)
    with _busy(target.parent):
        hidden = _set_aside(target, known)
        if not _drop(hidden, known):
            _put_back(hidden, target, known)
            raise FileChanged


def is_unchanged(target: Path, expected: bytes) -> bool:
    """Tell whether a file has the content `expected`, and no program has it open to write."""
    try:
        return _is_settled(target, (_digest_of(expected),))
    except FileNotFoundError:
        return False


def remove_second_name(name: Path, other: Path) -> None:
    """Remove the name of a file whose other name is `other`; leave another file of that name."""
    with _busy(name.parent), suppress(FileChanged):
        hidden = _set_aside(name)
        if os.path.lexists(other) and os.path.samestat(os.lstat(hidden), os.lstat(other)):
            os.unlink(hidden)
        else:
            _put_back(hidden, name)


def remove_if_link(link: Path) -> None:
    """Remove a symbolic link; leave a file that has its name by now."""
    with _busy(link.parent), suppress(FileChanged):
        hidden = _set_aside(link)
        if hidden.is_symlink():
            os.unlink(hidden)
        else:
            _put_back(hidden, link)


def recover_files(folder: Path) -> list[Path]:
    """Give files back their names that a killed process set aside in this folder; return these.

    A file whose text is known is removed instead if there is one of its name.
    """
    try:
        names = [name for name in os.listdir(folder) if name.endswith(_SET_ASIDE)]
    except OSError:
        return []
    if not names:
        return []
    recovered = []
    with _locked(folder, "exclusive") as lock:
        for name in names:
            found = _HIDDEN_NAME.fullmatch(name)
            hidden = folder / name
            with suppress(OSError):
                old_enough = os.lstat(hidden).st_ctime < time() - _ABANDONED_SECONDS
                if found and (lock == "held" or (lock == "unsupported" and old_enough)):
                    placed = _put_back(hidden, folder / found[1], tuple(found[2].split("-")))
                    recovered += [placed] if placed else []
    return recovered


# --- files that are set aside ----------------------------------------------------------------


def _set_aside(target: Path, known: tuple[str, ...] = ()) -> Path:
    """Give a file a hidden name and return that; raise FileChanged if there is none."""
    hidden = _hidden_name(target, known)
    try:
        os.rename(target, hidden)
    except FileNotFoundError:
        raise FileChanged from None
    return hidden


def _hidden_name(target: Path, known: tuple[str, ...]) -> Path:
    """Return an unused hidden name next to a file; of a long name it has the end."""
    ending = f".{'-'.join(known) or '0' * 16}.{os.urandom(4).hex()}{_SET_ASIDE}"
    return target.with_name(f".{_last_bytes(target.name, 1 + len(ending))}{ending}")


def _last_bytes(name: str, taken: int) -> str:
    """Return as much of the end of a name as leaves room for `taken` more bytes."""
    while len(os.fsencode(name)) + taken > _MAX_NAME_BYTES:
        name = name[1:]
    return name


def _drop(hidden: Path, known: tuple[str, ...]) -> bool:
    """Remove a file that was set aside if its text is known; return whether it is."""
    try:
        if not _is_settled(hidden, known):
            return False
    except FileNotFoundError:
        # Recovered by another process.
        raise FileChanged from None
    with suppress(OSError):
        os.unlink(hidden)
    return True


def _put_back(hidden: Path, target: Path, known: tuple[str, ...] = ()) -> Path | None:
    """Give a file that was set aside its name back, if it is free or has the new file.

    The last digest is that of the new file, if there are two. Beside another file, one with a known
    text is removed, and any other one gets a name that its user sees. Returns its name.
    """
    ours = known[1:]
    while True:
        try:
            rename_exclusive(hidden, target)
            return target
        except FileNotFoundError:
            # Recovered by another process.
            return None
        except FileExistsError:
            pass
        if _drop(hidden, known):
            return None
        try:
            has_ours = _is_settled(target, ours)
        except FileNotFoundError:
            # Another program removed it: the name is free now.
            continue
        if has_ours:
            with suppress(CannotExchange, FileNotFoundError):
                exchange(hidden, target)
                if _drop(hidden, ours):
                    return target
                # Another program saved the file at this moment. What it saved has the name again.
                exchange(hidden, target)
        return _show(hidden, target)


def _show(hidden: Path, target: Path) -> Path:
    """Rename a file that was set aside to a free name next to its own, and return that."""
    number = 1
    while True:
        ending = f" (kept{'' if number == 1 else f' {number}'}){target.suffix}"
        shown = target.with_name(_last_bytes(target.stem, len(os.fsencode(ending))) + ending)
        with suppress(FileExistsError):
            rename_exclusive(hidden, shown)
            return shown
        number += 1


# --- contents --------------------------------------------------------------------------------


def _digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def _is_settled(file: Path, known: tuple[str, ...]) -> bool:
    """Tell whether a regular file has one of these texts, and no program has it open to write."""
    content = _read_settled(file) if known else None
    return content is not None and _digest_of(content) in known


def _read_settled(file: Path) -> bytes | None:
    """Return the content of a regular file; None for others, and while a program writes into it.

    Waits a moment for such a program. Raises FileNotFoundError if there is no file.
    """
    try:
        handle = os.open(file, _READ)
    except FileNotFoundError:
        raise
    except OSError:
        # A symbolic link, or a file that may not be read.
        return None
    with open(handle, "rb") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        until = monotonic() + _WRITER_TIMEOUT_SECONDS
        while _has_writer(handle):
            if monotonic() > until:
                return None
            sleep(0.001)
        return opened.read()


def _has_writer(handle: int) -> bool:
    """Tell whether a program has a file open to write; False where the system does not tell.

    Linux grants a read lease only on a file that nobody has open to write.
    """
    try:
        import fcntl
        import signal

        # Should a program open the file before the lease is returned, this signal does nothing.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno in (EAGAIN, EWOULDBLOCK)
    except (ImportError, AttributeError):
        return False
    return False


# --- locks -----------------------------------------------------------------------------------


@contextmanager
def _busy(folder: Path) -> Iterator[None]:
    """Let no other process take what is set aside in the folder for left by a killed one."""
    with _locked(folder, "shared"):
        yield


@contextmanager
def _locked(
    folder: Path, kind: Literal["shared", "exclusive"]
) -> Iterator[Literal["held", "busy", "unsupported"]]:
    """Lock a folder without waiting, and yield whether that was possible."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield "unsupported"
        return
    try:
        state: Literal["held", "busy", "unsupported"] = "held"
        try:
            flag = fcntl.LOCK_SH if kind == "shared" else fcntl.LOCK_EX
            fcntl.flock(handle, flag | fcntl.LOCK_NB)
        except OSError as error:
            state = "busy" if error.errno in (EAGAIN, EWOULDBLOCK) else "unsupported"
        yield state
    finally:
        os.close(handle)
