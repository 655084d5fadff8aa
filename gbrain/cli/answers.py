"""Answer `search` and `query`, and print the answer for a terminal, a pipe or a script.

Nothing here loads Typer: it would take a third of the time of a search.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gbrain.ask import answer_query
from gbrain.brain import Brain
from gbrain.cli.open_brain import go_back, leave_warm, open_brain
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

QueryCommand = Literal["search", "query"]

# The query options of each command.
COMMAND_OPTIONS: dict[QueryCommand, tuple[str, ...]] = {
    "search": ("limit", "all", *FILTERS, "include_superseded"),
    "query": tuple(QUERY_OPTIONS),
}

# Hits on a terminal unless a limit is chosen: these fit on its screen.
SCREEN_HITS = 5
EXIT_NOTHING_FOUND = 3


class RenderOptions(NamedTuple):
    """How to print an answer, and whether finding nothing is an exit code: the options by name."""

    exit_code: bool = False
    verbose: bool = False
    debug: bool = False
    no_pager: bool = False
    quiet: bool = False
    tsv: bool = False
    json: bool = False


def run_query(
    command: QueryCommand,
    text: list[str],
    given: Mapping[str, Any],
    options: RenderOptions,
    *,
    db: Path | None,
    as_of: str | None = None,
    no_replica: bool = False,
) -> int:
    """Answer one query, or a batch of lines from standard input; return the exit code.

    `given` are the values of the query options, by name.
    """
    if options.tsv and (options.json or given.get("depth")):
        raise UsageError("--tsv cannot be combined with --json or --depth", hint="Use one of them.")
    if command == "search":
        given = {**given, "mode": "bm25"}
    else:
        from gbrain.models.runtime import keep_freed_memory

        keep_freed_memory()
    with (
        open_brain(db, no_replica=no_replica) as present,
        go_back(present, as_of, quiet=options.quiet) as brain,
    ):
        if text == ["-"]:
            _answer_batch(brain, given, COMMAND_OPTIONS[command], options.debug)
            return 0
        answer = answer_query(brain, " ".join(text), given)
        if options.exit_code and answer.verdict.grade == "nothing" and answer.budget:
            # A script that asks for exit code 3 must not pass unrelated text on.
            answer = answer._replace(context=(), budget=answer.budget._replace(used=0))
        if brain is present:
            _print_answer(answer, brain, given, options)
        else:
            # The numbers on the screen are pages of the past: `open` must not take them, nor
            # those of an earlier answer, for pages of today.
            if screen.on_terminal():
                present.remember_hits(())
            _print_answer(answer, brain, given, options, can_open=False)
        # Only `query` loads the model, which takes most of its time.
        if command == "query":
            leave_warm(present)
    nothing = options.exit_code and answer.verdict.grade == "nothing"
    return EXIT_NOTHING_FOUND if nothing else 0


def _answer_batch(
    brain: Brain, given: Mapping[str, Any], names: tuple[str, ...], debug: bool
) -> None:
    """Answer the lines of standard input; a line may carry the options `names`."""
    from gbrain.cli.batch import answer_lines

    def answer_line(options: dict[str, Any]) -> Document:
        answer = answer_query(brain, options.pop("query"), {**given, **options})
        return answer_document(answer, trace=debug)

    for document in answer_lines(sys.stdin, answer_line, names):
        print(dumps(document), flush=True)


def _print_answer(
    answer: Answer,
    brain: Brain,
    given: Mapping[str, Any],
    options: RenderOptions,
    *,
    can_open: bool = True,
) -> None:
    """Print the answer; on a terminal also store the numbers of its hits, for `open`."""
    weak: bool = given["all"]
    if answer.notice and not options.quiet:
        screen.say(answer.notice)
    if options.tsv:
        for hit in list_hits(answer, weak=weak):
            screen.write(hit_line(hit))
        return
    if screen.on_terminal():
        chosen = given["limit"] or brain.stored_settings.get("default_limit")
        brief = not (chosen or weak or answer.context)
        hits = list_hits(answer, weak=weak, limit=SCREEN_HITS if brief else None)
        files = {} if options.json else brain.page_files(hit.slug for hit in hits)
        with _remember_hits(answer, brain) if can_open else nullcontext():
            if options.json:
                screen.write_json(answer_document(answer, trace=options.debug))
                return
            from gbrain.output.answer_terminal import show_answer

            opens = "gbrain open N opens one" if answer.hits and can_open else ""
            show_answer(
                answer,
                hits,
                verbose=options.verbose,
                debug=options.debug,
                files={slug: file for slug, file in files.items() if file.is_file()},
                pager=not (options.no_pager or brief),
                footer=None if options.quiet else opens,
            )
    elif options.json:
        screen.write_json(answer_document(answer, trace=options.debug))
    else:
        hits = list_hits(answer, weak=weak)
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
