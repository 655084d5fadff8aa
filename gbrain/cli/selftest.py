"""`selftest` and `tune`: measure and tune the search with questions from the brain itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.cli.commands import Db, Json, Module, Quiet, examples
from gbrain.cli.open_brain import open_brain
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
        help="Maximum questions of each kind (default 100).",
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
        bool, typer.Option("--keep", help="Save this run: later runs are compared with it.")
    ] = False,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="X",
            min=0,
            max=1,
            help="Ignore drops of up to X (default 0.02).",
            show_default=False,
        ),
    ] = TOLERANCE,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show every page that ranks lower than before."),
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Test the search with questions made from your pages.

    The first run is saved, and later runs are compared with it. If results got worse, the command
    lists the questions that lost and exits with 1. With --keep, later runs are compared with this
    run. For cron, use --quiet: it prints nothing unless results got worse.

    Most questions ask for one page, for example by a heading, by a word that only this page
    contains, or by the date of a timeline entry; some have a typo or other words than the page. A
    question about a word that no page contains must get the verdict "nothing", or "partial" with
    that word named. Some ask for notes that are written to a temporary copy of the brain; your
    brain does not change.

    The score (nDCG@10) is 1 if the right page always comes first, and 0 if it is never among the
    first ten. Results count as worse if the score drops by more than --tolerance and the drop is
    unlikely to be chance.
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
            help="Dataset with questions about these pages, as for gbrain eval (default: your "
            "recorded queries if there are enough, else questions made from the pages).",
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Save the best settings if the gain is reliable.")
    ] = False,
    questions: Questions = MAX_QUESTIONS_PER_KIND,
    folds: Annotated[
        int,
        typer.Option(
            metavar="K", min=2, max=50, help="Split the questions into K parts (default 5)."
        ),
    ] = 5,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Find the search settings that suit this brain best.

    It asks questions with known answers with about fifty combinations of settings. Each merges
    keyword and vector results in another way. The score (nDCG@10) is 1 if the right page always
    comes first. Nothing changes without --apply.

    To measure the gain fairly, the questions are split into parts. Each part is scored with the
    settings that were best for the other parts (cross-validation). --apply saves the best settings
    only if the 95 % interval of the gain is above 0, so that the gain is unlikely to be chance.
    """
    from gbrain.evaluate.tune import tune
    from gbrain.output.tuning import recommendation, show_tuned, tuned_document, tuned_text

    with open_brain(db) as brain:
        tune_questions, source = _collect_questions(brain, folder, questions, quiet or json)
        with show_progress("Merging", quiet=quiet or json) as show:
            tuned = tune(tune_questions, brain.settings, folds=folds, progress=show)
        mined = source == "mined"
        reliable = tuned.is_gain and (tuned.is_balanced or not mined)
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
    "mined": "made from the pages",
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
