"""Vectors of a shared store, by model and hash of the chunk's text: nobody embeds a text twice.

They travel in PostgreSQL's binary formats, as big-endian half floats; the brain stores half floats
too, so nothing is lost.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gbrain.store.postgres.schema import lock_state

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row

    Floats = NDArray[np.float32]

_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = struct.pack(">h", -1)


class ModelKey(NamedTuple):
    """What vectors belong to: the identity of a model and the dimension of its vectors."""

    identity: str
    dimension: int


def find_model(cursor: Cursor[Row], model: ModelKey) -> int | None:
    """Return the number of a model in the store; None if the store has no vectors of it."""
    row = cursor.execute(
        "SELECT id FROM gbrain.models WHERE identity = %s AND dimension = %s", model
    ).fetchone()
    return None if row is None else int(row[0])


def push_vectors(
    cursor: Cursor[Row], model: ModelKey, vectors: Sequence[tuple[bytes, Floats]]
) -> int:
    """Add the vectors that the store does not have, and return how many those were."""
    import numpy as np

    state = lock_state(cursor)
    number = find_model(cursor, model)
    if number is None:
        row = cursor.execute(
            "INSERT INTO gbrain.models (identity, dimension) VALUES (%s, %s) RETURNING id", model
        ).fetchone()
        assert row is not None
        number = int(row[0])
    known = known_hashes(cursor, number, (digest for digest, _ in vectors))
    fresh = {digest: vector for digest, vector in vectors if digest not in known}
    if not fresh:
        return 0
    rows = [_COPY_HEADER]
    for digest, vector in fresh.items():
        half = vector.astype(np.dtype(">f2")).tobytes()
        rows.append(
            struct.pack(">hiii", 3, 4, number, len(digest)) + digest
            + struct.pack(">ihh", 4 + len(half), model.dimension, 0) + half
        )  # fmt: skip
    rows.append(_COPY_END)
    statement = "COPY gbrain.vectors (model, hash, vector) FROM STDIN WITH (FORMAT BINARY)"
    with cursor.copy(statement) as copy:
        copy.write(b"".join(rows))
    cursor.execute("UPDATE gbrain.state SET vector_sequence = %s", (state.vector_sequence + 1,))
    return len(fresh)


def known_hashes(cursor: Cursor[Row], number: int, hashes: Iterable[bytes]) -> set[bytes]:
    """Return those of the hashes for which the store has a vector of the model."""
    rows = cursor.execute(
        "SELECT hash FROM gbrain.vectors WHERE model = %s AND hash = ANY(%b)",
        (number, list(hashes)),
        binary=True,
    )
    return {row[0] for row in rows}


def fetch_vectors(
    cursor: Cursor[Row], model: ModelKey, hashes: Iterable[bytes]
) -> list[tuple[bytes, Floats]]:
    """Return (hash, unit vector) of those of the hashes for which the store has one.

    Values that are no numbers are left out, and others are scaled to length 1: the rows are as
    untrusted as page text.
    """
    import numpy as np

    number = find_model(cursor, model)
    wanted = list(hashes)
    if number is None or not wanted:
        return []
    rows = cursor.execute(
        "SELECT hash, halfvec_send(vector) FROM gbrain.vectors "
        "WHERE model = %s AND hash = ANY(%b) AND vector_dims(vector) = %s",
        (number, wanted, model.dimension),
        binary=True,
    ).fetchall()
    if not rows:
        return []
    packed = np.frombuffer(b"".join(row[1] for row in rows), np.uint8)
    halves = packed.reshape(len(rows), 4 + 2 * model.dimension)[:, 4:].copy().view(">f2")
    floats = halves.astype(np.float32)
    lengths = np.linalg.norm(floats, axis=1)
    usable = np.isfinite(lengths) & (lengths > 0)
    # A vector that was stored with length 1 stays bit for bit what it was.
    is_unit = np.abs(lengths - 1) < 0.01
    found = []
    for (digest, _), vector, length, good, unit in zip(
        rows, floats, lengths, usable, is_unit, strict=True
    ):
        if good:
            found.append((bytes(digest), vector if unit else vector / length))
    return found
