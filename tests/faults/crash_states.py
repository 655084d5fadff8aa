"""The states in which a power loss may leave a disk, built from a record of its changes.

Data reaches the disk when its file is flushed, a name when its folder is. Until then any part of
it may be there: some of the writes and not others, the beginning of a write, a new name without
the data, data under its old name. The names of one folder change in order, as on file systems with
a journal.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from disk_shim import Event

SECTOR_BYTES = 512


class State(NamedTuple):
    """Files and folders: the number of the file by path (None: a folder), and bytes by number."""

    names: dict[str, int | None]
    contents: dict[int, bytes]

    def digest(self) -> bytes:
        """Return a hash that two equal states share."""
        known = sha256(repr(sorted(self.names.items(), key=lambda item: item[0])).encode())
        for number in sorted(self.contents):
            known.update(sha256(self.contents[number]).digest())
        return known.digest()

    def write(self, root: str, folder: Path) -> None:
        """Write the files into `folder`, for their owner alone."""
        written: dict[int, Path] = {}
        for path, number in sorted(self.names.items()):
            target = folder / path[len(root) :].lstrip("/")
            if number is None:
                target.mkdir(mode=0o700, parents=True, exist_ok=True)
            elif number in written:
                target.hardlink_to(written[number])
            else:
                target.write_bytes(self.contents[number])
                target.chmod(0o600)
                written[number] = target


class Inode:
    """A file: the bytes that are safe, and the changes since it was last flushed."""

    def __init__(self) -> None:
        self.safe = bytearray()
        self.pending: list[Event] = []

    def flush(self) -> None:
        for event in self.pending:
            _apply(self.safe, event)
        self.pending.clear()


class Disk:
    """Files and names below a root folder, each with what is safe and what is pending."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.inodes: dict[int, Inode] = {}
        self._by_number: dict[int, int] = {}
        # Names as programs see them, and as they are on the disk: path to file, None for a folder.
        self.names: dict[str, int | None] = {root: None}
        self.safe_names: dict[str, int | None] = {root: None}
        self.pending_names: dict[str, list[Event]] = {}

    def add(self, event: Event) -> None:
        """Apply one recorded change."""
        if event.kind == "S":
            for inode in self.inodes.values():
                inode.flush()
            for folder in list(self.pending_names):
                self._flush_names(folder)
        elif event.kind == "F":
            if self.names.get(event.path, -1) is None:
                self._flush_names(event.path)
            else:
                self._inode(event).flush()
        elif event.kind in "WT":
            self._inode(event).pending.append(event)
        else:
            if event.kind == "L":
                event = event._replace(inode=self.names[event.path] or 0)
            elif event.kind == "C":
                self._by_number[event.inode] = len(self.inodes)
                self.inodes[len(self.inodes)] = Inode()
                event = event._replace(inode=self._by_number[event.inode])
            _rename(self.names, event)
            folder = _parent(event.second or event.path)
            assert event.kind == "L" or _parent(event.path) == folder, "moved between folders"
            self.pending_names.setdefault(folder, []).append(event)

    def add_safe_file(self, path: str, data: bytes) -> None:
        """Add a file that was on the disk before, with its folders."""
        for folder in self._parents(path):
            self.names[folder] = self.safe_names[folder] = None
        number = len(self.inodes)
        self.inodes[number] = Inode()
        self.inodes[number].safe = bytearray(data)
        self.names[path] = self.safe_names[path] = number

    def _inode(self, event: Event) -> Inode:
        number = self._by_number.get(event.inode)
        if number is None:
            # A file that was there before the record began: known by its name.
            number = self._by_number[event.inode] = self.names[event.path]
        return self.inodes[number]

    def _flush_names(self, folder: str) -> None:
        for event in self.pending_names.pop(folder, ()):
            _rename(self.safe_names, event)

    def _parents(self, path: str) -> set[str]:
        found = set()
        while path != self.root:
            path = _parent(path)
            found.add(path)
        return found

    def states(self, rng: random.Random, extra: int) -> Iterator[State]:
        """Yield states in which a power loss now may leave the files.

        First nothing pending, everything, names without data and data without names, then `extra`
        random ones.
        """
        for names, data in ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)):
            yield self._state(rng, names, data)
        for _ in range(extra):
            yield self._state(rng, rng.choice([0.0, 0.5, 1.0]), None)

    def _state(self, rng: random.Random, names: float, data: float | None) -> State:
        """Return a state with this share of each folder's pending names, and of pending data."""
        left = dict(self.safe_names)
        for events in self.pending_names.values():
            kept = len(events) if names == 1 else rng.randint(0, len(events)) if names else 0
            for event in events[:kept]:
                _rename(left, event)
        # A name is lost with its folder.
        found = {path: inode for path, inode in left.items() if self._parents(path) <= left.keys()}
        contents: dict[int, bytes] = {}
        for inode in {inode for inode in found.values() if inode is not None}:
            contents[inode] = _left_of(self.inodes[inode], rng, data)
        return State(found, contents)


def _left_of(inode: Inode, rng: random.Random, share: float | None) -> bytes:
    """Return a file after a power loss: a random part of the pending changes without a share."""
    left = bytearray(inode.safe)
    if share is None:
        share = rng.choice([0.2, 0.5, 0.8])
    for event in inode.pending:
        if share < 1 and rng.random() >= share:
            continue
        if share < 1 and event.kind == "W" and rng.random() < 0.3:
            torn = rng.randrange(0, len(event.data) + 1, SECTOR_BYTES)
            event = event._replace(data=event.data[:torn])
        _apply(left, event)
    return bytes(left)


def _apply(data: bytearray, event: Event) -> None:
    if event.kind == "T":
        del data[event.offset :]
        data.extend(bytes(event.offset - len(data)))
    elif event.data:
        data.extend(bytes(max(0, event.offset - len(data))))
        data[event.offset : event.offset + len(event.data)] = event.data


def _rename(names: dict[str, int | None], event: Event) -> None:
    """Apply a change of names."""
    if event.kind == "C":
        names[event.path] = event.inode
    elif event.kind == "M":
        names[event.path] = None
    elif event.kind in "UD":
        names.pop(event.path, None)
    elif event.kind == "L":
        names[event.second] = event.inode
    elif event.kind == "X":
        names[event.path], names[event.second] = names[event.second], names[event.path]
    elif event.path in names:
        names[event.second] = names.pop(event.path)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
