"""Remember which commands and models the user has confirmed, outside the brain file."""

from __future__ import annotations

import os
import shlex
import shutil
from hashlib import sha256
from pathlib import Path

from gbrain.errors import BadSetting, GbrainError
from gbrain.paths import make_folder, state_folder


def is_trusted(brain: str, thing: str) -> bool:
    """Tell whether the user has confirmed this command or model for the brain with this id."""
    return _hash(brain, thing) in _read_hashes(_file())


def remember_trusted(brain: str, thing: str) -> None:
    """Remember that the user confirmed the command or model for this brain.

    Raises GbrainError if the file cannot be written.
    """
    file = _file()
    try:
        make_folder(file.parent)
        handle = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        with open(handle, "a", encoding="ascii") as stream:
            stream.write(f"{_hash(brain, thing)}\n")
    except OSError as error:
        raise GbrainError(
            f"Cannot write your confirmation to {file}: {error.strerror}",
            hint="Set $XDG_STATE_HOME to a folder that you can write to.",
            code="cannot_write",
        ) from None


def resolve_command(command: str) -> str:
    """Return the command with absolute paths for its program and for the files it names.

    Trust belongs to programs: the same words in another folder would run another file. Raises
    BadSetting if there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadSetting(
            f"rerank_command cannot be read: {error}", hint="Close each quotation mark."
        ) from None
    if not words:
        return command
    program = shutil.which(os.path.expanduser(words[0]))
    if program is None:
        raise BadSetting(
            f"There is no program {words[0]}", hint="Give the absolute path of the program."
        )
    resolved = [os.path.abspath(program), *map(_resolve_argument, words[1:])]
    return command if resolved == words else shlex.join(resolved)


def _resolve_argument(word: str) -> str:
    """Return an argument, or `--option=FILE`, with the absolute path of an existing file."""
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    if os.path.isabs(value) or not os.path.exists(value):
        return word
    return f"{option}{equals}{os.path.abspath(value)}"


def _file() -> Path:
    return state_folder() / "agreed"


def _hash(brain: str, thing: str) -> str:
    """Return the line of the file; a hash, because a command may contain an API key."""
    return sha256(f"{brain}\0{thing}".encode("utf-8", "surrogatepass")).hexdigest()


def _read_hashes(file: Path) -> list[str]:
    """Return the lines of the file; none if another user owns it or can write to it."""
    try:
        with file.open(encoding="ascii", errors="replace") as stream:
            status = os.fstat(stream.fileno())
            is_unsafe = os.name == "posix" and (
                status.st_uid != os.geteuid() or bool(status.st_mode & 0o022)
            )
            return [] if is_unsafe else stream.read().splitlines()
    except OSError:
        return []
