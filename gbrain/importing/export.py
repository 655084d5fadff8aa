"""Write pages to files: the Markdown as it was imported, other formats, or JSON lines."""

from __future__ import annotations

import errno
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from gbrain.errors import GbrainError
from gbrain.importing.images import IMAGE_TYPES
from gbrain.importing.page_files import FOLDER_MODE, target_path
from gbrain.importing.scan import is_always_skipped
from gbrain.messages import counted
from gbrain.paths import make_folder
from gbrain.store.atomic_files import (
    AtomicWrites,
    atomic_write,
    make_durable_folder,
    refuse_target,
    remove_leftovers,
)
from gbrain.store.connection import Database
from gbrain.store.edited_files import FileChanged, recover_files
from gbrain.store.folders import find_folder, record_written_files
from gbrain.store.history import all_digests, had_content, save_file_text
from gbrain.store.pages import (
    EXPORT_KEYS,
    count_pages,
    export_records,
    exported_names,
    page_paths,
    page_texts,
)
from gbrain.text.page import MAX_PAGE_BYTES, parse_page
from gbrain.text.slug import PAGE_ENDINGS, slug_from_path
from gbrain.types import Progress

# Yields the path and content of each file to write, in order.
ExportFiles = Callable[[sqlite3.Connection], Iterable[tuple[str, str | bytes]]]

JSONL_FILE = "brain.ndjson"
_WRITTEN_ENDINGS = (".html", ".css", ".ndjson", *IMAGE_TYPES)
_ENDINGS = (*PAGE_ENDINGS, *_WRITTEN_ENDINGS)
_SIGNATURE = r'<meta name="generator" content="gbrain \w+">\n|\A/\* gbrain \w+ \*/\n'
# Below the number of files that a process may have open: 256 on some systems.
_BATCH_FILES = 100
_SQLITE_HEADER = b"SQLite format 3\0"
_ONE_NOT_WRITTEN = "All other pages were written. Rename the page, or export to another folder."
_NOTHING_WRITTEN = "Nothing was written. Export to another folder."


def export_files(
    database: Database,
    folder: Path,
    progress: Progress,
    files: ExportFiles = page_texts,
    *,
    now: str,
    force: bool = False,
) -> tuple[int, int]:
    """Write each page to its path below `folder`; return how many were written and unchanged.

    Each file is an atomic write. A path that leaves the folder, by `..` or a symbolic link, is
    refused, and so is a file whose text the brain never had, or for other files than the pages'
    own, one that gbrain did not write. `force` overwrites them, and keeps the text of a page's file
    as a version of the page. Pages that could not be written are named in an error after all others
    are written. `files` gives other files than the pages' own.
    """
    real_root = _make_root(folder)
    exported: dict[Path, tuple[str, bytes]] = {}
    cleared: set[Path] = set()
    written = 0
    failed: list[GbrainError] = []
    unpublished: dict[Path, OSError] = {}
    with database.read_transaction() as connection, AtomicWrites() as batch:
        total = count_pages(connection)
        for number, (path, content) in enumerate(files(connection), 1):
            try:
                target = _target_path(real_root, path)
                data = _file_data(path, content)
                if target.parent not in cleared:
                    remove_leftovers(target.parent)
                    recover_files(target.parent)
                    cleared.add(target.parent)
                refuse_target(target)
                existing = target.read_bytes() if target.is_file() else None
                if existing != data:
                    if existing is not None:
                        _refuse_brain(path, existing)
                        if not force:
                            _refuse_unknown_file(connection, folder, path, existing)
                        elif files is page_texts:
                            _refuse_without_text(path, existing)
                            _keep_file_text(database, path, existing, now)
                    batch.write(target, data, existing)
                    written += 1
                exported[target] = (path, sha256(data).digest())
            except GbrainError as error:
                failed.append(error)
            except OSError as error:
                failed.append(_write_error(path, error))
            if len(batch) >= _BATCH_FILES:
                unpublished |= batch.publish()
            progress(min(number, total), total)
        unpublished |= batch.publish()
    for file, reason in unpublished.items():
        path, _ = exported.pop(file)
        failed.append(_write_error(path, reason))
        if files is page_texts and isinstance(reason, FileChanged) and reason.content is not None:
            with suppress(GbrainError):
                _refuse_without_text(path, reason.content)
                _keep_file_text(database, path, reason.content, now)
    written -= len(unpublished)
    if files is page_texts and not database.read_only:
        with database.write_transaction() as connection:
            record_written_files(connection, str(real_root), list(exported.values()))
    if failed:
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        left = " and was left alone" if failed[0].code == "file_changed" else ""
        message = f"{failed[0].message}{left}{others}; {counted(written, 'page')} written"
        raise GbrainError(message, hint=failed[0].hint, code=failed[0].code)
    return written, len(exported) - written


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """What an export would do with a file; `reason` says why it would refuse to replace it."""

    action: Literal["write", "replace", "refuse", "unchanged"]
    path: str
    reason: str | None = None


