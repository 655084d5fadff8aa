"""What boosts learn of pages: front matter, dates, chunks, opens and phrases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.store.ranking_data import BoostDataRequest, read_boost_data
from gbrain.text.query_terms import parse_terms
from gbrain.types import BoostData


def put(brain: Brain, slug: str, front: dict[str, object], body: str = "Words.") -> int:
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
    brain.put(slug, f"---\n{lines}---\n{body}\n".encode())
    return brain.get(slug).id


def of(
    brain: Brain,
    page_id: int,
    chunk: int | None = None,
    wanted: BoostDataRequest = BoostDataRequest(),
) -> BoostData:
    with brain.database.read_transaction() as connection:
        return read_boost_data(connection, {page_id: chunk}, wanted)[page_id]


def test_boost_data_comes_from_the_page(brain: Brain) -> None:
    front = {"title": "Old plan", "tags": ["a b", "c"], "date": "2026-05", "wing": "projects"}
    known = of(brain, put(brain, "plan", front))
    assert (known.title, known.wing, known.tags) == ("Old plan", "projects", ("a b", "c"))
    assert (known.first_day, known.last_day) == ("2026-05-01", "2026-05-31")
    assert known.changed_day == "2026-11-16"
    assert (known.superseded_by, known.pinned, known.importance) == (None, False, None)


def test_the_day_of_an_import_is_no_day_of_a_change(brain: Brain, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "file.md").write_text("# File\n")
    brain.import_folder(notes)
    page = brain.get("file").id
    assert of(brain, page).changed_day == ""
    (notes / "file.md").write_text("# File\n\nMore.\n")
    brain.import_folder(notes)
    assert of(brain, page).changed_day == "2026-11-16"


def test_dated_entries_are_noticed_if_asked_for(brain: Brain) -> None:
    plain = put(brain, "plain", {"date": "2026-04-03"})
    entry = put(brain, "alice", {}, "# Alice\n\n## Timeline\n\n- 2026-04-03 — Called.")
    for page, has_entries in ((plain, False), (entry, True)):
        assert of(brain, page, None, BoostDataRequest(entries=True)).has_entries is has_entries
        assert not of(brain, page).has_entries


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("plans/new", "plans/new"),
        (["plans/new", "plans/newer"], "plans/new"),
        ("", None),
        (" ", None),
        ([], None),
        (None, None),
        (False, None),
        ({"page": "x"}, None),
    ],
)
def test_the_superseding_page_is_read(brain: Brain, written: object, read: str | None) -> None:
    page = put(brain, "plan", {"superseded_by": written, "pinned": True})
    assert of(brain, page).superseded_by == read
    assert of(brain, page).pinned


@pytest.mark.parametrize("pinned", ["true", 1, None, False])
def test_only_true_pins(brain: Brain, pinned: object) -> None:
    assert not of(brain, put(brain, "plan", {"superseded_by": "x", "pinned": pinned})).pinned


@pytest.mark.parametrize(
    ("written", "read"),
    [(0, 0.0), (0.3, 0.3), (1, 1.0), (7, 0.7), (10, 1.0), (11, None), (-1, None), (True, None),
     ("high", None), ([1], None)],
)  # fmt: skip
def test_importance_is_a_share_or_one_of_ten(
    brain: Brain, written: object, read: float | None
) -> None:
    assert of(brain, put(brain, "plan", {"importance": written})).importance == read


def test_damaged_front_matter_json_is_ignored(brain: Brain) -> None:
    page = put(brain, "plan", {"superseded_by": "x"})
    with brain.database.write_transaction() as connection:
        connection.execute("UPDATE pages SET meta = '{\"superseded_by\"'")
    assert of(brain, page).superseded_by is None


def test_the_best_chunk_is_read_on_request(brain: Brain) -> None:
    page = put(brain, "plan", {}, "Truth.\n\n---\n## Timeline\n- 2026-04-03 — Began")
    with brain.database.read_transaction() as connection:
        sql = "SELECT id FROM chunks WHERE kind = 'timeline'"
        chunk = connection.execute(sql).fetchone()[0]
    assert of(brain, page, chunk).chunk_text == ""
    known = of(brain, page, chunk, BoostDataRequest(chunks=True))
    assert (known.chunk_kind, known.chunk_first_day) == ("timeline", "2026-04-03")
    assert "Began" in known.chunk_text
    assert of(brain, page, None, BoostDataRequest(chunks=True)).chunk_kind is None


def test_open_counts_are_read_on_request(brain: Brain) -> None:
    page = put(brain, "plan", {})
    with brain.database.write_transaction() as connection:
        connection.execute("INSERT INTO page_use VALUES (?, 3, '2026-11-16')", (page,))
    assert of(brain, page).opens == 0
    assert of(brain, page, wanted=BoostDataRequest(opens=True)).opens == 3


def test_a_brain_without_the_page_use_table_has_no_opens(brain: Brain) -> None:
    page = put(brain, "plan", {})
    with brain.database.write_transaction() as connection:
        connection.execute("DROP TABLE page_use")
    assert of(brain, page, wanted=BoostDataRequest(opens=True)).opens == 0


def test_pages_with_every_quoted_phrase_are_marked(brain: Brain) -> None:
    one = put(brain, "one", {}, "The cold start of a warm engine.")
    two = put(brain, "two", {}, "Cold engines never start warm; a cold start hurts.")
    phrases = parse_terms('"cold start" "warm engine"')
    with brain.database.read_transaction() as connection:
        known = read_boost_data(
            connection, {one: None, two: None}, BoostDataRequest(phrases=phrases)
        )
    assert (known[one].has_phrase, known[two].has_phrase) == (True, False)


def test_a_deleted_page_is_left_out(sample: Path) -> None:
    with Brain.open(sample) as brain, brain.database.read_transaction() as connection:
        assert (
            read_boost_data(connection, {10**9: 10**9}, BoostDataRequest(chunks=True, opens=True))
            == {}
        )
