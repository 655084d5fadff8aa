"""The history of pages as a user sees it for whom only some versions exist.

A version is visible if it was within the limits itself: its slug, and the wing that its own path
and text gave it. What is visible is numbered as if the other versions had never been written, so
that no number, order or ending tells of them; a number never changes, because earlier versions
never do. A deletion divides the versions of a page into lives. A life is shown while its last
version is visible: a page that left the limits takes its history along.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gbrain.errors import BadPage
from gbrain.store.history import decompress_version
from gbrain.types import Scope


class ShownVersion(NamedTuple):
    """A visible version; `number` is the one that is shown, `version` that of the brain.

    `ending` is None for the text that the page has now. `last_version` is the number in the brain
    of the last version in a row that has the same text and name, with only hidden ones in between.
    """

    number: int
    version: int
    last_version: int
    slug: str
    written_at: str
    ended_at: str | None
    ending: str | None


class _Row(NamedTuple):
    """A version in the brain, the current one included."""

    version: int
    page_id: int
    slug: str
    path: str
    sha256: bytes
    written_at: str
    ended_at: str | None
    ending: str | None


class VisibleHistory:
    """Finds the visible versions of pages; `is_current` tells whether a page is visible now.

    Whether an earlier version is visible is found once, since its text never changes.
    """

    def __init__(self, limits: Scope) -> None:
        self._limits = limits
        self._within: dict[tuple[int, int], bool] = {}

    def lives(
        self, connection: sqlite3.Connection, page_id: int, is_current: Callable[[int], bool]
    ) -> Iterator[list[ShownVersion]]:
        """Yield the visible versions of each life of a page that is shown, oldest first."""
        rows = _related_rows(connection, page_id)
        visible = {
            row[:2]
            for row in rows
            if (is_current(row.page_id) if row.ending is None else self._is_within(connection, row))
        }
        numbers = _number_visible(rows, visible)
        life: list[_Row] = []
        for row in rows:
            if row.page_id != page_id:
                continue
            life.append(row)
            if row.ending in (None, "deleted"):
                if row[:2] in visible:
                    yield _show(life, visible, numbers)
                life = []

    def _is_within(self, connection: sqlite3.Connection, row: _Row) -> bool:
        key = (row.page_id, row.version)
        if key not in self._within:
            self._within[key] = self._find_within(connection, row)
        return self._within[key]

    def _find_within(self, connection: sqlite3.Connection, row: _Row) -> bool:
        """Return whether a version was within the limits; its wing has to be found in its text."""
        prefix, wing = self._limits.slug_prefix, self._limits.wing
        if prefix is not None and not row.slug.startswith(prefix):
            return False
        if wing is None:
            return True
        from zlib import error as ZlibError

        from gbrain.text.page import parse_page

        content = connection.execute(
            "SELECT content FROM versions WHERE page_id = ? AND version = ?",
            (row.page_id, row.version),
        ).fetchone()[0]
        try:
            return parse_page(row.path, decompress_version(content).encode()).wing == wing
        except (BadPage, ValueError, ZlibError):
            return False


def _related_rows(connection: sqlite3.Connection, page_id: int) -> list[_Row]:
    """Return the versions on which the numbers of a page depend, each after those it depends on.

    These are its own and those of pages that had one of its slugs, and so on.
    """
    rows: list[_Row] = []
    pages, slugs, new_pages = {page_id}, set[str](), {page_id}
    while new_pages:
        new_slugs = set()
        for each in new_pages:
            for values in connection.execute(
                "SELECT version, page_id, slug, path, sha256, written_at, ended_at, ending "
                "FROM versions WHERE page_id = ?1 UNION ALL "
                "SELECT version, id, slug, path, sha256, updated_at, NULL, NULL "
                "FROM pages WHERE id = ?1",
                (each,),
            ):
                row = _Row(*values)
                rows.append(row)
                new_slugs.add(row.slug)
        new_slugs -= slugs
        slugs |= new_slugs
        new_pages = {
            found
            for slug in new_slugs
            for (found,) in connection.execute(
                "SELECT page_id FROM versions WHERE slug = ?1 UNION "
                "SELECT id FROM pages WHERE slug = ?1",
                (slug,),
            )
        } - pages
        pages |= new_pages
    # A version has a higher number than those before it, of its page and under its slug.
    return sorted(rows, key=lambda row: row[:2])


def _number_visible(rows: list[_Row], visible: set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the shown number of each visible version; see `last_version` for the rule."""
    numbers: dict[tuple[int, int], int] = {}
    under_slug: dict[str, int] = {}
    # Of each page that lives: its last visible version, and whether hidden ones came after it.
    last: dict[int, _Row] = {}
    hidden_since: set[int] = set()
    for row in rows:
        page_id = row.page_id
        if row[:2] in visible:
            before = last.get(page_id)
            if before and page_id in hidden_since and _is_same(before, row):
                number = numbers[before[:2]]
            else:
                number = 1 + max(numbers[before[:2]] if before else 0, under_slug.get(row.slug, 0))
            numbers[row[:2]] = under_slug[row.slug] = number
            last[page_id] = row
            hidden_since.discard(page_id)
        else:
            hidden_since.add(page_id)
        if row.ending == "deleted":
            last.pop(page_id, None)
            hidden_since.discard(page_id)
    return numbers


def _show(
    life: list[_Row], visible: set[tuple[int, int]], numbers: dict[tuple[int, int], int]
) -> list[ShownVersion]:
    """Return the visible versions of a life; the end of each is the next one that is visible."""
    shown: list[ShownVersion] = []
    following = [*life[1:], None]
    for row, after in zip(life, following, strict=True):
        if row[:2] not in visible:
            continue
        number = numbers[row[:2]]
        first, start = row.version, row.written_at
        if shown and shown[-1].number == number:
            same = shown.pop()
            first, start = same.version, same.written_at
        elif shown and shown[-1].ended_at is None:
            # The version that ended it is hidden.
            ended = shown[-1]
            ending = "replaced" if ended.slug == row.slug else "renamed"
            shown[-1] = ended._replace(ended_at=row.written_at, ending=ending)
        shown_end = after is None or after[:2] in visible
        shown.append(
            ShownVersion(
                number,
                first,
                row.version,
                row.slug,
                start,
                row.ended_at if shown_end else None,
                row.ending if shown_end else None,
            )
        )
    return shown


def _is_same(before: _Row, row: _Row) -> bool:
    return (before.slug, before.path, before.sha256) == (row.slug, row.path, row.sha256)
