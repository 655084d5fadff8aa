"""The last change of a page taken back: text, name, deletion; and the way forward again."""

from __future__ import annotations

import pytest


@pytest.fixture
def at(monkeypatch):
    """`at(5)` sets the clock to five minutes after ten."""
    return lambda minute: monkeypatch.setenv("GBRAIN_NOW", f"2026-11-16T10:{minute:02}:00")


@pytest.fixture
def three(run, brain_path, at):
    """The page `a` with three versions, and the page `b` written between the last two."""
    for minute, (slug, text) in enumerate(
        (("a", b"one\n"), ("a", b"two\r\n"), ("b", b"bee"), ("a", b"three"))
    ):
        at(minute)
        assert run("put", slug, stdin=text).exit_code == 0
    at(30)
    return brain_path


def text(run, slug):
    return run("get", slug).stdout_bytes


def test_undo_brings_back_the_text_before_as_a_new_version(run, three):
    answer = run("undo", "a", "--json")
    assert answer.json == {
        "slug": "a", "version": 4, "outcome": "updated", "from": "a", "undone_version": 3,
        "changed_at": "2026-11-16T10:03:00.000Z", "restored_version": 2, "file": None,
    }  # fmt: skip
    assert text(run, "a") == b"two\r\n"
    assert run("get", "a", "--version", "3").stdout == "three"
    endings = [version["ending"] for version in run("history", "a", "--json").json["versions"]]
    assert endings == ["replaced", "replaced", "undone", None]


def test_undoing_again_goes_further_back_and_redo_forward(run, three):
    texts = []
    for option in ((), (), ("--redo",), ("--redo",), (), ("--redo",)):
        assert run("undo", "a", *option).exit_code == 0
        texts.append(text(run, "a"))
    assert texts == [b"two\r\n", b"one\n", b"two\r\n", b"three", b"two\r\n", b"three"]
    nothing = run("undo", "a", "--redo", "--json")
    assert (nothing.exit_code, nothing.error["code"]) == (1, "not_found")


def test_a_change_after_undo_ends_redo(run, three):
    run("undo", "a")
    run("put", "a", stdin=b"other")
    assert run("undo", "a", "--redo").exit_code == 1
    run("undo", "a")
    assert text(run, "a") == b"two\r\n"


def test_a_text_written_again_by_hand_is_a_change_like_any_other(run, three):
    run("put", "a", stdin=b"two\r\n")
    run("undo", "a")
    assert text(run, "a") == b"three"


def test_undo_without_a_page_takes_the_latest_change_of_all(run, three):
    pages = [run("undo", "--json").json["slug"] for _ in range(3)]
    assert pages == ["a", "b", "b"]
    # What undo has brought back it does not delete again.
    assert run("undo", "--json").error["message"] == "There is no earlier text of b"
    assert run("undo", "a").exit_code == 0
    assert text(run, "a") == b"one\n"
    assert text(run, "b") == b"bee"


def test_a_new_page_is_deleted_and_comes_back(run, three):
    assert run("undo", "b").stderr == ("Deleted b, which was new. gbrain undo b brings it back.\n")
    assert run("get", "b").exit_code == 1
    assert run("undo", "b").stderr == "b: undeleted, version 2\n"
    assert text(run, "b") == b"bee"


def test_a_deleted_page_comes_back_with_its_history(run, three):
    run("delete", "a")
    back = run("undo", "--json").json
    assert (back["slug"], back["outcome"], back["version"]) == ("a", "undeleted", 4)
    assert back["undone_version"] is None
    assert text(run, "a") == b"three"
    assert run("get", "a", "--version", "1").stdout == "one\n"
    # The deletion is taken back; the next step is the edit before it.
    run("undo", "a")
    assert text(run, "a") == b"two\r\n"


def test_a_deleted_page_is_found_by_its_file_name(run, three):
    run("put", "people/ana-ruiz", stdin=b"# Ana\n")
    run("delete", "people/ana-ruiz")
    assert run("undo", "Ana Ruiz", "--json").json["slug"] == "people/ana-ruiz"
    for folder in ("people", "work"):
        run("put", f"{folder}/kim", stdin=b"x")
        run("delete", f"{folder}/kim")
    assert run("undo", "kim", "--json").error["code"] == "ambiguous_name"


def test_a_renamed_page_gets_its_old_name(run, three):
    run("rename", "a", "notes/Ä")
    answer = run("undo", "notes/Ä")
    assert answer.stderr == "Renamed notes/ä back to a, version 5.\n"
    assert text(run, "a") == b"three"
    assert run("undo", "a", "--redo", "--json").json["slug"] == "notes/ä"
    # The former name is enough.
    assert run("undo", "a", "--json").json["outcome"] == "renamed"
    run("undo", "a")
    assert text(run, "a") == b"two\r\n"


def test_the_name_of_another_page_is_not_taken_from_it(run, three):
    run("rename", "a", "c")
    run("put", "a", stdin=b"another")
    answer = run("undo", "c", "--json")
    assert (answer.exit_code, answer.error["code"]) == (1, "slug_collision")
    assert text(run, "a") == b"another"


