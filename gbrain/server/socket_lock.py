"""The lock of the process that has a brain open for others, which says who it is."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

from gbrain.locations import brain_key, is_private, runtime_folder
from gbrain.store.atomic_files import process_is_alive
from gbrain.store.jobs import worker_name

_MAX_BYTES = 1000
# `find_holder` has the lock for a moment.
_TRIES, _WAIT_SECONDS = 20, 0.01
# A process that is there for this alone; others go on when they no longer listen.
_DEDICATED = "dedicated"


@contextmanager
def hold_lock(path: str, *, dedicated: bool) -> Iterator[None]:
    """Hold the lock in a block; raise BlockingIOError if another process has it."""
    import fcntl

    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        for tries_left in range(_TRIES, -1, -1):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if not tries_left:
                    raise
                sleep(_WAIT_SECONDS)
        os.ftruncate(lock, 0)
        os.write(lock, f"{worker_name()}\n{_DEDICATED if dedicated else ''}\n".encode())
        yield
    finally:
        os.close(lock)


class Holder:
    """A process that has a brain open; `pid` is None if this one cannot see it.

    `dedicated` says that it is there for this alone.
    """

    def __init__(self, lock: Path, text: str) -> None:
        name, _, rest = text.partition("\n")
        machine, _, number = name.rpartition(":")
        is_here = machine == worker_name().rpartition(":")[0] and number.isdecimal()
        self.pid = int(number) if is_here else None
        self.dedicated = rest.strip() == _DEDICATED
        self._lock = lock
        self._handle: int | None = None
        # A process that is open cannot become another one with the same number.
        if self.pid is not None and hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self._handle = os.pidfd_open(self.pid)

    def has_brain(self) -> bool:
        """Tell whether it still has the brain open for others, or is dedicated and still there."""
        return _is_locked(self._lock) or (self.dedicated and self.is_alive())

    def is_alive(self) -> bool:
        """Tell whether the process runs."""
        if self._handle is not None:
            return not select.select([self._handle], [], [], 0)[0]
        return self.pid is not None and process_is_alive(self.pid)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; the process may have ended."""
        with suppress(ProcessLookupError):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, number)
            elif self.pid is not None:
                os.kill(self.pid, number)

    def close(self) -> None:
        """Give up the handle."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle = None


def find_holder(brain: str) -> Holder | None:
    """Return the process that has a brain open for others, whether it answers or not."""
    key = brain_key(os.path.expanduser(brain))
    folder = runtime_folder(os.environ) if hasattr(os, "getuid") else ""
    if key is None or not folder or not is_private(folder):
        return None
    lock = Path(folder, f"{key}.lock")
    for _ in range(_TRIES):
        if not _is_locked(lock):
            return None
        text = lock.read_bytes()[:_MAX_BYTES].decode(errors="replace")
        holder = Holder(lock, text)
        # Unless another process has taken the lock since.
        if text and _is_locked(lock) and lock.read_bytes()[:_MAX_BYTES].decode() == text:
            return holder
        holder.close()
        sleep(_WAIT_SECONDS)
    return Holder(lock, "")


def _is_locked(lock: Path) -> bool:
    import fcntl

    try:
        handle = os.open(lock, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
