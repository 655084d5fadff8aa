"""`Brain` methods for tasks and days: open items, ticking one, what is due and dated on a day."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from gbrain.brain.base import local_midnight, today
from gbrain.brain.pages import PageMethods
from gbrain.store import pages
from gbrain.types import Scope

if TYPE_CHECKING:
    from gbrain.store.page_writer import WriteResult
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


class TaskMethods(PageMethods):
    """List and tick tasks; collect the agenda of a day."""

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

    def finish_task(self, number: str) -> tuple[PageTask, WriteResult]:
        """Tick the task with a number in its page; return it and the write.

        Raises NotFound if there is no such task, Conflict if its page changes meanwhile.
        """
        from gbrain.store.tasks import tick_task

        with self.database.read_transaction() as connection:
            ticked = tick_task(connection, number)
        written = self.put(
            ticked.task.slug, ticked.text.encode(), expected_version=ticked.version, exact=True
        )
        return ticked.task, written
