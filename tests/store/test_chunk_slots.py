"""The page and slot of each chunk follow every change, and a filter lists the slots in scope."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from gbrain.brain import Brain
from gbrain.errors import BadBrain
from gbrain.store import chunk_slots, scope
from gbrain.store.chunk_slots import count_wrong_segments, rebuild_chunk_slots, slots_in_scope
from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace
from gbrain.store.vectors import active_space, which_in_scope
from gbrain.types import Scope

PAGES = {
    "people/alice": "---\ntype: Person\ntags: [Founder]\n---\n# Alice\nA river.\n\n## Role\nB\n",
    "people/bob": "---\ntype: person\ntags: [founder, chef]\ndate: 2026-04-02\n---\nBob\n",
    "companies/river-ai": "---\ndate: 2026-04\n---\nRiver\n\n## Timeline\n- 2025-01-02 — began\n",
    "meetings/long": "# Long\n\n---\n## Timeline\n- 2026-05-02 — river one\n- 2025 — river two\n",
    "meetings/copy": "# Long\n\n---\n## Timeline\n- 2026-05-02 — river one\n- 2025 — river two\n",
    "journal/2026-04-03": "# Walk by the river\n",
}
SCOPES = [
    Scope(wing="people"),
    Scope(room="stub"),
    Scope(type="PERSON"),
    Scope(tags=("founder",)),
    Scope(tags=("founder", "chef")),
    Scope(slug_prefix="companies/"),
    Scope(slug_prefix="nothing/"),
    Scope(exclude=("people/bob",)),
    Scope(where=(("type", "person"),)),
    Scope(since="2026-04-01"),
    Scope(until="2025-12-31"),
    Scope(since="2026-04-01", until="2026-04-30", wing="companies"),
    Scope(periods=(("2026-04-01", "2026-04-30"),)),
    Scope(periods=(("2026-04-01", "2026-04-30"),), since="2026-04-03", type="person"),
    Scope(periods=(("2025-01-01", "2025-12-31"), ("2026-05-01", "2026-05-31"))),
]


@pytest.fixture
def brain(make_brain: Callable[..., Brain]) -> Brain:
    made = make_brain(PAGES)
    made.embed()
    return made


def space_of(connection: sqlite3.Connection) -> VectorSpace:
    space = active_space(connection)
    assert space is not None
    return space


def wrong(brain: Brain) -> int:
    with brain.database.read_transaction() as connection:
        return count_wrong_segments(connection, space_of(connection))


def check_scopes(brain: Brain) -> None:
    with brain.database.read_transaction() as connection:
        space = space_of(connection)
        for one in SCOPES:
            listed = slots_in_scope(connection, space, one).tolist()
            looked_up = which_in_scope(connection, space, np.arange(SEGMENT_SLOTS), one).tolist()
            assert listed == looked_up, one


def test_a_filter_lists_the_slots_that_are_found_one_by_one(brain: Brain) -> None:
    check_scopes(brain)
    with brain.database.read_transaction() as connection:
        everywhere = Scope(exclude=("nothing",))
        assert len(slots_in_scope(connection, space_of(connection), everywhere)) > len(PAGES)


def test_pairs_follow_every_change(brain: Brain) -> None:
    drawn = random.Random(3)
    texts = [*PAGES.values(), "# New\n\nRiver\n", "# New\n\n- 2026-05-02 — river one\n"]
    for step in range(60):
        slugs = [page.slug for page in brain.list()[0]]
        change = drawn.randrange(6)
        if change < 2:
            brain.put(f"notes/{drawn.randrange(4)}", drawn.choice(texts).encode())
        elif change == 2 and slugs:
            brain.delete(drawn.choice(slugs))
        elif change == 3 and slugs:
            brain.rename(drawn.choice(slugs), f"moved/{step}")
        elif change == 4:
            brain.embed()
        elif change == 5 and drawn.random() < 0.3:
            brain.compact()
        assert wrong(brain) == 0
    brain.embed()
    assert wrong(brain) == 0
    check_scopes(brain)


def test_a_chunk_with_a_known_text_is_found_before_it_is_embedded(brain: Brain) -> None:
    brain.put("notes/same", PAGES["meetings/long"].encode())
    assert brain.jobs(1)[0] == []
    found = brain.query("river one", mode="semantic", scope=Scope(slug_prefix="notes/")).hits
    assert [hit.slug for hit in found] == ["notes/same"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {}",
        "UPDATE {} SET pairs = zeroblob(length(pairs))",
        "DELETE FROM chunks WHERE id = 1",
    ],
)
def test_wrong_pairs_are_counted_and_rebuilt(brain: Brain, statement: str) -> None:
    with brain.database.write_transaction() as connection:
        space = space_of(connection)
        connection.execute(statement.format(space.chunk_slots))
        assert count_wrong_segments(connection, space) == 1
        rebuild_chunk_slots(connection, space)
        assert count_wrong_segments(connection, space) == 0


@pytest.mark.parametrize(
    ("table", "column", "write"),
    [
        ("page_embeddings_chunks_384", "pairs", lambda brain: brain.delete("people/bob")),
        ("page_embeddings_codes_384", "codes", lambda brain: brain.embed()),
    ],
    ids=["a deletion", "new vectors"],
)
def test_a_segment_of_another_size_is_reported_by_what_writes_it(
    brain: Brain, table: str, column: str, write: Callable[[Brain], object]
) -> None:
    brain.put("notes/new", b"# New\n")
    with brain.database.write_transaction() as connection:
        connection.execute(f"UPDATE {table} SET {column} = x'0102'")
    with pytest.raises(BadBrain, match="vectors are damaged"):
        write(brain)


def test_a_brain_without_the_table_lists_the_same_slots(brain: Brain) -> None:
    with brain.database.write_transaction() as connection:
        space = space_of(connection)
        before = slots_in_scope(connection, space, Scope(wing="people")).tolist()
        connection.execute(f"DROP TABLE {space.chunk_slots}")
        assert slots_in_scope(connection, space, Scope(wing="people")).tolist() == before != []


def test_far_slots_and_large_ids_are_listed(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    with brain.database.write_transaction() as connection:
        space = space_of(connection)
        expected = slots_in_scope(connection, space, Scope(wing="people")).tolist()
        monkeypatch.setattr(chunk_slots, "_MAX_MARKED_SLOT", 0)
        assert slots_in_scope(connection, space, Scope(wing="people", exclude=("x",))).tolist() == (
            expected
        )
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for table, column in (("pages", "id"), ("chunks", "page_id")):
            connection.execute(f"UPDATE {table} SET {column} = {column} + (1 << 40)")
        connection.execute("UPDATE chunks SET id = id + (1 << 50)")
        rebuild_chunk_slots(connection, space)
        again = slots_in_scope(connection, space, Scope(wing="people")).tolist()
        assert again == expected
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")


@pytest.mark.parametrize(
    ("one", "most"),
    [
        (Scope(wing="people"), 2),
        (Scope(room="stub"), 3),
        (Scope(type="person"), 2),
        (Scope(tags=("founder",)), 2),
        (Scope(slug_prefix="meetings/"), 2),
        (Scope(since="2026-05-01"), 4),
        (Scope(wing="people", tags=("founder",)), 2),
        (Scope(exclude=("people/bob",)), 5),
    ],
)
def test_a_scope_is_quickly_listed_up_to_a_number_of_pages(
    brain: Brain, one: Scope, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(PAGES) == 6
    with brain.database.read_transaction() as connection:
        for pages, quick in ((most, True), (most - 1, False)):
            monkeypatch.setattr(scope, "_LISTED_SHARE", Fraction(6, pages))
            monkeypatch.setattr(scope, "_LISTED_PAGES_SQUARED", pages * pages // 6 + 1)
            assert scope._is_quickly_listed(connection, one) == quick
