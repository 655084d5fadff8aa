"""`gaps` and `verify` from the command line."""

from __future__ import annotations

import json

import pytest

from gbrain.brain import Brain
from gbrain.store import usage_log
from gbrain.text.citations import Citation, lines_hash

KEYS = {"kind", "name", "asked", "opens", "backlinks", "day", "why", "command"}


@pytest.fixture
def lacking(run, brain_path):
    """A brain with a question, an unwritten page and an empty one."""
    run("put", "a", stdin=b"# A\n\nKnows [[people/dora-quill]] and [[b]].\n")
    run("put", "b", stdin=b"# B\n")
    with Brain.open(brain_path) as brain, brain.database.write_transaction() as connection:
        usage_log.log_query(
            connection, "who is Dora?", "2026-11-16T11:00:00.000Z", "hybrid", "nothing", (), 10
        )


def test_gaps_as_json(run, lacking):
    document = run("gaps", "--json").json
    assert [(gap["kind"], gap["name"]) for gap in document["gaps"]] == [
        ("asked", "who is Dora?"),
        ("unwritten", "people/dora-quill"),
        ("empty", "b"),
    ]
    assert all(set(gap) == KEYS for gap in document["gaps"])
    assert document["totals"] == {"asked": 1, "unwritten": 1, "empty": 1, "stale": 0}
    assert document["recording"] is False


def test_gaps_in_a_pipe(run, lacking):
    ran = run("gaps", "--kind", "unwritten")
    assert ran.stdout == (
        "unwritten\tpeople/dora-quill\t0\t0\t1\t\tlinked from a\tgbrain edit people/dora-quill\n"
    )
    assert ran.stderr == ""


def test_how_to_record_questions_is_said_while_they_are_not(run, lacking):
    assert "gbrain config set record_queries on" in run("gaps").stderr
    assert run("gaps", "--quiet").stderr == ""
    run("config", "set", "record_queries", "on")
    assert run("gaps").stderr == ""


def test_a_limit_holds_for_each_kind(run, brain_path):
    run("put", "a", stdin=b"[[x]] [[y]] [[z]]\n")
    document = run("gaps", "--limit", "2", "--json").json
    assert [gap["name"] for gap in document["gaps"]] == ["x", "y"]
    assert document["totals"]["unwritten"] == 3


def test_no_gaps(run, brain_path):
    run("put", "a", stdin=b"Words.\n")
    ran = run("gaps")
    assert ran.exit_code == 0
    assert ran.stdout == ""
    assert ran.stderr.startswith("No gaps found.\n")


PAGE = b"# Plan\n\nShip in May, with the notebook first.\n\nCall Dora about the harbour.\n"
SHIP = Citation("plan", (3, 3), lines_hash(["Ship in May, with the notebook first."]))
CALL = Citation("plan", (5, 5), lines_hash(["Call Dora about the harbour."]))


@pytest.fixture
def plan(run, brain_path):
    run("put", "plan", stdin=PAGE)


def test_all_unchanged(run, plan):
    ran = run("verify", stdin=f"We ship in May {SHIP} and call {CALL}.".encode())
    assert ran.exit_code == 0
    assert ran.stdout == f"unchanged\t{SHIP}\t\nunchanged\t{CALL}\t\n"
    assert ran.stderr == "2 unchanged.\n"


def test_moved_and_changed(run, plan):
    changed = PAGE.replace(b"# Plan\n", b"# Plan\n\nNew.\n").replace(b"harbour", b"boat")
    run("put", "plan", stdin=changed)
    ran = run("verify", "--json", stdin=f"{SHIP} {CALL}".encode())
    assert ran.exit_code == 1
    first, second = ran.json["citations"]
    assert (first["status"], first["now"]) == ("moved", {"slug": "plan", "lines": [5, 5]})
    assert (second["status"], second["now"], second["last_version"]) == ("changed", None, 1)
    assert second["until"] == "2026-11-16T12:00:00.000Z"
    assert ran.json["ok"] is False
    assert run("verify", stdin=str(SHIP).encode()).exit_code == 0


def test_an_invented_citation_is_unknown(run, plan):
    ran = run("verify", "--quiet", stdin=b"[plan#L3 000000000000]")
    assert ran.exit_code == 1
    assert ran.stdout == (
        "unknown\t[plan#L3 000000000000]\tno version of this page has this text\n"
    )
    assert ran.stderr == ""


def test_input_without_citations(run, plan):
    ran = run("verify", "--json", stdin=b"\xff no citation \x00")
    assert ran.exit_code == 1
    assert ran.error["code"] == "no_citations"


@pytest.mark.parametrize("keys", [("slug", "lines", "hash", "text"), ("slug", "lines", "hash")])
def test_a_context_verifies(run, sample, keys):
    document = run("query", "river ai cto", "--depth", "auto", "--json").json
    pieces = [{key: piece[key] for key in keys} for piece in document["context"]]
    assert pieces
    as_document = run("verify", "--json", stdin=json.dumps({"context": pieces}).encode())
    as_lines = run("verify", "--json", stdin="\n".join(map(json.dumps, pieces)).encode())
    assert as_document.json == as_lines.json
    assert {one["status"] for one in as_document.json["citations"]} == {"unchanged"}


@pytest.mark.parametrize("budget", ["20", "100", "4000"])
def test_an_answer_that_cites_its_context_verifies(run, sample, budget):
    context = run("query", "river ai cto", "--depth", "auto", "--budget", budget).stdout
    ran = run("verify", "--json", stdin=context.encode())
    assert ran.exit_code == 0, ran.stdout
    assert {one["status"] for one in ran.json["citations"]} == {"unchanged"}
