"""Write pages to their files in registered folders, and move or remove these with their pages.

A page and its file are in step while `source_sha256` is the hash of the page's text. A change is
committed to the brain first; the file is written next, and then the hash. What a killed process
left in between is found by these hashes and by the file removals in the brain, and the next
`finish_folder` completes it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from errno import EXDEV
from hashlib import sha256
from pathlib import Path

from gbrain.errors import GbrainError
from gbrain.importing import page_files
from gbrain.importing.file_merge import apply_import, plan_import
from gbrain.importing.folder_identity import FolderIdentities, file_stamp, parent_folders
from gbrain.importing.scan import exclusions, settled_rules
from gbrain.store.connection import Database
from gbrain.store.edited_files import FileChanged
from gbrain.store.folders import (
    FileRemoval,
    FileResult,
    Folder,
    PageFile,
    file_hashes,
    find_folder,
    find_page_file,
    find_page_source,
    leave_folder,
    list_file_removals,
    move_page_file,
    pages_ahead_of_files,
    path_of_page,
    paths_below,
    record_file_text,
    take_file_removal,
    write_file_again,
)
from gbrain.store.history import text_with_hash
from gbrain.store.page_writer import WriteResult
from gbrain.store.pages import find_page, page_text
from gbrain.store.seen_files import (
    last_ignore_rules,
    record_seen_files,
    record_seen_folders,
    seen_folders,
)
from gbrain.text.page import parse_page
from gbrain.text.slug import is_page_file, slug_from_path

# Another program that saves the file again and again could otherwise keep us for ever.
_MAX_ATTEMPTS = 5
_SYNC_LATER = "The brain has the text; gbrain sync writes the file once that is possible."
_SYNC_DELETES = "The page is deleted; gbrain sync deletes the file once that is possible."


def update_file(database: Database, written: WriteResult, now: str) -> WriteResult:
    """Update the file of a page just written; return the result with the file's outcome.

    A file that changed meanwhile is merged, so the version may be a later one.
    """
    result = write_page_file(database, written.slug, now)
    if result is None:
        return written
    with database.read_transaction() as connection:
        page = find_page(connection, written.slug)
    version = page.version if page else written.version
    return replace(written, version=version, file=result)


def write_page_file(database: Database, slug: str, now: str) -> FileResult | None:
    """Write a page to its file, merged with what changed there; None if it has no file."""
    page = _find_page_file(database, slug)
    if page is None:
        return None
    if os.path.isdir(page.folder.root) and is_excluded(database, page.folder.root, page.path):
        if page.source_sha256 is None:
            with database.write_transaction() as connection:
                leave_folder(connection, page.page_id)
        return None
    shown = str(Path(page.folder.root, page.path))
    try:
        for removal in _removals_to(database, page):
            _remove_or_move(database, removal, use_trash=False)
        outcome = _write_until_in_step(database, slug, now)
    except (OSError, GbrainError) as error:
        return _failed_result(shown, error)
    return outcome and replace(outcome, path=shown)


def is_excluded(database: Database, root: str, path: str) -> bool:
    """Tell whether gbrain neither reads nor writes the file at this path of a folder."""
    with database.read_transaction() as connection:
        known = last_ignore_rules(connection, root)
    return exclusions(Path(root), settled_rules(Path(root), known))(path) is not None


def _find_page_file(database: Database, slug: str) -> PageFile | None:
    """Return the page with its file, which somebody may have given another spelling of the slug."""
    with database.read_transaction() as connection:
        page = find_page_file(connection, slug)
    if page is None or page.source_sha256 is None:
        return page
    above, _, name = page.path.rpartition("/")
    folder = Path(page.folder.root, above)
    with suppress(OSError, GbrainError):
        names = os.listdir(folder)
        if name in names or os.path.lexists(folder / name):
            return page
        paths = [f"{above}/{each}".removeprefix("/") for each in names if is_page_file(each)]
        spelt = [path for path in paths if _has_slug(path, slug)]
        if len(spelt) == 1:
            with database.write_transaction() as connection:
                move_page_file(connection, page, spelt[0])
            return replace(page, path=spelt[0])
    return page


def _has_slug(path: str, slug: str) -> bool:
    with suppress(GbrainError, UnicodeEncodeError):
        path.encode()
        return slug_from_path(path) == slug
    return False


def import_page_file(database: Database, page: PageFile, now: str) -> bool:
    """Import the page's file if it changed; return whether it did. Files that fail are left."""
    page = _find_page_file(database, page.slug) or page
    try:
        if is_excluded(database, page.folder.root, page.path):
            return False
        existing = page_files.read_file(page_files.page_file(page.folder.root, page.path))
        if existing is None or sha256(existing).digest() in (page.sha256, page.source_sha256):
            return False
        _import_changed_file(database, page, existing, now)
    except (OSError, GbrainError):
        return False
    return True


