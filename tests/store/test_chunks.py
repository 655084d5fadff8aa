"""Chunks in the brain, and which of them are queued to be embedded."""

from __future__ import annotations

from gbrain.brain import Brain


def jobs(brain: Brain) -> int:
    with brain.database.read_transaction() as connection:
        return int(connection.execute("SELECT count(*) FROM embedding_jobs").fetchone()[0])


def rows(brain: Brain, sql: str) -> list[tuple[object, ...]]:
    with brain.database.read_transaction() as connection:
        return connection.execute(sql).fetchall()


def test_a_chunk_is_stored_with_its_position(brain: Brain) -> None:
    brain.put("a", "# Ä\n\n## Part\n\nwörds\n".encode())
    assert rows(
        brain,
        "SELECT kind, heading_path, text, byte_start, byte_stop, first_line, last_line FROM chunks",
    ) == [("truth", '["Ä", "Part"]', "wörds", 6, 22, 3, 5)]


def test_a_moved_chunk_keeps_its_id(brain: Brain) -> None:
    brain.put("a", b"# A\n\n## Part\n\nwords\n")
    before = rows(brain, "SELECT id, hash FROM chunks")
    brain.put("a", b"# A\n\n\n\n## Part\n\nwords\n")
    assert rows(brain, "SELECT id, hash FROM chunks") == before
    assert rows(brain, "SELECT first_line, last_line FROM chunks") == [(5, 7)]


def test_equal_chunks_on_a_page_keep_their_positions(brain: Brain) -> None:
    brain.put("a", b"# A\n\nsame\n\n# A\n\nsame\n")
    brain.put("a", b"# A\n\nsame\n\n# A\n\nsame\n\n# A\n\nsame\n")
    assert rows(brain, "SELECT section, first_line FROM chunks ORDER BY section") == [
        (0, 1),
        (1, 5),
        (2, 9),
    ]


def test_equal_texts_are_queued_once(brain: Brain) -> None:
    brain.put("a", b"# Same\n\nwords\n")
    assert jobs(brain) == 1
    brain.put("b", b"# Same\n\nwords\n")
    brain.rename("a", "c")
    assert jobs(brain) == 1
    brain.put("a", b"# Same\n\nother words\n")
    assert jobs(brain) == 2


def test_deleting_the_last_chunks_leaves_the_index_usable(brain: Brain) -> None:
    """Numbers of chunks are used again: nothing of the old ones may be found."""
    brain.put("a", b"# A\n\nheron\n")
    brain.delete("a")
    brain.put("b", b"# B\n\nstork\n")
    assert not brain.search("heron").hits
    assert [hit.slug for hit in brain.search("stork").hits] == ["b"]
