"""`serve`: the brain as tools for an agent."""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db
from gbrain.output import screen

if TYPE_CHECKING:
    from collections.abc import Callable

command = Module()


@command.command(
    "serve",
    epilog=examples(
        "gbrain serve", "gbrain serve --read-only", "gbrain serve --db ~/notes/brain.db"
    ),
)
def serve(
    read_only: Annotated[
        bool, typer.Option("--read-only", help="No tool that writes; the file cannot be changed.")
    ] = False,
    db: Db = None,
) -> None:
    """Serve the brain to an agent: MCP on standard input and output."""
    opener: Callable[[], Brain] = partial(Brain.open, db)
    if read_only:
        from gbrain.mcp.read_only import open_unwritable

        opener = partial(open_unwritable, db)
    # What is wrong with the file is said before a protocol begins.
    opener().close()
    if sys.stdin.isatty():
        screen.say("Waiting for an agent on standard input. Ctrl-C ends it.")
    # Python would wait for the thread that reads standard input; every write is whole anyway.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    import anyio

    from gbrain.mcp import server

    anyio.run(partial(server.serve, opener, read_only=read_only))
