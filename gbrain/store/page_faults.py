"""Where pages are not as they should be: their texts, slugs, passages, names, tags and links."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise

from gbrain.errors import BadPage, GbrainError
from gbrain.text.slug import slug_of
from gbrain.types import Page


def page_ids(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """(id, slug) of every page, by slug."""
    return connection.execute("SELECT id, slug FROM pages ORDER BY slug").fetchall()


def page_bytes(connection: sqlite3.Connection, page_id: int) -> tuple[bytes, bytes]:
    """A page's hash and text as they lie in the file; raises DatabaseError for no such row."""
    row = connection.execute(
        "SELECT sha256, CAST(front_matter || compiled_truth || timeline AS BLOB) FROM pages "
        "WHERE id = ?",
        (page_id,),
    ).fetchone()
    if row is None or row[1] is None:
        raise sqlite3.DatabaseError("an index names it, but its row is not there")
    return row[0], row[1]


def parsed(connection: sqlite3.Connection, page_id: int) -> Page | None:
    """The page read from its own text; None when that is no page any more."""
    from gbrain.text.page import parse_page

    _, data = page_bytes(connection, page_id)
    path = connection.execute("SELECT path FROM pages WHERE id = ?", (page_id,)).fetchone()[0]
    try:
        return parse_page(path, data)
    except GbrainError:
        return None


def wrong_texts(connection: sqlite3.Connection) -> tuple[list[tuple[int, str]], list[str]]:
    """Pages whose text is not the one that was written, as (id, slug); and those unreadable."""
    changed: list[tuple[int, str]] = []
    unreadable: list[str] = []
    for page_id, slug in page_ids(connection):
        try:
            digest, data = page_bytes(connection, page_id)
            if digest != sha256(data).digest():
                changed.append((page_id, slug))
        except sqlite3.DatabaseError as error:
            unreadable.append(f"{slug}: {error}")
    return changed, unreadable


def wrong_slugs(connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """(id, slug, path) of pages whose slug is not the one that their path gives."""
    rows = connection.execute("SELECT id, slug, path FROM pages ORDER BY slug")
    return [row for row in rows if row[1] != _slug(row[2])]


def _slug(path: str) -> str | None:
    try:
        return slug_of(path)
    except BadPage:
        return None


def wrong_passages(connection: sqlite3.Connection, full: bool) -> list[tuple[int, str]]:
    """Pages whose passages are missing or do not stand where they say; `full` cuts each anew."""
    wrong: list[tuple[int, str]] = []
    for page_id, slug in page_ids(connection):
        # A page that cannot be read is found by its text.
        with suppress(sqlite3.DatabaseError):
            if not (_as_cut if full else _in_place)(connection, page_id):
                wrong.append((page_id, slug))
    return wrong


def _in_place(connection: sqlite3.Connection, page_id: int) -> bool:
    """Whether the passages stand in the text where they say and leave nothing written out.

    Where that is not plain to see, the page is cut anew to be sure.
    """
    _, data = page_bytes(connection, page_id)
    passages = connection.execute(
        "SELECT section, part, byte_start, byte_stop, CAST(text AS BLOB) FROM chunks "
        "WHERE page_id = ? ORDER BY section, part",
        (page_id,),
    ).fetchall()
    front = connection.execute(
        "SELECT length(CAST(front_matter AS BLOB)) FROM pages WHERE id = ?", (page_id,)
    ).fetchone()[0]
    places = [(-1, 0), *(row[:2] for row in passages)]
    in_order = all(
        here in ((before[0], before[1] + 1), (before[0] + 1, 0))
        for before, here in pairwise(places)
    )
    starts = [*(row[2] for row in passages), len(data)]
    stops = [front, *(row[3] for row in passages)]
    plain = all(_only_headings(data[stop:start]) for stop, start in zip(stops, starts, strict=True))
    # Passages overlap by less than they hold; a file that says otherwise is not worth the reading.
    bounded = sum(stop - start for _, _, start, stop, _ in passages) <= 2 * len(data)
    return (
        in_order
        and bounded
        and all(
            _decoded(data[start:stop]).strip().endswith(_decoded(text))
            for _, _, start, stop, text in passages
        )
        and (plain or _as_cut(connection, page_id))
    )


def _only_headings(between: bytes) -> bool:
    """Whether there is nothing to make a passage of."""
    return all(line.lstrip()[:1] in (b"", b"#") for line in between.splitlines())


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")


def _as_cut(connection: sqlite3.Connection, page_id: int) -> bool:
    page = parsed(connection, page_id)
    if page is None:
        return False
    standing = connection.execute(
        "SELECT section, part, kind, date, byte_start, byte_stop, first_line, last_line, hash, "
        "heading_path, text FROM chunks WHERE page_id = ? ORDER BY section, part",
        (page_id,),
    ).fetchall()
    return standing == [
        (c.section, c.part, c.kind, c.date, c.byte_start, c.byte_stop, c.first_line, c.last_line,
         c.hash, json.dumps(c.heading_path, ensure_ascii=False), c.text)
        for c in page.chunks
    ]  # fmt: skip


def wrong_references(connection: sqlite3.Connection, full: bool) -> list[tuple[int, str]]:
    """Pages that cannot be found by their own name or tags; with `full` or that lack links."""
    rows = connection.execute(
        "SELECT id, slug, tags, "
        "(SELECT count(*) FROM names WHERE names.page_id = pages.id AND kind = 'slug'), "
        "(SELECT count(*) FROM tags WHERE tags.page_id = pages.id) FROM pages ORDER BY slug"
    ).fetchall()
    return [
        (page_id, slug)
        for page_id, slug, tags, named, tagged in rows
        if named != 1
        or tagged != len(tags.splitlines())
        or (full and not _as_linked(connection, page_id))
    ]


def _as_linked(connection: sqlite3.Connection, page_id: int) -> bool:
    try:
        page = parsed(connection, page_id)
    except sqlite3.DatabaseError:
        # A page that cannot be read is found by its text.
        return True
    standing = connection.execute(
        "SELECT line, kind, target, heading, label FROM links WHERE page_id = ? ORDER BY position",
        (page_id,),
    ).fetchall()
    return page is not None and standing == [
        (link.line, link.kind, link.target, link.heading, link.label) for link in page.links
    ]
