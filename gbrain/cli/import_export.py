"""`import sync export`: folders of notes in and out."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from gbrain.brain import Brain, default_path
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.errors import BadPage, ModelUnavailable, NotFound, UsageError
from gbrain.importing.importer import ImportReport
from gbrain.importing.scan import ImportProblem, require_folder
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.documents import import_report_document
from gbrain.output.progress import show_progress

command = Module()

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Where both sides changed, take the file's text.")
]
NoEmbed = Annotated[
    bool, typer.Option("--no-embed", help="Leave embedding to gbrain embed --stale.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change, change nothing.")]

_NAMED = 10


@command.command(
    "import",
    epilog=examples(
        "gbrain import ~/notes",
        "gbrain import ~/notes ~/journal --dry-run",
        "gbrain import ~/notes --json | jq .problems",
        "gbrain export - --format json | gbrain import --stdin --db copy.db",
    ),
)
def import_(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Folders of notes.")
    ] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Take pages from standard input, a JSON object a line.")
    ] = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    no_embed: NoEmbed = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Take in folders of Markdown notes; what did not change is not read again.

    Notes may come from Obsidian, Logseq or Bear: their links, tags and properties are understood,
    and their text stays as it is. With --stdin each line is a page, as `export --format json` makes
    it: {"slug", "text"} or {"title", "tags", "body"}. A line that is none is named, the others go
    in.
    """
    if bool(folders) == stdin:
        raise UsageError("Name folders to import, or say --stdin", hint="gbrain import ~/notes")
    for folder in folders or ():
        require_folder(folder)
    with ExitStack() as stack:
        place = db or default_path()
        if dry_run and not place.exists():
            place = Path(stack.enter_context(TemporaryDirectory()), "brain.db")
        brain = stack.enter_context(open_brain(place, make=True))
        if folders:
            report = _take_in(brain, folders, overwrite, dry_run, quiet, drop=False)
        else:
            report = brain.import_jsonl(sys.stdin.buffer, dry_run=dry_run)
        embedded = _embed(brain, report, no_embed or dry_run, quiet)
    _finish(report, dry_run, quiet, json, embedded, report.skipped)


