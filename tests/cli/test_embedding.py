"""`embed` and `jobs`, and what `import` embeds."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.store import jobs

SAMPLE = Path(__file__).parent.parent.parent / "gbrain" / "sample"


@pytest.fixture
def notes(run, brain_path):
    """Three pages of one chunk each that wait to be embedded."""
    for n in range(3):
        run("put", f"note{n}", stdin=f"The heron number {n} stands in the marsh.\n".encode())
    run("model", "list")
    return brain_path


def vectors(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT count(hash) FROM page_embeddings_vec_384").fetchone()[0]
    finally:
        connection.close()


def waiting(run) -> int:
    return run("jobs", "list", "--json").json["total"]


def fail_one(path: Path, reason: str = "out of memory") -> None:
    with Brain.open(path) as brain, brain.database.write_transaction() as connection:
        (job,) = jobs.claim_jobs(connection, "somebody:1", time.time(), 1, None)
        jobs.fail_job(connection, job.hash, reason, time.time())


def test_what_is_due_and_nothing_else(run, notes):
    assert waiting(run) == 3
    first = run("embed", "--stale", "--json")
    assert set(first.json) == {"embedded", "pruned", "left", "failed", "seconds"}
    assert (first.json["embedded"], first.json["left"], first.stderr) == (3, 0, "")
    assert waiting(run) == 0
    assert run("embed", "--stale", "--json").json["embedded"] == 0
    run("put", "note1", stdin=b"The egret stands in the marsh.\n")
    assert waiting(run) == 1
    again = run("embed", "--json").json
    assert (again["embedded"], again["pruned"], vectors(notes)) == (1, 1, 3)


def test_one_line_at_the_end_and_none_when_quiet(run, notes):
    said = run("embed", "--limit", "1")
    assert (said.exit_code, said.stdout) == (0, "")
    assert said.stderr.startswith("1 chunk embedded (")
    assert said.stderr.endswith(" 2 left.\n")
    quiet = run("embed", "--stale", "--quiet")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")
    assert vectors(notes) == 3


def test_no_time_is_no_work(run, notes):
    result = run("embed", "--max-seconds", "0", "--json").json
    assert (result["embedded"], result["left"]) == (0, 3)


def test_one_page(run, notes):
    assert run("embed", "note1", "--json").json["embedded"] == 1
    assert waiting(run) == 2
    assert run("embed", "note9", "--json").exit_code == 1


def test_all_is_also_what_was_cleared_or_failed(run, notes):
    fail_one(notes)
    assert run("embed", "--json").json["embedded"] == 2
    run("jobs", "clear")
    assert run("embed", "--stale", "--json").json["embedded"] == 0
    assert run("embed", "--all", "--json").json["embedded"] == 1


@pytest.mark.parametrize(
    "words", [("--all", "--stale"), ("--all", "note1"), ("--limit", "0"), ("--max-seconds", "-1")]
)
def test_words_that_make_no_sense_together(run, notes, words):
    assert run("embed", *words).exit_code == 2


def test_failures_are_shown_with_their_reason_and_wait(run, notes):
    fail_one(notes, "the reason\x1b[31m")
    document = run("jobs", "list", "--json").json
    failed, *others = document["jobs"]
    assert set(failed) == {
        "hash", "slug", "attempts", "due_at", "claimed_by", "error", "enqueued_at"
    }  # fmt: skip
    assert (failed["attempts"], failed["error"]) == (1, "the reason\x1b[31m")
    assert failed["due_at"].endswith("+00:00")
    assert [(job["attempts"], job["due_at"], job["error"]) for job in others] == [
        (0, None, None),
        (0, None, None),
    ]
    table = run("jobs", "list", "--limit", "1")
    assert "the reason" in table.stdout
    assert "\x1b" not in table.stdout
    assert table.stderr == "1 of 3 jobs.\n"
    assert run("embed", "--stale", "--json").json == {
        "embedded": 2, "pruned": 0, "left": 0, "failed": 1, "seconds": pytest.approx(0, abs=60),
    }  # fmt: skip
    again = run("embed", "--stale", "--quiet")
    assert again.exit_code == 1
    assert again.stderr == "1 chunk could not be embedded; gbrain jobs list shows why.\n"


def test_a_failed_job_can_be_let_run_at_once(run, notes):
    fail_one(notes)
    run("embed", "--quiet")
    assert run("jobs", "retry", "--json").json == {"due": 1}
    assert run("embed", "--json").json["embedded"] == 1
    assert waiting(run) == 0


def test_the_queue_can_be_emptied(run, notes):
    cleared = run("jobs", "clear")
    assert (cleared.stdout, cleared.stderr) == ("", "3 jobs removed.\n")
    assert run("jobs", "clear", "--json").json == {"removed": 0}


def test_import_embeds_unless_told_not_to(run, brain_path, tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    shutil.copy(SAMPLE / "packing-list.md", folder)
    run("import", folder, "--no-embed", "--quiet")
    assert waiting(run) > 0
    shutil.copy(SAMPLE / "ideas" / "quiet-questions.md", folder)
    run("import", folder, "--quiet")
    assert waiting(run) == 0
    before = vectors(brain_path)
    (folder / "packing-list.md").rename(folder / "renamed.md")
    (folder / "quiet-questions.md").unlink()
    run("sync", "--quiet")
    assert 0 < vectors(brain_path) <= before
