"""The command `doctor`, and damage that other commands report."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.output import screen
from gbrain.output.doctor import show_finding
from gbrain.store.chunk_slots import rebuild_chunk_slots
from gbrain.store.doctor.examine import CHECKS
from gbrain.store.doctor.findings import Finding

Run = Callable[..., Any]
PAGE = b"---\ntags: [red, blue]\n---\n# One\n\nSee [[two]] and [[nowhere]].\n\n## Timeline\n"


@pytest.mark.usefixtures("sample")
def test_the_sample_has_no_problems(run: Run) -> None:
    for words in (("doctor",), ("doctor", "--full"), ("doctor", "--repair")):
        done = run(*words)
        assert done.exit_code == 0, done.stdout
        checks = sum(not line.startswith("\t") for line in done.stdout.splitlines())
        assert done.stderr == f"{checks} checks, no problems found.\n"
        assert {line.split("\t")[0] for line in done.stdout.splitlines()} <= {"ok", "note", ""}


def test_quiet_prints_problems_and_nothing_else(run: Run, run_sql: Run, sample: Path) -> None:
    run("put", "page", "--quiet", stdin=b"See [[nowhere at all]].\n")
    assert "note\tlinks\t" in run("doctor").stdout
    sound = run("doctor", "--quiet")
    assert (sound.exit_code, sound.stdout, sound.stderr) == (0, "", "")
    run_sql(sample, "INSERT INTO tags VALUES ('x', 999)")
    found = run("doctor", "--quiet")
    assert (found.exit_code, found.stderr) == (1, "")
    first, *details = found.stdout.splitlines()
    assert first.startswith("problem\tstray_rows\t")
    assert details
    assert all(line.startswith("\tstray_rows\t") for line in details)


def test_damage_is_reported_once_with_two_ways_out(run: Run, sample: Path) -> None:
    with closing(sqlite3.connect(sample)) as raw:
        size = raw.execute("PRAGMA page_size").fetchone()[0]
        query = "SELECT rootpage FROM sqlite_schema WHERE name IN ('versions', 'chunks')"
        roots = [row[0] for row in raw.execute(query)]
    assert len(roots) == 2
    data = bytearray(sample.read_bytes())
    for root in roots:
        data[(root - 1) * size : root * size] = b"\xa7" * size
    sample.write_bytes(data)
    checks = run("doctor", "--json").json["checks"]
    unread = [check for check in checks if check["message"].startswith("cannot be checked: SQL")]
    assert len(unread) > 1
    found = run("doctor", "--quiet")
    assert (found.exit_code, found.stderr) == (1, "")
    assert "cannot be checked: SQL" not in found.stdout
    (line,) = [line for line in found.stdout.splitlines() if "\tfile\t" in line]
    assert f"is damaged: {len(unread)} checks could not read it (SQLITE_CORRUPT" in line
    assert "gbrain restore BACKUP" in line
    assert "gbrain import FOLDER --db NEW.db" in line


@pytest.mark.usefixtures("sample")
def test_a_terminal_lists_sound_checks_only_when_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "on_terminal", lambda: True)
    assert "✓" not in run("doctor").stdout
    assert run("doctor", "--verbose").stdout.count("✓") > 20


@pytest.mark.usefixtures("sample")
def test_doctor_as_json_has_every_check(run: Run) -> None:
    document = run("doctor", "--json").json
    assert [check["name"] for check in document["checks"]] == [check.name for check in CHECKS]
    assert document["ok"] is True
    assert document["checks"][2] == {
        "name": "integrity",
        "status": "ok",
        "message": "SQLite finds no damage",
        "fix": None,
        "count": 0,
        "details": [],
    }


def test_a_problem_is_an_exit_code_until_it_is_repaired(
    run: Run, run_sql: Run, sample: Path
) -> None:
    run_sql(sample, "DELETE FROM chunks WHERE section > 0", "INSERT INTO tags VALUES ('x', 999)")
    found = run("doctor")
    assert found.exit_code == 1
    assert (
        "problem\tstray_rows\trows that belong to nothing: 1\tgbrain doctor --repair"
        in found.stdout
    )
    document = run("doctor", "--json")
    assert (document.exit_code, document.json["ok"]) == (1, False)
    repaired = run("doctor", "--repair")
    assert repaired.exit_code == 0
    assert "repaired\tstray_rows\trows that belong to nothing: 1\t\n" in repaired.stdout
    assert repaired.stderr.endswith(" repaired, no problems found.\n")
    assert run("doctor", "--full").exit_code == 0


@pytest.mark.usefixtures("brain_path")
def test_verbose_lists_all_links_to_no_page(run: Run) -> None:
    page = "\n".join(f"- [[missing {number}]]" for number in range(9))
    run("put", "page", stdin=page.encode())
    plain = run("doctor")
    assert plain.exit_code == 0
    assert (
        "note\tlinks\tlinks that lead to no page: 9\tWrite those pages, or correct the links.\n"
        in (plain.stdout)
    )
    assert plain.stdout.count("links to missing") == 5
    assert run("doctor", "-v").stdout.count("links to missing") == 9

    def links(*words: str) -> Any:
        checks = run("doctor", "--json", *words).json["checks"]
        return next(check for check in checks if check["name"] == "links")

    assert (links()["count"], len(links()["details"])) == (9, 5)
    assert links("--verbose")["details"][8] == "page:9 links to missing 8"


@pytest.mark.skipif(os.name == "nt", reason="modes are of Unix")
def test_repair_restricts_a_file_that_others_can_read(run: Run, sample: Path) -> None:
    sample.chmod(0o644)
    found = run("doctor")
    assert found.exit_code == 1
    assert (
        "problem\tfile_mode\tfiles that other users can open: 3\tgbrain doctor --repair\n"
        in found.stdout
    )
    assert run("doctor", "--repair", "--quiet").stderr == ""
    assert sample.stat().st_mode & 0o777 == 0o600


def test_an_invalid_setting_is_repaired(run: Run, run_sql: Run, sample: Path) -> None:
    run_sql(sample, "INSERT INTO config VALUES ('rrf_k', 'many')")
    assert run("doctor").exit_code == 1
    assert run("doctor", "--repair").exit_code == 0
    assert run("search", "river").exit_code == 0


def test_a_file_that_cannot_be_opened_is_reported(run: Run, sample: Path) -> None:
    data = bytearray(sample.read_bytes())
    data[100:4096] = bytes(3996)
    sample.write_bytes(data)
    for words in (("doctor",), ("doctor", "--repair")):
        found = run(*words)
        assert found.exit_code == 1
        assert found.stdout.startswith("problem\t")
        assert "database disk image is malformed" in found.stdout
    document = run("doctor", "--json").json
    assert document["ok"] is False
    assert {check["status"] for check in document["checks"]} >= {"problem"}


def test_half_a_file_is_reported(run: Run, sample: Path) -> None:
    data = sample.read_bytes()
    sample.write_bytes(data[: len(data) // 2])
    found = run("doctor", "--json")
    assert found.exit_code == 1
    assert found.json["ok"] is False


def test_a_read_only_brain_is_checked_but_not_repaired(run: Run, sample: Path) -> None:
    sample.chmod(0o400)
    assert run("doctor").exit_code == 0
    refused = run("doctor", "--repair", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "read_only")


@pytest.mark.usefixtures("brain_path")
def test_doctor_without_a_brain_is_an_error(run: Run) -> None:
    refused = run("doctor", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "no_brain")


def test_repair_leaves_other_files_alone(run: Run, brain_path: Path) -> None:
    brain_path.write_bytes(b"something else")
    refused = run("doctor", "--repair", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "not_a_brain")
    assert brain_path.read_bytes() == b"something else"


def test_control_characters_of_a_finding_are_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_finding("links", Finding("note", "\x1b[2J", None, 1, ("a\tb\x07",)), verbose=False)
    assert capsys.readouterr().out == "note\tlinks\t\ufffd[2J\t\n\tlinks\ta b\ufffd\n"


def test_repair_warns_about_worse_results(run: Run, run_sql: Run, sample: Path) -> None:
    assert run("selftest", "--questions", "4").exit_code == 0
    for setting in ("truth_weight", "chunk_weight", "timeline_weight"):
        run("config", "set", setting, "0")
    run_sql(sample, "INSERT INTO tags VALUES ('x', 999)")
    said = run("doctor", "--repair").stderr
    assert said.startswith(
        "Results are worse than before the repair; run gbrain selftest for details."
    )


# --- damage that another command finds ---------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pages SET title = 7, tags = 8",
        "UPDATE chunks SET heading_path = 'no JSON', text = x'00'",
        "UPDATE chunks SET text = CAST(x'ff' AS TEXT)",
        "UPDATE pages SET meta = '[[['",
    ],
)
@pytest.mark.parametrize(
    "words", ["search alice", "query alice --mode bm25", "get people/wen-okoye"]
)
def test_a_wrong_row_is_reported_as_damage_and_repaired(
    words: str, statement: str, run: Run, run_sql: Run, sample: Path
) -> None:
    run_sql(sample, statement)
    ran = run(*words.split(), "--json")
    assert ran.exit_code in (0, 1)
    if ran.exit_code:
        assert ran.error["code"] == "damaged"
        assert ran.error["hint"].startswith("gbrain doctor --repair repairs what it can")
    assert run("doctor", "--full", "--repair").exit_code == 0
    assert run(*words.split(), "--json").exit_code == 0
    assert run("doctor", "--full").exit_code == 0


@pytest.mark.usefixtures("sample")
def test_a_bug_is_not_reported_as_damage(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "write", lambda text: text + 1)
    with pytest.raises(TypeError):
        run("search", "alice")


def test_an_error_does_not_show_text_that_is_not_utf_8(
    run: Run, run_sql: Run, sample: Path
) -> None:
    run_sql(sample, "UPDATE pages SET title = CAST('secret' || x'ff' AS TEXT)")
    ran = run("list")
    assert ran.exit_code == 1
    assert "not UTF-8" in ran.stderr
    assert "secret" not in ran.stderr


def test_vectors_of_another_model_are_found_and_made_again(
    run: Run, run_sql: Run, embedded: Path
) -> None:
    assert "ok\tvector_model\t" in run("doctor", "--full").stdout
    table = "page_embeddings_vec_384"
    # Each vector gets the hash of another chunk, its code stays that of the vector.
    run_sql(
        embedded,
        f"CREATE TEMP TABLE moved AS SELECT slot, lead(hash, 1, (SELECT hash FROM {table} "
        f"ORDER BY slot LIMIT 1)) OVER (ORDER BY slot) AS hash FROM {table}",
        f"UPDATE {table} SET hash = slot",
        f"UPDATE {table} SET hash = (SELECT hash FROM moved WHERE moved.slot = {table}.slot)",
    )
    with Brain.open(embedded) as brain, brain.database.write_transaction() as connection:
        rebuild_chunk_slots(connection, brain.active_model().space)
    found = run("doctor", "--full", "--json")
    assert found.exit_code == 1
    (wrong,) = [check for check in found.json["checks"] if check["status"] == "problem"]
    assert (wrong["name"], wrong["count"]) == ("vector_model", 64)
    repaired = run("doctor", "--full", "--repair", "--json")
    assert repaired.exit_code == 0
    assert repaired.json["checks"][-1]["status"] == "repaired"
    assert run("jobs", "list", "--json").json["total"] > 64


def test_a_foreign_trigger_is_refused_and_removed(run: Run, run_sql: Run, sample: Path) -> None:
    run_sql(sample, "CREATE TRIGGER t AFTER UPDATE ON pages BEGIN DELETE FROM versions; END")
    refused = run("put", "people/wen-okoye", "--json", stdin=b"# Wen\n")
    assert (refused.exit_code, refused.error["code"]) == (1, "foreign_parts")
    assert "trigger t" in run("doctor").stdout
    assert run("doctor", "--repair").exit_code == 0
    assert run("put", "people/wen-okoye", stdin=b"# Wen\n").exit_code == 0
