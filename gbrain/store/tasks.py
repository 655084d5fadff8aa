"""List the tasks of all pages, each with a unique number.

A number stays the same until the text of the task or the slug of its page changes, so that all
copies of a folder have the same numbers.

Tasks are read from the texts when they are asked for, and only from pages that may have some, of
which SQLite keeps an index. A table of tasks would have to be updated with every page.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gbrain.errors import NotFound
from gbrain.store.schema import MAY_HAVE_TASKS
from gbrain.store.scope import pages_in_scope
from gbrain.text.dates import leading_date
from gbrain.text.page import front_matter_tags
from gbrain.text.tasks import Task, find_tasks, may_have_tasks, tick
from gbrain.types import Scope

# A number of fewer digits could soon be that of a new task.
_MIN_DIGITS = 4
_DIGITS = 12


class PageTask(NamedTuple):
    """A task with its page; `line` counts from 1 in the page's text, front matter included.

    `text` is that of the item without the day on which it is due. `due` is the last day on which it
    is due, None if the item names none. `date` is that date as written, else the date of its
    section or page.
    """

    number: str
    slug: str
    title: str
    line: int
    text: str
    done: bool
    due: str | None
    date: str | None
    heading: str | None
    tags: tuple[str, ...]


def list_tasks(
    connection: sqlite3.Connection,
    scope: Scope = Scope(),
    *,
    page_id: int | None = None,
    done: bool = False,
) -> list[PageTask]:
    """Return open tasks, those that are due first, the others by page; with `done` finished too.

    The filters are those of pages, but a date is that of the task, and a tag is one of the task
    or of its page as a whole.
    """
    everything = list(_all_tasks(connection))
    pages = {found.page.id for found in everything}
    chosen = pages_in_scope(connection, pages, scope._replace(since=None, until=None))
    shown_digits = _shortest_numbers(found.digits for found in everything)
    tasks = [
        _page_task(found, shown_digits[found.digits])
        for found in everything
        if found.page.id in chosen
        and page_id in (None, found.page.id)
        and (done or not found.task.done)
        and _has_tags(found, scope.tags)
        and _is_dated(found, scope)
    ]
    return sorted(tasks, key=lambda task: (task.due or "9999-99", task.slug, task.line))


class TickedTask(NamedTuple):
    """A task and the text of its page with the task done; `version` is that of the page."""

    task: PageTask
    text: str
    version: int


def tick_task(connection: sqlite3.Connection, number: str) -> TickedTask:
    """Return the task with a number and its page's text with the task done; writes nothing.

    The start of a number is enough. Raises NotFound if no task or several tasks have it.
    """
    same = [found for found in _all_tasks(connection) if found.digits.startswith(number)]
    if not same:
        raise NotFound(
            f"There is no task {number}", hint="gbrain tasks lists the tasks with their numbers."
        )
    if len(same) > 1:
        listed = ", ".join(f"{one.digits} on {one.page.slug}" for one in same[:10])
        raise NotFound(
            f"{number} is the number of {len(same)} tasks",
            hint=f"Give more digits: {listed}.",
            code="ambiguous_name",
        )
    (found,) = same
    page = found.page
    body = page.body if found.task.done else tick(page.body, found.task)
    return TickedTask(_page_task(found, number), page.front_matter + body, page.version)


class _TaskPage(NamedTuple):
    id: int
    slug: str
    title: str
    version: int
    date: str | None
    first_day: str | None
    last_day: str | None
    tags: str
    meta: str
    front_matter: str
    body: str


class _Found(NamedTuple):
    """A task, its page, its number in full, and the tags of the page as a whole."""

    page: _TaskPage
    task: Task
    digits: str
    page_tags: frozenset[str]


def _all_tasks(connection: sqlite3.Connection) -> Iterator[_Found]:
    """Yield every task of the brain, open or done, page by page."""
    rows = connection.execute(
        "SELECT id, slug, title, version, date, first_day, last_day, tags, meta, front_matter, "
        f"compiled_truth || timeline FROM pages WHERE ({MAY_HAVE_TASKS}) ORDER BY slug"
    )
    for page in map(_TaskPage._make, rows):
        if not may_have_tasks(page.body):
            continue
        tasks = list(find_tasks(page.body))
        of_items = {tag.casefold() for task in tasks for tag in task.tags}
        of_page = {tag.casefold() for tag in page.tags.splitlines()} - of_items
        of_page |= {tag.lstrip("#").casefold() for tag in front_matter_tags(json.loads(page.meta))}
        seen: Counter[str] = Counter()
        for task in tasks:
            digits = _number(page.slug, task.text, seen[task.text])
            seen[task.text] += 1
            yield _Found(page, task, digits, frozenset(of_page))


def _number(slug: str, text: str, earlier: int) -> str:
    """Return the number of a task in full; `earlier` counts tasks with its text above it."""
    digest = hashlib.sha256(f"{slug}\0{text}\0{earlier}".encode()).digest()
    lowest = 10 ** (_DIGITS - 1)
    return str(lowest + int.from_bytes(digest[:8]) % (9 * lowest))


def _shortest_numbers(numbers: Iterable[str]) -> dict[str, str]:
    """Return the start of each number that no other has, of at least _MIN_DIGITS."""
    left = list(numbers)
    shown: dict[str, str] = {}
    for digits in range(_MIN_DIGITS, _DIGITS + 1):
        counts = Counter(number[:digits] for number in left)
        shown |= {n: n[:digits] for n in left if digits == _DIGITS or counts[n[:digits]] == 1}
        left = [number for number in left if number not in shown]
    return shown


def _page_task(found: _Found, number: str) -> PageTask:
    page, task = found.page, found.task
    return PageTask(
        number=number,
        slug=page.slug,
        title=page.title,
        line=task.line + page.front_matter.count("\n"),
        text=task.label,
        done=task.done,
        due=task.due.last if task.due else None,
        date=task.date or page.date,
        heading=task.heading,
        tags=task.tags,
    )


def _has_tags(found: _Found, tags: Iterable[str]) -> bool:
    """Tell whether the task or its page has all the tags, in any case."""
    own = found.page_tags | {tag.casefold() for tag in found.task.tags}
    return all(tag.casefold() in own for tag in tags)


def _is_dated(found: _Found, scope: Scope) -> bool:
    """Tell whether the date of a task is in the scope's range."""
    if not (scope.since or scope.until):
        return True
    if found.task.due:
        first, last = found.task.due.first, found.task.due.last
    elif found.task.date and (section := leading_date(found.task.date)):
        first, last = section[0].first, section[0].last
    elif found.page.first_day and found.page.last_day:
        first, last = found.page.first_day, found.page.last_day
    else:
        return False
    return last >= (scope.since or "") and first <= (scope.until or "9999-12-31")
