"""Open the brain of a command: the file, the copy of an earlier day, or a shared brain."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from gbrain.brain import Brain, today
from gbrain.errors import GbrainError, UsageError
from gbrain.paths import resolve_brain


class Declined(BaseException):
    """A command that a warm process cannot run for another one, which runs it itself.

    Not an Exception, so that no handler turns it into an error message.
    """


class LentBrain(NamedTuple):
    """A brain that a warm process has open, for a command whose --db is `option`."""

    brain: Brain
    option: str | None


# Set while a command runs in a warm process.
lent_brain: ContextVar[LentBrain | None] = ContextVar("lent_brain", default=None)


# The URL of the shared brain that a command with --no-replica uses.
unreplicated_url: ContextVar[str | None] = ContextVar("unreplicated_url", default=None)


# The replica of a shared brain that the user of a command may only read.
reader_replica: ContextVar[Path | None] = ContextVar("reader_replica", default=None)


def open_without_replica() -> Brain:
    """Connect to the shared brain that --db names; raise UsageError if it names none."""
    url = unreplicated_url.get()
    if url is None:
        raise UsageError(
            "--no-replica needs a shared brain",
            hint="For example: gbrain query TEXT --db postgresql://host/notes --no-replica",
        )
    from gbrain.shared_brain import SharedBrain

    return SharedBrain.open_shared(url)


def reopen_without_replica() -> Callable[[], Brain]:
    """Return a function that connects to the shared brain again and again, on any thread."""
    url = unreplicated_url.get()
    open_without_replica().close()
    from gbrain.shared_brain import SharedBrain

    assert url is not None
    return lambda: SharedBrain.open_shared(url)


def open_brain(db: Path | None, *, make: bool = False, no_replica: bool = False) -> Brain:
    """Open the brain; it asks on the terminal before it runs a command that is not trusted."""
    if no_replica:
        return open_without_replica()
    lent = lent_brain.get()
    if lent:
        # The process that asks found the brain by reading its arguments without their meaning.
        if make or db != (None if lent.option is None else Path(lent.option)):
            raise Declined
        return lent.brain
    path = resolve_brain(db)
    created = make and not path.exists()
    known = orphaned_logs(path) if created else []
    with _show_upgrade(path):
        brain = _open_as_reader(path) if may_only_read(db) else Brain.open(db, make=make)
    if created:
        say_orphaned_logs(path, known)
    brain.confirm = _confirm_command
    brain.confirm_rename = _confirm_rename
    return brain


def _open_as_reader(path: Path) -> Brain:
    from gbrain.brain.replicas import open_as_reader

    return open_as_reader(path)


def may_only_read(db: Path | None) -> bool:
    """Tell whether --db names the replica of a shared brain that the user may only read."""
    return reader_replica.get() is not None and reader_replica.get() == resolve_brain(db)


def _show_upgrade(path: Path) -> AbstractContextManager[None]:
    """Return a context that shows how long an upgrade of the file takes, if it needs one."""
    from gbrain.store.brain_files import needs_upgrade

    if "--json" in sys.argv or not needs_upgrade(path):
        return nullcontext()
    from gbrain.messages import one_line
    from gbrain.output.screen import show_seconds

    return show_seconds(f"Upgrading {one_line(path.name)} for this version of gbrain")


def leave_warm(brain: Brain) -> None:
    """Start a background process that answers the next commands, if the user wants one."""
    if brain.settings.keep_warm == "off" or lent_brain.get():
        return
    from gbrain.server.background import start_background
    from gbrain.server.client import find_socket
    from gbrain.text.durations import parse_duration

    if find_socket(str(brain.path)) is None:
        minutes = (parse_duration(brain.settings.keep_warm) or 0) / 60
        with suppress(OSError, GbrainError):
            start_background(brain.path, idle_minutes=minutes)


def orphaned_logs(path: Path) -> list[Path]:
    """Return the logs of other brains that were found at this name and kept."""
    from gbrain.store.brain_files import find_orphaned_logs

    return find_orphaned_logs(path)


def say_orphaned_logs(path: Path, known: Sequence[Path] = ()) -> None:
    """Say which logs of other brains were found at the name of a new file.

    With --quiet as well: they may be the only copy of somebody's writes. `known` are those that an
    earlier command found.
    """
    from gbrain.output.screen import say

    for log in orphaned_logs(path):
        if log in known:
            continue
        say(f"A log of an earlier {path.name} was found next to it and kept as {log}.")
        say("If you moved that brain, its last changes are in this log: move both back together.")


@contextmanager
def open_brain_as_of(
    db: Path | None, as_of: str | None, *, quiet: bool, no_replica: bool = False
) -> Iterator[Brain]:
    """Open the brain as it was at the end of the day or month `as_of` (default: as it is now)."""
    with open_brain(db, no_replica=no_replica) as brain, go_back(brain, as_of, quiet=quiet) as then:
        yield then


@contextmanager
def go_back(brain: Brain, as_of: str | None, *, quiet: bool) -> Iterator[Brain]:
    """Yield a copy of the brain as it was at the end of `as_of`; without a date the brain itself.

    Raises UsageError for a date that cannot be read.
    """
    if as_of is None:
        yield brain
        return
    if unreplicated_url.get():
        raise UsageError(
            "--as-of cannot be combined with --no-replica",
            hint="Leave out --no-replica: gbrain then works with a copy of the shared brain.",
        )
    from gbrain.as_of import brain_as_of
    from gbrain.output.screen import show_progress
    from gbrain.text.dates import parse_bound

    day = parse_bound(as_of, today()).last
    with show_progress("Going back", quiet=quiet) as show:
        then = brain_as_of(brain, day, show)
    then.confirm = brain.confirm
    with then:
        yield then


def _confirm_command(command: str) -> bool:
    """Ask whether a command of the brain file may run."""
    from gbrain.messages import one_line

    about = ("This brain is set to run a command that you have not approved:", one_line(command))
    return _ask("Run it now and in future?", "\n  ".join(about))


def _confirm_rename(old: str, new: str) -> bool:
    """Ask whether a note is another one under a new name, when only its text says so."""
    return _ask(f"Change the links to {old}?", f"{new} has nearly the text that {old} had.")


def _ask(question: str, about: str) -> bool:
    """Ask on a terminal, with a sentence about it before; elsewhere the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    import typer

    from gbrain.output.screen import say

    say(about)
    try:
        return typer.confirm(question, default=False, err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
