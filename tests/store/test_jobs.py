"""The queue: claimed by one worker at a time, patient with failures, forgetful of the gone."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gbrain.brain import Brain
from gbrain.store import jobs

NOW = 1_000_000.0


@pytest.fixture
def connection(brain: Brain) -> Iterator[sqlite3.Connection]:
    """A brain of five pages that wait, inside one write."""
    for n in range(5):
        brain.put(f"page{n}", f"words {n}\n".encode())
    with brain.database.write_transaction() as opened:
        yield opened


def claim(connection: sqlite3.Connection, worker: str, count: int, now: float = NOW) -> set[bytes]:
    return {job.hash for job in jobs.claim_jobs(connection, worker, now, count, None)}


def test_no_job_is_claimed_twice(connection: sqlite3.Connection) -> None:
    first = claim(connection, "a", 3)
    second = claim(connection, "b", 3)
    assert (len(first), len(second)) == (3, 2)
    assert not first & second
    assert claim(connection, "c", 3) == set()
    assert jobs.count_due(connection, NOW) == 0


def test_a_claim_runs_out(connection: sqlite3.Connection) -> None:
    first = claim(connection, "a", 5)
    assert claim(connection, "b", 5, NOW + jobs.LEASE_SECONDS - 1) == set()
    assert claim(connection, "b", 5, NOW + jobs.LEASE_SECONDS) == first


def test_a_job_holds_what_is_embedded(connection: sqlite3.Connection) -> None:
    found = jobs.claim_jobs(connection, "a", NOW, 5, None)
    assert {(job.title, job.heading_path, job.date, job.text) for job in found} == {
        (f"Page{n}", (), None, f"words {n}") for n in range(5)
    }


def test_what_is_finished_is_gone_and_what_is_released_is_due(
    connection: sqlite3.Connection,
) -> None:
    done, *rest = sorted(claim(connection, "a", 5))
    jobs.finish_jobs(connection, [done])
    jobs.release_jobs(connection, rest)
    assert claim(connection, "b", 5) == set(rest)


def test_each_failure_doubles_the_wait_up_to_a_day(connection: sqlite3.Connection) -> None:
    (digest,) = claim(connection, "a", 1)
    waits = []
    for attempt in range(1, 30):
        jobs.fail_job(connection, digest, f"reason {attempt}", NOW)
        job = jobs.list_queue(connection, 1)[0][0]
        assert (job.hash, job.attempts, job.error) == (digest, attempt, f"reason {attempt}")
        assert job.claimed_by is None
        waits.append(job.due_at - NOW)
    assert waits[:4] == [60, 120, 240, 480]
    assert max(waits) == waits[-1] == 24 * 3600


def test_failures_stand_first_in_the_list(connection: sqlite3.Connection) -> None:
    digest = sorted(claim(connection, "a", 5))[3]
    jobs.fail_job(connection, digest, "a reason", NOW)
    listed, total = jobs.list_queue(connection, 2)
    assert (listed[0].hash, len(listed), total) == (digest, 2, 5)


def test_only_jobs_of_dead_workers_are_released(
    connection: sqlite3.Connection,
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = socket.gethostname()
    dead = claim(connection, f"{host}:{ended.pid}", 2)
    claim(connection, f"{host}:{os.getpid()}", 2)
    claim(connection, f"another-{host}:{ended.pid}", 1)
    jobs.release_dead_workers(connection)
    assert claim(connection, "b", 5) == dead


def test_a_worker_in_another_container_is_left_alone(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process id means nothing here, even if the host name is the same."""
    with monkeypatch.context() as container:
        container.setattr("os.readlink", lambda path: "pid:[4026532999]")
        container.setattr("os.getpid", lambda: 4_000_000)
        claim(connection, jobs.worker_name(), 5)
    jobs.release_dead_workers(connection)
    assert claim(connection, "b", 5) == set()


def test_a_claim_by_a_name_that_is_no_worker_is_freed(connection: sqlite3.Connection) -> None:
    claimed = claim(connection, f"{socket.gethostname()}:x", 5)
    jobs.release_dead_workers(connection)
    assert claim(connection, "b", 5) == claimed


def test_jobs_whose_text_is_gone_are_passed_by(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM chunks WHERE page_id <= 4")
    assert len(claim(connection, "a", 1)) == 1
    jobs.drop_orphaned_jobs(connection)
    assert jobs.list_queue(connection, 10)[1] == 1


def test_the_jobs_of_one_page(connection: sqlite3.Connection) -> None:
    assert jobs.count_due(connection, NOW, page_id=3) == 1
    (job,) = jobs.claim_jobs(connection, "a", NOW, 5, 3)
    assert job.text == "words 2"


def test_what_has_no_vector_is_queued_again_and_need_not_wait(brain: Brain) -> None:
    brain.put("page", b"words\n")
    space = brain.active_model().space
    with brain.database.write_transaction() as connection:
        (digest,) = claim(connection, "a", 1)
        jobs.fail_job(connection, digest, "a reason", NOW)
        assert jobs.count_due(connection, NOW) == 0
        jobs.enqueue_missing(connection, space, "now")
        assert jobs.count_due(connection, NOW) == 1
        jobs.finish_jobs(connection, [digest])
        jobs.enqueue_missing(connection, space, "now", page_id=1)
        assert jobs.count_due(connection, NOW) == 1
        claim(connection, "a", 1)
        jobs.enqueue_missing(connection, space, "now")
        assert jobs.count_due(connection, NOW) == 0


def test_a_clock_that_was_set_back_delays_no_job(connection: sqlite3.Connection) -> None:
    year = 365 * 24 * 3600.0
    (failed, *_) = claimed = claim(connection, "a", 5, NOW + year)
    jobs.fail_job(connection, failed, "no model", NOW + year)
    assert jobs.count_due(connection, NOW + year) == 0
    assert jobs.count_due(connection, NOW) == len(jobs.latest_jobs(connection, NOW, 9)) == 5
    assert len(jobs.pages_with_due_jobs(connection, NOW)) == 5
    assert claim(connection, "b", 5) == claimed
