"""Rename files in one step: exchange the names of two, or take a name only if it is free."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from errno import EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP, EPERM
from functools import cache
from pathlib import Path

# Of renameat2 (Linux) and renamex_np (macOS): take only a free name; exchange two names.
_EXCLUSIVE, _EXCHANGE = (4, 2) if sys.platform == "darwin" else (1, 2)
_AT_FDCWD = -100
# What file systems, kernels and sandboxes answer that do not know the call or the flag.
_UNSUPPORTED = (EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP, EPERM)


class CannotExchange(OSError):
    """The file system or the platform cannot exchange two names in one step."""


def exchange(first: Path, second: Path) -> None:
    """Give each of two files the name of the other, in one step; raise CannotExchange if it cannot.

    Raises FileNotFoundError if one of them does not exist.
    """
    if not _rename_with_flag(first, second, _EXCHANGE):
        raise CannotExchange


def rename_exclusive(source: Path, target: Path) -> None:
    """Rename a file; raise FileExistsError if there is one named `target`.

    Without a system call for that, `source` must be a name that no other program uses. Where there
    are no hard links either (FAT on macOS), a file that gets the name `target` within the same
    microseconds is replaced.
    """
    if os.name == "nt":
        # Which never replaces a file there.
        os.rename(source, target)
        return
    if _rename_with_flag(source, target, _EXCLUSIVE):
        return
    if not os.path.islink(source):
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:
            pass
        else:
            with suppress(OSError):
                os.unlink(source)
            return
    if os.path.lexists(target):
        raise FileExistsError(target)
    os.rename(source, target)


def _rename_with_flag(source: Path, target: Path, flag: int) -> bool:
    """Rename with a flag; return False where that is not supported."""
    call = _system_call()
    if call is None:
        return False
    error = call(os.fsencode(source), os.fsencode(target), flag)
    if error and error not in _UNSUPPORTED:
        raise OSError(error, os.strerror(error), str(source), None, str(target))
    return not error


@cache
def _system_call() -> Callable[[bytes, bytes, int], int] | None:
    """Return a function that renames with a flag and returns errno, or 0; None without a call."""
    if os.name != "posix":
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        name, folder = "renamex_np", ()
    else:
        name, folder = "renameat2", (_AT_FDCWD,)
    function = getattr(library, name, None)
    if function is None:
        return None
    one_name = (*[ctypes.c_int for _ in folder], ctypes.c_char_p)
    function.argtypes = (*one_name, *one_name, ctypes.c_uint)

    def rename(source: bytes, target: bytes, flag: int) -> int:
        failed = function(*folder, source, *folder, target, flag)
        return ctypes.get_errno() if failed else 0

    return rename
