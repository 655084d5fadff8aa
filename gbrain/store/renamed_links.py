"""Links that still have the old names of renamed pages."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from gbrain.store.history import sequence_of_end
from gbrain.text.link_updates import RenamedPage
from gbrain.text.links import PAGE_FILE_ENDING
from gbrain.text.slug import fold_name


def old_names(connection: sqlite3.Connection) -> dict[str, RenamedPage]:
    """Return the renamed pages by the folded names that only links still have.

    A name that is still the title of the page counts, because other programs find files by their
    names. A file name that several renamed pages had is left out.
    """
    rows = connection.execute(
        "SELECT versions.slug, pages.path, pages.id, ending = 'guessed' FROM versions "
        "JOIN pages ON pages.id = page_id WHERE ending IN ('renamed', 'guessed') "
        f"AND versions.slug <> pages.slug ORDER BY {sequence_of_end('versions')}"
    ).fetchall()
    guessed = {page_id for _, _, page_id, was_guessed in rows if was_guessed}
    by_slug = {fold_name(slug): (path, page_id) for slug, path, page_id, _ in rows}
    by_name: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for slug, path, page_id, _ in rows:
        by_name[fold_name(slug.rpartition("/")[2])].add((path, page_id))
    found = {name: next(iter(pages)) for name, pages in by_name.items() if len(pages) == 1}
    return {
        name: RenamedPage(path, _link_name(connection, path, page_id), page_id in guessed)
        for name, (path, page_id) in (found | by_slug).items()
        if _holders(connection, name) <= {(page_id, "title")}
    }


def _link_name(connection: sqlite3.Connection, path: str, page_id: int) -> str:
    """Return the file name of a page if no other page has it, else its path, without ending."""
    whole = PAGE_FILE_ENDING.sub("", path)
    name = whole.rpartition("/")[2]
    holders = {holder for holder, _ in _holders(connection, fold_name(name))}
    return name if holders == {page_id} else whole


def _holders(connection: sqlite3.Connection, key: str) -> set[tuple[int, str]]:
    """Return (page id, kind of name) of the pages that have this folded name."""
    return set(connection.execute("SELECT page_id, kind FROM names WHERE key = ?", (key,)))


def pages_with_links(connection: sqlite3.Connection, keys: Iterable[str]) -> list[str]:
    """Return the slugs of pages that have a link to one of these folded names, sorted."""
    rows = connection.execute(
        "SELECT DISTINCT slug FROM links JOIN pages ON pages.id = page_id "
        "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY slug",
        (json.dumps(list(keys)),),
    )
    return [row[0] for row in rows]
