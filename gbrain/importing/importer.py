"""Import a folder or JSON lines: find files, skip unchanged ones, parse, write, enqueue."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from gbrain.errors import BadPage, GbrainError, NotFound
from gbrain.importing.file_merge import ImportPlan, apply_import, plan_import
from gbrain.importing.folder_identity import FolderIdentities, file_stamp, parent_folders
from gbrain.importing.import_report import Action, ImportReport, PageChange
from gbrain.importing.missing_files import (
    MissingPages,
    are_most_missing,
    find_absent,
    keep_pages,
    look_again,
    many_missing,
    refuse_empty_folder,
    remove_pages,
    rename_pages,
    write_again,
)
from gbrain.importing.parse_worker import FileToParse, parse_files
from gbrain.importing.renames import has_new_files
from gbrain.importing.scan import (
    IGNORE_FILE,
    ImportProblem,
    find_page_files,
    require_folder,
    settled_rules,
)
from gbrain.store.chunks import enqueue_pages
from gbrain.store.connection import Database
from gbrain.store.folders import (
    FileResult,
    Folder,
    PageSource,
    add_folder,
    find_folder,
    folder_paths,
    list_file_removals,
    list_folders,
    page_sources,
    pages_ahead_of_files,
    paths_below,
    refuse_nested_folder,
)
from gbrain.store.page_writer import write_page
from gbrain.store.pages import find_page
from gbrain.store.seen_files import (
    last_ignore_rules,
    record_ignore_rules,
    record_seen_files,
    record_seen_folders,
    seen_folders,
)
from gbrain.text.page import MAX_PAGE_BYTES, parse_page
from gbrain.text.slug import is_page_file, path_from_name, slug_from_path
from gbrain.types import Page, Progress, no_progress

if TYPE_CHECKING:
    from gbrain.importing.jsonl import LineSource

_BATCH_PAGES = 1000
_BATCH_BYTES = 8_000_000

_RENAME_OR_DELETE = "Rename the file, or delete the page with gbrain delete."


def import_folder(
    database: Database,
    root: Path,
    now: str,
    *,
    remove_missing: bool = False,
    remove_many: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    changed: Collection[str] | None = None,
    write_files: bool = False,
    use_trash: bool = False,
    progress: Progress = no_progress,
) -> ImportReport:
    """Import the pages of the folder `root` and report what changed.

    Unchanged files are not parsed again. A file that was renamed or moved inside the folder keeps
    its page. `remove_missing` deletes pages whose file is gone, but not most of the folder's pages
    at once unless `remove_many`. A page that changed both in its file and in the brain is merged;
    what cannot be merged is reported, and the brain's text stays in the history. `overwrite` takes
    the file's text instead. With `changed`, only these files and folders, and new files, are read.
    `write_files` writes what changed in the brain to the files, and finishes what an earlier write
    left undone; `use_trash` moves the files of deleted pages to the trash.
    """
    report = ImportReport()
    _require_root(database, root)
    with database.read_transaction() as connection:
        refuse_nested_folder(connection, os.path.realpath(root))
        # Older than the list of files: what another process puts meanwhile is not missing from it.
        pages = page_sources(connection)
        known_rules = last_ignore_rules(connection, os.path.realpath(root))
    require_folder(root)
    rules = settled_rules(root, known_rules)
    paths, folders, report.skipped = find_page_files(root, report.problems, rules)
    _refuse_moved_folder(database, root, paths)
    folder = _register_folder(database, root, now, dry_run)
    would_write = write_files and dry_run
    write_files = write_files and not dry_run
    if write_files and _finish_removals(database, folder, report, use_trash):
        left = {problem.path for problem in report.problems if problem.code == "cannot_write"}
        with database.read_transaction() as connection:
            pages = page_sources(connection)
        paths = [path for path in find_page_files(root, [], rules).paths if path not in left]
    missing, paths = _find_missing(database, folder, paths, pages, report, remove_missing, rules)
    present = set(paths)
    if remove_missing and not remove_many:
        refuse_empty_folder(root, paths, missing)
    renamed = rename_pages(database, folder, paths, pages, missing, now, report, dry_run)
    paths = [path for path in paths if path not in renamed]
    missing = missing.only(pages)
    removed = list(missing.removed)
    lacking = [*missing.removed, *missing.unseen]
    if remove_missing and not remove_many and are_most_missing(lacking, pages, folder):
        report.problems.append(many_missing(folder, lacking, pages))
        remove_missing = write_files = would_write = False
    batch = _Batch(database, now, report, dry_run, folder, overwrite)
    stamps: dict[str, str] = {}
    files = _files_to_parse(folder, paths, pages, report, changed, progress, stamps)
    for path, page in parse_files(str(root), files):
        if page is None:
            report.unchanged += 1
        elif isinstance(page, GbrainError):
            report.problems.append(ImportProblem(path, page.message, page.hint, page.code))
        else:
            batch.add(page)
    batch.store()
    if remove_many:
        removed += missing.unseen
        remove_pages(database, folder, missing.excluded, now, report, dry_run, here_only=True)
    elif remove_missing:
        keep_pages(database, missing, report, dry_run)
    if remove_missing:
        remove_pages(database, folder, removed, now, report, dry_run, ahead_stay=write_files)
    if not dry_run:
        _record_seen(database, folder, pages, stamps, folders, present)
        digest = sha256(rules).digest()
        if digest != known_rules:
            with database.write_transaction() as connection:
                record_ignore_rules(connection, folder.id, digest)
    if write_files:
        write_again(database, missing.unwritten)
        _write_files(database, folder, now, report)
    elif would_write:
        _plan_writes(database, folder, report)
    return report


def _find_missing(
    database: Database,
    folder: Folder,
    paths: list[str],
    pages: dict[str, PageSource],
    report: ImportReport,
    remove_missing: bool,
    rules: bytes,
) -> tuple[MissingPages, list[str]]:
    """Return the pages without a file, and the paths of all files, after a second look."""
    with database.read_transaction() as connection:
        seen = seen_folders(connection, folder.id)
    absent = find_absent(pages, folder, paths, report.problems)
    if not absent or not (remove_missing or has_new_files(paths, pages)):
        return MissingPages([], [], [], []), paths
    known = {page.path for page in pages.values() if page.folder_id == folder.id}
    with_files = {path.rpartition("/")[0] for path in paths if path in known}
    first, second = (FolderIdentities(folder.root, seen, with_files) for _ in range(2))
    missing, back = look_again(absent, folder, first, second, rules)
    return missing, sorted([*paths, *back])


def _record_seen(
    database: Database,
    folder: Folder,
    pages: dict[str, PageSource],
    stamps: dict[str, str],
    folders: list[str],
    present: set[str],
) -> None:
    """Record the files and folders that were seen, where they are not as they were before.

    A folder that lacks a file of a page, or one that waits to be removed, is not recorded: a file
    or two in an empty mount point must not make it the folder.
    """
    known = {page.path: page for page in pages.values() if page.folder_id == folder.id}
    with database.read_transaction() as connection:
        seen = seen_folders(connection, folder.id)
        now = FolderIdentities(folder.root, seen)
        news = [
            (path, stamp, identity)
            for path, stamp in stamps.items()
            if (identity := now.now(path.rpartition("/")[0])) is None
            or path not in known
            or (known[path].stamp, known[path].folder) != (stamp, identity)
            or known[path].missing
        ]
        identities = now.changed(folders)
        if identities:
            lacking = set(paths_below(connection, folder, "")) - present
            lacking |= {each.path for each in list_file_removals(connection, folder.root)}
            above = {each for path in lacking for each in parent_folders(path)}
            identities = {path: known for path, known in identities.items() if path not in above}
    if news or identities:
        with database.write_transaction() as connection:
            record_seen_files(connection, folder.id, news)
            record_seen_folders(connection, folder.id, identities)


def import_jsonl(
    database: Database,
    source: LineSource,
    now: str,
    *,
    dry_run: bool = False,
    folder_id: int | None = None,
) -> ImportReport:
    """Import pages from JSON lines, as if each had been put by hand, and report what changed.

    `folder_id` is the folder that new pages belong to.

    A line without a valid page is reported as a problem with its line number; the others are
    imported.
    """
    from gbrain.importing.jsonl import read_records

    report = ImportReport()
    with database.read_transaction() as connection:
        pages = page_sources(connection)
    batch = _Batch(database, now, report, dry_run, new_page_folder=folder_id)
    seen: dict[str, str] = {}
    for number, record in read_records(source):
        place = f"stdin line {number}"
        try:
            if isinstance(record, GbrainError):
                raise record
            slug = slug_from_path(record.name)
            if slug in seen:
                raise _collision(slug, seen[slug], "Keep one of the two.")
            known = pages.get(slug)
            page = parse_page(known.path if known else path_from_name(record.name), record.data)
        except GbrainError as error:
            report.problems.append(ImportProblem(place, error.message, error.hint, error.code))
            continue
        seen[slug] = place
        if known and known.sha256 == page.sha256:
            report.unchanged += 1
            continue
        batch.add(page)
    batch.store()
    return report


def import_note(
    database: Database,
    file: Path,
    now: str,
    *,
    overwrite: bool = False,
    dry_run: bool = False,
    folder_id: int | None = None,
) -> ImportReport:
    """Import one file and report what changed.

    A file in a registered folder is imported as `import_folder` does it; any other one becomes a
    page with the name of the file, which is written to the folder `folder_id`.
    """
    report = ImportReport()
    place = Path(os.path.realpath(file.parent), file.name)
    with database.read_transaction() as connection:
        pages = page_sources(connection)
        folders = [each for each in list_folders(connection) if place.is_relative_to(each.root)]
    folder = max(folders, key=lambda each: len(each.root), default=None)
    path = place.relative_to(folder.root).as_posix() if folder else path_from_name(file.name)
    try:
        known = pages.get(slug_from_path(path))
        if folder:
            present = find_page_files(Path(folder.root), []).paths
            if path not in present:
                raise BadPage(
                    f"{file} is not a Markdown file, or its folder's rules exclude it",
                    hint=f"Rename it, or change {IGNORE_FILE}.",
                    code="ignored",
                )
            if known and not _belongs_to(known, folder, path, set(present)):
                raise _collision(known.slug, known.path, _RENAME_OR_DELETE)
        data = _read_note(file)
        page = parse_page(known.path if known and not folder else path, data)
        if known and not folder and known.sha256 == page.sha256:
            report.unchanged += 1
            return report
        if known and not folder and known.folder_id is not None and not overwrite:
            raise _collision(
                known.slug, known.path, "With --overwrite the page gets the text of this file."
            )
    except GbrainError as error:
        report.problems.append(ImportProblem(path, error.message, error.hint, error.code))
        return report
    batch = _Batch(database, now, report, dry_run, folder, overwrite, folder_id)
    batch.add(page)
    batch.store()
    return report


def _read_note(file: Path) -> bytes:
    """Return the content of a Markdown file; raise BadPage if it is another kind or unreadable."""
    if not is_page_file(file.name):
        raise BadPage(
            f"{file} is not a Markdown file",
            hint="Its name must end with .md.",
            code="not_markdown",
        )
    try:
        with file.open("rb") as source:
            return source.read(MAX_PAGE_BYTES + 1)
    except OSError as error:
        raise BadPage(
            f"Cannot read {file}: {error.strerror}", hint="Check its permissions.",
            code="cannot_read",
        ) from None  # fmt: skip


def _require_root(database: Database, root: Path) -> None:
    """Raise NotFound for a registered folder that does not exist."""
    with database.read_transaction() as connection:
        known = find_folder(connection, os.path.realpath(root))
    if known and not root.is_dir():
        raise NotFound(
            f"There is no folder {root}",
            hint=f"Mount its disk. If it was moved: gbrain folders move {quote(known.root)} NEW.",
            code="no_folder",
        )


def _refuse_moved_folder(database: Database, root: Path, paths: list[str]) -> None:
    """Raise BadPage for a new folder that has most of the files of one that does not exist."""
    name = os.path.realpath(root)
    with database.read_transaction() as connection:
        folders = list_folders(connection)
        gone = [folder for folder in folders if not os.path.isdir(folder.root)]
        if not gone or any(folder.root == name for folder in folders):
            return
        for folder in gone:
            shared = set(paths).intersection(folder_paths(connection, folder))
            if len(shared) * 2 > len(paths):
                raise BadPage(
                    f"{root} has the files of {folder.root}, which does not exist any more",
                    hint="If that folder was moved: "
                    f"gbrain folders move {quote(folder.root)} {quote(name)}",
                    code="folder_moved",
                )


def _register_folder(database: Database, root: Path, now: str, dry_run: bool) -> Folder:
    """Return the folder's record, adding it if it is new; id -1 for a new one on a dry run."""
    name = os.path.realpath(root)
    with database.read_transaction() as connection:
        folder = find_folder(connection, name)
    if folder:
        return folder
    if dry_run:
        return Folder(-1, name)
    with database.write_transaction() as connection:
        return add_folder(connection, name, now)