def plan_export(
    database: Database, folder: Path, files: ExportFiles = page_texts, *, force: bool = False
) -> list[PlannedFile]:
    """Return what `export_files` would do with each file, by path; nothing is written."""
    root = folder.expanduser().resolve()
    planned = []
    with database.read_transaction() as connection:
        for path, content in files(connection):
            try:
                target = target_path(root, path, _ENDINGS)
                refuse_target(target)
                data = _file_data(path, content)
                existing = target.read_bytes() if target.is_file() else None
                if existing == data:
                    planned.append(PlannedFile("unchanged", path))
                    continue
                if existing is not None:
                    _refuse_brain(path, existing)
                    if not force:
                        _refuse_unknown_file(connection, folder, path, existing)
                    elif files is page_texts:
                        _refuse_without_text(path, existing)
            except GbrainError as error:
                planned.append(PlannedFile("refuse", path, error.message))
            except OSError as error:
                planned.append(PlannedFile("refuse", path, error.strerror))
            else:
                planned.append(PlannedFile("write" if existing is None else "replace", path))
    return planned


def plan_jsonl_export(
    database: Database, folder: Path, *, force: bool = False
) -> list[PlannedFile]:
    """Return what `export_jsonl` would do with its file."""
    target = target_path(folder.expanduser().resolve(), JSONL_FILE, _ENDINGS)
    try:
        with database.read_transaction() as connection:
            _refuse_unknown_jsonl(connection, target, force)
    except GbrainError as error:
        return [PlannedFile("refuse", JSONL_FILE, error.message)]
    return [PlannedFile("replace" if target.exists() else "write", JSONL_FILE)]


def pages_skipped_by_import(connection: sqlite3.Connection) -> list[str]:
    """Return the slugs of pages whose files an import would skip, sorted."""
    return [slug for slug, path in page_paths(connection) if is_always_skipped(path)]


def _refuse_unknown_file(
    connection: sqlite3.Connection, folder: Path, path: str, existing: bytes
) -> None:
    """Raise GbrainError for a file whose text was never in the brain or in an export."""
    if path.endswith((".html", ".css")):
        if existing.strip() and not _is_signed(path, existing):
            raise _changed_error(path)
    elif path.endswith(tuple(IMAGE_TYPES)):
        # Its name is a hash of its content, so a file with other content is not an older export.
        raise _changed_error(path)
    elif had_content(connection, slug_from_path(path), sha256(existing).digest()):
        return
    elif find_folder(connection, str(folder.expanduser().resolve())):
        raise GbrainError(
            f"{path} has changes that were not imported",
            hint="gbrain sync imports them; gbrain export --force overwrites the file.",
            code="file_changed",
        )
    else:
        raise GbrainError(
            f"{folder}/{path} was not written by gbrain",
            hint="Move it away, or overwrite it with --force, which keeps its text in the page's "
            "history.",
            code="file_changed",
        )


def _keep_file_text(database: Database, path: str, existing: bytes, now: str) -> None:
    """Store the text of a file that is or may be overwritten as a version of its page."""
    if existing.strip():
        with database.write_transaction() as connection:
            save_file_text(connection, slug_from_path(path), existing, now)


