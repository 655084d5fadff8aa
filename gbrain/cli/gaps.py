"""`gaps`: what the brain lacks."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, NoPager, Quiet, open_brain
from gbrain.output import gaps as output
from gbrain.output import screen
from gbrain.store.gaps import GAP_KINDS, GapKind

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
    kind: Annotated[
        GapKind | None,
        typer.Option("--kind", metavar="KIND", help="Only asked, unwritten, empty or stale."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            "-n",
            metavar="N",
            min=1,
            max=1000,
            help="Maximum number of each kind (default 10).",
        ),
    ] = 10,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List what is missing: questions without an answer, and pages to write or update.

    asked: questions that found nothing good (recorded while the setting record_queries is on).
    unwritten: pages that others link to but that do not exist. empty: pages with hardly any text.
    stale: pages that were not changed for the days of the setting stale_days.
    """
    with open_brain(db) as brain:
        recording = bool(brain.settings.record_queries)
        found = brain.gaps()
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
        screen.say("No gaps found.")
    if not recording and "asked" in wanted:
        screen.say(
            "Questions are not recorded. gbrain config set record_queries on records them "
            "in this brain."
        )
