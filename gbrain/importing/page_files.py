"""Create, replace, move and remove single page files in a folder without losing text."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from errno import EACCES, EINVAL
from pathlib import Path, PurePosixPath

from gbrain.errors import GbrainError
from gbrain.store.atomic_files import (
    TemporaryFile,
    copy_attributes,
    flush_folder,
    make_durable_folder,
    refuse_target,
    remove_leftovers,
    temporary_file,
)
from gbrain.store.atomic_rename import rename_exclusive
from gbrain.store.edited_files import (
    FileChanged,
    is_unchanged,
    recover_files,
    remove_if_link,
    remove_second_name,
    remove_unchanged,
)
from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.text.slug import PAGE_ENDINGS

# The umask may let others read a folder, but never write to it.
FOLDER_MODE = 0o755
_FILE_MODE = 0o644
# Windows translates line ends otherwise.
_BINARY = getattr(os, "O_BINARY", 0)


def target_path(root: Path, path: str, endings: tuple[str, ...] = PAGE_ENDINGS) -> Path:
    """Return where `path` is below the real path `root`; raise GbrainError for one outside of it.

    A crafted brain must not write other files than pages, such as a git hook, nor through a
    symbolic link.
    """
    parts = PurePosixPath(path).parts
    if not path.lower().endswith(endings):
        raise GbrainError(
            f"{path!r} is not the path of a page",
            hint="Rename it with gbrain rename.",
            code="outside",
        )
    if parts and not path.startswith("/") and ".." not in parts and "\0" not in path:
        target = root.joinpath(*parts)
        if target.parent.resolve().is_relative_to(root) and not target.is_symlink():
            return target
    raise GbrainError(
        f"{path!r} would be written outside {root}",
        hint="Rename the page with gbrain rename, or export to an empty folder.",
        code="outside",
    )


def page_file(root: str, path: str) -> Path:
    """Return the file of a page in a registered folder, which must exist.

    A symbolic link to another page file of the folder leads to that file.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise GbrainError(
            f"the folder {root} does not exist",
            hint="Check that the disk is mounted.",
            code="no_folder",
        )
    written = folder / path
    if written.is_symlink():
        real = os.path.realpath(written)
        if os.path.isfile(real) and real.startswith(f"{root}{os.sep}"):
            path = os.path.relpath(real, root)
    target = target_path(folder, path)
    # Without links: what was checked here is compared again when the file gets its name.
    target = target.parent.resolve() / target.name
    refuse_target(target)
    return target


def _refuse_swapped_folder(target: Path) -> None:
    """Raise GbrainError if a folder in the real path `target` was replaced with a link meanwhile.

    Another user of a shared folder could lead a write out of it, while the text is being flushed.
    """
    if os.path.realpath(target.parent) != str(target.parent):
        raise GbrainError(
            f"the folder {target.parent} was replaced with a symbolic link",
            hint="Check who can write to the folder above it.",
            code="outside",
        )


def remove_link(root: str, path: str) -> bool:
    """Remove a page's file if it is a symbolic link, but not the file it leads to.

    Returns whether it was a link. A file that is saved under its name meanwhile stays.
    """
    link = Path(root, path)
    inside = ".." not in PurePosixPath(path).parts and link.parent.resolve().is_relative_to(root)
    if not (inside and path.lower().endswith(PAGE_ENDINGS) and link.is_symlink()):
        return False
    remove_if_link(link)
    flush_folder(link.parent)
    return True


def read_file(target: Path) -> bytes | None:
    """Return the content of a file, up to one byte more than a page may have; None if missing.

    Raises OSError for a folder, pipe or device.
    """
    try:
        # A pipe would block until another program writes to it.
        handle = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except FileNotFoundError:
        return None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(EINVAL, "it is not a regular file", str(target))
        return file.read(MAX_PAGE_BYTES + 1)


def create_file(target: Path, data: bytes) -> None:
    """Write a new file; raise FileChanged if there is one by now."""
    make_durable_folder(target.parent, FOLDER_MODE)
    remove_leftovers(target.parent)
    recover_files(target.parent)
    with _temporary_beside(target, _FILE_MODE) as new:
        _write(new.handle, data)
        _refuse_swapped_folder(target)
        try:
            new.place(target)
        except FileExistsError:
            raise FileChanged from None
    flush_folder(target.parent)


