"""`supersede` and `why`: mark a page as superseded, and show what led to a page."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, ExitCode, Json, NoPager, Quiet, Slug, open_brain
from gbrain.errors import UsageError
from gbrain.output import screen

command = Module()


@command.command(
    "supersede",
    epilog=examples(
        "gbrain supersede notes/plan-2025 notes/plan-2026",
        "gbrain supersede --undo notes/plan-2025",
        "gbrain supersede --list",
    ),
)
def supersede(
    old: Annotated[
        str | None, typer.Argument(metavar="OLD", help="Page that is out of date.")
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="NEW", help="Page that supersedes OLD.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the mark from OLD.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List all superseded pages.")] = False,
    exit_code: ExitCode = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Mark a page as superseded by another; queries then leave it out.

    The mark is stored in its front matter as superseded_by.
    """
    if list_ and old is None and not undo:
        _list_superseded(db, exit_code, quiet, json)
        return
    if list_ or old is None or (new is None) != undo:
        raise UsageError(
            "supersede takes OLD and NEW, or --undo OLD, or --list",
            hint="gbrain supersede notes/plan-2025 notes/plan-2026",
        )
    by: str | None = None
    with open_brain(db) as brain:
        if new is None:
            written = brain.undo_supersede(old)
        else:
            written, by = brain.supersede(old, new)
    if json:
        document = {"slug": written.slug, "version": written.version, "outcome": written.outcome}
        screen.write_json({**document, "superseded_by": by})
    elif not quiet:
        state = f"superseded by {by}" if by else "no longer superseded"
        screen.say(f"{written.slug}: {state}, version {written.version} ({written.outcome})")


def _list_superseded(db: Db, exit_code: bool, quiet: bool, json: bool) -> None:
    with open_brain(db) as brain:
        found = brain.superseded()
    if json:
        documents = [
            {
                "slug": page.slug,
                "title": page.title,
                "superseded_by": page.by,
                "replacement": page.successor,
                "pinned": page.pinned,
            }
            for page in found
        ]
        screen.write_json({"superseded": documents, "total": len(found)})
    else:
        nowhere = "✗ no such page" if screen.on_terminal() else None
        rows = [
            (page.slug, page.by, page.successor or nowhere, "pinned" if page.pinned else None)
            for page in found
        ]
        headers = ("Slug", "Superseded by", "Page", "Pinned")
        screen.write_table(headers, rows, "No page is superseded.", quiet=quiet)
    if exit_code and not found:
        raise typer.Exit(3)


@command.command(
    "why",
    epilog=examples(
        "gbrain why notes/plan-2026",
        "gbrain why notes/plan-2026 --depth 4",
        "gbrain why notes/plan-2026 --json | jq -r '.causes[].name'",
    ),
)
def why(
    slug: Slug,
    depth: Annotated[
        int,
        typer.Option(
            "--depth", metavar="N", min=1, max=50, help="Number of steps to go back (default 2)."
        ),
    ] = 2,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            "-n",
            metavar="N",
            min=1,
            max=10**6,
            help="Most causes shown for a page (default 10).",
        ),
    ] = 10,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show what led to a page: its sources, and the pages it supersedes or is linked from.

    It reads the front matter keys derived_from, source, calls, imports and supersedes of the page,
    and causes of other pages.
    """
    from gbrain.output.provenance import origin_document, origin_lines, show_origin

    with open_brain(db) as brain:
        origin = brain.provenance(slug, depth=depth, limit=limit)
    if json:
        screen.write_json(origin_document(origin))
    elif screen.on_terminal():
        show_origin(origin, pager=not no_pager)
    else:
        screen.write("\n".join(origin_lines(origin)))
    if not origin.causes:
        if not (json or quiet):
            screen.say("It names no source, and no page links to it.")
        if exit_code:
            raise typer.Exit(3)
