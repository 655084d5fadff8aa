"""The embedding queue: chunk texts that have no vector yet, claimed by one worker each."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gbrain.store.vector_space import VectorSpace

# PROC_PID_INIT_INO in Linux: the ids of processes outside of any container.
_FIRST_NAMESPACE = "4026531836"
# After this time another worker can take over a claimed job; jobs of a dead worker on this machine
# are released at once.
LEASE_SECONDS = 120.0
_MAX_RETRY_WAIT_SECONDS = 24 * 3600.0
# A job that is due later than any wait was put off before the clock was set back.
_IS_DUE = f"(due_at <= ?1 OR due_at > ?1 + {_MAX_RETRY_WAIT_SECONDS})"
# Looking up the chunk of each of 1,000 jobs takes a millisecond.
_MAX_JOBS_JOINED = 1000


class EmbeddingJob(NamedTuple):
    """A chunk text to embed, with the title and headings that are embedded with it."""

    hash: bytes
    title: str
    heading_path: tuple[str, ...]
    date: str | None
    text: str


class QueuedJob(NamedTuple):
    """A job in the queue; `error` says why it failed last, `due_at` is a Unix time."""

    hash: bytes
    slug: str | None
    attempts: int
    due_at: float
    claimed_by: str | None
    error: str | None
    enqueued_at: str


class Backlog(NamedTuple):
    """How many of the brain's chunks have no vector yet."""

    waiting: int
    chunks: int


class DuePage(NamedTuple):
    """A page with due jobs: its last day, when it was written, and its file, if it has one."""

    id: int
    last_day: str | None
    updated_at: str
    root: str | None
    path: str


def worker_name() -> str:
    """Return the name of this process in the queue: HOST:PID, in a container HOST/NAMESPACE:PID."""
    return f"{_machine_name()}:{os.getpid()}"


def _machine_name() -> str:
    """Return a name for all processes that this one can see by their ids."""
    # Here and not above: every query counts the queue, and `socket` takes milliseconds to import.
    import socket

    try:
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        namespace = _FIRST_NAMESPACE
    host = socket.gethostname()
    return host if namespace == _FIRST_NAMESPACE else f"{host}/{namespace}"


def release_dead_workers(connection: sqlite3.Connection) -> None:
    """Release the jobs that ended workers on this machine had claimed."""
    from gbrain.store.atomic_files import process_is_alive

    here = _machine_name()
    rows = connection.execute(
        "SELECT DISTINCT claimed_by FROM embedding_jobs WHERE claimed_by IS NOT NULL"
    )
    for (name,) in rows.fetchall():
        host, _, pid = name.rpartition(":")
        if host == here and not (pid.isdecimal() and process_is_alive(int(pid))):
            connection.execute(
                "UPDATE embedding_jobs SET claimed_by = NULL, due_at = 0 WHERE claimed_by = ?",
                (name,),
            )


def drop_orphaned_jobs(connection: sqlite3.Connection) -> None:
    """Delete the jobs whose text is on no page."""
    connection.execute(
        "DELETE FROM embedding_jobs WHERE NOT EXISTS "
        "(SELECT 1 FROM chunks WHERE chunks.hash = embedding_jobs.hash)"
    )


def enqueue_missing(
    connection: sqlite3.Connection, space: VectorSpace, now: str, page_id: int | None = None
) -> None:
    """Queue every chunk (of one page, if given) that has no vector, and make waiting jobs due."""
    of_page = "" if page_id is None else "AND chunks.page_id = ?"
    values = () if page_id is None else (page_id,)
    connection.execute(
        "INSERT INTO embedding_jobs (hash, enqueued_at) "
        f"SELECT DISTINCT hash, ? FROM chunks WHERE true {of_page} AND NOT EXISTS "
        f"(SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? AND v.hash = chunks.hash) "
        "ON CONFLICT (hash) DO UPDATE SET due_at = 0 WHERE claimed_by IS NULL",
        (now, *values, space.model_id),
    )


def missing_hashes(connection: sqlite3.Connection, space: VectorSpace) -> list[bytes]:
    """Return the hashes of the chunk texts that have no vector in `space`, queued or not."""
    rows = connection.execute(
        "SELECT DISTINCT hash FROM chunks WHERE NOT EXISTS "
        f"(SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? AND v.hash = chunks.hash)",
        (space.model_id,),
    )
    return [row[0] for row in rows]


