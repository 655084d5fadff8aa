"""`search`, `query` and `explain`: ask the brain, and print the answer or how it was found."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Annotated, Any, NamedTuple

import typer

from gbrain.ask import answer_query, option_by_setting, query_arguments
from gbrain.brain import Brain
from gbrain.cli.batch import answer_lines
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
from gbrain.cli.open_brain import go_back, leave_warm, open_brain, open_brain_as_of
from gbrain.errors import GbrainError, UsageError
from gbrain.output import screen
from gbrain.output.answer_text import (
    answer_text,
    hidden_hits_notice,
    hit_line,
    list_hits,
    named_page_notice,
    poor_answer_notice,
    read_as_notice,
    stage_lines,
    superseded_notice,
)
from gbrain.output.json import Document, answer_document, dumps
from gbrain.query_options import FILTERS, QUERY_OPTIONS
from gbrain.types import Answer

command = Module()

# Hits on a terminal unless a limit is chosen: these fit on its screen.
SCREEN_HITS = 5

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


class RenderOptions(NamedTuple):
    """How to print an answer: the options of the same names.

    `all` also lists weak hits; `limit` is None unless the user chose one.
    """

    json: bool
    verbose: bool
    debug: bool
    pager: bool
    quiet: bool
    all: bool
    limit: int | None
    tsv: bool


@command.command(
    "search",
    epilog=examples(
        'gbrain search "river ai"',
        "gbrain search backup --wing resources --since 'last month'",
        "gbrain search sqlite --json | jq -r '.results[].slug'",
    ),
)
@with_options("limit", "all", *FILTERS, "include_superseded")
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
    options = _render_options(given, json, verbose, debug, no_pager, quiet, tsv)
    _run(text, {**given, "mode": "bm25"}, tuple(given), as_of, exit_code, options, db, no_replica)


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
    tsv: Tsv = False,
    json: Json = False,
    db: Db = None,
    no_replica: NoReplica = False,
) -> None:
    """Find pages by keyword and by meaning.

    With --depth auto it prints text to answer from, for an LLM. With --tsv a line has slug, title,
    wing/room, date, line and snippet, for fzf and cut.
    """
    from gbrain.models.runtime import keep_freed_memory

    keep_freed_memory()
    options = _render_options(given, json, verbose, debug, no_pager, quiet, tsv)
    _run(text, given, tuple(given), as_of, exit_code, options, db, no_replica)


def _render_options(
    given: Given,
    json: bool,
    verbose: bool,
    debug: bool,
    no_pager: bool,
    quiet: bool,
    tsv: bool,
) -> RenderOptions:
    if tsv and (json or given.get("depth")):
        raise UsageError("--tsv cannot be combined with --json or --depth", hint="Use one of them.")
    pager, limit = not no_pager, given["limit"]
    return RenderOptions(json, verbose, debug, pager, quiet, given["all"], limit, tsv)


def _run(
    text: list[str],
    given: Given,
    names: tuple[str, ...],
    as_of: str | None,
    exit_code: bool,
    options: RenderOptions,
    db: Db,
    no_replica: bool,
) -> None:
    """Answer one query or a batch; lines of a batch may carry the options `names`."""
    with (
        open_brain(db, no_replica=no_replica) as present,
        go_back(present, as_of, quiet=options.quiet) as brain,
    ):
        if text == ["-"]:
            _answer_batch(brain, given, names, options.debug)
            return
        answer = answer_query(brain, " ".join(text), given)
        if exit_code and answer.verdict.grade == "nothing" and answer.budget:
            # A script that asks for exit code 3 must not pass unrelated text on.
            answer = answer._replace(context=(), budget=answer.budget._replace(used=0))
        if brain is present:
            _print_answer(answer, brain, options)
        else:
            # The numbers on the screen are pages of the past: `open` must not take them, nor
            # those of an earlier answer, for pages of today.
            if screen.on_terminal():
                present.remember_hits(())
            _print_answer(answer, brain, options, can_open=False)
        # Only `query` loads the model, which takes most of its time.
        if "depth" in names:
            leave_warm(present)
    if exit_code and answer.verdict.grade == "nothing":
        raise typer.Exit(3)


def _answer_batch(brain: Brain, given: Given, names: tuple[str, ...], debug: bool) -> None:
    def answer_line(options: dict[str, Any]) -> Document:
        answer = answer_query(brain, options.pop("query"), {**given, **options})
        return answer_document(answer, trace=debug)

    for document in answer_lines(sys.stdin, answer_line, names):
        print(dumps(document), flush=True)


def _print_answer(
    answer: Answer, brain: Brain, options: RenderOptions, *, can_open: bool = True
) -> None:
    """Print the answer; on a terminal also store the numbers of its hits, for `open`."""
    if answer.notice and not options.quiet:
        screen.say(answer.notice)
    if options.tsv:
        for hit in list_hits(answer, weak=options.all):
            screen.write(hit_line(hit))
        return
    if screen.on_terminal():
        chosen = options.limit or brain.stored_settings.get("default_limit")
        brief = not (chosen or options.all or answer.context)
        hits = list_hits(answer, weak=options.all, limit=SCREEN_HITS if brief else None)
        files = {} if options.json else brain.page_files(hit.slug for hit in hits)
        with _remember_hits(answer, brain) if can_open else nullcontext():
            if options.json:
                screen.write_json(answer_document(answer, trace=options.debug))
                return
            from gbrain.output.answer_terminal import show_answer

            opens = "; gbrain open N opens one" if answer.hits and can_open else ""
            show_answer(
                answer,
                hits,
                verbose=options.verbose,
                debug=options.debug,
                files={slug: file for slug, file in files.items() if file.is_file()},
                pager=options.pager and not brief,
                footer=None if options.quiet else opens,
            )
    elif options.json:
        screen.write_json(answer_document(answer, trace=options.debug))
    else:
        hits = list_hits(answer, weak=options.all)
        screen.write(answer_text(answer._replace(hits=hits)))
        if not options.quiet:
            verdict = poor_answer_notice(answer) if answer.hits else "Nothing found."
            hidden = hidden_hits_notice(answer, hits)
            for remark in filter(
                None,
                (
                    read_as_notice(answer),
                    verdict,
                    superseded_notice(answer),
                    named_page_notice(answer),
                    f"{hidden}." if hidden else None,
                ),
            ):
                screen.say(remark)
        if options.debug:
            for line in stage_lines(answer):
                screen.say(line)


@contextmanager
def _remember_hits(answer: Answer, brain: Brain) -> Iterator[None]:
    """Store the hits in a thread while the block prints them; the block must not use the brain."""
    from threading import Thread

    def remember() -> None:
        with suppress(GbrainError, sqlite3.Error):
            brain.remember_hits(answer.hits)

    thread = Thread(target=remember)
    thread.start()
    try:
        yield
    finally:
        thread.join()


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