def _removals_to(database: Database, page: PageFile) -> list[FileRemoval]:
    """Return the files that the page had under earlier names and that are still there."""
    with database.read_transaction() as connection:
        removals = list_file_removals(connection, page.folder.root)
    return [removal for removal in removals if removal.page_id == page.page_id]


def _failed_result(path: str, error: OSError | GbrainError) -> FileResult:
    """Return the result for a file that could not be written."""
    if isinstance(error, GbrainError):
        reason, hints = error.message, dict.fromkeys((error.hint, _SYNC_LATER))
    else:
        reason, hints = error.strerror or str(error), dict.fromkeys((_SYNC_LATER,))
    return FileResult(path, "failed", f"Cannot write {path}: {reason}. {' '.join(hints)}")


def _write_until_in_step(database: Database, slug: str, now: str) -> FileResult | None:
    """Write the page, again if the page or the file changes meanwhile; None if it has no file."""
    done = FileResult("", "written")
    for _ in range(_MAX_ATTEMPTS):
        with database.read_transaction() as connection:
            page = find_page_file(connection, slug)
            if page is None:
                return None
            data = page_text(connection, page.page_id).encode()
        target = page_files.page_file(page.folder.root, page.path)
        existing = page_files.read_file(target)
        try:
            if existing is None:
                _refuse_unseen_folder(
                    database, page.folder.root, page.path, had_file=page.source_sha256 is not None
                )
                page_files.create_file(target, data)
            elif sha256(existing).digest() not in (page.sha256, page.source_sha256):
                done = _import_changed_file(database, page, existing, now) or done
                continue
            elif existing != data:
                page_files.replace_file(target, existing, data)
        except FileChanged as changed:
            if changed.content is not None:
                done = _import_changed_file(database, page, changed.content, now) or done
            continue
        _record(database, page, target)
        return done
    raise GbrainError(
        "another program keeps changing the file", hint=_SYNC_LATER, code="cannot_write"
    )


def _record(database: Database, page: PageFile, target: Path) -> None:
    """Record the file as it is now, in step with the page."""
    stamp = file_stamp(str(target))
    with database.read_transaction() as connection:
        known = find_page_source(connection, page.slug)
        seen = seen_folders(connection, page.folder.id)
    if stamp is None or (known and (known.source_sha256, known.stamp) == (page.sha256, stamp)):
        return
    # A folder that is known may be one that is not mounted: only sync looks at all its files.
    new = [folder for folder in parent_folders(page.path) if folder not in seen]
    identities = FolderIdentities(page.folder.root, seen)
    folders = identities.changed(new)
    own = identities.now(page.path.rpartition("/")[0])
    with database.write_transaction() as connection:
        known = find_page_source(connection, page.slug)
        # Another process may have renamed or deleted the page meanwhile, or written its file.
        if known and (known.page_id, known.path, known.source_sha256) == (
            page.page_id, page.path, page.source_sha256,
        ):  # fmt: skip
            record_file_text(connection, page.page_id, page.folder.id, page.sha256)
            record_seen_files(connection, page.folder.id, [(page.path, stamp, own)])
            record_seen_folders(connection, page.folder.id, folders)


