"""`import`, `sync` and `export`: folders of notes in and out."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gbrain.brain import Brain, default_path
from gbrain.cli.commands import Db, Json, Module, Quiet, UpdateLinks, examples, refuse_together
from gbrain.cli.embedding import EMBED_LATER, embedded_share
from gbrain.cli.model_choice import suggest_model
from gbrain.cli.open_brain import open_brain
from gbrain.errors import BadPage, ModelUnavailable, NotFound, UsageError
from gbrain.importing.export import ExportFiles, PlannedFile
from gbrain.importing.import_report import ImportReport
from gbrain.importing.scan import ImportProblem, require_folder
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import import_report_document
from gbrain.output.screen import show_progress
from gbrain.text.slug import is_page_file

if TYPE_CHECKING:
    from gbrain.remotes.pull import PullReport
    from gbrain.remotes.push import PushReport

command = Module()

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Take the file's text instead of merging.")
]
NoEmbed = Annotated[
    bool, typer.Option("--no-embed", help="Skip embedding; gbrain embed does it later.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change, but change nothing.")
]

_MAX_SLUGS_LISTED = 10


class ImportOptions(NamedTuple):
    """The options of `import` and `sync`; `remove_many` is --delete."""

    overwrite: bool = False
    dry_run: bool = False
    embed: bool = True
    quiet: bool = False
    json: bool = False
    remove_many: bool = False
    update_links: bool = False


@command.command(
    "import",
    epilog=examples(
        "gbrain import ~/notes",
        "gbrain import ~/notes ~/journal --dry-run",
        "gbrain import ~/Downloads/minutes.md",
        "gbrain import ~/notes --json | jq .problems",
        "gbrain export - --format json | gbrain import --stdin --db copy.db",
    ),
)
def import_(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Folders of notes, or Markdown files."),
    ] = None,
    stdin: Annotated[
        bool,
        typer.Option("--stdin", help="Read pages as JSON lines from standard input."),
    ] = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    no_embed: NoEmbed = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Import folders of Markdown notes, or single files.

    Unchanged files are skipped. A single file inside an imported folder is imported as part of it,
    any other file as a page named after it. The text is stored unchanged. Links, tags and
    properties of Obsidian, Logseq and Bear are understood. Later changes of a page in the brain are
    written to its file; gbrain config set write_through off turns this off.

    With --stdin each line is a page as a JSON object: {"slug", "text"}, as export --format json
    writes it, or {"title", "tags", "body"}. A line that is not a page is reported, and the others
    are imported; a copy of all lines is kept then.
    """
    if bool(folders) == stdin:
        raise UsageError("Name the folders to import, or use --stdin", hint="gbrain import ~/notes")
    for folder in folders or ():
        if is_page_file(folder.name) and not folder.expanduser().exists():
            raise NotFound(f"There is no file {folder}", hint="Check its path.", code="no_file")
        if not folder.expanduser().is_file():
            require_folder(folder)
    with ExitStack() as stack:
        lines = None
        if stdin and not dry_run:
            from gbrain.cli.drafts import keep_stream

            lines = stack.enter_context(keep_stream(sys.stdin.buffer))
        place = db or default_path()
        if dry_run and not place.exists():
            place = Path(stack.enter_context(TemporaryDirectory()), "brain.db")
        brain = stack.enter_context(open_brain(place, make=True))
        for folder in folders or () if not dry_run else ():
            if folder.expanduser().is_dir():
                brain.allow_writing(folder)
        options = ImportOptions(
            overwrite=overwrite, dry_run=dry_run, embed=not no_embed, quiet=quiet, json=json
        )
        if folders:
            report = _import_folders(brain, folders, options, remove_missing=False)
        else:
            report = brain.import_jsonl(lines or sys.stdin.buffer, dry_run=dry_run)
            if lines and report.problems:
                screen.say(lines.keep())
            elif lines:
                lines.discard()
        _print_and_embed(brain, report, options, report.skipped)
    if report.problems:
        raise typer.Exit(1)