@command.command(
    "sync", epilog=examples("gbrain sync", "gbrain sync --dry-run", "gbrain sync --watch")
)
def sync(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Else every imported folder.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and take in each change when it happens.")
    ] = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    no_embed: NoEmbed = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Follow the folders that were imported: new and changed files in, vanished ones out.

    With --watch it stays: each change is taken in and embedded moments after it is made, with one
    line a round (with --json one document a line). A folder that vanishes is followed again when
    it is back. SIGTERM ends it with 0, Ctrl-C with 130; what is in the brain is whole either way.
    """
    if watch and dry_run:
        raise UsageError(
            "--watch and --dry-run do not go together",
            hint="gbrain sync --dry-run says what would change now.",
        )
    with open_brain(db) as brain:
        roots = folders or [Path(root) for root in brain.folder_roots()]
        if not roots:
            raise NotFound(
                "No folder has been imported yet", hint="gbrain import DIR", code="no_folder"
            )
        if not watch:
            report = _take_in(brain, roots, overwrite, dry_run, quiet, drop=True)
            embedded = _embed(brain, report, no_embed or dry_run, quiet)
    if watch:
        from gbrain.cli.sync_watch import Follower

        Follower(db, overwrite, not no_embed, quiet, json).follow(roots)
    else:
        _finish(report, dry_run, quiet, json, embedded)


def _take_in(
    brain: Brain, folders: list[Path], overwrite: bool, dry_run: bool, quiet: bool, *, drop: bool
) -> ImportReport:
    total = ImportReport()
    for folder in folders:
        try:
            with show_progress(f"Reading {folder.name or folder}", quiet=quiet) as show:
                report = brain.import_folder(
                    folder, drop=drop, overwrite=overwrite, dry_run=dry_run, progress=show
                )
        except (NotFound, BadPage) as error:
            if len(folders) == 1:
                raise
            total.problems.append(ImportProblem(str(folder), error.message, error.hint, error.code))
            continue
        total.changes += report.changes
        total.unchanged += report.unchanged
        total.problems += report.problems
        total.skipped += report.skipped
    return total


def _embed(brain: Brain, report: ImportReport, skip: bool, quiet: bool) -> int:
    """Embeds what came in and says how many passages.

    A model that cannot be had leaves the pages searchable by keyword.
    """
    if skip or not report.changes:
        return 0
    try:
        with show_progress("Embedding", quiet=quiet) as show:
            return brain.embed(progress=show).done
    except ModelUnavailable as error:
        screen.say(f"{error.message} The pages are in; gbrain embed does the rest later.")
        return 0


def _finish(
    report: ImportReport, dry_run: bool, quiet: bool, as_json: bool, embedded: int, others: int = 0
) -> None:
    if as_json:
        screen.write_json(import_report_document(report, dry_run=dry_run))
    else:
        if dry_run:
            rows = [(change.action, change.slug, change.path) for change in report.changes]
            screen.write_table(("Would", "Slug", "File"), rows, "Nothing would change.")
        for problem in report.problems:
            hint = f" ({problem.hint})" if problem.hint else ""
            screen.say(f"{problem.path}: {problem.reason}{hint}")
        if not quiet:
            also = f" {counted(embedded, 'passage')} embedded." if embedded else ""
            if others:
                also += f" {counted(others, 'file')} passed over: not Markdown, or ignored."
            screen.say(f"{'Would be: ' if dry_run else ''}{report.summary()}{also}")
    if report.problems:
        raise typer.Exit(1)


class Format(StrEnum):
    md = "md"
    json = "json"
    html = "html"


@command.command(
    "export",
    epilog=examples(
        "gbrain export ~/notes-copy",
        "gbrain export ~/site --format html",
        "gbrain export - --format json | jq -r .slug",
    ),
)
def export(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write; - is standard output, for json.")
    ],
    format_: Annotated[
        Format, typer.Option("--format", help="As Markdown files, lines of JSON or web pages.")
    ] = Format.md,
    force: Annotated[
        bool, typer.Option("--force", help="Also over files with text that the brain never held.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write every page back as a file, byte for byte.

    A file that was changed by hand and not taken in is left alone and named; the folder a page
    came from counts as taken in afterwards, so that sync goes on from there.

    As json it is one file, brain.ndjson, with a page a line, which `import --stdin` takes back
    without loss. As html it is a folder of pages with links between them, to open in a browser:
    index.html lists them all.
    """
    with open_brain(db) as brain:
        if str(folder) == "-":
            if format_ is not Format.json or json:
                raise UsageError(
                    "- takes --format json, and not --json", hint="gbrain export - --format json"
                )
            _write_lines(brain)
            return
        written, same = _export(brain, folder, format_, force, quiet)
        if format_ is Format.md and not quiet:
            _name_unread(brain)
    if json:
        screen.write_json({"folder": str(folder), "written": written, "unchanged": same})
    elif not quiet:
        screen.say(f"{counted(written, 'page')} written to {folder}, {same} already there.")


def _export(
    brain: Brain, folder: Path, format_: Format, force: bool, quiet: bool
) -> tuple[int, int]:
    """How many files were written, and how many stood there already."""
    from gbrain.importing.export import export_files, export_jsonl

    with show_progress("Writing", quiet=quiet) as show:
        if format_ is Format.md:
            return brain.export(folder, force=force, progress=show)
        if format_ is Format.json:
            return export_jsonl(brain.database, folder, show), 0
        from gbrain.output.site import render_site

        return export_files(brain.database, folder, show, render_site)


def _name_unread(brain: Brain) -> None:
    """Says which of the files an import would not take back."""
    from gbrain.importing.export import pages_skipped_by_import

    with brain.database.read_transaction() as connection:
        unread = pages_skipped_by_import(connection)
    if unread:
        more = ", …" if len(unread) > _NAMED else ""
        screen.say(
            f"{counted(len(unread), 'page')} written where import passes over: "
            f"{', '.join(unread[:_NAMED])}{more}. gbrain rename gives them other names; "
            "--format json takes all pages along."
        )


def _write_lines(brain: Brain) -> None:
    from gbrain.importing.export import jsonl_lines

    with brain.database.read_transaction() as connection:
        sys.stdout.buffer.writelines(line.encode() for line in jsonl_lines(connection))
