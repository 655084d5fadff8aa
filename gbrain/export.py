"""Pages back into files, byte for byte, and never outside the folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from gbrain.errors import GbrainError
from gbrain.store.connection import Database
from gbrain.store.pages import every_page


def write_files(
    database: Database, folder: Path, progress: Callable[[int, int], None]
) -> tuple[int, int]:
    """Writes each page to its path below `folder`; says how many were written and how many stood.

    A file appears whole or not at all. A path that would leave the folder, by `..` or by a link,
    is refused.
    """
    root = folder.expanduser()
    written = same = 0
    try:
        root.mkdir(parents=True, exist_ok=True)
        real_root = root.resolve()
        with database.reading() as connection:
            total = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
            for number, (path, text) in enumerate(every_page(connection), 1):
                target = _inside(real_root, path)
                data = text.encode()
                if target.is_file() and target.read_bytes() == data:
                    same += 1
                else:
                    _write(target, data)
                    written += 1
                progress(number, total)
    except OSError as error:
        raise GbrainError(
            f"Cannot write {error.filename or root}: {error.strerror}",
            hint="Pages written so far are whole; run the command again.",
            code="cannot_write",
        ) from None
    return written, same


def _inside(root: Path, path: str) -> Path:
    """Where `path` is to be written, in a folder that is there; links are never followed out."""
    parts = PurePosixPath(path).parts
    safe = parts and not path.startswith("/") and ".." not in parts and "\0" not in path
    if safe:
        target = root.joinpath(*parts)
        # Looked at before anything is made: a folder, too, must not appear behind a link.
        if target.parent.resolve().is_relative_to(root) and not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            return target
    raise GbrainError(
        f"{path!r} would be written outside of {root}",
        hint="Rename the page, or export into an empty folder.",
        code="outside",
    )


def _write(target: Path, data: bytes) -> None:
    building = target.with_name(f".gbrain-{os.getpid()}.new")
    try:
        building.write_bytes(data)
        building.replace(target)
    finally:
        building.unlink(missing_ok=True)
