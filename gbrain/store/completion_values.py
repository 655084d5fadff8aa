"""Read names from a brain for shell completion, read-only and without waiting for writers."""

from __future__ import annotations

import os
import sqlite3

from gbrain.messages import counted
from gbrain.store.schema import APPLICATION_ID

# More names do not fit on a screen; instead of more slugs, their folders are offered.
MAX_VALUES = 200
# The user is waiting at the prompt.
_BUSY_SECONDS = 0.2
# Sorts after every other character.
_LAST_CHARACTER = "\U0010ffff"

# Names of each kind, with a description.
_SELECT_NAMES = {
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
    """Return the names of a kind that start with `begin`, in order, each with a description.

    If there are too many slugs, only their folders are returned. If no slug starts so, the only
    page whose file name does is returned. Raises sqlite3.Error if the file is not a brain.
    """
    with _open_for_reading(path) as connection:
        if kind in ("slug", "prefix"):
            return _slug_values(connection, begin, folders=kind == "prefix")
        rows = connection.execute(_SELECT_NAMES[kind]).fetchall()
        found = [(name, about) for name, about in rows if name.startswith(begin)][:MAX_VALUES]
        return [(name, _count_pages(a) if isinstance(a, int) else a) for name, a in found]


class _open_for_reading:
    """Open the brain read-only; immutable without a -wal file, so that SQLite creates no files.

    Raises sqlite3.OperationalError at the end if such a brain was written in the meantime.
    """

    def __init__(self, path: str) -> None:
        # SQLite keeps the log next to the file that a link points to.
        self.path = path = os.path.realpath(path)
        escaped = "".join(f"%{ord(char):02x}" if char in "%?#" else char for char in path)
        self.stamp = None if os.path.exists(f"{path}-wal") else self._file_stamp()
        immutable = "" if self.stamp is None else "&immutable=1"
        self.connection = sqlite3.connect(
            f"file:{escaped}?mode=ro{immutable}", uri=True, timeout=_BUSY_SECONDS
        )

    def __enter__(self) -> sqlite3.Connection:
        if self.connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise sqlite3.DatabaseError("not a brain")
        return self.connection

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        if self.stamp is not None and self.stamp != self._file_stamp():
            raise sqlite3.OperationalError("the brain was written in the meantime")

    def _file_stamp(self) -> tuple[int, int, int] | None:
        try:
            known = os.stat(self.path)
        except OSError:
            return None
        return known.st_ino, known.st_size, known.st_mtime_ns


def _slug_values(connection: sqlite3.Connection, begin: str, *, folders: bool) -> list[Completion]:
    slugs = [
        slug
        for (slug,) in connection.execute(
            "SELECT slug FROM pages WHERE slug BETWEEN ? AND ? ORDER BY slug",
            (begin, begin + _LAST_CHARACTER),
        )
    ]
    if folders or len(slugs) > MAX_VALUES:
        return _next_folders(slugs, begin, pages=not folders)
    if not slugs and begin:
        slugs = [
            slug for (slug,) in connection.execute("SELECT slug FROM pages") if f"/{begin}" in slug
        ]
        slugs = slugs if len(slugs) == 1 else []
    return [(slug, _title(connection, slug)) for slug in slugs]


def _next_folders(slugs: list[str], begin: str, *, pages: bool) -> list[Completion]:
    """Return the slugs up to the next slash after `begin`, each once."""
    steps: dict[str, int] = {}
    for slug in slugs:
        slash = slug.find("/", len(begin))
        if slash >= 0 or pages:
            step = slug[: slash + 1] if slash >= 0 else slug
            steps[step] = steps.get(step, 0) + 1
    return [(step, _count_pages(n) if step.endswith("/") else None) for step, n in steps.items()]


def _count_pages(count: int) -> str:
    return counted(count, "page")


def _title(connection: sqlite3.Connection, slug: str) -> str:
    title: str = connection.execute("SELECT title FROM pages WHERE slug = ?", (slug,)).fetchone()[0]
    return title
