"""Claim jobs, embed them on all cores, store a batch at a time; safe to kill, safe to run twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic, time
from typing import TYPE_CHECKING

from gbrain.errors import ModelUnavailable
from gbrain.store import jobs, vectors
from gbrain.store.connection import Database
from gbrain.store.jobs import EmbeddingJob
from gbrain.store.vectors import VectorSpace
from gbrain.text.chunking import embedding_text
from gbrain.types import Progress, no_progress

if TYPE_CHECKING:
    from gbrain.models.catalog import Embedder
    from gbrain.store.vectors import Floats

_BATCH = 64


@dataclass(frozen=True, slots=True)
class EmbedLimits:
    """When to stop early; None is never."""

    jobs: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class EmbedReport:
    """What a run did; `left` jobs are due and were not reached."""

    done: int = 0
    pruned: int = 0
    left: int = 0
    seconds: float = 0.0


def embed_due_chunks(
    database: Database,
    space: VectorSpace,
    open_model: Callable[[], Embedder],
    *,
    page_id: int | None = None,
    limits: EmbedLimits = EmbedLimits(),
    progress: Progress = no_progress,
) -> EmbedReport:
    """Embeds what is due, for one page or all; several runs at once share the work."""
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
                _keep(database, space, batch, result)
                queue.held -= {job.hash for job, _ in batch}
                progress(result.done, max(total, result.done))
        except ModelUnavailable as error:
            queue.give_back(error.message)
            raise
        except BaseException:
            queue.give_back(None)
            raise
    with database.write_transaction() as connection:
        result.left = jobs.count_due(connection, time(), page_id)
        # Looking for orphans takes all vectors: once when the work is done, not in every slice.
        if not jobs.count_due(connection, time()):
            result.pruned = vectors.remove_orphaned_vectors(connection, space)
    result.seconds = monotonic() - began
    return result


class _Queue:
    """Claims jobs a batch ahead of the model, and knows which it still holds."""

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
        self.held: set[bytes] = set()
        self.with_model: deque[EmbeddingJob] = deque()
        self.taken = 0

    def texts(self) -> Iterator[str]:
        while batch := self._claim():
            for job in batch:
                self.with_model.append(job)
                yield embedding_text(job.title, job.heading_path, job.date, job.text)

    def _claim(self) -> list[EmbeddingJob]:
        limits = self.limits
        count = _BATCH if limits.jobs is None else min(_BATCH, limits.jobs - self.taken)
        late = limits.seconds is not None and monotonic() - self.began >= limits.seconds
        if count <= 0 or late:
            return []
        with self.database.write_transaction() as connection:
            if vectors.active_space(connection) != self.space:
                return []
            batch = jobs.claim_jobs(connection, jobs.worker_name(), time(), count, self.page_id)
        self.taken += len(batch)
        self.held |= {job.hash for job in batch}
        return batch

    def give_back(self, reason: str | None) -> None:
        """Frees what was claimed and not done; a reason is kept with the text the model was at."""
        with self.database.write_transaction() as connection:
            jobs.release_jobs(connection, list(self.held))
            if reason is not None and self.with_model:
                jobs.fail_job(connection, self.with_model[0].hash, reason, time())


def _batches(queue: _Queue, model: Embedder) -> Iterator[list[tuple[EmbeddingJob, Floats]]]:
    """Jobs with their vectors, in order, as many together as are stored in one transaction.

    A text that the model cannot embed ends it, after those before it.
    """
    batch: list[tuple[EmbeddingJob, Floats]] = []
    try:
        for vector in model.embed_chunks(queue.texts()):
            batch.append((queue.with_model.popleft(), vector))
            if len(batch) == _BATCH:
                yield batch
                batch = []
    except ModelUnavailable:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _keep(
    database: Database,
    space: VectorSpace,
    batch: list[tuple[EmbeddingJob, Floats]],
    result: EmbedReport,
) -> None:
    with database.write_transaction() as connection:
        vectors.store_vectors(connection, space, [(job.hash, vector) for job, vector in batch])
        # After a switch of models the queue is the other model's.
        if vectors.active_space(connection) == space:
            jobs.finish_jobs(connection, [job.hash for job, _ in batch])
    result.done += len(batch)
