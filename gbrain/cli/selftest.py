"""Commands that measure and tune a brain with its own questions: selftest, tune."""

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
from gbrain.output.screen import show_progress

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.evaluate.tune_questions import TuneQuestion

command = Module()

Questions = Annotated[
    int,
    typer.Option(
        "--questions",
        metavar="N",
        min=1,
        max=10_000,
        help="Maximum number of questions of each kind (default 100).",
        show_default=False,
    ),
]


@command.command(
    "selftest",
    epilog=examples(
        "gbrain selftest",
        "gbrain selftest --keep",
        "gbrain selftest --quiet || echo 'results got worse'",
        "gbrain selftest --json | jq '.lost[] | {text, expected, came}'",
    ),
)
def selftest(
    questions: Questions = MAX_QUESTIONS_PER_KIND,
    keep: Annotated[
        bool, typer.Option("--keep", help="Make this run the baseline for later runs.")
    ] = False,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="X",
            min=0,
            max=1,
            help="Ignore drops of nDCG@10 of up to X (default 0.02).",
            show_default=False,
        ),
    ] = TOLERANCE,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every page that lost rank.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Ask the brain questions mined from its own pages; exit with 1 when results got worse.

    The questions ask for a page by its first sentence, by a heading, by the date of a timeline
    entry, by the text of a link to it, with a typo and as a paraphrase; by a word or identifier
    that no other page contains; and by its title and a month, whose entry must be shown. Questions
    with a word that no page contains must be graded nothing, or partial with that word named. New
    notes must be found by their meaning; they are written into a temporary copy of the brain.

    The first run is saved as the baseline. Later runs are compared with it question by question,
    until --keep saves a new one. Worse means a drop larger than --tolerance that is statistically
    significant (paired randomisation test).

    With --quiet, which suits cron, nothing is printed unless results got worse.
    """
    from gbrain.evaluate.selftest import load_baseline, run_selftest, save_baseline
    from gbrain.output.selftest import report_document, report_summary, report_text, show_report

    with open_brain(db) as brain:
        baseline = load_baseline(brain)
        with show_progress("Asking", quiet=quiet or json) as show:
            report = run_selftest(
                brain, limit=questions, tolerance=tolerance, baseline=baseline, progress=show
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
        for line in report_summary(report, kept=kept).splitlines():
            screen.say(line)
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
            help="Dataset whose pages are in this brain (default: your recorded queries if there "
            "are enough, otherwise questions mined from the pages).",
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Change the settings if the gain is significant.")
    ] = False,
    questions: Questions = MAX_QUESTIONS_PER_KIND,
    folds: Annotated[
        int,
        typer.Option(
            metavar="K", min=2, max=50, help="Number of folds for the cross-validation (default 5)."
        ),
    ] = 5,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Find the merge strategy, lane weights and bonus that fit this brain best.

    Each question is asked once of the keyword lane and of the vector lane, and the results are
    merged in about fifty ways. The gain shown is cross-validated and has a 95 % interval. Settings
    change only with --apply, and only when the gain is significant.
    """
    from gbrain.evaluate.tune import tune
    from gbrain.output.tuning import recommendation, show_tuned, tuned_document, tuned_text

    with open_brain(db) as brain:
        tune_questions, source = _collect_questions(brain, folder, questions, quiet or json)
        with show_progress("Merging", quiet=quiet or json) as show:
            tuned = tune(tune_questions, brain.settings, folds=folds, progress=show)
        mined = source == "mined"
        reliable = tuned.is_gain and (tuned.balanced or not mined)
        written = tuned.best.changes_from(tuned.present) if apply and reliable else {}
        undo = _change_settings(brain, written) if written else ""
    if json:
        screen.write_json(tuned_document(tuned, source=source, written=written, undo=undo))
    elif not quiet:
        if screen.on_terminal():
            show_tuned(tuned)
        else:
            screen.write(tuned_text(tuned))
        screen.say(f"{counted(len(tune_questions), 'question')}, {_SOURCES[source]}.")
        for line in recommendation(tuned, mined=mined, written=written, undo=undo).splitlines():
            screen.say(line)


_SOURCES = {
    "labelled": "from the dataset",
    "opened": "from your recorded queries and the pages you opened",
    "mined": "mined from the pages",
}


def _collect_questions(
    brain: Brain, folder: Path | None, questions: int, silent: bool
) -> tuple[list[TuneQuestion], str]:
    """Return the questions to tune with, and where they come from."""
    from gbrain.evaluate.datasets import load_dataset
    from gbrain.evaluate.tune_questions import dataset_questions, mined_questions, opened_questions

    with show_progress("Asking", quiet=silent) as show:
        if folder is not None:
            return dataset_questions(brain, load_dataset(folder.expanduser()), show), "labelled"
        opened = opened_questions(brain, show)
        return (opened, "opened") if opened else (mined_questions(brain, questions, show), "mined")


def _change_settings(brain: Brain, values: dict[str, str]) -> str:
    """Change the settings; return the command that restores the previous ones."""
    before = brain.stored_settings
    brain.set_all(values)
    return " && ".join(
        f"gbrain config set {name} {before[name]}"
        if name in before
        else f"gbrain config reset {name}"
        for name in values
    )