def read_missing(
    connection: sqlite3.Connection, space: VectorSpace, hashes: Sequence[bytes]
) -> list[EmbeddingJob]:
    """Return those of the chunk texts that still have no vector in `space`."""
    wanted = ", ".join("?" * len(hashes))
    rows = connection.execute(
        "SELECT hash, title, heading_path, chunks.date, text FROM chunks "
        f"JOIN pages ON pages.id = page_id WHERE hash IN ({wanted}) AND NOT EXISTS "
        f"(SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? AND v.hash = chunks.hash) "
        "GROUP BY hash",
        (*hashes, space.model_id),
    )
    return [EmbeddingJob(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) for row in rows]


def pages_with_due_jobs(connection: sqlite3.Connection, now: float) -> list[DuePage]:
    """Return the pages that have due jobs, in no order."""
    rows = connection.execute(
        "SELECT pages.id, last_day, updated_at, root, path FROM pages "
        "LEFT JOIN vaults ON vaults.id = vault_id WHERE pages.id IN "
        f"(SELECT page_id FROM embedding_jobs CROSS JOIN chunks USING (hash) WHERE {_IS_DUE})",
        (now,),
    )
    return [DuePage(*row) for row in rows]


def claim_jobs(
    connection: sqlite3.Connection, worker: str, now: float, count: int, page_id: int | None
) -> list[EmbeddingJob]:
    """Claim up to `count` due jobs of one page, or of any, for this worker, in page order."""
    of_page = "" if page_id is None else "AND page_id = ?"
    values = () if page_id is None else (page_id,)
    jobs = _read_jobs(
        connection,
        f"{_IS_DUE} {of_page} GROUP BY hash ORDER BY min(section), min(part)",
        (now, *values, count),
    )
    connection.executemany(
        "UPDATE embedding_jobs SET claimed_by = ?, due_at = ? WHERE hash = ?",
        [(worker, now + LEASE_SECONDS, job.hash) for job in jobs],
    )
    return jobs


def latest_jobs(connection: sqlite3.Connection, now: float, count: int) -> list[EmbeddingJob]:
    """Return up to `count` due jobs without claiming them, the last written first."""
    return _read_jobs(
        connection,
        f"{_IS_DUE} GROUP BY hash ORDER BY enqueued_at DESC, min(chunks.id)",
        (now, count),
    )


def _read_jobs(
    connection: sqlite3.Connection, which: str, values: tuple[float, ...]
) -> list[EmbeddingJob]:
    """Return the jobs that the end of a SELECT chooses; the last value is how many at most."""
    rows = connection.execute(
        "SELECT hash, title, heading_path, chunks.date, text FROM embedding_jobs "
        "JOIN chunks USING (hash) JOIN pages ON pages.id = page_id "
        f"WHERE {which} LIMIT ?",
        values,
    )
    return [EmbeddingJob(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) for row in rows]


def sample_embedded(
    connection: sqlite3.Connection, space: VectorSpace, count: int
) -> list[tuple[EmbeddingJob, bytes]]:
    """Return up to `count` embedded chunks, each as the job it was, with its vector as stored."""
    rows = connection.execute(
        "SELECT chunks.hash, title, heading_path, chunks.date, text, vector "
        f"FROM {space.vectors} AS v JOIN chunks ON chunks.hash = v.hash "
        "JOIN pages ON pages.id = page_id WHERE v.model_id = ? AND length(vector) = ? "
        # Hashes have no order: their first ones are a sample, and the same one every time.
        "GROUP BY v.hash ORDER BY v.hash LIMIT ?",
        (space.model_id, 2 * space.dimension, count),
    )
    return [
        (EmbeddingJob(row[0], row[1], tuple(json.loads(row[2])), *row[3:5]), row[5]) for row in rows
    ]


def hashes_without_vector(
    connection: sqlite3.Connection, space: VectorSpace, hashes: Iterable[bytes]
) -> list[bytes]:
    """Return those of the hashes for which there is no vector."""
    known = f"SELECT 1 FROM {space.vectors} WHERE model_id = {space.model_id} AND hash = ?"
    return [digest for digest in hashes if not connection.execute(known, (digest,)).fetchone()]


