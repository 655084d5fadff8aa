"""Write pages to files: the Markdown as it was imported, other formats, or JSON lines."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath

from gbrain.errors import GbrainError
from gbrain.importing.scan import is_always_skipped
from gbrain.paths import make_folder
from gbrain.store.atomic_files import atomic_write, refuse_target, remove_leftovers
from gbrain.store.connection import Database
from gbrain.store.folders import record_written_files
from gbrain.store.history import had_content
from gbrain.store.pages import count_pages, export_records, page_paths, page_texts
from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.text.slug import PAGE_ENDINGS, slug_from_path
from gbrain.types import Progress

# Yields the path and text of each file to write, in order.
ExportFiles = Callable[[sqlite3.Connection], Iterable[tuple[str, str]]]

JSONL_FILE = "brain.ndjson"
# The umask may let others read an exported folder, but never write to it.
_FOLDER_MODE = 0o755
# A crafted brain must not write other files, such as a git hook or a shell's start-up file.
_WRITTEN_ENDINGS = (".html", ".ndjson")
_ENDINGS = (*PAGE_ENDINGS, *_WRITTEN_ENDINGS)
_SIGNATURE = r'<meta name="generator" content="gbrain \w+">\n'
_SQLITE_HEADER = b"SQLite format 3\0"
_ONE_NOT_WRITTEN = "All other pages were written. Rename the page, or export to another folder."
_NOTHING_WRITTEN = "Nothing was written. Export to another folder."


def export_files(
    database: Database,
    folder: Path,
    progress: Progress,
    files: ExportFiles = page_texts,
    *,
    force: bool = False,
) -> tuple[int, int]:
    """Write each page to its path below `folder`; return how many were written and unchanged.

    Each file is an atomic write. A path that leaves the folder, by `..` or a symbolic link, is
    refused, and so is a file whose text the brain never had, or for other files than the pages'
    own, one that gbrain did not write, unless `force`. Pages that could not
    be written are named in an error after all others are written. `files` gives other files than
    the pages' own.
    """
    real_root = _make_root(folder)
    exported: list[tuple[str, bytes]] = []
    cleared: set[Path] = set()
    written = 0
    failed: list[GbrainError] = []
    with database.read_transaction() as connection:
        total = count_pages(connection)
        for number, (path, text) in enumerate(files(connection), 1):
            try:
                target = _target_path(real_root, path)
                data = (_sign_html(text) if path.endswith(".html") else text).encode()
                if target.parent not in cleared:
                    remove_leftovers(target.parent)
                    cleared.add(target.parent)
                refuse_target(target)
                existing = target.read_bytes() if target.is_file() else None
                if existing != data:
                    if existing is not None:
                        _refuse_brain(path, existing)
                        if not force:
                            _refuse_unknown_file(connection, path, existing)
                    with atomic_write(target, durable=False) as file:
                        file.write(data)
                    written += 1
                exported.append((path, sha256(data).digest()))
            except GbrainError as error:
                failed.append(error)
            except OSError as error:
                failed.append(_write_error(path, error))
            progress(min(number, total), total)
    if written and hasattr(os, "sync"):
        # Once at the end: after a power loss, sync would read an empty file as an edit.
        os.sync()
    if files is page_texts and not database.read_only:
        with database.write_transaction() as connection:
            record_written_files(connection, str(real_root), exported)
    if failed:
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise GbrainError(failed[0].message + others, hint=failed[0].hint, code=failed[0].code)
    return written, len(exported) - written


def pages_skipped_by_import(connection: sqlite3.Connection) -> list[str]:
    """Return the slugs of pages whose files an import would skip, sorted."""
    return [slug for slug, path in page_paths(connection) if is_always_skipped(path)]


def _refuse_unknown_file(connection: sqlite3.Connection, path: str, existing: bytes) -> None:
    """Raise GbrainError for a file whose text was never in the brain or in an export."""
    if path.endswith(_WRITTEN_ENDINGS):
        if existing.strip() and not _is_written_by_gbrain(path, existing):
            raise GbrainError(
                f"{path} exists, and gbrain did not write it",
                hint="Export to another folder; gbrain export --force overwrites the file.",
                code="file_changed",
            )
    elif not had_content(connection, slug_from_path(path), sha256(existing).digest()):
        raise GbrainError(
            f"{path} has changes that were not imported",
            hint="gbrain sync imports them; gbrain export --force overwrites the file.",
            code="file_changed",
        )


def _is_written_by_gbrain(path: str, existing: bytes) -> bool:
    """Tell whether a web page comes unchanged from an export, or JSON lines from any export."""
    if path.endswith(".html"):
        text = existing.decode(errors="replace")
        unsigned = re.sub(_SIGNATURE, "", text, count=1)
        return unsigned != text == _sign_html(unsigned)
    try:
        record = json.loads(existing.partition(b"\n")[0])
    except ValueError:
        return False
    return isinstance(record, dict) and {"path", "slug", "version", "text"} <= record.keys()


def _sign_html(text: str) -> str:
    """Add a digest to a web page, which tells later whether the file is as gbrain wrote it."""
    digest = sha256(text.encode()).hexdigest()[:32]
    return text.replace(
        "<head>\n", f'<head>\n<meta name="generator" content="gbrain {digest}">\n', 1
    )


def _refuse_brain(path: str, existing: bytes) -> None:
    """Raise GbrainError for a database, even with --force: another program may have it open."""
    if existing.startswith(_SQLITE_HEADER):
        raise GbrainError(
            f"{path} is a SQLite database, perhaps a brain",
            hint="Move it away, or export to another folder.",
            code="file_changed",
        )


def jsonl_lines(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield each page as a line of JSON, by path; `gbrain import --stdin` reads these lines."""
    for record in export_records(connection):
        yield json.dumps(record, ensure_ascii=False) + "\n"


