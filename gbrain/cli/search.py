"""`search` and `query`: asking the brain."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gbrain.brain import Brain
from gbrain.cli.as_of import AsOf, open_brain_as_of
from gbrain.cli.batch import answer_lines
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import (
    Db,
    ExitCode,
    Given,
    Json,
    NoPager,
    Quiet,
    parse_boosts,
    today,
    with_options,
)  # fmt: skip
from gbrain.cli.render import Seen, show
from gbrain.output.json import Document, answer_document, dumps
from gbrain.query_options import FILTERS, QUERY_OPTIONS, parse_scope, setting_overrides
from gbrain.types import Answer

command = Module()

Text = Annotated[
    list[str], typer.Argument(metavar="TEXT...", help="What to look for; - reads one per line.")
]
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
@with_options("limit", *FILTERS, "include_superseded")
def search(
    text: Text,
    given: Given,
    as_of: AsOf = None,
    exit_code: ExitCode = False,
    verbose: Verbose = False,
    debug: Debug = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Find pages by their words."""
    names, given = tuple(given), {**given, "mode": "bm25"}
    with open_brain_as_of(db, as_of) as brain:
        if text == ["-"]:
            _batch(brain, given, names, debug)
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
@with_options(*QUERY_OPTIONS)
def query(
    text: Text,
    given: Given,
    as_of: AsOf = None,
    exit_code: ExitCode = False,
    verbose: Verbose = False,
    debug: Debug = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Answer a question by words and by meaning; --depth auto gives an LLM its context."""
    from gbrain.models.runtime import keep_freed_memory

    keep_freed_memory()
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
    scope = parse_scope(given, today())
    answer = brain.query(
        text,
        scope=scope,
        limit=given.get("limit"),
        mode=given.get("mode"),
        merge=given.get("merge"),
        depth=given.get("depth"),
        budget=given.get("budget"),
        boosts=parse_boosts(given.get("boost")),
        changes=setting_overrides(given),
    )
    if answer.hits or scope.unlimited:
        return answer
    from gbrain.store.filter_hints import unmatched_filters

    with brain.database.read_transaction() as connection:
        notices = (answer.notice, *unmatched_filters(connection, scope))
    return answer._replace(notice=" ".join(filter(None, notices)) or None)


def _batch(brain: Brain, given: dict[str, Any], allowed: tuple[str, ...], debug: bool) -> None:
    def ask(options: dict[str, Any]) -> Document:
        answer = _ask(brain, options.pop("query"), {**given, **options})
        return answer_document(answer, trace=debug)

    for document in answer_lines(sys.stdin, ask, allowed):
        print(dumps(document), flush=True)
