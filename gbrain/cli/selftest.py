"""`selftest` and `tune`: how well a brain answers questions of its own, and whether it could."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.evaluate.question_mining import MAX_QUESTIONS_PER_KIND
from gbrain.evaluate.selftest import TOLERANCE
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.progress import show_progress

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.evaluate.tune_questions import TuneQuestion

command = Module()

Questions = Annotated[
    int, typer.Option("--questions", metavar="N", min=1, max=10_000, help="At most N of each kind.")
]


@command.command(
    "selftest",
    epilog=examples(
        "gbrain selftest",
        "gbrain selftest --keep",
        "gbrain selftest --quiet || echo 'answers got worse'",
        "gbrain selftest --json | jq '.lost[] | {text, expected, came}'",
    ),
)
def selftest(
    questions: Questions = MAX_QUESTIONS_PER_KIND,
    keep: Annotated[bool, typer.Option("--keep", help="Compare later runs with this one.")] = False,
    tolerance: Annotated[
        float,
        typer.Option(metavar="X", min=0, max=1, help="A loss of nDCG@10 up to X is none."),
    ] = TOLERANCE,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every question lost.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Ask the brain questions mined from its own pages; exit with 1 when answers got worse.

    Pages are asked for by what they say first, by a heading, by the date of a timeline entry, by
    the words that link to them, and by misspelt and reworded questions. The first run is kept;
    later ones are compared with it, question by question, until --keep keeps another. Worse means
    a loss beyond --tolerance that chance would hardly give (a paired randomisation test).

    With --quiet nothing is printed unless answers got worse, as cron wants it.
    """
    from gbrain.evaluate.selftest import load_baseline, run_selftest, save_baseline
    from gbrain.output.selftest import report_document, report_summary, report_text, show_report

    with open_brain(db) as brain:
        baseline = load_baseline(brain)
        with show_progress("Asking", quiet=quiet or json) as show:
            report = run_selftest(
                brain, most=questions, tolerance=tolerance, baseline=baseline, progress=show
            )
        kept = keep or (baseline is None and not brain.read_only)
        if kept:
            save_baseline(brain, report)
    if json:
        screen.write_json(report_document(report, kept=kept))
    elif report.worse or not quiet:
        if screen.on_terminal():
            show_report(report, every=verbose)
        else:
            screen.write(report_text(report))
        screen.say(report_summary(report, kept=kept))
    if report.worse:
        raise typer.Exit(1)


@command.command(
    "tune",
    epilog=examples(
        "gbrain tune",
        "gbrain tune ~/sets/my-questions",
        "gbrain tune ~/sets/my-questions --apply",
    ),
)
def tune_(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="A labelled set whose pages are in this brain; else questions you asked and "
            "opened pages from, else mined ones.",
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the settings, if they gain.")
    ] = False,
    questions: Questions = MAX_QUESTIONS_PER_KIND,
    folds: Annotated[
        int, typer.Option(metavar="K", min=2, max=50, help="Parts for the cross-validation.")
    ] = 5,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Fit merge strategy, lane weights and bonus to this brain.

    Each question is asked of both lanes once and merged in some fifty ways. The gain shown is that
    of settings chosen without the questions they are measured on, with its uncertainty. Nothing is
    written without --apply, and never when the gain could be chance.
    """
    from gbrain.evaluate.tune import tune
    from gbrain.output.tuning import recommendation, show_tuned, tuned_document, tuned_text

    with open_brain(db) as brain:
        cases, source = _cases(brain, folder, questions, quiet or json)
        with show_progress("Merging", quiet=quiet or json) as show:
            tuned = tune(cases, brain.settings, folds=folds, progress=show)
        mined = source == "mined"
        trusted = tuned.gains and (tuned.balanced or not mined)
        written = tuned.best.changes_from(tuned.present) if apply and trusted else {}
        undo = _write(brain, written) if written else ""
    if json:
        screen.write_json(tuned_document(tuned, source=source, written=written, undo=undo))
    elif not quiet:
        if screen.on_terminal():
            show_tuned(tuned)
        else:
            screen.write(tuned_text(tuned))
        screen.say(f"{counted(len(cases), 'question')}, {_SOURCES[source]}.")
        screen.say(recommendation(tuned, mined=mined, written=written, undo=undo))


_SOURCES = {
    "labelled": "with answers from the set",
    "opened": "asked by you, with the pages you opened",
    "mined": "mined from the pages",
}


def _cases(
    brain: Brain, folder: Path | None, questions: int, silent: bool
) -> tuple[list[TuneQuestion], str]:
    """The questions to fit on, the best there are, and where they come from."""
    from gbrain.evaluate.datasets import load_dataset
    from gbrain.evaluate.tune_questions import dataset_questions, mined_questions, opened_questions

    with show_progress("Asking", quiet=silent) as show:
        if folder is not None:
            return dataset_questions(brain, load_dataset(folder.expanduser()), show), "labelled"
        opened = opened_questions(brain, show)
        return (opened, "opened") if opened else (mined_questions(brain, questions, show), "mined")


def _write(brain: Brain, values: dict[str, str]) -> str:
    """Writes the settings; gives the command that puts back what was there."""
    before = brain.stored_settings
    brain.set_all(values)
    return " && ".join(
        f"gbrain config set {name} {before[name]}"
        if name in before
        else f"gbrain config reset {name}"
        for name in values
    )