@command.command(
    "sync",
    epilog=examples(
        "gbrain sync", "gbrain sync --dry-run", "gbrain sync --watch", "gbrain sync --remote team"
    ),
)
def sync(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR...]", help="Folders to sync (default: all imported folders)."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running; import each change at once.")
    ] = False,
    delete: Annotated[
        bool,
        typer.Option("--delete", help="Also delete pages whose files are ignored or not seen."),
    ] = False,
    remote: Annotated[
        str | None,
        typer.Option(
            "--remote", metavar="REMOTE", help="Afterwards pull from REMOTE and push to it."
        ),
    ] = None,
    update_links: UpdateLinks = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    no_embed: NoEmbed = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Import changed files and write changed pages to files.

    New and changed files are imported, and pages whose files were deleted are deleted. Pages stay
    when their folder cannot be seen, as on a disk that is not mounted, when most of a folder's
    files are gone, and when their files are ignored now; --delete deletes these, the ignored ones
    in this brain only. A
    page whose file was renamed or moved inside the folder keeps its history. A page that changed in
    the brain and in its file is merged. Where both changed the same lines, the file's text is kept,
    the brain's is in the page's history, and gbrain conflicts lists the page. A page
    that was changed in the brain and not written to its file yet is written now.

    With --watch the command keeps running. Each change is imported and embedded moments after it is
    made, and printed on a line (with --json one document per line). A folder that disappears is
    watched again when it is back. Ctrl-C or SIGTERM stops the command; what was imported stays.
    """
    if watch and dry_run:
        raise UsageError(
            "--watch and --dry-run cannot be combined",
            hint="gbrain sync --dry-run shows what would change now.",
        )
    refuse_together({"--watch": watch, "--remote": remote is not None})
    refuse_together({"--dry-run": dry_run, "--remote": remote is not None})
    options = ImportOptions(
        overwrite=overwrite,
        dry_run=dry_run,
        embed=not no_embed,
        quiet=quiet,
        json=json,
        remove_many=delete,
        update_links=update_links,
    )
    failed = False
    with open_brain(db) as brain:
        for folder in folders or () if not dry_run else ():
            brain.allow_writing(folder)
        roots = folders or [Path(root) for root in brain.folder_roots()]
        if not roots and remote is None:
            raise NotFound(
                "No folder has been imported yet",
                hint="gbrain import DIR imports one.",
                code="no_folder",
            )
        if remote is not None:
            # A name that is unknown is reported before anything is imported.
            brain.remote(remote)
        if not watch:
            report = _import_folders(brain, roots, options, remove_missing=True)
            if remote is None:
                _print_and_embed(brain, report, options)
            else:
                failed = _exchange(brain, remote, report, options)
    if watch:
        from gbrain.cli.sync_watch import FolderWatch

        FolderWatch(db, options).run(roots)
    elif report.problems or failed:
        raise typer.Exit(1)


def _import_folders(
    brain: Brain, folders: list[Path], options: ImportOptions, *, remove_missing: bool
) -> ImportReport:
    total = ImportReport()
    for folder in folders:
        try:
            if not remove_missing and folder.expanduser().is_file():
                report = brain.import_note(
                    folder, overwrite=options.overwrite, dry_run=options.dry_run
                )
            else:
                reading = f"Reading {folder.name or folder}"
                with show_progress(reading, quiet=options.quiet) as show:
                    report = brain.import_folder(
                        folder,
                        remove_missing=remove_missing,
                        remove_many=options.remove_many,
                        update_links=options.update_links,
                        overwrite=options.overwrite,
                        dry_run=options.dry_run,
                        progress=show,
                    )
        except (NotFound, BadPage) as error:
            if len(folders) == 1:
                raise
            total.problems.append(ImportProblem(str(folder), error.message, error.hint, error.code))
            continue
        except KeyboardInterrupt:
            if not (options.dry_run or options.quiet):
                screen.say("Interrupted. Run the same command again to import the remaining notes.")
            raise
        total.add(report)
    return total


def _print_and_embed(
    brain: Brain, report: ImportReport, options: ImportOptions, skipped: int = 0
) -> None:
    """Print the report, then embed what was imported; Ctrl-C says how to continue."""
    try:
        unresolved = len({each.slug for each in brain.conflicts()} - set(report.conflicts))
        _print_report(report, options, skipped, unresolved)
        if report.changes and not options.dry_run:
            quiet = options.quiet or options.json
            suggest_model(brain, report, quiet=quiet, may_ask=options.embed)
        if report.changes and options.embed and not options.dry_run:
            embedded = _embed(brain, options.quiet)
            if embedded and not (options.quiet or options.json):
                screen.say(f"{counted(embedded, 'chunk')} embedded.")
    except KeyboardInterrupt:
        if not (options.quiet or options.dry_run):
            imported = report.count("create") + report.count("update")
            screen.say(f"{counted(imported, 'note')} imported. {embedded_share(brain)}")
        raise


def _exchange(brain: Brain, remote: str, report: ImportReport, options: ImportOptions) -> bool:
    """Pull from a remote, embed, and push to it; return whether pages are left that do not merge.

    Embedded before the push, so that no other machine has to.
    """
    from gbrain.cli.remotes import exchange, print_pull, print_push
    from gbrain.output.remotes import pull_document, push_document

    quiet = options.quiet or options.json
    pulled: PullReport

    def print_pulled(got: PullReport) -> None:
        nonlocal pulled
        pulled = got
        if not options.json:
            print_pull(brain, pulled, quiet=options.quiet)
        if options.embed:
            _embed(brain, quiet)

    def print_pushed(pushed: PushReport) -> None:
        if options.json:
            document = import_report_document(report, dry_run=False)
            document |= {"pulled": pull_document(pulled), "pushed": push_document(pushed)}
            screen.write_json(document)
        else:
            print_push(brain, pushed, quiet=options.quiet, said=pulled.conflicts)

    if not options.json:
        _print_report(report, options, 0, 0)
    pushed = exchange(
        brain, remote, quiet=quiet, after_pull=print_pulled, after_push=print_pushed
    ).pushed
    assert pushed is not None
    return bool(pushed.conflicts or pulled.refused or pushed.refused)


def _embed(brain: Brain, quiet: bool) -> int:
    """Embed what is due and return the number of chunks.

    If the model is unavailable, the pages stay searchable by keyword.
    """
    try:
        with show_progress("Embedding", quiet=quiet) as show:
            return brain.embed(progress=show).done
    except ModelUnavailable as error:
        screen.say(f"{error.message} {EMBED_LATER}")
        return 0


def _print_report(
    report: ImportReport, options: ImportOptions, skipped: int, unresolved: int
) -> None:
    """Print what was imported; flushed, since embedding may take minutes.

    `unresolved` is the number of conflicts that earlier runs found.
    """
    if options.json:
        screen.write_json(import_report_document(report, dry_run=options.dry_run))
        sys.stdout.flush()
    else:
        if options.dry_run:
            rows: list[tuple[str, str, str]]
            rows = [(change.action, change.slug, change.path) for change in report.changes]
            rows += [("write", slug, "") for slug in report.written]
            screen.write_table(("Action", "Slug", "File"), rows, "Nothing would change.")
        for problem in report.problems:
            hint = f" ({problem.hint})" if problem.hint else ""
            screen.say(f"{problem.path}: {problem.reason}{hint}")
        if not options.quiet:
            start = "Dry run: " if options.dry_run else ""
            also = f" {counted(skipped, 'file')} skipped (not Markdown, or ignored)."
            screen.say(f"{start}{report.summary()}{also if skipped else ''}")
            for line in report.missing_lines():
                screen.say(line)
            if report.without_file:
                screen.say(report.without_file)
            if unresolved:
                screen.say(f"{counted(unresolved, 'earlier conflict')} left: gbrain conflicts")


class Format(StrEnum):
    md = "md"
    json = "json"
    html = "html"


@command.command(
    "export",
    epilog=examples(
        "gbrain export ~/notes-copy",
        "gbrain export ~/notes-copy --dry-run",
        "gbrain export ~/site --format html",
        "gbrain export - --format json | jq -r .slug",
    ),
)
def export(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write to; - prints JSON lines.")
    ],
    format_: Annotated[
        Format,
        typer.Option(
            "--format", metavar="md|json|html", help="Markdown (default), JSON lines or web pages."
        ),
    ] = Format.md,
    force: Annotated[
        bool, typer.Option("--force", help="Also overwrite files that gbrain did not write.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show which files would be written; write nothing.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write every page to a file, byte for byte.

    A file that you changed since it was imported, or that gbrain did not write, is left alone and
    reported. --force overwrites it; the old text of a Markdown file is kept in the history of its
    page. You may export into the folder that the pages came from: the next sync finds nothing to
    do.

    --dry-run lists the files that would be written, replaced or refused. Export removes no file.

    --format json writes one file, brain.ndjson, with one page per line, which import --stdin reads
    back. --format html writes web pages with links between them; start at index.html.
    """
    with open_brain(db) as brain:
        if str(folder) == "-":
            if format_ is not Format.json or json or dry_run:
                raise UsageError(
                    "export - needs --format json, without --json and --dry-run",
                    hint="gbrain export - --format json",
                )
            screen.write_exact(brain.page_lines())
            return
        if dry_run:
            _print_plan(_plan_export(brain, folder, format_, force), folder, quiet, json)
            return
        written, same = _export(brain, folder, format_, force, quiet)
        if format_ is Format.md and not quiet:
            _warn_of_ignored_files(brain)
    if json:
        counts = {"written": written, "unchanged": same}
        screen.write_json({"folder": str(folder), "dry_run": False, **counts, "files": None})
    elif not quiet:
        # A site also has an index, a style sheet and images.
        noun = "file" if format_ is Format.html else "page"
        screen.say(f"{counted(written, noun)} written to {folder}, {same} unchanged.")