def queued_hashes(connection: sqlite3.Connection) -> list[bytes]:
    """Return the hashes of all texts that wait to be embedded."""
    return [row[0] for row in connection.execute("SELECT hash FROM embedding_jobs")]


def finish_jobs(connection: sqlite3.Connection, hashes: Sequence[bytes]) -> None:
    """Remove jobs that are done from the queue."""
    connection.executemany("DELETE FROM embedding_jobs WHERE hash = ?", [(h,) for h in hashes])


def release_jobs(connection: sqlite3.Connection, hashes: Sequence[bytes]) -> None:
    """Release claimed jobs that were not done."""
    connection.executemany(
        "UPDATE embedding_jobs SET claimed_by = NULL, due_at = 0 WHERE hash = ?",
        [(h,) for h in hashes],
    )


def fail_job(connection: sqlite3.Connection, digest: bytes, reason: str, now: float) -> None:
    """Record why a job failed; each failure doubles the wait, from a minute to a day."""
    connection.execute(
        "UPDATE embedding_jobs SET claimed_by = NULL, error = ?, attempts = attempts + 1, "
        "due_at = ? + min(60.0 * (1 << min(attempts, 20)), ?) WHERE hash = ?",
        (reason, now, _MAX_RETRY_WAIT_SECONDS, digest),
    )


def count_due(connection: sqlite3.Connection, now: float, page_id: int | None = None) -> int:
    """Return how many jobs are due now."""
    of_page = "" if page_id is None else "AND hash IN (SELECT hash FROM chunks WHERE page_id = ?)"
    values = () if page_id is None else (page_id,)
    found = connection.execute(
        f"SELECT count(*) FROM embedding_jobs WHERE {_IS_DUE} {of_page}", (now, *values)
    )
    count: int = found.fetchone()[0]
    return count


def count_jobs_of_page(connection: sqlite3.Connection, page_id: int) -> int:
    """Return how many chunks of a page are queued for embedding."""
    queued = "SELECT count(*) FROM chunks JOIN embedding_jobs USING (hash) WHERE page_id = ?"
    total: int = connection.execute(queued, (page_id,)).fetchone()[0]
    return total


def count_backlog(connection: sqlite3.Connection) -> Backlog:
    """Return how many chunks wait for a vector, claimed and failed ones included.

    All chunks are counted only if some wait, because that reads a whole index.
    """
    waiting = connection.execute("SELECT count(*) FROM embedding_jobs").fetchone()[0]
    if not waiting:
        return Backlog(0, 0)
    # Jobs of deleted pages do not count; among many jobs they hardly matter.
    if waiting <= _MAX_JOBS_JOINED:
        waiting = connection.execute(
            "SELECT count(*) FROM embedding_jobs CROSS JOIN chunks USING (hash)"
        ).fetchone()[0]
    chunks = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    return Backlog(min(waiting, chunks), chunks)


def count_failed(connection: sqlite3.Connection) -> int:
    """Return how many jobs failed last time and wait for a retry."""
    count: int = connection.execute(
        "SELECT count(*) FROM embedding_jobs WHERE error IS NOT NULL"
    ).fetchone()[0]
    return count


def list_queue(connection: sqlite3.Connection, limit: int) -> tuple[list[QueuedJob], int]:
    """Return the first `limit` jobs, failed ones first, and how many there are."""
    rows = connection.execute(
        "SELECT hash, (SELECT slug FROM chunks JOIN pages ON pages.id = page_id "
        "WHERE chunks.hash = embedding_jobs.hash LIMIT 1), attempts, due_at, claimed_by, error, "
        "enqueued_at FROM embedding_jobs ORDER BY attempts DESC, due_at, hash LIMIT ?",
        (limit,),
    )
    total = connection.execute("SELECT count(*) FROM embedding_jobs").fetchone()[0]
    return [QueuedJob(*row) for row in rows], total


def make_due(connection: sqlite3.Connection) -> int:
    """Make every unclaimed job due now; return how many."""
    return connection.execute(
        "UPDATE embedding_jobs SET due_at = 0 WHERE claimed_by IS NULL"
    ).rowcount


def clear(connection: sqlite3.Connection) -> int:
    """Remove all jobs; return how many."""
    return connection.execute("DELETE FROM embedding_jobs").rowcount