# --- the folder ------------------------------------------------------------------------------


def _files_to_parse(
    folder: Folder,
    paths: list[str],
    pages: dict[str, PageSource],
    report: ImportReport,
    changed: Collection[str] | None,
    progress: Progress,
    stamps: dict[str, str],
) -> Iterator[FileToParse]:
    """Yield the files that may be parsed, each with the hash it had at the last import.

    Their stamps are added to `stamps` before they are read.
    """
    seen: dict[str, str] = {}
    present = set(paths)
    for number, path in enumerate(paths, 1):
        progress(number, len(paths))
        try:
            path.encode()
            slug = slug_from_path(path)
            known = pages.get(slug)
            if slug in seen:
                raise _collision(slug, seen[slug], "Rename one of the two files.")
            seen[slug] = path
            if known and not _belongs_to(known, folder, path, present):
                raise _collision(slug, known.path, _RENAME_OR_DELETE)
        except UnicodeEncodeError:
            name = path.encode("utf-8", "replace").decode()
            report.problems.append(
                ImportProblem(name, "the file's name is not UTF-8", "Rename it.", "bad_name")
            )
        except GbrainError as error:
            report.problems.append(ImportProblem(path, error.message, error.hint, error.code))
        else:
            same_place = known and known.folder_id == folder.id and known.path == path
            if same_place and changed is not None and not _may_have_changed(folder, path, changed):
                report.unchanged += 1
                continue
            stamp = file_stamp(f"{folder.root}/{path}")
            if stamp is None:
                # An editor replaces it at this moment; the next run reads it.
                continue
            stamps[path] = stamp
            yield path, known.source_sha256 if known and same_place else None


