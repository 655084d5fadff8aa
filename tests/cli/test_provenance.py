"""`supersede` and `why` from the command line."""

from __future__ import annotations

import pytest


@pytest.fixture
def plans(run, brain_path):
    run("put", "plan-1", stdin=b"# Plan 1\r\n\r\nGo by train.\r\n")
    run("put", "plan-2", stdin=b"---\ntitle: Plan 2\nderived_from: plan-1\n---\nGo by ship.\n")
    return brain_path


def test_supersede_and_undo_byte_for_byte(run, plans):
    before = run("get", "plan-1").stdout_bytes
    marked = run("supersede", "Plan-1.md", "plan-2")
    assert (marked.stdout, marked.stderr) == (
        "", "plan-1: superseded by plan-2, version 2 (updated)\n",
    )  # fmt: skip
    assert run("get", "plan-1").stdout_bytes == (
        b"---\r\nsuperseded_by: plan-2\r\n---\r\n" + before
    )
    assert run("supersede", "plan-1", "plan-2", "--json").json == {
        "slug": "plan-1", "version": 2, "outcome": "unchanged", "superseded_by": "plan-2",
        "file": None,
    }  # fmt: skip
    undone = run("supersede", "--undo", "plan-1")
    assert undone.stderr == "plan-1: no longer superseded, version 3 (updated)\n"
    assert run("get", "plan-1").stdout_bytes == before
    assert run("supersede", "--undo", "plan-1", "--json").json == {
        "slug": "plan-1", "version": 3, "outcome": "unchanged", "superseded_by": None,
        "file": None,
    }  # fmt: skip


def test_it_survives_export_and_import(run, plans, tmp_path):
    run("supersede", "plan-1", "plan-2", "--quiet")
    run("export", tmp_path / "out", "--quiet")
    listed = run("supersede", "--list", "--json").json
    run("import", tmp_path / "out", "--db", tmp_path / "again.db", "--quiet")
    assert run("supersede", "--list", "--json", "--db", tmp_path / "again.db").json == listed
    assert listed == {
        "superseded": [
            {
                "slug": "plan-1", "title": "Plan 1", "superseded_by": "plan-2",
                "replacement": "plan-2", "pinned": False,
            }
        ],
        "total": 1,
    }  # fmt: skip


def test_the_list_in_a_pipe(run, plans):
    assert run("supersede", "--list", "--exit-code").exit_code == 3
    run("supersede", "plan-1", "plan-2")
    assert run("supersede", "--list").stdout == "plan-1\tplan-2\tplan-2\t\n"


@pytest.mark.parametrize(
    "words",
    [(), ("plan-1",), ("--undo",), ("--undo", "plan-1", "plan-2"), ("--list", "plan-1"),
     ("--list", "--undo")],
)  # fmt: skip
def test_words_that_make_no_sense_together(run, plans, words):
    answer = run("supersede", *words, "--json")
    assert (answer.exit_code, answer.error["code"]) == (2, "usage")


def test_errors(run, plans):
    missing = run("supersede", "plan-1", "plan-3", "--json").error
    assert missing == {
        "code": "not_found", "message": "There is no page plan-3",
        "hint": "Did you mean plan-2 or plan-1?",
    }  # fmt: skip
    run("supersede", "plan-1", "plan-2")
    circle = run("supersede", "plan-2", "plan-1", "--json")
    assert (circle.exit_code, circle.error["code"]) == (1, "supersede_circle")
    assert (
        circle.error["message"]
        == "The pages would supersede each other in a circle: plan-2 → plan-1 → plan-2"
    )


def test_why_in_a_pipe(run, plans):
    run("put", "talk", stdin=b"\nWe chose [[plan-2]].")
    run("put", "diary", stdin=b"After the [[talk]].")
    assert run("why", "plan-2").stdout == (
        "plan-2  Plan 2\n"
        "  derived_from  plan-1  Plan 1\n"
        "  link  talk  Talk  line 2\n"
        "    link  diary  Diary  line 1\n"
    )
    assert run("why", "plan-2", "--depth", "1", "--limit", "1").stdout == (
        "plan-2  Plan 2\n  derived_from  plan-1  Plan 1\n  and 1 more\n"
    )


def test_why_as_a_document(run, plans):
    assert run("why", "plan-2", "--json").json == {
        "slug": "plan-2",
        "title": "Plan 2",
        "causes": [
            {
                "kind": "derived_from", "slug": "plan-1", "name": "plan-1", "title": "Plan 1",
                "line": None, "state": "page", "causes": [], "more": 0,
            }
        ],
        "more": 0,
    }  # fmt: skip


def test_why_of_what_nothing_led_to(run, plans):
    answer = run("why", "plan-1", "--exit-code")
    assert (answer.exit_code, answer.stdout) == (3, "plan-1  Plan 1\n")
    assert answer.stderr == "It names no source, and no page links to it.\n"


def test_a_deep_chain_is_shown_to_its_depth(run, brain_path):
    for number in range(60):
        page = f"---\nsource: n{number + 1}\n---\n"
        run("put", f"n{number}", stdin=page.encode())
    lines = run("why", "n0", "--depth", "50").stdout.splitlines()
    assert len(lines) == 51
    assert lines[-1] == "  " * 50 + "source  n50  N50"
