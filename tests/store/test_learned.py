"""What was learned is kept by name; what it is learned from is read question by question."""

from __future__ import annotations

import sqlite3

from gbrain.brain import Brain
from gbrain.store import asked, learned, use
from gbrain.store.learned import Lesson

NOON = "2026-11-16T12:00:00.000Z"


def test_the_last_thing_learned_counts(brain: Brain) -> None:
    with brain.database.writing() as connection:
        assert learned.find(connection, "reranker") is None
        learned.keep(connection, "reranker", "old", NOON)
        learned.keep(connection, "reranker", "new", NOON)
        learned.keep(connection, "other", "else", NOON)
        assert learned.find(connection, "reranker") == "new"


def test_a_file_without_the_table_has_learned_nothing() -> None:
    connection = sqlite3.connect(":memory:")
    assert learned.find(connection, "reranker") is None
    connection.close()


def test_lessons_are_questions_of_which_something_was_opened(brain: Brain) -> None:
    for name in ("one", "two"):
        brain.put(name, b"Words.\n")
    one, two = brain.get("one").id, brain.get("two").id
    with brain.database.writing() as connection:
        shown = [asked.Shown(one, (0.1, 0.2)), asked.Shown(two, (0.3, 0.4))]
        asked.record(connection, "first?", "2026-11-16T11:58:00.000Z", "bm25", "strong", shown, 9)
        asked.record(connection, "second?", NOON, "bm25", "strong", [asked.Shown(one, (5, 6))], 9)
        assert list(learned.lessons(connection, 2)) == []
        use.opened(connection, two, "2026-11-16T12:01:00.000Z")
        assert list(learned.lessons(connection, 2)) == [
            Lesson(((0.1, 0.2), (0.3, 0.4)), (False, True))
        ]
        assert list(learned.lessons(connection, 3)) == []


def test_numbers_that_are_none_are_left_out(brain: Brain) -> None:
    with brain.database.writing() as connection:
        connection.execute(
            "INSERT INTO questions (id, text, asked_at, mode, verdict, hits) "
            "VALUES (1, 'why?', ?, 'bm25', 'strong', 6)",
            (NOON,),
        )
        features = ["[1, 2]", "", "{}", "[1, NaN]", '["a", 2]', "[1, [2]]", "7"]
        connection.executemany(
            "INSERT INTO question_hits VALUES (1, ?, 1, ?, ?)",
            [(rank, written, NOON) for rank, written in enumerate(features, 1)],
        )
        assert list(learned.lessons(connection, 2)) == [Lesson(((1.0, 2.0),), (True,))]
