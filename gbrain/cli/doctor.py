"""`stats`, `doctor`, `gaps` and `verify`: count, check and repair, and find what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.brain import timestamp, today
from gbrain.cli.commands import (
    Db,
    Json,
    Module,
    NoPager,
    Quiet,
    examples,
    number_option,
    read_input,
)
from gbrain.cli.open_brain import open_brain
from gbrain.errors import ModelUnavailable, NotFound
from gbrain.messages import counted
from gbrain.output import doctor as output
from gbrain.output import screen
from gbrain.output import stats as stats_output
from gbrain.paths import brain_path
from gbrain.store.gaps import GAP_KINDS, GapKind
from gbrain.text.citations import parse_citations

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
        bool,
        typer.Option("--verbose", "-v", help="List every check, and every affected page or row."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only problems; nothing if there are none.")
    ] = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Check the brain file; exit with 1 if there are problems."""
    from gbrain.store.doctor.examine import examine_file

    hidden = _hidden_statuses(verbose=verbose, quiet=quiet)
    findings: list[tuple[str, Finding]] = []

    def add(name: str, finding: Finding) -> None:
        findings.append((name, finding))
        if not (json or finding.unreadable or finding.status in hidden):
            output.show_finding(name, finding, verbose=verbose)

    path = brain_path(db)
    for name, finding in examine_file(path, timestamp(), full=full, repair=repair):
        add(name, finding)
    if full and all(finding.status != "problem" for _, finding in findings):
        add("vector_model", _check_vector_model(db, repair=repair))
    unreadable = [finding.unreadable for _, finding in findings if finding.unreadable]
    if unreadable and not json:
        output.show_finding("file", _unreadable_file(path, unreadable), verbose=verbose)
    problems = sum(finding.status == "problem" for _, finding in findings)
    repaired = sum(finding.status == "repaired" for _, finding in findings)
    if repaired and not problems:
        _warn_about_worse_results(db, quiet=quiet)
    if json:
        checks = [
            output.finding_document(name, finding, verbose=verbose) for name, finding in findings
        ]
        screen.write_json({"checks": checks, "ok": not problems})
    elif not quiet:
        shown = problems - len(unreadable) + bool(unreadable)
        screen.say(_summary(len(findings), shown, repaired))
    if problems:
        raise typer.Exit(1)


def _hidden_statuses(*, verbose: bool, quiet: bool) -> frozenset[str]:
    """Return the statuses that are not printed: a person wants to read what is not ok."""
    if quiet:
        return frozenset({"ok", "note", "repaired"})
    return frozenset({"ok"} if screen.on_terminal() and not verbose else ())


def _unreadable_file(path: Path, kinds: list[str]) -> Finding:
    """Return one finding for all checks that could not read the file."""
    from gbrain.store.doctor.findings import NEW_BRAIN, Finding

    checks = f"{counted(len(kinds), 'check')} could not read it"
    return Finding("problem", f"{path} is damaged: {checks} ({kinds[0]})", NEW_BRAIN, 1)


def _check_vector_model(db: Path | None, *, repair: bool) -> Finding:
    """Tell whether a sample of the vectors comes from the active model."""
    from gbrain.store.doctor.findings import Finding

    try:
        with open_brain(db) as brain:
            foreign, sampled = brain.count_foreign_vectors(repair=repair)
    except ModelUnavailable as error:
        return Finding("note", f"the vectors were not compared: {error.message}", error.hint)
    if not foreign:
        return Finding("ok", "the active model made the vectors")
    return Finding(
        "repaired" if repair else "problem",
        f"of {counted(sampled, 'vector')}, {foreign} made by another model",
        "gbrain embed makes them again." if repair else "gbrain doctor --full --repair",
        foreign,
    )


def _summary(checks: int, problems: int, repaired: int) -> str:
    done = f", {repaired} repaired" if repaired else ""
    found = counted(problems, "problem") if problems else "no problems"
    return f"{counted(checks, 'check')}{done}, {found} found."


