"""Import a folder or JSON lines: find files, skip unchanged ones, parse, write, enqueue."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from gbrain.errors import BadPage, GbrainError
from gbrain.importing.parse_worker import FileToParse, parse_files
from gbrain.importing.scan import ImportProblem, find_page_files
from gbrain.store.chunks import enqueue_pages
from gbrain.store.connection import Database
from gbrain.store.folders import (
    Folder,
    PageSource,
    add_folder,
    find_folder,
    find_page_source,
    page_sources,
)
from gbrain.store.history import had_content
from gbrain.store.page_writer import delete_page, write_page
from gbrain.text.page import parse_page
from gbrain.text.slug import path_from_name, slug_from_path
from gbrain.types import Page, Progress, no_progress

_BATCH_PAGES = 1000
_BATCH_BYTES = 8_000_000

Action = Literal["create", "update", "delete"]


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page that an import creates, updates or deletes; `path` is below the folder's root."""

    action: Action
    slug: str
    path: str


@dataclass(slots=True)
class ImportReport:
    """What an import did, or would do; `skipped` counts files that are not Markdown."""

    changes: list[PageChange] = field(default_factory=list)
    unchanged: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    skipped: int = 0

    def count(self, action: Action) -> int:
        """Return the number of changes of one kind."""
        return sum(1 for change in self.changes if change.action == action)

    def summary(self) -> str:
        """Return the numbers in one line."""
        counts = [
            f"{self.count('create')} new",
            f"{self.count('update')} changed",
            f"{self.unchanged} unchanged",
        ]
        if self.count("delete"):
            counts.append(f"{self.count('delete')} removed")
        if self.problems:
            counts.append(f"{len(self.problems)} not imported")
        return ", ".join(counts) + "."


def import_folder(
    database: Database,
    root: Path,
    now: str,
    *,
    remove_missing: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    changed: Collection[str] | None = None,
    progress: Progress = no_progress,
) -> ImportReport:
    """Import the pages of the folder `root` and report what changed.

    Unchanged files are not parsed again. `remove_missing` deletes pages whose file is gone. A page
    that changed both in its file and in the brain is reported and not imported, unless `overwrite`.
    With `changed`, only these paths and new files are read.
    """
    report = ImportReport()
    paths, report.skipped = find_page_files(root, report.problems)
    with database.read_transaction() as connection:
        pages = page_sources(connection)
    folder = _register_folder(database, root, now, dry_run)
    missing = _missing_pages(pages, folder, paths, report.problems) if remove_missing else []
    _refuse_empty_folder(root, paths, missing)
    batch = _Batch(database, now, report, dry_run, _ConflictRule(folder, overwrite))
    files = _files_to_parse(folder, paths, pages, report, changed, progress)
    for path, page in parse_files(str(root), files):
        if page is None:
            report.unchanged += 1
        elif isinstance(page, GbrainError):
            report.problems.append(ImportProblem(path, page.message, page.hint, page.code))
        else:
            batch.add(page)
    batch.store()
    _remove_pages(database, missing, now, report, dry_run)
    return report


def import_jsonl(
    database: Database, source: BinaryIO, now: str, *, dry_run: bool = False
) -> ImportReport:
    """Import pages from JSON lines, as if each had been put by hand, and report what changed.

    A line without a valid page is reported as a problem with its line number; the others are
    imported.
    """
    from gbrain.importing.jsonl import read_records

    report = ImportReport()
    with database.read_transaction() as connection:
        pages = page_sources(connection)
    batch = _Batch(database, now, report, dry_run)
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
) -> Iterator[FileToParse]:
    """Yield the files that may be parsed, each with the hash it had at the last import."""
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
                hint = "Rename the file, or delete the page with gbrain delete."
                raise _collision(slug, known.path, hint)
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
            yield path, known.source_sha256 if known and same_place else None


def _may_have_changed(folder: Folder, path: str, changed: Collection[str]) -> bool:
    # The target of a symbolic link changes without the link being named.
    return path in changed or os.path.islink(f"{folder.root}/{path}")


def _collision(slug: str, other: str, hint: str) -> BadPage:
    """Return the error for a slug that two files or pages share."""
    return BadPage(f"shares the slug {slug} with {other}", hint=hint, code="slug_collision")


def _belongs_to(known: PageSource, folder: Folder, path: str, present: set[str]) -> bool:
    """Tell whether the brain's page is this file's: its own, one put by hand, or one moved."""
    ours = known.folder_id == folder.id
    moved = ours and known.path not in present
    return (ours or known.folder_id is None) and (known.path == path or moved)


