"""`tags`, `links`, `backlinks` and `graph`: how pages are tagged and linked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.cli.commands import (
    Db,
    ExitCode,
    Json,
    Module,
    NoPager,
    PageOrAll,
    Quiet,
    Slug,
    examples,
    exit_if_nothing,
    number_option,
    refuse_together,
)
from gbrain.cli.open_brain import open_brain
from gbrain.errors import UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.graph import (
    build_tree,
    dot_text,
    graph_document,
    graph_html,
    show_tree,
    tree_lines,
)
from gbrain.output.json import Document, backlinks_document, links_document, tags_document
from gbrain.store.atomic_files import write_markup
from gbrain.store.links import LinkRow

command = Module()


@command.command(
    "tags", epilog=examples("gbrain tags", "gbrain tags people/alice-chen", "gbrain tags --json")
)
def tags(
    slug: PageOrAll = None,
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
            document = tags_document(found)
            rows = list(found)
    if json:
        screen.write_json(document)
    else:
        headers = ("Tag", "Pages")[: len(rows[0]) if rows else 0]
        screen.write_table(headers, rows, "No tags.", quiet=quiet, pager=not no_pager)
    exit_if_nothing(found, exit_code)


@command.command("links", epilog=examples("gbrain links people/alice-chen"))
def links(
    slug: Slug,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List the links of a page and the pages they lead to."""
    with open_brain(db) as brain:
        name = brain.get(slug).slug
        found = brain.links(name)
    if json:
        screen.write_json(links_document(name, found))
    else:
        nowhere = "✗ no such page" if screen.on_terminal() else None
        rows = [
            (link.line, link.kind, _written_target(link), link.slug or nowhere, link.label)
            for link in found
        ]
        headers = ("Line", "Kind", "Target", "Page", "Label")
        screen.write_table(headers, rows, "No links.", quiet=quiet, pager=not no_pager)
    exit_if_nothing(found, exit_code)


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
        screen.write_json(backlinks_document(name, found))
    else:
        rows = [(b.slug, b.title, b.line, b.kind, b.label) for b in found]
        headers = ("Slug", "Title", "Line", "Kind", "Label")
        screen.write_table(headers, rows, "No page links to it.", quiet=quiet, pager=not no_pager)
    exit_if_nothing(found, exit_code)


@command.command(
    "graph",
    epilog=examples(
        "gbrain graph people/alice-chen",
        "gbrain graph people/alice-chen --depth 2 --html alice.html",
        "gbrain graph --html brain.html",
        "gbrain graph companies/river-ai --dot | dot -Tsvg > river.svg",
    ),
)
def graph(
    slug: Annotated[
        str | None,
        typer.Argument(metavar="[SLUG]", help="Page to start from (default: all pages)."),
    ] = None,
    depth: Annotated[
        int,
        number_option("--depth", help="Maximum distance from SLUG in links (default 1).", high=20),
    ] = 1,
    limit: Annotated[
        int,
        number_option("--limit", "-n", help="Maximum number of pages (default 200).", high=5000),
    ] = 200,
    dot: Annotated[bool, typer.Option("--dot", help="Print the graph for Graphviz (DOT).")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a web page; - prints it."),
    ] = None,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show the links of a page as a tree or a web page.

    It follows links in both directions. --dot prints the graph for Graphviz.
    """
    refuse_together({"--dot": dot, "--html": html is not None, "--json": json})
    if slug is None and not (dot or html or json):
        raise UsageError(
            "A tree needs a page to start from",
            hint="gbrain graph SLUG shows a tree; gbrain graph --html FILE draws all pages.",
        )
    with open_brain(db) as brain:
        root = brain.get(slug).slug if slug is not None else None
        found = brain.graph(root, depth=depth, limit=limit)
        files = brain.page_files(each.slug for each in found.pages)
    if json:
        screen.write_json(graph_document(found, root))
    elif dot:
        screen.write(dot_text(found, root))
    elif html:
        _write_page(html, graph_html(found, root), quiet)
    elif root and screen.on_terminal():
        there = {name: file for name, file in files.items() if file.is_file()}
        show_tree(build_tree(found, root), there, pager=not no_pager)
    elif root:
        screen.write("\n".join(tree_lines(build_tree(found, root))))
    if found.left_out and not (quiet or json):
        screen.say(f"{counted(found.left_out, 'more page')} not shown; raise --limit to see more.")


def _write_page(file: Path, text: str, quiet: bool) -> None:
    if str(file) == "-":
        screen.write(text)
        return
    write_markup(file, text)
    if not quiet:
        screen.say(f"Wrote {file}; open it in a browser.")