def export_jsonl(
    database: Database, folder: Path, progress: Progress, *, force: bool = False
) -> int:
    """Write all pages as JSON lines to one file below `folder`; return their number.

    An existing file that gbrain did not write is refused, unless `force`.
    """
    target = _target_path(_make_root(folder), JSONL_FILE)
    remove_leftovers(target.parent)
    refuse_target(target)
    number = 0
    try:
        with database.read_transaction() as connection:
            if target.is_file():
                with target.open("rb") as earlier:
                    existing = earlier.readline(MAX_PAGE_BYTES * 2)
                _refuse_brain(JSONL_FILE, existing)
                if not force:
                    _refuse_unknown_file(connection, JSONL_FILE, existing)
            total = count_pages(connection)
            with atomic_write(target) as file:
                for number, line in enumerate(jsonl_lines(connection), 1):
                    file.write(line.encode())
                    progress(number, total)
    except OSError as error:
        raise _write_error(JSONL_FILE, error, _NOTHING_WRITTEN) from None
    return number


def _make_root(folder: Path) -> Path:
    """Create the folder if needed and return its real path."""
    root = folder.expanduser()
    try:
        make_folder(root, _FOLDER_MODE)
    except OSError as error:
        raise _write_error(str(root), error, _NOTHING_WRITTEN) from None
    return root.resolve()


def _write_error(path: str, error: OSError, hint: str = _ONE_NOT_WRITTEN) -> GbrainError:
    """Return the error for a file that could not be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return GbrainError(
        f"Cannot write {path}: {error.strerror}",
        hint="Free disk space and run the command again." if full else hint,
        code="cannot_write",
    )


def _target_path(root: Path, path: str) -> Path:
    """Return where to write `path` and create its folder; refuse paths outside `root`."""
    parts = PurePosixPath(path).parts
    safe = parts and not path.startswith("/") and ".." not in parts and "\0" not in path
    if not path.lower().endswith(_ENDINGS):
        raise GbrainError(
            f"{path!r} is not the path of a page",
            hint="Rename it with gbrain rename.",
            code="outside",
        )
    if safe:
        target = root.joinpath(*parts)
        # Checked before creating folders, so none is created behind a symbolic link.
        if target.parent.resolve().is_relative_to(root) and not target.is_symlink():
            make_folder(target.parent, _FOLDER_MODE)
            return target
    raise GbrainError(
        f"{path!r} would be written outside {root}",
        hint="Rename the page with gbrain rename, or export to an empty folder.",
        code="outside",
    )
