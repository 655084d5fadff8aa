"""What happens to pages that changed on both machines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gbrain.brain import Brain

PAGE = (
    "# Alice\n\nLikes tea.\n\nLives in Lisbon.\n\n## Timeline\n\n"
    "- 2026-01-05: met\n- 2026-02-01: called\n"
)


@pytest.fixture
def shared(a: Brain, b: Brain) -> tuple[Brain, Brain]:
    """Return two brains that have the same page."""
    a.put("alice", PAGE.encode())
    a.push()
    b.pull()
    return a, b


def change(brain: Brain, old: str, new: str) -> None:
    text = brain.text("alice")
    assert old in text
    brain.put("alice", text.replace(old, new).encode())


def exchange(a: Brain, b: Brain) -> None:
    """Let both machines have what the other one wrote."""
    a.push()
    b.push()
    a.pull()
    assert a.text("alice") == b.text("alice")
    assert a.push().pushed == b.push().pushed == []


def test_both_made_the_same_change(shared: tuple[Brain, Brain]) -> None:
    for brain in shared:
        change(brain, "tea", "coffee")
    a, b = shared
    a.push()
    report = b.push()
    assert (report.pushed, report.conflicts) == ([], [])
    exchange(a, b)


def test_entries_of_both_timelines_are_united(shared: tuple[Brain, Brain]) -> None:
    a, b = shared
    for n, brain in enumerate((a, b, a, b)):
        brain.add_to_timeline("alice", f"entry {n}", date=f"2026-03-0{4 - n}")
    exchange(a, b)
    entries = [line for line in a.text("alice").splitlines() if line.startswith("- ")]
    assert sorted(entries) == entries
    assert len(entries) == 6


def test_entries_of_one_day_are_all_kept(shared: tuple[Brain, Brain]) -> None:
    a, b = shared
    a.capture("from a", name="alice")
    b.capture("from b", name="alice")
    exchange(a, b)
    assert "from a" in b.text("alice")
    assert "from b" in a.text("alice")


def test_changes_of_different_lines_are_merged(shared: tuple[Brain, Brain]) -> None:
    a, b = shared
    change(a, "tea", "coffee")
    change(b, "Lisbon", "Porto")
    a.push()
    assert b.push().merged == ["alice"]
    exchange(a, b)
    assert "coffee" in a.text("alice")
    assert "Porto" in a.text("alice")


def test_changes_of_one_line_keep_both_texts(shared: tuple[Brain, Brain]) -> None:
    a, b = shared
    change(a, "tea", "coffee")
    change(b, "tea", "water")
    a.push()
    for _ in range(2):
        report = b.push()
        assert (report.pushed, report.conflicts) == ([], ["alice"])
    assert "water" in b.text("alice")
    texts = b.conflict_texts("alice")
    assert texts.base == PAGE
    assert "coffee" in (texts.theirs or "")


def test_a_conflict_ends_when_the_other_side_takes_our_text(shared: tuple[Brain, Brain]) -> None:
    a, b = shared
    change(a, "tea", "coffee")
    change(b, "tea", "water")
    a.push()
    b.pull()
    change(a, "coffee", "water")
    a.push()
    assert b.pull().conflicts == []
    assert b.conflicts() == []
    exchange(a, b)


def test_a_conflict_follows_what_happens_there(shared: tuple[Brain, Brain]) -> None:
    a, b = shared
    change(a, "tea", "coffee")
    change(b, "tea", "water")
    a.push()
    b.pull()
    change(a, "coffee", "cocoa")
    a.push()
    assert b.pull().conflicts == ["alice"]
    assert "cocoa" in (b.conflict_texts("alice").theirs or "")
    assert b.conflict_texts("alice").base == PAGE
    # Nothing but our line is left of the difference.
    change(a, "cocoa", "tea")
    a.push()
    assert b.pull().conflicts == []
    assert b.push().pushed == ["alice"]
    exchange(a, b)
    assert "water" in a.text("alice")


def test_edits_during_a_conflict_are_not_pushed(shared: tuple[Brain, Brain]) -> None:
    a, b = shared
    change(a, "tea", "coffee")
    change(b, "tea", "water")
    a.push()
    b.pull()
    b.capture("more", name="alice")
    assert b.push().pushed == []
    texts = b.conflict_texts("alice")
    b.resolve_conflict("alice", b.text("alice").encode(), texts)
    assert b.push().pushed == ["alice"]
    exchange(a, b)
    assert "more" in a.text("alice")


def test_both_deleted_the_page(shared: tuple[Brain, Brain]) -> None:
    for brain in shared:
        brain.delete("alice")
        report = brain.push()
        assert report.conflicts == []
    assert shared[0].pull().deleted == []


def test_a_page_that_both_created_is_merged_if_one_contains_the_other(a: Brain, b: Brain) -> None:
    a.put("alice", PAGE.encode())
    b.put("alice", (PAGE + "- 2026-03-01: more\n").encode())
    a.push()
    assert b.push().conflicts == []
    exchange(a, b)
    assert "more" in a.text("alice")


def test_pages_that_both_created_differently_are_a_conflict(a: Brain, b: Brain) -> None:
    a.put("alice", b"# Alice\n\nA doctor.\n")
    b.put("alice", b"# Alice\n\nA lawyer.\n")
    a.push()
    assert b.push().conflicts == ["alice"]
    texts = b.conflict_texts("alice")
    assert texts.base is None
    assert (texts.brain, texts.theirs) == ("# Alice\n\nA lawyer.\n", "# Alice\n\nA doctor.\n")


def test_the_base_of_a_merge_is_found_on_the_server(shared: tuple[Brain, Brain]) -> None:
    """A brain whose history was dropped must not turn every merge into a conflict."""
    a, b = shared
    change(a, "tea", "coffee")
    change(b, "Lisbon", "Porto")
    with b.database.write_transaction() as connection:
        connection.execute("DELETE FROM versions")
    a.push()
    assert b.push().merged == ["alice"]
    exchange(a, b)


def test_line_ends_of_one_machine_do_not_change_the_other(a: Brain, b: Brain) -> None:
    a.put("alice", PAGE.replace("\n", "\r\n").encode())
    a.push()
    b.pull()
    b.capture("from b", name="alice")
    b.push()
    a.pull()
    assert a.text("alice") == b.text("alice")
    assert "\r\n" in a.text("alice")


def test_three_machines_converge(machine: Callable[[str], Brain]) -> None:
    brains = [machine(name) for name in "xyz"]
    brains[0].put("alice", PAGE.encode())
    brains[0].push()
    for brain in brains[1:]:
        brain.pull()
    for n in range(3):
        for number, brain in enumerate(brains):
            brain.add_to_timeline("alice", f"{number} {n}", date="2026-05-01")
            brain.push()
    for brain in brains:
        brain.pull()
    texts = {brain.text("alice") for brain in brains}
    assert len(texts) == 1
    assert all(f"{number} {n}" in next(iter(texts)) for number in range(3) for n in range(3))


def test_a_push_that_was_not_recorded_is_not_a_conflict(
    shared: tuple[Brain, Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store has our text, this machine forgot it, and the other one has changed it since."""
    a, b = shared
    change(a, "tea", "coffee")
    with monkeypatch.context() as patch:
        patch.setattr("gbrain.remotes.push.record_bases", lambda *arguments: None)
        patch.setattr("gbrain.remotes.push.record_pushed", lambda *arguments: None)
        a.push()
    b.pull()
    change(b, "coffee", "cocoa")
    b.push()
    report = a.pull()
    assert (report.updated, report.conflicts) == (["alice"], [])
    exchange(a, b)
    assert "cocoa" in a.text("alice")


def test_an_edit_after_an_unrecorded_push_wins(
    shared: tuple[Brain, Brain], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = shared
    change(a, "tea", "coffee")
    with monkeypatch.context() as patch:
        patch.setattr("gbrain.remotes.push.record_bases", lambda *arguments: None)
        patch.setattr("gbrain.remotes.push.record_pushed", lambda *arguments: None)
        a.push()
    change(a, "coffee", "cocoa")
    assert a.push().conflicts == []
    b.pull()
    exchange(a, b)
    assert "cocoa" in b.text("alice")
