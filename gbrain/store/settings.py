"""Settings and query aliases (synonyms that a search adds to a word) stored in the brain."""

from __future__ import annotations

import sqlite3


def read_settings(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the stored settings as text, by name; defaults are not included."""
    return dict(connection.execute("SELECT key, value FROM config").fetchall())


def brain_identity(connection: sqlite3.Connection) -> str:
    """Return the time of creation in microseconds, which a brain shares only with its copies."""
    try:
        made = connection.execute(
            "SELECT applied_at FROM _sqlite_migrations ORDER BY id LIMIT 1"
        ).fetchone()
    except sqlite3.OperationalError:
        made = None
    return str(made[0]) if made else ""


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of the file."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def save_setting(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Store a setting. Storing a rerank command also records that this user trusts it."""
    if name == "rerank_command":
        from gbrain.trust import resolve_command

        value = resolve_command(value)
    connection.execute(
        "INSERT INTO config (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (name, value),
    )
    if name == "rerank_command" and value:
        from gbrain.trust import remember_trusted

        remember_trusted(brain_identity(connection), value)
    _update_dependents(connection, name)


def remove_setting(connection: sqlite3.Connection, name: str) -> None:
    """Remove a stored setting, so that its default applies."""
    if connection.execute("DELETE FROM config WHERE key = ?", (name,)).rowcount:
        _update_dependents(connection, name)


def _update_dependents(connection: sqlite3.Connection, changed: str) -> None:
    """Rebuild the rows that depend on a setting that changed."""
    if changed == "hypothetical_questions":
        from gbrain.store.page_writer import rebuild_questions

        rebuild_questions(connection)


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
