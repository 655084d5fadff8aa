"""`put get list delete rename` as a person or a script calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTE = b"---\ntitle:  'A  note'  # kept\n---\r\n\xef\xbb\xbfbytes \xf0\x9f\x9a\x80 as they are"


def test_put_then_get_gives_the_same_bytes(run, brain_path):
    put = run("put", "Ideas/First One", stdin=NOTE)
    assert (put.exit_code, put.stdout) == (0, "")
    assert put.stderr == "ideas/first-one: created, version 1\n"
    assert run("get", "ideas/first-one").stdout_bytes == NOTE
    assert run("get", "Ideas/First One.md", "--raw").stdout_bytes == NOTE


def test_put_from_a_file(run, brain_path, tmp_path):
    (tmp_path / "note.md").write_bytes(NOTE)
    assert run("put", "a", tmp_path / "note.md", "--quiet").stderr == ""
    assert run("get", "a").stdout_bytes == NOTE


def test_put_of_a_file_that_is_not_there(run, brain_path, tmp_path):
    put = run("put", "a", tmp_path / "none.md")
    assert put.exit_code == 1
    assert put.stderr == (
        f"Error: Cannot read {tmp_path}/none.md: No such file or directory\n"
        "Hint: Check the path; - means standard input.\n"
    )
    assert not brain_path.exists()


def test_put_of_what_never_ends(run, brain_path, tmp_path):
    for words in (("put", "a", "/dev/zero"), ("verify", "/dev/zero")):
        ran = run(*words)
        assert ran.exit_code == 1
        assert ran.stderr.startswith("Error: /dev/zero has more than 10,000,000 bytes\n")
    ran = run("put", "a", stdin=b"x" * 10_000_001)
    assert ran.stderr.startswith("Error: Standard input has more than 10,000,000 bytes\n")
    assert not brain_path.exists()


@pytest.mark.parametrize("slug", [".private/a", "drafts/.b", "logseq/bak/l", "x/logseq/bak/l.md"])
def test_a_name_that_import_would_pass_over_is_not_given(run, brain_path, slug, monkeypatch):
    monkeypatch.setenv("EDITOR", "true")
    run("put", "a", stdin=b"# A")
    for words in (("put", slug), ("rename", "a", slug), ("edit", slug)):
        refused = run(*words, "--json", stdin=b"# A")
        assert (refused.exit_code, refused.error["code"]) == (1, "hidden_name")
    assert run("list", "--json").json["total"] == 1


def test_put_says_what_it_did(run, brain_path):
    assert run("put", "a", "--json", stdin=b"x").json == {
        "slug": "a",
        "version": 1,
        "outcome": "created",
        "nearly_the_same": None,
        "file": None,
    }
    assert run("put", "a", "--json", stdin=b"x").json["outcome"] == "unchanged"
    assert run("put", "a", "--json", stdin=b"y").json == {
        "slug": "a",
        "version": 2,
        "outcome": "updated",
        "nearly_the_same": None,
        "file": None,
    }


def test_an_expected_version_refuses_a_lost_update(run, brain_path):
    run("put", "a", stdin=b"one")
    run("put", "a", stdin=b"two")
    refused = run("put", "a", "--expected-version", "1", stdin=b"mine")
    assert refused.exit_code == 1
    error, hint = refused.stderr.splitlines()
    assert error == "Error: a is at version 2, not at version 1"
    assert hint.startswith("Hint: Your text is kept in ")
    assert hint.endswith(". Read it again with gbrain get a and repeat your change.")
    assert run("delete", "a", "--expected-version", "1", "--json").error == {
        "code": "version_conflict",
        "message": "a is at version 2, not at version 1",
        "hint": "Read it again with gbrain get a before you delete it.",
    }
    assert run("get", "a").stdout == "two"
    missing = run("put", "b", "--expected-version", "3", "--json", stdin=b"mine")
    assert missing.error["code"] == "version_conflict"
    assert missing.error["message"] == "b does not exist, so it is not at version 3"
    assert missing.error["hint"].endswith(" To create the page, leave out the expected version.")


def test_a_bad_page_is_refused_with_its_line(run, brain_path):
    refused = run("put", "a", stdin=b"---\ntitle: [x\n---\n")
    assert refused.exit_code == 1
    assert "line 2: this front matter is not valid YAML" in refused.stderr
    assert run("get", "a").exit_code == 1


def test_get_json_says_all_there_is(run, sample):
    page = run("get", "people/alice-chen", "--json").json
    assert page["slug"] == "people/alice-chen"
    assert page["wing"] == "people"
    assert page["wing_reason"]
    assert page["room_reason"]
    assert page["version"] == 1
    assert page["front_matter"]["title"] == page["title"]
    assert page["text"] == run("get", "people/alice-chen").stdout
    assert page["bytes"] == len(page["text"].encode())


def test_an_earlier_version_comes_back(run, brain_path):
    run("put", "a", stdin=b"one")
    run("put", "a", stdin=b"two")
    run("delete", "a")
    assert run("get", "a", "--version", "1").stdout == "one"
    assert run("get", "a", "--version", "2").stdout == "two"
    gone = run("get", "a")
    assert (gone.exit_code, gone.stdout) == (1, "")


def test_an_earlier_version_as_json_is_described_as_itself(run, brain_path):
    run("put", "a", stdin=b"---\ntitle: One\n---\n")
    run("put", "a", stdin=b"---\ntitle: Two\n---\nlonger\n")
    page = run("get", "a", "--version", "1", "--json").json
    assert page["text"] == "---\ntitle: One\n---\n"
    assert (page["version"], page["bytes"]) == (1, 19)


def test_a_missing_page_is_answered_with_the_nearest(run, sample):
    missing = run("get", "people/alice-chan")
    assert missing.exit_code == 1
    assert missing.stderr == (
        "Error: There is no page people/alice-chan\nHint: Did you mean people/alice-chen?\n"
    )


def test_list_is_tabs_in_a_pipe(run, sample):
    lines = run("list", "--wing", "people").stdout.splitlines()
    assert len(lines) == 5
    assert lines[0].split("\t")[:2] == ["people/alice-chen", "Alice Chen"]


def test_list_says_when_there_is_more(run, sample):
    listed = run("list", "--limit", "2")
    assert len(listed.stdout.splitlines()) == 2
    assert listed.stderr.startswith("2 of ")


def test_list_json_and_exit_codes(run, sample):
    document = run("list", "--slug-prefix", "people/", "--limit", "1", "--json").json
    assert document["total"] == 5
    assert [page["slug"] for page in document["pages"]] == ["people/alice-chen"]
    nothing = run("list", "--tag", "none", "--json")
    assert (nothing.exit_code, nothing.json) == (0, {"pages": [], "total": 0})
    assert run("list", "--tag", "none", "--exit-code").exit_code == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--since", "someday"), "someday"),
        (("--where", "novalue"), "--where takes KEY=VALUE, not 'novalue'"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_a_filter_that_cannot_be_read_is_wrong_usage(run, sample, words, message):
    refused = run("list", *words, "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.error["code"] in ("usage", "bad_date")
    assert message in refused.error["message"]


def test_filters_understand_dates_in_words(run, sample):
    slugs = [p["slug"] for p in run("list", "--since", "3 days ago", "--json").json["pages"]]
    assert "journal/2026-11-14" in slugs
    assert "journal/2026-04-03" not in slugs


def test_delete_and_get_say_how_to_bring_a_page_back(run, brain_path):
    run("put", "a", stdin=b"one")
    deleted = run("delete", "a")
    assert deleted.stderr == "Deleted a. gbrain undo a brings it back.\n"
    assert run("get", "a", "--json").error == {
        "code": "not_found",
        "message": "a was deleted on 2026-11-16",
        "hint": "gbrain undo a brings it back.",
    }
    assert run("get", "a", "--version", "1").stdout == "one"
    assert run("delete", "a").exit_code == 1
    run("undo", "a")
    assert run("get", "a").stdout == "one"
    run("rename", "a", "b")
    assert run("get", "a", "--json").error["message"] == "There is no page a"


def test_rename_names_the_links_left_behind(run, sample):
    renamed = run("rename", "companies/river-ai", "companies/river", "--json").json
    assert renamed["to"] == "companies/river"
    assert renamed["links_to_old_name"] > 0
    assert run("get", "companies/river").exit_code == 0
    assert run("get", "companies/river-ai").exit_code == 1


def test_rename_onto_another_page_is_refused(run, sample):
    refused = run("rename", "people/alice-chen", "people/ivy-marlow", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "slug_collision")


@pytest.mark.parametrize(
    "name", ["../out", "/etc/passwd", "a/../b", "", ".", "---", "a//b", "x" * 401]
)
def test_a_name_that_is_no_slug_is_refused_everywhere(run, sample, name):
    for words in (("get",), ("put",), ("delete",), ("rename", "people/alice-chen")):
        refused = run(*words, "--json", "--", name, stdin=b"x")
        assert (refused.exit_code, refused.error["code"]) == (1, "bad_slug")


def test_a_name_with_a_leading_dash_is_given_after_two_dashes(run, brain_path):
    assert run("put", "--quiet", "--", "-rf", stdin=b"x").exit_code == 0
    assert run("get", "rf").stdout == "x"


def test_nothing_a_page_says_drives_the_terminal(run, brain_path):
    run("put", "a", stdin="# Bell \x07 \x1b[31m\u202e red\n".encode())
    assert run("list").stdout == "a\tBell \ufffd \ufffd[31m\ufffd red\tgeneral/stub\t\n"


@pytest.mark.parametrize("option", ["--limit", "--version"])
def test_numbers_beyond_all_bounds_are_no_traceback(run, sample, option):
    words = ("list",) if option == "--limit" else ("get", "people/alice-chen")
    assert run(*words, option, "9" * 30).exit_code in (0, 1, 2)


@pytest.mark.parametrize(
    "words",
    [
        ("get", "p\udcff"),
        ("list", "--since", "\udcff"),
        ("search", "alice \udcff"),
        ("put", "p\udcff"),
        ("list", "--wing", "\udcff"),
        ("list", "--where", "a=\udcff"),
        ("list", "--tag", "\udcff"),
        ("list", "--type", "\udcff"),
        ("list", "--slug-prefix", "\udcff"),
        ("list", "--exclude", "\udcff"),
        ("search", "\udcff"),
    ],
    ids=lambda words: "-".join(words).encode("ascii", "backslashreplace").decode(),
)
def test_words_that_are_not_utf8_are_no_traceback(run, sample, words):
    """The shell hands over bytes that no encoding knows as lone surrogates."""
    assert run(*words, stdin=b"x").exit_code in (0, 1, 2)


def test_get_and_list_as_they_were_looked_at(run, sample, golden):
    golden("list.txt", run("list", "--wing", "people").stdout)
    golden("list.json", run("list", "--wing", "people", "--limit", "2", "--json").stdout)
    golden("get.txt", run("get", "people/alice-chen").stdout)
    page = run("get", "people/alice-chen", "--json").stdout
    golden("get.json", json.dumps(json.loads(page), indent=1, ensure_ascii=False) + "\n")


def test_no_brain_is_an_error_with_the_next_step(run, brain_path: Path):
    missing = run("list", "--json")
    assert missing.exit_code == 1
    assert missing.error == {
        "code": "no_brain",
        "message": f"There is no brain at {brain_path}",
        "hint": "gbrain init creates one; gbrain import DIR creates one from a folder of notes.",
    }


def test_put_without_a_file_says_that_it_waits_for_the_terminal(run, brain_path, at_terminal):
    code, shown = at_terminal("put", "ideas/first", keys="# First\n\x04")
    assert code == 0
    assert "Type the page, then press Ctrl-D." in shown
    assert run("get", "ideas/first").stdout == "# First\n"
    assert "Reading" not in run("put", "ideas/first", stdin=b"# Second\n").stderr


@pytest.mark.parametrize("command", ["list", "tasks", "timeline"])
def test_a_filter_that_no_page_can_match_is_named(run, sample, command):
    empty = run(command, "--wing", "persons")
    assert (empty.stdout, empty.exit_code) == ("", 0)
    assert empty.stderr.startswith("There is no wing persons; there are ")
    assert run(command, "--wing", "persons", "--quiet").stderr == ""
