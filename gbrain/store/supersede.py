"""Mark pages as superseded by another, in their front matter, and list them."""

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
    """A superseded page; `by` is the successor as written, `successor` its slug if it exists."""

    slug: str
    title: str
    by: str
    successor: str | None
    pinned: bool


def supersede_page(
    connection: sqlite3.Connection, old: str, new: str, now: str
) -> tuple[page_writer.WriteResult, str]:
    """Mark the page `old` as superseded by `new`; return the write and the slug of `new`.

    Call this in a write transaction. Raises NotFound, with similar slugs, if a page does not exist,
    and Conflict if pages would supersede each other in a circle.
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
        else f"The pages would supersede each other in a circle: {' → '.join(chain)}",
        hint="Give the page that supersedes it."
        if len(chain) == 2
        else f"gbrain supersede --undo {chain[-2]} breaks it.",
        code="supersede_circle",
    )


def undo_supersede(connection: sqlite3.Connection, old: str, now: str) -> page_writer.WriteResult:
    """Remove the mark of a superseded page; call this in a write transaction."""
    page = pages.require_page(connection, old)
    text = remove_key(pages.page_text(connection, page.id), KEY)
    return _write(connection, page, text, now)


def list_superseded(connection: sqlite3.Connection) -> list[SupersededPage]:
    """Return all superseded pages, by slug."""
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
    """Return the slug of the page that supersedes this one; None if there is none."""
    row = connection.execute("SELECT meta FROM pages WHERE slug = ?", (slug,)).fetchone()
    values = json.loads(row[0]) if row else {}
    for link in parse_front_matter_links({KEY: values.get(KEY)}, {}):
        for page in page_names.find_by_name(connection, fold_name(link.target)):
            return page.slug
    return None