@dataclass(frozen=True, slots=True)
class _ConflictRule:
    """Finds pages that changed both in a folder's files and in the brain."""

    folder: Folder
    overwrite: bool

    def find(self, known: PageSource | None, page: Page) -> ImportProblem | None:
        """Return the problem if the page changed in the brain since its file was imported."""
        if known is None or self.overwrite or known.sha256 == page.sha256:
            return None
        if known.sha256 == known.source_sha256 and known.folder_id == self.folder.id:
            return None
        return ImportProblem(
            page.path,
            f"the page {known.slug} was also changed in the brain",
            "gbrain sync --overwrite imports the file and keeps the brain's text in the page's "
            "history; gbrain export --force overwrites the file with the brain's text.",
            "both_changed",
        )


# --- writing ---------------------------------------------------------------------------------


class _Batch:
    """Parsed pages that are written together in one transaction.

    Conflicts are checked against the brain at the time of writing, since another program may have
    written after the files were read. A dry run only reports.
    """

    def __init__(
        self,
        database: Database,
        now: str,
        report: ImportReport,
        dry_run: bool,
        conflicts: _ConflictRule | None = None,
    ) -> None:
        self.database, self.now, self.report, self.dry_run = database, now, report, dry_run
        self.conflicts = conflicts
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
                self._report_changes(connection)
        else:
            folder_id = self.conflicts.folder.id if self.conflicts else None
            with self.database.write_transaction() as connection:
                written = self._report_changes(connection)
                for page in written:
                    write_page(
                        connection, page, self.now,
                        folder_id=folder_id, from_file=folder_id is not None, enqueue=False,
                    )  # fmt: skip
                enqueue_pages(connection, [page.slug for page in written], self.now)
        self.pages, self.size = [], 0

    def _report_changes(self, connection: sqlite3.Connection) -> list[Page]:
        """Add each page's outcome to the report; return the pages to write."""
        written = []
        for page in self.pages:
            known = find_page_source(connection, page.slug)
            problem = self.conflicts.find(known, page) if self.conflicts else None
            if problem and had_content(connection, page.slug, page.sha256):
                # The file has an earlier version, such as an exported one: nothing new.
                self.report.unchanged += 1
            elif problem:
                self.report.problems.append(problem)
            else:
                action: Action = "update" if known else "create"
                self.report.changes.append(PageChange(action, page.slug, page.path))
                written.append(page)
        return written


def _missing_pages(
    pages: dict[str, PageSource], folder: Folder, paths: list[str], problems: list[ImportProblem]
) -> list[PageSource]:
    """Return the folder's pages whose file is gone, except below folders that cannot be read."""
    present = {slug_from_path(path) for path in paths if _has_slug(path)}
    named = {p.path for p in problems}
    unread = tuple(p.path for p in problems if p.code == "cannot_read")
    if "." in unread:
        return []
    return [
        known
        for slug, known in pages.items()
        if known.folder_id == folder.id
        and slug not in present
        and known.path not in named
        and not (unread and known.path.startswith(unread))
    ]


def _has_slug(path: str) -> bool:
    try:
        path.encode()
        slug_from_path(path)
    except (UnicodeEncodeError, GbrainError):
        return False
    return True


def _refuse_empty_folder(root: Path, paths: list[str], missing: list[PageSource]) -> None:
    """Raise BadPage when all pages of the folder would be removed at once."""
    if missing and not paths:
        raise BadPage(
            f"{root} contains no pages, but the brain has {len(missing)} from it",
            hint="Check that the disk is mounted. gbrain delete removes pages from the brain.",
            code="vault_empty",
        )


def _remove_pages(
    database: Database, missing: list[PageSource], now: str, report: ImportReport, dry_run: bool
) -> None:
    """Delete pages whose file is gone, except those changed in the brain meanwhile."""
    if not missing:
        return
    with database.read_transaction() if dry_run else database.write_transaction() as connection:
        for known in missing:
            found = find_page_source(connection, known.slug)
            if found is None or found.path != known.path:
                continue
            if found.sha256 != found.source_sha256:
                report.problems.append(
                    ImportProblem(
                        known.path,
                        f"the file is gone, but the page {known.slug} was changed in the brain",
                        "gbrain export writes the file again; gbrain delete removes the page.",
                        "both_changed",
                    )
                )
            elif found.sha256 == known.sha256:
                report.changes.append(PageChange("delete", known.slug, known.path))
                if not dry_run:
                    delete_page(connection, known.slug, now)
