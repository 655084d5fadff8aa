"""Start, find and end the background process that keeps a brain open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from gbrain.errors import GbrainError
from gbrain.paths import make_folder, state_folder
from gbrain.server.client import exchange, find_socket, request_fields
from gbrain.server.protocol import ASK_STATUS, RELEASE, STATUS, STOP

# Opening the model and the brain takes less than a second on a quiet machine.
_START_SECONDS = 30.0
_END_SECONDS = 10.0

# Processes that outlive this one. Forgetting them would print a warning.
_started: list[subprocess.Popen[bytes]] = []


def warm_status(brain: Path) -> dict[str, Any] | None:
    """Return the status of the process that has this brain open; None if there is none."""
    frames = _request(brain, ASK_STATUS)
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


def stop_background(brain: Path) -> dict[str, Any] | None:
    """End the process that has the brain open; return its last status, None if there is none."""
    status = warm_status(brain)
    if status is None:
        return None
    _request(brain, STOP)
    if not _wait(lambda: find_socket(str(brain)) is None, _END_SECONDS):
        raise GbrainError(
            f"Process {status['pid']} did not end",
            hint=f"It may be running a long command: wait, or kill {status['pid']}.",
            code="not_ended",
        )
    return status


def release_brain(brain: Path) -> None:
    """Let a process that keeps the brain open close the file until its next command."""
    _request(brain, RELEASE)


def _request(brain: Path, kind: str) -> list[tuple[bytes, bytes]]:
    with suppress(OSError):
        path = find_socket(str(brain))
        if path:
            return exchange(path, request_fields(kind, ()))
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
