"""`tags`, `links` and `backlinks`: what connects pages."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, ExitCode, Json, NoPager, Quiet, Slug, open_brain
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.store.links import LinkRow

command = Module()


@command.command(
    "tags", epilog=examples("gbrain tags", "gbrain tags people/alice-chen", "gbrain tags --json")
)
def tags(
    slug: Annotated[
        str | None, typer.Argument(metavar="[SLUG]", help="Page (default: all pages).")
    ] = None,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List all tags, the most used first, or the tags of one page."""
    found: list[tuple[str, int]] | list[str]
    with open_brain(db) as brain:
        if slug is not None:
            page = brain.get(slug)
            found = list(page.tags)
            document: Document = {"slug": page.slug, "tags": found}
            rows: list[tuple[str | int, ...]] = [(tag,) for tag in page.tags]
        else:
            found = brain.tags()
            document = {"tags": [{"tag": tag, "pages": count} for tag, count in found]}
            rows = list(found)
    if json:
        screen.write_json(document)
    else:
        headers = ("Tag", "Pages")[: len(rows[0]) if rows else 0]
        screen.write_table(headers, rows, "No tags.", quiet=quiet, pager=not no_pager)
    if exit_code and not found:
        raise typer.Exit(3)


@command.command("links", epilog=examples("gbrain links people/alice-chen"))
def links(
    slug: Slug,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List a page's links and the pages they lead to, in the order of the text."""
    with open_brain(db) as brain:
        name = brain.get(slug).slug
        found = brain.links(name)
    if json:
        screen.write_json({"slug": name, "links": [link._asdict() for link in found]})
    else:
        nowhere = "✗ no such page" if screen.on_terminal() else None
        rows = [
            (link.line, link.kind, _written_target(link), link.slug or nowhere, link.label)
            for link in found
        ]
        headers = ("Line", "Kind", "Target", "Page", "Label")
        screen.write_table(headers, rows, "No links.", quiet=quiet, pager=not no_pager)
    if exit_code and not found:
        raise typer.Exit(3)


def _written_target(link: LinkRow) -> str:
    return f"{link.target}#{link.heading}" if link.heading else link.target


@command.command("backlinks", epilog=examples("gbrain backlinks companies/river-ai"))
def backlinks(
    slug: Slug,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List the links on other pages that lead to this page."""
    with open_brain(db) as brain:
        name = brain.get(slug).slug
        found = brain.backlinks(name)
    if json:
        screen.write_json({"slug": name, "backlinks": [link._asdict() for link in found]})
    else:
        rows = [(b.slug, b.title, b.line, b.kind, b.label) for b in found]
        headers = ("Slug", "Title", "Line", "Kind", "Label")
        screen.write_table(headers, rows, "No page links to it.", quiet=quiet, pager=not no_pager)
    if exit_code and not found:
        raise typer.Exit(3)
