"""Pull: bring what changed in a shared store into the brain, in batches that are each complete."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gbrain.errors import GbrainError
from gbrain.importing.parse_worker import TextParser, TextToParse
from gbrain.importing.scan import ImportProblem
from gbrain.importing.write_through import look_at_file
from gbrain.remotes.contact import Contact
from gbrain.remotes.incoming import (
    IncomingPage,
    Outcome,
    apply_page,
    check_row,
    texts_to_fetch,
)
from gbrain.store import jobs
from gbrain.store.chunks import enqueue_pages
from gbrain.store.connection import Database
from gbrain.store.folders import find_page_file
from gbrain.store.models import ModelRow
from gbrain.store.postgres import vectors as shared_vectors
from gbrain.store.postgres.pages import (
    PastText,
    SharedPage,
    changed_pages,
    count_changes,
    find_texts,
)
from gbrain.store.postgres.vectors import ModelKey
from gbrain.store.remotes import (
    SharedChange,
    is_restored,
    page_bases,
    record_bases,
    record_complete_pull,
    record_pulled,
    record_shared_vectors,
)
from gbrain.store.vectors import store_vectors
from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.types import Progress, no_progress

_BATCH_PAGES = 1000
_BATCH_BYTES = 8_000_000
_VECTORS_AT_ONCE = 2000
# Fewer pages are parsed before a second process has started.
_MIN_PAGES_FOR_PROCESS = 1000


class RefusedPage(NamedTuple):
    """A page that was not taken, and why."""

    slug: str
    reason: str


class RemovedFile(NamedTuple):
    """The file of a page that was deleted, to be removed."""

    root: str
    path: str


@dataclass(slots=True)
class PullReport:
    """What a pull changed in the brain, as slugs; `vectors` counts those that it brought.

    `removed_files` are files of deleted pages that are still to be removed, and `file_problems`
    say which files could not be written.
    """

    remote: str
    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    refused: list[RefusedPage] = field(default_factory=list)
    removed_files: list[RemovedFile] = field(default_factory=list)
    file_problems: list[ImportProblem] = field(default_factory=list)
    vectors: int = 0

    @property
    def changed(self) -> list[str]:
        """Return the slugs of pages that have another text now, new ones included."""
        return [*self.created, *self.updated, *self.merged]

    def add(self, slug: str, outcome: Outcome) -> None:
        """Count what happened to a page."""
        lists: dict[Outcome, list[str]] = {
            "created": self.created,
            "updated": self.updated,
            "deleted": self.deleted,
            "merged": self.merged,
            "conflict": self.conflicts,
        }
        if outcome in lists and slug not in lists[outcome]:
            lists[outcome].append(slug)


class LocalFiles(NamedTuple):
    """How pages that are pulled relate to files: the folder of new ones, and where to write."""

    new_page_folder: Callable[[sqlite3.Connection], int | None]
    may_write: Callable[[str], bool]


def pull_changes(
    database: Database,
    contact: Contact,
    now: str,
    *,
    model: ModelRow | None,
    files: LocalFiles,
    after_batch: Callable[[PullReport], None] = lambda report: None,
    progress: Progress = no_progress,
) -> PullReport:
    """Bring everything that changed since the last pull into the brain.

    Every batch is written in one transaction together with its last sequence number, so a pull
    that is killed continues where it was. `after_batch` gets the report of each batch.
    """
    remote, _, state = contact
    report = PullReport(remote.name)
    done, total = 0, 0
    if remote.sequence < state.sequence:
        with contact.store.transaction() as cursor:
            total = count_changes(cursor, remote.sequence)
        progress(0, total)
    with TextParser(many=total > _MIN_PAGES_FOR_PROCESS) as parser:
        for rows in _parse_ahead(contact, parser):
            batch = apply_rows(database, contact, rows, now, model=model, files=files)
            after_batch(batch)
            _add_report(report, batch)
            done += len(rows.pages)
            progress(done, max(done, total))
    report.vectors += _pull_missing_vectors(database, contact, model)
    is_recent = remote.pulled_at is not None and remote.pulled_at[:16] == now[:16]
    # A pull that finds nothing new in the same minute needs no write to the disk.
    if not is_recent or state[2:4] != (remote.sequence, remote.vector_sequence):
        with database.write_transaction() as connection:
            record_complete_pull(connection, remote, state.vector_sequence, now)
    return report


class CheckedRows(NamedTuple):
    """Rows of the shared store: those that a brain can have, parsed, and the others.

    `pulled_to` is the sequence number to record with them, None if they are not the next ones, and
    `last_change` the one that has it.
    """

    pages: list[IncomingPage]
    refused: list[RefusedPage]
    pulled_to: int | None = None
    last_change: SharedChange | None = None


def _parse_ahead(contact: Contact, parser: TextParser) -> Iterator[CheckedRows]:
    """Yield what changed in batches; the next one is fetched and parsed while one is written."""
    after, last = contact.remote.sequence, contact.state.sequence
    fetched: _FetchedRows | None = None
    while after < last or fetched:
        following = None
        if after < last:
            with contact.store.transaction() as cursor:
                rows = changed_pages(
                    cursor,
                    after,
                    max_pages=_BATCH_PAGES,
                    max_bytes=MAX_PAGE_BYTES,
                    batch_bytes=_BATCH_BYTES,
                )
            after = rows[-1].sequence if rows else last
            following = _FetchedRows(rows, parser, after)
        if fetched:
            yield fetched.parse()
        fetched = following


class _FetchedRows:
    """Rows that were fetched and are being parsed."""

    def __init__(
        self, rows: Sequence[SharedPage], parser: TextParser, pulled_to: int | None = None
    ) -> None:
        self._parser, self._pulled_to = parser, pulled_to
        self._last_change = rows[-1].change if rows else None
        self._deleted: list[IncomingPage] = []
        self._rows: list[SharedPage] = []
        self._refused: list[RefusedPage] = []
        texts: list[TextToParse] = []
        for row in rows:
            try:
                data = check_row(row)
            except GbrainError as error:
                self._refused.append(RefusedPage(row.slug, error.message))
                continue
            if data is None:
                self._deleted.append(IncomingPage(row, None))
            else:
                self._rows.append(row)
                texts.append((row.path, data))
        if texts:
            parser.submit(texts)

    def parse(self) -> CheckedRows:
        """Return the rows with their parsed pages."""
        pages = list(self._deleted)
        results = self._parser.results(len(self._rows))
        for row, (_, page) in zip(self._rows, results, strict=True):
            if isinstance(page, GbrainError):
                self._refused.append(RefusedPage(row.slug, page.message))
            else:
                pages.append(IncomingPage(row, page))
        return CheckedRows(pages, self._refused, self._pulled_to, self._last_change)


def check_rows(rows: Sequence[SharedPage]) -> CheckedRows:
    """Return rows of the shared store, checked and parsed."""
    with TextParser(many=False) as parser:
        return _FetchedRows(rows, parser).parse()


def apply_rows(
    database: Database,
    contact: Contact,
    rows: CheckedRows,
    now: str,
    *,
    model: ModelRow | None,
    files: LocalFiles,
) -> PullReport:
    """Bring rows of the shared store into the brain in one transaction."""
    remote = contact.remote
    report = PullReport(remote.name, refused=rows.refused)
    incoming = rows.pages
    slugs = [each.slug for each in incoming]
    with database.read_transaction() as connection:
        bases = page_bases(connection, remote, slugs)
        wanted = texts_to_fetch(connection, remote, incoming, bases)
        hashes = {chunk.hash for each in incoming if each.page for chunk in each.page.chunks}
        missing = _without_vector(connection, model, hashes)
    past, vectors = _fetch(contact, wanted, model, missing)
    for each in incoming:
        if each.page is None:
            look_at_file(database, each.slug, files.may_write)
    with database.write_transaction() as connection:
        folder_id = files.new_page_folder(connection)
        restored = is_restored(connection, remote)
        for each in incoming:
            file = find_page_file(connection, each.slug)
            with_file = file is not None and files.may_write(file.folder.root)
            outcome = apply_page(
                connection,
                remote,
                each,
                bases.get(each.slug),
                [text for text in past if text.slug == each.slug],
                now,
                folder_id=folder_id,
                with_file=with_file,
                restored=restored,
            )
            report.add(each.slug, outcome)
            if outcome == "deleted" and file and with_file:
                report.removed_files.append(RemovedFile(file.folder.root, file.path))
        record_bases(connection, remote, [(each.slug, each.base) for each in incoming])
        if model:
            store_vectors(connection, model.space, vectors)
            known = {digest for digest, _ in vectors}
            shared = [each.slug for each in incoming if _has_all(each, known)]
            record_shared_vectors(connection, remote, shared, model.id)
        report.vectors = len(vectors)
        enqueue_pages(connection, [*report.changed, *report.conflicts], now)
        if rows.pulled_to is not None:
            record_pulled(connection, remote, rows.pulled_to, rows.last_change)
    return report


def _add_report(total: PullReport, batch: PullReport) -> None:
    for name in (
        "created",
        "updated",
        "deleted",
        "merged",
        "conflicts",
        "refused",
        "file_problems",
    ):
        getattr(total, name).extend(getattr(batch, name))
    total.vectors += batch.vectors


# --- vectors ---------------------------------------------------------------------------------


def _has_all(incoming: IncomingPage, known: set[bytes]) -> bool:
    """Tell whether the shared store has the vectors of all chunks of a page."""
    page = incoming.page
    return page is not None and all(chunk.hash in known for chunk in page.chunks)


def _without_vector(
    connection: sqlite3.Connection, model: ModelRow | None, hashes: Iterable[bytes]
) -> list[bytes]:
    if model is None:
        return []
    return jobs.hashes_without_vector(connection, model.space, hashes)


def _fetch(
    contact: Contact,
    wanted: Sequence[tuple[str, bytes]],
    model: ModelRow | None,
    hashes: Sequence[bytes],
) -> tuple[list[PastText], list[tuple[bytes, shared_vectors.Floats]]]:
    """Return earlier texts and vectors of the shared store."""
    if not wanted and not (hashes and contact.state.has_vectors):
        return [], []
    with contact.store.transaction() as cursor:
        past = find_texts(cursor, wanted, max_bytes=MAX_PAGE_BYTES)
        vectors = []
        if model and hashes and contact.state.has_vectors:
            key = ModelKey(model.identity, model.dimension)
            vectors = shared_vectors.fetch_vectors(cursor, key, hashes)
    return past, vectors


def _pull_missing_vectors(database: Database, contact: Contact, model: ModelRow | None) -> int:
    """Bring vectors that others computed since, for chunks that wait to be embedded here."""
    remote, store, state = contact
    if model is None or not state.has_vectors or state.vector_sequence == remote.vector_sequence:
        return 0
    with database.read_transaction() as connection:
        waiting = jobs.queued_hashes(connection)
    count = 0
    key = ModelKey(model.identity, model.dimension)
    for start in range(0, len(waiting), _VECTORS_AT_ONCE):
        with store.transaction() as cursor:
            group = waiting[start : start + _VECTORS_AT_ONCE]
            vectors = shared_vectors.fetch_vectors(cursor, key, group)
        with database.write_transaction() as connection:
            store_vectors(connection, model.space, vectors)
            jobs.finish_jobs(connection, [digest for digest, _ in vectors])
        count += len(vectors)
    return count
