"""Pages back into files, byte for byte or as something else, and never outside the folder."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath

from gbrain.errors import GbrainError
from gbrain.importing.scan import is_always_skipped
from gbrain.paths import make_folder
from gbrain.store.atomic_files import atomic_write, remove_leftovers
from gbrain.store.connection import Database
from gbrain.store.folders import record_written_files
from gbrain.store.history import had_content
from gbrain.store.pages import page_texts
from gbrain.text.slug import PAGE_ENDINGS, slug_from_path
from gbrain.types import Progress

# Paths and texts of the files to write, in order.
ExportFiles = Callable[[sqlite3.Connection], Iterable[tuple[str, str]]]

JSONL_FILE = "brain.ndjson"
# Whoever may look in by the umask may not change what is there.
_FOLDER_MODE = 0o755
# Nothing that is made of pages has another ending: no hook of git's, no start-up file of a shell.
_ENDINGS = (*PAGE_ENDINGS, ".html", ".ndjson")
_ONE_NOT_WRITTEN = "All other pages were written. Rename the page or choose another folder."
_NOTHING_WRITTEN = "Nothing was written. Choose another folder."


def export_files(
    database: Database,
    folder: Path,
    progress: Progress,
    files: ExportFiles = page_texts,
    *,
    force: bool = False,
) -> tuple[int, int]:
    """Writes each page to its path below `folder`; says how many were written and how many stood.

    A file appears whole or not at all. A path that would leave the folder, by `..` or by a link,
    is refused, and so is a page's file whose text the brain never held, unless `force`. Pages that
    cannot be written are named in an error after all others are there. `files` makes other files
    of the pages than their own.
    """
    real_root = _made(folder)
    standing: list[tuple[str, bytes]] = []
    cleared: set[Path] = set()
    written = 0
    failed: list[GbrainError] = []
    with database.read_transaction() as connection:
        total = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
        for number, (path, text) in enumerate(files(connection), 1):
            try:
                target, data = _inside(real_root, path), text.encode()
                if target.parent not in cleared:
                    remove_leftovers(target.parent)
                    cleared.add(target.parent)
                there = target.read_bytes() if target.is_file() else None
                if there != data:
                    if there is not None and files is page_texts and not force:
                        _spare(connection, path, there)
                    with atomic_write(target, durable=False) as file:
                        file.write(data)
                    written += 1
                standing.append((path, sha256(data).digest()))
            except GbrainError as error:
                failed.append(error)
            except OSError as error:
                failed.append(_failure(path, error))
            progress(min(number, total), total)
    if written and hasattr(os, "sync"):
        # Once for all: sync would take a file that a loss of power left empty for an edit.
        os.sync()
    if files is page_texts and not database.read_only:
        with database.write_transaction() as connection:
            record_written_files(connection, str(real_root), standing)
    if failed:
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise GbrainError(failed[0].message + others, hint=failed[0].hint, code=failed[0].code)
    return written, len(standing) - written


def pages_skipped_by_import(connection: sqlite3.Connection) -> list[str]:
    """Slugs of pages whose files an import passes over, so that it does not take them back."""
    rows = connection.execute("SELECT slug, path FROM pages ORDER BY slug")
    return [slug for slug, path in rows if is_always_skipped(path)]


def _spare(connection: sqlite3.Connection, path: str, there: bytes) -> None:
    """Raises GbrainError for a file whose text is nowhere in the brain."""
    if not had_content(connection, slug_from_path(path), sha256(there).digest()):
        raise GbrainError(
            f"{path} was changed, and the brain has not taken that in",
            hint="gbrain sync takes it in; gbrain export --force writes over it.",
            code="file_changed",
        )


def jsonl_lines(connection: sqlite3.Connection) -> Iterator[str]:
    """Each page as a line of JSON, by path: all that `import --stdin` needs, and what it says."""
    keys = ("path", "slug", "title", "type", "wing", "room", "date", "version", "created_at",
            "updated_at", "tags", "aliases", "text")  # fmt: skip
    rows = connection.execute(
        f"SELECT {', '.join(keys[:-1])}, front_matter || compiled_truth || timeline "
        "FROM pages ORDER BY path"
    )
    for *facts, tags, aliases, text in rows:
        values = (*facts, tags.splitlines(), aliases.splitlines(), text)
        yield json.dumps(dict(zip(keys, values, strict=True)), ensure_ascii=False) + "\n"


def export_jsonl(database: Database, folder: Path, progress: Progress) -> int:
    """Writes all pages as lines of JSON into one file below `folder`; says how many there are."""
    target = _inside(_made(folder), JSONL_FILE)
    remove_leftovers(target.parent)
    number = 0
    try:
        with database.read_transaction() as connection, atomic_write(target) as file:
            total = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
            for number, line in enumerate(jsonl_lines(connection), 1):
                file.write(line.encode())
                progress(number, total)
    except OSError as error:
        raise _failure(JSONL_FILE, error, _NOTHING_WRITTEN) from None
    return number


def _made(folder: Path) -> Path:
    """The folder, made if need be, by its real name."""
    root = folder.expanduser()
    try:
        make_folder(root, _FOLDER_MODE)
    except OSError as error:
        raise _failure(str(root), error, _NOTHING_WRITTEN) from None
    return root.resolve()


def _failure(path: str, error: OSError, hint: str = _ONE_NOT_WRITTEN) -> GbrainError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return GbrainError(
        f"Cannot write {path}: {error.strerror}",
        hint="Make room and run the command again: what was written stays." if full else hint,
        code="cannot_write",
    )


def _inside(root: Path, path: str) -> Path:
    """Where `path` is to be written, in a folder that is there; links are never followed out."""
    parts = PurePosixPath(path).parts
    safe = parts and not path.startswith("/") and ".." not in parts and "\0" not in path
    if not path.lower().endswith(_ENDINGS):
        raise GbrainError(
            f"{path!r} is no file of a page", hint="gbrain rename names it anew.", code="outside"
        )
    if safe:
        target = root.joinpath(*parts)
        # Looked at before anything is made: a folder, too, must not appear behind a link.
        if target.parent.resolve().is_relative_to(root) and not target.is_symlink():
            make_folder(target.parent, _FOLDER_MODE)
            return target
    raise GbrainError(
        f"{path!r} would be written outside of {root}",
        hint="Rename the page, or export into an empty folder.",
        code="outside",
    )
