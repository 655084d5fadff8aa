"""Kept runs of the self-test: the latest one counts, the oldest ones go."""

from __future__ import annotations

from gbrain.brain import Brain
from gbrain.store import evaluation_data


def test_the_latest_run_is_the_baseline(brain: Brain) -> None:
    with brain.database.read_transaction() as connection:
        assert evaluation_data.latest_baseline(connection) is None
    with brain.database.write_transaction() as connection:
        evaluation_data.save_baseline(connection, "2026-11-16T12:00:00Z", None, "{}")
        evaluation_data.save_baseline(connection, "2026-11-17T12:00:00Z", "mine", '{"a": 1}')
        latest = evaluation_data.latest_baseline(connection)
    assert latest is not None
    assert (latest.made_at, latest.model, latest.results) == (
        "2026-11-17T12:00:00Z",
        "mine",
        '{"a": 1}',
    )


def test_only_the_last_five_baselines_are_kept(brain: Brain) -> None:
    with brain.database.write_transaction() as connection:
        for day in range(10, 30):
            evaluation_data.save_baseline(connection, f"2026-11-{day}", None, "{}")
        kept = [row[0] for row in connection.execute("SELECT made_at FROM baselines ORDER BY id")]
    assert kept == [f"2026-11-{day}" for day in range(25, 30)]
