"""Find the Markdown files of a folder, without hidden and ignored ones, and watch for changes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import Literal, NamedTuple

from gbrain.errors import BadPage, GbrainError, NotFound
from gbrain.text.slug import is_page_file, refuse_long_names

IGNORE_FILE = ".gbrainignore"
# Logseq's folder of page backups.
_LOGSEQ_BACKUPS = "/logseq/bak"
_MAX_IGNORE_FILE_BYTES = 1_000_000
# An editor that saves by renaming or deleting a file, or by emptying it, leaves a gap of some
# milliseconds; on a network disk it may be longer.
SECOND_LOOK_SECONDS = 1.0
_MAX_LOOKS = 10


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A file or line that could not be imported, and why."""

    path: str
    reason: str
    hint: str | None = None
    code: str = "bad_page"


def require_folder(root: Path) -> None:
    """Raise NotFound if there is no such folder."""
    if not root.is_dir():
        raise NotFound(
            f"There is no folder {root}", hint="Give the path of the folder with your notes.",
            code="no_folder",
        )  # fmt: skip


def is_always_skipped(path: str) -> bool:
    """Tell whether an import never reads this path: hidden files and Logseq's backups."""
    return "/." in f"/{path}" or f"{_LOGSEQ_BACKUPS}/" in f"/{path}"


def refuse_skipped_path(path: str) -> None:
    """Raise BadPage for a new page's path that cannot be exported, or that import would skip."""
    refuse_long_names(path)
    if is_always_skipped(path):
        raise BadPage(
            f"{path} is a hidden file or one of Logseq's backups, which import skips",
            hint="Choose a name without a leading dot and outside logseq/bak.",
            code="hidden_name",
        )


class FoundFiles(NamedTuple):
    """The page files of a folder and the folders below it, by path, sorted.

    `others` counts files that are not Markdown, or ignored, but not hidden ones and the contents of
    ignored folders. The root is the folder "".
    """

    paths: list[str]
    folders: list[str]
    others: int


def find_page_files(
    root: Path, problems: list[ImportProblem], rules: bytes | None = None
) -> FoundFiles:
    """Return the page files of a folder; what cannot be read is added to `problems`.

    `rules` is the text of its ignore file (default: as it is now).
    """
    require_folder(root)
    ignored = _ignore_rules(root, rules)
    real_root = os.path.realpath(root)
    paths: list[str] = []
    folders: list[str] = []
    others = 0
    pending = [""]
    while pending:
        folder = pending.pop()
        folders.append(folder.removesuffix("/"))
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"the folder cannot be read: {error.strerror}"
            hint = f"Check its permissions, or list it in {IGNORE_FILE}."
            problems.append(ImportProblem(folder or ".", reason, hint, "cannot_read"))
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not ignored(path + "/") and not f"/{path}".endswith(_LOGSEQ_BACKUPS):
                    pending.append(path + "/")
            elif is_page_file(entry.name) and not ignored(path):
                if entry.is_symlink() and not _stays_inside(real_root, entry.path):
                    problems.append(
                        ImportProblem(
                            path,
                            "a symbolic link that is broken or points outside the folder",
                            f"Copy the file into the folder, or list it in {IGNORE_FILE}.",
                            "outside",
                        )
                    )
                else:
                    paths.append(path)
            else:
                others += 1
    return FoundFiles(sorted(paths), sorted(folders), others)


Exclusion = Literal["hidden", "ignored", "linked"]


def exclusions(root: Path, rules: bytes | None = None) -> Callable[[str], Exclusion | None]:
    """Return a function that tells why gbrain neither reads nor writes a path of the folder.

    It returns None for files that an import finds. Others are hidden, excluded by the folder's
    ignore file with the text `rules` (default: as it is now), or behind a folder that is a symbolic
    link.
    """
    ignored = _ignore_rules(root, rules)

    def exclusion(path: str) -> Exclusion | None:
        if is_always_skipped(path):
            return "hidden"
        parents = [path[:at] for at, character in enumerate(path) if character == "/"]
        if ignored(path) or any(ignored(f"{parent}/") for parent in parents):
            return "ignored"
        return "linked" if any((root / parent).is_symlink() for parent in parents) else None

    return exclusion


def _stays_inside(real_root: str, link: str) -> bool:
    """Tell whether a symbolic link points to a file inside the folder."""
    target = os.path.realpath(link)
    return os.path.isfile(target) and os.path.commonpath([real_root, target]) == real_root


def settled_rules(root: Path, known: bytes | None) -> bytes:
    """Return the text of a folder's ignore file, b"" without one, when no editor is saving it.

    `known` is the hash of its last text: another one must stay for a moment.
    """
    rules = _read_ignore_file(root)
    if known is None or sha256(rules).digest() == known:
        return rules
    for _ in range(_MAX_LOOKS):
        sleep(SECOND_LOOK_SECONDS)
        before, rules = rules, _read_ignore_file(root)
        if rules == before:
            return rules
    raise _bad_rules(f"Another program keeps changing {root / IGNORE_FILE}")


