"""`Brain` methods for single pages: read, write, list, delete, rename."""

from __future__ import annotations

import builtins
import json
from typing import TYPE_CHECKING

from gbrain.brain.base import BrainFile
from gbrain.brain.clock import timestamp, today
from gbrain.text.slug import path_from_name, slug_from_path
from gbrain.types import Scope

if TYPE_CHECKING:
    from gbrain.store import history, page_writer, pages


class PageMethods(BrainFile):
    """Read and write single pages."""

    def put(
        self, name: str, data: bytes, *, expected_version: int | None = None
    ) -> page_writer.WriteResult:
        """Write the page called `name` (a slug or a path) with the content `data`."""
        from gbrain.store import page_writer, pages
        from gbrain.text.page import parse_page

        slug = slug_from_path(name)
        with self.database.read_transaction() as connection:
            known = pages.find_page(connection, slug)
        path = known.path if known else _new_path(name)
        page = parse_page(path, data)
        with self.database.write_transaction() as connection:
            return page_writer.write_page(
                connection, page, timestamp(), expected_version=expected_version
            )

    def capture(
        self, text: str, *, name: str | None = None, source: str | None = None
    ) -> page_writer.WriteResult:
        """Add a line with today's date to a page's timeline (default: the inbox page).

        The inbox, which the setting capture_page names, is created if it does not exist.
        """
        from gbrain.importing.scan import refuse_skipped_path
        from gbrain.store import page_writer, pages
        from gbrain.store.timeline import add_timeline_entry
        from gbrain.text.page import parse_page
        from gbrain.text.timeline import add_entry

        day, now = today().isoformat(), timestamp()
        inbox = slug_from_path(self.settings.capture_page)
        slug = slug_from_path(name) if name else inbox
        with self.database.write_transaction() as connection:
            if slug != inbox or pages.find_page(connection, slug) is not None:
                return add_timeline_entry(connection, slug, day, text, source, now)
            refuse_skipped_path(f"{slug}.md")
            page = add_entry(f"# {title_from_slug(slug)}\n\n", day, text, source)
            return page_writer.write_page(connection, parse_page(f"{slug}.md", page.encode()), now)

    def get(self, name: str) -> pages.StoredPage:
        """Return the page called `name`, without its text; NotFound suggests similar slugs."""
        from gbrain.store import pages

        with self.database.read_transaction() as connection:
            return pages.require_page(connection, slug_from_path(name))

    def find(self, name: str) -> pages.StoredPage | None:
        """Return the page called `name`, without its text, or None."""
        from gbrain.store import pages

        with self.database.read_transaction() as connection:
            return pages.find_page(connection, slug_from_path(name))

    def similar_slugs(self, name: str) -> builtins.list[str]:
        """Return up to three slugs that are spelt like `name`, the most similar first."""
        from gbrain.store import pages

        with self.database.read_transaction() as connection:
            return pages.nearest_slugs(connection, slug_from_path(name))

    def text(self, name: str, version: int | None = None) -> str:
        """Return a page's text with its front matter, as it is or as a version had it."""
        from gbrain.store import history, pages

        with self.database.read_transaction() as connection:
            if version is not None:
                return history.version_text(connection, slug_from_path(name), version)
            return pages.page_text(
                connection, pages.require_page(connection, slug_from_path(name)).id
            )

    def body(self, name: str) -> str:
        """Return a page's text without its front matter."""
        from gbrain.store import pages

        with self.database.read_transaction() as connection:
            return pages.page_body(
                connection, pages.require_page(connection, slug_from_path(name)).id
            )

    def page(
        self, name: str, version: int | None = None
    ) -> tuple[pages.StoredPage, dict[str, object], str]:
        """Return a page, its front matter as values and its text, as it is or at a version."""
        from gbrain.store import history, pages

        with self.database.read_transaction() as connection:
            if version is not None:
                stored, meta, text = history.page_at_version(
                    connection, slug_from_path(name), version
                )
                return stored, json.loads(meta), text
            stored = pages.require_page(connection, slug_from_path(name))
            text = pages.page_text(connection, stored.id)
            return stored, pages.front_matter_values(connection, stored.id), text

    def list(
        self, scope: Scope = Scope(), limit: int | None = None
    ) -> tuple[builtins.list[pages.StoredPage], int]:
        """Return the first `limit` pages of the scope by slug, and how many there are."""
        from gbrain.store import pages

        with self.database.read_transaction() as connection:
            return pages.list_pages(connection, scope, limit)

    def history(self, name: str) -> builtins.list[history.Version]:
        """Return a page's versions, oldest first; also those of a deleted page."""
        from gbrain.store import history

        with self.database.read_transaction() as connection:
            return history.list_versions(connection, slug_from_path(name))

    def delete(self, name: str, *, expected_version: int | None = None) -> pages.StoredPage:
        """Delete a page and return it; its text stays in its history."""
        from gbrain.store import page_writer

        with self.database.write_transaction() as connection:
            return page_writer.delete_page(
                connection, slug_from_path(name), timestamp(), expected_version=expected_version
            )

    def rename(self, name: str, new_name: str) -> page_writer.WriteResult:
        """Change a page's slug and path; its history and vectors follow."""
        from gbrain.errors import Conflict
        from gbrain.store import page_writer, pages
        from gbrain.text.page import parse_page

        old, new = slug_from_path(name), slug_from_path(new_name)
        with self.database.write_transaction() as connection:
            known = pages.require_page(connection, old)
            if new != old and pages.find_page(connection, new):
                raise Conflict(
                    f"A page named {new} already exists",
                    hint=f"Choose another name, or delete that page: gbrain delete {new}.",
                    code="slug_collision",
                )
            text = pages.page_text(connection, known.id)
            page = parse_page(_new_path(new_name), text.encode())
            return page_writer.write_page(connection, page, timestamp(), renames=old)


def title_from_slug(slug: str) -> str:
    """Return a title for a new page: the last part of its slug, in words."""
    words = slug.rpartition("/")[2].replace("-", " ")
    return words[:1].upper() + words[1:]


def _new_path(name: str) -> str:
    """Return the file path of a new page; raise BadPage for a path that import ignores."""
    from gbrain.importing.scan import refuse_skipped_path

    path = path_from_name(name)
    refuse_skipped_path(path)
    return path
