"""A machine of a person: a brain, a folder of notes with parts that can be unmounted or ignored."""

from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from editor_saves import read_text
from send2trash import plat_other

from gbrain.brain import Brain
from gbrain.store.history import decompress_version
from gbrain.text.slug import slug_from_path

# Never imported: one is in the ignore file from the start, the other is behind a symbolic link.
PRIVATE, LINKED = "secrets", "linked"
MOUNTED_FOLDERS = ("area", "deep")
_MNT_DETACH, _CLONE_NEWNS, _MS_MOVE, _MS_REC_PRIVATE = 2, 0x20000, 0x2000, 0x44000


class StoredVersion(NamedTuple):
    """A text that a page has, or had; `version` is None for the page as it is."""

    page_id: int
    version: int
    slug: str
    text: str


class BrainState(NamedTuple):
    """The pages of a brain by slug, and all earlier versions."""

    pages: dict[str, StoredVersion]
    versions: list[StoredVersion]

    def texts(self) -> Iterator[StoredVersion]:
        yield from self.pages.values()
        yield from self.versions


class NotesMachine:
    """One brain and its folder `notes`, which other programs use, too."""

    def __init__(
        self,
        folder: Path,
        number: int,
        empty_brain: Path,
        *,
        link_inside: bool = False,
        mounts: bool = False,
    ) -> None:
        self.number, self.folder = number, folder
        self.root, self.path = folder / "notes", folder / "brain" / "brain.db"
        self.elsewhere = folder / "elsewhere"
        self.away: dict[str, Path] = {}
        self.ignored: set[str] = set()
        for each in (self.root / PRIVATE, self.elsewhere, self.path.parent, folder / "data"):
            each.mkdir(parents=True)
        for each in MOUNTED_FOLDERS:
            (self.root / each).mkdir()
            if mounts:
                assert _mount("tmpfs", self.root / each, "tmpfs", 0)
        os.chmod(self.path.parent, 0o700)
        (self.root / LINKED).symlink_to(self.root / "area" if link_inside else self.elsewhere)
        self.link_inside = link_inside
        self._write_ignore_file()
        shutil.copyfile(empty_brain, self.path)
        os.chmod(self.path, 0o600)
        self._known_versions: dict[tuple[int, int], StoredVersion] = {}
        with self.environment():
            self.open()

    # --- the brain -----------------------------------------------------------------------

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Run a command as on this machine: with its own state and trash."""
        names = {"XDG_STATE_HOME": self.folder / "state", "XDG_DATA_HOME": self.folder / "data"}
        before = {name: os.environ.get(name) for name in names}
        os.environ.update({name: str(value) for name, value in names.items()})
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def open(self) -> None:
        """Open the brain twice, as two processes do."""
        self.brain, self.other = Brain.open(self.path), Brain.open(self.path)
        self._known_versions.clear()

    def close(self) -> None:
        self.brain.close()
        self.other.close()

    def remove(self) -> None:
        """Close the brain and delete all that belongs to this machine."""
        self.close()
        for part in list(self.away):
            self.mount(part)
        for each in self.folder.glob("*/*"):
            if os.path.ismount(each):
                ctypes.CDLL(None).umount2(os.fsencode(each), _MNT_DETACH)
        shutil.rmtree(self.folder)

    def state(self) -> BrainState:
        """Return all texts of the brain."""
        with self.brain.database.read_transaction() as connection:
            rows = connection.execute(
                "SELECT slug, id, version, front_matter || compiled_truth || timeline FROM pages"
            ).fetchall()
            past = connection.execute("SELECT page_id, version FROM versions").fetchall()
            new = [key for key in past if key not in self._known_versions]
            for page_id, version in new:
                slug, content = connection.execute(
                    "SELECT slug, content FROM versions WHERE page_id = ? AND version = ?",
                    (page_id, version),
                ).fetchone()
                text = decompress_version(content)
                self._known_versions[page_id, version] = StoredVersion(page_id, version, slug, text)
        pages = {
            slug: StoredVersion(page_id, version, slug, text)
            for slug, page_id, version, text in rows
        }
        return BrainState(pages, [self._known_versions[key] for key in past])

    def slugs(self) -> set[str]:
        """Return the slugs of all pages, as another process sees them now."""
        with closing(sqlite3.connect(self.path)) as connection:
            return {row[0] for row in connection.execute("SELECT slug FROM pages")}

    # --- the folder ----------------------------------------------------------------------

    def file(self, slug: str) -> Path:
        """Return the path of a note, below the folder."""
        return self.root / f"{slug}.md"

    def stored(self, file: Path) -> Path:
        """Return where a file below the folder is while all notes are not mounted."""
        if "" in self.away and file.is_relative_to(self.root):
            return self.away[""] / file.relative_to(self.root)
        return file

    def is_mounted(self, slug: str) -> bool:
        return "" not in self.away and slug.partition("/")[0] not in self.away

    def is_ignored(self, slug: str) -> bool:
        return "/" in slug and slug.partition("/")[0] in self.ignored | {PRIVATE, LINKED}

    def is_visible(self, slug: str) -> bool:
        """Tell whether an import reads the file of this note."""
        return self.is_mounted(slug) and not self.is_ignored(slug)

    def files(self) -> dict[str, str]:
        """Return the texts of all notes, wherever they are, by slug; not the private ones."""
        found = {}
        tops = [("", self.away.get("", self.root))]
        tops += [(f"{part}/", place) for part, place in self.away.items() if part]
        for prefix, top in tops:
            for place, folders, names in os.walk(top):
                folders[:] = [each for each in folders if each[0] != "."]
                for name in names:
                    if name.endswith(".md") and name[0] != ".":
                        path = os.path.join(place, name)
                        slug = slug_from_path(prefix + os.path.relpath(path, top))
                        if prefix or slug.partition("/")[0] not in (PRIVATE, LINKED, *self.away):
                            found[slug] = read_text(Path(path)) or ""
        return found

    def trash(self) -> list[str]:
        """Return the texts in the trash."""
        # The library reads where the trash is when it is imported.
        places = [Path(plat_other.HOMETRASH) / "files"]
        for top in (self.root, *self.away.values()):
            places += top.glob("**/.Trash*/**/files")
        return [read_text(file) or "" for place in places for file in place.glob("*.md*")]

    def set_ignored(self, part: str, ignored: bool) -> None:
        """Add a folder to the ignore file, or take it out."""
        (self.ignored.add if ignored else self.ignored.discard)(part)
        self._write_ignore_file()

    def _write_ignore_file(self) -> None:
        lines = [PRIVATE, *sorted(self.ignored)]
        new = self.folder / "ignore"
        new.write_text("".join(f"{line}/\n" for line in lines))
        os.replace(new, self.away.get("", self.root) / ".gbrainignore")

    def unmount(self, part: str) -> bool:
        """Leave an empty mount point where a folder was ("": all notes); False if impossible."""
        if "" in self.away or part in self.away or (not part and self.away):
            return False
        place = self.root / part if part else self.root
        kept = self.folder / f"away-{part or 'all'}"
        _move(place, kept)
        # Where a disk was mounted is an empty folder.
        place.mkdir(exist_ok=True)
        self.away[part] = kept
        return True

    def mount(self, part: str) -> bool:
        """Bring an unmounted folder back."""
        kept = self.away.get(part)
        if kept is None:
            return False
        place = self.root / part if part else self.root
        del self.away[part]
        # What was written to the mount point is below the mounted folder from now on.
        shutil.rmtree(place)
        if os.path.ismount(kept):
            place.mkdir()
        _move(kept, place)
        if kept.exists():
            kept.rmdir()
        return True


# --- mounts ----------------------------------------------------------------------------------


def use_own_mounts() -> bool:
    """Give this process a view of mounts of its own, which ends with it; False if not permitted."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    return libc.unshare(_CLONE_NEWNS) == 0 and _mount("none", Path("/"), None, _MS_REC_PRIVATE)


def _mount(source: str | Path, target: Path, kind: str | None, flags: int) -> bool:
    libc = ctypes.CDLL(None)
    name = kind.encode() if kind else None
    return libc.mount(os.fsencode(source), os.fsencode(target), name, flags, None) == 0


def _move(place: Path, target: Path) -> None:
    """Move a folder, which may be a mounted one."""
    if os.path.ismount(place):
        target.mkdir(exist_ok=True)
        assert _mount(place, target, None, _MS_MOVE)
    else:
        os.rename(place, target)
