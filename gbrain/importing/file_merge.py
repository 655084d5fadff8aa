"""Import the text of a file into its page, merged with what changed in the brain meanwhile."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Literal

from gbrain.errors import BadPage
from gbrain.store.conflicts import record_conflict
from gbrain.store.folders import record_file_text
from gbrain.store.history import latest_version_with_hash, text_with_hash
from gbrain.store.page_writer import write_page
from gbrain.store.pages import StoredPage, find_page, page_text
from gbrain.text.page import parse_page
from gbrain.types import Page

# `ahead`: the file has an earlier text of the page, so there is nothing to import.
FileImport = Literal["create", "update", "same", "ahead", "merge", "conflict"]


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What importing a file does; `merged` is the page's text after a merge."""

    kind: FileImport
    page: Page
    known: StoredPage | None
    merged: Page | None = None


def plan_import(
    connection: sqlite3.Connection, page: Page, folder_id: int, *, overwrite: bool = False
) -> ImportPlan:
    """Compare the text of a file with the brain's page; nothing is written.

    `overwrite` takes the file's text where both changed.
    """
    known = find_page(connection, page.slug)
    if known is None:
        return ImportPlan("create", page, None)
    same_path = known.path == page.path
    if known.sha256 == page.sha256:
        return ImportPlan("same" if same_path else "update", page, known)
    base = known.source_sha256 if known.folder_id == folder_id else None
    if overwrite or known.sha256 == base:
        return ImportPlan("update", page, known)
    file_version = latest_version_with_hash(connection, known.id, page.sha256)
    later = file_version > latest_version_with_hash(connection, known.id, base)
    if same_path and (page.sha256 == base or later):
        # A version after the last common text: a write that was killed before it was recorded.
        return ImportPlan("ahead", page, known)
    text = text_with_hash(connection, known.id, base) if base else None
    # Without a common text nobody knows that both are the same note: they may even be those of
    # different people, who must not read each other's.
    merged = merge_page(page, text, page_text(connection, known.id)) if text is not None else None
    return ImportPlan("merge" if merged else "conflict", page, known, merged)


def merge_page(page: Page, base: str | None, brain: str) -> Page | None:
    """Return a page merged with the brain's text of it, whose last common text was `base`.

    Returns None if the texts conflict, or the front matter of the result does: the page must have
    the wing that it got on one side, because tokens may be limited to a wing.
    """
    from gbrain.text.merge import merge_texts

    merged = merge_texts(base, brain, page.text)
    if merged.conflicts:
        return None
    try:
        result = parse_page(page.path, merged.text.encode())
        of_brain = parse_page(page.path, brain.encode()).wing
        of_base = of_brain if base is None else parse_page(page.path, base.encode()).wing
    except BadPage:
        return None
    if of_brain != page.wing and of_base not in (of_brain, page.wing):
        return None
    wanted = page.wing if of_brain == of_base else of_brain
    return result if result.wing == wanted else None


def apply_import(
    connection: sqlite3.Connection,
    plan: ImportPlan,
    folder_id: int,
    now: str,
    *,
    enqueue: bool = True,
) -> None:
    """Write what `plan_import` found, in the same transaction.

    The file's text is always a separate version, so that the last text that both sides had in
    common is in the history whatever happens before the merged text reaches the file.
    """
    page, known = plan.page, plan.known
    if plan.kind == "ahead":
        assert known is not None
        record_file_text(connection, known.id, folder_id, page.sha256)
        return
    write_page(connection, page, now, folder_id=folder_id, from_file=True, enqueue=enqueue)
    if plan.merged and plan.merged.sha256 != page.sha256:
        write_page(connection, plan.merged, now, enqueue=enqueue)
    if plan.kind == "conflict" and known is not None:
        base = known.source_sha256 if known.folder_id == folder_id else None
        record_conflict(connection, known.id, known.version, base, now)
