"""The history of pages as a user sees it for whom only some versions exist.

A version is visible if it was within the limits itself: its slug, and the wing that its own path
and text gave it. A run of visible versions of a page without a hidden one or a deletion between
them looks like a page of its own: what happened to a page while it was hidden, even that it was the
same page, is hidden too. A run is shown if it is still there, or ended with a deletion; a page that
leaves the limits takes it along. Versions are numbered as if the hidden ones had never been
written. A number never changes, because what comes later does not count.
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

    `ending` is None for the text that the page has now.
    """

    number: int
    version: int
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

    def runs(
        self, connection: sqlite3.Connection, page_id: int, is_current: Callable[[int], bool]
    ) -> Iterator[list[ShownVersion]]:
        """Yield the runs of a page that are shown, each with its versions, the oldest first."""
        run: list[ShownVersion] = []
        for row, number in self._number(_related_rows(connection, page_id), connection, is_current):
            if row.page_id != page_id:
                continue
            if number is None:
                run = []
                continue
            run.append(
                ShownVersion(
                    number, row.version, row.slug, row.written_at, row.ended_at, row.ending
                )
            )
            if row.ending in (None, "deleted"):
                yield run
                run = []

    def _number(
        self, rows: list[_Row], connection: sqlite3.Connection, is_current: Callable[[int], bool]
    ) -> Iterator[tuple[_Row, int | None]]:
        """Yield each version with its number, or None if it is hidden.

        It is the next one after those of the run and those that were visible under the slug before.
        """
        of_run: dict[int, int] = {}
        under_slug: dict[str, int] = {}
        for row in rows:
            visible = (
                is_current(row.page_id) if row.ending is None else self._is_within(connection, row)
            )
            before = of_run.pop(row.page_id, 0)
            if not visible:
                yield row, None
                continue
            number = 1 + max(before, under_slug.get(row.slug, 0))
            under_slug[row.slug] = number
            if row.ending != "deleted":
                of_run[row.page_id] = number
            yield row, number

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