def _read_ignore_file(root: Path) -> bytes:
    file = root / IGNORE_FILE
    try:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode) and not _stays_inside(os.path.realpath(root), str(file)):
            raise _bad_rules(
                f"{file} is a symbolic link that is broken or points outside the folder"
            )
        # Checked before opening: opening a pipe blocks until another process writes to it.
        if not stat.S_ISREG(file.stat().st_mode):
            raise _bad_rules(f"{file} is not a regular file")
        with file.open("rb") as rules:
            data = rules.read(_MAX_IGNORE_FILE_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _bad_rules(f"Cannot read {file}: {error.strerror}") from None
    if len(data) > _MAX_IGNORE_FILE_BYTES:
        raise _bad_rules(f"{file} has more than {_MAX_IGNORE_FILE_BYTES:,} bytes")
    return data


def _ignore_rules(root: Path, rules: bytes | None = None) -> Callable[[str], bool]:
    """Return a function that tells whether a path is ignored, from the folder's ignore file."""
    file = root / IGNORE_FILE
    data = _read_ignore_file(root) if rules is None else rules
    if not data:
        return lambda path: False
    from gbrain.text.gitignore import parse_ignore_file

    # Where names ignore case, the same file is found under another spelling.
    other_case = file.with_name(IGNORE_FILE.upper())
    try:
        return parse_ignore_file(
            data, ignore_case=other_case.exists() and other_case.samefile(file)
        )
    except ValueError as error:
        raise _bad_rules(f"{file}: {error}") from None


def _bad_rules(message: str) -> GbrainError:
    # Importing a file that the user excluded is worse than importing nothing.
    """Return the error for an ignore file that cannot be read."""
    return GbrainError(
        message,
        hint="Save it as UTF-8 with one pattern on each line, as in .gitignore.",
        code="bad_ignore_file",
    )


# --- watch: yield the paths that changed, in rounds, until the caller stops ------------------


# Changed paths below a folder; None if any of its files may have changed.
ChangedPaths = frozenset[str] | None
# Device and inode: a folder that was deleted and created again has another identity.
_Identity = tuple[int, int] | None

# A round ends after this long without a change, and at the latest after _MAX_ROUND_MS.
_QUIET_MS = 300
_MAX_ROUND_MS = 3000
# How often to check whether a missing folder exists again.
_CHECK_MS = 500
# inotify drops what exceeds its queue of 16,384 events (fs.inotify.max_queued_events), without a
# word to us; a file that is written gives up to five.
_MAX_CHANGES = 3000


def watch_folders(roots: Sequence[str]) -> Iterator[Mapping[str, ChangedPaths]]:
    """Yield what changed in each folder since the round before, forever; often nothing.

    All folders are in the first round, when they are already being watched, and again after one
    of them disappeared, returned or was replaced: the watch starts again then, and what changed in
    the meantime is not known. Folders are given by their real paths.
    """
    missing_reported = False
    while True:
        identities = {root: _identity(root) for root in roots}
        present = tuple(root for root in roots if identities[root])
        if not present:
            yield {} if missing_reported else dict.fromkeys(roots)
            missing_reported = True
            sleep(_CHECK_MS / 1000)
            continue
        missing_reported = False
        unread: dict[str, ChangedPaths] = dict.fromkeys(roots)
        for found in _watch_existing(present):
            yield {**found, **unread}
            unread = {}
            deleted = None in found.values()
            if deleted or any(_identity(root) != identities[root] for root in roots):
                break


def _identity(root: str) -> _Identity:
    try:
        found = os.stat(root)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _watch_existing(roots: tuple[str, ...]) -> Iterator[dict[str, ChangedPaths]]:
    """Yield rounds of changes in existing folders; None for a folder that disappears.

    Ends when changes may have been lost, because there were too many at once.
    """
    # watchfiles uses the system's notifications (inotify, FSEvents): no cost while idle.
    from watchfiles import Change, watch

    count = 0

    def matters(change: Change, path: str) -> bool:
        nonlocal count
        count += 1
        removed = change == Change.deleted
        return any(_matters(root, path, removed) for root in roots)

    try:
        for changes in watch(
            *roots,
            watch_filter=matters,
            debounce=_MAX_ROUND_MS,
            step=_QUIET_MS,
            rust_timeout=_CHECK_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            yield _by_root(roots, [path for _, path in changes])
            if count > _MAX_CHANGES:
                return
            count = 0
    except FileNotFoundError:
        # A folder was deleted just now; the next round finds out which.
        yield {}
    except OSError as error:
        raise GbrainError(
            f"Cannot watch the folders: {error.strerror or error}",
            hint="The system's limit may be too low: raise fs.inotify.max_user_watches.",
            code="cannot_watch",
        ) from None


def _matters(root: str, path: str, removed: bool) -> bool:
    """Tell whether a change at `path` may change the pages of the folder."""
    if path == root:
        return removed
    if not path.startswith(f"{root}/"):
        return False
    *folders, name = path[len(root) + 1 :].split("/")
    if name == IGNORE_FILE:
        return not folders
    if any(part.startswith(".") for part in (*folders, name)):
        return False
    # For a moved or deleted folder, the system may report only the folder itself.
    return removed or is_page_file(name) or os.path.isdir(path)


def _by_root(roots: Sequence[str], paths: Sequence[str]) -> dict[str, ChangedPaths]:
    """Return the changed paths of each folder; None for a folder that is itself named."""
    found: dict[str, ChangedPaths] = {}
    for root in roots:
        below = frozenset(path[len(root) + 1 :] for path in paths if path.startswith(f"{root}/"))
        if root in paths:
            found[root] = None
        elif below:
            found[root] = below
    return found
