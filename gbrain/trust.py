"""Commands and models that the user has agreed to: kept with the user, never in a brain file."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from gbrain.errors import GbrainError
from gbrain.paths import make_folder, state_folder


def is_trusted(brain: str, thing: str) -> bool:
    """Whether the user has chosen this very thing for the brain of that identity."""
    return _mark(brain, thing) in _marks(_file())


def remember_trusted(brain: str, thing: str) -> None:
    """Remembers that the user wants it; raises GbrainError where that cannot be kept."""
    file = _file()
    try:
        make_folder(file.parent)
        handle = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        with open(handle, "a", encoding="ascii") as kept:
            kept.write(f"{_mark(brain, thing)}\n")
    except OSError as error:
        raise GbrainError(
            f"Cannot remember what you agreed to in {file}: {error.strerror}",
            hint="$XDG_STATE_HOME names another folder for what belongs to you and not to a brain.",
            code="cannot_write",
        ) from None


def _file() -> Path:
    return state_folder() / "agreed"


def _mark(brain: str, thing: str) -> str:
    """Commands may hold keys, and nobody but gbrain needs to read the list."""
    return sha256(f"{brain}\0{thing}".encode("utf-8", "surrogatepass")).hexdigest()


def _marks(file: Path) -> list[str]:
    """What is in the file, unless somebody else may have written it."""
    try:
        with file.open(encoding="ascii", errors="replace") as kept:
            status = os.fstat(kept.fileno())
            others = os.name == "posix" and (
                status.st_uid != os.geteuid() or bool(status.st_mode & 0o022)
            )
            return [] if others else kept.read().splitlines()
    except OSError:
        return []
