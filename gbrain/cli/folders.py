"""`folders`: the folders of notes that belong to the brain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.cli.commands import Db, Json, Module, Quiet, examples
from gbrain.cli.open_brain import open_brain
from gbrain.messages import counted
from gbrain.output import screen

command = Module()

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Path of the folder.")]


def list_folders(*, quiet: bool, json: bool, db: Path | None) -> None:
    """List the folders, as `gbrain folders list` does."""
    list_(quiet, json, db)


folders = command.group(
    "folders",
    "List, add, move and forget folders of notes.",
    epilog=examples(
        "gbrain folders",
        "gbrain folders --json | jq -r '.folders[].folder'",
        "gbrain folders move ~/notes ~/Documents/notes",
    ),
    default=list_folders,
)


@folders.command("list", epilog=examples("gbrain folders list", "gbrain folders list --json"))
def list_(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """List the folders with their pages, and whether changes are written to them."""
    with open_brain(db) as brain:
        known = brain.registered_folders()
    if json:
        documents = [
            {
                "folder": each.root,
                "pages": each.pages,
                "missing": each.missing,
                "exists": each.exists,
                "writable": each.writable,
                "default": each.default,
            }
            for each in known
        ]
        screen.write_json({"folders": documents})
        return
    rows = [(each.root, each.pages, "" if each.exists else "missing",
             "written" if each.writable else "only read", "default" if each.default else "",
             each.missing or "")
            for each in known]  # fmt: skip
    headers = ("Folder", "Pages", "State", "Changes", "New pages", "Without file")
    screen.write_table(headers, rows, "No folders; gbrain import DIR adds one.", quiet=quiet)


@folders.command("add", epilog=examples("gbrain folders add ~/notes && gbrain sync"))
def add(folder: Folder, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Add a folder without importing its files; gbrain sync imports them.

    Changes of its pages in the brain are written to their files.
    """
    with open_brain(db, make=True) as brain:
        root, added = brain.add_folder(folder)
    if json:
        screen.write_json({"folder": root, "added": added})
    elif not quiet:
        screen.say(
            f"Added {root}. gbrain sync imports it."
            if added
            else f"{root} is already a folder of this brain."
        )


@folders.command("forget", epilog=examples("gbrain folders forget ~/old-notes"))
def forget(folder: Folder, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Forget a folder; its pages and files stay as they are.

    gbrain sync then ignores the folder, and changes of its pages are no longer written to files.
    """
    with open_brain(db) as brain:
        default = brain.settings.default_folder
        root, pages = brain.forget_folder(folder)
        was_default = default and not brain.settings.default_folder
    if json:
        screen.write_json({"folder": root, "pages": pages})
    elif not quiet:
        stay = "stays" if pages == 1 else "stay"
        screen.say(f"Forgot {root}. {counted(pages, 'page')} of it {stay} in the brain.")
        if was_default:
            screen.say("New pages had their files there; default_folder is no longer set.")


@folders.command(
    "move",
    epilog=examples(
        "gbrain folders move ~/notes ~/Documents/notes",
        "gbrain folders move /home/ada/notes /Users/ada/notes",
    ),
)
def move(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="Previous path; gbrain folders lists it.")
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Path of the folder now.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Record that a folder has another path now, here or on another machine.

    No file is moved, and nothing is imported or embedded again.
    """
    with open_brain(db) as brain:
        moved = brain.move_folder(old, new)
    if json:
        document = {"folder": moved.root, "moved_from": moved.old_root}
        screen.write_json({**document, "pages": moved.pages, "found": moved.found})
    elif not quiet:
        screen.say(
            f"{moved.old_root} is now {moved.root}: {moved.found} of "
            f"{counted(moved.pages, 'page')} have their file there."
        )
