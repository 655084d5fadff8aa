"""Tell whether the folders of a file are those in which gbrain last saw it.

A disk that is not mounted shows as an empty folder, or as none; that its files cannot be seen does
not mean that somebody deleted them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property

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

    `with_files` are the paths of folders in which files of known pages were found now.
    """

    def __init__(
        self, root: str, seen: Mapping[str, str], with_files: Collection[str] = ()
    ) -> None:
        self.root, self.seen, self.with_files = root, seen, with_files
        self.now = cache(self._identity)

    def _identity(self, path: str) -> str | None:
        """Return the inode of a folder, with the id of the disk that begins there; None if missing.

        The inode of the first folder of a disk is the same for most disks. Numbers of devices are
        not used: they change when a computer starts.
        """
        place = os.path.join(self.root, path) if path else self.root
        try:
            around, found = os.stat(os.path.dirname(place)), os.lstat(place)
        except OSError:
            return None
        if not stat.S_ISDIR(found.st_mode):
            return None
        if found.st_dev == around.st_dev and place not in self._mount_points:
            return str(found.st_ino)
        return f"{found.st_ino} {_disk_id(place)}{_MOUNTED}"

    @cached_property
    def _mount_points(self) -> set[str]:
        """The folders where something is mounted, on Linux: a part of the same disk may be."""
        try:
            with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                points = [line.split(" ")[4] for line in file]
        except (OSError, IndexError):
            return set()
        return {re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), each) for each in points}

    def _is_empty_disk(self, folder: str) -> bool:
        """Tell whether a folder is the first of a disk and no known file was found on it."""
        return (self.now(folder) or "").endswith(_MOUNTED) and not any(
            each == folder or not folder or each.startswith(f"{folder}/")
            for each in self.with_files
        )

    def was_removed(self, path: str) -> bool:
        """Tell whether a file that is not at `path` was taken out of the folder it was in.

        Each folder above it must be the one that was seen, up to the file's own or to one that was
        itself taken out of such a folder.
        """
        *above, own = parent_folders(path)
        if any(self._is_empty_disk(folder) for folder in (*above, own)):
            return False
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


def _disk_id(path: str) -> int:
    """Return the id of a file system, 0 where it has none."""
    try:
        return os.statvfs(path).f_fsid
    except (OSError, AttributeError):
        return 0


def parent_folders(path: str) -> Iterator[str]:
    """Yield the folders above a path, from the root "" to its own."""
    yield ""
    parts = path.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])