def _warn_about_worse_results(db: Path | None, *, quiet: bool) -> None:
    """Warn when a repaired brain gives worse results than its stored self-test baseline."""
    from gbrain.evaluate.selftest import load_baseline, run_selftest
    from gbrain.output.screen import show_progress

    with open_brain(db) as brain, show_progress("Running the self-test", quiet=quiet) as show:
        baseline = load_baseline(brain)
        worse = baseline and run_selftest(brain, baseline=baseline, progress=show).worse
    if worse:
        screen.say("Results are worse than before the repair; run gbrain selftest for details.")


@command.command(
    "gaps",
    epilog=examples(
        "gbrain config set record_queries on",
        "gbrain gaps",
        "gbrain gaps --kind unwritten --limit 50",
        "gbrain gaps --json | jq -r '.gaps[].command'",
    ),
)
def gaps(
    kind: Annotated[
        GapKind | None,
        typer.Option(
            "--kind", metavar="KIND", help="Only this kind: asked, unwritten, empty, stale."
        ),
    ] = None,
    limit: Annotated[
        int,
        number_option("--limit", "-n", help="Maximum number of each kind (default 10).", high=1000),
    ] = 10,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List questions without an answer and pages to write.

    asked: questions without a good answer (recorded while the setting record_queries is on).
    unwritten: pages that others link to but that do not exist. empty: pages without text above
    their timeline. stale: pages that are used, but were not changed for stale_days (a setting).
    """
    with open_brain(db) as brain:
        recording = bool(brain.settings.record_queries)
        found = brain.gaps()
    wanted = (kind,) if kind else GAP_KINDS
    shown = {kind: found[kind][:limit] for kind in wanted}
    totals = {kind: len(found[kind]) for kind in wanted}
    rows = [gap for kind in wanted for gap in shown[kind]]
    if json:
        documents = [output.gap_document(gap) for gap in rows]
        screen.write_json({"recording": recording, "gaps": documents, "totals": totals})
    elif screen.on_terminal():
        output.show_gaps(shown, totals, pager=not no_pager)
    else:
        screen.write_table((), [output.gap_row(gap) for gap in rows], "")
    if quiet:
        return
    if not rows:
        screen.say("No gaps found.")
    if not recording and "asked" in wanted:
        screen.say(
            "Questions are not recorded. gbrain config set record_queries on records them "
            "in this brain."
        )


@command.command(
    "verify",
    epilog=examples(
        "gbrain query 'what did we decide' --depth auto --json > context.json",
        "gbrain verify context.json",
        "gbrain verify < answer.md",
        "gbrain verify answer.md --json | jq -r '.citations[] | select(.status == \"gone\").slug'",
    ),
)
def verify(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="JSON of a query, or text with citations (default: standard input).",
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Check whether cited text is still in the brain.

    A citation names a page, its lines and a fingerprint of their text. The text of each one is
    unchanged, moved (to other lines or another page), changed, gone (no longer in the brain) or
    unknown (it never was in the brain). The last three make the command exit with 1.
    """
    citations = parse_citations(read_input(file).decode("utf-8-sig", "replace"))
    if not citations:
        raise NotFound(
            "The input contains no citations",
            hint="A citation looks like [people/alice-chen#L12-18 ab12cd34ef56]; "
            "gbrain query TEXT --depth auto prints them.",
            code="no_citations",
        )
    with open_brain(db) as brain:
        checked = brain.verify(citations)
    lost = [one for one in checked if one.status not in ("unchanged", "moved")]
    if json:
        documents = [output.citation_document(one) for one in checked]
        screen.write_json({"citations": documents, "ok": not lost})
    elif screen.on_terminal():
        output.show_citations(checked)
    else:
        screen.write_table((), [output.citation_row(one) for one in checked], "")
    if not json and not quiet:
        screen.say(f"{output.count_statuses(checked)}.")
    if lost:
        raise typer.Exit(1)
