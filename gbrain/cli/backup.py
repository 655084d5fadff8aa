"""`backup`, `restore` and `compact`: copy the brain file, put a copy back, shrink the file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain, clock
from gbrain.cli.commands import Db, Json, Module, Quiet, examples
from gbrain.cli.open_brain import open_brain, orphaned_logs, say_orphaned_logs
from gbrain.config import Settings
from gbrain.errors import GbrainError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.paths import brain_path, resolve_brain

command = Module()


@command.command(
    "backup",
    epilog=examples(
        "gbrain backup",
        "gbrain backup /mnt/disk/brain.db --force",
        "gbrain backup --json | jq -r .file",
    ),
)
def backup(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="Target file or folder (default: next to the brain)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Copy the brain to a file and check the copy.

    Other programs may use the brain meanwhile.
    """
    with open_brain(db) as brain:
        done = brain.backup(file, replace=force)
    if json:
        screen.write_json({**done._asdict(), "file": str(done.file)})
    elif not quiet:
        size = f"{counted(done.pages, 'page')}, {_megabytes(done.bytes)}"
        screen.say(f"Copied {size} to {done.file}.")
    say_orphaned_logs(done.file)


@command.command(
    "restore",
    epilog=examples(
        "gbrain restore ~/brain.db.2026-11-16.backup",
        "gbrain restore copy.db --db new.db",
    ),
)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Backup made by gbrain backup.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Replace the brain with a backup.

    The previous brain is kept next to it, under another name.
    """
    from gbrain.server.background import release_brain
    from gbrain.store.backup import restore_brain

    path = brain_path(db)
    release_brain(path)
    known = orphaned_logs(resolve_brain(path))
    moment = clock().strftime("%Y%m%dT%H%M%SZ")
    done = restore_brain(path, file.expanduser(), moment, _busy_seconds(path))
    # Migrates an older copy now, so that the next search does not have to.
    with open_brain(path) as brain:
        if done.older:
            brain.mark_restored()
    if json:
        kept = str(done.kept) if done.kept else None
        screen.write_json({"file": str(path), "pages": done.pages, "kept": kept})
    elif not quiet:
        old = f" The old brain is kept in {done.kept}." if done.kept else ""
        screen.say(f"Restored {counted(done.pages, 'page')} to {path}.{old}")
    say_orphaned_logs(resolve_brain(path), known)


def _busy_seconds(path: Path) -> float:
    """Return how long to wait for a locked file: the brain's setting if it can be read."""
    try:
        with Brain.open(path) as brain:
            return brain.settings.busy_seconds
    except GbrainError:
        return Settings().busy_seconds


@command.command("compact", epilog=examples("gbrain compact", "gbrain compact --json"))
def compact(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Shrink the brain file by removing unused space.

    The history of pages is kept.
    """
    with open_brain(db) as brain:
        done = brain.compact()
    if json:
        screen.write_json(done._asdict())
        return
    if quiet:
        return
    screen.say(f"Shrunk from {_megabytes(done.bytes_before)} to {_megabytes(done.bytes_after)}.")
    if done.waits:
        screen.say("Another program is reading the file; it shrinks when that program ends.")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