def test_a_deleted_text_is_readable_under_a_name_used_again(run, three):
    run("delete", "a")
    run("rename", "b", "a")
    for version, expected in ((1, b"one\n"), (2, b"two\r\n"), (3, b"three")):
        assert run("get", "a", "--version", str(version)).stdout_bytes == expected
    assert text(run, "a") == b"bee"
    endings = [version["ending"] for version in run("history", "a", "--json").json["versions"]]
    assert endings == ["replaced", "replaced", "deleted", None]


def test_undo_never_deletes_a_file_that_was_imported(run, brain_path, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("mine\n")
    run("import", notes, "--no-embed")
    for words in (("undo",), ("undo", "a")):
        answer = run(*words, "--json")
        assert (answer.exit_code, answer.error["code"]) == (1, "not_found")
    assert (notes / "a.md").read_text() == "mine\n"
    assert text(run, "a") == b"mine\n"


def test_undo_of_an_unknown_page(run, brain_path):
    run("put", "a", stdin=b"x")
    run("delete", "a")
    for words in (("undo", "nobody"), ("undo", "--redo")):
        assert run(*words, "--json").error["code"] == "not_found"


def test_the_file_follows_undo(run, brain_path, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    file = notes / "a.md"
    file.write_bytes(b"one\r\n")
    run("import", notes, "--no-embed")
    run("put", "a", stdin=b"two\r\n")
    assert file.read_bytes() == b"two\r\n"
    run("undo", "a")
    assert file.read_bytes() == b"one\r\n"
    run("rename", "a", "b")
    assert run("undo", "--json").json["file"]["path"] == str(file)
    assert (file.read_bytes(), (notes / "b.md").exists()) == (b"one\r\n", False)
    run("delete", "a")
    assert not file.exists()
    assert run("undo", "a").exit_code == 0
    assert file.read_bytes() == b"one\r\n"
    assert run("sync", "--json").json["changes"] == []


def test_undo_brings_back_the_line_ends_of_a_file(run, brain_path, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    file = notes / "a.md"
    for data in (b"one\r\ntwo", b"one\nthree\n"):
        file.write_bytes(data)
        run("import", notes, "--no-embed")
    run("undo", "a")
    assert (file.read_bytes(), text(run, "a")) == (b"one\r\ntwo", b"one\r\ntwo")


def test_undo_says_that_the_file_is_not_back(run, brain_path, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text("text\n")
        run("import", tmp_path / name, "--no-embed")
    run("delete", "two")
    assert run("undo").stderr == (
        "two: undeleted, version 2\nOnly in the brain so far: several folders are imported. Choose "
        "one with gbrain config set default_folder DIR, then gbrain sync.\n"
    )
    assert run("undo", "two").exit_code == 1
    assert text(run, "two") == b"text\n"


def test_undo_deletes_a_new_page_whose_earlier_name_is_taken(run, brain_path, at):
    # The page `a` is deleted, comes back, is renamed to `b` and deleted; then both names are used.
    commands = (
        ("put", "a"), ("delete", "a"), ("put", "a"), ("rename", "a", "b"), ("delete", "b"),
        ("put", "c"), ("rename", "c", "b"), ("put", "a"),
    )  # fmt: skip
    for minute, command in enumerate(commands):
        at(minute)
        text_of_page = f"text {minute}\n".encode() if command[0] == "put" else None
        assert run(*command, stdin=text_of_page).exit_code == 0, command
    at(30)
    answer = run("undo", "a", "--json")
    assert (answer.exit_code, answer.json["outcome"], answer.json["slug"]) == (0, "deleted", "a")
    assert text(run, "b") == b"text 5\n"
    assert run("undo", "a").exit_code == 0
    assert text(run, "a") == b"text 7\n"


# --- a clock that goes back ------------------------------------------------------------------


@pytest.fixture
def turned_back(run, brain_path, at):
    """The pages `old`, and then `new`, which was written by a clock twenty minutes behind."""
    for minute, slug in ((40, "old"), (20, "new")):
        at(minute)
        for words in (b"one", b"two"):
            assert run("put", slug, stdin=words).exit_code == 0
    return brain_path


def test_undo_takes_the_last_change_of_a_clock_that_went_back(run, turned_back):
    assert run("undo", "--json").json["slug"] == "new"
    assert (text(run, "new"), text(run, "old")) == (b"one", b"two")


def test_redo_takes_the_last_change_of_a_clock_that_went_back(run, turned_back, at):
    run("undo")
    at(10)
    assert run("undo", "--redo", "--json").json["slug"] == "new"
    assert text(run, "new") == b"two"


def test_undo_brings_back_the_page_that_was_deleted_last(run, brain_path, at):
    at(40)
    run("put", "a", stdin=b"first")
    run("delete", "a")
    at(20)
    run("put", "b", stdin=b"second")
    run("rename", "b", "a")
    run("delete", "a")
    assert run("undo", "a", "--json").json["outcome"] == "undeleted"
    assert text(run, "a") == b"second"


def test_a_name_is_that_of_the_page_that_was_renamed_from_it_last(run, brain_path, at):
    for minute, new in ((40, "first"), (20, "second")):
        at(minute)
        run("put", "a", stdin=new.encode())
        run("rename", "a", new)
    undone = run("undo", "a", "--json").json
    assert (undone["outcome"], undone["slug"], undone["from"]) == ("renamed", "a", "second")
