"""Following folders: which of their files changed, told in rounds, for as long as one listens."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from time import sleep

from gbrain.errors import GbrainError
from gbrain.importing.scan import IGNORE_FILE
from gbrain.text.slug import is_page_file

# Paths below a folder that changed; None where anything may have.
ChangedPaths = frozenset[str] | None
# A folder's number on its disk: one that was made anew under the same name has another.
_Identity = tuple[int, int] | None

# A round ends when nothing has happened for so long, and at the latest after so long.
_CALM_MS = 300
_LONGEST_MS = 3000
# How often to see whether a folder that was gone is back.
_TICK_MS = 500


def watch_folders(roots: Sequence[str]) -> Iterator[Mapping[str, ChangedPaths]]:
    """What changed in each folder since the round before, for ever; often nothing.

    Each folder stands in the first round, when its changes are already being watched, and again
    when it vanished or came back. Folders are given by their real paths.
    """
    told: dict[str, _Identity] = {}
    while True:
        there = {root: identity for root in roots if (identity := _identity(root))}
        new = {root: None for root in roots if root not in told or told[root] != there.get(root)}
        told = {root: there.get(root) for root in roots}
        if not there:
            yield new
            sleep(_TICK_MS / 1000)
            continue
        for found in _watched(tuple(there)):
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


def _watched(roots: tuple[str, ...]) -> Iterator[dict[str, ChangedPaths]]:
    """Rounds of changes in folders that are there; a folder that goes is told as None."""
    # Imported here: only those who watch pay for it. It stands on the system's own notices
    # (inotify, FSEvents), which see a change at once and cost nothing in a vault at rest.
    from watchfiles import Change, watch

    def matters(change: Change, path: str) -> bool:
        removed = change == Change.deleted
        return any(_matters(root, path, removed) for root in roots)

    try:
        for changes in watch(
            *roots,
            watch_filter=matters,
            debounce=_LONGEST_MS,
            step=_CALM_MS,
            rust_timeout=_TICK_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            yield _by_root(roots, [path for _, path in changes])
    except FileNotFoundError:
        # One of them went in this very moment; the next look sees which.
        yield {}
    except OSError as error:
        raise GbrainError(
            f"Cannot watch the folders: {error.strerror or error}",
            hint="The system may watch too few files: see fs.inotify.max_user_watches.",
            code="cannot_watch",
        ) from None


def _matters(root: str, path: str, removed: bool) -> bool:
    """Whether a change at `path` may change the pages of the folder."""
    if path == root:
        return removed
    if not path.startswith(f"{root}/"):
        return False
    *folders, name = path[len(root) + 1 :].split("/")
    if name == IGNORE_FILE:
        return not folders
    if any(part.startswith(".") for part in (*folders, name)):
        return False
    # Of a folder that is moved or removed, the system may tell nothing but the folder.
    return removed or is_page_file(name) or os.path.isdir(path)


def _by_root(roots: Sequence[str], paths: Sequence[str]) -> dict[str, ChangedPaths]:
    found: dict[str, ChangedPaths] = {}
    for root in roots:
        below = frozenset(path[len(root) + 1 :] for path in paths if path.startswith(f"{root}/"))
        if root in paths:
            found[root] = None
        elif below:
            found[root] = below
    return found
