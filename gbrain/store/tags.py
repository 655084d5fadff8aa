"""Tags over all pages."""

from __future__ import annotations

import sqlite3


def tag_counts(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Tags with the number of their pages, most used first; of spellings that differ in case only,
    the most used one."""
    rows = connection.execute(
        "SELECT tag, count(*) FROM tags GROUP BY tag COLLATE BINARY ORDER BY count(*) DESC, tag"
    )
    spelling: dict[str, str] = {}
    counts: dict[str, int] = {}
    for tag, count in rows:
        kept = spelling.setdefault(tag.lower(), tag)
        counts[kept] = counts.get(kept, 0) + count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
