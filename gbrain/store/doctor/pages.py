"""Checks and repairs of pages: their texts, slugs, versions, and the rows derived from them."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise

from gbrain.errors import BadPage
from gbrain.store import indexed_text, page_writer, pages
from gbrain.store.doctor.findings import CORRUPTION_ERRORS, REPAIR, RESTORE, Examination, Finding
from gbrain.store.doctor.rows import expected_rows, list_pages, stored_rows
from gbrain.store.history import decompress_version
from gbrain.store.links import list_dangling_links
from gbrain.store.reparse import parse_stored
from gbrain.text.slug import is_page_file, slug_from_path

# --- texts and versions ----------------------------------------------------------------------


def _page_bytes(connection: sqlite3.Connection, page_id: int) -> tuple[bytes, bytes]:
    """Return the hash and the text of a page as stored; raises DatabaseError without a row."""
    row = connection.execute(
        "SELECT sha256, CAST(front_matter || compiled_truth || timeline AS BLOB) FROM pages "
        "WHERE id = ?",
        (page_id,),
    ).fetchone()
    if row is None or row[1] is None:
        raise sqlite3.DatabaseError("an index names the page, but its row is missing")
    return row[0], row[1]


def _wrong_texts(connection: sqlite3.Connection) -> tuple[list[tuple[int, str]], list[str]]:
    """Return (id, slug) of pages whose text does not match its hash, and unreadable pages."""
    changed: list[tuple[int, str]] = []
    unreadable: list[str] = []
    for page_id, slug in list_pages(connection):
        try:
            digest, data = _page_bytes(connection, page_id)
            if digest != sha256(data).digest():
                changed.append((page_id, slug))
        except sqlite3.DatabaseError as error:
            unreadable.append(f"{slug}: {error}")
    return changed, unreadable


def changed_texts(examination: Examination) -> list[str] | Finding:
    changed, unreadable = _wrong_texts(examination.connection)
    if unreadable:
        count = len(unreadable)
        message = f"pages that cannot be read: {count:,}"
        return Finding("problem", message, RESTORE, count, tuple(unreadable))
    return [slug for _, slug in changed]


def accept_changed_texts(examination: Examination) -> None:
    """Write changed texts as a new version of their page, with all that is derived from them."""
    connection = examination.connection
    for page_id, slug in _wrong_texts(connection)[0]:
        page = parse_stored(connection, page_id)
        if page is None or page.slug != slug:
            continue
        written = page_writer.write_page(connection, page, examination.now)
        # The version before gets the same text, as the one it was written with is lost.
        connection.execute(
            "UPDATE versions SET sha256 = ?, bytes = ? WHERE page_id = ? AND version = ?",
            (page.sha256, len(page.text.encode()), page_id, written.version - 1),
        )


def unreadable_versions(examination: Examination) -> list[str]:
    if not examination.full:
        return []
    rows = examination.connection.execute(
        "SELECT slug, version, sha256, content FROM versions ORDER BY page_id, version"
    )
    return [f"{slug}@{number}" for slug, number, *kept in rows if not _is_readable(*kept)]


def _is_readable(digest: bytes, packed: bytes) -> bool:
    try:
        return sha256(decompress_version(packed).encode()).digest() == digest
    except CORRUPTION_ERRORS:
        return False


# --- slugs and links -------------------------------------------------------------------------


def _wrong_slugs(connection: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """Return (id, slug, path) of pages whose slug is not the one of their path."""
    rows = connection.execute("SELECT id, slug, path FROM pages ORDER BY slug")
    return [row for row in rows if not is_page_file(row[2]) or row[1] != _slug_or_none(row[2])]


def _slug_or_none(path: str) -> str | None:
    try:
        return slug_from_path(path)
    except BadPage:
        return None


def describe_wrong_slugs(examination: Examination) -> list[str]:
    wrong = _wrong_slugs(examination.connection)
    return [f"{slug} has the path {path}" for _, slug, path in wrong]


def repair_slugs(examination: Examination) -> None:
    """Rename pages to the slug of their path if it is free; an invalid path becomes the slug's."""
    connection = examination.connection
    for page_id, slug, path in _wrong_slugs(connection):
        if not is_page_file(path):
            connection.execute(
                "UPDATE OR IGNORE pages SET path = slug || '.md' WHERE id = ?", (page_id,)
            )
            continue
        page = parse_stored(connection, page_id)
        if page is None or pages.find_page(connection, page.slug):
            continue
        source = connection.execute(
            "SELECT vault_id, source_sha256 FROM pages WHERE id = ?", (page_id,)
        ).fetchone()
        # write_page does nothing for a page with the same text and path.
        connection.execute("UPDATE pages SET path = slug || '.md' WHERE id = ?", (page_id,))
        page_writer.write_page(connection, page, examination.now, renames=slug)
        connection.execute(
            "UPDATE pages SET vault_id = ?, source_sha256 = ? WHERE id = ?", (*source, page_id)
        )


