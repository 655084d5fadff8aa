"""Tell whether the folders of a file are those in which gbrain last saw it.

A disk that is not mounted shows as an empty folder, or as none; that its files cannot be seen does
not mean that somebody deleted them.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property

# Ends the identity of a folder on another disk than the one around it.
_MOUNTED = " mounted"
# From linux/stat.h and linux/fcntl.h.
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW = -100, 0x100
_STATX_BTIME, _BTIME_OFFSET = 0x800, 80


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
        """Return the inode and birth of a folder, and its disk if it is the root or begins one.

        None if there is no such folder. Inodes are used again, and that of the first folder is the
        same on most disks. Numbers of devices are not used: they change when a computer starts.
        """
        place = os.path.join(self.root, path) if path else self.root
        try:
            around, found = os.stat(os.path.dirname(place)), os.lstat(place)
        except OSError:
            return None
        if not stat.S_ISDIR(found.st_mode):
            return None
        identity = f"{found.st_ino}.{_birth_time(place, found)}"
        mounted = found.st_dev != around.st_dev or place in self._mount_points
        if mounted or not path:
            identity += f" {_disk_id(place)}"
        return identity + _MOUNTED if mounted else identity

    @cached_property
    def _mount_points(self) -> set[str]:
        """The folders where something is mounted, on Linux: a part of the same disk may be."""
        try:
            with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                points = [line.split(" ")[4] for line in file]
        except (OSError, IndexError):
            return set()
        return {re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), each) for each in points}

    def _is_any_empty_disk(self, folder: str) -> bool:
        """Tell whether a folder begins a disk without an id, on which no known file was found."""
        return (self.now(folder) or "").endswith(f" 0{_MOUNTED}") and not any(
            each == folder or not folder or each.startswith(f"{folder}/")
            for each in self.with_files
        )

    def was_removed(self, path: str, seen_in: str | None = None) -> bool:
        """Tell whether a file that is not at `path` was taken out of the folder it was in.

        Each folder above it must be the one that was seen, up to the file's own or to one that was
        itself taken out of such a folder. `seen_in` is the identity of the file's folder when the
        file was seen last, if that is known.
        """
        *above, own = parent_folders(path)
        if seen_in not in (None, self.seen.get(own)):
            return False
        if any(self._is_any_empty_disk(folder) for folder in (*above, own)):
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


def _birth_time(path: str, status: os.stat_result) -> float:
    """Return when a folder was made, 0 where that is not known."""
    born: float | None = getattr(status, "st_birthtime", None)
    return _linux_birth_time(path) if born is None else born


def _linux_birth_time(path: str) -> float:
    """Ask statx, which the library of Python has from 3.15 on."""
    import ctypes

    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return 0.0
    buffer = ctypes.create_string_buffer(256)
    if statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, buffer):
        return 0.0
    (mask,) = struct.unpack_from("I", buffer)
    seconds, nanoseconds = struct.unpack_from("qI", buffer, _BTIME_OFFSET)
    return seconds + nanoseconds / 1e9 if mask & _STATX_BTIME else 0.0


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
