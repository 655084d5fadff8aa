"""`verify`: check that cited text is still in the brain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain, read_input
from gbrain.errors import NotFound
from gbrain.output import citations as output
from gbrain.output import screen
from gbrain.text.citations import parse_citations

command = Module()


@command.command(
    "verify",
    epilog=examples(
        "gbrain query 'what did we decide' --depth auto --json > context.json",
        "gbrain verify context.json",
        "gbrain verify < answer.md",
        "gbrain verify answer.md --json | jq -r '.citations[] | select(.status == \"gone\").slug'",
    ),
)
def verify(
    file: Annotated[
        Path | None,
        typer.Argument(help="JSON of a query, or text with citations (default: standard input)."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Check whether cited text is still in the brain; exit with 1 if some is not.

    A citation names a page, its lines and a fingerprint of their text. The text of each one is
    unchanged, moved (to other lines or another page), changed, gone (no longer in the brain) or
    unknown (it never was in the brain). The last three make the command exit with 1.
    """
    citations = parse_citations(read_input(file).decode("utf-8-sig", "replace"))
    if not citations:
        raise NotFound(
            "The input contains no citations",
            hint="A citation looks like [people/alice-chen#L12-18 ab12cd34ef56]; "
            "gbrain query TEXT --depth auto prints them.",
            code="no_citations",
        )
    with open_brain(db) as brain:
        checked = brain.verify(citations)
    lost = [one for one in checked if one.status not in ("unchanged", "moved")]
    if json:
        documents = [output.citation_document(one) for one in checked]
        screen.write_json({"citations": documents, "ok": not lost})
    elif screen.on_terminal():
        output.show_citations(checked)
    else:
        screen.write_table((), [output.citation_row(one) for one in checked], "")
    if not json and not quiet:
        screen.say(f"{output.count_statuses(checked)}.")
    if lost:
        raise typer.Exit(1)
