"""`Brain` methods for files: import notes, settle conflicts, export pages."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.brain.base import timestamp
from gbrain.brain.pages import PageMethods
from gbrain.errors import NotFound
from gbrain.types import Progress, no_progress

if TYPE_CHECKING:
    from gbrain.importing.export import ExportFiles, PlannedFile
    from gbrain.importing.import_report import ImportReport
    from gbrain.importing.jsonl import LineSource
    from gbrain.store.conflicts import ConflictTexts, PageConflict
    from gbrain.store.page_writer import WriteResult


class ImportExportMethods(PageMethods):
    """Import pages from files, export them to files."""

    def import_folder(
        self,
        folder: Path,
        *,
        remove_missing: bool = False,
        remove_many: bool = False,
        overwrite: bool = False,
        dry_run: bool = False,
        changed: Collection[str] | None = None,
        update_links: bool = False,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Import a folder of Markdown notes and report what changed.

        A page that changed in its file and in the brain is merged. `remove_missing` deletes pages
        whose file is gone, most of a folder's only with `remove_many`. `overwrite` takes the file's
        text where both changed. `changed` names the only files, relative to the folder, that have
        to be read. After `allow_writing`, what changed in the brain is written to the files.
        `update_links` changes links to the old names of pages that were renamed, now or before.
        """
        from gbrain.importing.importer import import_folder

        if not dry_run:
            self._add_waiting_pages(os.path.realpath(folder.expanduser()))
        report = import_folder(
            self.database,
            folder.expanduser().absolute(),
            timestamp(),
            remove_missing=remove_missing,
            remove_many=remove_many,
            overwrite=overwrite,
            dry_run=dry_run,
            changed=changed,
            write_files=self.may_write(os.path.realpath(folder.expanduser())),
            use_trash=self.settings.use_trash,
            progress=progress,
        )
        if update_links and not dry_run:
            report.links_updated = self.update_links()
        elif report.count("rename") and not dry_run:
            report.old_links = self.count_old_links().total()
        return report

    def count_old_links(self) -> Counter[str]:
        """Return how many links of each page point to the old name of a renamed page, by slug."""
        from gbrain.store import pages, renamed_links
        from gbrain.text.link_updates import update_links

        counts: Counter[str] = Counter()
        with self.database.read_transaction() as connection:
            renamed = renamed_links.old_names(connection)
            for slug in renamed_links.pages_with_links(connection, renamed):
                page = pages.require_page(connection, slug)
                text = pages.page_text(connection, page.id)
                counts[slug] = update_links(text, page.path, renamed)[1]
        return counts

    def update_links(self) -> int:
        """Let links to the old names of renamed pages point to the new ones; return how many.

        `confirm_rename` is asked about each rename that was guessed.
        """
        from gbrain.store import page_writer, pages, renamed_links
        from gbrain.text.link_updates import update_links
        from gbrain.text.page import parse_page

        with self.database.read_transaction() as connection:
            known = renamed_links.old_names(connection)
            linked = {name: renamed_links.pages_with_links(connection, [name]) for name in known}
        renamed = {
            name: page
            for name, page in known.items()
            if linked[name] and (not page.guessed or self.confirm_rename(name, page.path))
        }
        slugs = sorted({slug for name in renamed for slug in linked[name]})
        # A page that a limited token wrote could ask for the new names of pages hidden from it.
        with self.database.read_transaction() as connection:
            slugs = [slug for slug in slugs if not pages.is_token_page(connection, slug)]
        total = 0

        def change(connection: sqlite3.Connection, slug: str) -> WriteResult:
            nonlocal total
            page = pages.require_page(connection, slug)
            text, count = update_links(pages.page_text(connection, page.id), page.path, renamed)
            total += count
            return page_writer.write_page(
                connection, parse_page(page.path, text.encode()), timestamp()
            )

        for slug in slugs:
            self.change_page(partial(change, slug=slug))
        return total

    def import_note(
        self, file: Path, *, overwrite: bool = False, dry_run: bool = False
    ) -> ImportReport:
        """Import one Markdown file: as the file of its folder, or else as a page of its name."""
        from gbrain.importing.importer import import_note

        with self.database.read_transaction() as connection:
            folder_id = self.new_page_folder(connection)
        report = import_note(
            self.database,
            file.expanduser(),
            timestamp(),
            overwrite=overwrite,
            dry_run=dry_run,
            folder_id=folder_id,
        )
        if not dry_run:
            self._write_files([change.slug for change in report.changes], report)
        return report

    def _add_waiting_pages(self, root: str) -> None:
        """Give the pages that wait for a folder to this one, if new pages belong to it."""
        from gbrain.store import folders

        with self.database.read_transaction() as connection:
            known = folders.find_folder(connection, root)
            chosen = known and known.id == self.new_page_folder(connection)
        if known and chosen:
            with self.database.write_transaction() as connection:
                folders.add_waiting_pages(connection, known.id)

    def import_jsonl(self, source: LineSource, *, dry_run: bool = False) -> ImportReport:
        """Import pages from lines of JSON, one object per page, and report what changed."""
        from gbrain.importing.importer import import_jsonl

        with self.database.read_transaction() as connection:
            folder_id = self.new_page_folder(connection)
        report = import_jsonl(
            self.database, source, timestamp(), dry_run=dry_run, folder_id=folder_id
        )
        if not dry_run:
            self._write_files([change.slug for change in report.changes], report)
        return report

    def _write_files(self, slugs: Iterable[str], report: ImportReport) -> None:
        """Write pages to their files, and add what was written to the report."""
        created = [change.slug for change in report.changes if change.action == "create"]
        self.write_files(slugs, created, report)

    def write_files(
        self, slugs: Iterable[str], created: Iterable[str], report: ImportReport
    ) -> None:
        """Write pages to their files, and add what was written to the report.

        Those of them that were `created` and have no folder wait for one.
        """
        from gbrain.importing.scan import ImportProblem
        from gbrain.importing.write_through import write_page_file
        from gbrain.store.folders import find_page_file, wait_for_folder

        with self.database.write_transaction() as connection:
            without = [slug for slug in created if not find_page_file(connection, slug)]
            report.without_file = self.why_without_file(connection) if without else None
            for slug in without if report.without_file else ():
                wait_for_folder(connection, slug)
        for slug in slugs:
            with self.database.read_transaction() as connection:
                page = find_page_file(connection, slug)
            if page is None or page.sha256 == page.source_sha256:
                continue
            if not self.may_write(page.folder.root):
                continue
            result = write_page_file(self.database, slug, timestamp())
            if result and result.needs_user:
                report.problems.append(
                    ImportProblem(page.path, result.message or "", None, "cannot_write")
                )
            elif result:
                report.written.append(slug)

    def conflicts(self) -> list[PageConflict]:
        """Return the pages that could not be merged with their file or a remote, by slug."""
        from gbrain.store.conflicts import list_conflicts

        with self.database.read_transaction() as connection:
            return list_conflicts(connection)

    def conflict_texts(self, slug: str) -> ConflictTexts:
        """Return the texts of a page's oldest conflict; raise NotFound if it has none."""
        from gbrain.store import conflicts

        self.import_file(slug)
        with self.database.read_transaction() as connection:
            conflict = conflicts.find_conflict(connection, slug)
            if conflict is None:
                raise NotFound(
                    f"{slug} has no conflict",
                    hint="gbrain conflicts lists the pages that have one.",
                    code="no_conflict",
                )
            return conflicts.conflict_texts(connection, conflict)

    def resolve_conflict(self, slug: str, data: bytes | None, texts: ConflictTexts) -> WriteResult:
        """Write the text that resolves a conflict; None deletes the page.

        Raises Conflict if the page changed since.
        """
        from gbrain.store import conflicts, page_writer, pages, remote_conflicts
        from gbrain.text.page import parse_page

        if data is None:
            deleted = self.delete(slug, expected_version=texts.current)
            assert texts.remote is not None
            with self.database.write_transaction() as connection:
                remote_conflicts.remove_remote_conflict(connection, slug, texts.remote)
            return deleted
        content = data

        def write(connection: sqlite3.Connection) -> WriteResult:
            known = pages.require_page(connection, slug)
            written = page_writer.write_page(
                connection,
                parse_page(known.path, content),
                timestamp(),
                expected_version=texts.current,
            )
            if texts.remote:
                remote_conflicts.remove_remote_conflict(connection, slug, texts.remote)
            else:
                conflicts.remove_conflict(connection, known.id, texts.version)
            return written

        return self.change_page(write)

    def export(
        self,
        folder: Path,
        *,
        files: ExportFiles | None = None,
        force: bool = False,
        progress: Progress = no_progress,
    ) -> tuple[int, int]:
        """Write each page to a file in `folder`; return how many were written and unchanged.

        `force` overwrites files that gbrain did not write or that were changed since. `files`
        makes other files of the pages, for example HTML.
        """
        from gbrain.importing.export import export_files
        from gbrain.store.pages import page_texts

        return export_files(
            self.database, folder, progress, files or page_texts, now=timestamp(), force=force
        )

    def export_jsonl(
        self, folder: Path, *, force: bool = False, progress: Progress = no_progress
    ) -> int:
        """Write all pages as lines of JSON to one file in `folder`; return how many.

        `force` overwrites a file of that name that gbrain did not write.
        """
        from gbrain.importing.export import export_jsonl

        return export_jsonl(self.database, folder, progress, force=force)

    def plan_export(
        self, folder: Path, *, files: ExportFiles | None = None, force: bool = False
    ) -> list[PlannedFile]:
        """Return what `export` would do with each file, by path."""
        from gbrain.importing.export import plan_export
        from gbrain.store.pages import page_texts

        return plan_export(self.database, folder, files or page_texts, force=force)

    def plan_jsonl_export(self, folder: Path, *, force: bool = False) -> list[PlannedFile]:
        """Return what `export_jsonl` would do with its file."""
        from gbrain.importing.export import plan_jsonl_export

        return plan_jsonl_export(self.database, folder, force=force)

    def page_lines(self) -> Iterator[str]:
        """Yield each page as a line of JSON, by path."""
        from gbrain.importing.export import jsonl_lines

        with self.database.read_transaction() as connection:
            yield from jsonl_lines(connection)

    def pages_import_ignores(self) -> list[str]:
        """Return the slugs of pages whose exported file an import would ignore, sorted."""
        from gbrain.importing.export import pages_skipped_by_import

        with self.database.read_transaction() as connection:
            return pages_skipped_by_import(connection)
