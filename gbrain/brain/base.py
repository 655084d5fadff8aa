"""The open brain file that all groups of `Brain` methods work on."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gbrain.config import Settings, all_settings, override_settings
from gbrain.errors import BadSetting, GbrainError
from gbrain.paths import resolve_brain
from gbrain.store import settings
from gbrain.store.connection import Database, ReadOnlyDatabase, create_brain

if TYPE_CHECKING:
    from gbrain.store.folders import FileResult, PageFile
    from gbrain.store.page_writer import WriteResult


class BrainFile:
    """An open brain file with its settings."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.reload_settings()
        database.set_busy_seconds(self.settings.busy_seconds)
        # Called with a shell command from the brain file that its user has never approved here.
        self.confirm: Callable[[str], bool] = lambda command: False
        # Called with the old and the new name of a page before links are changed to a guessed one.
        self.confirm_rename: Callable[[str, str], bool] = lambda old, new: False
        # Whether it stays open at the end of a `with` block.
        self.keep_open = False

    @classmethod
    def open(
        cls, path: str | Path | None = None, *, make: bool = False, read_only: bool = False
    ) -> Self:
        """Open the brain at `path` (default: the default path); `make` creates a missing one.

        With `read_only` SQLite refuses every write through this brain.
        """
        file = resolve_brain(path)
        if read_only:
            return cls(ReadOnlyDatabase(file))
        if make and not file.exists():
            create_brain(file)
        return cls(Database(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self.keep_open:
            self.close()

    def close(self) -> None:
        """Close the file and the models; a `with` block does this at its end."""
        self.database.close()

    @property
    def path(self) -> Path:
        """Return the path of the brain file."""
        return self.database.path

    @property
    def read_only(self) -> bool:
        """Return whether the file cannot be written."""
        return self.database.read_only

    def reload_settings(self) -> None:
        """Read the settings from the file again."""
        with self.database.read_transaction() as connection:
            self.stored_settings = settings.read_settings(connection)
        self.settings: Settings = _usable_settings(self.stored_settings)

    # --- pages and their files ---------------------------------------------------------------

    @contextmanager
    def check_on_server(
        self, expected_version: int | None
    ) -> Iterator[Callable[[sqlite3.Connection, str], None]]:
        """Yield a function that is called with a page just written, before the write is committed.

        For the replica of a shared brain it lets the server check the expected version.
        """
        yield lambda connection, slug: None

    def change_page(
        self,
        change: Callable[[sqlite3.Connection], WriteResult],
        *,
        expected_version: int | None = None,
    ) -> WriteResult:
        """Run a write of one page in a transaction, then update its file.

        Every method that changes a page does it through here. `expected_version` is the one that
        `change` checks.
        """
        from dataclasses import replace

        from gbrain.store.folders import FileResult, find_page_file, wait_for_folder

        with (
            self.check_on_server(expected_version) as check,
            self.database.write_transaction() as connection,
        ):
            written = change(connection)
            check(connection, written.slug)
            page = find_page_file(connection, written.slug)
            reason = None
            if page is None and written.outcome == "created":
                reason = self.why_without_file(connection)
            if reason:
                wait_for_folder(connection, written.slug)
        if page is None:
            return replace(written, file=FileResult("", "behind", reason)) if reason else written
        if not self.may_write(page.folder.root):
            changed = written.outcome != "unchanged"
            return replace(written, file=self._file_behind(page)) if changed else written
        from gbrain.importing.write_through import update_file

        return update_file(self.database, written, timestamp())

    def _slug_with_file(self, name: str) -> str | None:
        """Return the slug of a page whose file goes with it when it is deleted or renamed."""
        from gbrain.store.folders import find_page_file
        from gbrain.store.pages import resolve_slug

        with self.database.read_transaction() as connection:
            slug = resolve_slug(connection, name)
            page = find_page_file(connection, slug)
        return slug if page and self.may_write(page.folder.root) else None

    def may_write(self, root: str) -> bool:
        """Return whether gbrain may write to files of a folder.

        Its user must have named the folder on this machine: a brain from elsewhere could name any.
        """
        return self.settings.write_through and self.is_known_folder(root)

    def is_known_folder(self, root: str) -> bool:
        """Return whether the user has named this folder with import or sync on this machine."""
        from gbrain.trust import is_trusted

        with suppress(GbrainError):
            return is_trusted(self.identity(), self._folder_key(root))
        return False

    def allow_writing(self, folder: Path) -> None:
        """Let changes of pages be written to their files in this folder."""
        from gbrain.trust import is_trusted, remember_trusted

        thing = self._folder_key(os.path.realpath(folder.expanduser()))
        # Without a home folder, as in some cron jobs, files are left as they are.
        with suppress(GbrainError):
            if not is_trusted(self.identity(), thing):
                remember_trusted(self.identity(), thing)

    def new_page_folder(self, connection: sqlite3.Connection) -> int | None:
        """Return the id of the folder that new pages belong to; None if they have no file."""
        from gbrain.store.folders import list_folders

        known = list_folders(connection)
        wanted = self.settings.default_folder
        if wanted:
            root = os.path.realpath(Path(wanted).expanduser())
            known = [folder for folder in known if folder.root == root]
        return known[0].id if len(known) == 1 and self.may_write(known[0].root) else None

    def why_without_file(self, connection: sqlite3.Connection) -> str | None:
        """Return why no folder could be chosen for a new page, and what to do; None if one was."""
        from gbrain.store.folders import list_folders

        known = [folder.root for folder in list_folders(connection)]
        wanted = self.settings.default_folder
        if not (known and self.settings.write_through):
            return None
        if wanted:
            root = os.path.realpath(Path(wanted).expanduser())
            known = [each for each in known if each == root]
        if len(known) == 1:
            if self.may_write(known[0]):
                return None
            return (
                "Only in the brain so far: gbrain may not write to this folder on this machine "
                f"yet. gbrain sync {quote(known[0])} allows it and writes the file."
            )
        reason = f"{wanted} is not an imported folder" if wanted else "several folders are imported"
        return (
            f"Only in the brain so far: {reason}. Choose one with "
            "gbrain config set default_folder DIR, then gbrain sync."
        )

    def _folder_key(self, root: str) -> str:
        # A copy of the file has the same identity, but must not write to the folder of the brain.
        return f"write to {root} from {self.path}"

    def identity(self) -> str:
        """Return what a brain shares only with its copies: the time it was created."""
        return settings.brain_identity(self.database.connection)

    def _file_behind(self, page: PageFile) -> FileResult | None:
        """Return what to say about a file that gbrain may not write; None if it is in step."""
        from gbrain.store.folders import FileResult

        if page.sha256 == page.source_sha256:
            return None
        root = quote(page.folder.root)
        remedy = f"gbrain export {root} writes the new one."
        if self.settings.write_through:
            remedy = f"gbrain sync {root} lets gbrain write to this folder."
        message = f"The file still has the old text; {remedy}"
        return FileResult(str(Path(page.folder.root, page.path)), "behind", message)


def _usable_settings(stored: Mapping[str, str]) -> Settings:
    """Return the stored settings, with the default for each value that cannot be read."""
    usable = Settings()
    for name in all_settings().keys() & stored.keys():
        with suppress(BadSetting):
            usable = override_settings(usable, {name: stored[name]})
    return usable


def clock() -> datetime:
    """Return the current time in UTC, or the ISO time in $GBRAIN_NOW."""
    fixed = os.environ.get("GBRAIN_NOW")
    if fixed:
        with suppress(ValueError):
            moment = datetime.fromisoformat(fixed)
            return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return datetime.now(UTC)


def today() -> date:
    """Return the current day in local time."""
    return clock().astimezone().date()


def timestamp() -> str:
    """Return the current time in the format the brain stores: ISO, UTC, milliseconds."""
    return _stored_time(clock())


def local_midnight(day: date) -> str:
    """Return the start of a day in local time, in the format the brain stores."""
    return _stored_time(datetime(day.year, day.month, day.day).astimezone(UTC))


def _stored_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
