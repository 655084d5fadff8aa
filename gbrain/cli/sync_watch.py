"""`sync --watch`: import changes in registered folders until the process ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gbrain.brain import Brain, clock, timestamp
from gbrain.cli.embedding import EMBED_LATER
from gbrain.cli.open_brain import open_brain
from gbrain.errors import BadBrain, GbrainError, ModelUnavailable
from gbrain.importing.import_report import ImportReport
from gbrain.importing.scan import ChangedPaths, ImportProblem, watch_folders
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import import_report_document
from gbrain.paths import resolve_brain
from gbrain.server.socket_server import serve_in_background

if TYPE_CHECKING:
    from gbrain.cli.import_export import ImportOptions

# Errors that can end without us: another program writes, or somebody frees disk space.
_TEMPORARY_ERRORS = ("locked", "disk_full")
# About a second of work; opening the model for them takes a fifth of that.
_CHUNKS_BETWEEN_ROUNDS = 48


@dataclass(slots=True)
class FolderWatch:
    """Watches folders. The brain is open only during a round, so that it can be replaced."""

    db: Path | None
    options: ImportOptions
    last_error: dict[str, str] = field(default_factory=dict)
    problems: dict[str, set[ImportProblem]] = field(default_factory=dict)
    # The last message about pages that stay without their file.
    kept: dict[str, list[str]] = field(default_factory=dict)
    # What the brain had of each folder after its last round.
    hashes: dict[str, dict[str, bytes]] = field(default_factory=dict)
    # Whether a switch to another model waits for its vectors.
    switching: bool = False

    def run(self, folders: Sequence[Path]) -> None:
        """Import changes until SIGTERM, which returns, or Ctrl-C, which raises."""
        roots = list(dict.fromkeys(os.path.realpath(folder.expanduser()) for folder in folders))
        if not self.options.quiet:
            screen.say(f"Watching {', '.join(roots)}. Press Ctrl-C to stop.")
        waiting: dict[str, ChangedPaths] = {}
        brain_seen = None
        path = resolve_brain(self.db)
        with _until_terminated(), serve_in_background(partial(Brain.open, path), str(path)):
            for found in watch_folders(roots):
                brain_now = self._brain_signature()
                if brain_now != brain_seen:
                    # Another program wrote the brain, perhaps restored an older one.
                    found = {**dict.fromkeys(roots, frozenset()), **found}
                for root, changed in found.items():
                    waiting[root] = _merge_changes(waiting.get(root, frozenset()), changed)
                waiting = {
                    root: changed
                    for root, changed in waiting.items()
                    if not self.import_changes(root, changed)
                }
                if self.switching and not found:
                    self._continue_switch()
                brain_seen = self._brain_signature() if not waiting else brain_now

    def import_changes(self, root: str, changed: ChangedPaths) -> bool:
        """Import what changed; return False if it must be tried again.

        After an error the whole folder is read, and so are files whose last import is no longer in
        the brain.
        """
        if root in self.last_error:
            changed = None
        try:
            with open_brain(self.db) as brain:
                if changed is not None:
                    before = self.hashes.get(root, {})
                    now = brain.file_hashes(root)
                    changed |= {path for path in now if now[path] != before.get(path)}
                report = brain.import_folder(
                    Path(root),
                    remove_missing=True,
                    remove_many=self.options.remove_many,
                    overwrite=self.options.overwrite,
                    changed=changed,
                    update_links=self.options.update_links,
                )
                self.hashes[root] = brain.file_hashes(root)
                embedded = self._embed(brain, root) if self.options.embed else None
        except GbrainError as error:
            temporary = error.code in _TEMPORARY_ERRORS
            if error.code == "no_brain" or (isinstance(error, BadBrain) and not temporary):
                raise
            self._print_once(
                root, f"{error.message}. {'Trying again.' if temporary else error.hint}"
            )
            return not temporary
        self.last_error.pop(root, None)
        self._print_round(root, report, embedded, first=changed is None)
        return True

    def _brain_signature(self) -> tuple[int, ...] | None:
        """Return what changes whenever another program has written the brain's file."""
        try:
            found = resolve_brain(self.db).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _embed(self, brain: Brain, root: str) -> int:
        self.switching = brain.is_switching()
        if not brain.count_due_jobs():
            return 0
        try:
            return brain.embed(continue_switch=False).done
        except ModelUnavailable as error:
            self._print_once(root, f"{error.message} {EMBED_LATER}")
            return 0

    def _continue_switch(self) -> None:
        """Embed some chunks for the next model, in a round without changes."""
        try:
            with open_brain(self.db) as brain:
                report = brain.embed_in_background(_CHUNKS_BETWEEN_ROUNDS)
                self.switching = brain.is_switching()
        except GbrainError as error:
            # A file that is locked or replaced for a moment is tried again after the next change.
            self.switching = False
            if error.code not in _TEMPORARY_ERRORS:
                screen.say(f"{_now()} {error.message}. gbrain embed continues.")
            return
        if report.switched_to and not self.options.quiet:
            screen.say(f"{_now()} {report.switched_to} is now the active model.")

    def _print_once(self, root: str, message: str) -> None:
        """Print an error of a folder, unless it was the last one printed for it."""
        if self.last_error.get(root) != message:
            self.last_error[root] = message
            screen.say(f"{_now()} {message}")

    def _print_round(
        self, root: str, report: ImportReport, embedded: int | None, *, first: bool
    ) -> None:
        """Print one line if something changed, and each problem when it first appears."""
        problems, before = set(report.problems), self.problems.get(root, set())
        self.problems[root] = problems
        kept, kept_before = report.missing_lines(), self.kept.get(root, [])
        self.kept[root] = kept
        news = report.changes or report.written or embedded or problems != before
        news = news or kept != kept_before
        if not (first or news):
            return
        if self.options.json:
            about = {"time": timestamp(), "folder": root, "embedded": embedded}
            screen.write_json({**about, **import_report_document(report, dry_run=False)})
            sys.stdout.flush()
            return
        for problem in report.problems:
            if problem not in before:
                screen.say(f"{problem.path}: {problem.reason}")
        if not self.options.quiet:
            also = f" {counted(embedded, 'chunk')} embedded." if embedded else ""
            screen.say(f"{_now()} {Path(root).name}: {report.summary()}{also}")
            for line in kept if kept != kept_before else ():
                screen.say(line)


def _now() -> str:
    return f"{clock().astimezone():%H:%M:%S}"


def _merge_changes(one: ChangedPaths, other: ChangedPaths) -> ChangedPaths:
    return None if one is None or other is None else one | other


@contextmanager
def _until_terminated() -> Iterator[None]:
    """End the block without an error on SIGTERM."""
    asked = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if not asked:
            raise
    finally:
        signal.signal(signal.SIGTERM, before)
