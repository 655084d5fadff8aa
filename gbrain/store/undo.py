"""Find the last change of a page, and the text or name it had before; nothing is written here.

Undo writes the earlier text as a new version and marks the version that it took back as undone.
Undoing again therefore goes one change further back, until the page is changed in another way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Literal, NamedTuple

from gbrain.errors import NotFound
from gbrain.store import history, pages
from gbrain.store.folders import FileResult
from gbrain.text.slug import fold_name

UndoOutcome = Literal["updated", "undeleted", "renamed", "deleted"]


class PageState(NamedTuple):
    """A page between two changes; `version` is None while it is deleted or before it was created.

    `since` is the time of the change that led to it, empty before the page was created, and
    `sequence` its number in the order of all changes: clocks are set back.
    """

    version: int | None
    slug: str
    sha256: bytes | None
    since: str
    sequence: int = 0

    def same_page(self, other: PageState) -> bool:
        return (self.slug, self.sha256) == (other.slug, other.sha256)


class UndoResult(NamedTuple):
    """What undo did to a page: its slug and version now (None if it is deleted).

    `before` is the page's state before undo, `restored` the earlier state that it has again,
    `file` what happened to its file.
    """

    outcome: UndoOutcome
    slug: str
    version: int | None
    before: PageState
    restored: PageState
    file: FileResult | None


class LastChange(NamedTuple):
    """What undo does to a page: `now` is its state, `then` the one to go back to.

    `path` and `text` are those of `then`. `may_delete` says whether the page may go back to not
    existing: it has no file, and it was not brought back after a deletion.
    """

    page_id: int
    now: PageState
    then: PageState
    path: str
    text: str
    may_delete: bool


def last_change(
    connection: sqlite3.Connection, name: str | None, *, redo: bool = False
) -> LastChange:
    """Return the last change of a page that is not undone yet, or with `redo` the one undone last.

    Without a name it is the last change of all pages. Raises NotFound if there is none.
    """
    page_id = _last_changed(connection, redo) if name is None else _find_page_id(connection, name)
    done, undone = _changes(connection, page_id)
    now, then = done[-1], undone[-1] if redo and undone else done[-2]
    if redo and not undone:
        raise NotFound(
            f"There is nothing to redo on {now.slug}",
            hint=f"gbrain history {now.slug} lists its versions.",
        )
    may_delete = connection.execute(
        "SELECT 1 FROM pages WHERE id = ?1 AND vault_id IS NULL AND (?2 <> '' OR NOT EXISTS "
        "(SELECT 1 FROM versions WHERE page_id = ?1 AND ending = 'deleted'))",
        (page_id, then.since),
    ).fetchone()
    path, text = "", ""
    if then.version is not None:
        path, content = connection.execute(
            "SELECT path, content FROM versions WHERE page_id = ? AND version = ?",
            (page_id, then.version),
        ).fetchone()
        text = history.decompress_version(content)
    return LastChange(page_id, now, then, path, text, may_delete is not None)


def _last_changed(connection: sqlite3.Connection, redo: bool) -> int:
    """Return the id of the page that changed last; changes that are undone do not count.

    With `redo` it is the page that changed last in any way.
    """
    latest, found = 0, None
    for page_id, last in _pages_by_change(connection):
        # What is not undone of a page is no later than its last change.
        if last <= latest:
            break
        sequence = last if redo else _changes(connection, page_id)[0][-1].sequence
        if sequence > latest:
            latest, found = sequence, page_id
    if found is None:
        raise NotFound("The brain has no pages", hint="gbrain import FOLDER imports notes.")
    return found


def mark_undone(connection: sqlite3.Connection, page_id: int, version: int) -> None:
    """Record that undo replaced this version."""
    connection.execute(
        "UPDATE versions SET ending = 'undone' WHERE page_id = ? AND version = ? "
        "AND ending <> 'deleted'",
        (page_id, version),
    )


def _find_page_id(connection: sqlite3.Connection, name: str) -> int:
    """Return the id of the page called `name`; a deleted one may be named by its file name."""
    slug = pages.resolve_slug(connection, name, past=True)
    page = pages.find_page(connection, slug)
    if page:
        return page.id
    gone = [
        each
        for (each,) in connection.execute(
            "SELECT DISTINCT slug FROM versions WHERE ending = 'deleted' "
            "AND NOT EXISTS (SELECT 1 FROM pages WHERE pages.id = page_id) ORDER BY slug"
        )
    ]
    key = fold_name(slug)
    named = [each for each in gone if fold_name(each.rpartition("/")[2]) == key]
    if slug in gone:
        named = [slug]
    if len(named) > 1:
        raise NotFound(
            f"{name} is the name of {len(named)} deleted pages",
            hint=f"Give the slug of one: {', '.join(named[:10])}.",
            code="ambiguous_name",
        )
    return history.last_holder(connection, named[0] if named else slug)


def _pages_by_change(connection: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """Yield (page id, number of the last change), the latest first, deleted pages included."""
    seen: set[int] = set()
    for page_id, sequence in connection.execute(
        "SELECT page_id, sequence FROM changes WHERE EXISTS "
        "(SELECT 1 FROM pages WHERE id = page_id) OR EXISTS "
        "(SELECT 1 FROM versions WHERE versions.page_id = changes.page_id) "
        "ORDER BY sequence DESC"
    ):
        if page_id not in seen:
            seen.add(page_id)
            yield page_id, sequence


def _changes(
    connection: sqlite3.Connection, page_id: int
) -> tuple[list[PageState], list[PageState]]:
    """Return the states that undo goes back through, the last is today's, and those undone."""
    rows = connection.execute(
        "SELECT version, slug, sha256, written_at, ending, ended_at FROM versions "
        "WHERE page_id = ?1 UNION ALL "
        "SELECT version, slug, sha256, updated_at, NULL, NULL FROM pages WHERE id = ?1 ORDER BY 1",
        (page_id,),
    ).fetchall()
    numbers = {
        (version, deleted): sequence
        for version, deleted, sequence in connection.execute(
            "SELECT version, deleted, sequence FROM changes WHERE page_id = ?", (page_id,)
        )
    }
    done = [PageState(None, rows[0][1], None, "")]
    undone: list[PageState] = []
    last_ending = ""
    for version, slug, sha256, written_at, ending, ended_at in rows:
        state = PageState(version, slug, sha256, written_at, numbers.get((version, 0), 0))
        deleted = last_ending == "deleted"
        if last_ending == "undone" and len(done) > 1:
            undone.append(done.pop())
            # The number of the version that has the text now.
            done[-1] = done[-1]._replace(version=version)
        elif deleted and done[-2].same_page(state):
            done.pop()
            done[-1] = done[-1]._replace(version=version)
        elif not done[-1].same_page(state):
            if undone and undone[-1].same_page(state):
                undone.pop()
            else:
                undone.clear()
            done.append(state)
        if ending == "deleted":
            done.append(PageState(None, slug, None, ended_at, numbers.get((version, 1), 0)))
        last_ending = ending
    return done, undone
