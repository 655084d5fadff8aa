"""`gaps` and `verify`: what the brain lacks, and whether what was cited still stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, NoPager, Quiet, open_brain, read_input, today
from gbrain.errors import NotFound
from gbrain.output import gaps as output
from gbrain.output import screen
from gbrain.store.citations import verify_citation as verified
from gbrain.store.gaps import GAP_KINDS, GapKind, find_gaps
from gbrain.text.citations import parse_citations

command = Module()


@command.command(
    "gaps",
    epilog=examples(
        "gbrain config set record_queries on",
        "gbrain gaps",
        "gbrain gaps --kind unwritten --limit 50",
        "gbrain gaps --json | jq -r '.gaps[].command'",
    ),
)
def gaps(
    kind: Annotated[GapKind | None, typer.Option("--kind", help="Only these.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="Of each kind.")
    ] = 10,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List what the brain lacks: bad answers, unwritten pages, empty and stale ones."""
    with open_brain(db) as brain:
        recording = bool(brain.settings.record_queries)
        with brain.database.read_transaction() as connection:
            found = find_gaps(connection, today(), brain.settings.stale_days)
    wanted = (kind,) if kind else GAP_KINDS
    shown = {kind: found[kind][:limit] for kind in wanted}
    totals = {kind: len(found[kind]) for kind in wanted}
    rows = [gap for kind in wanted for gap in shown[kind]]
    if json:
        documents = [output.gap_document(gap) for gap in rows]
        screen.write_json({"recording": recording, "gaps": documents, "totals": totals})
    elif screen.on_terminal():
        output.show_gaps(shown, totals, pager=not no_pager)
    else:
        screen.write_table((), [output.gap_row(gap) for gap in rows], "")
    if quiet:
        return
    if not rows:
        screen.say("No gaps.")
    if not recording and "asked" in wanted:
        screen.say(
            "Questions are not recorded: gbrain config set record_queries on keeps them, "
            "in this brain only."
        )


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
        typer.Argument(help="JSON of a query, or any text with citations; else standard input."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Check citations: is the cited text unchanged, moved, changed or gone? Exit with 1 if lost.

    Lost is what is changed, gone or unknown. Unchanged and moved text is still there.
    """
    cited = parse_citations(read_input(file).decode("utf-8-sig", "replace"))
    if not cited:
        raise NotFound(
            "There are no citations in the input",
            hint="One looks like [people/alice-chen#L12-18 ab12cd34ef56]; "
            "gbrain query TEXT --depth auto prints them.",
            code="no_citations",
        )
    with open_brain(db) as brain, brain.database.read_transaction() as connection:
        checked = [verified(connection, citation) for citation in cited]
    lost = [one for one in checked if one.status not in ("unchanged", "moved")]
    if json:
        documents = [output.verified_document(one) for one in checked]
        screen.write_json({"citations": documents, "ok": not lost})
    elif screen.on_terminal():
        output.show_verified(checked)
    else:
        screen.write_table((), [output.verified_row(one) for one in checked], "")
    if not json and not quiet:
        screen.say(f"{output.count_statuses(checked)}.")
    if lost:
        raise typer.Exit(1)
