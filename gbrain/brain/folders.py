"""`Brain` methods for files: import folders of notes, export pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gbrain.brain.base import BrainFile
from gbrain.brain.clock import timestamp
from gbrain.types import Progress, no_progress

if TYPE_CHECKING:
    from gbrain.importing.export import ExportFiles
    from gbrain.importing.importer import ImportReport


class FolderMethods(BrainFile):
    """Import pages from files, export them to files."""

    def import_folder(
        self,
        folder: Path,
        *,
        remove_missing: bool = False,
        overwrite: bool = False,
        dry_run: bool = False,
        changed: Collection[str] | None = None,
        progress: Progress = no_progress,
    ) -> ImportReport:
        """Import a folder of Markdown notes and report what changed.

        `remove_missing` deletes pages whose file is gone. `overwrite` takes the file's text where
        both the page and the file changed. `changed` names the only files, relative to the folder,
        that have to be read.
        """
        from gbrain.importing.importer import import_folder

        return import_folder(
            self.database,
            folder.expanduser().absolute(),
            timestamp(),
            remove_missing=remove_missing,
            overwrite=overwrite,
            dry_run=dry_run,
            changed=changed,
            progress=progress,
        )

    def import_jsonl(self, source: BinaryIO, *, dry_run: bool = False) -> ImportReport:
        """Import pages from lines of JSON, one object per page, and report what changed."""
        from gbrain.importing.importer import import_jsonl

        return import_jsonl(self.database, source, timestamp(), dry_run=dry_run)

    def folder_roots(self) -> list[str]:
        """Return the paths of the imported folders."""
        from gbrain.store import folders

        with self.database.read_transaction() as connection:
            return [vault.root for vault in folders.list_folders(connection)]

    def page_files(self, slugs: Iterable[str]) -> dict[str, Path]:
        """Return the file each page was imported from, by slug; the file may be gone by now."""
        from gbrain.store.folders import page_file_paths

        with self.database.read_transaction() as connection:
            return page_file_paths(connection, slugs)

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

        return export_files(self.database, folder, progress, files or page_texts, force=force)

    def export_jsonl(
        self, folder: Path, *, force: bool = False, progress: Progress = no_progress
    ) -> int:
        """Write all pages as lines of JSON to one file in `folder`; return how many.

        `force` overwrites a file of that name that gbrain did not write.
        """
        from gbrain.importing.export import export_jsonl

        return export_jsonl(self.database, folder, progress, force=force)

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
