"""A folder of notes: which of its files are pages, and which its owner wants left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gbrain.errors import BadPage, GbrainError, NotFound
from gbrain.text.slug import is_page_file

IGNORE_FILE = ".gbrainignore"
# Where Logseq keeps earlier texts of the pages.
_COPIES = "/logseq/bak"
_MOST_RULES = 1_000_000


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A file that could not be taken in, and why."""

    path: str
    reason: str
    hint: str | None = None
    code: str = "bad_page"


def require_folder(root: Path) -> None:
    if not root.is_dir():
        raise NotFound(
            f"There is no folder {root}", hint="Name the folder that holds your notes.",
            code="no_folder",
        )  # fmt: skip


def is_always_skipped(path: str) -> bool:
    """Tell whether an import never reads this path: hidden files and Logseq's copies."""
    return "/." in f"/{path}" or f"{_COPIES}/" in f"/{path}"


def refuse_skipped_path(path: str) -> None:
    """Raises BadPage for the path of a new page that would not come back from an export."""
    if is_always_skipped(path):
        raise BadPage(
            f"{path} would be a hidden file, or one of Logseq's copies, which import passes over",
            hint="Begin no part of the name with a dot, and keep it out of logseq/bak.",
            code="hidden_name",
        )


def find_page_files(root: Path, problems: list[ImportProblem]) -> tuple[list[str], int]:
    """Paths of the folder's pages relative to it, sorted, and how many other files there are.

    What cannot be read is a problem. Others are not Markdown, or ignored; hidden ones and what lies
    in ignored folders are not looked at.
    """
    require_folder(root)
    ignored = _ignore_rules(root)
    real_root = os.path.realpath(root)
    paths: list[str] = []
    others = 0
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"the folder cannot be read: {error.strerror}"
            hint = f"Check who may read it, or list it in {IGNORE_FILE}."
            problems.append(ImportProblem(folder or ".", reason, hint, "cannot_read"))
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not ignored(path + "/") and not f"/{path}".endswith(_COPIES):
                    pending.append(path + "/")
            elif is_page_file(entry.name) and not ignored(path):
                if entry.is_symlink() and not _stays(real_root, entry.path):
                    problems.append(
                        ImportProblem(path, "a link that leaves the folder or leads nowhere",
                                f"Copy the page in, or list it in {IGNORE_FILE}.", "outside")
                    )  # fmt: skip
                else:
                    paths.append(path)
            else:
                others += 1
    return sorted(paths), others


def _stays(real_root: str, link: str) -> bool:
    target = os.path.realpath(link)
    return os.path.isfile(target) and os.path.commonpath([real_root, target]) == real_root


def _ignore_rules(root: Path) -> Callable[[str], bool]:
    file = root / IGNORE_FILE
    try:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode) and not _stays(os.path.realpath(root), str(file)):
            raise _bad_rules(f"{file} is a link that leaves the folder or leads nowhere")
        # Asked before it is opened: opening a pipe waits for somebody to write into it.
        if not stat.S_ISREG(file.stat().st_mode):
            raise _bad_rules(f"{file} is not a regular file")
        with file.open("rb") as rules:
            data = rules.read(_MOST_RULES + 1)
    except FileNotFoundError:
        return lambda path: False
    except OSError as error:
        raise _bad_rules(f"Cannot read {file}: {error.strerror}") from None
    if len(data) > _MOST_RULES:
        raise _bad_rules(f"{file} has more than {_MOST_RULES:,} bytes")
    from gbrain.text.gitignore import parse_ignore_rules

    try:
        return parse_ignore_rules(data.decode(errors="replace").splitlines())
    except ValueError as error:
        raise _bad_rules(f"{file}: {error}") from None


def _bad_rules(message: str) -> GbrainError:
    # Taking in what somebody meant to keep out is worse than taking in nothing.
    return GbrainError(message, hint="Its lines read as in .gitignore.", code="bad_ignore_file")
