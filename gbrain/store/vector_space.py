"""The names and sizes of the tables that store the vectors of one embedding model."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

from gbrain.errors import BadBrain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Slots = NDArray[np.int64]

SEGMENT_SLOTS = 1024


class _SpaceNumbers(NamedTuple):
    model_id: int
    dimension: int


class VectorSpace(_SpaceNumbers):
    """The tables that store the vectors of one model."""

    __slots__ = ()

    def __new__(cls, model_id: int, dimension: int) -> Self:
        # Both become part of SQL, and a crafted file could have anything in their place.
        if not isinstance(model_id, int) or not isinstance(dimension, int):
            raise BadBrain(
                "The brain's record of its model is damaged",
                hint="gbrain doctor shows what is wrong; gbrain restore FILE restores a backup.",
                code="damaged",
            )
        return super().__new__(cls, model_id, dimension)

    @property
    def vectors(self) -> str:
        return f"page_embeddings_vec_{self.dimension}"

    @property
    def codes(self) -> str:
        return f"page_embeddings_codes_{self.dimension}"

    @property
    def bits(self) -> str:
        return f"page_embeddings_bits_{self.dimension}"

    @property
    def chunk_slots(self) -> str:
        return f"page_embeddings_chunks_{self.dimension}"


@contextmanager
def open_segment(
    connection: sqlite3.Connection, table: str, column: str, key: tuple[int, int], size: int
) -> Iterator[sqlite3.Blob]:
    """Open the blob of a segment, given by model and number, to write it; zeros if it is new.

    Raises BadBrain if it has another size.
    """
    connection.execute(
        f"INSERT OR IGNORE INTO {table} (model_id, segment, {column}) VALUES (?, ?, zeroblob(?))",
        (*key, size),
    )
    rowid = connection.execute(
        f"SELECT rowid FROM {table} WHERE model_id = ? AND segment = ?", key
    ).fetchone()[0]
    with connection.blobopen(table, column, rowid) as blob:
        if len(blob) != size:
            raise damaged_vectors()
        yield blob


def check_size(blob: object, size: int) -> None:
    """Raise BadBrain if a value read from a vector table is not a blob of this size."""
    if not isinstance(blob, bytes) or len(blob) != size:
        raise damaged_vectors()


def damaged_vectors() -> BadBrain:
    """Return the error for vectors or codes that cannot be read."""
    return BadBrain(
        "The brain's vectors are damaged",
        hint="gbrain doctor --repair queues them for embedding again; "
        "gbrain query --mode bm25 works without them.",
        code="damaged",
    )
