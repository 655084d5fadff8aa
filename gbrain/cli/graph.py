"""`graph`: the links around a page or between all pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, NoPager, Quiet, open_brain
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
from gbrain.store.atomic_files import write_markup

command = Module()


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
        typer.Option(
            "--depth",
            metavar="N",
            min=1,
            max=20,
            help="Links to follow from SLUG (default 1).",
        ),
    ] = 1,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            "-n",
            metavar="N",
            min=1,
            max=5000,
            help="Maximum number of pages (default 200).",
        ),
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
    """Show the links from and to a page as a tree, a web page or a Graphviz file."""
    if sum((dot, html is not None, json)) > 1:
        raise UsageError("--dot, --html and --json cannot be combined", hint="Use one of them.")
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
