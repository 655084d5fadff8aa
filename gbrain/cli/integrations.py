"""`serve`, `schema` and `completion`: what agents, programs and shells use of gbrain."""

from __future__ import annotations

import os
import signal
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Db, Json, Module, examples
from gbrain.output import screen
from gbrain.paths import resolve_brain

command = Module()

SCRIPTS = Path(__file__).parent / "shells"


@command.command(
    "serve",
    epilog=examples(
        "gbrain serve", "gbrain serve --read-only", "gbrain serve --db ~/notes/brain.db"
    ),
)
def serve(
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Allow no writes to the brain."),
    ] = False,
    db: Db = None,
) -> None:
    """Give an AI agent access to the brain (MCP server).

    It speaks the Model Context Protocol (MCP) on standard input and output.
    """
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
    from gbrain.server.socket_server import serve_beside

    # What it answers to commands would differ from what they print themselves: it cannot write.
    beside = None if read_only else partial(serve_beside, str(resolve_brain(db)))
    anyio.run(partial(server.serve, open_brain, read_only=read_only, beside=beside))


@command.command(
    "schema",
    epilog=examples(
        "gbrain schema",
        "gbrain schema query | jq .properties",
        "gbrain schema 'config list' > settings.schema.json",
    ),
)
def schema(
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="A document, or a command that prints it."),
    ] = None,
    json: Json = False,
) -> None:
    """Show the JSON Schema of what a command prints.

    Without a NAME it lists the documents.
    """
    from gbrain.output.schemas import document_schema, list_documents

    if name:
        found = document_schema(" ".join(name))
        screen.write_json(found) if json else screen.write(_format_json(found))
        return
    known = list_documents()
    if json:
        screen.write_json({"schemas": [document._asdict() for document in known]})
        return
    rows = [(d.name, ", ".join(d.commands), d.about) for d in known]
    screen.write_table(("Document", "Printed by", "What it is"), rows, "")


def _format_json(document: object) -> str:
    from json import dumps

    return dumps(document, indent=2, ensure_ascii=False)


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@command.command(
    "completion",
    epilog=examples(
        "echo 'eval \"$(gbrain completion bash)\"' >> ~/.bashrc",
        "echo 'eval \"$(gbrain completion zsh)\"' >> ~/.zshrc",
        "gbrain completion fish > ~/.config/fish/completions/gbrain.fish",
    ),
)
def completion(
    shell: Annotated[Shell | None, typer.Argument(help="Shell (default: $SHELL).")] = None,
) -> None:
    """Print a script for Tab completion in your shell.

    It completes commands, options, slugs, tags and settings.
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    known = name if name in Shell.__members__ else Shell.bash
    screen.write((SCRIPTS / f"gbrain.{known}").read_text("utf-8"))
