"""Embed queued chunks in batches; safe to interrupt, and several runs may work at once."""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from random import Random
from time import monotonic, time
from typing import TYPE_CHECKING, TypeVar

from gbrain.errors import ModelUnavailable
from gbrain.store import jobs, vectors
from gbrain.store.connection import Database
from gbrain.store.jobs import Backlog, DuePage, EmbeddingJob
from gbrain.store.models import model_in_role
from gbrain.store.usage_log import try_write
from gbrain.store.vector_space import VectorSpace
from gbrain.text.chunking import embedding_text
from gbrain.types import Progress, no_progress

if TYPE_CHECKING:
    from gbrain.models.catalog import Embedder
    from gbrain.store.vector_space import Floats

T = TypeVar("T")

_BATCH_CHUNKS = 64
# Rounding changes the cosine of equal vectors by less than 0.001; two models' were at 0.8.
_SAME_COSINE = 0.97
# A query or a push waits for this many chunks: 16 take about a fifth of a second on two cores.
_MAX_NEW_CHUNKS = 16
# A page that was just written may have more; each of the next queries embeds some of them.
_MAX_CHUNKS_OF_WRITE = 64


@dataclass(frozen=True, slots=True)
class EmbedLimits:
    """When to stop early: after this many jobs or seconds; None means no limit."""

    jobs: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class EmbedReport:
    """What a run did: chunks embedded, vectors pruned, jobs still due, seconds taken.

    `switched_to` is the model that became active because it now has all vectors; `switching_to` is
    the one that still lacks some.
    """

    done: int = 0
    pruned: int = 0
    left: int = 0
    seconds: float = 0.0
    switched_to: str | None = None
    switching_to: str | None = None


def embed_due_chunks(
    database: Database,
    space: VectorSpace,
    open_model: Callable[[], Embedder],
    *,
    page_id: int | None = None,
    limits: EmbedLimits = EmbedLimits(),
    progress: Progress = no_progress,
) -> EmbedReport:
    """Embed the chunks that are due, of one page or all, and report the numbers.

    Of all pages, the newest come first: by date, or else by the time their file was changed.
    """
    result, began = EmbedReport(), monotonic()
    with database.write_transaction() as connection:
        jobs.release_dead_workers(connection)
        jobs.drop_orphaned_jobs(connection)
        total = jobs.count_due(connection, time(), page_id)
    if limits.jobs is not None:
        total = min(total, limits.jobs)
    if total:
        queue = _Queue(database, space, page_id, limits, began)
        try:
            model = open_model()
            for batch in _batches(queue, model):
                _store(database, space, batch, result)
                queue.claimed -= {job.hash for job, _ in batch}
                progress(result.done, max(total, result.done))
        except ModelUnavailable as error:
            queue.give_back(error.message)
            raise
        except BaseException:
            queue.give_back(None)
            raise
    with database.write_transaction() as connection:
        result.left = jobs.count_due(connection, time(), page_id)
        # Pruning reads all vectors: once when nothing is due, not after every partial run.
        if not jobs.count_due(connection, time()):
            result.pruned = vectors.remove_orphaned_vectors(connection, space)
    result.seconds = monotonic() - began
    return result


def embed_next_model(
    database: Database,
    space: VectorSpace,
    open_model: Callable[[], Embedder],
    *,
    limits: EmbedLimits = EmbedLimits(),
    progress: Progress = no_progress,
) -> EmbedReport:
    """Embed all chunks for the model that a brain is switching to, and report the numbers.

    The work is what has no vector yet, so a run that is killed loses at most one batch. Runs at the
    same time take it in different orders, and skip what another has stored.
    """
    result, began = EmbedReport(), monotonic()
    while missing := _read(database, lambda connection: jobs.missing_hashes(connection, space)):
        Random(os.getpid()).shuffle(missing)
        total = result.done + len(missing)
        if limits.jobs is not None:
            missing = missing[: limits.jobs - result.done]
        batches = [missing[n : n + _BATCH_CHUNKS] for n in range(0, len(missing), _BATCH_CHUNKS)]
        taken: deque[EmbeddingJob] = deque()

        def texts(
            batches: list[list[bytes]] = batches, taken: deque[EmbeddingJob] = taken
        ) -> Iterator[str]:
            for batch in batches:
                if limits.seconds is not None and monotonic() - began >= limits.seconds:
                    return
                for job in _read(database, partial(_still_missing, space=space, hashes=batch)):
                    taken.append(job)
                    yield _text(job)

        done = 0
        for stored in _store_as_embedded(database, space, open_model(), texts(), taken):
            done += stored
            result.done += stored
            progress(result.done, max(total, result.done))
        if not done or (limits.jobs is not None and result.done >= limits.jobs):
            # Not counted again: that takes a seventh of a second in a brain of 160,000 chunks.
            result.left = total - result.done
            break
    result.seconds = monotonic() - began
    return result