def _refuse_unseen_folder(database: Database, root: str, path: str, *, had_file: bool) -> None:
    """Raise GbrainError if a folder above `path` is not the one that gbrain has seen.

    It may be on a disk that is not mounted, and so may an empty folder of a page that `had_file`.
    """
    with database.read_transaction() as connection:
        folder = find_folder(connection, root)
        seen = seen_folders(connection, folder.id) if folder else {}
        other = FolderIdentities(root, seen).first_other(path)
        hidden = had_file and not os.listdir(root)
        # Of a brain of an older schema no folder is known.
        unknown = [each for each in parent_folders(path) if each not in seen]
        for each in dict.fromkeys([other, *unknown] if folder else []):
            is_folder = each is not None and os.path.isdir(os.path.join(root, each))
            if folder is None or each is None or (each != other and not is_folder):
                continue
            # A copy of the folder has its files; one alone may have been put into a mount point.
            known = [below for below in paths_below(connection, folder, each) if below != path]
            has_files = bool(known) and all(os.path.isfile(f"{root}/{below}") for below in known)
            hidden = hidden or not (has_files or (each != other and not known))
    if hidden:
        raise GbrainError(
            f"the folder that had {path} cannot be seen",
            hint="Check that its disk is mounted.",
            code="vault_empty",
        )


def _import_changed_file(
    database: Database, page: PageFile, existing: bytes, now: str
) -> FileResult | None:
    """Import what changed in the file; return the outcome if it had to be merged."""
    from_file = parse_page(page.path, existing)
    with database.write_transaction() as connection:
        plan = plan_import(connection, from_file, page.folder.id)
        apply_import(connection, plan, page.folder.id, now)
    if plan.kind == "merge":
        return FileResult("", "merged", f"{page.slug} was changed in its file too; both are kept.")
    if plan.kind == "conflict":
        return FileResult("", "conflict", conflict_message(page.slug))
    return None


def conflict_message(slug: str) -> str:
    """Return what to say about a page that could not be merged."""
    return (
        f"{slug} was changed in the same place in its file. The file's text is kept, and the other "
        f"is in its history: gbrain resolve {slug} merges them."
    )


# --- removals --------------------------------------------------------------------------------


def remove_page_file(
    database: Database, root: str, path: str, *, use_trash: bool
) -> FileResult | None:
    """Remove the file of a page that was deleted; None if no removal is due."""
    with database.read_transaction() as connection:
        due = [r for r in list_file_removals(connection, root) if r.path == path]
    return _finish_removal(database, due[0], use_trash) if due else None


def _finish_removal(database: Database, removal: FileRemoval, use_trash: bool) -> FileResult:
    path = str(Path(removal.root, removal.path))
    try:
        # What another machine deleted can be taken back here without gbrain.
        trash = use_trash or removal.from_elsewhere
        return replace(_remove_or_move(database, removal, trash), path=path)
    except GbrainError as error:
        reason = f"{error.message}. {error.hint}"
    except OSError as error:
        reason = f"{error.strerror or error}."
    return FileResult(path, "failed", f"Cannot delete {path}: {reason} {_SYNC_DELETES}")


