"""`Brain` methods for the folders of notes that belong to it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gbrain.brain.base import BrainFile, timestamp
from gbrain.errors import NotFound

if TYPE_CHECKING:
    from gbrain.store.folders import Folder


class RegisteredFolder(NamedTuple):
    """A folder of notes; `writable` says that changes of its pages are written to their files.

    `missing` counts pages that stayed although the last sync did not find their file.
    """

    root: str
    pages: int
    missing: int
    exists: bool
    writable: bool
    default: bool


class MovedFolder(NamedTuple):
    """A folder that has another path now; `found` of its pages have their file there."""

    old_root: str
    root: str
    pages: int
    found: int


class FolderMethods(BrainFile):
    """List, add, move and forget folders, and find the files of pages in them."""

    def registered_folders(self) -> list[RegisteredFolder]:
        """Return the folders of the brain in the order they were added."""
        from gbrain.store import folders
        from gbrain.store.seen_files import count_missing_files

        with self.database.read_transaction() as connection:
            default = self.new_page_folder(connection)
            return [
                RegisteredFolder(
                    folder.root,
                    len(folders.folder_paths(connection, folder)),
                    count_missing_files(connection, folder.id),
                    os.path.isdir(folder.root),
                    self.may_write(folder.root),
                    folder.id == default,
                )
                for folder in folders.list_folders(connection)
            ]

    def add_folder(self, folder: Path) -> tuple[str, bool]:
        """Register a folder and let gbrain write to it; return its path and whether it is new."""
        from gbrain.importing.scan import require_folder
        from gbrain.store import folders

        require_folder(folder.expanduser())
        root = os.path.realpath(folder.expanduser())
        with self.database.write_transaction() as connection:
            is_new = folders.find_folder(connection, root) is None
            folders.refuse_nested_folder(connection, root)
            folders.add_folder(connection, root, timestamp())
        self.allow_writing(folder)
        return root, is_new

    def forget_folder(self, folder: Path) -> tuple[str, int]:
        """Forget a folder, but keep its pages; return its path and the number of pages."""
        from gbrain.store import folders
        from gbrain.store.settings import remove_setting

        with self.database.write_transaction() as connection:
            known = _require_registered(connection, folder)
            pages = folders.forget_folder(connection, known)
            if self._is_default_folder(known.root):
                remove_setting(connection, "default_folder")
        self.reload_settings()
        return known.root, pages

    def _is_default_folder(self, root: str) -> bool:
        """Tell whether the setting default_folder names the folder with this real path."""
        wanted = self.settings.default_folder
        return bool(wanted) and os.path.realpath(Path(wanted).expanduser()) == root

    def move_folder(self, old: Path, new: Path) -> MovedFolder:
        """Record that the folder `old` is now at `new`, which must have half of its files.

        Its pages are neither imported nor embedded again. Files that are not there are written
        again by the next sync.
        """
        from gbrain.importing.scan import require_folder
        from gbrain.store import folders
        from gbrain.store.seen_files import forget_files
        from gbrain.store.settings import save_setting

        require_folder(new.expanduser())
        root = os.path.realpath(new.expanduser())
        with self.database.write_transaction() as connection:
            known = _require_registered(connection, old)
            folders.refuse_nested_folder(connection, root, known)
            paths = folders.folder_paths(connection, known)
            found = sum(os.path.isfile(os.path.join(root, path)) for path in paths)
            if paths and found * 2 < max(len(paths), 2):
                raise NotFound(
                    f"{root} has {found or 'none'} of the {len(paths)} files of {known.root}",
                    hint=f"Give the folder that contains {_first_missing(root, paths)}, or copy "
                    "the files first.",
                    code="no_folder",
                )
            if root != known.root:
                forget_files(connection, known.id)
                known_there = folders.move_folder(connection, known, root)
                _record_found(connection, known_there, paths)
            if self._is_default_folder(known.root):
                save_setting(connection, "default_folder", root)
        self.reload_settings()
        self.allow_writing(new)
        return MovedFolder(known.root, root, len(paths), found)

    def folder_roots(self) -> list[str]:
        """Return the paths of the imported folders."""
        from gbrain.store import folders

        with self.database.read_transaction() as connection:
            return [folder.root for folder in folders.list_folders(connection)]

    def file_hashes(self, root: str) -> dict[str, bytes]:
        """Return the hash that each file of a folder had when it was last imported, by path."""
        from gbrain.store import folders

        with self.database.read_transaction() as connection:
            return folders.file_hashes(connection, root)

    def page_files(self, slugs: Iterable[str]) -> dict[str, Path]:
        """Return the file each page was imported from, by slug; the file may be gone by now."""
        from gbrain.store.folders import page_file_paths

        with self.database.read_transaction() as connection:
            return page_file_paths(connection, slugs)

    def image(self, name: str, written: str) -> tuple[str, bytes]:
        """Return the media type and content of an image that a page shows as `written`.

        Raises NotFound if there is none in the page's folder, or the folder is not the user's.
        """
        from gbrain.importing.images import IMAGE_TYPES, find_image, read_image
        from gbrain.store.folders import find_page_file
        from gbrain.store.pages import resolve_slug

        with self.database.read_transaction() as connection:
            page = find_page_file(connection, resolve_slug(connection, name))
        file = data = None
        if page and self.is_known_folder(page.folder.root):
            file = find_image(page.folder.root, page.path, written)
            data = read_image(file) if file else None
        if file is None or data is None:
            raise NotFound(
                f"There is no image {written} in the folder of this page",
                hint="gbrain folders lists the folders; gbrain sync DIR lets gbrain read one.",
                code="no_image",
            )
        return IMAGE_TYPES[file.suffix.lower()], data


def _record_found(connection: sqlite3.Connection, folder: Folder, paths: list[str]) -> None:
    """Record the files of a moved folder that are there, and their folders."""
    from gbrain.importing.folder_identity import FolderIdentities, file_stamp, parent_folders
    from gbrain.store.seen_files import record_seen_files, record_seen_folders

    stamps = [(path, file_stamp(f"{folder.root}/{path}")) for path in paths]
    now = FolderIdentities(folder.root, {})
    found = [(path, s, now.now(path.rpartition("/")[0])) for path, s in stamps if s is not None]
    record_seen_files(connection, folder.id, found)
    above = {folder for path in paths for folder in parent_folders(path)}
    record_seen_folders(connection, folder.id, now.changed(sorted(above)))


def _first_missing(root: str, paths: Iterable[str]) -> str:
    return next(path for path in paths if not os.path.isfile(os.path.join(root, path)))


def _require_registered(connection: sqlite3.Connection, folder: Path) -> Folder:
    """Return the registered folder at this path, which may no longer exist; raise NotFound."""
    from gbrain.store import folders

    given = folder.expanduser()
    for root in (os.path.realpath(given), os.path.abspath(given)):
        if known := folders.find_folder(connection, root):
            return known
    listed = ", ".join(each.root for each in folders.list_folders(connection))
    raise NotFound(
        f"{given} is not a folder of this brain",
        hint=f"Its folders are: {listed}." if listed else "gbrain import DIR adds one.",
        code="no_folder",
    )
