"""`explain`: what each stage made of a query."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import (
    Db,
    Exclude,
    Json,
    Limit,
    Room,
    Since,
    SlugPrefix,
    Tag,
    Type,
    Until,
    Where,
    Wing,
    boosts_of,
    changes_of,
    open_brain,
    scope_of,
)  # fmt: skip
from gbrain.output import screen
from gbrain.types import Merge, Mode

command = Module()


@command.command(
    "explain",
    epilog=examples(
        'gbrain explain "who is lukewarm on cloud RAG?"',
        "gbrain explain 'backup plan' --why-not projects/home-backup",
        "gbrain explain 'river ai' --profile sift --json | jq .fusion",
    ),
)
def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The query.")],
    missing: Annotated[
        str | None,
        typer.Option("--why-not", metavar="SLUG", help="Where this page was lost, and why."),
    ] = None,
    limit: Limit = None,
    mode: Annotated[
        Mode | None, typer.Option("--mode", help="Lanes to use; else search_mode.")
    ] = None,
    merge: Annotated[
        Merge | None, typer.Option("--merge", help="Else search_merge_strategy.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="Settings of a profile, once.")
    ] = None,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Let the packaged cross-encoder reorder the head.")
    ] = False,
    boost: Annotated[
        list[str] | None,
        typer.Option("--boost", metavar="KIND:NAME=X", help="tag:urgent=1.5, wing: or slug: too."),
    ] = None,
    wing: Wing = None,
    room: Room = None,
    type: Type = None,
    tag: Tag = None,
    slug_prefix: SlugPrefix = None,
    since: Since = None,
    until: Until = None,
    where: Where = None,
    exclude: Exclude = None,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show how a query is answered: every stage, its numbers and its time."""
    from gbrain.explanation import why_not
    from gbrain.output.explanation import explanation_document, show_explanation

    options: dict[str, Any] = {
        "scope": scope_of(wing, room, type, tag, slug_prefix, since, until, where, exclude),
        "limit": limit,
        "mode": mode,
        "merge": merge,
        "boosts": boosts_of(boost),
        "changes": changes_of({"profile": profile, "rerank": rerank}),
    }
    with open_brain(db) as brain:
        answer, work = brain.ask(text, **options)
        lost = why_not(brain, text, missing, **options) if missing else None
    if answer.notice:
        screen.say(answer.notice)
    if json:
        screen.write_json(explanation_document(answer, work, lost))
    else:
        show_explanation(answer, work, lost)
