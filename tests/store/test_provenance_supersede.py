"""A page says in its own front matter what replaces it."""

from __future__ import annotations

import pytest

from gbrain.brain import Brain
from gbrain.errors import Conflict, NotFound
from gbrain.store.provenance import list_superseded, supersede_page, undo_supersede

NOW = "2026-11-16T12:00:00.000Z"


@pytest.fixture
def four(brain: Brain) -> Brain:
    for name in "abcd":
        brain.put(f"notes/{name}", f"---\ntitle: {name.upper()}\n---\nPage {name}.\n".encode())
    return brain


def mark(brain: Brain, old: str, new: str) -> str:
    with brain.database.write_transaction() as connection:
        return supersede_page(connection, f"notes/{old}", f"notes/{new}", NOW)[1]


def test_superseding_writes_a_new_version(four: Brain):
    assert mark(four, "a", "b") == "notes/b"
    assert four.text("notes/a") == "---\ntitle: A\nsuperseded_by: notes/b\n---\nPage a.\n"
    assert four.get("notes/a").version == 2
    assert four.page("notes/a")[1]["superseded_by"] == "notes/b"
    assert four.backlinks("notes/b")[0].slug == "notes/a"
    with four.database.write_transaction() as connection:
        assert undo_supersede(connection, "notes/a", NOW).version == 3
    assert four.text("notes/a") == four.text("notes/a", 1)


def test_superseding_twice_changes_nothing(four: Brain):
    mark(four, "a", "b")
    mark(four, "a", "b")
    assert four.get("notes/a").version == 2


def test_a_chain_is_allowed_and_a_circle_refused(four: Brain):
    mark(four, "a", "b")
    mark(four, "b", "c")
    mark(four, "c", "d")
    with pytest.raises(Conflict, match="a circle: notes/d → notes/a → notes/b → notes/c → notes/d"):
        mark(four, "d", "a")
    with pytest.raises(Conflict, match="notes/d cannot be superseded by itself"):
        mark(four, "d", "d")


def test_a_circle_in_existing_pages_ends(four: Brain):
    for old, new in (("a", "b"), ("b", "a")):
        four.put(f"notes/{old}", f"---\nsuperseded_by: notes/{new}\n---\n".encode())
    assert mark(four, "c", "a") == "notes/a"


@pytest.mark.parametrize("value", ["notes/b", '"[[B]]"', "[B]", "notes/B.md"])
def test_a_successor_is_found_by_any_of_its_names(four: Brain, value: str):
    four.put("notes/a", f"---\nsuperseded_by: {value}\npinned: true\n---\n".encode())
    with four.database.read_transaction() as connection:
        [page] = list_superseded(connection)
    assert (page.slug, page.successor, page.pinned) == ("notes/a", "notes/b", True)
    with pytest.raises(Conflict):
        mark(four, "b", "a")


def test_a_missing_successor_has_no_slug(four: Brain):
    four.put("notes/a", b"---\nsuperseded_by: notes/gone\n---\n")
    with four.database.read_transaction() as connection:
        assert list_superseded(connection)[0].successor is None


def test_both_pages_must_exist(four: Brain):
    for pair in (("x", "a"), ("a", "x")):
        with pytest.raises(NotFound, match="There is no page notes/x"):
            mark(four, *pair)