def _plan_export(brain: Brain, folder: Path, format_: Format, force: bool) -> list[PlannedFile]:
    """Return what `_export` would do."""
    if format_ is Format.json:
        return brain.plan_jsonl_export(folder, force=force)
    if format_ is Format.md:
        return brain.plan_export(folder, force=force)
    return brain.plan_export(folder, files=_site_files(brain), force=force)


def _print_plan(planned: list[PlannedFile], folder: Path, quiet: bool, as_json: bool) -> None:
    """Print what an export would do; exit with 1 if it would refuse a file."""
    changes = [file for file in planned if file.action != "unchanged"]
    count = Counter(file.action for file in planned)
    if as_json:
        counts = {"written": count["write"] + count["replace"], "unchanged": count["unchanged"]}
        files = [{"action": f.action, "path": f.path, "reason": f.reason} for f in changes]
        screen.write_json({"folder": str(folder), "dry_run": True, **counts, "files": files})
    else:
        rows = [(file.action, file.path, file.reason or "") for file in changes]
        screen.write_table(("Action", "File", "Reason"), rows, "Nothing would change.")
        if not quiet:
            screen.say(
                f"Dry run: {count['write']} new, {count['replace']} replaced, "
                f"{count['refuse']} refused, {count['unchanged']} unchanged."
            )
    if count["refuse"]:
        raise typer.Exit(1)


def _export(
    brain: Brain, folder: Path, format_: Format, force: bool, quiet: bool
) -> tuple[int, int]:
    """Write the files; return how many were written and how many were unchanged."""
    with show_progress("Writing", quiet=quiet) as show:
        if format_ is Format.md:
            return brain.export(folder, force=force, progress=show)
        if format_ is Format.json:
            return brain.export_jsonl(folder, force=force, progress=show), 0
        return brain.export(folder, files=_site_files(brain), force=force, progress=show)


def _site_files(brain: Brain) -> ExportFiles:
    """Return what makes the files of the HTML export, with the images of the user's folders."""
    from gbrain.output.site import render_site

    return partial(render_site, may_read=brain.is_known_folder)


def _warn_of_ignored_files(brain: Brain) -> None:
    ignored = brain.pages_import_ignores()
    if ignored:
        more = ", …" if len(ignored) > _MAX_SLUGS_LISTED else ""
        screen.say(
            f"{counted(len(ignored), 'page')} written to paths that import ignores: "
            f"{', '.join(ignored[:_MAX_SLUGS_LISTED])}{more}. Rename them with gbrain "
            "rename, or export with --format json, which import --stdin reads completely."
        )
