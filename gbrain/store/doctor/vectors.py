"""Checks and repairs of vectors, embedding models and embedding jobs."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gbrain.store import chunk_slots, chunks, jobs, vector_bits
from gbrain.store.doctor.findings import Examination
from gbrain.store.models import model_in_role
from gbrain.store.vector_space import SEGMENT_SLOTS, VectorSpace
from gbrain.store.vectors import active_space, all_spaces, remove_orphaned_vectors

# How far from 1 the length of a vector may be: rounding to 16 bits changes it by less than 0.001.
_LENGTH_TOLERANCE = 0.01
# How many steps of its 8-bit code a number may be off: both were rounded.
_CODE_TOLERANCE_STEPS = 1.5


def _wrong_sizes(space: VectorSpace) -> list[tuple[str, str, str]]:
    """Return (problem, table, SQL condition) for each way in which sizes can be wrong."""
    of_model = f"model_id = {space.model_id}"
    code_bytes = SEGMENT_SLOTS * (4 + space.dimension)
    with_codes = f"SELECT segment FROM {space.codes} WHERE {of_model} AND length(codes) = "
    return [
        ("vectors of the wrong size", space.vectors,
         f"{of_model} AND length(vector) <> {2 * space.dimension}"),
        ("code segments of the wrong size", space.codes,
         f"{of_model} AND length(codes) <> {code_bytes}"),
        ("vectors without a code", space.vectors,
         f"{of_model} AND hash IS NOT NULL AND slot / {SEGMENT_SLOTS} "
         f"NOT IN ({with_codes}{code_bytes})"),
    ]  # fmt: skip


def _wrong_vectors(connection: sqlite3.Connection) -> Iterator[tuple[VectorSpace, int, str]]:
    """Yield (space, slot, problem) of vectors that are not of length 1 or do not fit their code.

    Vectors and codes of the wrong size are left out.
    """
    import numpy as np

    for space in all_spaces(connection):
        segments = connection.execute(
            f"SELECT segment, codes FROM {space.codes} WHERE model_id = ? AND length(codes) = ?",
            (space.model_id, SEGMENT_SLOTS * (4 + space.dimension)),
        )
        for segment, codes in segments:
            rows = np.frombuffer(codes, np.uint8).reshape(SEGMENT_SLOTS, 4 + space.dimension)
            scales = rows[:, :4].copy().view(np.float32)
            steps = rows[:, 4:].view(np.int8).astype(np.float32)
            stored = connection.execute(
                f"SELECT slot, vector FROM {space.vectors} WHERE model_id = ? "
                "AND slot BETWEEN ? AND ? AND hash IS NOT NULL AND length(vector) = ?",
                (space.model_id, segment * SEGMENT_SLOTS, (segment + 1) * SEGMENT_SLOTS - 1,
                 2 * space.dimension),
            )  # fmt: skip
            for slot, packed in stored:
                vector = np.frombuffer(packed, np.float16).astype(np.float32)
                row = slot % SEGMENT_SLOTS
                with np.errstate(all="ignore"):
                    off = np.abs(steps[row] * scales[row] - vector).max()
                    length = np.linalg.norm(vector)
                if not abs(length - 1) <= _LENGTH_TOLERANCE:
                    yield space, slot, "vectors without direction"
                elif not off <= _CODE_TOLERANCE_STEPS * abs(scales[row, 0]):
                    yield space, slot, "vectors with the code of another"


def unusable_vectors(examination: Examination) -> Counter[str]:
    connection = examination.connection
    found: Counter[str] = Counter()
    for space in all_spaces(connection):
        for problem, table, condition in _wrong_sizes(space):
            rows = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}")
            found[problem] += rows.fetchone()[0]
    if examination.full:
        found.update(problem for _, _, problem in _wrong_vectors(connection))
        found["segments with the bits of other codes"] = sum(
            vector_bits.count_wrong_segments(connection, space) for space in all_spaces(connection)
        )
    return +found


def drop_unusable(examination: Examination) -> None:
    """Delete vectors and codes that cannot be used; the next check queues their chunks again."""
    connection = examination.connection
    for space in all_spaces(connection):
        for _, table, condition in _wrong_sizes(space):
            connection.execute(f"DELETE FROM {table} WHERE {condition}")
    for space, slot, _ in list(_wrong_vectors(connection)) if examination.full else ():
        connection.execute(
            f"DELETE FROM {space.vectors} WHERE model_id = ? AND slot = ?", (space.model_id, slot)
        )
    for space in all_spaces(connection):
        vector_bits.rebuild_bits(connection, space)
        chunk_slots.rebuild_chunk_slots(connection, space)


def wrong_chunk_slots(examination: Examination) -> int:
    connection = examination.connection
    return sum(
        chunk_slots.count_wrong_segments(connection, space) for space in all_spaces(connection)
    )


def rebuild_chunk_slots(examination: Examination) -> None:
    for space in all_spaces(examination.connection):
        chunk_slots.rebuild_chunk_slots(examination.connection, space)


def _pages_without_vectors(connection: sqlite3.Connection) -> list[int]:
    """Return the pages with a chunk that has neither a vector of the active model nor a job."""
    space = active_space(connection)
    has_vector = (
        f"SELECT 1 FROM {space.vectors} AS v "
        f"WHERE v.model_id = {space.model_id} AND v.hash = chunks.hash"
        if space
        else "SELECT 1 WHERE 0"
    )
    rows = connection.execute(
        f"SELECT DISTINCT page_id FROM chunks WHERE NOT EXISTS ({has_vector}) AND NOT EXISTS "
        "(SELECT 1 FROM embedding_jobs AS j WHERE j.hash = chunks.hash)"
    )
    return [row[0] for row in rows]


def pages_without_vectors(examination: Examination) -> int:
    return len(_pages_without_vectors(examination.connection))


def enqueue_missing(examination: Examination) -> None:
    for page_id in _pages_without_vectors(examination.connection):
        chunks.enqueue_page(examination.connection, page_id, examination.now)


def _count(examination: Examination, query: str) -> int:
    number: int = examination.connection.execute(f"SELECT count(*) FROM {query}").fetchone()[0]
    return number


def stray_vectors(examination: Examination) -> int:
    return sum(
        _count(
            examination,
            f"{space.vectors} AS v WHERE model_id = {space.model_id} AND hash IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = v.hash)",
        )
        for space in all_spaces(examination.connection)
    )


def stray_jobs(examination: Examination) -> int:
    without_chunk = "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = embedding_jobs.hash)"
    return _count(examination, f"embedding_jobs WHERE {without_chunk}")


def drop_strays(examination: Examination) -> None:
    """Delete vectors and jobs of texts that no page contains."""
    for space in all_spaces(examination.connection):
        remove_orphaned_vectors(examination.connection, space)
    jobs.drop_orphaned_jobs(examination.connection)


def failed_jobs(examination: Examination) -> list[str]:
    rows = examination.connection.execute(
        "SELECT lower(hex(hash)), attempts, error FROM embedding_jobs WHERE error IS NOT NULL"
    )
    return [f"{name} after {attempts}: {error}" for name, attempts, error in rows]


def unfinished_switch(examination: Examination) -> list[str]:
    connection = examination.connection
    model = model_in_role(connection, "next")
    if model is None:
        return []
    return [f"{model.name}: {len(jobs.missing_hashes(connection, model.space))} chunks are left"]


def missing_model_folders(examination: Examination) -> list[str]:
    rows = examination.connection.execute(
        "SELECT name, folder FROM embedding_models WHERE folder IS NOT NULL ORDER BY name"
    )
    # In a damaged row, what is no path may be text of a page.
    return [
        f"{name} in {folder}" if os.path.isabs(folder) else f"{name}: its folder is not a path"
        for name, folder in rows
        if not Path(folder).is_dir()
    ]
