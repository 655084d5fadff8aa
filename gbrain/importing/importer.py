"""Files into the brain: walk, compare by content hash, parse what changed, store, enqueue."""

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
from gbrain.store.folders import Folder, PageSource, add_folder, find_page_source, page_sources
from gbrain.store.history import had_content
from gbrain.store.page_writer import delete_page, write_page
from gbrain.text.page import parse_page
from gbrain.text.slug import slug_from_path
from gbrain.types import Page, Progress, no_progress

_BATCH_PAGES = 1000
_BATCH_BYTES = 8_000_000

Action = Literal["create", "update", "delete"]


@dataclass(frozen=True, slots=True)
class PageChange:
    action: Action
    slug: str
    path: str


@dataclass(slots=True)
class ImportReport:
    """What taking in a folder did, or would do; files that are no pages were `passed_over`."""

    changes: list[PageChange] = field(default_factory=list)
    unchanged: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    skipped: int = 0

    def count(self, action: Action) -> int:
        return sum(1 for change in self.changes if change.action == action)

    def summary(self) -> str:
        """The numbers in one line."""
        counts = [
            f"{self.count('create')} new",
            f"{self.count('update')} changed",
            f"{self.unchanged} unchanged",
        ]
        if self.count("delete"):
            counts.append(f"{self.count('delete')} removed")
        if self.problems:
            counts.append(f"{len(self.problems)} not taken in")
        return ", ".join(counts) + "."


def import_folder(
    database: Database,
    root: Path,
    now: str,
    *,
    drop: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    changed: Collection[str] | None = None,
    progress: Progress = no_progress,
) -> ImportReport:
    """Brings the pages of the folder `root` into the brain.

    Files that are as they were last time are not parsed again. `drop` removes pages whose file is
    gone. A page that changed on both sides is reported and left alone unless `overwrite`. Who
    knows which files `changed` names their paths below the root: of the others that the brain
    has, none is read.
    """
    report = ImportReport()
    paths, report.skipped = find_page_files(root, report.problems)
    with database.read_transaction() as connection:
        pages = page_sources(connection)
    vault = _vault(database, root, now, dry_run)
    absent = _absent(pages, vault, paths, report.problems) if drop else []
    _refuse_empty(root, paths, absent)
    batch = _Batch(database, now, report, dry_run, _Edits(vault, overwrite))
    files = _files(vault, paths, pages, report, changed, progress)
    for path, page in parse_files(str(root), files):
        if page is None:
            report.unchanged += 1
        elif isinstance(page, GbrainError):
            report.problems.append(ImportProblem(path, page.message, page.hint, page.code))
        else:
            batch.add(page)
    batch.store()
    _drop(database, absent, now, report, dry_run)
    return report


def import_jsonl(
    database: Database, source: BinaryIO, now: str, *, dry_run: bool = False
) -> ImportReport:
    """Brings the pages on lines of JSON into the brain, as if each had been put by hand.

    A line that holds no page is a problem that names it; the others go in.
    """
    from gbrain.importing.jsonl import page_path, read_records

    report = ImportReport()
    with database.read_transaction() as connection:
        pages = page_sources(connection)
    batch = _Batch(database, now, report, dry_run)
    taken: dict[str, str] = {}
    for number, record in read_records(source):
        place = f"stdin line {number}"
        try:
            if isinstance(record, GbrainError):
                raise record
            slug = slug_from_path(record.name)
            if slug in taken:
                raise _collision(slug, taken[slug], "Keep one of the two.")
            known = pages.get(slug)
            page = parse_page(known.path if known else page_path(record.name), record.data)
        except GbrainError as error:
            report.problems.append(ImportProblem(place, error.message, error.hint, error.code))
            continue
        taken[slug] = place
        if known and known.sha256 == page.sha256:
            report.unchanged += 1
            continue
        batch.add(page)
    batch.store()
    return report


def _vault(database: Database, root: Path, now: str, dry_run: bool) -> Folder:
    name = os.path.realpath(root)
    with database.read_transaction() as connection:
        row = connection.execute("SELECT id, root FROM vaults WHERE root = ?", (name,)).fetchone()
    if row:
        return Folder(*row)
    if dry_run:
        return Folder(-1, name)
    with database.write_transaction() as connection:
        return add_folder(connection, name, now)


# --- the folder ------------------------------------------------------------------------------


def _files(
    vault: Folder,
    paths: list[str],
    pages: dict[str, PageSource],
    report: ImportReport,
    changed: Collection[str] | None,
    progress: Progress,
) -> Iterator[FileToParse]:
    """The files that may hold a page of this vault, with the hash each had when last taken in."""
    taken: dict[str, str] = {}
    present = set(paths)
    for number, path in enumerate(paths, 1):
        progress(number, len(paths))
        try:
            path.encode()
            slug = slug_from_path(path)
            known = pages.get(slug)
            if slug in taken:
                raise _collision(slug, taken[slug], "Rename one of the two files.")
            taken[slug] = path
            if known and not _may_hold(known, vault, path, present):
                hint = "Rename the file, or delete the page that is there."
                raise _collision(slug, known.path, hint)
        except UnicodeEncodeError:
            name = path.encode("utf-8", "replace").decode()
            report.problems.append(
                ImportProblem(name, "the file's name is not UTF-8", "Rename it.", "bad_name")
            )
        except GbrainError as error:
            report.problems.append(ImportProblem(path, error.message, error.hint, error.code))
        else:
            same_place = known and known.folder_id == vault.id and known.path == path
            if same_place and changed is not None and not _may_differ(vault, path, changed):
                report.unchanged += 1
                continue
            yield path, known.source_sha256 if known and same_place else None