def replace_file(target: Path, expected: bytes, data: bytes) -> None:
    """Replace the text `expected` of a file with `data`; raise FileChanged if it has another.

    The file keeps its owner, mode and extended attributes. A program that saves it at any moment
    wins: its text is put back. On systems other than Linux, what a program writes into the old file
    after that was compared is lost.
    """
    if not target.stat().st_mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(EACCES, "the file is read-only", str(target))
    remove_leftovers(target.parent)
    recover_files(target.parent)
    with _temporary_beside(target, 0o600) as new:
        _write(new.handle, data)
        copy_attributes(target, new.path)
        if read_file(target) != expected:
            raise FileChanged
        _refuse_swapped_folder(target)
        new.replace_unchanged(target, expected)
    flush_folder(target.parent)


def move_file(source: Path, target: Path) -> bool:
    """Give a file another name; return False if that is taken.

    A file that is saved under the old name meanwhile stays there.
    """
    make_durable_folder(target.parent, FOLDER_MODE)
    if target.exists() and not target.samefile(source):
        return False
    has_both = True
    _refuse_swapped_folder(source)
    _refuse_swapped_folder(target)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except FileExistsError:
        # The same file: the names differ in case only, or a killed process left both.
        if str(source).lower() == str(target).lower():
            os.rename(source, target)
            has_both = False
        elif not target.samefile(source):
            return False
    except OSError:
        has_both = False
        try:
            rename_exclusive(source, target)
        except FileExistsError:
            return False
    # The new name before the old one goes: after a power loss the file must have one of them, or
    # sync would delete the page.
    flush_folder(target.parent)
    if has_both:
        remove_second_name(source, target)
    flush_folder(source.parent)
    return True


def remove_file(target: Path, expected: bytes, *, use_trash: bool = False) -> None:
    """Remove a file that has the text `expected`; raise FileChanged if it has another.

    With `use_trash` it is moved to the trash of the system. Raises GbrainError if that fails. What
    another program saves at that moment is in the trash, too; GbrainError says so if it is noticed.
    """
    if read_file(target) != expected:
        raise FileChanged
    _refuse_swapped_folder(target)
    if use_trash:
        if not is_unchanged(target, expected):
            raise FileChanged
        _move_to_trash(target, expected)
    else:
        remove_unchanged(target, expected)
    flush_folder(target.parent)


def _move_to_trash(file: Path, expected: bytes) -> None:
    import send2trash

    with ExitStack() as stack:
        # Windows moves no open file.
        opened = None if os.name == "nt" else stack.enter_context(file.open("rb"))
        try:
            send2trash.send2trash(str(file))
        except OSError as error:
            raise GbrainError(
                f"it cannot be moved to the trash ({error.strerror or error})",
                hint="gbrain config set use_trash off removes files without it.",
                code="no_trash",
            ) from None
        # A file that another one replaced has no name any more.
        if opened and (opened.read() != expected or not os.fstat(opened.fileno()).st_nlink):
            raise GbrainError(
                "another program saved it as it was moved to the trash, where it is now",
                hint="Take it out of the trash to keep what was saved.",
                code="file_changed",
            )


def recover_folder(root: Path) -> list[Path]:
    """Give files below `root` their names back that a killed process set aside; return these."""
    recovered = []
    for folder, folders, _ in os.walk(root):
        # Pages are never in hidden folders.
        folders[:] = [name for name in folders if not name.startswith(".")]
        recovered += recover_files(Path(folder))
    return recovered


@contextmanager
def _temporary_beside(target: Path, mode: int) -> Iterator[TemporaryFile]:
    """Yield a new, empty file in the folder of `target`, which is surely not another folder."""
    with temporary_file(target.parent, mode) as new:
        _refuse_swapped_folder(target)
        # Raises FileNotFoundError if the folder was another one when the file was created.
        if not os.path.samestat(os.lstat(new.path), os.fstat(new.handle)):
            raise FileChanged
        yield new


def _write(handle: int, data: bytes) -> None:
    with open(handle, "wb", closefd=False) as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
