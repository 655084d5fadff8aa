"""Start, find and end the background process that keeps a brain open."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal, NamedTuple

from gbrain.errors import GbrainError
from gbrain.paths import make_folder, state_folder
from gbrain.server.client import exchange, find_socket, request_fields
from gbrain.server.protocol import ASK_STATUS, RELEASE, STATUS, STOP
from gbrain.server.socket_lock import find_holder

# Opening the model and the brain takes less than a second on a quiet machine.
_START_SECONDS = 30.0
_END_SECONDS = 10.0
# A process that computes answers late.
_STATUS_SECONDS = 1.0
# What ends a process that does not do it when asked, and how long that may take.
SIGTERM, _SIGKILL = signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)
_SIGNALS = ((SIGTERM, 5.0), (_SIGKILL, 5.0))

# Processes that outlive this one. Forgetting them would print a warning.
_started: list[subprocess.Popen[bytes]] = []


def warm_status(brain: Path) -> dict[str, Any] | None:
    """Return the status of the process that has this brain open; None if there is none."""
    frames = _request(brain, ASK_STATUS, _STATUS_SECONDS)
    found: list[dict[str, Any]] = [json.loads(data) for kind, data in frames if kind == STATUS]
    return found[0] if found else None


def start_background(brain: Path, *, idle_minutes: float | None = None) -> None:
    """Start a process that keeps the brain open, and return without waiting for it."""
    _start(brain, idle_minutes)


def start_and_wait(brain: Path, *, idle_minutes: float | None = None) -> dict[str, Any]:
    """Start a process that keeps the brain open; return its status once it answers."""
    started, log = _start(brain, idle_minutes)
    _wait(lambda: warm_status(brain) is not None or started.poll() is not None, _START_SECONDS)
    status = warm_status(brain)
    if status is None:
        started.terminate()
        lines = log.read_text("utf-8", "replace").strip().splitlines() if log.is_file() else []
        raise GbrainError(
            f"The background process did not start: {lines[0] if lines else 'no reason given'}",
            hint="gbrain up --foreground shows its messages.",
            code="not_started",
        )
    return status


class Ended(NamedTuple):
    """A process that had the brain open; `status` has no figures if it was silent.

    `by` is what ended it. It `goes_on` if it is there for more than this.
    """

    status: dict[str, Any]
    by: Literal["request", "SIGTERM", "SIGKILL"]
    goes_on: bool = False


def silent_status(brain: Path) -> dict[str, Any] | None:
    """Return what is known of a process that has the brain open but does not answer."""
    holder = find_holder(str(brain))
    if holder is None:
        return None
    holder.close()
    return {"pid": holder.pid, "brain": str(brain)}


def stop_background(brain: Path) -> Ended | None:
    """End the process that has the brain open, at last by force; None if there is none.

    Raises GbrainError if it still runs then, or is one that this process cannot see.
    """
    holder = find_holder(str(brain))
    if holder is None:
        return None
    try:
        status = warm_status(brain) or {"pid": holder.pid, "brain": str(brain)}
        # A process that is busy may need longer than a command waits.
        asked = bool(_request(brain, STOP, _STATUS_SECONDS))
        if _wait(lambda: not holder.has_brain(), _END_SECONDS if asked else _STATUS_SECONDS):
            return Ended(status, "request", holder.is_alive())
        for number, seconds in _SIGNALS:
            holder.send(number)
            if _wait(lambda: not holder.has_brain(), seconds):
                return Ended(status, "SIGTERM" if number == SIGTERM else "SIGKILL")
    finally:
        holder.close()
    if holder.pid is None:
        raise GbrainError(
            "A process keeps the brain open that cannot be seen from here, and does not answer",
            hint="It may run in another container: end it there.",
            code="not_ended",
        )
    raise GbrainError(
        f"Process {holder.pid} did not end",
        hint=f"The system does not end it now, for example while a disk does not answer: see "
        f"ps {holder.pid}.",
        code="not_ended",
    )


def release_brain(brain: Path) -> None:
    """Let a process that keeps the brain open close the file until its next command."""
    _request(brain, RELEASE)


def _request(brain: Path, kind: str, patience: float | None = None) -> list[tuple[bytes, bytes]]:
    with suppress(OSError):
        path = find_socket(str(brain))
        if path:
            return exchange(path, request_fields(kind, ()), patience)
    return []


def _start(brain: Path, idle_minutes: float | None) -> tuple[subprocess.Popen[bytes], Path]:
    log, handle = _open_log()
    idle = [] if idle_minutes is None else ["--idle", f"{round(60 * idle_minutes)}s"]
    try:
        started = subprocess.Popen(
            [sys.executable, "-m", "gbrain", "up", "--foreground", "--db", str(brain), *idle],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            cwd=brain.parent,
            start_new_session=True,
        )
    finally:
        os.close(handle)
    _started.append(started)
    return started, log


def _open_log() -> tuple[Path, int]:
    """Return a file for the messages of the process; the null device in a read-only home."""
    log = state_folder() / "warm.log"
    try:
        make_folder(log.parent)
        return log, os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    except (OSError, GbrainError):
        return Path(os.devnull), os.open(os.devnull, os.O_WRONLY)


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    """Return whether something became true within this time."""
    until = monotonic() + seconds
    while monotonic() < until:
        if done():
            return True
        sleep(0.02)
    return False
