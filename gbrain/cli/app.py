"""The program as Typer sees it: find and run a command, turn its errors into messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from gbrain.errors import UsageError
from gbrain.locations import is_url
from gbrain.server.client import brain_option

EVERYDAY, PAGES, STRUCTURE, QUALITY = "Everyday", "Pages", "Structure", "Quality"
SHARING = "Several machines"
MAINTENANCE, AGENTS, START = "Settings and maintenance", "Agents", "First steps"

# Each command with its module in gbrain/cli and its panel in --help. A module is loaded only when
# one of its commands runs, so that a search starts fast.
COMMANDS: dict[str, tuple[str, str]] = {
    "search": ("search", EVERYDAY),
    "query": ("search", EVERYDAY),
    "open": ("edit", EVERYDAY),
    "capture": ("edit", EVERYDAY),
    "today": ("tasks", EVERYDAY),
    "tasks": ("tasks", EVERYDAY),
    "done": ("tasks", EVERYDAY),
    "ui": ("ui", EVERYDAY),
    "import": ("import_export", EVERYDAY),
    "sync": ("import_export", EVERYDAY),
    "export": ("import_export", EVERYDAY),
    "edit": ("edit", PAGES),
    "put": ("pages", PAGES),
    "get": ("pages", PAGES),
    "list": ("pages", PAGES),
    "delete": ("pages", PAGES),
    "rename": ("pages", PAGES),
    "history": ("history", PAGES),
    "diff": ("history", PAGES),
    "undo": ("history", PAGES),
    "conflicts": ("conflicts", PAGES),
    "resolve": ("conflicts", PAGES),
    "supersede": ("provenance", PAGES),
    "dedupe": ("provenance", PAGES),
    "timeline": ("timeline", STRUCTURE),
    "timeline-add": ("timeline", STRUCTURE),
    "tags": ("structure", STRUCTURE),
    "links": ("structure", STRUCTURE),
    "backlinks": ("structure", STRUCTURE),
    "graph": ("structure", STRUCTURE),
    "why": ("provenance", STRUCTURE),
    "remote": ("remotes", SHARING),
    "clone": ("remotes", SHARING),
    "pull": ("remotes", SHARING),
    "push": ("remotes", SHARING),
    "explain": ("search", QUALITY),
    "eval": ("evaluation", QUALITY),
    "selftest": ("selftest", QUALITY),
    "tune": ("selftest", QUALITY),
    "gaps": ("doctor", QUALITY),
    "verify": ("doctor", QUALITY),
    "train-reranker": ("models", QUALITY),
    "alias": ("settings", MAINTENANCE),
    "config": ("settings", MAINTENANCE),
    "profile": ("settings", MAINTENANCE),
    "folders": ("folders", MAINTENANCE),
    "embed": ("embedding", MAINTENANCE),
    "jobs": ("embedding", MAINTENANCE),
    "model": ("models", MAINTENANCE),
    "stats": ("doctor", MAINTENANCE),
    "doctor": ("doctor", MAINTENANCE),
    "backup": ("backup", MAINTENANCE),
    "restore": ("backup", MAINTENANCE),
    "compact": ("backup", MAINTENANCE),
    "up": ("warm", MAINTENANCE),
    "down": ("warm", MAINTENANCE),
    "status": ("warm", MAINTENANCE),
    "serve": ("integrations", AGENTS),
    "token": ("tokens", AGENTS),
    "schema": ("integrations", AGENTS),
    "init": ("init", START),
    "demo": ("init", START),
    "completion": ("integrations", START),
}

# Command names of other programs, with the command that does the same here.
OTHER_NAMES = {
    "find": "search", "ask": "query", "show": "get", "cat": "get", "ls": "list", "new": "edit",
    "add": "capture", "note": "capture", "rm": "delete", "remove": "delete", "mv": "rename",
    "todo": "tasks", "agenda": "today", "settings": "config", "info": "stats",
    "help": "--help", "mcp": "serve", "start": "up", "stop": "down", "web": "ui", "browse": "ui",
}  # fmt: skip


class Program(TyperGroup):
    """The commands by name, each loaded when it is used."""

    json_wanted = False
    words: Sequence[str] = ()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        name, panel = COMMANDS[cmd_name]
        command = import_module(f"gbrain.cli.{name}").command(cmd_name)
        command.rich_help_panel = panel
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except typer.TyperException:
            from gbrain.messages import did_you_mean, similar_names

            typed = args[0]
            similar = (
                [OTHER_NAMES[typed]] if typed in OTHER_NAMES else similar_names(typed, COMMANDS)
            )
            hint = did_you_mean((f"gbrain {name}" for name in similar), "gbrain -h lists them all.")
            raise UsageError(f"There is no command {typed!r}", hint=hint) from None

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        self.json_wanted, self.words = "--json" in words, words
        named = brain_option(words) or os.environ.get("GBRAIN_DB", "")
        if is_url(named):
            from gbrain.cli.shared_brain import run_on_replica

            return run_on_replica(named, words, lambda own: self._run(own, *rest, **extra))
        return self._run(words, *rest, **extra)

    def _run(self, words: list[str], *rest: Any, **extra: Any) -> Any:
        self.words = words
        return super().main(words, *rest, **{**extra, "prog_name": "gbrain"})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with self._report_errors(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with self._report_errors(ctx):
            return super().invoke(ctx)

    @contextmanager
    def _report_errors(self, ctx: Any) -> Iterator[None]:
        """Turn errors of the block into a message, a hint and an exit code."""
        try:
            yield
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except Exception as error:
            from gbrain.cli.errors import explain_error, report

            explained = explain_error(error, ctx, self.words)
            if explained is None:
                raise
            # A group without a subcommand has already printed its help.
            if explained.message:
                report(explained, as_json=self.json_wanted)
            raise typer.Exit(explained.exit_code) from None


app = typer.Typer(
    cls=Program,
    name="gbrain",
    help="A personal knowledge brain in one file: find your notes by keyword and by meaning.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    db: Annotated[
        Path | None,
        typer.Option("--db", metavar="FILE", help="Use this brain file or shared brain (a URL)."),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """A personal knowledge brain in one file: find your notes by keyword and by meaning."""
    if version:
        from gbrain import __version__

        print(f"gbrain {__version__}")
        raise typer.Exit
    if db is not None:
        os.environ["GBRAIN_DB"] = str(db)
    if ctx.invoked_subcommand is not None:
        return
    from gbrain.output.screen import on_terminal

    if not on_terminal():
        print(ctx.get_help())
        raise typer.Exit(2)
    from gbrain.cli.init import overview

    overview()


@cache
def program() -> Any:
    """Return the program with its commands; building it takes milliseconds."""
    return get_command(app)
