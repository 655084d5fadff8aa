"""Replicas: brains that are made from a shared store, and the one that stands for its URL."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from hashlib import sha256
from pathlib import Path

from gbrain.brain import Brain
from gbrain.errors import Conflict, GbrainError
from gbrain.paths import make_folder, replicas_folder
from gbrain.remotes.pull import PullReport
from gbrain.store.atomic_files import SQLITE_SUFFIXES
from gbrain.store.brain_files import exclusive_lock, make_brain_folder, rename_brain
from gbrain.store.postgres.address import check_url, redact
from gbrain.types import Progress, no_progress

# The name of the remote in a brain that was cloned from a URL.
DEFAULT_REMOTE = "origin"


def clone_brain(
    url: str, path: Path, name: str = DEFAULT_REMOTE, *, progress: Progress = no_progress
) -> PullReport:
    """Create a brain at `path` with all pages of a shared store.

    It gets its name when it is complete. A clone that was interrupted continues where it was.
    Raises Conflict if there is a file already, also if another process has just made it.
    """
    check_url(url)
    _refuse_existing(path)
    make_brain_folder(path.parent)
    part = path.with_name(f"{path.name}.cloning")
    with exclusive_lock(part.with_name(f"{part.name}-lock")):
        _refuse_existing(path)
        return _clone(url, path, part, name, progress)


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise Conflict(
            f"{path} already exists",
            hint=f"gbrain pull --db {path} brings it up to date. Else choose another name.",
            code="exists",
        )


def _clone(url: str, path: Path, part: Path, name: str, progress: Progress) -> PullReport:
    was_there = part.exists()
    try:
        with Brain.open(part, make=True) as brain:
            _refuse_other_clone(brain, part, url)
            brain.add_remote(name, url)
            pulling = brain.exchange(name, push=False, progress=lambda _: nullcontext(progress))
            report = pulling.pulled
            assert report is not None
    except GbrainError:
        if not was_there and not _has_pages(part):
            _remove(part)
        raise
    try:
        rename_brain(part, path)
    except FileExistsError:
        raise Conflict(
            f"{path} was created meanwhile", hint=f"The clone is in {part}.", code="exists"
        ) from None
    return report


def _refuse_other_clone(brain: Brain, part: Path, url: str) -> None:
    """Raise Conflict for the unfinished clone of another store."""
    known = [remote.url for remote in brain.remotes()]
    if known and known != [url]:
        raise Conflict(
            f"{part} is the unfinished clone of {redact(known[0])}",
            hint="Delete that file, or choose another name.",
            code="exists",
        )


def _has_pages(part: Path) -> bool:
    with suppress(GbrainError), Brain.open(part, read_only=True) as brain:
        return brain.list(limit=1)[1] > 0
    return False


def _remove(part: Path) -> None:
    for ending in ("", *SQLITE_SUFFIXES):
        with suppress(FileNotFoundError):
            os.unlink(f"{part}{ending}")


def replica_path(url: str) -> Path:
    """Return the path of the replica that stands for the URL of a shared store."""
    return replicas_folder() / f"{sha256(check_url(url).encode()).hexdigest()[:16]}.db"


def make_replica(url: str, *, progress: Progress = no_progress) -> Path:
    """Create the replica of a shared store and return its path."""
    path = replica_path(url)
    make_folder(path.parent)
    try:
        clone_brain(url, path, progress=progress)
    except Conflict:
        # Another command made it meanwhile.
        if not path.exists():
            raise
    return path


def open_as_reader(path: Path) -> Brain:
    """Open the replica of a shared brain that its user may only read.

    A change of a page raises Refused, unless the page waits to be pushed since before.
    """
    from gbrain.store.guards import keep_in_step
    from gbrain.store.postgres.connection import Refused

    def refusal() -> Refused:
        server = redact(brain.remote().url)
        return Refused(
            f"You may only read {server}, so nothing was written",
            hint="Ask its owner for the rights of a writer, or write in a brain of your own: "
            f"gbrain clone {server} FILE",
        )

    brain = Brain(keep_in_step(path, refusal))
    return brain
