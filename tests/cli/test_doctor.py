"""`stats` and `doctor` as a person and a script use them."""

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
from gbrain.output.doctor import months_until, show_finding, show_stats
from gbrain.store.doctor.examine import CHECKS, Finding
from gbrain.store.stats import Counted, read_stats

Run = Callable[..., Any]
PAGE = b"---\ntags: [red, blue]\n---\n# One\n\nSee [[two]] and [[nowhere]].\n\n## Timeline\n"


def plant(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        for statement in statements:
            raw.execute(statement)


# --- stats -----------------------------------------------------------------------------------


def test_stats_counts_what_the_brain_holds(run: Run, brain_path: Path) -> None:
    run("put", "people/one", stdin=PAGE + b"- 2026-04-03 - Began\n- 2026-05 - Went on\n")
    run("put", "journal/2026-04-09", stdin=b"# A day\n\nThe text of a day #red.\n")
    run("put", "people/one", stdin=PAGE + b"- 2026-04-03 - Began\n")
    run("put", "two", stdin=b"")
    run("alias", "add", "k8s", "kubernetes", "kube")
    document = run("stats", "--json").json
    assert list(document) == [
        "path", "file_bytes", "schema_version", "pages", "page_bytes", "chunks",
        "timeline_entries", "versions", "links", "dangling_links", "tags", "aliases", "vaults",
        "vectors", "jobs", "model", "wings", "rooms", "months", "newest",
    ]  # fmt: skip
    assert document["path"] == str(brain_path)
    assert document["file_bytes"] == brain_path.stat().st_size
    assert document["pages"] == 3
    assert document["page_bytes"] == len(PAGE) + 21 + len("# A day\n\nThe text of a day #red.\n")
    assert document["timeline_entries"] == 1
    assert document["versions"] == 1
    assert (document["links"], document["dangling_links"]) == (2, 1)
    assert (document["tags"], document["aliases"]) == (2, 1)
    assert document["vaults"] == []
    assert document["vectors"] == 0
    assert document["jobs"] >= document["chunks"] > 0
    assert {"wing": "people", "pages": 1} in document["wings"]
    assert document["months"] == [{"month": "2026-04", "pages": 2}]
    assert {page["slug"] for page in document["newest"]} == {
        "people/one", "journal/2026-04-09", "two",
    }  # fmt: skip


@pytest.mark.usefixtures("sample")
def test_stats_of_the_sample(run: Run) -> None:
    document = run("stats", "--json").json
    assert sum(wing["pages"] for wing in document["wings"]) == document["pages"]
    assert sum(room["pages"] for room in document["rooms"]) == document["pages"]
    counts = [wing["pages"] for wing in document["wings"]]
    assert counts == sorted(counts, reverse=True)
    (vault,) = document["vaults"]
    assert vault["pages"] == document["pages"]
    assert len(document["newest"]) == 5


@pytest.mark.usefixtures("sample")
def test_stats_in_a_pipe_is_a_name_and_a_value_a_line(run: Run) -> None:
    document = run("stats", "--json").json
    rows = dict(line.split("\t") for line in run("stats").stdout.splitlines())
    assert rows["pages"] == str(document["pages"])
    assert rows["dangling_links"] == str(document["dangling_links"])
    for wing in document["wings"]:
        assert rows[f"wings.{wing['wing']}"] == str(wing["pages"])


def test_stats_of_an_empty_brain(run: Run, brain_path: Path) -> None:
    Brain.open(brain_path, make=True).close()
    document = run("stats", "--json").json
    assert (document["pages"], document["page_bytes"], document["wings"]) == (0, 0, [])
    assert document["model"] is None


def test_stats_names_the_active_model(run: Run, sample: Path) -> None:
    plant(
        sample,
        "UPDATE embedding_models SET active = 0",
        "INSERT INTO embedding_models (name, identity, sha256, pooling, query_prefix, "
        "passage_prefix, dimension, max_tokens, description, active, added_at) "
        "VALUES ('tiny', 'tiny', '', 'mean', '', '', 384, 128, '{}', 1, '')",
    )
    assert run("stats", "--json").json["model"] == {"name": "tiny", "dimension": 384}
    rows = dict(line.split("\t") for line in run("stats").stdout.splitlines())
    assert (rows["model.name"], rows["model.dimension"]) == ("tiny", "384")


def test_stats_on_a_terminal_draws_bars_and_months(
    brain: Brain, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        brain.put(f"people/p{number}", f"---\ndate: 2026-0{number + 1}-01\n---\n# P\n".encode())
    brain.put("companies/c", b"---\ndate: 2026-04-02\n---\n# C \x1b[31m\n")
    with brain.database.read_transaction() as connection:
        stats = read_stats(connection)
    for columns in ("40", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        show_stats(Path("brain.db"), stats, "2026-11")
        shown = capsys.readouterr().out
        lines = [line.rstrip() for line in shown.splitlines()]
        assert "\x1b" not in shown
        assert max(map(len, lines)) <= int(columns)
        assert "people     4  ████████████████" in shown
        assert "companies  1  ████" in shown
        assert "2026-01 ▅▅▅█ 2026-04" in lines


def test_months_without_pages_are_there_and_those_ahead_are_not() -> None:
    months = [Counted("2025-11", 1), Counted("2026-02", 4), Counted("2031-01", 9)]
    assert months_until(months, "2026-03") == [
        Counted("2025-11", 1),
        Counted("2025-12", 0),
        Counted("2026-01", 0),
        Counted("2026-02", 4),
    ]
    assert months_until(months[2:], "2026-03") == [Counted("2031-01", 9)]
    assert len(months_until([Counted("0001-01", 1), *months], "2026-03")) == 36
    assert months_until([], "2026-03") == []


# --- doctor ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("sample")
def test_the_sample_is_well(run: Run) -> None:
    for words in (("doctor",), ("doctor", "--full"), ("doctor", "--repair")):
        done = run(*words)
        assert done.exit_code == 0, done.stdout
        assert done.stderr == "The brain is well.\n"
        assert {line.split("\t")[0] for line in done.stdout.splitlines()} <= {"ok", "note", ""}


@pytest.mark.usefixtures("sample")
def test_doctor_as_json_has_every_check(run: Run) -> None:
    document = run("doctor", "--json").json
    assert [check["name"] for check in document["checks"]] == [check.name for check in CHECKS]
    assert document["ok"] is True
    assert document["checks"][2] == {
        "name": "integrity",
        "status": "ok",
        "message": "SQLite finds the file sound",
        "fix": None,
        "count": 0,
        "details": [],
    }


def test_a_problem_is_an_exit_code_until_it_is_repaired(run: Run, sample: Path) -> None:
    plant(sample, "DELETE FROM chunks WHERE section > 0", "INSERT INTO tags VALUES ('x', 999)")
    found = run("doctor")
    assert found.exit_code == 1
    assert "problem\tstray_rows\ta row belongs to nothing\tgbrain doctor --repair" in found.stdout
    document = run("doctor", "--json")
    assert (document.exit_code, document.json["ok"]) == (1, False)
    mended = run("doctor", "--repair")
    assert mended.exit_code == 0
    assert "repaired\tstray_rows\ta row belongs to nothing\t\n" in mended.stdout
    assert mended.stderr.endswith(" repaired. The brain is well.\n")
    assert run("doctor", "--full").exit_code == 0


@pytest.mark.usefixtures("brain_path")
def test_links_that_lead_nowhere_are_notes_and_all_named_with_v(run: Run) -> None:
    page = "\n".join(f"- [[missing {number}]]" for number in range(9))
    run("put", "page", stdin=page.encode())
    plain = run("doctor")
    assert plain.exit_code == 0
    assert "note\tlinks\t9 links lead nowhere\tWrite those pages, or correct the links.\n" in (
        plain.stdout
    )
    assert plain.stdout.count("names missing") == 5
    assert run("doctor", "-v").stdout.count("names missing") == 9

    def links(*words: str) -> Any:
        checks = run("doctor", "--json", *words).json["checks"]
        return next(check for check in checks if check["name"] == "links")

    assert (links()["count"], len(links()["details"])) == (9, 5)
    assert links("--verbose")["details"][8] == "page:9 names missing 8"


@pytest.mark.skipif(os.name == "nt", reason="modes are of Unix")
def test_repair_closes_a_file_that_others_may_read(run: Run, sample: Path) -> None:
    sample.chmod(0o644)
    found = run("doctor")
    assert found.exit_code == 1
    assert "problem\tfile_mode\tothers than you may open the brain\t" in found.stdout
    assert run("doctor", "--repair", "--quiet").stderr == ""
    assert sample.stat().st_mode & 0o777 == 0o600


def test_a_stored_value_that_cannot_be_is_repaired(run: Run, sample: Path) -> None:
    plant(sample, "INSERT INTO config VALUES ('rrf_k', 'many')")
    assert run("doctor").exit_code == 1
    assert run("doctor", "--repair").exit_code == 0
    assert run("search", "river").exit_code == 0


def test_a_file_that_cannot_be_opened_is_a_finding(run: Run, sample: Path) -> None:
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


def test_half_a_file_is_a_finding(run: Run, sample: Path) -> None:
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
def test_without_a_brain_there_is_nothing_to_check(run: Run) -> None:
    refused = run("doctor", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "no_brain")


def test_what_is_no_brain_is_left_alone(run: Run, brain_path: Path) -> None:
    brain_path.write_bytes(b"something else")
    refused = run("doctor", "--repair", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "not_a_brain")
    assert brain_path.read_bytes() == b"something else"


def test_a_finding_that_names_control_characters_shows_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_finding("links", Finding("note", "\x1b[2J", None, 1, ("a\tb\x07",)), verbose=False)
    assert capsys.readouterr().out == "note\tlinks\t\ufffd[2J\t\n\tlinks\ta b\ufffd\n"


def test_a_repaired_brain_that_answers_worse_says_so(run: Run, sample: Path) -> None:
    assert run("selftest", "--questions", "12").exit_code == 0
    for setting in ("truth_weight", "chunk_weight", "timeline_weight"):
        run("config", "set", setting, "0")
    plant(sample, "INSERT INTO tags VALUES ('x', 999)")
    said = run("doctor", "--repair").stderr
    assert said.startswith("Answers are worse than before the repair: gbrain selftest shows which.")


# --- damage that a command runs into ---------------------------------------------------------


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
def test_a_row_that_nobody_expects_is_called_damage_and_repaired(
    words: str, statement: str, run: Run, sample: Path
) -> None:
    plant(sample, statement)
    ran = run(*words.split(), "--json")
    assert ran.exit_code in (0, 1)
    if ran.exit_code:
        assert ran.error["code"] == "damaged"
        assert ran.error["hint"].startswith("gbrain doctor --repair mends what it can")
    assert run("doctor", "--full", "--repair").exit_code == 0
    assert run(*words.split(), "--json").exit_code == 0
    assert run("doctor", "--full").exit_code == 0


@pytest.mark.usefixtures("sample")
def test_a_bug_is_not_blamed_on_a_sound_brain(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "write", lambda text: text + 1)
    with pytest.raises(TypeError):
        run("search", "alice")


def test_a_text_that_is_not_utf_8_is_not_shown_in_the_error(run: Run, sample: Path) -> None:
    plant(sample, "UPDATE pages SET title = CAST('secret' || x'ff' AS TEXT)")
    ran = run("list")
    assert ran.exit_code == 1
    assert "not UTF-8" in ran.stderr
    assert "secret" not in ran.stderr


def test_a_trigger_is_named_refused_and_taken_out(run: Run, sample: Path) -> None:
    plant(sample, "CREATE TRIGGER t AFTER UPDATE ON pages BEGIN DELETE FROM versions; END")
    refused = run("put", "people/wen-okoye", "--json", stdin=b"# Wen\n")
    assert (refused.exit_code, refused.error["code"]) == (1, "foreign_parts")
    assert "trigger t" in run("doctor").stdout
    assert run("doctor", "--repair").exit_code == 0
    assert run("put", "people/wen-okoye", stdin=b"# Wen\n").exit_code == 0