def dangling_links(examination: Examination) -> list[str]:
    missing = list_dangling_links(examination.connection)
    return [f"{slug}:{line} links to {target}" for slug, line, target in missing]


# --- rows and indexes derived from the text --------------------------------------------------


def pages_that_differ(kind: str, examination: Examination) -> list[str]:
    """Return the slugs of pages whose `columns`, `chunks` or `references` differ from their text.

    Without `full`, only pages that look wrong at a glance are compared.
    """
    comparison = examination.page_comparison
    if not comparison:
        comparison |= {"columns": [], "chunks": [], "references": []}
        for page_id, slug in list_pages(examination.connection):
            # A page that cannot be read is reported by the check of texts.
            with suppress(sqlite3.DatabaseError):
                for different in _differences(examination, page_id):
                    comparison[different].append(slug)
    return comparison[kind]


def _differences(examination: Examination, page_id: int) -> list[str]:
    connection = examination.connection
    if not examination.full and not _looks_wrong(connection, page_id):
        return []
    page = parse_stored(connection, page_id)
    if page is None:
        return ["chunks", "references"]
    stored = stored_rows(connection, page_id)
    return [kind for kind, rows in expected_rows(page).items() if rows != stored[kind]]


def _looks_wrong(connection: sqlite3.Connection, page_id: int) -> bool:
    """Return whether names or tags are missing, or chunks do not cover the text, without parsing.

    May also be true of a page that has text between its chunks for a good reason.
    """
    _, data = _page_bytes(connection, page_id)
    front_bytes, tags, slug_count, tag_count = connection.execute(
        "SELECT length(CAST(front_matter AS BLOB)), tags, "
        "(SELECT count(*) FROM names WHERE names.page_id = pages.id AND kind = 'slug'), "
        "(SELECT count(*) FROM tags WHERE tags.page_id = pages.id) FROM pages WHERE id = ?",
        (page_id,),
    ).fetchone()
    if slug_count != 1 or tag_count != len(tags.splitlines()):
        return True
    stored = connection.execute(
        "SELECT section, part, byte_start, byte_stop, CAST(text AS BLOB) FROM chunks "
        "WHERE page_id = ? ORDER BY section, part",
        (page_id,),
    ).fetchall()
    numbers = [(-1, 0), *(row[:2] for row in stored)]
    in_order = all(
        here in ((before[0], before[1] + 1), (before[0] + 1, 0))
        for before, here in pairwise(numbers)
    )
    # Chunks overlap by less than they contain; comparing longer ones could take hours.
    bounded = sum(stop - start for _, _, start, stop, _ in stored) <= 2 * len(data)
    if not in_order or not bounded:
        return True
    starts = [*(row[2] for row in stored), len(data)]
    stops = [front_bytes, *(row[3] for row in stored)]
    gaps = (data[stop:start] for stop, start in zip(stops, starts, strict=True))
    return not all(map(_has_only_headings, gaps)) or not all(
        _decode(data[start:stop]).strip().endswith(_decode(text))
        for _, _, start, stop, text in stored
    )


def _has_only_headings(text: bytes) -> bool:
    """Return whether the text has only headings and empty lines, which make no chunk."""
    return all(line.lstrip()[:1] in (b"", b"#") for line in text.splitlines())


def _decode(data: bytes) -> str:
    return data.decode(errors="replace")


_INDEXED = {
    "pages_fts": "pages", "chunks_fts": "chunks", "questions_fts": "questions of pages",
}  # fmt: skip


def check_keyword_index(table: str, examination: Examination) -> Finding:
    """Run FTS5's own check, which also compares the index with the text that it indexes."""
    connection = examination.connection
    if examination.database.read_only:
        return Finding("note", "not checked: the check needs a writable file")
    try:
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return Finding("problem", "the keyword index does not match the pages", REPAIR, 1)
    if table == "pages_fts" and indexed_text.has_wrong_copies(connection):
        return Finding("problem", "the keyword index does not match the pages", REPAIR, 1)
    if examination.full and _has_unreachable_terms(connection, table):
        return Finding("problem", "a search does not find every indexed term", REPAIR, 1)
    return Finding("ok", f"the keyword index of {_INDEXED[table]} is complete")


def _has_unreachable_terms(connection: sqlite3.Connection, table: str) -> bool:
    """Return whether looking up a term gives another result than reading all terms in order.

    FTS5's own check only reads them in order; a search uses the lookup.
    """
    connection.execute(f"CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', '{table}', 'row')")
    try:
        wrong = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM temp.terms AS listed "
            "LEFT JOIN temp.terms AS found ON found.term = listed.term "
            "WHERE found.doc IS NOT listed.doc)"
        )
        return bool(wrong.fetchone()[0])
    finally:
        connection.execute("DROP TABLE temp.terms")
