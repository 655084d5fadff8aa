"""`search`, `query` and `explain`: their options."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.ask import option_by_setting, query_arguments
from gbrain.cli.answers import COMMAND_OPTIONS, RenderOptions, run_query
from gbrain.cli.commands import (
    AsOf,
    Db,
    ExitCode,
    Given,
    Json,
    Module,
    NoPager,
    NoReplica,
    Quiet,
    examples,
    with_options,
)
from gbrain.cli.open_brain import open_brain_as_of
from gbrain.output import screen
from gbrain.query_options import FILTERS

command = Module()

Text = Annotated[
    list[str],
    typer.Argument(metavar="TEXT...", help="Text to find; - reads one query per line."),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Add scores, lines and files (terminal).")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show what each stage of the search did.")]
Tsv = Annotated[
    bool, typer.Option("--tsv", help="Print a line per result, fields separated by tabs.")
]


@command.command(
    "search",
    epilog=examples(
        'gbrain search "river ai"',
        "gbrain search backup --wing resources --since 'last month'",
        "gbrain search sqlite --json | jq -r '.results[].slug'",
    ),
)
@with_options(*COMMAND_OPTIONS["search"])
def search(
    text: Text,
    given: Given,
    as_of: AsOf = None,
    exit_code: ExitCode = False,
    verbose: Verbose = False,
    debug: Debug = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    tsv: Tsv = False,
    json: Json = False,
    db: Db = None,
    no_replica: NoReplica = False,
) -> None:
    """Find pages by keyword.

    With --tsv a line has slug, title, wing/room, date, line and snippet, for fzf and cut.
    """
    options = RenderOptions(exit_code, verbose, debug, no_pager, quiet, tsv, json)
    raise typer.Exit(
        run_query("search", text, given, options, db=db, as_of=as_of, no_replica=no_replica)
    )


@command.command(
    "query",
    epilog=examples(
        'gbrain query "who is lukewarm on cloud RAG?"',
        'gbrain query "what did we decide about backups" --depth auto --budget 2000',
        "gbrain query 'river ai' --json | jq -r '.results[0].slug'",
        "cat questions.txt | gbrain query -",
    ),
)
@with_options(*COMMAND_OPTIONS["query"])
def query(
    text: Text,
    given: Given,
    as_of: AsOf = None,
    exit_code: ExitCode = False,
    verbose: Verbose = False,
    debug: Debug = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    tsv: Tsv = False,
    json: Json = False,
    db: Db = None,
    no_replica: NoReplica = False,
) -> None:
    """Find pages by keyword and by meaning.

    With --depth auto it prints text to answer from, for an LLM. With --tsv a line has slug, title,
    wing/room, date, line and snippet, for fzf and cut.
    """
    options = RenderOptions(exit_code, verbose, debug, no_pager, quiet, tsv, json)
    raise typer.Exit(
        run_query("query", text, given, options, db=db, as_of=as_of, no_replica=no_replica)
    )


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
            "--why-not", metavar="SLUG", help="Explain why this page is not in the results."
        ),
    ] = None,
    as_of: AsOf = None,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
    no_replica: NoReplica = False,
) -> None:
    """Show how a query was answered, stage by stage.

    First gbrain checks whether the query is the name of a page. Then the keyword lane and the
    vector lane each find pages, their results are merged into one list, and factors such as dates
    raise or lower the scores. The verdict says how well the results answer the query.
    """
    from gbrain.output.explain import show_explanation
    from gbrain.output.explain_document import explanation_document

    options = query_arguments(given)
    with open_brain_as_of(db, as_of, quiet=quiet, no_replica=no_replica) as brain:
        answer, work = brain.query_with_trace(" ".join(text), **options)
        sources = option_by_setting(given) if missing else {}
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
