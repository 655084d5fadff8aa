"""`sync --watch`: rounds of changes into the brain, until somebody ends it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from types import FrameType

from gbrain.brain import Brain, clock, timestamp
from gbrain.cli.options import open_brain
from gbrain.errors import BadBrain, GbrainError, ModelUnavailable
from gbrain.importing.importer import ImportReport, import_folder
from gbrain.importing.scan import ImportProblem
from gbrain.importing.watcher import ChangedPaths, watch_folders
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.documents import import_report_document
from gbrain.store.jobs import count_due

# What passes by itself: another program has its turn, or somebody makes room.
_PASSING = ("locked", "disk_full")


@dataclass(slots=True)
class Follower:
    """Follows folders. The brain is open only in a round, so that others may replace it between."""

    db: Path | None
    overwrite: bool
    embed: bool
    quiet: bool
    json: bool
    said: dict[str, str] = field(default_factory=dict)
    problems: dict[str, set[ImportProblem]] = field(default_factory=dict)

    def follow(self, folders: Sequence[Path]) -> None:
        """Returns when the process is asked to terminate; Ctrl-C interrupts it."""
        roots = list(dict.fromkeys(os.path.realpath(folder.expanduser()) for folder in folders))
        if not self.quiet:
            screen.say(f"Following {', '.join(roots)}. Ctrl-C ends it.")
        waiting: dict[str, ChangedPaths] = {}
        with _until_terminated():
            for found in watch_folders(roots):
                for root, changed in found.items():
                    waiting[root] = _joined(waiting.get(root, frozenset()), changed)
                waiting = {
                    root: changed
                    for root, changed in waiting.items()
                    if not self.settle(root, changed)
                }

    def settle(self, root: str, changed: ChangedPaths) -> bool:
        """Brings what changed into the brain; False if it must be tried again."""
        try:
            with open_brain(self.db) as brain:
                report = import_folder(
                    brain.database, Path(root), timestamp(),
                    remove_missing=True, overwrite=self.overwrite, changed=changed,
                )  # fmt: skip
                embedded = self._embed(brain, root) if self.embed else None
        except GbrainError as error:
            passing = error.code in _PASSING
            if error.code == "no_brain" or (isinstance(error, BadBrain) and not passing):
                raise
            self._say(root, f"{error.message}. {'Trying again.' if passing else error.hint}")
            return not passing
        self.said.pop(root, None)
        self._tell(root, report, embedded, first=changed is None)
        return True

    def _embed(self, brain: Brain, root: str) -> int:
        with brain.database.read_transaction() as connection:
            if not count_due(connection, time(), None):
                return 0
        try:
            return brain.embed().done
        except ModelUnavailable as error:
            self._say(root, f"{error.message} The pages are in; gbrain embed does the rest later.")
            return 0

    def _say(self, root: str, message: str) -> None:
        """Says what is the matter with a folder, once."""
        if self.said.get(root) != message:
            self.said[root] = message
            screen.say(f"{_now()} {message}")

    def _tell(self, root: str, report: ImportReport, embedded: int | None, *, first: bool) -> None:
        """One line a round, in which something happened, and each problem when it appears."""
        problems, before = set(report.problems), self.problems.get(root, set())
        self.problems[root] = problems
        if not (first or report.changes or embedded or problems != before):
            return
        if self.json:
            about = {"time": timestamp(), "folder": root, "embedded": embedded}
            screen.write_json({**about, **import_report_document(report, dry_run=False)})
            sys.stdout.flush()
            return
        for problem in report.problems:
            if problem not in before:
                screen.say(f"{problem.path}: {problem.reason}")
        if not self.quiet:
            also = f" {counted(embedded, 'passage')} embedded." if embedded else ""
            screen.say(f"{_now()} {Path(root).name}: {report.summary()}{also}")


def _now() -> str:
    return f"{clock().astimezone():%H:%M:%S}"


def _joined(one: ChangedPaths, other: ChangedPaths) -> ChangedPaths:
    return None if one is None or other is None else one | other


@contextmanager
def _until_terminated() -> Iterator[None]:
    """Ends the block in an orderly way when the process is asked to terminate."""
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