def _may_have_changed(folder: Folder, path: str, changed: Collection[str]) -> bool:
    # For a folder that was moved here, the system names only the folder. The target of a symbolic
    # link changes without the link being named.
    parts = path.split("/")
    named = any("/".join(parts[:count]) in changed for count in range(len(parts), 0, -1))
    return named or os.path.islink(f"{folder.root}/{path}")


def _collision(slug: str, other: str, hint: str) -> BadPage:
    """Return the error for a slug that two files or pages share."""
    return BadPage(f"shares the slug {slug} with {other}", hint=hint, code="slug_collision")


def _belongs_to(known: PageSource, folder: Folder, path: str, present: set[str]) -> bool:
    """Tell whether the brain's page is this file's: its own, one put by hand, or one moved."""
    ours = known.folder_id == folder.id
    moved = ours and known.path not in present
    return (ours or known.folder_id is None) and (known.path == path or moved)


# --- writing ---------------------------------------------------------------------------------


class _Batch:
    """Parsed pages that are written together in one transaction.

    They are compared with the brain at the time of writing, since another program may have written
    after the files were read. A dry run only reports. Without a folder the pages are not those of
    files.
    """

    def __init__(
        self,
        database: Database,
        now: str,
        report: ImportReport,
        dry_run: bool,
        folder: Folder | None = None,
        overwrite: bool = False,
        new_page_folder: int | None = None,
    ) -> None:
        self.database, self.now, self.report, self.dry_run = database, now, report, dry_run
        self.folder, self.overwrite, self.new_page_folder = folder, overwrite, new_page_folder
        self.pages: list[Page] = []
        self.size = 0

    def add(self, page: Page) -> None:
        """Add a page, and write the batch when it is full."""
        self.pages.append(page)
        self.size += len(page.compiled_truth) + len(page.timeline)
        if len(self.pages) >= _BATCH_PAGES or self.size >= _BATCH_BYTES:
            self.store()

    def store(self) -> None:
        """Write the batch and start an empty one."""
        if not self.pages:
            return
        if self.dry_run:
            with self.database.read_transaction() as connection:
                for page in self.pages:
                    self._plan(connection, page)
        else:
            with self.database.write_transaction() as connection:
                changed = []
                for page in self.pages:
                    plan = self._plan(connection, page)
                    if self.folder is None:
                        write_page(
                            connection, page, self.now,
                            folder_id=self.new_page_folder, enqueue=False,
                        )  # fmt: skip
                    else:
                        apply_import(connection, plan, self.folder.id, self.now, enqueue=False)
                    if plan.kind not in ("same", "ahead"):
                        changed.append(page.slug)
                enqueue_pages(connection, changed, self.now)
        self.pages, self.size = [], 0

    def _plan(self, connection: sqlite3.Connection, page: Page) -> ImportPlan:
        """Return what to do with a page, and add it to the report."""
        if self.folder:
            plan = plan_import(connection, page, self.folder.id, overwrite=self.overwrite)
        else:
            known = find_page(connection, page.slug)
            plan = ImportPlan("update" if known else "create", page, known)
        if plan.kind in ("same", "ahead"):
            self.report.unchanged += 1
            return plan
        action: Action = "create" if plan.kind == "create" else "update"
        self.report.changes.append(PageChange(action, page.slug, page.path))
        if plan.kind == "merge":
            self.report.merged.append(page.slug)
        elif plan.kind == "conflict":
            _add_conflict(self.report, page.slug, page.path)
        return plan


