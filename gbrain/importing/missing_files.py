"""Decide what it means that the file of a page is not there; delete pages whose file is deleted.

What cannot be seen is not deleted. A page goes only if its file was taken out of the folder that it
was in, is still not there at a second look, and nothing newer happened to the page.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from time import sleep
from typing import NamedTuple

from gbrain.errors import BadPage, GbrainError
from gbrain.importing import scan
from gbrain.importing.folder_identity import FolderIdentities
from gbrain.importing.import_report import (
    ImportReport,
    MissingFile,
    MissingReason,
    PageChange,
)
from gbrain.importing.renames import apply_renames, find_renames
from gbrain.importing.scan import ImportProblem
from gbrain.messages import counted
from gbrain.store.connection import Database
from gbrain.store.folders import Folder, PageSource, find_page_source, write_file_again
from gbrain.store.page_writer import delete_page
from gbrain.store.remotes import forget_bases
from gbrain.store.seen_files import record_missing_files
from gbrain.text.slug import slug_from_path

# A folder that lacks more than this many of its pages, and more than half of them, is another
# branch or was emptied by a program; sync deletes nothing then.
_MAX_UNASKED_DELETIONS = 10
_MAX_PATHS_SHOWN = 3


class MissingPages(NamedTuple):
    """Pages of a folder whose file was not found.

    `removed` were taken out of their folder, which is there. The folder of `unseen` ones is missing
    or another one: it may be on a disk that is not mounted. `excluded` are no longer imported. The
    file of `unwritten` ones was never seen since the brain was restored from a backup.
    """

    removed: list[PageSource]
    unseen: list[PageSource]
    excluded: list[PageSource]
    unwritten: list[PageSource]

    def only(self, slugs: Collection[str]) -> MissingPages:
        """Return those of the pages that still have one of these slugs."""
        return MissingPages(*([known for known in some if known.slug in slugs] for some in self))


def find_absent(
    pages: dict[str, PageSource],
    folder: Folder,
    paths: list[str],
    problems: list[ImportProblem],
) -> list[PageSource]:
    """Return the folder's pages whose file is not among `paths`.

    `pages` must be older than the list of files, or what was put meanwhile would seem to be gone.
    Files with a problem and those below folders that cannot be read are not absent.
    """
    present = {slug_from_path(path) for path in paths if _has_slug(path)}
    named = {p.path for p in problems}
    unread = tuple(p.path for p in problems if p.code == "cannot_read")
    if "." in unread:
        return []
    return [
        known
        for slug, known in pages.items()
        if known.folder_id == folder.id
        and known.source_sha256 is not None
        and slug not in present
        and known.path not in named
        and not (unread and known.path.startswith(unread))
    ]


def look_again(
    absent: list[PageSource],
    folder: Folder,
    first: FolderIdentities,
    second: FolderIdentities,
    rules: bytes,
) -> tuple[MissingPages, list[str]]:
    """Look for absent files again after a moment; return what they are, and the paths of the rest.

    Nothing is waited for that is excluded or not seen anyway. `first` and `second` look at the
    folders now and then.
    """
    found, back = MissingPages([], [], [], []), []
    excluded = scan.exclusions(Path(folder.root), rules)
    if any(
        not excluded(known.path) and first.was_removed(known.path, known.folder) for known in absent
    ):
        sleep(scan.SECOND_LOOK_SECONDS)
    for known in absent:
        if excluded(known.path):
            found.excluded.append(known)
        elif os.path.lexists(f"{folder.root}/{known.path}"):
            back.append(known.path)
        elif not known.seen and second.first_other(known.path) is None:
            found.unwritten.append(known)
        elif known.seen and second.was_removed(known.path, known.folder):
            found.removed.append(known)
        else:
            found.unseen.append(known)
    return found, back


def rename_pages(
    database: Database,
    folder: Folder,
    paths: list[str],
    pages: dict[str, PageSource],
    missing: MissingPages,
    now: str,
    report: ImportReport,
    dry_run: bool,
) -> set[str]:
    """Rename pages whose file was renamed, in `pages` too; return the paths with no other change.

    A dry run only reports them.
    """
    if not (missing.removed or missing.unseen):
        return set()
    with database.read_transaction() as connection:
        renames = find_renames(connection, folder, paths, pages, missing.removed, missing.unseen)
    if not dry_run:
        renames = apply_renames(database, folder, renames, now)
    for rename in renames:
        report.changes.append(PageChange("rename", rename.slug, rename.path, rename.page.slug))
        del pages[rename.page.slug]
        pages[rename.slug] = rename.renamed_source()
    return {rename.path for rename in renames if dry_run or not rename.edited}


def are_most_missing(
    missing: list[PageSource], pages: dict[str, PageSource], folder: Folder
) -> bool:
    """Tell whether most files of the folder are gone, so that sync must ask before it deletes."""
    count = _count_files(pages, folder)
    few = len(missing) <= max(_MAX_UNASKED_DELETIONS, count // 2)
    # None of several files: it is another folder, although there are files in it.
    return not few or len(missing) == count > 1


def _count_files(pages: dict[str, PageSource], folder: Folder) -> int:
    return sum(known.folder_id == folder.id for known in pages.values())


def many_missing(
    folder: Folder, missing: list[PageSource], pages: dict[str, PageSource]
) -> ImportProblem:
    shown = ", ".join(known.path for known in missing[:_MAX_PATHS_SHOWN])
    return ImportProblem(
        folder.root,
        f"{len(missing)} of {counted(_count_files(pages, folder), 'page')} have no file any more "
        f"({shown}, …), so none was deleted",
        "Check that the disk is mounted and the branch is right; gbrain sync --delete deletes "
        "these pages.",
        "many_missing",
    )


def _has_slug(path: str) -> bool:
    try:
        path.encode()
        slug_from_path(path)
    except (UnicodeEncodeError, GbrainError):
        return False
    return True


def refuse_empty_folder(root: Path, paths: list[str], missing: MissingPages) -> None:
    """Raise BadPage when all pages of the folder would be removed, or written, at once."""
    count = len(missing.removed) + len(missing.unseen) + len(missing.unwritten)
    if count and not paths:
        raise BadPage(
            f"{root} contains no pages, but the brain has {count} from it",
            hint="Check that the disk is mounted. gbrain sync --delete deletes these pages.",
            code="vault_empty",
        )


def remove_pages(
    database: Database,
    folder: Folder,
    missing: Iterable[PageSource],
    now: str,
    report: ImportReport,
    dry_run: bool,
    *,
    ahead_stay: bool = False,
    here_only: bool = False,
) -> None:
    """Delete pages whose file is deleted, except those that changed in the brain meanwhile.

    With `ahead_stay` nothing is said about those, because their file is written again. With
    `here_only` the deletion is not pushed to remotes, and the file may exist.
    """
    missing = list(missing)
    if not missing:
        return
    with database.read_transaction() if dry_run else database.write_transaction() as connection:
        for known in missing:
            found = find_page_source(connection, known.slug)
            if found is None or found.path != known.path:
                continue
            if not here_only and os.path.lexists(f"{folder.root}/{known.path}"):
                continue
            if found.sha256 != found.source_sha256 and ahead_stay:
                continue
            if found.sha256 != found.source_sha256:
                report.problems.append(
                    ImportProblem(
                        known.path,
                        f"the file is gone, but the page {known.slug} was changed in the brain",
                        "gbrain export writes the file again; gbrain delete removes the page.",
                        "both_changed",
                    )
                )
            elif found[:4] == known[:4]:
                report.changes.append(PageChange("delete", known.slug, known.path))
                if not dry_run:
                    delete_page(connection, known.slug, now)
                    if here_only:
                        forget_bases(connection, known.slug)


def keep_pages(
    database: Database, missing: MissingPages, report: ImportReport, dry_run: bool
) -> None:
    """Report pages that stay without their file, and mark them with the reason."""
    marks = {}
    reasons: tuple[tuple[MissingReason, list[PageSource]], ...]
    reasons = (("ignored", missing.excluded), ("unseen", missing.unseen))
    for reason, pages in reasons:
        for known in pages:
            report.missing.append(MissingFile(known.slug, known.path, reason))
            if known.missing != reason:
                marks[known.page_id] = reason
    if marks and not dry_run:
        with database.write_transaction() as connection:
            record_missing_files(connection, marks)


def write_again(database: Database, missing: Collection[PageSource]) -> None:
    """Let the files of pages that came back with a backup be written like those of new pages."""
    if not missing:
        return
    with database.write_transaction() as connection:
        for known in missing:
            write_file_again(connection, known.page_id)
