"""The audit log: who wrote which page when over HTTP, without any text of pages."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from gbrain.brain import timestamp
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

    @contextmanager
    def recording(
        self, token: str, action: str, arguments: Mapping[str, Any]
    ) -> Iterator[Document]:
        """Record the write that the block does; the block puts its document into the one yielded.

        It is recorded on the thread that writes: the caller may be gone when the write is done.
        """
        document: Document = {}
        try:
            yield document
        except GbrainError as error:
            self._record(token, action, dict(arguments), error.code)
            raise
        self._record(token, action, document, "written")

    def _record(self, token: str, action: str, document: Document, outcome: str) -> None:
        slug = document.get("slug") or document.get("name") or document.get("to")
        done = document.get("done")
        if isinstance(done, list) and done:
            slug = done[0]["slug"]
        entry = {
            "at": timestamp(),
            "token": token,
            "action": action,
            "slug": str(slug)[:_MAX_SLUG_CHARACTERS] if slug is not None else None,
            "version": document.get("version"),
            "outcome": outcome,
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
