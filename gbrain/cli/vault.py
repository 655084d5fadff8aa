"""`import sync export`: folders of notes in and out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from gbrain.brain import Brain, default_path
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.errors import BadPage, ModelUnavailable, NotFound
from gbrain.ingest import Problem, Report
from gbrain.output import screen
from gbrain.output.documents import report_document
from gbrain.output.progress import progress

command = Module()

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Where both sides changed, take the file's text.")
]
NoEmbed = Annotated[
    bool, typer.Option("--no-embed", help="Leave embedding to gbrain embed --stale.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change, change nothing.")]


@command.command(
    "import",
    epilog=examples(
        "gbrain import ~/notes",
        "gbrain import ~/notes ~/journal --dry-run",
        "gbrain import ~/notes --json | jq .problems",
    ),
)
def import_(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of notes.")],
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    no_embed: NoEmbed = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Take in folders of Markdown notes; what did not change is not read again."""
    with ExitStack() as stack:
        place = db or default_path()
        if dry_run and not place.exists():
            place = Path(stack.enter_context(TemporaryDirectory()), "brain.db")
        brain = stack.enter_context(open_brain(place, make=True))
        report = _take_in(brain, folders, overwrite, dry_run, quiet, drop=False)
        _embed(brain, report, no_embed or dry_run, quiet)
    _finish(report, dry_run, quiet, json)


@command.command("sync", epilog=examples("gbrain sync", "gbrain sync --dry-run"))
def sync(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Else every imported folder.")
    ] = None,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    no_embed: NoEmbed = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Follow the folders that were imported: new and changed files in, vanished ones out."""
    with open_brain(db) as brain:
        roots = folders or [Path(root) for root in brain.vault_roots()]
        if not roots:
            raise NotFound(
                "No folder has been imported yet", hint="gbrain import DIR", code="no_folder"
            )
        report = _take_in(brain, roots, overwrite, dry_run, quiet, drop=True)
        _embed(brain, report, no_embed or dry_run, quiet)
    _finish(report, dry_run, quiet, json)


def _take_in(
    brain: Brain, folders: list[Path], overwrite: bool, dry_run: bool, quiet: bool, *, drop: bool
) -> Report:
    total = Report()
    for folder in folders:
        try:
            with progress(f"Reading {folder.name or folder}", quiet=quiet) as show:
                report = brain.take_in(
                    folder, drop=drop, overwrite=overwrite, dry_run=dry_run, progress=show
                )
        except (NotFound, BadPage) as error:
            if len(folders) == 1:
                raise
            total.problems.append(Problem(str(folder), error.message, error.hint, error.code))
            continue
        total.changes += report.changes
        total.unchanged += report.unchanged
        total.problems += report.problems
    return total


def _embed(brain: Brain, report: Report, skip: bool, quiet: bool) -> None:
    """Embeds what came in. A model that cannot be had leaves the pages searchable by keyword."""
    if skip or not report.changes:
        return
    try:
        with progress("Embedding", quiet=quiet) as show:
            brain.embed(progress=show)
    except ModelUnavailable as error:
        screen.say(f"{error.message} The pages are in; gbrain embed does the rest later.")


def _finish(report: Report, dry_run: bool, quiet: bool, as_json: bool) -> None:
    if as_json:
        screen.write_json(report_document(report, dry_run=dry_run))
    else:
        if dry_run:
            rows = [(change.action, change.slug, change.path) for change in report.changes]
            screen.write_table(("Would", "Slug", "File"), rows, "Nothing would change.")
        for problem in report.problems:
            hint = f" ({problem.hint})" if problem.hint else ""
            screen.say(f"{problem.path}: {problem.reason}{hint}")
        if not quiet:
            screen.say(_summary(report, dry_run))
    if report.problems:
        raise typer.Exit(1)


def _summary(report: Report, dry_run: bool) -> str:
    counts = [
        f"{report.count('create')} new",
        f"{report.count('update')} changed",
        f"{report.unchanged} unchanged",
    ]
    if report.count("delete"):
        counts.append(f"{report.count('delete')} removed")
    if report.problems:
        counts.append(f"{len(report.problems)} not taken in")
    return ("Would be: " if dry_run else "") + ", ".join(counts) + "."


@command.command("export", epilog=examples("gbrain export ~/notes-copy"))
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write the pages.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write every page back as a file, byte for byte."""
    with open_brain(db) as brain, progress("Writing", quiet=quiet) as show:
        written, same = brain.export(folder, progress=show)
    if json:
        screen.write_json({"folder": str(folder), "written": written, "unchanged": same})
    elif not quiet:
        screen.say(f"{written} pages written to {folder}, {same} already there.")
