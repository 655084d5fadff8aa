"""`Brain` methods for what connects pages: links, tags, timelines, sources, successors."""

from __future__ import annotations

import sqlite3
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from gbrain.brain.base import BrainFile, local_midnight, timestamp, today
from gbrain.store import pages
from gbrain.types import Scope

if TYPE_CHECKING:
    from gbrain.store.links import Backlink, LinkGraph, LinkRow
    from gbrain.store.page_writer import WriteResult
    from gbrain.store.provenance import Origin, SupersededPage
    from gbrain.store.tasks import PageTask
    from gbrain.store.timeline import TimelineEntry


class Agenda(NamedTuple):
    """The agenda of a day: entries dated on it, tasks due until then, pages written in its week.

    `written_total` counts the pages of that week, including those beyond the limit.
    """

    day: str
    entries: list[TimelineEntry]
    due: list[PageTask]
    written: list[pages.StoredPage]
    written_total: int


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
                connection, pages.resolve_slug(connection, name), day, text, source, timestamp(),
                expected_version=expected_version,
            )
        )  # fmt: skip

    def tasks(
        self, name: str | None = None, *, scope: Scope = Scope(), done: bool = False
    ) -> list[PageTask]:
        """Return the open tasks of a page or of all pages, those with a due date first.

        With `done` finished ones are included.
        """
        from gbrain.store.tasks import list_tasks

        with self.database.read_transaction() as connection:
            page_id = None
            if name is not None:
                page = pages.require_named_page(connection, name)
                page_id = page.id
            return list_tasks(connection, scope, page_id=page_id, done=done)

    def agenda(self, day: date | None = None, *, limit: int = 10) -> Agenda:
        """Return what is dated and due on a day (default: today), and what was written lately.

        Lately is the week up to the day; at most `limit` of its pages are returned.
        """
        from gbrain.store import tasks, timeline

        day = day or today()
        written_day = day.isoformat()
        week = [local_midnight(day + timedelta(days=days)) for days in (-6, 1)]
        with self.database.read_transaction() as connection:
            due = [
                task
                for task in tasks.list_tasks(connection)
                if task.due is not None and task.due <= written_day
            ]
            found, _ = timeline.latest_entries(
                connection, Scope(since=written_day, until=written_day), None
            )
            written, total = pages.list_written_between(connection, week[0], week[1], limit)
        listed = {(task.slug, task.line) for task in due}
        entries = [
            entry
            for entry in found
            # A month or a year that the day is part of is no date of that day.
            if entry.date.startswith(written_day) and (entry.slug, entry.lines[0]) not in listed
        ]
        return Agenda(written_day, entries, due, written, total)

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
