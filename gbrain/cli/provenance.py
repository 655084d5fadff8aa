"""`supersede` and `why`: what replaces a page, and what led to it."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.brain import timestamp
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, ExitCode, Json, NoPager, Quiet, open_brain
from gbrain.errors import UsageError
from gbrain.output import screen
from gbrain.store import supersede as superseding
from gbrain.text.slug import slug_from_path

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
        str | None, typer.Argument(metavar="OLD", help="The page that is out of date.")
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="NEW", help="The page that replaces it.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="OLD is no longer superseded.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show all superseded pages.")] = False,
    exit_code: ExitCode = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Mark a page as replaced by another: answers leave it out, its front matter says so."""
    if list_ and old is None and not undo:
        _list(db, exit_code, quiet, json)
        return
    if list_ or old is None or (new is None) != undo:
        raise UsageError(
            "supersede takes OLD and NEW, or --undo OLD, or --list",
            hint="gbrain supersede notes/plan-2025 notes/plan-2026",
        )
    with open_brain(db) as brain, brain.database.write_transaction() as connection:
        if new is None:
            written, by = (
                superseding.undo_supersede(connection, slug_from_path(old), timestamp()),
                None,
            )
        else:
            written, by = superseding.supersede_page(
                connection, slug_from_path(old), slug_from_path(new), timestamp()
            )
    if json:
        document = {"slug": written.slug, "version": written.version, "outcome": written.outcome}
        screen.write_json({**document, "superseded_by": by})
    elif not quiet:
        told = f"superseded by {by}" if by else "no longer superseded"
        screen.say(f"{written.slug}: {told}, version {written.version} ({written.outcome})")


def _list(db: Db, exit_code: bool, quiet: bool, json: bool) -> None:
    with open_brain(db) as brain, brain.database.read_transaction() as connection:
        found = superseding.list_superseded(connection)
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
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="The page, like people/alice-chen.")],
    depth: Annotated[
        int, typer.Option("--depth", metavar="N", min=1, max=50, help="How many steps back.")
    ] = 2,
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", metavar="N", min=1, max=10**6, help="How many of each page."),
    ] = 10,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show what led to a page: its sources, what it replaces, the pages that link to it."""
    from gbrain.output.provenance import origin_document, origin_lines, show_origin
    from gbrain.store.provenance import trace_provenance

    with open_brain(db) as brain, brain.database.read_transaction() as connection:
        origin = trace_provenance(connection, slug_from_path(slug), depth, limit)
    if json:
        screen.write_json(origin_document(origin))
    elif screen.on_terminal():
        show_origin(origin, pager=not no_pager)
    else:
        screen.write("\n".join(origin_lines(origin)))
    if not origin.causes:
        if not (json or quiet):
            screen.say("No source and no link leads to it.")
        if exit_code:
            raise typer.Exit(3)
