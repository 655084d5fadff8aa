"""`Brain` methods for single pages: read, write, list, delete, rename."""

from __future__ import annotations

import builtins
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.brain.base import BrainFile, timestamp, today
from gbrain.store import pages
from gbrain.text.slug import is_page_file, path_from_name, slug_from_path
from gbrain.types import Scope

if TYPE_CHECKING:
    from gbrain.store import folders, history, page_writer
    from gbrain.store.undo import UndoOutcome, UndoResult


class PageMethods(BrainFile):
    """Read and write single pages."""

    def put(
        self,
        name: str,
        data: bytes,
        *,
        expected_version: int | None = None,
        exact: bool = False,
    ) -> page_writer.WriteResult:
        """Write the page called `name` with the content `data`; see `slug_to_put`.

        A page that gbrain writes to a file keeps the line ends and the byte order mark of the file,
        unless `exact`.
        """
        from gbrain.store import folders, page_writer
        from gbrain.text.page import parse_page

        slug = self.slug_to_put(name)
        with self.database.read_transaction() as connection:
            known = pages.find_page(connection, slug)
            # Also for a page that exists: another process may delete it before it is written.
            folder_id = self.new_page_folder(connection)
            file = None if exact else folders.find_page_file(connection, slug)
            if file and self.may_write(file.folder.root):
                data = _keep_style(pages.page_text(connection, file.page_id), data)
        path = known.path if known else _new_path(name if is_page_file(name) else slug)
        page = parse_page(path, data)
        return self.change_page(
            lambda connection: page_writer.write_page(
                connection,
                page,
                timestamp(),
                expected_version=expected_version,
                folder_id=folder_id,
            ),
            expected_version=expected_version,
        )

    def capture(
        self, text: str, *, name: str | None = None, source: str | None = None
    ) -> page_writer.WriteResult:
        """Add a line with today's date to a page's timeline (default: the inbox page).

        A page that does not exist is created, as is the inbox, which the setting capture_page
        names. Raises NotFound if several pages have the name, and BadPage if it can name none.
        """
        from gbrain.importing.scan import refuse_skipped_path
        from gbrain.store import page_writer
        from gbrain.store.timeline import add_timeline_entry
        from gbrain.text.page import parse_page
        from gbrain.text.timeline import add_entry

        day, now = today().isoformat(), timestamp()
        inbox = slug_from_path(self.settings.capture_page)

        def add(connection: sqlite3.Connection) -> page_writer.WriteResult:
            slug = pages.resolve_slug_to_write(connection, name) if name else inbox
            if pages.find_page(connection, slug) is not None:
                return add_timeline_entry(connection, slug, day, text, source, now)
            refuse_skipped_path(f"{slug}.md")
            page = add_entry(f"# {title_from_slug(slug)}\n\n", day, text, source)
            return page_writer.write_page(
                connection,
                parse_page(f"{slug}.md", page.encode()),
                now,
                folder_id=self.new_page_folder(connection),
            )

        return self.change_page(add)

    def get(self, name: str) -> pages.StoredPage:
        """Return the page called `name`, without its text; NotFound suggests similar slugs."""
        with self.database.read_transaction() as connection:
            return pages.require_named_page(connection, name)

    def find(self, name: str) -> pages.StoredPage | None:
        """Return the page called `name`, without its text, or None."""
        with self.database.read_transaction() as connection:
            return pages.find_page(connection, pages.resolve_slug(connection, name))

    def resolve(self, name: str, *, past: bool = False) -> str:
        """Return the slug that `name` means, which may be a title, an alias or a file name.

        With `past` the slug of a deleted or renamed page counts, too. A name that no page has is
        returned as a slug; NotFound lists the candidates if several pages have it.
        """
        with self.database.read_transaction() as connection:
            return pages.resolve_slug(connection, name, past=past)

    def slug_to_put(self, name: str) -> str:
        """Return the slug of the page that `put` writes, which may be new.

        A slug or a path means exactly this page: a script that puts many pages must not overwrite
        one in another folder. Any other name, such as Alice Chen, may be one of an existing page.
        """
        slug = slug_from_path(name)
        if slug == name:
            return slug
        with self.database.read_transaction() as connection:
            return pages.resolve_slug_to_write(connection, name)

    def similar_slugs(self, name: str) -> builtins.list[str]:
        """Return up to three slugs that are spelt like `name`, the most similar first."""
        with self.database.read_transaction() as connection:
            return pages.nearest_slugs(connection, slug_from_path(name))

    def text(self, name: str, version: int | None = None) -> str:
        """Return a page's text with its front matter, as it is or as a version had it."""
        with self.database.read_transaction() as connection:
            if version is not None:
                from gbrain.store import history

                return history.version_text(
                    connection, pages.resolve_slug(connection, name, past=True), version
                )
            return pages.page_text(
                connection,
                pages.require_named_page(connection, name).id,
            )

    def body(self, name: str) -> str:
        """Return a page's text without its front matter."""
        with self.database.read_transaction() as connection:
            return pages.page_body(
                connection,
                pages.require_named_page(connection, name).id,
            )

    def page(
        self, name: str, version: int | None = None
    ) -> tuple[pages.StoredPage, dict[str, object], str]:
        """Return a page, its front matter as values and its text, as it is or at a version."""
        with self.database.read_transaction() as connection:
            if version is not None:
                from gbrain.store import history

                stored, meta, text = history.page_at_version(
                    connection, pages.resolve_slug(connection, name, past=True), version
                )
                return stored, json.loads(meta), text
            stored = pages.require_named_page(connection, name)
            text = pages.page_text(connection, stored.id)
            return stored, pages.front_matter_values(connection, stored.id), text

    def list(
        self, scope: Scope = Scope(), limit: int | None = None
    ) -> tuple[builtins.list[pages.StoredPage], int]:
        """Return the first `limit` pages of the scope by slug, and how many there are."""
        with self.database.read_transaction() as connection:
            return pages.list_pages(connection, scope, limit)

    def history(self, name: str) -> builtins.list[history.Version]:
        """Return a page's versions, oldest first; also those of a deleted page."""
        from gbrain.store import history

        with self.database.read_transaction() as connection:
            return history.list_versions(
                connection, pages.resolve_slug(connection, name, past=True)
            )

    def delete(self, name: str, *, expected_version: int | None = None) -> page_writer.WriteResult:
        """Delete a page and its file; the text stays in the page's history."""
        from gbrain.store import folders, page_writer

        if name_with_file := self._slug_with_file(name):
            from gbrain.importing.write_through import look_at_file

            look_at_file(self.database, name_with_file, self.may_write)
        with (
            self.check_on_server(expected_version) as check,
            self.database.write_transaction() as connection,
        ):
            slug = pages.resolve_slug(connection, name)
            page = folders.find_page_file(connection, slug)
            with_file = page is not None and slug == name_with_file
            gone = page_writer.delete_page(
                connection,
                slug,
                timestamp(),
                expected_version=expected_version,
                with_file=with_file,
            )
            check(connection, slug)
        file = None
        if page and with_file:
            from gbrain.importing.write_through import remove_page_file

            file = remove_page_file(
                self.database, page.folder.root, page.path, use_trash=self.settings.use_trash
            )
        elif page:
            file = _file_left_behind(page, "still exists: delete it too, or gbrain sync imports it")
        return page_writer.WriteResult(gone.slug, gone.version, "deleted", file)

    def rename(self, name: str, new_name: str) -> page_writer.WriteResult:
        """Change a page's slug and path; its history, vectors and file follow."""
        from dataclasses import replace

        from gbrain.errors import Conflict
        from gbrain.store import folders, page_writer
        from gbrain.text.page import parse_page

        new = slug_from_path(new_name)
        if name_with_file := self._slug_with_file(name):
            from gbrain.importing.write_through import look_at_file

            self.import_file(name_with_file)
            look_at_file(self.database, name_with_file, self.may_write)
        with self.database.read_transaction() as connection:
            old = pages.resolve_slug(connection, name)
            file = folders.find_page_file(connection, old)
        moved = file if file and old == name_with_file else None
        if moved:
            # Before the transaction: an ignore file that is being saved is waited for.
            self._refuse_excluded_path(moved, _new_path(new_name))

        def change(connection: sqlite3.Connection) -> page_writer.WriteResult:
            known = pages.require_page(connection, old)
            if new != old and pages.find_page(connection, new):
                raise Conflict(
                    f"A page named {new} already exists",
                    hint=f"Choose another name, or delete that page: gbrain delete {new}.",
                    code="slug_collision",
                )
            path = _new_path(new_name)
            if moved:
                _refuse_existing_file(moved, path)
            page = parse_page(path, pages.page_text(connection, known.id).encode())
            return page_writer.write_page(
                connection,
                page,
                timestamp(),
                renames=old,
                folder_id=moved.folder.id if moved else None,
            )

        written = self.change_page(change)
        if file and not moved:
            left = _file_left_behind(
                file, "keeps the old name: rename it too, or gbrain sync imports the old page"
            )
            return replace(written, file=left)
        return written

    def _refuse_excluded_path(self, page: folders.PageFile, path: str) -> None:
        """Raise BadPage if the folder's rules exclude the path that a page is renamed to."""
        from gbrain.errors import BadPage
        from gbrain.importing.scan import IGNORE_FILE
        from gbrain.importing.write_through import is_excluded

        if is_excluded(self.database, page.folder.root, path):
            raise BadPage(
                f"{path} is excluded from imports, so the page cannot have its file there",
                hint=f"Choose another name, or change {IGNORE_FILE}.",
                code="ignored",
            )

    def import_file(self, slug: str) -> bool:
        """Import a page's file if it changed and gbrain writes there; return whether it did."""
        from gbrain.importing.write_through import import_page_file
        from gbrain.store.folders import find_page_file

        with self.database.read_transaction() as connection:
            page = find_page_file(connection, slug)
        if page is None or not self.may_write(page.folder.root):
            return False
        return import_page_file(self.database, page, timestamp())

    def undo(self, name: str | None = None, *, redo: bool = False) -> UndoResult:
        """Take back the last change of a page (default: of the page that changed last).

        The earlier text becomes a new version; a deleted page comes back, a renamed one gets its
        old slug, a new one without a file is deleted once. Undoing again goes one change further
        back; `redo` takes back the last undo. Raises NotFound if there is nothing to undo.
        """
        from gbrain.errors import Conflict, NotFound
        from gbrain.store import undo

        with self.database.read_transaction() as connection:
            page_id, now, then, path, text, may_delete = undo.last_change(
                connection, name, redo=redo
            )
            # A page that goes back to not existing needs no name.
            renamed = then.version is not None and then.slug != now.slug
            returns = then.version is not None and now.version is None
            taken = (renamed or returns) and pages.find_page(connection, then.slug) is not None
        if then.version is None and not may_delete:
            if then.since:
                raise NotFound(
                    f"{now.slug} was deleted before it got this text",
                    hint=f"gbrain history {now.slug} lists the texts before, and gbrain get "
                    f"{now.slug} --version N prints one; gbrain delete {now.slug} deletes the page "
                    "again.",
                )
            raise NotFound(
                f"There is no earlier text of {now.slug}",
                hint=f"gbrain delete {now.slug} deletes the page.",
            )
        if taken:
            raise Conflict(
                f"Another page is named {then.slug} now",
                hint=f"gbrain get {then.slug} --version {then.version} shows the earlier text.",
                code="slug_collision",
            )
        data = text.encode()
        outcome: UndoOutcome = "updated"
        if then.version is None:
            outcome, written = "deleted", self.delete(now.slug, expected_version=now.version)
        elif now.version is None:
            outcome, written = "undeleted", self.put(path, data, expected_version=0)
        else:
            expected = now.version
            if then.slug != now.slug:
                outcome, written = "renamed", self.rename(now.slug, path)
                expected = written.version
            if then.sha256 != now.sha256:
                written = self.put(then.slug, data, expected_version=expected, exact=True)
            if not redo:
                with self.database.write_transaction() as connection:
                    undo.mark_undone(connection, page_id, now.version)
        if outcome == "deleted":
            return undo.UndoResult(outcome, now.slug, None, now, then, written.file)
        return undo.UndoResult(outcome, then.slug, written.version, now, then, written.file)


