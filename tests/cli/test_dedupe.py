"""`dedupe` from the command line, and what `put` says of a page that is nearly there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gbrain.brain import Brain

NOTE = (
    "# Ferry\n\nThe ferry to the island leaves at seven in the morning and comes back at dusk. "
    "Tickets are sold on board, bicycles travel free, and dogs need a muzzle.\n"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dedupe") / "brain.db"
    with Brain.open(path, make=True) as brain:
        brain.put("old", f"---\ndate: 2026-01-01\n---\n{NOTE}".encode())
        brain.put("new", f"---\ndate: 2026-02-02\n---\n{NOTE}".encode())
        brain.put("newest", f"---\ndate: 2026-03-03\n---\n{NOTE}".encode())
        brain.put("other", b"# Compost\n\n" + b"Two parts of brown leaves to one of scraps. " * 3)
        brain.embed()
    return path


@pytest.fixture
def ferries(built: Path, brain_path: Path) -> Path:
    shutil.copy(built, brain_path)
    return brain_path


def test_in_a_pipe_it_only_lists(run, ferries):
    answer = run("dedupe")
    assert answer.exit_code == 0
    rows = [line.split("\t") for line in answer.stdout.splitlines()]
    assert [row[:4] for row in rows] == [
        ["1.000", "1.00", "new", "newest"],
        ["1.000", "1.00", "old", "new"],
        ["1.000", "1.00", "old", "newest"],
    ]
    assert rows[1][4] == "dated 2026-01-01, the other 2026-02-02"
    assert answer.stderr == "3 pairs of 4 pages with a similarity of at least 0.95.\n"
    assert run("supersede", "--list").stdout == ""


def test_yes_marks_the_older_of_each_pair_once(run, ferries):
    document = run("dedupe", "--yes", "--json").json
    assert (document["pages"], document["without_vectors"]) == (4, 0)
    assert [
        (pair["older"]["slug"], pair["newer"]["slug"], pair["marked"]) for pair in document["pairs"]
    ] == [("new", "newest", True), ("old", "new", True), ("old", "newest", False)]
    assert run("supersede", "--list").stdout == "new\tnewest\tnewest\t\nold\tnew\tnew\t\n"
    again = run("dedupe", "--yes")
    assert again.stderr == "0 pairs of 2 pages with a similarity of at least 0.95.\n"
    assert run("dedupe", "--exit-code").exit_code == 3


def test_dry_run_changes_nothing(run, ferries):
    assert len(run("dedupe", "--dry-run").stdout.splitlines()) == 3
    assert run("dedupe", "--yes", "--dry-run").exit_code == 2
    assert run("supersede", "--list").stdout == ""


def test_without_vectors(run, brain_path):
    run("put", "a", stdin=b"x")
    answer = run("dedupe", "--json")
    assert answer.exit_code == 1
    assert answer.error == {
        "code": "no_vectors",
        "message": "No note is embedded yet, and dedupe compares embedded notes",
        "hint": "gbrain embed embeds your notes.",
    }


@pytest.mark.parametrize("threshold", ["0.2", "1.1", "near"])
def test_a_threshold_that_means_nothing(run, ferries, threshold):
    assert run("dedupe", "--threshold", threshold).exit_code == 2


def test_pages_not_embedded_yet_are_named(run, ferries):
    run("put", "late", stdin=b"# Late\n\n" + b"Some words that nobody has embedded so far. " * 3)
    assert run("dedupe").stderr.splitlines()[1] == (
        "Not compared: 1 page without vectors; run gbrain embed."
    )


def test_put_names_a_near_duplicate_and_still_writes(run, brain_path):
    run("put", "ferry", stdin=NOTE.encode())
    put = run("put", "inbox/boat", stdin=NOTE.replace("dusk", "night").encode())
    assert (put.exit_code, put.stdout) == (0, "")
    assert put.stderr == (
        "inbox/boat: created, version 1\n"
        "It shares 89% of its wording with ferry. If it supersedes that page: "
        "gbrain supersede ferry inbox/boat\n"
    )
    assert run("put", "inbox/quiet", "--quiet", stdin=NOTE.encode()).stderr == ""
    assert run("put", "inbox/boat", stdin=NOTE.replace("dusk", "night").encode()).stderr == (
        "inbox/boat: unchanged, version 1\n"
    )
    told = run("put", "inbox/third", "--json", stdin=NOTE.encode())
    assert told.json["outcome"] == "created"
    assert told.stderr.startswith("It shares 100% of its wording with ferry")
    near = {"slug": "ferry", "title": "Ferry", "words": 1.0}
    assert told.json["nearly_the_same"] == near
    silent = run("put", "inbox/fourth", "--json", "--quiet", stdin=NOTE.encode())
    assert (silent.json["nearly_the_same"], silent.stderr) == (near, "")
    assert run("put", "else", "--json", stdin=b"# Else\n").json["nearly_the_same"] is None


@pytest.mark.parametrize(
    ("keys", "asked", "marked"),
    [
        ("y\ny\n", 2, {"new": "newest", "old": "newest"}),
        ("n\nn\nn\n", 3, {}),
        ("o\nn\n", 2, {"newest": "new"}),
        ("n\nyes\n", 2, {"old": "new"}),
        ("q\n", 1, {}),
        ("what?\nq\n", 2, {}),
    ],
)
def test_a_person_decides_on_each_pair(run, ferries, at_terminal, keys, asked, marked):
    code, shown = at_terminal("dedupe", keys=keys)
    assert code == 0
    assert shown.count("as superseded? (y)es, (n)o, the (o)ther page, (q)uit") == asked
    assert (f"{len(marked)} marked as superseded" in shown) == bool(marked)
    rows = [line.split("\t")[:2] for line in run("supersede", "--list").stdout.splitlines()]
    assert dict(rows) == marked
