"""Pages that another one replaces: their own front matter says so, and an export keeps it."""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from gbrain.errors import Conflict
from gbrain.store import page_names, page_writer, pages
from gbrain.text.frontmatter import remove_key, set_key
from gbrain.text.links import parse_front_matter_links
from gbrain.text.page import parse_page
from gbrain.text.slug import fold_name

KEY = "superseded_by"


class SupersededPage(NamedTuple):
    """A page with the one that replaces it: as written, and its slug if there is such a page."""

    slug: str
    title: str
    by: str
    successor: str | None
    pinned: bool


def supersede_page(
    connection: sqlite3.Connection, old: str, new: str, now: str
) -> tuple[page_writer.WriteResult, str]:
    """Writes into the page `old` that the page `new` replaces it; gives back the latter's slug.

    To be called within one writing transaction. Raises NotFound with the nearest slugs, and
    Conflict where pages would replace each other in a circle.
    """
    page, successor = pages.require_page(connection, old), pages.require_page(connection, new)
    chain = [page.slug, successor.slug]
    while chain[-1] != page.slug:
        following = find_successor(connection, chain[-1])
        if following is None or following in chain[1:]:
            text = set_key(pages.page_text(connection, page.id), KEY, successor.slug)
            return _write(connection, page, text, now), successor.slug
        chain.append(following)
    raise Conflict(
        f"{page.slug} cannot be superseded by itself"
        if len(chain) == 2
        else f"That would be a circle: {' → '.join(chain)}",
        hint="Name the page that replaces it."
        if len(chain) == 2
        else f"gbrain supersede --undo {chain[-2]} breaks it.",
        code="supersede_circle",
    )


def undo_supersede(connection: sqlite3.Connection, old: str, now: str) -> page_writer.WriteResult:
    """Takes out of a page's front matter that another replaces it; to be called while writing."""
    page = pages.require_page(connection, old)
    text = remove_key(pages.page_text(connection, page.id), KEY)
    return _write(connection, page, text, now)


def list_superseded(connection: sqlite3.Connection) -> list[SupersededPage]:
    """All pages that another one replaces, by slug."""
    rows = connection.execute(
        "SELECT slug, title, meta FROM pages "
        f"WHERE json_extract(meta, '$.{KEY}') IS NOT NULL ORDER BY slug"
    )
    found = []
    for slug, title, meta in rows.fetchall():
        values = json.loads(meta)
        written = values[KEY] if isinstance(values[KEY], str) else json.dumps(values[KEY])
        successor = find_successor(connection, slug)
        found.append(SupersededPage(slug, title, written, successor, values.get("pinned") is True))
    return found


def _write(
    connection: sqlite3.Connection, page: pages.StoredPage, text: str, now: str
) -> page_writer.WriteResult:
    return page_writer.write_page(connection, parse_page(page.path, text.encode()), now)


def find_successor(connection: sqlite3.Connection, slug: str) -> str | None:
    """The page that a page says it is superseded by."""
    row = connection.execute("SELECT meta FROM pages WHERE slug = ?", (slug,)).fetchone()
    values = json.loads(row[0]) if row else {}
    for link in parse_front_matter_links({KEY: values.get(KEY)}, {}):
        for page in page_names.find_by_name(connection, fold_name(link.target)):
            return page.slug
    return None
