"""`init`, `demo` and the overview that `gbrain` alone prints."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain, clock, default_path
from gbrain.cli.commands import Db, Json, Module, Quiet, examples
from gbrain.cli.open_brain import open_brain
from gbrain.errors import UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.answer_text import LANE_NAMES, answer_text
from gbrain.output.screen import show_progress
from gbrain.search.pipeline import StageResults
from gbrain.types import Answer

command = Module()

SAMPLE = Path(__file__).parent.parent / "sample"

_DEMO_QUERIES = (
    ("search", "river ai", "A page is found by its name."),
    ("search", "sqlite backup", "Keywords are found anywhere in a page."),
    ("query", "what happened in April with Alice?", "Timeline entries are found one by one."),
    (
        "query",
        "who's lukewarm on cloud RAG?",
        "Found by meaning: no page contains lukewarm or RAG.",
    ),
)
_EXPLAINED_QUERY = "who's lukewarm on cloud RAG?"
_CONTEXT_QUERY, _CONTEXT_TOKENS = "why did we decide against Lanternworks?", 160


def overview() -> None:
    """Print what is in the brain and which commands to run next."""
    from gbrain.output.stats import (
        FIRST_STEPS,
        next_steps,
        overview_lines,
        shorten_path,
        show_overview,
    )

    path = default_path()
    if not path.exists():
        about = "gbrain keeps your notes in one file and finds them by keyword and by meaning."
        show_overview([about, f"There is no brain yet at {shorten_path(path)}"], list(FIRST_STEPS))
        return
    with open_brain(path) as brain:
        stats = brain.stats()
    show_overview(overview_lines(path, stats, clock()), next_steps(stats))


@command.command("init", epilog=examples("gbrain init", "gbrain init --db ~/notes.db"))
def init(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Create an empty brain; an existing one is left as it is."""
    place = db or default_path()
    existed = place.exists()
    open_brain(place, make=True).close()
    if json:
        screen.write_json({"path": str(place), "created": not existed})
    elif not quiet:
        screen.say(f"{place} already exists." if existed else f"Created {place}.")
        screen.say("Next: gbrain import DIR imports a folder of notes.")


@command.command("demo", epilog=examples("gbrain demo", "gbrain demo --keep ~/demo.db"))
def demo(
    keep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the demo brain in FILE.")
    ] = None,
) -> None:
    """Try gbrain on sample pages; your brain is not used.

    It builds a temporary brain and asks it a few questions.
    """
    if keep and os.path.lexists(keep):
        raise UsageError(
            f"{keep} already exists, and the demo needs a new file",
            hint="Name a new file. To search a demo you kept: gbrain search TEXT --db FILE",
            code="file_exists",
        )
    with tempfile.TemporaryDirectory(prefix="gbrain-demo-") as place:
        path = keep or Path(place, "demo.db")
        with Brain.open(path, make=True) as brain:
            report = brain.import_folder(SAMPLE)
            pages = report.count("create") + report.unchanged
            # The files belong to the package: changes of the pages stay in the brain.
            brain.forget_folder(SAMPLE)
            with show_progress("Embedding", quiet=False) as show:
                brain.embed(progress=show)
            _print(f"A brain of {pages} sample pages, built offline in {path}\n")
            for kind, text, why in _DEMO_QUERIES:
                _print_command(f'{kind} "{text}" -n 2', why)
                _print_answer(
                    brain.search(text, limit=2) if kind == "search" else brain.query(text, limit=2)
                )
            _print_command(f'explain "{_EXPLAINED_QUERY}"', "How the answer was found, in short.")
            answer, results = brain.query_with_trace(_EXPLAINED_QUERY)
            _print("\n".join(_summary_lines(answer, results)) + "\n")
            _print_command(
                f'query "{_CONTEXT_QUERY}" --depth auto --budget {_CONTEXT_TOKENS}',
                "Context for a language model, with citations that gbrain verify checks.",
            )
            _print_answer(brain.query(_CONTEXT_QUERY, depth="auto", budget=_CONTEXT_TOKENS))
    _print("Next, your own notes: gbrain import DIR, then gbrain query 'your question'.")


def _print(text: str) -> None:
    if screen.on_terminal():
        screen.console().print(text, markup=False)
    else:
        screen.write(f"{text}\n")


def _print_command(words: str, why: str) -> None:
    if screen.on_terminal():
        from rich.text import Text

        screen.console().print(
            Text.assemble((f"$ gbrain {words}", "bold green"), "\n", (why, "dim"))
        )
        screen.write("\n")
    else:
        screen.write(f"$ gbrain {words}\n# {why}\n")


def _print_answer(answer: Answer) -> None:
    if screen.on_terminal():
        from gbrain.output.answer_terminal import show_answer

        show_answer(answer, pager=False)
        screen.write("\n")
    else:
        screen.write(f"{answer_text(answer)}\n\n")


def _summary_lines(answer: Answer, results: StageResults) -> Iterator[str]:
    """Yield one line about each stage."""
    from gbrain.text.query_tree import describe_query

    yield f"  read as   {describe_query(results.query)}"
    for lane, found in results.lanes.by_name.items():
        if found.pages:
            first = found.pages[0]
            pages = counted(len(found.pages), "page")
            yield f"  {LANE_NAMES[lane]:9} {pages}, first {first.slug} ({first.score:.2f})"
    yield f"  merged    {results.fused[0].slug} ({results.fused[0].score:.2f})"
    yield f"  verdict   {answer.verdict.grade}: {answer.verdict.reasons[0]}"
