"""Push: write pages that changed here to a shared store, merged with what changed there."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from gbrain.errors import Conflict
from gbrain.remotes.contact import Contact
from gbrain.remotes.pull import LocalFiles, PullReport, RefusedPage, apply_rows, check_rows
from gbrain.store.connection import Database
from gbrain.store.models import ModelRow
from gbrain.store.pages import find_page, page_text
from gbrain.store.postgres.pages import PushedPage, PushResult, pages_by_slug, push_pages
from gbrain.store.postgres.vectors import ModelKey, push_vectors
from gbrain.store.remote_conflicts import list_remote_conflicts
from gbrain.store.remotes import (
    PageBase,
    WaitingPage,
    page_bases,
    page_chunk_hashes,
    page_contents,
    pages_without_shared_vectors,
    raise_version,
    record_bases,
    record_pushed,
    record_shared_vectors,
    waiting_pages,
)
from gbrain.store.vectors import vectors_by_hash
from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.types import Progress, Scope, no_progress

_BATCH_PAGES = 500
_BATCH_BYTES = 4_000_000
_VECTOR_PAGES = 500
# More pages are added to the search tables of the store by `index_pages`, twenty times faster.
_MAX_INDEXED_AT_ONCE = 500
# With many writers on one page each attempt lets one of them through.
_MAX_ATTEMPTS = 200
_MAX_WAIT_SECONDS = 0.2


@dataclass(slots=True)
class PushReport:
    """What a push wrote to the shared store, as slugs, and what it merged here for that.

    `conflicts` are pages that are not pushed until somebody resolves them.
    """

    remote: str
    pushed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    refused: list[RefusedPage] = field(default_factory=list)
    vectors: int = 0


def push_changes(
    database: Database,
    contact: Contact,
    now: str,
    machine: str,
    *,
    scope: Scope = Scope(),
    model: ModelRow | None,
    files: LocalFiles,
    after_merge: Callable[[PullReport], None] = lambda report: None,
    progress: Progress = no_progress,
) -> PushReport:
    """Write the pages in scope that changed here to the shared store.

    A page that changed there too is merged here first, and written then. A push that is killed
    after the store has committed finds there the text it has, and records that. Many pages are
    not added to the search tables of the store: call `index_pages` then.
    """
    remote = contact.remote
    report = PushReport(remote.name)
    wanted: set[str] | None = None
    for attempt in range(_MAX_ATTEMPTS):
        with database.read_transaction() as connection:
            waiting = waiting_pages(connection, remote, scope)
        if wanted is not None:
            waiting = [page for page in waiting if page.slug in wanted]
        behind: list[str] = []
        if waiting and attempt == 0:
            progress(0, len(waiting))
        for pages in _batches(database, waiting, report):
            index = len(waiting) <= _MAX_INDEXED_AT_ONCE
            result = _push_batch(database, contact, pages, machine, index=index)
            _count(report, pages, result)
            behind += result.behind
            progress(len(report.pushed) + len(report.deleted), len(waiting))
        if not behind:
            break
        if attempt > 2:
            time.sleep(random.uniform(0, _MAX_WAIT_SECONDS))
        with contact.store.transaction() as cursor:
            rows = pages_by_slug(cursor, behind, max_bytes=MAX_PAGE_BYTES)
        merged = apply_rows(database, contact, check_rows(rows), now, model=model, files=files)
        after_merge(merged)
        report.merged += [slug for slug in merged.merged if slug not in report.merged]
        report.refused += merged.refused
        refused = {each.slug for each in merged.refused}
        wanted = {slug for slug in behind if slug not in refused}
    else:
        raise Conflict(
            f"Other machines keep changing {', '.join(behind[:3])}",
            hint="Nothing was lost. Push again in a moment.",
            code="busy",
        )
    report.vectors = _push_vectors(database, contact, model)
    with database.read_transaction() as connection:
        found = list_remote_conflicts(connection, remote.id)
    report.conflicts = [each.slug for each in found]
    return report


def _batches(
    database: Database, waiting: Sequence[WaitingPage], report: PushReport
) -> Iterator[list[PushedPage]]:
    """Yield the waiting pages with their texts, as many as make a batch."""
    for start in range(0, len(waiting), _BATCH_PAGES):
        group = waiting[start : start + _BATCH_PAGES]
        batch: list[PushedPage] = []
        size = 0
        with database.read_transaction() as connection:
            contents = page_contents(connection, [page.page_id for page in group if page.page_id])
        for page in group:
            base = page.base.version if page.base else 0
            if page.page_id is None:
                batch.append(PushedPage(page.slug, f"{page.slug}.md", base + 1, base, b"", None))
                continue
            # Deleted since the list was made: the next push does that.
            if page.page_id not in contents:
                continue
            path, version, digest, text = contents[page.page_id]
            if sha256(text.encode()).digest() != digest:
                reason = "its stored hash is wrong: gbrain doctor --repair"
                report.refused.append(RefusedPage(page.slug, reason))
                continue
            if batch and size + len(text) > _BATCH_BYTES:
                yield batch
                batch, size = [], 0
            batch.append(PushedPage(page.slug, path, version, base, digest, text))
            size += len(text)
        if batch:
            yield batch


def _push_batch(
    database: Database,
    contact: Contact,
    pages: Sequence[PushedPage],
    machine: str,
    *,
    index: bool,
) -> PushResult:
    """Write a batch to the store in one transaction, then record that it has these texts."""
    with contact.store.transaction() as cursor:
        result = push_pages(cursor, pages, machine, index=index)
    there = {**result.same, **result.written}
    bases = [
        (page.slug, PageBase(there[page.slug], None if page.text is None else page.sha256))
        for page in pages
        if page.slug in there
    ]
    with database.write_transaction() as connection:
        record_bases(connection, contact.remote, bases)
        record_pushed(connection, contact.remote, result.after, len(result.written), result.change)
        for slug, base in bases:
            raise_version(connection, slug, base.version)
    return result


def push_written_page(
    connection: sqlite3.Connection, contact: Contact, slug: str, machine: str
) -> None:
    """Push a page that was just written, inside of its transaction, unless it changed there.

    Raises Conflict if it did: then neither side has the new text. If this process is killed after
    the store has committed, the next pull brings the text.
    """
    remote = contact.remote
    page = find_page(connection, slug)
    base = page_bases(connection, remote, [slug]).get(slug)
    number = base.version if base else 0
    pushed = PushedPage(slug, f"{slug}.md", number + 1, number, b"", None)
    if page:
        text = page_text(connection, page.id)
        pushed = PushedPage(slug, page.path, page.version, number, page.sha256, text)
    with contact.store.transaction() as cursor:
        result = push_pages(cursor, [pushed], machine)
    if result.behind:
        raise Conflict(
            f"{slug} was changed on the server meanwhile",
            hint=f"Read it again with gbrain get {slug} and repeat your change.",
            code="version_conflict",
        )
    version = {**result.same, **result.written}[slug]
    record_bases(connection, remote, [(slug, PageBase(version, page.sha256 if page else None))])
    record_pushed(connection, remote, result.after, len(result.written), result.change)
    raise_version(connection, slug, version)


def _count(report: PushReport, pages: Sequence[PushedPage], result: PushResult) -> None:
    for page in pages:
        if page.slug in result.written:
            (report.deleted if page.text is None else report.pushed).append(page.slug)


def _push_vectors(database: Database, contact: Contact, model: ModelRow | None) -> int:
    """Write the vectors of shared pages that the store does not have; return how many."""
    if model is None or not (contact.state.has_vectors and contact.state.may_write):
        return 0
    remote, store, _ = contact
    with database.read_transaction() as connection:
        pages = pages_without_shared_vectors(connection, remote, model.id)
    count = 0
    key = ModelKey(model.identity, model.dimension)
    for start in range(0, len(pages), _VECTOR_PAGES):
        group = pages[start : start + _VECTOR_PAGES]
        with database.read_transaction() as connection:
            hashes = page_chunk_hashes(connection, [page_id for _, page_id in group])
            wanted = {digest for each in hashes.values() for digest in each}
            vectors = dict(vectors_by_hash(connection, model.space, wanted))
        complete = [
            slug for slug, page_id in group if vectors.keys() >= set(hashes.get(page_id, ()))
        ]
        if not vectors:
            continue
        with store.transaction() as cursor:
            count += push_vectors(cursor, key, list(vectors.items()))
        with database.write_transaction() as connection:
            record_shared_vectors(connection, remote, complete, model.id)
    return count