def _still_missing(
    connection: sqlite3.Connection, space: VectorSpace, hashes: Sequence[bytes]
) -> list[EmbeddingJob]:
    """Return the texts without a vector; none after the switch was undone."""
    following = model_in_role(connection, "next")
    if following is None or following.space != space:
        return []
    return jobs.read_missing(connection, space, hashes)


def _store_as_embedded(
    database: Database,
    space: VectorSpace,
    model: Embedder,
    texts: Iterator[str],
    taken: deque[EmbeddingJob],
) -> Iterator[int]:
    """Store vectors in batches; yield how many after each. A failure comes after what is done."""
    batch: list[tuple[bytes, Floats]] = []

    def store() -> int:
        with database.write_transaction() as connection:
            # The model may have been removed meanwhile.
            if space in vectors.all_spaces(connection):
                vectors.store_vectors(connection, space, batch)
        stored = len(batch)
        batch.clear()
        return stored

    try:
        for vector in model.embed_chunks(texts):
            batch.append((taken.popleft().hash, vector))
            if len(batch) == _BATCH_CHUNKS:
                yield store()
    except ModelUnavailable:
        if batch:
            yield store()
        raise
    if batch:
        yield store()


def _read(database: Database, read: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
    with database.read_transaction() as connection:
        return read(connection)


def embed_new_chunks(
    database: Database,
    open_space: Callable[[], VectorSpace],
    open_model: Callable[[], Embedder],
) -> Backlog:
    """Embed chunks that were just written, if they are few; return what still waits.

    The jobs are not claimed: if two queries embed the same chunk, it is stored once. Nothing is
    stored while another program writes, or if the caller's read transaction could not see it.
    """
    snapshot = database.in_transaction
    with database.read_transaction() as connection:
        backlog = jobs.count_backlog(connection)
        if snapshot or database.read_only or not _is_few(backlog):
            return backlog
        latest = jobs.latest_jobs(connection, time(), _MAX_NEW_CHUNKS)
    if not latest:
        return backlog
    try:
        space, model = open_space(), open_model()
    except ModelUnavailable:
        return backlog
    batch: list[tuple[EmbeddingJob, Floats]] = []
    reason = None
    try:
        for vector in model.embed_chunks(map(_text, latest)):
            batch.append((latest[len(batch)], vector))
    except ModelUnavailable as error:
        reason = error.message

    def store(connection: sqlite3.Connection) -> None:
        _store_batch(connection, space, batch)
        if reason is not None:
            jobs.fail_job(connection, latest[len(batch)].hash, reason, time())

    try_write(database, store)
    with database.read_transaction() as connection:
        return jobs.count_backlog(connection)


def compare_embedded(sample: Sequence[tuple[EmbeddingJob, bytes]], model: Embedder) -> int:
    """Return how many of the vectors differ from those that the model makes of their chunks."""
    import numpy as np

    embedded = model.embed_chunks([_text(job) for job, _ in sample])
    return sum(
        not float(vector @ np.frombuffer(stored, np.float16).astype(np.float32)) >= _SAME_COSINE
        for vector, (_, stored) in zip(embedded, sample, strict=True)
    )


def _is_few(backlog: Backlog) -> bool:
    """Tell whether a query can wait for the backlog, or for a part that makes a difference.

    If most chunks have no vector, a few more would only favour their pages.
    """
    waiting, chunks = backlog
    return waiting <= _MAX_NEW_CHUNKS or waiting <= min(_MAX_CHUNKS_OF_WRITE, chunks // 2)


def _last_changed(page: DuePage) -> str:
    """Return the page's last day, or else when its file or the page was last changed."""
    if page.last_day is None and page.root is not None:
        try:
            changed = os.stat(os.path.join(page.root, page.path)).st_mtime
            return datetime.fromtimestamp(changed, UTC).isoformat()
        except (OSError, ValueError, TypeError, OverflowError):
            pass
    return str(page.last_day or page.updated_at)


def _text(job: EmbeddingJob) -> str:
    return embedding_text(job.title, job.heading_path, job.date, job.text)


class _Queue:
    """Claims jobs one batch ahead of the model, and knows which are claimed but not stored."""

    def __init__(
        self,
        database: Database,
        space: VectorSpace,
        page_id: int | None,
        limits: EmbedLimits,
        began: float,
    ) -> None:
        self.database, self.space, self.page_id = database, space, page_id
        self.limits, self.began = limits, began
        self.pages: deque[int] = deque()
        self.claimed: set[bytes] = set()
        self.with_model: deque[EmbeddingJob] = deque()
        self.claimed_count = 0

    def texts(self) -> Iterator[str]:
        """Yield the texts to embed, claiming jobs as they are needed."""
        while batch := self._claim():
            for job in batch:
                self.with_model.append(job)
                yield _text(job)

    def _claim(self) -> list[EmbeddingJob]:
        """Claim the next batch; empty at a limit or after a switch to another model."""
        limits = self.limits
        count = (
            _BATCH_CHUNKS
            if limits.jobs is None
            else min(_BATCH_CHUNKS, limits.jobs - self.claimed_count)
        )
        late = limits.seconds is not None and monotonic() - self.began >= limits.seconds
        if count <= 0 or late:
            return []
        with self.database.write_transaction() as connection:
            if vectors.active_space(connection) != self.space:
                return []
            batch = self._claim_newest(connection, count)
        self.claimed_count += len(batch)
        self.claimed |= {job.hash for job in batch}
        return batch

    def _claim_newest(self, connection: sqlite3.Connection, count: int) -> list[EmbeddingJob]:
        """Claim up to `count` jobs, page after page; look for due pages again at their end."""
        batch: list[EmbeddingJob] = []
        while len(batch) < count:
            if not self.pages:
                self.pages = self._due_pages(connection)
                if not self.pages:
                    break
            wanted = count - len(batch)
            found = jobs.claim_jobs(connection, jobs.worker_name(), time(), wanted, self.pages[0])
            batch += found
            if len(found) < wanted:
                self.pages.popleft()
        return batch

    def _due_pages(self, connection: sqlite3.Connection) -> deque[int]:
        """Return the ids of the pages that have due jobs, newest first."""
        due = jobs.pages_with_due_jobs(connection, time())
        if self.page_id is not None:
            return deque(page.id for page in due if page.id == self.page_id)
        newest_first = sorted(due, key=lambda page: (_last_changed(page), page.id), reverse=True)
        return deque(page.id for page in newest_first)

    def give_back(self, reason: str | None) -> None:
        """Release unfinished jobs; a reason is stored with the job that the model failed on."""
        with self.database.write_transaction() as connection:
            jobs.release_jobs(connection, list(self.claimed))
            if reason is not None and self.with_model:
                jobs.fail_job(connection, self.with_model[0].hash, reason, time())


def _batches(queue: _Queue, model: Embedder) -> Iterator[list[tuple[EmbeddingJob, Floats]]]:
    """Yield jobs with their vectors, in order, one transaction's worth at a time.

    A text that the model cannot embed raises ModelUnavailable after the jobs before it.
    """
    batch: list[tuple[EmbeddingJob, Floats]] = []
    try:
        for vector in model.embed_chunks(queue.texts()):
            batch.append((queue.with_model.popleft(), vector))
            if len(batch) == _BATCH_CHUNKS:
                yield batch
                batch = []
    except ModelUnavailable:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _store(
    database: Database,
    space: VectorSpace,
    batch: list[tuple[EmbeddingJob, Floats]],
    result: EmbedReport,
) -> None:
    """Write a batch of vectors and remove its jobs."""
    with database.write_transaction() as connection:
        stored = _store_batch(connection, space, batch)
    result.done += stored


def _store_batch(
    connection: sqlite3.Connection, space: VectorSpace, batch: list[tuple[EmbeddingJob, Floats]]
) -> int:
    """Write a batch of vectors and remove its jobs; return how many vectors were written."""
    # The model may have been removed while it was embedding.
    is_known = space in vectors.all_spaces(connection)
    if is_known:
        vectors.store_vectors(connection, space, [(job.hash, vector) for job, vector in batch])
    # After a switch of models the queue belongs to the other model.
    if vectors.active_space(connection) == space:
        jobs.finish_jobs(connection, [job.hash for job, _ in batch])
    return len(batch) if is_known else 0
