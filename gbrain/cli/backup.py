"""`backup restore compact`: copies of a brain, one put back, and a smaller file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain, clock, default_path
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.config import Settings
from gbrain.errors import GbrainError
from gbrain.messages import counted
from gbrain.output import screen

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
        typer.Argument(metavar="[FILE]", help="Else beside the brain, with today's date."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Copy the brain to a file, checked and complete, also while others write."""
    with open_brain(db) as brain:
        done = brain.backup(file, replace=force)
    if json:
        screen.write_json({**done._asdict(), "file": str(done.file)})
    elif not quiet:
        are = "is" if done.pages == 1 else "are"
        pages = counted(done.pages, "page")
        screen.say(f"{pages}, {_megabytes(done.bytes)}, {are} in {done.file}.")


@command.command(
    "restore",
    epilog=examples(
        "gbrain restore ~/brain.db.2026-11-16.backup",
        "gbrain restore copy.db --db new.db",
    ),
)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that backup made.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Put a copy in the brain's place; the brain that was there is kept beside it."""
    from gbrain.store.backup import restore_brain

    path = db.expanduser() if db else default_path()
    moment = clock().strftime("%Y%m%dT%H%M%SZ")
    done = restore_brain(path, file.expanduser(), moment, _patience(path))
    # An earlier schema is brought up to date here, not in the middle of the next search.
    open_brain(path).close()
    if json:
        kept = str(done.kept) if done.kept else None
        screen.write_json({"file": str(path), "pages": done.pages, "kept": kept})
    elif not quiet:
        before = f" What was there is in {done.kept}." if done.kept else ""
        screen.say(f"{path} holds {counted(done.pages, 'page')}.{before}")


def _patience(path: Path) -> float:
    """How long to wait for others: as the brain says, if it can still say something."""
    try:
        with Brain.open(path) as brain:
            return brain.settings.busy_seconds
    except GbrainError:
        return Settings().busy_seconds


@command.command("compact", epilog=examples("gbrain compact", "gbrain compact --json"))
def compact(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Make the brain's file as small as what it holds; its history stays."""
    with open_brain(db) as brain:
        done = brain.compact()
    if json:
        screen.write_json(done._asdict())
        return
    if quiet:
        return
    screen.say(f"From {_megabytes(done.bytes_before)} to {_megabytes(done.bytes_after)}.")
    if done.waits:
        screen.say("Another program is reading: the file shrinks when that ends.")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
