"""Render tasks and the agenda of a day as JSON, rows and a terminal screen."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING

from gbrain.messages import one_line
from gbrain.output.json import Document, page_row_document
from gbrain.output.timeline import entry_document
from gbrain.text.periods import MONTH_NAMES
from gbrain.text.snippet import shorten

if TYPE_CHECKING:
    from gbrain.brain.tasks import Agenda
    from gbrain.store.tasks import PageTask

Row = tuple[str | None, ...]

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MAX_ENTRY_CHARACTERS = 200


def tasks_document(tasks: Iterable[PageTask], total: int) -> Document:
    """Return tasks, and how many there are without a limit."""
    return {"tasks": [task_document(task) for task in tasks], "total": total}


def task_document(task: PageTask) -> Document:
    """Return a task with its page."""
    return {**task._asdict(), "tags": list(task.tags)}


def agenda_document(agenda: Agenda) -> Document:
    """Return what is dated and due on a day and what was written lately."""
    today, overdue = _split_due(agenda)
    return {
        "date": agenda.day,
        "entries": [entry_document(entry) for entry in agenda.entries],
        "due": [task_document(task) for task in today],
        "overdue": [task_document(task) for task in overdue],
        "written": [page_row_document(page) for page in agenda.written],
        "written_total": agenda.written_total,
    }


def _split_due(agenda: Agenda) -> tuple[list[PageTask], list[PageTask]]:
    """Return the tasks that are due on the day and those that were due before."""
    today = [task for task in agenda.due if task.due == agenda.day]
    return today, [task for task in agenda.due if task.due != agenda.day]


def task_rows(tasks: Iterable[PageTask], *, states: bool = False) -> list[Row]:
    """Return the number, due date, page and text of each task, and with `states` if it is done."""
    return [
        (task.number, task.due, task.slug, task.text)
        + (("done" if task.done else "open",) if states else ())
        for task in tasks
    ]


def agenda_rows(agenda: Agenda) -> list[Row]:
    """Return everything of a day as rows: what it is, its date, page, text and task number."""
    today, overdue = _split_due(agenda)
    return [
        *(("overdue", task.due, task.slug, task.text, task.number) for task in overdue),
        *(("due", task.due, task.slug, task.text, task.number) for task in today),
        *(("dated", entry.date, entry.slug, entry.text, None) for entry in agenda.entries),
        *(("written", _local_day(p.updated_at), p.slug, p.title, None) for p in agenda.written),
    ]


def _local_day(time: str) -> str:
    """Return the local day of a stored time."""
    return datetime.fromisoformat(time).astimezone().date().isoformat()


def show_agenda(agenda: Agenda, *, pager: bool = True) -> None:
    """Print the agenda of a day on the terminal."""
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console, open_pager

    day = date.fromisoformat(agenda.day)
    today, overdue = _split_due(agenda)
    entries = [
        (entry.date[11:], shorten(one_line(entry.text), _MAX_ENTRY_CHARACTERS), entry.slug)
        for entry in agenda.entries
    ]
    written = [(_short_day(_local_day(p.updated_at)), p.title, p.slug) for p in agenda.written]
    more = agenda.written_total - len(agenda.written)
    screen = console()
    with open_pager(screen, wanted=pager):
        title = f"{_WEEKDAYS[day.weekday()]}, {day.day} {MONTH_NAMES[day.month - 1]} {day.year}"
        screen.print(Text(title, style="bold"))
        for heading, rows in (
            (
                "Overdue",
                [(t.number, f"{t.text} ({t.due})", t.slug) for t in overdue],
            ),
            ("Due", [(task.number, task.text, task.slug) for task in today]),
            ("On this day", entries),
            ("Written lately" + (f" ({more} more)" if more else ""), written),
        ):
            if not rows:
                continue
            screen.print(Text(f"\n{heading}", style="bold red" if heading == "Overdue" else "bold"))
            table = Table.grid(padding=(0, 2, 0, 0))
            for _ in range(2):
                table.add_column(overflow="fold")
            for first, text, slug in rows:
                page = Text(one_line(text)).append(f"  {slug}", "dim")
                table.add_row(Text(f"  {first}", style="cyan"), page)
            screen.print(table)


def _short_day(day: str) -> str:
    """Return `16 Nov` for 2026-11-16."""
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {MONTH_NAMES[parsed.month - 1][:3]}"
