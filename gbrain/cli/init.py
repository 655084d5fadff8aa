"""`init demo`: the first minutes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain, clock, default_path
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.errors import UsageError
from gbrain.output import screen
from gbrain.output.answer_text import answer_text
from gbrain.output.progress import show_progress
from gbrain.search.pipeline import StageResults
from gbrain.types import Answer

command = Module()

SAMPLE = Path(__file__).parent.parent / "sample"

_SHOWN = (
    ("search", "river ai", "A page's own name answers at once."),
    ("search", "sqlite backup", "Words, wherever they stand."),
    ("query", "what happened in April with Alice?", "Timeline entries are found by themselves."),
    ("query", "who's lukewarm on cloud RAG?", "Meaning: no page says lukewarm, or RAG."),
)
_EXPLAINED = "who's lukewarm on cloud RAG?"
_IN_DEPTH, _BUDGET = "why did we decide against Lanternworks?", 160


def overview() -> None:
    """Says what is in the brain, and which command is useful now."""
    from gbrain.output.overview import (
        FIRST_STEPS,
        next_steps,
        overview_lines,
        shorten_path,
        show_overview,
    )

    path = default_path()
    if not path.exists():
        about = "gbrain keeps your notes in one file and finds them by word and by meaning."
        show_overview([about, f"There is no brain yet at {shorten_path(path)}"], list(FIRST_STEPS))
        return
    with open_brain(path) as brain:
        stats = brain.stats()
    show_overview(overview_lines(path, stats, clock()), next_steps(stats))


@command.command("init", epilog=examples("gbrain init", "gbrain init --db ~/notes.db"))
def init(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Make an empty brain; one that is there is left as it is."""
    place = db or default_path()
    existed = place.exists()
    open_brain(place, make=True).close()
    if json:
        screen.write_json({"path": str(place), "created": not existed})
    elif not quiet:
        screen.say(f"{place} is {'there already' if existed else 'ready'}.")
        screen.say("Next: gbrain import DIR takes in a folder of notes.")


@command.command("demo", epilog=examples("gbrain demo", "gbrain demo --keep ~/demo.db"))
def demo(
    keep: Annotated[Path | None, typer.Option(help="Keep the demo brain in this file.")] = None,
) -> None:
    """Build a small brain from sample pages in a temporary place and ask it questions."""
    if keep and os.path.lexists(keep):
        raise UsageError(
            f"{keep} is there already, and the demo needs a brain of its own",
            hint="Name a new file; gbrain search WORDS --db FILE asks a demo that you kept.",
            code="file_exists",
        )
    with tempfile.TemporaryDirectory(prefix="gbrain-demo-") as place:
        path = keep or Path(place, "demo.db")
        with Brain.open(path, make=True) as brain:
            report = brain.import_folder(SAMPLE)
            pages = report.count("create") + report.unchanged
            with show_progress("Embedding", quiet=False) as show:
                brain.embed(progress=show)
            _say(f"A brain of {pages} sample pages, built offline in {path}\n")
            for kind, text, why in _SHOWN:
                _head(f'{kind} "{text}" -n 2', why)
                _show(
                    brain.search(text, limit=2) if kind == "search" else brain.query(text, limit=2)
                )
            _head(f'explain "{_EXPLAINED}"', "Every number behind an answer; here in short.")
            answer, work = brain.query_with_trace(_EXPLAINED)
            _say("\n".join(_in_short(answer, work)) + "\n")
            _head(
                f'query "{_IN_DEPTH}" --depth auto --budget {_BUDGET}',
                "Context for a language model, with citations that can be checked.",
            )
            _show(brain.query(_IN_DEPTH, depth="auto", budget=_BUDGET))
    _say("Now your own: gbrain import DIR, then gbrain query 'your question'.")


def _say(text: str) -> None:
    if screen.on_terminal():
        screen.console().print(text, markup=False)
    else:
        screen.write(f"{text}\n")


def _head(words: str, why: str) -> None:
    if screen.on_terminal():
        from rich.text import Text

        screen.console().print(
            Text.assemble((f"$ gbrain {words}", "bold green"), "\n", (why, "dim"))
        )
        screen.write("\n")
    else:
        screen.write(f"$ gbrain {words}\n# {why}\n")


def _show(answer: Answer) -> None:
    if screen.on_terminal():
        from gbrain.output.answer_terminal import show_answer

        show_answer(answer, pager=False)
        screen.write("\n")
    else:
        screen.write(f"{answer_text(answer)}\n\n")


def _in_short(answer: Answer, work: StageResults) -> Iterator[str]:
    """What each stage came to, a line each."""
    from gbrain.text.query_tree import describe_query

    yield f"  read as   {describe_query(work.query)}"
    for lane, found in work.lanes.by_name.items():
        if found.pages:
            first = found.pages[0]
            pages = f"{len(found.pages)} {'page' if len(found.pages) == 1 else 'pages'}"
            yield f"  {lane:9} {pages}, first {first.slug} ({first.score:.2f})"
    yield f"  {work.plan.merge:9} {work.fused[0].slug} ({work.fused[0].score:.2f})"
    yield f"  verdict   {answer.verdict.grade}: {answer.verdict.reasons[0]}"
