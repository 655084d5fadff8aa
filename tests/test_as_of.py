"""The brain as it stood on an earlier day."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gbrain import as_of
from gbrain.as_of import brain_as_of
from gbrain.brain import Brain
from gbrain.errors import BadBrain
from gbrain.paths import cache_folder
from gbrain.store.backup import restore_brain
from gbrain.store.chunk_slots import count_wrong_segments
from gbrain.store.vectors import active_space

On = Callable[[str], None]


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> On:
    """`on("2026-03-01")` makes it noon of that day."""
    return lambda day: monkeypatch.setenv("GBRAIN_NOW", f"{day}T12:00:00")


def pages(brain: Brain, day: str) -> dict[str, str]:
    """The pages that stood at the end of a day, with their text."""
    with brain_as_of(brain, day) as then:
        return {page.slug: then.text(page.slug) for page in then.list()[0]}


def found(brain: Brain, day: str, words: str) -> list[str]:
    with brain_as_of(brain, day) as then:
        return [hit.slug for hit in then.search(words).hits]


def copies() -> list[Path]:
    return sorted((cache_folder() / "as-of").iterdir())


def test_a_page_has_its_text_of_that_day(brain: Brain, on: On):
    for day, text in (("2026-03-01", b"one"), ("2026-03-05", b"two"), ("2026-03-09", b"three")):
        on(day)
        brain.put("a", text)
    assert pages(brain, "2026-02-28") == {}
    assert pages(brain, "2026-03-01") == {"a": "one"}
    assert pages(brain, "2026-03-04") == {"a": "one"}
    assert pages(brain, "2026-03-05") == {"a": "two"}
    assert pages(brain, "2026-03-09") == {"a": "three"}
    assert pages(brain, "9999-12-31") == {"a": "three"}
    assert pages(brain, "0001-01-01") == {}
    with brain_as_of(brain, "2026-03-06") as then:
        page = then.get("a")
        assert (page.version, page.updated_at[:10], page.created_at[:10]) == (
            2, "2026-03-05", "2026-03-01",
        )  # fmt: skip
    assert brain.text("a") == "three"


def test_a_page_is_found_by_its_earlier_words(brain: Brain, on: On):
    on("2026-03-01")
    brain.put("a", b"# A\n\nThe lighthouse keeper")
    on("2026-03-05")
    brain.put("a", b"# A\n\nThe harbour master")
    assert found(brain, "2026-03-02", "lighthouse") == ["a"]
    assert found(brain, "2026-03-02", "harbour") == []
    assert found(brain, "2026-03-05", "harbour") == ["a"]


def test_a_page_deleted_later_is_present(brain: Brain, on: On):
    on("2026-03-01")
    brain.put("a", b"first life")
    on("2026-03-03")
    brain.delete("a")
    on("2026-03-05")
    brain.put("a", b"second life")
    on("2026-03-07")
    brain.delete("a")
    assert pages(brain, "2026-03-02") == {"a": "first life"}
    assert pages(brain, "2026-03-04") == {}
    assert pages(brain, "2026-03-06") == {"a": "second life"}
    assert pages(brain, "2026-03-08") == {}


def test_a_slug_belongs_to_the_page_that_had_it_then(brain: Brain, on: On):
    on("2026-03-01")
    brain.put("a", b"was a")
    brain.put("b", b"was b")
    on("2026-03-05")
    brain.rename("a", "c")
    brain.rename("b", "a")
    brain.rename("c", "b")
    assert pages(brain, "2026-03-04") == {"a": "was a", "b": "was b"}
    assert pages(brain, "2026-03-05") == {"a": "was b", "b": "was a"}


def test_a_page_can_be_older_than_the_brain(brain: Brain, on: On):
    on("2026-11-01")
    brain.put("dated", b"---\ndate: 2024-05-01\n---\nx")
    brain.put("kept-up", b"---\ncreated: 2023-01-01\nupdated: 2026-10-10\n---\nx")
    brain.put("journal/2025-06-07", b"x")
    brain.put("told", b"x\n\n## Timeline\n- 2025-01-01 \xe2\x80\x94 began\n- 2026-01-01: went on\n")
    brain.put("undated", b"x")
    assert set(pages(brain, "2022-12-31")) == set()
    assert set(pages(brain, "2023-12-31")) == {"kept-up"}
    assert set(pages(brain, "2024-05-01")) == {"kept-up", "dated"}
    then = pages(brain, "2025-12-31")
    assert set(then) == {"kept-up", "dated", "journal/2025-06-07", "told"}
    assert then["told"] == "x\n\n## Timeline\n- 2025-01-01 — began\n"
    assert "undated" in pages(brain, "2026-11-01")


def test_before_the_first_version_the_earliest_is_used(brain: Brain, on: On):
    on("2026-11-01")
    brain.put("a", b"---\ndate: 2024-05-01\n---\nearliest")
    on("2026-11-02")
    brain.put("a", b"latest")
    brain.put("b", b"---\ndate: 2024-05-01\n---\ngone now")
    on("2026-11-03")
    brain.delete("b")
    then = pages(brain, "2025-01-01")
    assert then == {
        "a": "---\ndate: 2024-05-01\n---\nearliest",
        "b": "---\ndate: 2024-05-01\n---\ngone now",
    }


def test_a_reused_slug_belongs_to_its_first_page(brain: Brain, on: On):
    on("2026-03-01")
    brain.put("a", b"---\ndate: 2020-01-01\n---\nfirst")
    brain.rename("a", "b")
    on("2026-03-02")
    brain.put("a", b"---\ndate: 2020-01-01\n---\nsecond")
    assert pages(brain, "2026-02-01") == {"a": "---\ndate: 2020-01-01\n---\nfirst"}


def test_later_timeline_entries_are_left_out(brain: Brain, on: On):
    on("2026-01-01")
    text = "# A\n\n## Timeline\n- 2026-02-01 — planned\n- 2025-02-01 — lighthouse\n"
    brain.put("a", text.encode())
    assert pages(brain, "2026-01-15") == {"a": text.replace("- 2026-02-01 — planned\n", "")}
    assert found(brain, "2026-01-15", "planned") == []
    assert found(brain, "2026-02-01", "planned") == ["a"]


def test_a_day_ends_at_local_midnight(brain: Brain, monkeypatch: pytest.MonkeyPatch):
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        monkeypatch.setenv("GBRAIN_NOW", "2026-03-01T14:59:00+00:00")
        brain.put("before", b"x")
        monkeypatch.setenv("GBRAIN_NOW", "2026-03-01T15:00:00+00:00")
        brain.put("after", b"x")
        assert set(pages(brain, "2026-03-01")) == {"before"}
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("others", [1, 30], ids=["most pages go", "few pages go"])
def test_indexes_match_the_pages_of_that_day(brain: Brain, on: On, others: int):
    on("2026-03-01")
    for number in range(others):
        brain.put(f"n{number}", f"# Note {number}\n\nlighthouse".encode())
    brain.put("moved", b"# Moved\n\nharbour")
    on("2026-03-05")
    brain.rename("moved", "away")
    for number in range(2):
        brain.put(f"late{number}", b"# Late\n\nlighthouse")
    brain.put("n0", b"# Note 0\n\nharbour")
    brain.embed()
    assert len(found(brain, "2026-03-02", "lighthouse")) == min(others, 10)
    assert found(brain, "2026-03-02", "harbour") == ["moved"]
    with brain_as_of(brain, "2026-03-02") as then, then.database.write_transaction() as connection:
        for index in ("pages_fts", "chunks_fts"):
            connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
        space = active_space(connection)
        assert space is not None
        assert count_wrong_segments(connection, space) == 0


def test_the_copy_is_made_once_and_is_private(brain: Brain, on: On):
    on("2026-03-01")
    brain.put("a", b"one")
    pages(brain, "2026-03-01")
    [copy] = copies()
    made = copy.stat()
    assert stat.S_IMODE(made.st_mode) == 0o600
    pages(brain, "2026-03-01")
    assert copies() == [copy]
    assert copy.stat().st_ino == made.st_ino
    brain.put("a", b"two")
    assert pages(brain, "2026-03-01") == {"a": "two"}
    assert len(copies()) == 2


def test_a_restored_brain_has_copies_of_its_own(brain: Brain, tmp_path: Path):
    """All counts and the newest page are the same before and after the restore."""
    brain.put("a", b"one")
    brain.put("newest", b"text")
    copy = tmp_path / "copy.db"
    brain.backup(copy)
    brain.put("a", b"rolled back")
    path = brain.path
    assert pages(brain, "2026-11-16")["a"] == "rolled back"
    brain.close()
    restore_brain(path, copy, "20261116T120000Z", 1)
    with Brain.open(path) as restored:
        restored.put("a", b"written again")
        assert pages(restored, "2026-11-16")["a"] == "written again"


def test_only_the_last_used_copies_are_kept(brain: Brain):
    brain.put("a", b"one")
    left = cache_folder() / "as-of" / ".file.0123.gbrain-new"
    for number in range(1, 6):
        pages(brain, f"2026-11-0{number}")
        for age, copy in enumerate(sorted(copies(), key=lambda path: path.stat().st_mtime)):
            os.utime(copy, (age, age))
    assert len(copies()) == as_of.MAX_COPIES
    left.write_bytes(b"x")
    os.utime(left, (1, 1))
    pages(brain, "2026-11-05")
    assert not left.exists()
    assert len(copies()) == as_of.MAX_COPIES


def test_current_settings_apply(brain: Brain):
    brain.put("a", b"one")
    pages(brain, "2026-11-16")
    brain.set("default_limit", "7")
    with brain_as_of(brain, "2026-11-16") as then:
        assert then.settings.default_limit == 7
    assert len(copies()) == 1


def test_chunks_of_earlier_versions_are_embedded(brain: Brain, on: On):
    on("2026-03-01")
    brain.put("a", b"# Boats\n\nThe ferry leaves for the island at dawn.")
    brain.put("b", b"# Heaps\n\nCompost needs leaves and time.")
    on("2026-03-05")
    brain.put("a", b"# Boats\n\nThe yard is closed.")
    brain.embed()
    on("2026-03-06")
    brain.put("c", b"# Waiting\n\nNot embedded yet.")
    with brain_as_of(brain, "2026-03-02") as then:
        assert then.stats().jobs == 0
        answer = then.query("ship to the isle", mode="semantic")
        assert answer.hits[0].slug == "a"
        assert "dawn" in answer.hits[0].snippet
        assert answer.hits[0].lanes["vector"].score > 0.6


def test_a_read_only_brain_can_be_queried_as_of_a_day(brain: Brain, brain_path: Path):
    brain.put("a", b"one")
    brain.close()
    brain_path.chmod(0o400)
    with Brain.open(brain_path) as frozen:
        assert pages(frozen, "2026-11-16") == {"a": "one"}


def test_a_cache_folder_that_cannot_be_created_is_an_error(
    brain: Brain, tmp_path: Path, monkeypatch
):
    brain.put("a", b"one")
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(BadBrain, match="Cannot write a copy of the brain"):
        brain_as_of(brain, "2026-11-16")


def test_a_failure_leaves_nothing_behind(brain: Brain, monkeypatch: pytest.MonkeyPatch):
    brain.put("a", b"one")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(as_of, "_rewind", fail)
    with pytest.raises(BadBrain, match="No space left"):
        brain_as_of(brain, "2026-11-16")
    assert copies() == []
