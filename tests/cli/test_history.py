"""What a page was before, as list and as diff."""

from __future__ import annotations

import pytest


@pytest.fixture
def three(run, brain_path, monkeypatch):
    """A page written on three days."""
    for day, text in ((1, "one\n"), (3, "one\ntwo\n"), (5, "one\r\ntwo")):
        monkeypatch.setenv("GBRAIN_NOW", f"2026-11-0{day}T10:00:00")
        assert run("put", "notes/a", stdin=text.encode()).exit_code == 0
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-16T12:00:00")
    return "notes/a"


def test_history_is_oldest_first(run, three):
    assert run("history", "Notes/A.md").stdout == (
        "1\t2026-11-01T10:00:00.000Z\t4\treplaced\tnotes/a\n"
        "2\t2026-11-03T10:00:00.000Z\t8\treplaced\tnotes/a\n"
        "3\t2026-11-05T10:00:00.000Z\t8\tcurrent\tnotes/a\n"
    )


def test_history_as_a_document(run, three):
    document = run("history", three, "--json").json
    assert document["slug"] == "notes/a"
    assert [version["ending"] for version in document["versions"]] == ["replaced", "replaced", None]
    assert document["versions"][0]["bytes"] == 4


def test_history_of_what_was_deleted_or_renamed(run, three):
    run("rename", three, "notes/b")
    renamed = [line.split("\t")[3:] for line in run("history", "notes/b").stdout.splitlines()]
    assert renamed[-2:] == [["renamed", "notes/a"], ["current", "notes/b"]]
    run("delete", "notes/b")
    assert run("history", "notes/b").stdout.splitlines()[-1].endswith("deleted\tnotes/b")
    assert run("diff", "notes/b", "--from", "1", "--to", "2").stdout.endswith(" one\n+two\n")


def test_a_reused_name_continues_the_old_version_numbers(run, three):
    run("delete", three)
    run("put", three, stdin=b"back")
    run("rename", three, "notes/b")
    run("delete", "notes/b")
    for text in (b"again", b"and changed"):
        assert run("put", three, stdin=text).exit_code == 0
    assert [line.split("\t")[0] for line in run("history", three).stdout.splitlines()] == list(
        "1234567"
    )


def test_no_such_page(run, three):
    for name in ("history", "diff"):
        answer = run(name, "notes/c", "--json")
        assert (answer.exit_code, answer.error["code"]) == (1, "not_found")


def test_diff_is_with_the_version_before_and_exact(run, three):
    assert run("diff", three).stdout_bytes == (
        b"--- notes/a@2\t2026-11-03T10:00:00.000Z\n+++ notes/a@3\t2026-11-05T10:00:00.000Z\n"
        b"@@ -1,2 +1,2 @@\n-one\n-two\n+one\r\n+two\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize(
    ("options", "versions"),
    [
        ((), (2, 3)),
        (("--from", "1"), (1, 3)),
        (("--to", "2"), (1, 2)),
        (("--to", "1"), (None, 1)),
        (("--from", "3", "--to", "1"), (3, 1)),
        (("--since", "2026-11-01"), (None, 3)),
        (("--since", "2026-11-02"), (1, 3)),
        (("--since", "2026-11-03"), (1, 3)),
        (("--since", "2026-11-03T10:00:01"), (2, 3)),
        (("--since", "2026-11-03T10:00:01+01:00"), (1, 3)),
        (("--since", "2 weeks ago", "--to", "2"), (1, 2)),
        (("--since", "today"), (3, 3)),
        (("--since", "0001"), (None, 3)),
    ],
)
def test_which_versions_are_compared(run, three, options, versions):
    document = run("diff", three, *options, "--json").json
    assert (document["from"], document["to"]) == versions
    assert bool(document["diff"]) == (versions[0] != versions[1])


def test_before_the_first_version_there_was_nothing(run, three):
    assert run("diff", three, "--to", "1").stdout.splitlines()[::2] == [
        "--- /dev/null", "@@ -0,0 +1 @@",
    ]  # fmt: skip


def test_nothing_changed(run, three):
    answer = run("diff", three, "--since", "today")
    assert (answer.stdout, answer.stderr) == ("", "notes/a has not changed.\n")


def test_wrong_use(run, three):
    assert run("diff", three, "--from", "1", "--since", "today").exit_code == 2
    assert run("diff", three, "--since", "whenever").exit_code == 2
    missing = run("diff", three, "--to", "9", "--json")
    assert missing.error == {
        "code": "not_found",
        "message": "notes/a has no version 9",
        "hint": "Its versions are 1, 2, 3.",
    }


def test_a_page_that_was_not_there_yet(run, three):
    answer = run("diff", three, "--since", "2026-11-01")
    assert answer.stderr == ("notes/a did not exist before 2026-11-01: all of its text is new.\n")
    assert answer.stdout.startswith("--- /dev/null\n")
    assert run("diff", three, "--since", "2026-11-01T09:30").stderr == (
        "notes/a did not exist before 2026-11-01 09:30:00: all of its text is new.\n"
    )


def test_a_page_that_was_deleted_then(run, three, monkeypatch):
    for day, words, text in ((7, ("delete",), b""), (9, ("put",), b"again\n")):
        monkeypatch.setenv("GBRAIN_NOW", f"2026-11-0{day}T10:00:00")
        run(*words, three, stdin=text)
    assert run("diff", three, "--since", "2026-11-07", "--json").json["from"] == 3
    assert run("diff", three, "--since", "2026-11-08", "--json").json["from"] is None
    assert run("diff", three, "--since", "2026-11-10", "--json").json["from"] == 4


def test_a_diff_in_a_pipe_has_no_escapes_but_the_line_ends_of_the_page(run):
    run("put", "page", stdin=b"# Page\r\n\r\nold\r\n")
    run("put", "page", stdin=b"# Page\r\n\r\n\x1b[2Jnew\r\x1b]0;t\x07\r\n")
    shown = run("diff", "page").stdout_bytes
    assert shown.endswith("-old\r\n+\ufffd[2Jnew\ufffd\ufffd]0;t\ufffd\r\n".encode())
    assert "\x1b[2J" in run("diff", "page", "--json").json["diff"]
