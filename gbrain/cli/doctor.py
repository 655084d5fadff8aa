"""`stats` and `doctor`: what a brain holds, and whether it is well."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.brain import default_path, timestamp
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain, today
from gbrain.errors import BadBrain
from gbrain.messages import counted
from gbrain.output import doctor as care
from gbrain.output import screen
from gbrain.store.connection import Database

if TYPE_CHECKING:
    from gbrain.store.doctor.examine import Finding

command = Module()


@command.command("stats", epilog=examples("gbrain stats", "gbrain stats --json | jq .pages"))
def stats(json: Json = False, db: Db = None) -> None:
    """Show what the brain holds, in numbers."""
    with open_brain(db) as brain:
        path, counted = brain.path, brain.stats()
    if json:
        screen.write_json(care.stats_document(path, counted))
    elif screen.on_terminal():
        care.show_stats(path, counted, f"{today():%Y-%m}")
    else:
        screen.write(care.stats_text(path, counted))


@command.command(
    "doctor",
    epilog=examples("gbrain doctor", "gbrain doctor --repair", "gbrain doctor --full --json"),
)
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Check every index and cut every page anew; slower.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name every place.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Check the brain file; exit with 1 when something is wrong with it."""
    from gbrain.store.doctor.examine import examine, unopened

    findings: list[tuple[str, Finding]] = []
    try:
        path = db.expanduser() if db else default_path()
        with closing(Database(path, allow_foreign=True)) as database:
            if repair:
                # Says at once that the file may not be written, before anything is looked at.
                with database.write_transaction():
                    pass
            for name, finding in examine(database, timestamp(), full=full, mend=repair):
                findings.append((name, finding))
                if not json:
                    care.show_finding(name, finding, verbose=verbose)
    except BadBrain as error:
        if error.code not in ("damaged", "sqlite"):
            raise
        findings.append(("file", unopened(error)))
        if not json:
            care.show_finding(*findings[-1], verbose=verbose)
    problems = sum(finding.status == "problem" for _, finding in findings)
    if not problems and any(finding.status == "repaired" for _, finding in findings):
        _warn_of_loss(db, quiet=quiet)
    if json:
        checks = [care.finding_document(*found, verbose=verbose) for found in findings]
        screen.write_json({"checks": checks, "ok": not problems})
    elif not quiet:
        screen.say(_summary(findings, problems))
    if problems:
        raise typer.Exit(1)


def _summary(findings: list[tuple[str, Finding]], problems: int) -> str:
    repaired = sum(finding.status == "repaired" for _, finding in findings)
    mended = f"{repaired} repaired. " if repaired else ""
    if problems:
        return f"{mended}{counted(problems, 'problem')}."
    return f"{mended}The brain is well."


def _warn_of_loss(db: Path | None, *, quiet: bool) -> None:
    """Says so when a repaired brain answers worse than the baseline that selftest kept."""
    from gbrain.evaluate.selftest import kept_baseline, run_selftest
    from gbrain.output.progress import progress

    with open_brain(db) as brain, progress("Asking the self-test again", quiet=quiet) as show:
        baseline = kept_baseline(brain)
        worse = baseline and run_selftest(brain, baseline=baseline, progress=show).worse
    if worse:
        screen.say("Answers are worse than before the repair: gbrain selftest shows which.")
