"""Bring pages of a shared store into the brain: check them, merge them, record what did not merge.

One side changed: its text is taken. Both changed: a three-way merge, as between a page and its
file. What does not merge keeps both texts, ours as the page and theirs in its history.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from hashlib import sha256
from typing import Literal, NamedTuple

from gbrain.errors import BadPage
from gbrain.importing.file_merge import merge_page
from gbrain.importing.scan import refuse_skipped_path
from gbrain.store.history import (
    last_deleted,
    latest_version_with_hash,
    save_file_text,
    text_with_hash,
)
from gbrain.store.page_writer import delete_page, write_page
from gbrain.store.pages import StoredPage, find_page, page_text
from gbrain.store.postgres.pages import PastText, SharedPage
from gbrain.store.remote_conflicts import (
    ConflictKind,
    find_remote_conflict,
    record_remote_conflict,
    remove_remote_conflict,
)
from gbrain.store.remotes import PageBase, Remote, raise_version
from gbrain.text.page import MAX_PAGE_BYTES, parse_page
from gbrain.text.slug import path_from_name, slug_from_path
from gbrain.types import Page

# A page that is written once a second reaches this in thirty years.
_MAX_VERSION = 1_000_000_000

Outcome = Literal["same", "created", "updated", "deleted", "ahead", "merged", "conflict"]


class IncomingPage(NamedTuple):
    """A checked page of the shared store; `page` is None if it is deleted there."""

    shared: SharedPage
    page: Page | None

    @property
    def slug(self) -> str:
        return self.shared.slug

    @property
    def base(self) -> PageBase:
        """What the brain and the remote have in common once the page is applied."""
        return PageBase(self.shared.version, self.page.sha256 if self.page else None)


def check_row(shared: SharedPage) -> bytes | None:
    """Return the text of a row of the shared store, None if the page is deleted there.

    Raises BadPage unless a brain could have the page: whoever can write to the store can write
    anything into its tables. The text itself is checked when it is parsed.
    """
    problem = None
    if slug_from_path(shared.slug) != shared.slug:
        problem = "it has no valid slug"
    elif not 0 < shared.version <= _MAX_VERSION:
        problem = "its version number is out of range"
    elif shared.deleted:
        return None
    elif shared.content is None:
        problem = f"it has more than {MAX_PAGE_BYTES:,} bytes"
    elif slug_from_path(shared.path) != shared.slug or path_from_name(shared.path) != shared.path:
        problem = "its path does not belong to its slug"
    elif sha256(data := shared.content.encode()).digest() != shared.sha256:
        problem = "its text does not have the hash that is stored with it"
    if problem is not None or shared.content is None:
        raise BadPage(
            f"{shared.slug[:80]!r} was not taken: {problem}",
            hint="Ask its author to write the page again.",
            code="refused_page",
        )
    refuse_skipped_path(shared.path)
    return data


# --- what to do ------------------------------------------------------------------------------


class _Side(NamedTuple):
    """A page here: its row, None if there is none, and the page that last had the slug."""

    page: StoredPage | None
    history_id: int | None

    @property
    def sha256(self) -> bytes | None:
        return self.page.sha256 if self.page else None


def _our_side(connection: sqlite3.Connection, slug: str) -> _Side:
    page = find_page(connection, slug)
    if page:
        return _Side(page, page.id)
    deleted = last_deleted(connection, slug)
    return _Side(None, deleted[0] if deleted else None)


def texts_to_fetch(
    connection: sqlite3.Connection,
    remote: Remote,
    incoming: Iterable[IncomingPage],
    bases: dict[str, PageBase],
) -> list[tuple[str, bytes]]:
    """Return (slug, hash) of earlier texts that the shared store has to be asked for.

    For a page that changed on both sides: our text, which an interrupted push may have brought
    there, and the base of the merge.
    """
    wanted = []
    for each in incoming:
        ours = _our_side(connection, each.slug)
        base = _base_hash(connection, remote, each.slug, bases.get(each.slug))
        if ours.sha256 in (each.base.sha256, base) or each.base.sha256 == base:
            continue
        wanted += [(each.slug, digest) for digest in (ours.sha256, base) if digest]
    return wanted


def _base_hash(
    connection: sqlite3.Connection, remote: Remote, slug: str, base: PageBase | None
) -> bytes | None:
    """Return the hash of the text that both sides were changed from; None if there is none."""
    conflict = find_remote_conflict(connection, slug, remote.id)
    if conflict and conflict.kind != "deleted_here":
        return conflict.base_sha256
    return base.sha256 if base else None


def apply_page(
    connection: sqlite3.Connection,
    remote: Remote,
    incoming: IncomingPage,
    base: PageBase | None,
    past: Iterable[PastText],
    now: str,
    *,
    folder_id: int | None = None,
    with_file: bool = False,
    restored: bool = False,
) -> Outcome:
    """Bring one page into the brain, and return what that did.

    `base` is what both sides had in common last, and `past` are texts of the page that the shared
    store has or had. A new page belongs to the folder `folder_id`; `with_file` says that the file
    of a page that is deleted is to be removed. In a brain that was `restored` from a backup since
    the last pull, a page that is deleted there is a conflict: it came back with the backup.
    """
    slug, theirs = incoming.slug, incoming.base.sha256
    ours = _our_side(connection, slug)
    conflict = find_remote_conflict(connection, slug, remote.id)
    common = _base_hash(connection, remote, slug, base)
    was_pushed = any(
        text.sha256 == ours.sha256 and text.version > (base.version if base else 0) for text in past
    )
    # What they deleted, but our side has not seen: it came back with a backup, or is in conflict.
    must_ask = (
        incoming.page is None
        and ours.page is not None
        and (restored or (conflict is not None and conflict.kind != "deleted_here"))
    )
    if ours.sha256 == theirs:
        outcome: Outcome = "same"
    elif not must_ask and (ours.sha256 == common or (was_pushed and conflict is None)):
        outcome = _take(connection, incoming, ours.page, now, folder_id, with_file)
    elif not must_ask and (
        theirs == common or (conflict is None and _had_later(connection, ours, theirs, common))
    ):
        outcome = "ahead"
    else:
        outcome = _merge(
            connection, remote, incoming, ours.page, common, past, now, folder_id, restored
        )
    if outcome != "conflict" and conflict and conflict.kind != "deleted_here":
        # Only one side differs from the base by now.
        remove_remote_conflict(connection, slug, remote.name)
    raise_version(connection, slug, incoming.shared.version)
    return outcome


def _had_later(
    connection: sqlite3.Connection, ours: _Side, theirs: bytes | None, common: bytes | None
) -> bool:
    """Tell whether their text is one that the page had here after the base: an unrecorded push."""
    if ours.history_id is None or theirs is None:
        return False
    found = latest_version_with_hash(connection, ours.history_id, theirs)
    return found > latest_version_with_hash(connection, ours.history_id, common)


def _take(
    connection: sqlite3.Connection,
    incoming: IncomingPage,
    ours: StoredPage | None,
    now: str,
    folder_id: int | None,
    with_file: bool,
) -> Outcome:
    if incoming.page is None:
        delete_page(connection, incoming.slug, now, with_file=with_file, from_elsewhere=True)
        return "deleted"
    page = _at_path(incoming.page, ours)
    write_page(connection, page, now, folder_id=None if ours else folder_id, enqueue=False)
    return "updated" if ours else "created"


def _at_path(page: Page, ours: StoredPage | None) -> Page:
    """Return the page at the path that it has here."""
    if ours is None or ours.path == page.path:
        return page
    return parse_page(ours.path, page.text.encode())


def _merge(
    connection: sqlite3.Connection,
    remote: Remote,
    incoming: IncomingPage,
    ours: StoredPage | None,
    common: bytes | None,
    past: Iterable[PastText],
    now: str,
    folder_id: int | None,
    restored: bool,
) -> Outcome:
    slug = incoming.slug
    kind: ConflictKind = "both_changed"
    version = None
    if incoming.page is None:
        kind = "deleted_there"
    elif ours is None:
        kind = "deleted_here"
        write_page(connection, incoming.page, now, folder_id=folder_id, enqueue=False)
    else:
        theirs = _at_path(incoming.page, ours)
        base = text_with_hash(connection, ours.id, common) if common else None
        if base is None and common:
            base = next((text.content for text in past if text.sha256 == common), None)
        merged = None
        # Texts without a common base may be those of different people, or one comes from the other.
        if base is not None or (theirs.wing == ours.wing and not restored):
            merged = merge_page(theirs, base, page_text(connection, ours.id))
        if merged:
            if merged.sha256 != ours.sha256:
                # Their text is a version of its own, as the text of a merged file is.
                write_page(connection, theirs, now, enqueue=False)
                write_page(connection, merged, now, enqueue=False)
            return "merged"
        save_file_text(connection, slug, theirs.text.encode(), now)
        version = latest_version_with_hash(connection, ours.id, theirs.sha256)
    record_remote_conflict(connection, remote.id, slug, kind, version, common, now)
    return "conflict"
