"""Tell whether the folders of a file are those in which gbrain last saw it.

A disk that is not mounted shows as an empty folder, or as none; that its files cannot be seen does
not mean that somebody deleted them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache

# Ends the identity of a folder on another disk than the one around it.
_MOUNTED = " mounted"


def file_stamp(path: str) -> str | None:
    """Return what a file has in common only with itself while nobody writes it; None if missing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


class FolderIdentities:
    """The folders below `root` as they are now, compared with those `seen` before, by path.

    `with_files` are the paths of folders in which page files were found now.
    """

    def __init__(
        self, root: str, seen: Mapping[str, str], with_files: Collection[str] = ()
    ) -> None:
        self.root, self.seen, self.with_files = root, seen, with_files
        self.now = cache(self._identity)

    def _identity(self, path: str) -> str | None:
        """Return the inode of a folder, and whether another disk begins there; None if missing.

        Numbers of devices are not used: they change when a computer starts.
        """
        try:
            around = os.stat(self.root if path else os.path.dirname(self.root))
            found = os.lstat(os.path.join(self.root, path)) if path else os.stat(self.root)
        except OSError:
            return None
        if not stat.S_ISDIR(found.st_mode):
            return None
        return f"{found.st_ino}{_MOUNTED if found.st_dev != around.st_dev else ''}"

    def was_removed(self, path: str) -> bool:
        """Tell whether a file that is not at `path` was taken out of the folder it was in.

        Each folder above it must be the one that was seen, up to the file's own or to one that was
        itself taken out of such a folder.
        """
        *above, own = parent_folders(path)
        for folder in above:
            now, before = self.now(folder), self.seen.get(folder)
            if now is None:
                return before is not None and not before.endswith(_MOUNTED)
            if before is not None and now != before:
                return False
        now, before = self.now(own), self.seen.get(own)
        if now is None:
            return before is not None and not before.endswith(_MOUNTED)
        # Seen before gbrain remembered folders: another file in it shows that it is mounted.
        return own in self.with_files if before is None else now == before

    def first_other(self, path: str) -> str | None:
        """Return the first folder above `path` that is missing or not the one that was seen.

        None if all are those: a file that is written now would not be hidden by a disk that is
        mounted later.
        """
        for folder in parent_folders(path):
            now, before = self.now(folder), self.seen.get(folder)
            if before is None or now == before:
                continue
            # A folder that somebody deleted is made again, unless it was on another disk.
            if now is not None or folder == "" or before.endswith(_MOUNTED):
                return folder
        return None

    def changed(self, folders: Iterable[str]) -> dict[str, str]:
        """Return the identities of these folders that are new or not as they were seen, by path."""
        return {
            folder: identity
            for folder in folders
            if (identity := self.now(folder)) is not None and identity != self.seen.get(folder)
        }


def parent_folders(path: str) -> Iterator[str]:
    """Yield the folders above a path, from the root "" to its own."""
    yield ""
    parts = path.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])
