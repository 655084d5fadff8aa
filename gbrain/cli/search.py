"""`search` and `query`: asking the brain."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from gbrain.brain import Brain
from gbrain.cli.batch import FILTERS, answers
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import (
    Db,
    Exclude,
    ExitCode,
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
    scope_of,
)  # fmt: skip
from gbrain.cli.past import AsOf, open_brain_as_of
from gbrain.output import screen
from gbrain.output.json import Document, answer_document, dumps
from gbrain.output.text import answer_text
from gbrain.types import Answer, Depth, Merge, Mode

command = Module()

Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="What to look for; - reads one per line.")
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
    exit_code: ExitCode = False,
    debug: Debug = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Find pages by their words."""
    given = {
        "wing": wing, "room": room, "type": type, "tag": tag, "slug_prefix": slug_prefix,
        "since": since, "until": until, "where": where, "exclude": exclude, "limit": limit,
    }  # fmt: skip
    with open_brain_as_of(db, as_of) as brain:
        if text == "-":
            _batch(brain, {**given, "mode": "bm25"}, (*FILTERS, "limit"), debug)
            return
        answer = _ask(brain, text, {**given, "mode": "bm25"})
    _show(answer, json, debug)
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
        int | None, typer.Option("--budget", metavar="N", min=1, help="Tokens for --depth auto.")
    ] = None,
    limit: Limit = None,
    mode: Annotated[
        Mode | None, typer.Option("--mode", help="Lanes to use; else search_mode.")
    ] = None,
    merge: Annotated[
        Merge | None, typer.Option("--merge", help="Else search_merge_strategy.")
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
    as_of: AsOf = None,
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
    no_decay: Annotated[
        bool, typer.Option("--no-decay", help="Old notes count as much as new ones.")
    ] = False,
    include_superseded: Annotated[
        bool, typer.Option("--include-superseded", help="Also pages that another replaces.")
    ] = False,
    exit_code: ExitCode = False,
    debug: Debug = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Answer a question by words and by meaning; --depth auto gives an LLM its context."""
    given = {
        "wing": wing, "room": room, "type": type, "tag": tag, "slug_prefix": slug_prefix,
        "since": since, "until": until, "where": where, "exclude": exclude, "limit": limit,
        "mode": mode, "merge": merge, "depth": depth, "budget": budget, "profile": profile,
        "rerank": rerank, "boost": boost, "no_decay": no_decay,
        "include_superseded": include_superseded,
    }  # fmt: skip
    with open_brain_as_of(db, as_of) as brain:
        if text == "-":
            _batch(brain, given, tuple(given), debug)
            return
        answer = _ask(brain, text, given)
    _show(answer, json, debug)
    _exit(answer, exit_code)


def _exit(answer: Answer, asked: bool) -> None:
    if asked and answer.verdict.grade == "nothing":
        raise typer.Exit(3)


def _ask(brain: Brain, text: str, given: dict[str, Any]) -> Answer:
    filters = {("type_" if name == "type" else name): given.get(name) for name in FILTERS}
    return brain.query(
        text,
        scope=scope_of(**filters),
        limit=given.get("limit"),
        mode=given.get("mode"),
        merge=given.get("merge"),
        depth=given.get("depth"),
        budget=given.get("budget"),
        boosts=boosts_of(given.get("boost")),
        changes=changes_of(given),
    )


def _batch(brain: Brain, given: dict[str, Any], allowed: tuple[str, ...], debug: bool) -> None:
    def ask(options: dict[str, Any]) -> Document:
        answer = _ask(brain, options.pop("query"), {**given, **options})
        return answer_document(answer, trace=debug)

    for document in answers(sys.stdin, ask, allowed):
        print(dumps(document), flush=True)


def _show(answer: Answer, as_json: bool, debug: bool) -> None:
    if answer.notice:
        screen.say(answer.notice)
    if as_json:
        screen.write_json(answer_document(answer, trace=debug))
    elif screen.on_terminal() and answer.context is None:
        from gbrain.output.terminal import show_answer

        show_answer(answer, debug=debug)
    else:
        screen.write(answer_text(answer))
        if debug:
            for stage in _stages(answer):
                screen.say(stage)


def _stages(answer: Answer) -> Iterator[str]:
    for stage in answer.trace.stages:
        detail = ", ".join(f"{name} {value}" for name, value in stage.detail.items())
        yield f"{stage.name:14} {stage.ms:8.2f} ms  {detail}"
