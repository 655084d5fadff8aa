"""`Brain` methods for what connects pages: links, tags, timelines, sources, successors."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from gbrain.brain.base import BrainFile, timestamp, today
from gbrain.store import pages
from gbrain.types import Scope

if TYPE_CHECKING:
    from gbrain.store.links import Backlink, LinkGraph, LinkRow
    from gbrain.store.page_writer import WriteResult
    from gbrain.store.provenance import Origin, SupersededPage
    from gbrain.store.timeline import TimelineEntry


class StructureMethods(BrainFile):
    """Read and change what connects pages."""

    def links(self, name: str) -> list[LinkRow]:
        """Return a page's links with the pages they lead to, in the order they are written."""
        from gbrain.store import links

        with self.database.read_transaction() as connection:
            page = pages.require_named_page(connection, name)
            return links.links_from(connection, page)

    def backlinks(self, name: str) -> list[Backlink]:
        """Return the links on other pages that lead to this one."""
        from gbrain.store import links

        with self.database.read_transaction() as connection:
            page = pages.require_named_page(connection, name)
            return links.links_to(connection, page)

    def graph(self, name: str | None = None, *, depth: int = 1, limit: int = 200) -> LinkGraph:
        """Return the pages at most `depth` links away from a page (default: all), up to `limit`."""
        from gbrain.store import links

        with self.database.read_transaction() as connection:
            if name is None:
                return links.full_graph(connection, limit)
            page = pages.require_named_page(connection, name)
            return links.graph_around(connection, page, depth, limit)

    def tags(self) -> list[tuple[str, int]]:
        """Return all tags with their number of pages, the most used first."""
        from gbrain.store.pages import tag_counts

        with self.database.read_transaction() as connection:
            return tag_counts(connection)

    def timeline(
        self, name: str | None = None, *, scope: Scope = Scope(), limit: int | None = None
    ) -> tuple[list[TimelineEntry], int]:
        """Return the latest `limit` timeline entries, and how many there are.

        Those of one page are sorted oldest first, those of all pages latest first.
        """
        from gbrain.store import pages, timeline

        with self.database.read_transaction() as connection:
            if name is None:
                return timeline.latest_entries(connection, scope, limit)
            page = pages.require_named_page(connection, name)
            return timeline.page_timeline(connection, page, scope, limit)

    def add_to_timeline(
        self,
        name: str,
        text: str,
        *,
        date: str | None = None,
        source: str | None = None,
        expected_version: int | None = None,
    ) -> WriteResult:
        """Add an entry to a page's timeline, dated `2026-04-03` or `2026-04` (default: today)."""
        from gbrain.store.timeline import add_timeline_entry

        day = date or today().isoformat()
        return self.change_page(
            lambda connection: add_timeline_entry(
                connection, pages.resolve_slug_to_write(connection, name), day, text, source,
                timestamp(),
                expected_version=expected_version,
            ),
            expected_version=expected_version,
        )  # fmt: skip

    def supersede(self, old: str, new: str) -> tuple[WriteResult, str]:
        """Mark the page `old` as superseded by `new`; return the write and the slug of `new`."""
        from gbrain.store.provenance import supersede_page

        successor = ""

        def mark(connection: sqlite3.Connection) -> WriteResult:
            nonlocal successor
            slugs = pages.resolve_slug(connection, old), pages.resolve_slug(connection, new)
            written, successor = supersede_page(connection, *slugs, timestamp())
            return written

        return self.change_page(mark), successor

    def undo_supersede(self, name: str) -> WriteResult:
        """Remove the mark that a page is superseded."""
        from gbrain.store.provenance import undo_supersede

        return self.change_page(
            lambda connection: undo_supersede(
                connection, pages.resolve_slug(connection, name), timestamp()
            )
        )

    def superseded(self) -> list[SupersededPage]:
        """Return all superseded pages, by slug."""
        from gbrain.store.provenance import list_superseded

        with self.database.read_transaction() as connection:
            return list_superseded(connection)

    def provenance(self, name: str, *, depth: int = 2, limit: int = 10) -> Origin:
        """Return what led to a page, `depth` steps back, at most `limit` causes for each page."""
        from gbrain.store.provenance import trace_provenance

        with self.database.read_transaction() as connection:
            return trace_provenance(connection, pages.resolve_slug(connection, name), depth, limit)
