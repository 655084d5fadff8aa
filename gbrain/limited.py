"""A brain in which only the pages within some limits exist, for users of limited tokens."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Self

from gbrain.brain import Brain, timestamp
from gbrain.brain.models import BrainState
from gbrain.errors import BadBrain, Conflict, GbrainError
from gbrain.paths import cache_folder, make_folder, resolve_brain
from gbrain.store import limits as store
from gbrain.store import pages
from gbrain.store.as_of import skip_sync
from gbrain.store.atomic_files import process_is_alive
from gbrain.store.connection import Database, create_brain
from gbrain.text.slug import slug_from_path
from gbrain.types import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from gbrain.store.page_writer import WriteResult
    from gbrain.store.tasks import PageTask
    from gbrain.store.undo import UndoResult


class LimitedBrain(Brain):
    """The pages within `limits`, in a private copy that follows the brain.

    Everything that reads uses the copy. The methods that write resolve names in the copy, and
    change the brain itself through a connection that refuses pages outside of the limits. What has
    no method here cannot be written at all.
    """

    def __init__(self, whole: Brain, limits: Scope, folder: Path) -> None:
        self._whole, self._limits, self._folder = whole, limits, folder
        self._copied = store.nothing_copied()
        self._data_version: int | None = None
        create_brain(folder / "brain.db")
        copy = Database(folder / "brain.db")
        # The copy is made again if a crash breaks it.
        skip_sync(copy.connection)
        super().__init__(copy)

    @classmethod
    def open_within(cls, path: str | Path | None, limits: Scope, *, read_only: bool) -> Self:
        """Open the pages of the brain at `path` that are within the limits."""
        file = resolve_brain(path)
        whole = (
            Brain.open(file, read_only=True)
            if read_only
            else Brain(store.guard_limits(file, limits))
        )
        try:
            return cls(whole, limits, _make_private_folder())
        except BaseException:
            whole.close()
            raise

    def close(self) -> None:
        """Close the brain and delete the copy."""
        super().close()
        self._whole.close()
        rmtree(self._folder, ignore_errors=True)

    @property
    def path(self) -> Path:
        """The name of the brain file without its folder, which users of a token do not need."""
        return Path(self._whole.path.name)

    @property
    def read_only(self) -> bool:
        return self._whole.read_only

    def identity(self) -> str:
        return self._whole.identity()

    def state(self) -> BrainState:
        return self._whole.state()

    def reload_settings(self) -> None:
        """Update the copy from the brain, and read the settings again."""
        self._refresh()
        super().reload_settings()

    def _refresh(self) -> None:
        self._whole.reload_settings()
        version = self._whole.database.data_version()
        if version == self._data_version:
            return
        with (
            self._whole.database.read_transaction() as source,
            self.database.write_transaction() as target,
        ):
            self._copied = store.update_copy(
                source, target, self._limits, self._copied, timestamp()
            )
        self._data_version = version

    def image(self, name: str, written: str) -> tuple[str, bytes]:
        # A page could name an image that belongs to a page outside of the limits.
        raise store.outside_error("An image")

    # --- writing -----------------------------------------------------------------------------

    def change_page(
        self,
        change: Callable[[sqlite3.Connection], WriteResult],
        *,
        expected_version: int | None = None,
    ) -> WriteResult:
        raise store.outside_error("This change")

    def put(
        self,
        name: str,
        data: bytes,
        *,
        expected_version: int | None = None,
        exact: bool = False,
    ) -> WriteResult:
        slug = slug_from_path(name)
        # What follows must not differ for a page that does not exist and one that is hidden.
        with self.database.read_transaction() as connection:
            known = pages.find_page(connection, slug) is not None
        if not known and expected_version:
            raise Conflict(
                f"{slug} does not exist, so it is not at version {expected_version}",
                hint="To create the page, leave out the expected version.",
                code="version_conflict",
            )
        self._require_within(slug)
        try:
            written = self._whole.put(name, data, expected_version=expected_version, exact=exact)
        except GbrainError as error:
            raise store.outside_error(slug) if error.code == store.OUTSIDE_CODE else error from None
        return self._written(written)

    def capture(
        self, text: str, *, name: str | None = None, source: str | None = None
    ) -> WriteResult:
        if name is not None:
            return self._written(self._whole.capture(text, name=self.get(name).slug, source=source))
        self._require_within(slug_from_path(self._whole.settings.capture_page), "The inbox")
        return self._written(self._whole.capture(text, source=source))

    def add_to_timeline(
        self,
        name: str,
        text: str,
        *,
        date: str | None = None,
        source: str | None = None,
        expected_version: int | None = None,
    ) -> WriteResult:
        return self._written(
            self._whole.add_to_timeline(
                self.get(name).slug,
                text,
                date=date,
                source=source,
                expected_version=expected_version,
            )
        )

    def delete(self, name: str, *, expected_version: int | None = None) -> WriteResult:
        slug = self.get(name).slug
        return self._written(self._whole.delete(slug, expected_version=expected_version))

    def rename(self, name: str, new_name: str) -> WriteResult:
        raise store.outside_error("Another name")

    def finish_task(self, number: str) -> tuple[PageTask, WriteResult]:
        from gbrain.store.tasks import tick_task

        # The numbers are those of the copy: how many digits one needs depends on all tasks.
        with self.database.read_transaction() as connection:
            ticked = tick_task(connection, number)
        data = ticked.text.encode()
        return ticked.task, self.put(
            ticked.task.slug, data, expected_version=ticked.version, exact=True
        )

    def undo(self, name: str | None = None, *, redo: bool = False) -> UndoResult:
        from gbrain.store import undo

        with self.database.read_transaction() as connection:
            seen = undo.last_change(connection, name, redo=redo)
        with self._whole.database.read_transaction() as connection:
            last = undo.last_change(connection, seen.now.slug, redo=redo)
        if (seen.now, seen.then, seen.text) != (last.now, last.then, last.text):
            raise store.outside_error("The state before")
        done = self._whole.undo(seen.now.slug, redo=redo)
        self._data_version = None
        self._refresh()
        return done._replace(file=None)

    def _require_within(self, slug: str, what: str | None = None) -> None:
        """Raise GbrainError for a slug that no page within the limits has or can get."""
        prefix = self._limits.slug_prefix
        outside = prefix is not None and not slug.startswith(prefix)
        if not outside:
            with self._whole.database.read_transaction() as connection:
                outside = store.page_is_within(connection, slug, self._limits) is False
        if outside:
            raise store.outside_error(what or slug)

    def _written(self, written: WriteResult) -> WriteResult:
        """Return the result of a write without the path of its file, and copy the page again."""
        # A connection does not notice its own writes.
        self._data_version = None
        self._refresh()
        file = written.file
        if file is not None and file.outcome in ("conflict", "failed"):
            return replace(written, file=type(file)("", file.outcome, None))
        return replace(written, file=None)


def _make_private_folder() -> Path:
    """Create a folder for a copy that this process deletes, and delete those of dead processes."""
    parent = cache_folder() / "limited"
    try:
        make_folder(parent)
        for left in parent.iterdir():
            owner = left.name.partition("-")[0]
            if owner.isdecimal() and not process_is_alive(int(owner)):
                rmtree(left, ignore_errors=True)
        folder = parent / f"{os.getpid()}-{os.urandom(8).hex()}"
        folder.mkdir(0o700)
    except OSError as error:
        raise BadBrain(
            f"Cannot write a copy of the brain to {parent}: {error.strerror}",
            hint="Set $XDG_CACHE_HOME to a folder that you can write to.",
            code="cannot_create",
        ) from None
    return folder