def _add_conflict(report: ImportReport, slug: str, path: str) -> None:
    report.conflicts.append(slug)
    report.problems.append(
        ImportProblem(
            path,
            f"the page {slug} was also changed in the brain, in the same place; it has the file's "
            "text now, and the brain's is in its history",
            f"gbrain resolve {slug} merges the two.",
            "both_changed",
        )
    )


# --- files that are behind the brain ---------------------------------------------------------


def _finish_removals(
    database: Database, folder: Folder, report: ImportReport, use_trash: bool
) -> bool:
    """Remove or move files of deleted and renamed pages; return whether there were any."""
    from gbrain.importing.write_through import finish_removals

    done = finish_removals(database, folder, use_trash=use_trash)
    report.problems += [_not_written(folder, each) for each in done if each.outcome == "failed"]
    return bool(done)


def _write_files(database: Database, folder: Folder, now: str, report: ImportReport) -> None:
    """Write the pages that are ahead of their files."""
    from gbrain.importing.write_through import finish_writes

    for slug, result in finish_writes(database, folder, now):
        path = os.path.relpath(result.path, folder.root)
        if result.outcome == "failed":
            report.problems.append(_not_written(folder, result))
        elif result.outcome == "conflict":
            _add_conflict(report, slug, path)
        else:
            report.written.append(slug)
        if result.outcome == "merged":
            report.merged.append(slug)


def _plan_writes(database: Database, folder: Folder, report: ImportReport) -> None:
    """Add the pages that `_write_files` would write, apart from conflicts, where the file wins."""
    with database.read_transaction() as connection:
        ahead = {page.slug for page in pages_ahead_of_files(connection, folder)}
    report.written += sorted((ahead | set(report.merged)) - set(report.conflicts))


def _not_written(folder: Folder, result: FileResult) -> ImportProblem:
    path = os.path.relpath(result.path, folder.root)
    return ImportProblem(path, result.message or "", None, "cannot_write")
