"""Read timeline entries across pages, and add one to a page."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from gbrain.errors import NotFound
from gbrain.messages import did_you_mean
from gbrain.store import page_writer, pages
from gbrain.store.scope import chunk_condition
from gbrain.text.timeline import add_entry, parse_entry
from gbrain.types import Scope


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A timeline entry without bullet and date; `lines` are inclusive, from 1."""

    slug: str
    title: str
    date: str
    source: str | None
    text: str
    lines: tuple[int, int]


def latest_entries(
    connection: sqlite3.Connection, scope: Scope, limit: int | None
) -> tuple[list[TimelineEntry], int]:
    """Return the latest `limit` entries in scope, latest first, and how many there are."""
    within = chunk_condition(scope)
    order = "entries.first_day DESC, entries.date DESC, slug, section"
    return _entries(connection, within.sql, within.values, order, limit)


def page_timeline(
    connection: sqlite3.Connection, page: pages.StoredPage, scope: Scope, limit: int | None
) -> tuple[list[TimelineEntry], int]:
    """Return the latest `limit` entries of a page, oldest first, and how many there are."""
    within = chunk_condition(scope)
    where = f"chunks.page_id = ? AND {within.sql}"
    order = "entries.first_day DESC, entries.date DESC, section DESC"
    entries, total = _entries(connection, where, (page.id, *within.values), order, limit)
    return entries[::-1], total


def _entries(
    connection: sqlite3.Connection,
    where: str,
    values: tuple[str | int, ...],
    order: str,
    limit: int | None,
) -> tuple[list[TimelineEntry], int]:
    where = f"chunks.kind = 'timeline' AND {where}"
    total = connection.execute(
        f"SELECT count(*) FROM chunks WHERE {where} AND part = 0", values
    ).fetchone()[0]
    rows = connection.execute(
        "WITH entries AS (SELECT page_id, section, date, first_day, min(first_line) AS first, "
        "max(last_line) AS last, min(byte_start) AS start, max(byte_stop) AS stop, count(*) AS "
        f"parts, text FROM chunks WHERE {where} GROUP BY page_id, section) "
        "SELECT page_id, slug, title, entries.date, first, last, start, stop, parts, text "
        "FROM entries JOIN pages ON pages.id = page_id "
        f"ORDER BY {order} LIMIT ?",
        (*values, -1 if limit is None else limit),
    ).fetchall()
    texts = _long_texts(connection, [(row[0], row[6], row[7]) for row in rows if row[8] > 1])
    found = []
    for page_id, slug, title, date, first, last, start, _, _, text in rows:
        entry = parse_entry(texts.get((page_id, start), text))
        found.append(TimelineEntry(slug, title, date, entry.source, entry.words, (first, last)))
    return found, total


def _long_texts(
    connection: sqlite3.Connection, spans: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int], str]:
    """Return the text of entries that span several chunks, by (page id, first byte)."""
    texts = {}
    for page_id, of_page in groupby(sorted(spans), key=lambda span: span[0]):
        data = pages.page_text(connection, page_id).encode()
        for _, start, stop in of_page:
            texts[page_id, start] = data[start:stop].decode()
    return texts


def add_timeline_entry(
    connection: sqlite3.Connection,
    slug: str,
    date: str,
    words: str,
    source: str | None,
    now: str,
    *,
    expected_version: int | None = None,
) -> page_writer.WriteResult:
    """Add an entry to a page's timeline; call this in a write transaction.

    Raises NotFound if the page does not exist.
    """
    from gbrain.text.page import parse_page

    page = pages.find_page(connection, slug)
    if page is None:
        near = pages.nearest_slugs(connection, slug)
        meant = f"{did_you_mean(near)} " if near else ""
        raise NotFound(
            f"There is no page {slug}", hint=f"{meant}gbrain put {slug} FILE creates the page."
        )
    grown = add_entry(pages.page_text(connection, page.id), date, words, source)
    return page_writer.write_page(
        connection, parse_page(page.path, grown.encode()), now, expected_version=expected_version
    )
