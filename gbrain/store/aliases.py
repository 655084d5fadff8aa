"""Query aliases: synonyms that a search adds to a word."""

from __future__ import annotations

import sqlite3


def add_alias(connection: sqlite3.Connection, word: str, expansions: tuple[str, ...]) -> None:
    """Add synonyms for a word."""
    connection.executemany(
        "INSERT OR IGNORE INTO query_aliases (word, expansion) VALUES (?, ?)",
        [(word.casefold(), expansion) for expansion in expansions],
    )


def remove_alias(connection: sqlite3.Connection, word: str) -> int:
    """Remove all synonyms of a word; return how many there were."""
    found = connection.execute("DELETE FROM query_aliases WHERE word = ?", (word.casefold(),))
    return found.rowcount


def read_aliases(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Return the synonyms by word, both sorted."""
    known: dict[str, tuple[str, ...]] = {}
    for word, expansion in connection.execute(
        "SELECT word, expansion FROM query_aliases "
        "WHERE typeof(word) = 'text' AND typeof(expansion) = 'text' ORDER BY word, expansion"
    ):
        known[word] = (*known.get(word, ()), expansion)
    return known