def _remove_or_move(database: Database, removal: FileRemoval, use_trash: bool) -> FileResult:
    """Move the file to the page's new path, or remove it; its text is in the history.

    Only the very file that the page had: another one, or one with another text, stays where it is,
    and the next sync imports it. `use_trash` moves the file of a deleted page to the trash.
    """
    kept = "It is another file by now, so it is kept; gbrain sync imports it."
    target = page_files.page_file(removal.root, removal.path)
    excluded = is_excluded(database, removal.root, removal.path)
    # The file that a link leads to is another page's; a renamed page gets a separate file.
    was_link = not excluded and page_files.remove_link(removal.root, removal.path)
    existing = None if was_link or excluded else page_files.read_file(target)
    with database.read_transaction() as connection:
        moved_to = path_of_page(connection, removal.page_id, removal.root)
        is_same = existing is not None and _is_file_of_removal(
            connection, removal, existing, file_stamp(str(target))
        )
        has_other_files = bool(file_hashes(connection, removal.root))
        folder = find_folder(connection, removal.root)
        seen = seen_folders(connection, folder.id) if folder else {}
    done = FileResult("", "removed")
    if excluded:
        done = FileResult("", "kept", "Its file is excluded from imports, so it is kept.")
    elif existing is None and not was_link:
        # Else the file would be there again, and its page, once the disk is mounted.
        _refuse_unseen_folder(database, removal.root, removal.path, had_file=has_other_files)
        if not FolderIdentities(removal.root, seen).was_removed(removal.path):
            return done
    elif existing is not None:
        new = page_files.page_file(removal.root, moved_to) if moved_to else None
        try:
            if not is_same:
                raise FileChanged
            if moved_to:
                _refuse_unseen_folder(database, removal.root, moved_to, had_file=False)
            if new is None or not _move_file(target, new, existing):
                page_files.remove_file(target, existing, use_trash=use_trash and new is None)
        except FileChanged:
            done = FileResult("", "kept", kept)
    with database.write_transaction() as connection:
        take_file_removal(connection, removal.root, removal.path)
        if done.outcome == "kept" and moved_to:
            write_file_again(connection, removal.page_id)
    return done


def _move_file(target: Path, new: Path, existing: bytes) -> bool:
    """Move a file to its new path; return False if the old one is still to be removed."""
    try:
        return page_files.move_file(target, new)
    except OSError as error:
        if error.errno != EXDEV:
            raise
    # The new path is on another disk.
    with suppress(FileChanged):
        page_files.create_file(new, existing)
    return False


def _is_file_of_removal(
    connection: sqlite3.Connection, removal: FileRemoval, existing: bytes, stamp: str | None
) -> bool:
    """Tell whether a file is the one to remove: a new one may have the same text, as of a template.

    Its text must be in the history.
    """
    return (
        sha256(existing).digest() == removal.sha256
        and removal.stamp in (None, stamp)
        and text_with_hash(connection, removal.page_id, removal.sha256) is not None
    )


def look_at_file(database: Database, slug: str, may_write: Callable[[str], bool]) -> None:
    """Record the file of a page as it is now, if it has a text of the page.

    Call it before the page is deleted or renamed: only the file as it is then goes with it.
    """
    page = _find_page_file(database, slug)
    if page is None or not may_write(page.folder.root):
        return
    try:
        target = page_files.page_file(page.folder.root, page.path)
        stamp, data = file_stamp(str(target)), page_files.read_file(target)
    except (OSError, GbrainError):
        return
    if stamp is None or data is None:
        return
    digest = sha256(data).digest()
    with database.write_transaction() as connection:
        if text_with_hash(connection, page.page_id, digest) is not None:
            record_file_text(connection, page.page_id, page.folder.id, digest)
            own = FolderIdentities(page.folder.root, {}).now(page.path.rpartition("/")[0])
            record_seen_files(connection, page.folder.id, [(page.path, stamp, own)])


# --- what was left unfinished ----------------------------------------------------------------


def finish_removals(database: Database, folder: Folder, *, use_trash: bool) -> list[FileResult]:
    """Finish moving and removing files of a folder; return the result for each.

    Files that a killed process had set aside come first: what was saved in them is imported.
    """
    found = page_files.recover_folder(Path(folder.root))
    recovered = [FileResult(str(path), "kept") for path in found]
    with database.read_transaction() as connection:
        removals = list_file_removals(connection, folder.root)
    return recovered + [_finish_removal(database, removal, use_trash) for removal in removals]


def finish_writes(database: Database, folder: Folder, now: str) -> list[tuple[str, FileResult]]:
    """Write the folder's pages that are not in step with their file; return (slug, result)."""
    with database.read_transaction() as connection:
        pages = pages_ahead_of_files(connection, folder)
    results = [(page.slug, write_page_file(database, page.slug, now)) for page in pages]
    return [(slug, result) for slug, result in results if result is not None]
