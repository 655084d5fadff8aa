"""Run a command on a shared brain: `--db postgresql://…` means a replica of it on this machine.

The replica is pulled first, the command runs on it as on any brain, and what it wrote is pushed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from enum import Enum
from pathlib import Path
from typing import Any

from gbrain.brain import Brain, clock
from gbrain.brain.replicas import make_replica, replica_path
from gbrain.cli.drafts import keep_command
from gbrain.cli.errors import explain_error, report
from gbrain.cli.open_brain import reader_replica, unreplicated_url
from gbrain.cli.remotes import exchange, print_push
from gbrain.config import all_settings
from gbrain.errors import GbrainError, needs_replica
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.screen import show_progress
from gbrain.output.stats import time_ago
from gbrain.store.postgres.address import check_url, redact
from gbrain.store.postgres.connection import Refused, Unreachable

# Commands that do not use the pages of a brain, or that pull and push themselves.
_WITHOUT_PAGES = frozenset(("clone", "completion", "init", "pull", "push", "remote", "schema"))
# Commands that work without a replica.
_WITHOUT_REPLICA = frozenset(("explain", "get", "query", "search", "serve", "token"))
# Commands that run until they are stopped.
_LONG = frozenset(("serve", "ui"))
_SYNC_SECONDS = 5.0
_MAX_NAMED = 3


class Server(Enum):
    """How the server of a shared brain can be used."""

    WRITABLE = "writable"
    READ_ONLY = "read only"
    UNREACHABLE = "unreachable"


def run_on_replica(url: str, words: Sequence[str], run: Callable[[list[str]], Any]) -> Any:
    """Run a command with the replica of the shared brain at `url` instead of `url`."""
    quiet = not {"--quiet", "-q", "--json"}.isdisjoint(words)
    command = _command(words)
    if command is None or not {"-h", "--help", "--version"}.isdisjoint(words):
        return run(list(words))
    try:
        check_url(url)
        if "--no-replica" in words:
            _check_searching(command)
            _say_settings(url, quiet=quiet)
            outer_url = unreplicated_url.set(url)
            try:
                return run(list(words))
            finally:
                unreplicated_url.reset(outer_url)
        path = replica_path(url)
        own = _replace_option(words, url, str(path))
        if command in _WITHOUT_PAGES:
            if not path.exists():
                make_replica(url)
            return run(own)
        server = _pull(url, path, checked="--expected-version" in _names(words), quiet=quiet)
        before = _waiting(path)
    except GbrainError as error:
        keep_command(error, words, command)
        report(explain_error(error, None, words) or error, as_json="--json" in words)
        raise SystemExit(error.exit_code) from None
    is_long = command in _LONG or (command == "sync" and "--watch" in words)
    outer = reader_replica.set(path if server is Server.READ_ONLY else None)
    try:
        with _sync_in_background(url, path) if is_long else nullcontext():
            code = _exit_code(run, own)
    finally:
        reader_replica.reset(outer)
    try:
        pushed = _push(url, path, before, server, quiet=quiet)
    except GbrainError as error:
        report(error, as_json="--json" in words)
        pushed = error.exit_code
    raise SystemExit(pushed or code)


def _check_searching(command: str) -> None:
    if command not in _WITHOUT_REPLICA:
        raise needs_replica(f"gbrain {command}")


def _say_settings(url: str, *, quiet: bool) -> None:
    """Say which settings of the replica on this computer are not used; there may be none."""
    path = replica_path(url)
    if quiet or not path.exists():
        return
    # What is wrong with a file that is not used is no reason to stop.
    with suppress(GbrainError), Brain.open(path, read_only=True) as brain:
        changed = sorted(brain.stored_settings.keys() & all_settings().keys())
        if changed:
            screen.say(
                "--no-replica uses the default settings, not those of the copy on this computer: "
                f"{', '.join(changed)}."
            )


def _command(words: Sequence[str]) -> str | None:
    """Return the command: the first word that is neither --db nor its value."""
    plain = [word for word in words[:3] if not word.startswith("--db=")]
    if plain[:1] == ["--db"]:
        plain = plain[2:]
    return plain[0] if plain and not plain[0].startswith("-") else None


def _names(words: Sequence[str]) -> set[str]:
    return {word.partition("=")[0] for word in words}


def _replace_option(words: Sequence[str], url: str, path: str) -> list[str]:
    """Return the words with the path of the replica as the value of --db."""
    own: list[str] = []
    for word in words:
        if word == f"--db={url}":
            own.append(f"--db={path}")
        elif word == url and own and own[-1] == "--db":
            own.append(path)
        else:
            own.append(word)
    return own if own != list(words) else ["--db", path, *words]


def _exit_code(run: Callable[[list[str]], Any], words: list[str]) -> int:
    try:
        run(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _pull(url: str, path: Path, *, checked: bool, quiet: bool) -> Server:
    """Bring the replica up to date; return how the server can be used.

    If it cannot be reached, there must be a replica, and no version to check. Raises GbrainError
    otherwise.
    """
    if not path.exists():
        with show_progress("Fetching the shared brain", quiet=quiet) as show:
            make_replica(url, progress=show)
    with Brain.open(path) as brain:
        try:
            return _pull_changes(brain)
        except Unreachable as error:
            if checked:
                raise Unreachable(
                    f"{error.message}, so the expected version cannot be checked there",
                    hint="Nothing was written. Without --expected-version the change waits to be "
                    "pushed, and is merged then.",
                ) from None
            known = brain.remote().pulled_at
            age = time_ago(known, clock()) if known else "an unknown time"
            screen.say(f"{error.message}. Using the copy on this computer, last pulled {age}.")
            return Server.UNREACHABLE


def _pull_changes(brain: Brain) -> Server:
    with brain.contact() as contact:
        brain.exchange(contact=contact, push=False)
        return Server.WRITABLE if contact.state.may_write else Server.READ_ONLY


def _waiting(path: Path) -> list[str]:
    with Brain.open(path) as brain:
        return brain.waiting()


def _push(url: str, path: Path, before: Sequence[str], server: Server, *, quiet: bool) -> int:
    """Push what the command wrote; return 1 if something could not be merged, else 0.

    `before` are the pages that waited before the command. Somebody whom the server does not let
    write gets an error for a change, and only a message when reading later.
    """
    with Brain.open(path) as brain:
        waiting = brain.waiting()
        if not waiting:
            return 0
        if server is Server.READ_ONLY:
            screen.say(_why_not_pushed(url, waiting))
            return 0
        if server is Server.WRITABLE:
            try:
                pushed = exchange(brain, quiet=quiet, pull=False).pushed
            except Unreachable as error:
                screen.say(f"{error.message}.")
            except Refused as error:
                if not set(waiting) <= set(before):
                    raise
                screen.say(f"{error.message}.")
            else:
                assert pushed is not None
                if pushed.conflicts or pushed.refused or pushed.merged or before:
                    print_push(brain, pushed, quiet=quiet)
                return 1 if pushed.conflicts or pushed.refused else 0
    count, verb = counted(len(waiting), "changed page"), "waits" if len(waiting) == 1 else "wait"
    screen.say(f"{count} {verb} to be pushed: gbrain push --db {redact(url)}")
    return 0


def _why_not_pushed(url: str, slugs: Sequence[str]) -> str:
    """Return what to say about pages that were written before it was known who may write."""
    verb = "stays" if len(slugs) == 1 else "stay"
    named = ", ".join(slugs[:_MAX_NAMED]) + ("…" if len(slugs) > _MAX_NAMED else "")
    return (
        f"{counted(len(slugs), 'changed page')} {verb} on this computer, because you may only read "
        f"{redact(url)}: {named}. gbrain undo {slugs[0]} --db {redact(url)} takes a change back."
    )


@contextmanager
def _sync_in_background(url: str, path: Path) -> Iterator[None]:
    """Pull and push every few seconds while a long command runs, and say what is wrong once."""
    done = threading.Event()

    def work() -> None:
        reachable, said = True, ""
        while not done.wait(_SYNC_SECONDS):
            try:
                problem = _exchange(url, path)
            except Unreachable as error:
                if reachable:
                    screen.say(f"{error.message}. Changes wait to be pushed.")
                reachable = False
                continue
            except GbrainError as error:
                problem = redact(error.full_message)
            else:
                if not reachable:
                    screen.say(f"{redact(url)} answers again.")
                reachable = True
            if problem and problem != said:
                screen.say(problem)
            said = problem

    thread = threading.Thread(target=work, daemon=True, name="gbrain-sync")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_SYNC_SECONDS)


def _exchange(url: str, path: Path) -> str:
    """Pull and push once; return what to say, or nothing."""
    with Brain.open(path) as brain, brain.contact() as contact:
        may_write = contact.state.may_write
        # Others' pages are completed too: who pushed them may have been stopped.
        push = may_write and bool(brain.waiting() or not contact.state.is_indexed)
        done = brain.exchange(contact=contact, push=push)
        if not may_write and (waiting := brain.waiting()):
            return _why_not_pushed(url, waiting)
    conflicts = [slug for report in done if report for slug in report.conflicts]
    names = ", ".join(sorted(set(conflicts)))
    return f"Not pushed because of a conflict with the server: {names}." if names else ""