def _file_left_behind(page: folders.PageFile, state: str) -> folders.FileResult:
    """Return what to say about a file that gbrain may not move or remove."""
    from gbrain.store.folders import FileResult

    path = str(Path(page.folder.root, page.path))
    return FileResult(path, "behind", f"Its file {state} again.")


def _refuse_existing_file(page: folders.PageFile, path: str) -> None:
    """Raise Conflict if a file of another page is at the path that a page is renamed to."""
    from gbrain.errors import Conflict

    file, new = (Path(page.folder.root, each) for each in (page.path, path))
    if new.exists() and not (file.exists() and new.samefile(file)):
        raise Conflict(
            f"A file {new} already exists",
            hint="Choose another name; gbrain sync imports that file.",
            code="slug_collision",
        )


def title_from_slug(slug: str) -> str:
    """Return a title for a new page: the last part of its slug, in words."""
    words = slug.rpartition("/")[2].replace("-", " ")
    return words[:1].upper() + words[1:]


def _keep_style(old: str, data: bytes) -> bytes:
    """Return the new text of a page with the line ends and byte order mark of its file."""
    from gbrain.text.merge import keep_style

    try:
        return keep_style(old, data.decode()).encode()
    except UnicodeDecodeError:
        return data


def _new_path(name: str) -> str:
    """Return the file path of a new page; raise BadPage for a path that import ignores."""
    from gbrain.importing.scan import refuse_skipped_path

    path = path_from_name(name)
    refuse_skipped_path(path)
    return path
