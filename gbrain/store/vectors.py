"""Store and read the vectors of embedding models: exact ones by slot, and packed codes.

A code is a vector in 8-bit steps with a scale, 4 + dimension bytes. A row (segment) has 1,024
codes, so that a query reads a few large blobs; writing a vector changes only its own bytes there.
`vector_scan.py` scans them for a query.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gbrain.errors import GbrainError
from gbrain.store.chunk_slots import add_vectors, remove_chunk_slots
from gbrain.store.schema import VECTOR_TABLES
from gbrain.store.scope import chunk_row_condition
from gbrain.store.vector_bits import remove_bits, write_bits
from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace, check_size, open_segment
from gbrain.store.whole_brain import asks_whole_brain, known_totals
from gbrain.types import Scope

if TYPE_CHECKING:
    from gbrain.store.vector_space import Floats, Slots


def create_vector_tables(connection: sqlite3.Connection, dimension: int) -> None:
    """Create the tables for vectors of `dimension`, if missing."""
    for statement in VECTOR_TABLES.format(dim=dimension).split(";\n"):
        if statement.strip():
            connection.execute(statement)


def active_space(connection: sqlite3.Connection) -> VectorSpace | None:
    """Return the vector space of the active model; None if no model is active."""
    row = connection.execute("SELECT id, dimension FROM embedding_models WHERE active").fetchone()
    return VectorSpace(*row) if row else None


def all_spaces(connection: sqlite3.Connection) -> list[VectorSpace]:
    """Return the vector space of every registered model, by model id."""
    rows = connection.execute("SELECT id, dimension FROM embedding_models ORDER BY id")
    return [VectorSpace(model_id, int(dimension)) for model_id, dimension in rows]


def has_vectors(connection: sqlite3.Connection, space: VectorSpace) -> bool:
    """Return whether `space` has at least one vector."""
    if totals := known_totals(connection):
        return totals.has_vectors
    found = connection.execute(
        f"SELECT 1 FROM {space.vectors} WHERE model_id = ? AND hash IS NOT NULL LIMIT 1",
        (space.model_id,),
    )
    return found.fetchone() is not None


def require_vectors(connection: sqlite3.Connection, consequence: str) -> VectorSpace:
    """Return the active space; raise GbrainError, with the consequence, if it has no vectors."""
    space = active_space(connection)
    if space is None or not has_vectors(connection, space):
        raise GbrainError(
            f"No note is embedded yet, {consequence}",
            hint="gbrain embed embeds your notes.",
            code="no_vectors",
        )
    return space


def has_all_vectors(connection: sqlite3.Connection, space: VectorSpace) -> bool:
    """Return whether every chunk has a vector in `space`."""
    missing = connection.execute(
        "SELECT 1 FROM chunks WHERE NOT EXISTS "
        f"(SELECT 1 FROM {space.vectors} AS v WHERE v.model_id = ? AND v.hash = chunks.hash) "
        "LIMIT 1",
        (space.model_id,),
    )
    return missing.fetchone() is None


def store_vectors(
    connection: sqlite3.Connection, space: VectorSpace, embedded: Sequence[tuple[bytes, Floats]]
) -> None:
    """Store unit vectors by the hash of their text; skip hashes that are stored."""
    import numpy as np

    known = {
        row[0]
        for digest, _ in embedded
        for row in connection.execute(
            f"SELECT hash FROM {space.vectors} WHERE model_id = ? AND hash = ?",
            (space.model_id, digest),
        )
    }
    fresh = [(digest, vector) for digest, vector in embedded if digest not in known]
    if not fresh:
        return
    slots = _free_slots(connection, space, len(fresh))
    connection.executemany(
        f"INSERT OR REPLACE INTO {space.vectors} (model_id, slot, hash, vector) "
        "VALUES (?, ?, ?, ?)",
        [
            (space.model_id, slot, digest, vector.astype(np.float16).tobytes())
            for slot, (digest, vector) in zip(slots, fresh, strict=True)
        ],
    )
    _write_codes(
        connection,
        space,
        {slot: _encode(vector) for slot, (_, vector) in zip(slots, fresh, strict=True)},
    )
    hashes = (digest for digest, _ in fresh)
    add_vectors(connection, space, dict(zip(hashes, slots, strict=True)))


def _free_slots(connection: sqlite3.Connection, space: VectorSpace, count: int) -> list[int]:
    """Return `count` unused slots: freed ones first, then new ones."""
    free = connection.execute(
        f"SELECT slot FROM {space.vectors} WHERE model_id = ? AND hash IS NULL LIMIT ?",
        (space.model_id, count),
    )
    slots = [row[0] for row in free]
    last = connection.execute(
        f"SELECT coalesce(max(slot), -1) FROM {space.vectors} WHERE model_id = ?",
        (space.model_id,),
    ).fetchone()[0]
    return slots + list(range(last + 1, last + 1 + count - len(slots)))


def _encode(vector: Floats) -> bytes:
    """Return the code of a vector: a float32 scale, then one signed byte for each number."""
    import numpy as np

    scale = np.float32(np.abs(vector).max() / 127 or 1.0)
    steps: bytes = np.rint(vector / scale).astype(np.int8).tobytes()
    return scale.tobytes() + steps


def _write_codes(
    connection: sqlite3.Connection, space: VectorSpace, codes: dict[int, bytes]
) -> None:
    width = 4 + space.dimension
    for segment, slots in groupby(sorted(codes), key=lambda slot: slot // SEGMENT_SLOTS):
        key, size = (space.model_id, segment), SEGMENT_SLOTS * width
        with open_segment(connection, space.codes, "codes", key, size) as blob:
            for slot in slots:
                blob.seek(slot % SEGMENT_SLOTS * width)
                blob.write(codes[slot])
    write_bits(connection, space, codes)


def remove_all_vectors(connection: sqlite3.Connection, space: VectorSpace) -> int:
    """Delete the vectors of a model; return how many."""
    deleted = connection.execute(
        f"DELETE FROM {space.vectors} WHERE model_id = ?", (space.model_id,)
    ).rowcount
    connection.execute(f"DELETE FROM {space.codes} WHERE model_id = ?", (space.model_id,))
    remove_bits(connection, space)
    remove_chunk_slots(connection, space)
    return deleted


def remove_orphaned_vectors(connection: sqlite3.Connection, space: VectorSpace) -> int:
    """Free the vectors whose text is on no page; return how many."""
    orphans = [
        row[0]
        for row in connection.execute(
            f"SELECT slot FROM {space.vectors} AS v WHERE model_id = ? AND hash IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = v.hash)",
            (space.model_id,),
        )
    ]
    connection.executemany(
        f"UPDATE {space.vectors} SET hash = NULL WHERE model_id = ? AND slot = ?",
        [(space.model_id, slot) for slot in orphans],
    )
    _write_codes(connection, space, dict.fromkeys(orphans, bytes(4 + space.dimension)))
    return len(orphans)


def which_in_scope(
    connection: sqlite3.Connection, space: VectorSpace, slots: Slots, scope: Scope
) -> Slots:
    """Return those of the slots that a chunk in scope uses, in order."""
    import numpy as np

    within = chunk_row_condition(scope)
    rows = connection.execute(
        f"SELECT v.slot FROM {space.vectors} AS v CROSS JOIN chunks ON chunks.hash = v.hash "
        f"WHERE v.model_id = ? AND v.slot IN (SELECT value FROM json_each(?)) AND {within.sql}",
        (space.model_id, json.dumps(slots.tolist()), *within.values),
    )
    return np.unique(np.array([row[0] for row in rows], np.int64))


def vectors_at(
    connection: sqlite3.Connection, space: VectorSpace, slots: Iterable[int]
) -> tuple[list[int], Floats]:
    """Return those of the slots that are in use, and their vectors as rows."""
    import numpy as np

    rows = connection.execute(
        f"SELECT slot, vector FROM {space.vectors} "
        "WHERE model_id = ? AND slot IN (SELECT value FROM json_each(?)) AND hash IS NOT NULL",
        (space.model_id, json.dumps([int(slot) for slot in slots])),
    ).fetchall()
    for _, vector in rows:
        check_size(vector, 2 * space.dimension)
    packed = np.frombuffer(b"".join(row[1] for row in rows), np.float16)
    return [row[0] for row in rows], packed.reshape(-1, space.dimension).astype(np.float32)


def sample_vectors(connection: sqlite3.Connection, space: VectorSpace, count: int) -> Floats:
    """Return up to `count` vectors as rows; the same ones as long as the brain does not change."""
    # Hashes have no order: their first ones are a sample.
    rows = connection.execute(
        f"SELECT slot FROM {space.vectors} WHERE model_id = ? AND hash IS NOT NULL "
        "ORDER BY hash LIMIT ?",
        (space.model_id, count),
    )
    return vectors_at(connection, space, [row[0] for row in rows])[1]


def vectors_by_hash(
    connection: sqlite3.Connection, space: VectorSpace, hashes: Iterable[bytes]
) -> list[tuple[bytes, Floats]]:
    """Return (hash, vector) of those of the hashes that have a vector."""
    import numpy as np

    found = []
    for digest in hashes:
        row = connection.execute(
            f"SELECT vector FROM {space.vectors} WHERE model_id = ? AND hash = ?",
            (space.model_id, digest),
        ).fetchone()
        if row:
            check_size(row[0], 2 * space.dimension)
            found.append((digest, np.frombuffer(row[0], np.float16).astype(np.float32)))
    return found


@asks_whole_brain
def chunk_vectors(
    connection: sqlite3.Connection, space: VectorSpace, chunk_ids: Iterable[int]
) -> dict[int, Floats]:
    """Return vectors by chunk id; chunks that are not embedded are left out."""
    slot_of = dict(
        connection.execute(
            f"SELECT chunks.id, v.slot FROM chunks CROSS JOIN {space.vectors} AS v "
            "ON v.model_id = ? AND v.hash = chunks.hash "
            "WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (space.model_id, json.dumps(list(chunk_ids))),
        ).fetchall()
    )
    used, vectors = vectors_at(connection, space, slot_of.values())
    row_of = {slot: row for row, slot in enumerate(used)}
    return {chunk: vectors[row_of[slot]] for chunk, slot in slot_of.items() if slot in row_of}
