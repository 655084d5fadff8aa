"""`serve`, `schema` and `completion`: what agents, programs and shells use of gbrain."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Db, Json, Module, NoReplica, examples
from gbrain.cli.open_brain import may_only_read, reopen_without_replica
from gbrain.errors import UsageError
from gbrain.output import screen
from gbrain.paths import resolve_brain

command = Module()

SCRIPTS = Path(__file__).parent / "shells"


@command.command(
    "serve",
    epilog=examples(
        "gbrain serve",
        "gbrain serve --read-only",
        "gbrain serve --http",
        "gbrain serve --http 0.0.0.0:8420 --cert cert.pem --key key.pem",
    ),
)
def serve(
    address: Annotated[
        str | None,
        typer.Argument(metavar="[HOST:PORT]", help="With --http: address (127.0.0.1:8420)."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP: MCP at /mcp, JSON below /api.")
    ] = False,
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Allow no writes to the brain."),
    ] = False,
    cert: Annotated[
        Path | None, typer.Option("--cert", metavar="FILE", help="TLS certificate (PEM).")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="Private key of --cert (PEM).")
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option("--behind-proxy", help="Allow any address; a proxy adds the TLS."),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Accept this host name too; repeatable."),
    ] = None,
    db: Db = None,
    no_replica: NoReplica = False,
) -> None:
    """Give an AI agent access to the brain (MCP server).

    It speaks the Model Context Protocol (MCP) on standard input and output. With --http it answers
    over HTTP instead: MCP at /mcp, and under /api the JSON that commands print with --json. Every
    request needs a token that gbrain token add makes.
    """
    read_only = read_only or may_only_read(db)
    open_brain: Callable[[], Brain] = partial(Brain.open, db, read_only=read_only)
    if no_replica:
        # In this thread: others do not see the URL.
        open_brain, read_only = reopen_without_replica(), True
    # A missing or damaged file is reported before the protocol starts.
    open_brain().close()
    if http:
        hosts = tuple(allow_host or ())
        with _run_commands_too(open_brain, db, wanted=not read_only):
            _serve_http(
                open_brain, address, read_only, cert, key, behind_proxy, hosts, not no_replica
            )
        return
    if address or cert or key or behind_proxy or allow_host:
        raise UsageError(
            "An address, --cert, --key, --behind-proxy and --allow-host need --http",
            hint="For example: gbrain serve --http 127.0.0.1:8420",
        )
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
    anyio.run(
        partial(
            server.serve, open_brain, read_only=read_only, replica=not no_replica, beside=beside
        )
    )


def _run_commands_too(
    open_brain: Callable[[], Brain], db: Path | None, *, wanted: bool
) -> AbstractContextManager[None]:
    from gbrain.server.socket_server import serve_in_background

    return serve_in_background(open_brain, str(resolve_brain(db))) if wanted else nullcontext()


def _serve_http(
    open_brain: Callable[[], Brain],
    address: str | None,
    read_only: bool,
    cert: Path | None,
    key: Path | None,
    behind_proxy: bool,
    allowed_hosts: tuple[str, ...],
    replica: bool,
) -> None:
    from gbrain.server.address import parse_address, refuse_plain_address

    host, port = parse_address(address)
    if (cert is None) != (key is None):
        raise UsageError("--cert and --key belong together", hint="Give both files.")
    refuse_plain_address(host, encrypted=cert is not None or behind_proxy)
    from gbrain.server.http import HttpOptions, Listening, serve_http

    def announce(listening: Listening) -> None:
        screen.say(f"Listening on {listening.url} Press Ctrl-C to stop.")

    serve_http(
        open_brain,
        HttpOptions(host, port, read_only, cert, key, allowed_hosts, replica=replica),
        announce,
    )


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
        typer.Argument(metavar="[NAME...]", help="A document, or a command that prints it."),
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
    shell: Annotated[
        Shell | None,
        typer.Argument(metavar="[SHELL]", help="bash, zsh or fish (default: your $SHELL)."),
    ] = None,
) -> None:
    """Print a script for Tab completion in your shell.

    It completes commands, options, slugs, tags and settings.
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    known = name if name in Shell.__members__ else Shell.bash
    screen.write((SCRIPTS / f"gbrain.{known}").read_text("utf-8"))
