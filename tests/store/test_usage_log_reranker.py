"""What was learned is kept by name; what it is learned from is read question by question."""

from __future__ import annotations

import sqlite3

from gbrain.brain import Brain
from gbrain.store import usage_log
from gbrain.store.usage_log import TrainingExample

NOON = "2026-11-16T12:00:00.000Z"


def test_the_last_saved_weights_are_read(brain: Brain) -> None:
    with brain.database.write_transaction() as connection:
        assert usage_log.read_weights(connection, "reranker") is None
        usage_log.save_weights(connection, "reranker", "old", NOON)
        usage_log.save_weights(connection, "reranker", "new", NOON)
        usage_log.save_weights(connection, "other", "else", NOON)
        assert usage_log.read_weights(connection, "reranker") == "new"


def test_a_brain_without_the_learned_table_has_no_weights() -> None:
    connection = sqlite3.connect(":memory:")
    assert usage_log.read_weights(connection, "reranker") is None
    connection.close()


def test_examples_are_queries_with_an_opened_hit(brain: Brain) -> None:
    for name in ("one", "two"):
        brain.put(name, b"Words.\n")
    one, two = brain.get("one").id, brain.get("two").id
    with brain.database.write_transaction() as connection:
        shown = [usage_log.ShownPage(one, (0.1, 0.2)), usage_log.ShownPage(two, (0.3, 0.4))]
        usage_log.log_query(
            connection, "first?", "2026-11-16T11:58:00.000Z", "bm25", "strong", shown, 9
        )
        usage_log.log_query(
            connection, "second?", NOON, "bm25", "strong", [usage_log.ShownPage(one, (5, 6))], 9
        )
        assert list(usage_log.training_examples(connection, 2)) == []
        usage_log.log_open(connection, two, "2026-11-16T12:01:00.000Z")
        assert list(usage_log.training_examples(connection, 2)) == [
            TrainingExample(((0.1, 0.2), (0.3, 0.4)), (False, True))
        ]
        assert list(usage_log.training_examples(connection, 3)) == []


def test_hits_with_invalid_features_are_left_out(brain: Brain) -> None:
    with brain.database.write_transaction() as connection:
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
        assert list(usage_log.training_examples(connection, 2)) == [
            TrainingExample(((1.0, 2.0),), (True,))
        ]
