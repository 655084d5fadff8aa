"""The command `explain`: how a query is answered, stage by stage."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import (
    AsOf,
    Db,
    Given,
    Json,
    NoPager,
    Quiet,
    open_brain_as_of,
    parse_boosts,
    today,
    with_options,
)
from gbrain.output import screen
from gbrain.query_options import FILTERS, parse_scope, setting_overrides

command = Module()


@command.command(
    "explain",
    epilog=examples(
        'gbrain explain "who is lukewarm on cloud RAG?"',
        "gbrain explain 'backup plan' --why-not projects/home-backup",
        "gbrain explain 'river ai' --profile sift --json | jq .fusion",
        "gbrain explain 'backup plan' --as-of 2026-05 --no-decay",
    ),
)
@with_options(
    "limit", "mode", "merge", "profile", "rerank", "boost", *FILTERS, "no_decay",
    "include_superseded",
)  # fmt: skip
def explain(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Query to explain.")],
    given: Given,
    missing: Annotated[
        str | None,
        typer.Option(
            "--why-not", metavar="SLUG", help="Show at which stage this page was lost, and why."
        ),
    ] = None,
    as_of: AsOf = None,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show how a query is answered: every stage, its numbers and its time."""
    from gbrain.output.explain import show_explanation
    from gbrain.output.explain_document import explanation_document

    options: dict[str, Any] = {
        "scope": parse_scope(given, today()),
        "limit": given["limit"],
        "mode": given["mode"],
        "merge": given["merge"],
        "boosts": parse_boosts(given["boost"]),
        "changes": setting_overrides(given),
    }
    with open_brain_as_of(db, as_of, quiet=quiet) as brain:
        answer, work = brain.query_with_trace(" ".join(text), **options)
        sources = _option_by_setting(given["profile"], given["rerank"]) if missing else {}
        lost = (
            brain.explain_missing(missing, answer, work, given=sources, **options)
            if missing
            else None
        )
    if answer.notice and not quiet:
        screen.say(answer.notice)
    if json:
        screen.write_json(explanation_document(answer, work, lost))
    else:
        show_explanation(answer, work, lost, pager=not no_pager)


def _option_by_setting(profile: str | None, rerank: bool) -> dict[str, str]:
    """Return the option that a setting's value comes from, by setting."""
    given: dict[str, str] = {}
    if profile:
        from gbrain.profiles import profile_values

        values = profile_values(profile)
        given = dict.fromkeys(values, f"--profile {profile}")
        if rerank and values["rerank"] != "off":
            return given | {"rerank": f"--profile {profile} and --rerank"}
    return given | ({"rerank": "--rerank"} if rerank else {})
