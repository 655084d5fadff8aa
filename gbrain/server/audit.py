"""The audit log: who wrote which page when over HTTP, without any text of pages."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from gbrain.errors import GbrainError
from gbrain.output.json import Document, dumps
from gbrain.paths import make_folder, state_folder

log = logging.getLogger(__name__)

MAX_LOG_BYTES = 10_000_000
_MAX_SLUG_CHARACTERS = 200


def audit_file(brain: str) -> Path:
    """Return the file with the writes to the brain with this identity, one JSON object per line."""
    return state_folder() / "audit" / f"{sha256(brain.encode()).hexdigest()[:32]}.jsonl"


class AuditLog:
    """Appends a line for each write; a full file is kept as FILE.1, and a new one begun."""

    def __init__(self, brain: str) -> None:
        self._file = audit_file(brain)

    def record_write(
        self, at: str, token: str, action: str, document: Document, error: GbrainError | None = None
    ) -> None:
        """Record a write by its document, or by its arguments if it failed with an error."""
        slug = document.get("slug") or document.get("name") or document.get("to")
        done = document.get("done")
        if isinstance(done, list) and done:
            slug = done[0]["slug"]
        entry = {
            "at": at,
            "token": token,
            "action": action,
            "slug": str(slug)[:_MAX_SLUG_CHARACTERS] if slug is not None else None,
            "version": document.get("version"),
            "outcome": error.code if error else "written",
        }
        try:
            self._append(f"{dumps(entry)}\n".encode("utf-8", "backslashreplace"))
        except OSError as failure:
            log.error("The audit log cannot be written: %s", failure.strerror)

    def _append(self, line: bytes) -> None:
        make_folder(self._file.parent)
        with suppress(FileNotFoundError):
            if self._file.stat().st_size + len(line) > MAX_LOG_BYTES:
                os.replace(self._file, f"{self._file}.1")
        handle = os.open(self._file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)
