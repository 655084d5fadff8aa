"""Parse pages again from their stored text: all of a page, or what older brains lack."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable

from gbrain.errors import GbrainError
from gbrain.store import chunks
from gbrain.text.chunking import find_long_words
from gbrain.text.page import event_date, parse_page
from gbrain.types import Page

# A list item or heading with a year near its start; every dated one is among them. Parsing only
# their pages takes a twentieth of parsing all of a brain without dated lists.
_MAY_BE_DATED = re.compile(
    r"^[ \t]{0,3}(?:[-*+]|#{1,6})[ \t][^\r\n]{0,80}?[12][0-9]{3}"
    r"|^[^\r\n]{0,50}?[12][0-9]{3}[^\r\n]{0,50}(?:\r\n?|\n)[=-]",
    re.MULTILINE,
)


def parse_stored(connection: sqlite3.Connection, page_id: int) -> Page | None:
    """Return the page parsed from its stored text, or None when that is no valid page.

    Raises sqlite3.DatabaseError when the row cannot be read.
    """
    row = connection.execute(
        "SELECT CAST(path AS BLOB), CAST(slug AS BLOB), CAST(front_matter AS BLOB), "
        "CAST(compiled_truth AS BLOB), CAST(timeline AS BLOB) FROM pages WHERE id = ?",
        (page_id,),
    ).fetchone()
    if row is None:
        raise sqlite3.DatabaseError("an index names the page, but its row is missing")
    path, slug, *texts = row
    try:
        return parse_page(_valid_path(path, slug), b"".join(text or b"" for text in texts))
    except (GbrainError, UnicodeDecodeError):
        return None


def _valid_path(path: bytes | None, slug: bytes | None) -> str:
    """Return the path, or one made from the slug; raises UnicodeDecodeError when both are bad."""
    try:
        return (path or b"\xff").decode()
    except UnicodeDecodeError:
        return (slug or b"\xff").decode() + ".md"


def reparse_dates(connection: sqlite3.Connection) -> None:
    """Write the dates and chunks of every page again that may have a date unknown to its rows.

    Chunks that stay the same keep their row and vector; the others are queued for embedding. If
    rows are damaged everything stays as it is: `gbrain doctor --repair` rebuilds it.
    """
    _reparse(connection, "SELECT id FROM pages ORDER BY id", _may_have_other_dates)


def reparse_long_words(connection: sqlite3.Connection) -> None:
    """Do the same for the pages with URLs or encoded data that older chunks divide."""
    _reparse(connection, "SELECT id FROM pages ORDER BY id", _has_long_word)


def reparse_cjk_dates(connection: sqlite3.Connection) -> None:
    """Do the same for the pages that may have a date such as 2025年5月3日.

    Of a brain of schema 4 to 8 all others have their dates: to parse 50,000 takes half a minute.
    """
    _reparse(
        connection,
        "SELECT id FROM pages WHERE instr(path || title || meta || compiled_truth || timeline, "
        "'\u5e74') ORDER BY id",
        _may_have_other_dates,
    )


def _reparse(
    connection: sqlite3.Connection,
    select_ids: str,
    may_differ: Callable[[sqlite3.Connection, int], bool],
) -> None:
    now = connection.execute("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')").fetchone()[0]
    connection.execute("SAVEPOINT reparse")
    try:
        ids = connection.execute(select_ids).fetchall()
        for (page_id,) in ids:
            if may_differ(connection, page_id):
                page = parse_stored(connection, page_id)
                if page is not None:
                    _write_dates_and_chunks(connection, page_id, page, now)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        connection.execute("ROLLBACK TO reparse")
    connection.execute("RELEASE reparse")


def _may_have_other_dates(connection: sqlite3.Connection, page_id: int) -> bool:
    path, title, day, meta, text = connection.execute(
        "SELECT path, title, date, meta, compiled_truth || timeline FROM pages WHERE id = ?",
        (page_id,),
    ).fetchone()
    try:
        event = event_date(json.loads(meta), path, title)
    except (ValueError, TypeError, AttributeError):
        return False
    return (event is not None and event.text != day) or bool(_MAY_BE_DATED.search(text))


def _has_long_word(connection: sqlite3.Connection, page_id: int) -> bool:
    (text,) = connection.execute(
        "SELECT CAST(compiled_truth || timeline AS BLOB) FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return bool(find_long_words((text or b"").decode(errors="replace")))


def _write_dates_and_chunks(
    connection: sqlite3.Connection, page_id: int, page: Page, now: str
) -> None:
    connection.execute(
        "UPDATE pages SET date = ?, first_day = ?, last_day = ? WHERE id = ?",
        (page.date, page.first_day, page.last_day, page_id),
    )
    chunks.replace_chunks(connection, page_id, page.title, page.chunks, fresh=False)
    chunks.enqueue_page(connection, page_id, now)
