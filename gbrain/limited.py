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
from gbrain.errors import BadBrain, Conflict, GbrainError, NotFound
from gbrain.paths import cache_folder, make_folder, resolve_brain
from gbrain.store import limits as store
from gbrain.store import pages
from gbrain.store.as_of import skip_sync
from gbrain.store.atomic_files import process_is_alive
from gbrain.store.connection import Database, create_brain
from gbrain.text.slug import is_page_file, slug_from_path
from gbrain.types import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from gbrain.store.page_writer import WriteResult
    from gbrain.store.tasks import PageTask
    from gbrain.store.undo import UndoResult


class LimitedBrain(Brain):
    """The pages within `limits`, in a private copy that follows the brain.

    Everything that reads uses the copy. The methods that write resolve names and check versions in
    the copy, and change the brain itself through a connection that refuses pages outside of the
    limits; their results are those of the copy, too. What has no method here cannot be written at
    all.
    """

    def __init__(self, whole: Brain, limits: Scope, folder: Path) -> None:
        self._whole, self._limits, self._folder = whole, limits, folder
        self._copy = store.LimitedCopy(limits)
        self._data_version: int | None = None
        self._is_open = False
        create_brain(folder / "brain.db")
        copy = Database(folder / "brain.db")
        # The copy is made again if a crash breaks it.
        skip_sync(copy.connection)
        super().__init__(copy)
        self._is_open = True
        self._complete_vectors()

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
            updated = self._copy.updated(source, target, timestamp())
        self._copy = updated
        self._data_version = version
        if self._is_open:
            self._complete_vectors()

    def _complete_vectors(self) -> None:
        """Embed new chunks, or copy their vectors from the brain if they are many.

        If those of a few new chunks were copied, a chunk that a hidden page has too would be known
        by its vector, which is there before anything was embedded.
        """
        self.embed_new_chunks()
        with (
            self._whole.database.read_transaction() as source,
            self.database.write_transaction() as target,
        ):
            store.copy_vectors(source, target, timestamp())

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
        slug = self.slug_to_put(name)
        with self.database.read_transaction() as connection:
            known = pages.find_page(connection, slug)
        if known is not None:
            expected = self._expect(slug, expected_version)
            return self._write(
                slug,
                lambda: self._whole.put(slug, data, expected_version=expected, exact=exact),
            )
        if expected_version:
            raise Conflict(
                f"{slug} does not exist, so it is not at version {expected_version}",
                hint="To create the page, leave out the expected version.",
                code="version_conflict",
            )
        self._refuse_creation(slug)
        path = name if is_page_file(name) else slug
        return self._write(
            slug, lambda: self._whole.put(path, data, expected_version=0, exact=exact)
        )

    def capture(
        self, text: str, *, name: str | None = None, source: str | None = None
    ) -> WriteResult:
        if name is not None:
            slug = self.get(name).slug
            return self._write(slug, lambda: self._whole.capture(text, name=slug, source=source))
        inbox = slug_from_path(self._whole.settings.capture_page)
        if self._copy.page(inbox) is None:
            self._refuse_creation(inbox, "The inbox")
        return self._write(inbox, lambda: self._whole.capture(text, source=source), "The inbox")

    def add_to_timeline(
        self,
        name: str,
        text: str,
        *,
        date: str | None = None,
        source: str | None = None,
        expected_version: int | None = None,
    ) -> WriteResult:
        slug = self.get(name).slug
        expected = self._expect(slug, expected_version)
        return self._write(
            slug,
            lambda: self._whole.add_to_timeline(
                slug, text, date=date, source=source, expected_version=expected
            ),
        )

    def delete(self, name: str, *, expected_version: int | None = None) -> WriteResult:
        slug = self.get(name).slug
        expected = self._expect(slug, expected_version)
        return self._write(slug, lambda: self._whole.delete(slug, expected_version=expected))

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
        """Take back the last visible change of a page; see `Brain.undo`.

        A page gets an earlier text or returns after a deletion, where it could be created too. It
        gets no earlier name, and is not deleted.
        """
        from gbrain.store import undo

        with self.database.read_transaction() as connection:
            last = undo.last_change(connection, name, redo=redo)
        now, then, data = last.now, last.then, last.text.encode()
        if then.version is None:
            raise NotFound(
                f"There is no earlier text of {now.slug}",
                hint=f"gbrain delete {now.slug} deletes the page.",
            )
        if now.version is None:
            self._refuse_creation(then.slug)
            written = self._write(
                then.slug, lambda: self._whole.put(last.path, data, expected_version=0)
            )
            return undo.UndoResult("undeleted", then.slug, written.version, now, then, None)
        if then.slug != now.slug:
            raise store.outside_error("Another name")
        page = self._copy.page(now.slug)
        written = self.put(now.slug, data, expected_version=now.version, exact=True)
        if page is not None and not redo:
            with self._whole.database.write_transaction() as connection:
                known = pages.find_page(connection, now.slug)
                if known is not None:
                    undo.mark_undone(connection, known.id, page.version)
            self._copy.forget(now.slug)
            self._refresh_written()
        return undo.UndoResult("updated", now.slug, written.version, now, then, None)

    def _expect(self, slug: str, expected: int | None) -> int | None:
        """Return the version of the brain that a caller expects, who knows those of the copy."""
        if expected is None:
            return None
        current = self.get(slug).version
        page = self._copy.page(slug)
        if expected != current or page is None:
            raise Conflict(
                f"{slug} is at version {current}, not at version {expected}",
                hint=f"Read it again with gbrain get {slug} and repeat your change.",
                code="version_conflict",
            )
        return page.version

    def _refuse_creation(self, slug: str, what: str | None = None) -> None:
        """Raise GbrainError for a new page with a slug where the limits allow none.

        The answer depends on the slug alone, and for a wing on whether its folders have a page of
        another wing: not on what has this slug.
        """
        if not store.may_create(self._limits, slug):
            raise store.creation_error(what or slug)
        with self._whole.database.read_transaction() as connection:
            if store.hides_creatable(connection, self._limits):
                raise store.creation_error(what or slug)

    def _write(
        self, slug: str, write: Callable[[], WriteResult], what: str | None = None
    ) -> WriteResult:
        """Return the result of a write to the brain as the copy shows it.

        It does not tell what happened to the file: that is between the owner's notes and the page.
        """
        before = self._copy.page(slug)
        try:
            written = write()
        except (NotFound, Conflict):
            # Somebody else was faster. Their names and numbers are those of the whole brain.
            self._refresh_written()
            raise Conflict(
                f"{slug} was changed meanwhile",
                hint=f"Read it again with gbrain get {slug} and repeat your change.",
                code="version_conflict",
            ) from None
        except GbrainError as error:
            if error.code == store.OUTSIDE_CODE:
                raise store.outside_error(what or slug) from None
            raise
        self._refresh_written()
        shown = before if written.outcome == "deleted" else self._copy.page(slug)
        number = shown and shown.shown_number(written.version)
        if number is None:
            # Another program took the page out of the limits in the meantime.
            number = before.versions[-1].number + 1 if before else 1
        return replace(written, version=number, file=None)

    def _refresh_written(self) -> None:
        # A connection does not notice its own writes.
        self._data_version = None
        self._refresh()


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
