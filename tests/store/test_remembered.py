"""What a connection remembers, and when it forgets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.store.remembered import remember
from gbrain.store.scope import scope_has_more_than
from gbrain.types import Scope


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "brain.db"
    with Brain.open(file, make=True) as brain:
        brain.put("notes/one", b"# One\n\ntags: #red\n")
    return file


def read_count(brain: Brain) -> tuple[Callable[[], int], list[int]]:
    """A function that counts the pages and remembers the number; the list has what was read."""
    reads: list[int] = []

    def count() -> int:
        with brain.database.read_transaction() as connection:

            def read() -> int:
                reads.append(connection.execute("SELECT count(*) FROM pages").fetchone()[0])
                return reads[-1]

            return remember(connection, "pages", read)

    return count, reads


def test_what_was_read_is_remembered_until_a_write(path: Path) -> None:
    with Brain.open(path) as brain:
        count, reads = read_count(brain)
        assert [count(), count()] == [1, 1]
        assert reads == [1]
        brain.put("notes/two", b"# Two\n")
        assert [count(), count()] == [2, 2]
        with Brain.open(path) as other:
            other.put("notes/three", b"# Three\n")
        assert count() == 3
        assert reads == [1, 2, 3]


def test_what_was_read_before_a_rollback_is_forgotten(path: Path) -> None:
    with Brain.open(path) as brain:
        count, _ = read_count(brain)

        def delete_and_fail() -> None:
            with brain.database.write_transaction() as connection:
                connection.execute("DELETE FROM pages")
                assert remember(connection, "pages", lambda: 0) == 0
                raise KeyError("stop")

        with pytest.raises(KeyError):
            delete_and_fail()
        assert count() == 1


def test_few_values_are_remembered(path: Path) -> None:
    with Brain.open(path) as brain, brain.database.read_transaction() as connection:
        for number in range(300):
            remember(connection, number, lambda number=number: number)
        assert remember(connection, 299, lambda: -1) == 299
        assert remember(connection, 0, lambda: -1) == -1


@pytest.mark.parametrize(
    ("scope", "pages"),
    [
        (Scope(), 6),
        (Scope(tags=("red",)), 4),
        (Scope(tags=("RED",)), 4),
        (Scope(tags=("red", "blue")), 2),
        (Scope(tags=("red",), slug_prefix="a/"), 2),
        (Scope(tags=("green",)), 0),
    ],
)
def test_the_size_of_a_scope_is_known(tmp_path: Path, scope: Scope, pages: int) -> None:
    with Brain.open(tmp_path / "brain.db", make=True) as brain:
        for slug, tags in {
            "a/1": "red", "a/2": "red, blue", "b/1": "Red", "b/2": "red, Blue", "b/3": "blue",
            "b/4": "",
        }.items():  # fmt: skip
            brain.put(slug, f"---\ntags: [{tags}]\n---\n\n# Page\n".encode())
        with brain.database.read_transaction() as connection:
            for most in range(8):
                assert scope_has_more_than(connection, scope, most) == (pages > most)
