"""Watch folders and yield the paths that changed, in rounds, until the caller stops."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from time import sleep

from gbrain.errors import GbrainError
from gbrain.importing.scan import IGNORE_FILE
from gbrain.text.slug import is_page_file

# Changed paths below a folder; None if any of its files may have changed.
ChangedPaths = frozenset[str] | None
# Device and inode: a folder that was deleted and created again has another identity.
_Identity = tuple[int, int] | None

# A round ends after this long without a change, and at the latest after _MAX_ROUND_MS.
_QUIET_MS = 300
_MAX_ROUND_MS = 3000
# How often to check whether a missing folder exists again.
_CHECK_MS = 500


def watch_folders(roots: Sequence[str]) -> Iterator[Mapping[str, ChangedPaths]]:
    """Yield what changed in each folder since the round before, forever; often nothing.

    Every folder is in the first round, when it is already being watched, and again when it
    disappears or returns. Folders are given by their real paths.
    """
    told: dict[str, _Identity] = {}
    while True:
        there = {root: identity for root in roots if (identity := _identity(root))}
        new = {root: None for root in roots if root not in told or told[root] != there.get(root)}
        told = {root: there.get(root) for root in roots}
        if not there:
            yield new
            sleep(_CHECK_MS / 1000)
            continue
        for found in _watch_existing(tuple(there)):
            yield {**found, **new}
            new = {}
            gone = [root for root, changed in found.items() if changed is None]
            if gone or any(_identity(root) != told[root] for root in roots):
                for root in gone:
                    told[root] = None
                break


def _identity(root: str) -> _Identity:
    try:
        found = os.stat(root)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _watch_existing(roots: tuple[str, ...]) -> Iterator[dict[str, ChangedPaths]]:
    """Yield rounds of changes in existing folders; None for a folder that disappears."""
    # watchfiles uses the system's notifications (inotify, FSEvents): no cost while idle.
    from watchfiles import Change, watch

    def matters(change: Change, path: str) -> bool:
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
