"""Check that a model's files exist and have the recorded size and hash."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbrain.errors import ModelUnavailable

if TYPE_CHECKING:
    from gbrain.models.catalog import ModelSpec

TOKENIZER_FILE = "tokenizer.json"
REINSTALL_HINT = (
    "Reinstall gbrain, or add the model again from an intact folder with `gbrain model add`."
)


def check_sizes(spec: ModelSpec) -> None:
    """Raise ModelUnavailable if a file is missing or has another size; reads no file."""
    sizes = {spec.model_file: None, TOKENIZER_FILE: None} | {f.path: f.size for f in spec.files}
    for path, expected in sizes.items():
        found = _file_size(spec, path)
        if expected is not None and found < expected:
            raise _damaged(spec, path, f"is truncated: {found} of {expected} bytes")
        if expected is not None and found > expected:
            raise _damaged(spec, path, f"was altered: {found} bytes instead of {expected}")


def verify_hashes(spec: ModelSpec) -> None:
    """Raise ModelUnavailable if a size or sha256 is not the recorded one; reads every file."""
    check_sizes(spec)
    digests = {f.path: f.sha256 for f in spec.files} | {spec.model_file: spec.sha256}
    for path, expected in digests.items():
        found = file_sha256(spec.folder / path)
        if found != expected:
            problem = f"was altered: sha256 {found[:12]}… instead of {expected[:12]}…"
            raise _damaged(spec, path, problem)


def verify_if_changed(spec: ModelSpec, seen: str | None) -> str:
    """Return the files' stamp; verify their hashes first, unless the stamp is `seen`.

    A caller that stores the stamp pays for hashing only once after a change.
    """
    check_sizes(spec)
    now = files_stamp(spec)
    if now != seen:
        verify_hashes(spec)
    return now


def files_stamp(spec: ModelSpec) -> str:
    """Return a text that changes when a file is rewritten, replaced or touched."""
    paths = dict.fromkeys([spec.model_file, TOKENIZER_FILE, *(f.path for f in spec.files)])
    stats = [os.stat(spec.folder / path) for path in paths]
    marks = [f"{s.st_size},{s.st_mtime_ns},{s.st_ctime_ns},{s.st_ino}" for s in stats]
    return ";".join([spec.sha256, *(f.sha256 for f in spec.files), *marks])


def file_sha256(path: Path) -> str:
    """Return the hexadecimal sha256 of a file."""
    import hashlib

    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(
            f"{path} cannot be read: {error.strerror or error}.", hint=REINSTALL_HINT
        ) from error


def read_json(path: Path) -> Any:
    """Return the value in a JSON file; None if there is no such file."""
    import json

    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ModelUnavailable(
            f"{path} cannot be read: {error.strerror or error}.",
            hint="Check the permissions of the file and its folder.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelUnavailable(f"{path} is not JSON.", hint="Download the model again.") from error


def _file_size(spec: ModelSpec, path: str) -> int:
    full = spec.folder / path
    try:
        if not full.is_file():
            raise _damaged(spec, path, f"is missing from {spec.folder}")
        return full.stat().st_size
    except OSError as error:
        raise _damaged(spec, path, f"cannot be read: {error.strerror or error}") from error


def _damaged(spec: ModelSpec, path: str, problem: str) -> ModelUnavailable:
    return ModelUnavailable(f"Model {spec.name}: {path} {problem}.", hint=REINSTALL_HINT)
