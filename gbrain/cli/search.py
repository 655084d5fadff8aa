"""`search` and `query`: asking the brain."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gbrain.brain import Brain
from gbrain.cli.as_of import AsOf, open_brain_as_of
from gbrain.cli.batch import FILTERS, answers
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import (
    Boost,
    Db,
    Exclude,
    ExitCode,
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
from gbrain.cli.render import Seen, show
from gbrain.output.json import Document, answer_document, dumps
from gbrain.types import Answer, Depth

command = Module()

Text = Annotated[
    list[str], typer.Argument(metavar="TEXT...", help="What to look for; - reads one per line.")
]
Superseded = Annotated[
    bool, typer.Option("--include-superseded", help="Also pages that another replaces.")
]
NoDecay = Annotated[bool, typer.Option("--no-decay", help="Old notes count as much as new ones.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="On a terminal: scores, places and files too.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show what each stage did.")]


@command.command(
    "search",
    epilog=examples(
        'gbrain search "river ai"',
        "gbrain search backup --wing resources --since 'last month'",
        "gbrain search sqlite --json | jq -r '.results[].slug'",
    ),
)
def search(
    text: Text,
    limit: Limit = None,
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
    include_superseded: Superseded = False,
    exit_code: ExitCode = False,
    verbose: Verbose = False,
    debug: Debug = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Find pages by their words."""
    given = {
        "wing": wing, "room": room, "type": type, "tag": tag, "slug_prefix": slug_prefix,
        "since": since, "until": until, "where": where, "exclude": exclude, "limit": limit,
        "include_superseded": include_superseded, "mode": "bm25",
    }  # fmt: skip
    with open_brain_as_of(db, as_of) as brain:
        if text == ["-"]:
            _batch(brain, given, (*FILTERS, "limit", "include_superseded"), debug)
            return
        answer = _ask(brain, " ".join(text), given)
    seen = Seen(json=json, verbose=verbose, debug=debug, pager=not no_pager, quiet=quiet)
    show(answer, db, seen)
    _exit(answer, exit_code)


@command.command(
    "query",
    epilog=examples(
        'gbrain query "who is lukewarm on cloud RAG?"',
        'gbrain query "what did we decide about backups" --depth auto --budget 2000',
        "gbrain query 'river ai' --json | jq -r '.results[0].slug'",
        "cat questions.txt | gbrain query -",
    ),
)
def query(
    text: Text,
    depth: Annotated[
        Depth | None, typer.Option("--depth", help="auto assembles context under a token budget.")
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", metavar="N", min=1, max=1_000_000, help="Tokens for --depth auto."
        ),
    ] = None,
    limit: Limit = None,
    mode: ModeOf = None,
    merge: MergeOf = None,
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
    profile: ProfileOf = None,
    rerank: Rerank = False,
    boost: Boost = None,
    no_decay: NoDecay = False,
    include_superseded: Superseded = False,
    exit_code: ExitCode = False,
    verbose: Verbose = False,
    debug: Debug = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Answer a question by words and by meaning; --depth auto gives an LLM its context."""
    from gbrain.models.runtime import reuse_memory

    reuse_memory()
    given = {
        "wing": wing, "room": room, "type": type, "tag": tag, "slug_prefix": slug_prefix,
        "since": since, "until": until, "where": where, "exclude": exclude, "limit": limit,
        "mode": mode, "merge": merge, "depth": depth, "budget": budget, "profile": profile,
        "rerank": rerank, "boost": boost, "no_decay": no_decay,
        "include_superseded": include_superseded,
    }  # fmt: skip
    with open_brain_as_of(db, as_of) as brain:
        if text == ["-"]:
            _batch(brain, given, tuple(given), debug)
            return
        answer = _ask(brain, " ".join(text), given)
    seen = Seen(json=json, verbose=verbose, debug=debug, pager=not no_pager, quiet=quiet)
    show(answer, db, seen)
    _exit(answer, exit_code)


def _exit(answer: Answer, asked: bool) -> None:
    if asked and answer.verdict.grade == "nothing":
        raise typer.Exit(3)


def _ask(brain: Brain, text: str, given: dict[str, Any]) -> Answer:
    filters = {("type_" if name == "type" else name): given.get(name) for name in FILTERS}
    scope = scope_of(**filters)
    answer = brain.query(
        text,
        scope=scope,
        limit=given.get("limit"),
        mode=given.get("mode"),
        merge=given.get("merge"),
        depth=given.get("depth"),
        budget=given.get("budget"),
        boosts=boosts_of(given.get("boost")),
        changes=changes_of(given),
    )
    if answer.hits or scope.unlimited:
        return answer
    from gbrain.store.filter_hints import absent_values

    with brain.database.read_transaction() as connection:
        notices = (answer.notice, *absent_values(connection, scope))
    return answer._replace(notice=" ".join(filter(None, notices)) or None)


def _batch(brain: Brain, given: dict[str, Any], allowed: tuple[str, ...], debug: bool) -> None:
    def ask(options: dict[str, Any]) -> Document:
        answer = _ask(brain, options.pop("query"), {**given, **options})
        return answer_document(answer, trace=debug)

    for document in answers(sys.stdin, ask, allowed):
        print(dumps(document), flush=True)
