"""Find pages of a folder whose file is gone: renamed, deleted, or on a disk that is not mounted."""

from __future__ import annotations

from pathlib import Path

from gbrain.errors import BadPage, GbrainError
from gbrain.importing.import_report import ImportReport, PageChange
from gbrain.importing.renames import apply_renames, find_renames
from gbrain.importing.scan import ImportProblem
from gbrain.messages import counted
from gbrain.store.connection import Database
from gbrain.store.folders import Folder, PageSource, find_page_source
from gbrain.store.page_writer import delete_page
from gbrain.text.slug import slug_from_path

# A folder that lacks more than this many of its pages, and more than half of them, is not mounted
# or is another branch; sync deletes nothing then.
_MAX_UNASKED_DELETIONS = 10
_MAX_PATHS_SHOWN = 3


def missing_pages(
    pages: dict[str, PageSource], folder: Folder, paths: list[str], problems: list[ImportProblem]
) -> list[PageSource]:
    """Return the folder's pages whose file is gone, except below folders that cannot be read."""
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


def rename_pages(
    database: Database,
    folder: Folder,
    paths: list[str],
    pages: dict[str, PageSource],
    missing: list[PageSource],
    now: str,
    report: ImportReport,
    dry_run: bool,
) -> set[str]:
    """Rename pages whose file was renamed, in `pages` too; return the paths with no other change.

    A dry run only reports them.
    """
    if not missing:
        return set()
    with database.read_transaction() as connection:
        renames = find_renames(connection, folder, paths, pages, missing)
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
    return len(missing) > max(_MAX_UNASKED_DELETIONS, _count_files(pages, folder) // 2)


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


def refuse_empty_folder(root: Path, paths: list[str], missing: list[PageSource]) -> None:
    """Raise BadPage when all pages of the folder would be removed at once."""
    if missing and not paths:
        raise BadPage(
            f"{root} contains no pages, but the brain has {len(missing)} from it",
            hint="Check that the disk is mounted. gbrain sync --delete deletes these pages.",
            code="vault_empty",
        )


def remove_pages(
    database: Database,
    missing: list[PageSource],
    now: str,
    report: ImportReport,
    dry_run: bool,
    write_files: bool,
) -> None:
    """Delete pages whose file is gone, except those changed in the brain meanwhile.

    With `write_files` the file of such a page is written again.
    """
    if not missing:
        return
    with database.read_transaction() if dry_run else database.write_transaction() as connection:
        for known in missing:
            found = find_page_source(connection, known.slug)
            if found is None or found.path != known.path:
                continue
            if found.sha256 != found.source_sha256 and write_files:
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
            elif found.sha256 == known.sha256:
                report.changes.append(PageChange("delete", known.slug, known.path))
                if not dry_run:
                    delete_page(connection, known.slug, now)
