"""Count what a brain contains, without reading page texts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass

from gbrain.store.folders import list_folders
from gbrain.store.models import active_model
from gbrain.store.settings import read_aliases
from gbrain.store.vectors import active_space

MAX_RECENT_PAGES = 5


@dataclass(frozen=True, slots=True)
class PageCount:
    """How many pages share a name: a wing, a room, a month (`2026-04`) or a folder."""

    name: str
    pages: int


@dataclass(frozen=True, slots=True)
class RecentPage:
    """A page that was written recently."""

    slug: str
    title: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Stats:
    """What a brain contains, as numbers.

    Wings and rooms: largest first. Months: in order, only those with pages. Folders: in the order
    they were imported. Pages: newest first. `vectors` are those of the active model, `tags` and
    `aliases` count different ones, `versions` counts earlier texts of pages.
    """

    file_bytes: int
    schema_version: int
    pages: int
    page_bytes: int
    chunks: int
    timeline_entries: int
    versions: int
    links: int
    dangling_links: int
    tags: int
    aliases: int
    folders: tuple[PageCount, ...]
    vectors: int
    jobs: int
    model_name: str | None
    model_dimension: int | None
    wings: tuple[PageCount, ...]
    rooms: tuple[PageCount, ...]
    months: tuple[PageCount, ...]
    newest: tuple[RecentPage, ...]


def read_stats(connection: sqlite3.Connection) -> Stats:
    """Return everything that `gbrain stats` shows."""

    def number(sql: str, *values: object) -> int:
        found: int = connection.execute(sql, values).fetchone()[0]
        return found

    model = active_model(connection)
    space = active_space(connection)
    # One pass over the pages' small columns; their texts are on overflow pages of the file.
    size, months, owners = 0, Counter[str](), Counter[int]()
    for month, owner, count, length in connection.execute(
        "SELECT CASE WHEN first_day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]*' "
        "THEN substr(first_day, 1, 7) END, vault_id, count(*), sum(bytes) FROM pages GROUP BY 1, 2"
    ):
        size += length
        months.update({month: count} if month else {})
        owners.update({owner: count} if owner is not None else {})
    return Stats(
        file_bytes=number("PRAGMA page_count") * number("PRAGMA page_size"),
        schema_version=number("PRAGMA user_version"),
        pages=number("SELECT count(*) FROM pages"),
        page_bytes=size,
        chunks=number("SELECT count(*) FROM chunks"),
        timeline_entries=number(
            "SELECT count(*) FROM chunks INDEXED BY chunks_day "
            "WHERE first_day IS NOT NULL AND kind = 'timeline' AND part = 0"
        ),
        versions=number("SELECT count(*) FROM versions"),
        links=number("SELECT count(*) FROM links"),
        dangling_links=number(
            "SELECT count(*) FROM links "
            "WHERE NOT EXISTS (SELECT 1 FROM names WHERE names.key = links.key)"
        ),
        tags=number("SELECT count(DISTINCT tag) FROM tags"),
        aliases=len(read_aliases(connection)),
        folders=tuple(
            PageCount(folder.root, owners[folder.id]) for folder in list_folders(connection)
        ),
        vectors=number(
            f"SELECT count(*) FROM {space.vectors} WHERE model_id = ? AND hash IS NOT NULL",
            space.model_id,
        )
        if space
        else 0,
        jobs=number("SELECT count(*) FROM embedding_jobs"),
        model_name=model.name if model else None,
        model_dimension=model.dimension if model else None,
        wings=_page_counts(connection, "wing"),
        rooms=_page_counts(connection, "room"),
        months=tuple(PageCount(month, months[month]) for month in sorted(months)),
        newest=tuple(
            RecentPage(*row)
            for row in connection.execute(
                "SELECT slug, title, updated_at FROM pages ORDER BY updated_at DESC, id DESC "
                "LIMIT ?",
                (MAX_RECENT_PAGES,),
            )
        ),
    )


def _page_counts(connection: sqlite3.Connection, column: str) -> tuple[PageCount, ...]:
    rows = connection.execute(f"SELECT {column}, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC, 1")
    return tuple(PageCount(*row) for row in rows)
