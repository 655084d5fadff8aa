"""The program: runs a command and turns errors into a message, a hint and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from gbrain.errors import GbrainError

EVERYDAY, PAGES, STRUCTURE, QUALITY, CARE, START = (
    "Everyday", "Pages", "Structure", "Quality", "Settings and care", "First steps",
)  # fmt: skip

# Each command: the module that holds it and the panel of --help it stands in. A module is loaded
# only when one of its commands is called, so that a search starts fast.
COMMANDS: dict[str, tuple[str, str]] = {
    "search": ("search", EVERYDAY),
    "query": ("search", EVERYDAY),
    "explain": ("explain", EVERYDAY),
    "put": ("pages", PAGES),
    "get": ("pages", PAGES),
    "list": ("pages", PAGES),
    "delete": ("pages", PAGES),
    "rename": ("pages", PAGES),
    "history": ("versions", PAGES),
    "diff": ("versions", PAGES),
    "supersede": ("provenance", PAGES),
    "dedupe": ("dedupe", PAGES),
    "import": ("vault", EVERYDAY),
    "sync": ("vault", EVERYDAY),
    "export": ("vault", EVERYDAY),
    "timeline": ("timeline", STRUCTURE),
    "timeline-add": ("timeline", STRUCTURE),
    "tags": ("structure", STRUCTURE),
    "links": ("structure", STRUCTURE),
    "backlinks": ("structure", STRUCTURE),
    "why": ("provenance", STRUCTURE),
    "eval": ("evaluation", QUALITY),
    "selftest": ("selftest", QUALITY),
    "tune": ("selftest", QUALITY),
    "gaps": ("gaps", QUALITY),
    "verify": ("gaps", QUALITY),
    "alias": ("settings", CARE),
    "config": ("settings", CARE),
    "profile": ("profiles", CARE),
    "embed": ("embedding", CARE),
    "jobs": ("embedding", CARE),
    "model": ("models", CARE),
    "train-reranker": ("training", CARE),
    "stats": ("care", CARE),
    "doctor": ("care", CARE),
    "init": ("first", START),
    "demo": ("first", START),
    "completion": ("first", START),
}


class Commands(TyperGroup):
    """The commands by name, each loaded when it is asked for."""

    json_wanted = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        name, panel = COMMANDS[cmd_name]
        command = import_module(f"gbrain.cli.{name}").command(cmd_name)
        command.rich_help_panel = panel
        return command

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        self.json_wanted = "--json" in words
        if "_GBRAIN_COMPLETE" in os.environ:
            from typer.completion import completion_init  # type: ignore[attr-defined]

            completion_init()
        return super().main(words, *rest, **extra)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except GbrainError as error:
            self._report(error)
            raise typer.Exit(error.exit_code) from None
        except UnicodeEncodeError:
            self._report(GbrainError("An argument is not UTF-8", code="usage"))
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except typer.TyperException as error:
            if not self.json_wanted or not error.format_message():
                raise
            self._report(GbrainError(error.format_message(), code="usage"))
            raise typer.Exit(error.exit_code) from None

    def _report(self, error: GbrainError) -> None:
        if self.json_wanted:
            from gbrain.output.json import error_document

            print(error_document(error), file=sys.stderr)
            return
        from gbrain.output.text import printable

        print(f"Error: {printable(error.message)}", file=sys.stderr)
        if error.hint:
            print(f"Hint: {printable(error.hint)}", file=sys.stderr)


app = typer.Typer(
    cls=Commands,
    name="gbrain",
    help="A personal knowledge brain in one file: your notes, found by word and by meaning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root() -> None:
    """A personal knowledge brain in one file: your notes, found by word and by meaning."""


def main() -> None:
    """The entry point of the installed program."""
    for stream in (sys.stdout, sys.stderr):
        # A name on the command line may hold bytes that no encoding knows; never fail to print it.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code: object = 0
    try:
        app()
    except SystemExit as ended:
        code = ended.code
    # The brain is closed and all is written: taking the interpreter apart would only cost time.
    with suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)
