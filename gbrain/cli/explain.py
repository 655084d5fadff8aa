"""`explain`: what each stage made of a query."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gbrain.cli.as_of import AsOf, open_brain_as_of
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import (
    Boost,
    Db,
    Exclude,
    Json,
    Limit,
    MergeOf,
    ModeOf,
    NoPager,
    ProfileOf,
    Quiet,
    Rerank,
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
    scope_of,
)  # fmt: skip
from gbrain.cli.search import NoDecay, Superseded
from gbrain.output import screen

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
def explain(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="The query.")],
    missing: Annotated[
        str | None,
        typer.Option("--why-not", metavar="SLUG", help="Where this page was lost, and why."),
    ] = None,
    limit: Limit = None,
    mode: ModeOf = None,
    merge: MergeOf = None,
    profile: ProfileOf = None,
    rerank: Rerank = False,
    boost: Boost = None,
    wing: Wing = None,
    room: Room = None,
    type: Type = None,
    tag: Tag = None,
    slug_prefix: SlugPrefix = None,
    since: Since = None,
    until: Until = None,
    where: Where = None,
    exclude: Exclude = None,
    as_of: AsOf = None,
    no_decay: NoDecay = False,
    include_superseded: Superseded = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show how a query is answered: every stage, its numbers and its time."""
    from gbrain.explanation.lost import why_not
    from gbrain.output.explain import show_explanation
    from gbrain.output.explain_document import explanation_document

    options: dict[str, Any] = {
        "scope": scope_of(wing, room, type, tag, slug_prefix, since, until, where, exclude),
        "limit": limit,
        "mode": mode,
        "merge": merge,
        "boosts": boosts_of(boost),
        "changes": changes_of(
            {"profile": profile, "rerank": rerank, "no_decay": no_decay,
             "include_superseded": include_superseded}
        ),
    }  # fmt: skip
    with open_brain_as_of(db, as_of) as brain:
        answer, work = brain.query_with_trace(" ".join(text), **options)
        given = _given(profile, rerank) if missing else {}
        lost = why_not(brain, answer, work, missing, given=given, **options) if missing else None
    if answer.notice and not quiet:
        screen.say(answer.notice)
    if json:
        screen.write_json(explanation_document(answer, work, lost))
    else:
        show_explanation(answer, work, lost, pager=not no_pager)


def _given(profile: str | None, rerank: bool) -> dict[str, str]:
    """The option that each setting's value comes from, if one does, by setting."""
    given: dict[str, str] = {}
    if profile:
        from gbrain.profiles import profile_values

        values = profile_values(profile)
        given = dict.fromkeys(values, f"--profile {profile}")
        if rerank and values["rerank"] != "off":
            return given | {"rerank": f"--profile {profile} and --rerank"}
    return given | ({"rerank": "--rerank"} if rerank else {})
