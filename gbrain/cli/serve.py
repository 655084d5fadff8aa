"""`serve`: offer the brain to an agent as MCP tools."""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db
from gbrain.output import screen

command = Module()


@command.command(
    "serve",
    epilog=examples(
        "gbrain serve", "gbrain serve --read-only", "gbrain serve --db ~/notes/brain.db"
    ),
)
def serve(
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Offer no tools that write to the brain."),
    ] = False,
    db: Db = None,
) -> None:
    """Offer the brain to an AI agent: an MCP server on standard input and output."""
    open_brain = partial(Brain.open, db, read_only=read_only)
    # A missing or damaged file is reported before the protocol starts.
    open_brain().close()
    if sys.stdin.isatty():
        screen.say("Waiting for an agent on standard input. Press Ctrl-C to stop.")
    # Python would wait for the thread that reads standard input. Writes are transactions, so
    # ending at once loses nothing that was acknowledged.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    import anyio

    from gbrain.mcp import server

    anyio.run(partial(server.serve, open_brain, read_only=read_only))
