"""Read names from a brain for shell completion, read-only and without waiting for writers."""

from __future__ import annotations

import os
import sqlite3

from gbrain.messages import counted
from gbrain.store.schema import APPLICATION_ID

# So many names fit on a screen; of more slugs only the folders are offered.
MAX_VALUES = 200
# A person waits for this, and never for a writer.
_PATIENCE_SECONDS = 0.2
# Sorts behind all that may follow the beginning of a name.
_LAST = "\U0010ffff"

# Each kind of name, with something to tell it by.
_NAMES = {
    "wing": "SELECT wing, count(*) FROM pages GROUP BY wing",
    "room": "SELECT room, count(*) FROM pages GROUP BY room",
    "type": "SELECT type, count(*) FROM pages WHERE type NOT NULL GROUP BY type",
    "tag": "SELECT tag, count(*) FROM tags GROUP BY tag",
    "model": "SELECT name, iif(active, 'the one in use', NULL) FROM embedding_models",
    "alias": "SELECT word, group_concat(expansion, ', ') FROM query_aliases GROUP BY word",
    "hit": "SELECT CAST(rank AS TEXT), slug FROM last_answer ORDER BY rank",
}

Completion = tuple[str, str | None]


def completion_values(path: str, kind: str, begin: str) -> list[Completion]:
    """The names of a kind that begin so, in order, each with a word about it.

    Slugs: the folders alone when there are too many, and a page whose name further down begins so
    when no slug does and it is the only one. Raises sqlite3.Error for what is not a brain.
    """
    with _opened(path) as connection:
        if kind in ("slug", "prefix"):
            return _slugs(connection, begin, folders=kind == "prefix")
        rows = connection.execute(_NAMES[kind]).fetchall()
        found = [(name, about) for name, about in rows if name.startswith(begin)][:MAX_VALUES]
        return [(name, _pages(a) if isinstance(a, int) else a) for name, a in found]


class _opened:
    """The file for reading; one that nobody has open is read as it lies, and nothing put beside."""

    def __init__(self, path: str) -> None:
        written = "".join(f"%{ord(char):02x}" if char in "%?#" else char for char in path)
        alone = "" if os.path.exists(f"{path}-wal") else "&immutable=1"
        self.connection = sqlite3.connect(
            f"file:{written}?mode=ro{alone}", uri=True, timeout=_PATIENCE_SECONDS
        )

    def __enter__(self) -> sqlite3.Connection:
        if self.connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise sqlite3.DatabaseError("not a brain")
        return self.connection

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def _slugs(connection: sqlite3.Connection, begin: str, *, folders: bool) -> list[Completion]:
    slugs = [
        slug
        for (slug,) in connection.execute(
            "SELECT slug FROM pages WHERE slug BETWEEN ? AND ? ORDER BY slug",
            (begin, begin + _LAST),
        )
    ]
    if folders or len(slugs) > MAX_VALUES:
        return _next_step(slugs, begin, pages=not folders)
    if not slugs and begin:
        slugs = [
            slug for (slug,) in connection.execute("SELECT slug FROM pages") if f"/{begin}" in slug
        ]
        slugs = slugs if len(slugs) == 1 else []
    return [(slug, _title(connection, slug)) for slug in slugs]


def _next_step(slugs: list[str], begin: str, *, pages: bool) -> list[Completion]:
    """The slugs cut behind the next slash after `begin`, each once."""
    steps: dict[str, int] = {}
    for slug in slugs:
        slash = slug.find("/", len(begin))
        if slash >= 0 or pages:
            step = slug[: slash + 1] if slash >= 0 else slug
            steps[step] = steps.get(step, 0) + 1
    return [(step, _pages(n) if step.endswith("/") else None) for step, n in steps.items()]


def _pages(count: int) -> str:
    return counted(count, "page")


def _title(connection: sqlite3.Connection, slug: str) -> str:
    title: str = connection.execute("SELECT title FROM pages WHERE slug = ?", (slug,)).fetchone()[0]
    return title
