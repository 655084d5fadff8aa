"""Vectors by slot and their codes: found again, freed, used again, each model for itself."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from hashlib import blake2b
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gbrain.brain import Brain
from gbrain.store import vector_scan, vectors
from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace
from gbrain.types import Scope

DIMENSION = 32

Floats = NDArray[np.float32]


def units(count: int, dimension: int = DIMENSION, seed: int = 1) -> Floats:
    """Random directions, one a row."""
    drawn = np.random.default_rng(seed).standard_normal((count, dimension))
    rows: Floats = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return rows


def name(number: int) -> bytes:
    return blake2b(str(number).encode(), digest_size=16).digest()


@pytest.fixture
def space(brain: Brain) -> VectorSpace:
    return made_space(brain, DIMENSION)


def made_space(brain: Brain, dimension: int, model: str = "drawn") -> VectorSpace:
    """A model of that name whose vectors the tests draw themselves."""
    with brain.database.write_transaction() as connection:
        vectors.create_vector_tables(connection, dimension)
        row = connection.execute(
            "INSERT INTO embedding_models (name, identity, sha256, pooling, query_prefix, "
            "passage_prefix, dimension, max_tokens, description, added_at) "
            "VALUES (?1, ?1, '', 'cls', '', '', ?2, 512, '{}', '') RETURNING id",
            (model, dimension),
        ).fetchone()
    return VectorSpace(row[0], dimension)


def hold(brain: Brain, numbers: Iterable[int]) -> None:
    """Gives each vector of these numbers a chunk, all on one page."""
    brain.put("holder", b"words\n")
    with brain.database.write_transaction() as connection:
        connection.execute("DELETE FROM chunks")
        connection.executemany(
            "INSERT INTO chunks (page_id, section, part, kind, byte_start, byte_stop, first_line, "
            "last_line, hash, heading_path, text) "
            "VALUES (1, ?, 0, 'truth', 0, 1, 1, 1, ?, '[]', 'w')",
            [(number, name(number)) for number in numbers],
        )


def keep(brain: Brain, space: VectorSpace, rows: Floats, first: int = 0) -> None:
    with brain.database.write_transaction() as connection:
        named = [(name(number), row) for number, row in enumerate(rows, first)]
        vectors.store_vectors(connection, space, named)


def slots(brain: Brain, space: VectorSpace) -> dict[bytes, int]:
    rows = brain.database.connection.execute(
        f"SELECT hash, slot FROM {space.vectors} WHERE model_id = ? AND hash IS NOT NULL",
        (space.model_id,),
    )
    return dict(rows.fetchall())


def scan(brain: Brain, space: VectorSpace, query: Floats) -> Floats:
    with (
        brain.database.read_transaction() as connection,
        closing(brain.database.open_second_connection()) as second,
    ):
        return vector_scan.approximate_cosines((connection, second), space, query)


def test_a_scan_gives_approximate_cosines(brain: Brain, space: VectorSpace) -> None:
    rows, query = units(SEGMENT_SLOTS + 10), units(1, seed=2)[0]
    keep(brain, space, rows)
    by_slot = scan(brain, space, query)
    assert len(by_slot) == 2 * SEGMENT_SLOTS
    assert np.abs(by_slot[: len(rows)] - rows @ query).max() < 0.01
    assert not by_slot[len(rows) :].any()


def test_a_brain_without_vectors_scans_nothing(brain: Brain, space: VectorSpace) -> None:
    assert len(scan(brain, space, units(1)[0])) == 0
    with brain.database.read_transaction() as connection:
        assert not vectors.has_vectors(connection, space)
        assert vector_scan.exact_cosines(connection, space, units(1)[0], [0, 1], Scope()) == []


def test_a_zero_vector_has_cosine_0(brain: Brain, space: VectorSpace) -> None:
    keep(brain, space, np.zeros((1, DIMENSION), np.float32))
    assert scan(brain, space, units(1)[0])[0] == 0


def test_a_stored_hash_is_not_stored_again(brain: Brain, space: VectorSpace) -> None:
    keep(brain, space, units(3))
    before = slots(brain, space)
    keep(brain, space, units(3, seed=9))
    query = units(3)[1]
    assert slots(brain, space) == before
    assert scan(brain, space, query)[1] == pytest.approx(1, abs=0.01)


def test_one_new_vector_writes_two_rows(brain: Brain, space: VectorSpace) -> None:
    keep(brain, space, units(3000))
    connection = brain.database.connection
    before = connection.execute(f"SELECT segment, codes FROM {space.codes}").fetchall()
    changes = connection.total_changes
    keep(brain, space, units(1, seed=5), first=3000)
    assert connection.total_changes - changes <= 2
    after = connection.execute(f"SELECT segment, codes FROM {space.codes}").fetchall()
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, False]
    differing = sum(a != b for a, b in zip(before[2][1], after[2][1], strict=True))
    assert 0 < differing <= 4 + DIMENSION


def test_freed_slots_score_0_and_are_used_again(brain: Brain, space: VectorSpace) -> None:
    rows = units(2500)
    keep(brain, space, rows)
    hold(brain, range(1200, 2500))
    with brain.database.write_transaction() as connection:
        assert vectors.remove_orphaned_vectors(connection, space) == 1200
        assert vectors.remove_orphaned_vectors(connection, space) == 0
    assert not scan(brain, space, rows[0])[:1200].any()
    fresh = units(1500, seed=3)
    keep(brain, space, fresh, first=5000)
    known = slots(brain, space)
    assert sorted(known.values()) == list(range(2800))
    scores = scan(brain, space, fresh[7])
    assert scores.argmax() == known[name(5007)]
    assert scores[known[name(2000)]] == pytest.approx(float(rows[2000] @ fresh[7]), abs=0.01)


def test_models_of_one_dimension_do_not_see_each_other(brain: Brain, space: VectorSpace) -> None:
    other = made_space(brain, DIMENSION, "other")
    keep(brain, space, units(5))
    keep(brain, other, units(2, seed=4))
    assert np.count_nonzero(scan(brain, space, units(1)[0])) == 5
    assert np.count_nonzero(scan(brain, other, units(1)[0])) == 2


def test_exact_scores_are_best_first_and_within_the_scope(brain: Brain, space: VectorSpace) -> None:
    rows = units(50)
    keep(brain, space, rows)
    hold(brain, range(50))
    query = units(1, seed=8)[0]
    with brain.database.read_transaction() as connection:
        found = vector_scan.exact_cosines(connection, space, query, range(50), Scope())
        nobody = vector_scan.exact_cosines(
            connection, space, query, range(50), Scope(wing="elsewhere")
        )
    assert [chunk.score for chunk in found] == sorted((c.score for c in found), reverse=True)
    assert [c.score for c in found] == pytest.approx(sorted(rows @ query, reverse=True), abs=1e-3)
    assert nobody == []


walks = count()
steps = st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=12)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=steps)
def test_adding_and_removing_keeps_every_vector(
    brain: Brain, steps: list[tuple[bool, int]]
) -> None:
    rows = units(31)
    space = made_space(brain, DIMENSION, f"walk {next(walks)}")
    held: set[int] = set()
    for comes, number in steps:
        held = held | {number} if comes else held - {number}
        if comes:
            keep(brain, space, rows[number : number + 1], first=number)
        hold(brain, held)
        with brain.database.write_transaction() as connection:
            vectors.remove_orphaned_vectors(connection, space)
    known = slots(brain, space)
    assert set(known) == {name(number) for number in held}
    for number in held:
        assert scan(brain, space, rows[number])[known[name(number)]] == pytest.approx(1, abs=0.01)
