"""Bits of a large brain: what they find, and that they follow their codes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gbrain.brain import Brain
from gbrain.store import vector_scan, vectors
from gbrain.store.vector_bits import (
    MIN_SEGMENTS,
    add_missing_stamp,
    count_wrong_segments,
    likely_slots,
    read_stamp,
    rebuild_bits,
)
from gbrain.store.vector_memory import find_memory, read_bits_and_centre
from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace

DIMENSION = 96
COUNT = MIN_SEGMENTS * SEGMENT_SLOTS + 500

Floats = NDArray[np.float32]


def draw(count: int, seed: int) -> Floats:
    """Directions in groups around a common mean, as texts have them."""
    random = np.random.default_rng(seed)
    middles = np.random.default_rng(1).standard_normal((300, DIMENSION))
    rows = middles[random.integers(300, size=count)] + random.standard_normal((count, DIMENSION))
    rows += 2 * np.random.default_rng(2).standard_normal(DIMENSION)
    unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def store(brain: Brain, space: VectorSpace, rows: Floats, first: int = 0) -> None:
    with brain.database.write_transaction() as connection:
        named = [(number.to_bytes(16, "big"), row) for number, row in enumerate(rows, first)]
        vectors.store_vectors(connection, space, named)


@pytest.fixture(scope="module")
def rows() -> Floats:
    return draw(COUNT, seed=3)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, rows: Floats) -> Iterator[Brain]:
    """A brain with just enough vectors for bits."""
    path: Path = tmp_path_factory.mktemp("bits") / "brain.db"
    with Brain.open(path, make=True) as brain:
        space = VectorSpace(7, DIMENSION)
        with brain.database.write_transaction() as connection:
            vectors.create_vector_tables(connection, DIMENSION)
            connection.execute(
                "INSERT INTO embedding_models (id, name, identity, sha256, pooling, query_prefix, "
                "passage_prefix, dimension, max_tokens, description, added_at) "
                "VALUES (7, 'drawn', 'drawn', '', 'cls', '', '', ?, 512, '{}', '')",
                (DIMENSION,),
            )
        for start in range(0, COUNT, 4000):
            store(brain, space, rows[start : start + 4000], start)
        yield brain


@pytest.fixture
def connection(large: Brain) -> Iterator[sqlite3.Connection]:
    """A write transaction that is undone after the test."""
    large.database.connection.execute("BEGIN IMMEDIATE")
    yield large.database.connection
    large.database.connection.execute("ROLLBACK")


SPACE = VectorSpace(7, DIMENSION)


def find_likely(
    connection: sqlite3.Connection, query: Floats, count: int
) -> NDArray[np.int64] | None:
    """The likely slots by the bits in the file, whatever is in memory."""
    source = read_bits_and_centre(connection, SPACE)
    return source and next(likely_slots(source.bits, source.centre, query, count), None)


def find_nearest(connection: sqlite3.Connection, query: Floats, count: int) -> NDArray[np.int64]:
    """The nearest slots, without those that follow."""
    return next(vector_scan.nearest_slots(connection, SPACE, query, count))


def test_the_nearest_slots_are_those_of_exact_search(
    connection: sqlite3.Connection, rows: Floats
) -> None:
    shares = []
    for query in draw(20, seed=4):
        found = find_nearest(connection, query, 50)
        assert len(set(found.tolist())) == 50
        shares.append(np.isin(np.argsort(-(rows @ query))[:20], found).mean())
    assert np.mean(shares) >= 0.98


def test_more_slots_follow_the_nearest_ones(connection: sqlite3.Connection, rows: Floats) -> None:
    for query in draw(5, seed=10):
        nearest, more = vector_scan.nearest_slots(connection, SPACE, query, 50)
        assert len(nearest) == 50
        assert len(more) > 1000
        both = np.append(nearest, more)
        assert len(set(both.tolist())) == len(both)
        for part in (nearest, more):
            cosines = rows[part[part < COUNT]] @ query
            assert np.all(np.diff(cosines) < 0.02)
        assert np.isin(np.argsort(-(rows @ query))[:200], both).mean() >= 0.9


def test_each_change_of_a_vector_changes_its_bits(
    large: Brain, connection: sqlite3.Connection
) -> None:
    fresh = draw(700, seed=5)
    vectors.store_vectors(
        connection, SPACE, [(f"new {n}".encode(), row) for n, row in enumerate(fresh)]
    )
    assert count_wrong_segments(connection, SPACE) == 0
    found = find_nearest(connection, fresh[600], 10)
    assert COUNT + 600 in found.tolist()
    assert vectors.remove_orphaned_vectors(connection, SPACE) == COUNT + 700
    assert count_wrong_segments(connection, SPACE) == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM page_embeddings_bits_96 WHERE segment = 3",
        "DELETE FROM page_embeddings_bits_96 WHERE segment = -1",
        "UPDATE page_embeddings_bits_96 SET bits = x'00' WHERE segment = 3",
        "UPDATE page_embeddings_bits_96 SET bits = 'text' WHERE segment = -1",
        "DROP TABLE page_embeddings_bits_96",
    ],
)
def test_incomplete_bits_are_not_used(connection: sqlite3.Connection, statement: str) -> None:
    query = draw(1, seed=6)[0]
    assert find_likely(connection, query, 50) is not None
    connection.execute(statement)
    assert find_likely(connection, query, 50) is None


def test_wrong_bits_are_counted_and_rebuilt(connection: sqlite3.Connection) -> None:
    connection.execute(
        "UPDATE page_embeddings_bits_96 SET bits = zeroblob(length(bits)) WHERE segment IN (2, 5)"
    )
    assert count_wrong_segments(connection, SPACE) == 2
    rebuild_bits(connection, SPACE)
    assert count_wrong_segments(connection, SPACE) == 0


def test_all_slots_are_scanned_if_most_are_asked_for(connection: sqlite3.Connection) -> None:
    assert find_likely(connection, draw(1, seed=6)[0], COUNT // 4) is None


def test_a_model_without_vectors_has_no_bits(connection: sqlite3.Connection) -> None:
    vectors.remove_all_vectors(connection, SPACE)
    left = connection.execute("SELECT count(*) FROM page_embeddings_bits_96").fetchone()[0]
    assert left == 0
    assert find_likely(connection, draw(1, seed=6)[0], 50) is None


def load_memory(connection: sqlite3.Connection) -> None:
    """Scan until the vectors are in memory."""
    for _ in range(20):
        if find_memory(connection, SPACE):
            return
    raise AssertionError("the vectors were not loaded")


def test_a_single_scan_loads_nothing(connection: sqlite3.Connection) -> None:
    rebuild_bits(connection, SPACE)
    assert find_memory(connection, SPACE) is None
    assert find_memory(connection, SPACE, at_once=True) is not None
    assert find_memory(connection, SPACE) is not None


def test_vectors_in_memory_are_scored_like_those_of_the_file(
    connection: sqlite3.Connection,
) -> None:
    rebuild_bits(connection, SPACE)
    query, slots = draw(1, seed=8)[0], np.arange(0, COUNT, 7)

    def scan() -> tuple[NDArray[np.int64], Floats]:
        nearest = np.concatenate([*vector_scan.nearest_slots(connection, SPACE, query, 50)])
        return nearest, vector_scan.code_cosines(connection, SPACE, query, slots)

    from_file = scan()
    load_memory(connection)
    in_memory = scan()
    assert np.array_equal(from_file[0], in_memory[0])
    assert np.array_equal(from_file[1], in_memory[1])
    everything = vector_scan.approximate_cosines((connection, connection), SPACE, query)
    assert np.array_equal(everything[slots], from_file[1])


def test_vectors_in_memory_are_not_used_after_a_change(
    connection: sqlite3.Connection,
) -> None:
    load_memory(connection)
    before = read_stamp(connection, SPACE)
    fresh = draw(2, seed=9)
    vectors.store_vectors(connection, SPACE, [(b"one", fresh[0]), (b"other", fresh[1])])
    assert read_stamp(connection, SPACE) != before
    assert find_memory(connection, SPACE) is None
    load_memory(connection)
    found = find_nearest(connection, fresh[1], 10)
    assert COUNT + 1 in found.tolist()
    vectors.remove_orphaned_vectors(connection, SPACE)
    assert find_memory(connection, SPACE) is None


def test_a_stamp_without_a_centre_does_not_outlive_a_change(
    connection: sqlite3.Connection,
) -> None:
    load_memory(connection)
    connection.execute("DELETE FROM page_embeddings_bits_96 WHERE segment = -1")
    connection.execute("UPDATE page_embeddings_vec_96 SET hash = NULL WHERE slot = 0")
    vectors.store_vectors(connection, SPACE, [(b"one", draw(1, seed=9)[0])])
    assert find_memory(connection, SPACE) is None


def test_bits_of_an_earlier_version_get_a_stamp(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM page_embeddings_bits_96 WHERE segment = -2")
    assert read_stamp(connection, SPACE) is None
    assert find_memory(connection, SPACE) is None
    add_missing_stamp(connection, SPACE)
    stamp = read_stamp(connection, SPACE)
    assert stamp is not None
    add_missing_stamp(connection, SPACE)
    assert read_stamp(connection, SPACE) == stamp
    load_memory(connection)
