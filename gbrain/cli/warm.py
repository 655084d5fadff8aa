"""`up`, `down` and `status`: a background process that keeps the brain open for fast answers."""

from __future__ import annotations

import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Db, Json, Module, Quiet, examples
from gbrain.cli.embedding import describe_switch
from gbrain.errors import GbrainError, UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.paths import resolve_brain
from gbrain.text.durations import parse_duration

if TYPE_CHECKING:
    from gbrain.brain_session import Session
    from gbrain.server.background import Ended
    from gbrain.server.socket_server import SocketServer

command = Module()

# A command waits for the chunks that are being embedded: 8 take a fifth of a second.
_CHUNKS_AT_ONCE = 8
# After the last command; and how often to look for new work.
_QUIET_SECONDS, _CHECK_SECONDS = 0.5, 20.0
# An error, such as a locked brain, doubles the wait up to this.
_MAX_RETRY_SECONDS = 600.0

_EMPTY = {
    "running": False,
    "pid": None,
    "brain": None,
    "running_seconds": None,
    "idle_seconds": None,
    "ends_after_idle_seconds": None,
    "answered": None,
    "memory_bytes": None,
}


@command.command(
    "up",
    epilog=examples(
        "gbrain up",
        "gbrain up --idle 8h",
        "gbrain up --foreground --idle off",
        "gbrain config set keep_warm 15m",
    ),
)
def up(
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay in this terminal until Ctrl-C.")
    ] = False,
    idle: Annotated[
        str | None,
        typer.Option(
            "--idle",
            metavar="TIME",
            help="End after this time without a command, such as 30m or 8h; off for never "
            "(default: the setting idle_minutes).",
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Keep the brain open in the background.

    Commands that read, such as search and query, then answer several times faster and print the
    same. The process uses some memory until gbrain down, or until no command came for a while.
    """
    from gbrain.server import background

    path = resolve_brain(db)
    # A missing or damaged file is reported here, not in the background.
    with Brain.open(path) as brain:
        minutes = _idle_minutes(idle, brain.settings.idle_minutes)
    if foreground:
        _serve(path, minutes, quiet=quiet)
        return
    status = background.warm_status(path)
    already = status is not None
    if status is None and (silent := background.silent_status(path)):
        raise GbrainError(
            _describe_silent(silent), hint="gbrain down ends it.", code="not_answering"
        )
    if status is None:
        status = background.start_and_wait(path, idle_minutes=minutes)
    if json:
        screen.write_json(_document(status))
    elif not quiet:
        screen.say(f"{'It is open already. ' if already else ''}{_describe(status)}")


def _idle_minutes(given: str | None, default: float) -> float:
    """Return after how many unused minutes the process ends; 0 for never."""
    if given is None:
        return default
    if given == "off":
        return 0
    seconds = parse_duration(given)
    if seconds is None:
        raise UsageError(f"--idle cannot be {given!r}", hint="Give a time such as 30m or 8h.")
    return seconds / 60


def _serve(path: Path, minutes: float, *, quiet: bool) -> None:
    """Run commands of other processes until one of them says stop, a signal, or idle time."""
    import anyio

    from gbrain.brain_session import Session
    from gbrain.server.socket_server import SocketServer

    def say_ready() -> None:
        if not quiet:
            screen.say(f"{path} is open for other commands. Press Ctrl-C to stop.")

    async def serve() -> None:
        session = Session(partial(Brain.open, path))
        server = SocketServer(session, str(path), 60 * minutes or None, dedicated=True)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_stop_on_signal, server)
                await session.run(_load, writes=True)
                group.start_soon(_embed_while_idle, session, server)
                await server.serve(say_ready)
                group.cancel_scope.cancel()
        finally:
            session.close()

    try:
        anyio.run(serve)
    except* GbrainError as errors:
        raise errors.exceptions[0] from None


async def _stop_on_signal(server: Any) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            server.stop()


async def _embed_while_idle(session: Session, server: SocketServer) -> None:
    """Embed what is due and go on with a switch of models, a few chunks between commands."""
    import anyio

    wait = _QUIET_SECONDS
    while True:
        await anyio.sleep(wait)
        if server.idle_seconds() < _QUIET_SECONDS:
            continue
        try:
            more = await session.run(_embed_some, writes=True)
            wait = _QUIET_SECONDS if more else _CHECK_SECONDS
        except GbrainError:
            # Without a usable model, queries say so and search by keyword; gbrain embed tells why.
            wait = min(max(2 * wait, _CHECK_SECONDS), _MAX_RETRY_SECONDS)


def _embed_some(brain: Brain) -> bool:
    return brain.embed_in_background(_CHUNKS_AT_ONCE).done > 0


def _load(brain: Brain) -> None:
    """Open the models and read what every query reads, before the first command comes."""
    brain.load_vectors()
    brain.query_with_trace("notes of today", mode="hybrid", depth="auto")


@command.command("down", epilog=examples("gbrain down", "gbrain down --db ~/notes/brain.db"))
def down(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """End the process that keeps the brain open.

    It finishes its command first. One that does not end within ten seconds, or does not answer, is
    ended by signals, at last by SIGKILL; nothing in the brain is lost.
    """
    from gbrain.server import background

    ended = background.stop_background(resolve_brain(db))
    if json:
        screen.write_json({**_document(ended.status if ended else None), "running": False})
    elif not quiet:
        screen.say(_describe_end(ended) if ended else "No process to end.")


def _describe_end(ended: Ended) -> str:
    process = f"Process {ended.status['pid']}"
    if ended.goes_on:
        return f"{process} no longer runs commands for others; it goes on with its own work."
    if ended.by == "request":
        return f"{process} has ended."
    return f"{process} did not end when asked, and was ended by {ended.by}."


@command.command("status", epilog=examples("gbrain status", "gbrain status --json | jq .running"))
def status(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Show whether a process keeps the brain open."""
    from gbrain.server import background

    path = resolve_brain(db)
    found = background.warm_status(path) or background.silent_status(path)
    if json:
        screen.write_json(_document(found))
    elif found:
        screen.write(_describe(found))
    elif not quiet:
        screen.say("No process keeps this brain open. gbrain up starts one.")
    if not (json or quiet):
        with suppress(GbrainError), Brain.open(resolve_brain(db)) as brain:
            if following := brain.next_model():
                screen.say(describe_switch(*following))
            for folder in brain.registered_folders():
                if folder.missing:
                    pages = counted(folder.missing, "page")
                    screen.say(f"{folder.root}: {pages} kept without a file. gbrain sync says why.")


def _document(status: dict[str, Any] | None) -> dict[str, Any]:
    return {**_EMPTY, "running": True, **status} if status else _EMPTY


def _describe(status: dict[str, Any]) -> str:
    if "answered" not in status:
        return f"{_describe_silent(status)}. gbrain down ends it."
    memory = status["memory_bytes"]
    size = f", {memory / 1e6:.0f} MB of memory" if memory else ""
    idle = status["ends_after_idle_seconds"]
    end = f" It ends after {counted(round(idle / 60), 'minute')} without a command." if idle else ""
    answered = counted(status["answered"], "command")
    return f"Process {status['pid']} keeps the brain open: {answered} answered{size}.{end}"


def _describe_silent(status: dict[str, Any]) -> str:
    process = f"Process {status['pid']}" if status["pid"] else "A process"
    return f"{process} keeps the brain open, but does not answer"