def _refuse_without_text(path: str, existing: bytes) -> None:
    """Raise GbrainError for a file that cannot become a version of its page."""
    try:
        existing.decode()
    except UnicodeDecodeError:
        reason = "is not UTF-8"
    else:
        if len(existing) <= MAX_PAGE_BYTES:
            return
        reason = "is too large"
    raise GbrainError(
        f"{path} {reason}, so the history of its page cannot keep it",
        hint="Move the file away, or export to another folder.",
        code="file_changed",
    )


def _changed_error(path: str) -> GbrainError:
    return GbrainError(
        f"{path} was not written by gbrain, or was edited since",
        hint="Export to another folder; gbrain export --force overwrites the file.",
        code="file_changed",
    )


def _file_data(path: str, content: str | bytes) -> bytes:
    """Return what to write to a file; web pages and style sheets are signed."""
    if isinstance(content, bytes):
        return content
    return (_sign(path, content) if path.endswith((".html", ".css")) else content).encode()


def _is_signed(path: str, existing: bytes) -> bool:
    """Tell whether a web page or style sheet comes unchanged from an export."""
    text = existing.decode(errors="replace")
    unsigned = re.sub(_SIGNATURE, "", text, count=1)
    return unsigned != text == _sign(path, unsigned)


def _is_exported(connection: sqlite3.Connection, lines: Iterable[bytes]) -> bool:
    """Tell whether JSON lines come unchanged from an export of pages as they are or were.

    The wing, room and times of a line are not compared: another version of gbrain may have found
    others.
    """
    names = exported_names(connection)
    known = all_digests(connection)
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            text = record["text"].encode()
            place = record["path"], record["version"]
            given = tuple(record[key] for key in ("slug", "title", "tags", "aliases"))
            if sha256(text).digest() not in known or record.keys() != set(EXPORT_KEYS):
                return False
            if line.rstrip(b"\r\n") != json.dumps(record, ensure_ascii=False).encode():
                return False
            if names.get(place) != given:
                page = parse_page(place[0], text)
                if given != (page.slug, page.title, list(page.tags), list(page.aliases)):
                    return False
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, GbrainError):
            return False
    return True


def _sign(path: str, text: str) -> str:
    """Add a digest to a file, which tells later whether the file is as gbrain wrote it."""
    digest = sha256(text.encode()).hexdigest()[:32]
    if path.endswith(".css"):
        return f"/* gbrain {digest} */\n{text}"
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
    number = 0
    try:
        with database.read_transaction() as connection:
            _refuse_unknown_jsonl(connection, target, force)
            total = count_pages(connection)
            with atomic_write(target) as file:
                for number, line in enumerate(jsonl_lines(connection), 1):
                    file.write(line.encode())
                    progress(number, total)
    except OSError as error:
        raise _write_error(JSONL_FILE, error, _NOTHING_WRITTEN) from None
    return number


def _refuse_unknown_jsonl(connection: sqlite3.Connection, target: Path, force: bool) -> None:
    """Raise GbrainError for a file that gbrain did not write, unless `force`."""
    refuse_target(target)
    if not target.is_file():
        return
    with target.open("rb") as earlier:
        _refuse_brain(JSONL_FILE, earlier.read(len(_SQLITE_HEADER)))
        earlier.seek(0)
        if not force and not _is_exported(connection, earlier):
            raise _changed_error(JSONL_FILE)


def _make_root(folder: Path) -> Path:
    """Create the folder if needed and return its real path."""
    root = folder.expanduser()
    try:
        make_durable_folder(root, FOLDER_MODE)
    except OSError as error:
        raise _write_error(str(root), error, _NOTHING_WRITTEN) from None
    return root.resolve()


def _write_error(path: str, error: OSError, hint: str = _ONE_NOT_WRITTEN) -> GbrainError:
    """Return the error for a file that could not be written."""
    if isinstance(error, FileChanged):
        return GbrainError(
            f"{path} was changed meanwhile",
            hint="gbrain sync imports the change; or run the command again.",
            code="file_changed",
        )
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return GbrainError(
        f"Cannot write {path}: {error.strerror}",
        hint="Free disk space and run the command again." if full else hint,
        code="cannot_write",
    )


def _target_path(root: Path, path: str) -> Path:
    """Return where to write `path` and create its folder; refuse paths outside `root`."""
    target = target_path(root, path, _ENDINGS)
    make_folder(target.parent, FOLDER_MODE)
    return target