def _may_differ(vault: Folder, path: str, changed: Collection[str]) -> bool:
    # A link's text changes elsewhere.
    return path in changed or os.path.islink(f"{vault.root}/{path}")


def _collision(slug: str, other: str, hint: str) -> BadPage:
    return BadPage(f"shares the slug {slug} with {other}", hint=hint, code="slug_collision")


def _may_hold(known: PageSource, vault: Folder, path: str, present: set[str]) -> bool:
    """Whether the page in the brain can be this file's: its own, one put by hand, or one moved."""
    ours = known.folder_id == vault.id
    moved = ours and known.path not in present
    return (ours or known.folder_id is None) and (known.path == path or moved)


@dataclass(frozen=True, slots=True)
class _Edits:
    """Whose pages a folder's files may replace."""

    vault: Folder
    overwrite: bool

    def conflict(self, known: PageSource | None, page: Page) -> ImportProblem | None:
        """What is wrong when the page was changed in the brain since its file was taken in."""
        if known is None or self.overwrite or known.sha256 == page.sha256:
            return None
        if known.sha256 == known.source_sha256 and known.folder_id == self.vault.id:
            return None
        return ImportProblem(
            page.path,
            f"the page {known.slug} was changed in the brain as well",
            "gbrain sync --overwrite takes the file's text, and the brain's stays in the page's "
            "history; gbrain export --force writes the brain's over the file.",
            "both_changed",
        )


# --- writing ---------------------------------------------------------------------------------


class _Batch:
    """Pages on their way in, of a vault's files or put by hand: each lot is stored as a whole.

    What the brain holds is looked at when the lot is stored, not when its files were read: others
    may have written in between. A dry run only reports.
    """

    def __init__(
        self,
        database: Database,
        now: str,
        report: ImportReport,
        dry_run: bool,
        edits: _Edits | None = None,
    ) -> None:
        self.database, self.now, self.report, self.dry_run = database, now, report, dry_run
        self.edits = edits
        self.pages: list[Page] = []
        self.size = 0

    def add(self, page: Page) -> None:
        self.pages.append(page)
        self.size += len(page.compiled_truth) + len(page.timeline)
        if len(self.pages) >= _BATCH_PAGES or self.size >= _BATCH_BYTES:
            self.store()

    def store(self) -> None:
        if not self.pages:
            return
        if self.dry_run:
            with self.database.read_transaction() as connection:
                self._report(connection)
        else:
            vault_id = self.edits.vault.id if self.edits else None
            with self.database.write_transaction() as connection:
                written = self._report(connection)
                for page in written:
                    write_page(
                        connection, page, self.now,
                        folder_id=vault_id, from_file=vault_id is not None, enqueue=False,
                    )  # fmt: skip
                enqueue_pages(connection, [page.slug for page in written], self.now)
        self.pages, self.size = [], 0

    def _report(self, connection: sqlite3.Connection) -> list[Page]:
        """Says of each page what becomes of it; gives back those that are to be written."""
        written = []
        for page in self.pages:
            known = find_page_source(connection, page.slug)
            problem = self.edits.conflict(known, page) if self.edits else None
            if problem and had_content(connection, page.slug, page.sha256):
                # A file that stayed behind, such as one that was exported, brings nothing new.
                self.report.unchanged += 1
            elif problem:
                self.report.problems.append(problem)
            else:
                action: Action = "update" if known else "create"
                self.report.changes.append(PageChange(action, page.slug, page.path))
                written.append(page)
        return written


def _absent(
    pages: dict[str, PageSource], vault: Folder, paths: list[str], problems: list[ImportProblem]
) -> list[PageSource]:
    """Pages of this vault whose file is gone; not those under a folder that cannot be read."""
    present = {slug_from_path(path) for path in paths if _encodable(path)}
    named = {p.path for p in problems}
    unread = tuple(p.path for p in problems if p.code == "cannot_read")
    if "." in unread:
        return []
    return [
        known
        for slug, known in pages.items()
        if known.folder_id == vault.id
        and slug not in present
        and known.path not in named
        and not (unread and known.path.startswith(unread))
    ]


def _encodable(path: str) -> bool:
    try:
        path.encode()
        slug_from_path(path)
    except (UnicodeEncodeError, GbrainError):
        return False
    return True


def _refuse_empty(root: Path, paths: list[str], absent: list[PageSource]) -> None:
    if absent and not paths:
        raise BadPage(
            f"{root} holds no pages any more, but the brain has {len(absent)} from there",
            hint="Is the disk mounted? To drop them all, use gbrain delete.",
            code="vault_empty",
        )


def _drop(
    database: Database, absent: list[PageSource], now: str, report: ImportReport, dry_run: bool
) -> None:
    if not absent:
        return
    with database.read_transaction() if dry_run else database.write_transaction() as connection:
        for known in absent:
            found = find_page_source(connection, known.slug)
            if found is None or found.path != known.path:
                continue
            if found.sha256 != found.source_sha256:
                report.problems.append(
                    ImportProblem(
                        known.path,
                        f"the file is gone, but the page {known.slug} was changed in the brain",
                        "Export it, or remove it with gbrain delete.",
                        "both_changed",
                    )
                )
            elif found.sha256 == known.sha256:
                report.changes.append(PageChange("delete", known.slug, known.path))
                if not dry_run:
                    delete_page(connection, known.slug, now)
