"""Where pages are not as they should be: their texts, slugs, passages, names, tags and links."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise

from gbrain.errors import BadPage, GbrainError
from gbrain.store.doctor.findings import STRANGE
from gbrain.store.doctor.row_problems import is_time
from gbrain.store.history import unpacked
from gbrain.store.page_writer import names_of
from gbrain.text.slug import fold, is_page_file, slug_of
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
    """(id, slug, path) of pages whose slug is not the one that their path gives, if it is one."""
    rows = connection.execute("SELECT id, slug, path FROM pages ORDER BY slug")
    return [row for row in rows if not is_page_file(row[2]) or row[1] != _slug(row[2])]


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
    if page is None:
        return False
    links = connection.execute(
        "SELECT line, kind, target, key, heading, label FROM links WHERE page_id = ? "
        "ORDER BY position",
        (page_id,),
    ).fetchall()
    names = connection.execute(
        "SELECT key, kind, reversed FROM names WHERE page_id = ?", (page_id,)
    ).fetchall()
    tags = connection.execute("SELECT tag FROM tags WHERE page_id = ?", (page_id,)).fetchall()
    return (
        links
        == [(x.line, x.kind, x.target, fold(x.target), x.heading, x.label) for x in page.links]
        and sorted(names) == sorted((key, kind, key[::-1]) for key, kind in names_of(page))
        and sorted(tags) == sorted((tag,) for tag in dict.fromkeys(page.tags))
    )


_FACTS = (
    "title, type, wing, wing_reason, room, room_reason, date, first_day, last_day, bytes, tags, "
    "aliases, meta, front_matter, compiled_truth, timeline"
)


def _facts(page: Page) -> tuple[object, ...]:
    return (
        page.title, page.type, page.wing, page.wing_reason, page.room, page.room_reason, page.date,
        page.first_day, page.last_day, len(page.text.encode()), "\n".join(page.tags),
        "\n".join(page.aliases), page.meta, page.front_matter, page.compiled_truth, page.timeline,
    )  # fmt: skip


def wrong_facts(connection: sqlite3.Connection, full: bool) -> list[tuple[int, str]]:
    """Pages of which something else is known than their text says.

    Without `full` only those are read that stand out by what they are found by.
    """
    wrong: list[tuple[int, str]] = []
    for page_id, slug in page_ids(connection) if full else wrong_references(connection, False):
        # A page that cannot be read is found by its text.
        with suppress(sqlite3.DatabaseError):
            page = parsed(connection, page_id)
            row = connection.execute(
                f"SELECT {_FACTS} FROM pages WHERE id = ?", (page_id,)
            ).fetchone()
            if page is not None and row != _facts(page):
                wrong.append((page_id, slug))
    return wrong


def write_facts(connection: sqlite3.Connection, page_id: int, now: str) -> None:
    """Makes a page's columns from its text; what is no text is left as it is.

    Its hash stays, by which one sees that the text was changed.
    """
    from gbrain.text.page import parse_page

    path, slug, *texts = connection.execute(
        "SELECT CAST(path AS BLOB), CAST(slug AS BLOB), CAST(front_matter AS BLOB), "
        "CAST(compiled_truth AS BLOB), CAST(timeline AS BLOB) FROM pages WHERE id = ?",
        (page_id,),
    ).fetchone()
    try:
        page = parse_page(_path(path, slug), b"".join(text or b"" for text in texts))
    except (GbrainError, UnicodeDecodeError):
        return
    written = ", ".join(f"{name} = ?" for name in _FACTS.split(", "))
    connection.execute(
        f"UPDATE pages SET {written}, path = ?, "
        "slug = CASE WHEN typeof(slug) = 'text' THEN slug ELSE ? END, "
        "sha256 = CASE WHEN typeof(sha256) = 'blob' THEN sha256 ELSE ? END, "
        "version = CASE WHEN typeof(version) = 'integer' AND version BETWEEN 1 AND 1000000000 "
        "THEN version ELSE 1 + (SELECT coalesce(max(version), 0) FROM versions "
        "WHERE page_id = pages.id) END, "
        f"created_at = CASE WHEN {is_time('created_at')} THEN created_at ELSE ? END, "
        f"updated_at = CASE WHEN {is_time('updated_at')} THEN updated_at ELSE ? END, "
        "vault_id = CASE WHEN typeof(vault_id) = 'integer' THEN vault_id END, "
        "source_sha256 = CASE WHEN typeof(source_sha256) = 'blob' THEN source_sha256 END "
        "WHERE id = ?",
        (*_facts(page), page.path, page.slug, page.sha256, now, now, page_id),
    )


def _path(path: bytes | None, slug: bytes | None) -> str:
    """The page's path, from its slug where it has none; raises UnicodeDecodeError for neither."""
    try:
        return (path or b"\xff").decode()
    except UnicodeDecodeError:
        return (slug or b"\xff").decode() + ".md"


def unreadable_versions(connection: sqlite3.Connection) -> list[str]:
    """Versions whose text cannot be had any more, or is another than was kept."""
    rows = connection.execute(
        "SELECT slug, version, sha256, content FROM versions ORDER BY page_id, version"
    )
    return [f"{slug}@{number}" for slug, number, *kept in rows if not _as_kept(*kept)]


def _as_kept(digest: bytes, packed: bytes) -> bool:
    try:
        return sha256(unpacked(packed).encode()).digest() == digest
    except STRANGE:
        return False
