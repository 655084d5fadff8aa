"""`undo`: take back the last change of a page."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.cli.commands import Db, Json, Module, Quiet, examples, open_brain, report_file
from gbrain.output import screen
from gbrain.output.json import undone_document
from gbrain.store.undo import UndoResult

command = Module()


@command.command(
    "undo",
    epilog=examples(
        "gbrain undo",
        "gbrain undo people/alice-chen",
        "gbrain undo people/alice-chen --redo",
    ),
)
def undo(
    slug: Annotated[
        str | None,
        typer.Argument(metavar="[SLUG]", help="Page (default: the one that changed last)."),
    ] = None,
    redo: Annotated[bool, typer.Option("--redo", help="Take back the last undo.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Take back the last change of a page.

    The change may be an edit, a rename or a deletion. The earlier text becomes a new version, so
    nothing is lost. Undoing again goes one change further back. A page that is new and has no file
    is deleted; the next undo brings it back.
    """
    with open_brain(db) as brain:
        done = brain.undo(slug, redo=redo)
        without_file = done.outcome == "undeleted" and not done.file and brain.folder_roots()
    if json:
        screen.write_json(undone_document(done))
    elif not quiet:
        screen.say(_sentence(done))
        if done.outcome == "updated":
            screen.say(f"gbrain diff {done.slug} shows what changed.")
        if without_file:
            screen.say("It has no file now; gbrain export FOLDER writes one.")
    report_file(done.file, quiet=quiet, json=json)


def _sentence(done: UndoResult) -> str:
    slug, version = done.slug, done.version
    if done.outcome == "deleted":
        return f"Deleted {slug}, which was new. gbrain undo {slug} brings it back."
    if done.outcome == "undeleted":
        return f"{slug}: undeleted, version {version}"
    if done.outcome == "renamed":
        return f"Renamed {done.before.slug} back to {slug}, version {version}."
    return f"{slug}: the text of version {done.restored.version} is back, as version {version}"
