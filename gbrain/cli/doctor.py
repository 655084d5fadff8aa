"""The commands `stats` and `doctor`: what a brain contains, and whether its file is sound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.brain import default_path, timestamp
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain, today
from gbrain.messages import counted
from gbrain.output import doctor as doctor_output
from gbrain.output import screen
from gbrain.output import stats as stats_output

if TYPE_CHECKING:
    from gbrain.store.doctor.findings import Finding

command = Module()


@command.command("stats", epilog=examples("gbrain stats", "gbrain stats --json | jq .pages"))
def stats(json: Json = False, db: Db = None) -> None:
    """Show what the brain contains, in numbers."""
    with open_brain(db) as brain:
        path, numbers = brain.path, brain.stats()
    if json:
        screen.write_json(stats_output.stats_document(path, numbers))
    elif screen.on_terminal():
        stats_output.show_stats(path, numbers, f"{today():%Y-%m}")
    else:
        screen.write(stats_output.stats_text(path, numbers))


@command.command(
    "doctor",
    epilog=examples("gbrain doctor", "gbrain doctor --repair", "gbrain doctor --full --json"),
)
def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair the problems that can be repaired.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Also compare every page with its indexes (slow).")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="List every affected page or row.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Check the brain file; exit with 1 if there are problems."""
    from gbrain.store.doctor.examine import examine_file

    findings: list[tuple[str, Finding]] = []
    path = db.expanduser() if db else default_path()
    for name, finding in examine_file(path, timestamp(), full=full, repair=repair):
        findings.append((name, finding))
        if not json:
            doctor_output.show_finding(name, finding, verbose=verbose)
    problems = sum(finding.status == "problem" for _, finding in findings)
    repaired = sum(finding.status == "repaired" for _, finding in findings)
    if repaired and not problems:
        _warn_about_worse_results(db, quiet=quiet)
    if json:
        checks = [
            doctor_output.finding_document(name, finding, verbose=verbose)
            for name, finding in findings
        ]
        screen.write_json({"checks": checks, "ok": not problems})
    elif not quiet:
        screen.say(_summary(problems, repaired))
    if problems:
        raise typer.Exit(1)


def _summary(problems: int, repaired: int) -> str:
    done = f"{repaired} repaired. " if repaired else ""
    if problems:
        return f"{done}{counted(problems, 'problem')} found."
    return f"{done}No problems found."


def _warn_about_worse_results(db: Path | None, *, quiet: bool) -> None:
    """Warn when a repaired brain gives worse results than its stored self-test baseline."""
    from gbrain.evaluate.selftest import load_baseline, run_selftest
    from gbrain.output.screen import show_progress

    with open_brain(db) as brain, show_progress("Running the self-test", quiet=quiet) as show:
        baseline = load_baseline(brain)
        worse = baseline and run_selftest(brain, baseline=baseline, progress=show).worse
    if worse:
        screen.say("Results are worse than before the repair; run gbrain selftest for details.")
