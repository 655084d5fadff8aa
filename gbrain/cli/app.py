"""The program: runs a command and turns errors into a message, a hint and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gbrain.errors import GbrainError, UsageError

EVERYDAY, PAGES, STRUCTURE, QUALITY, CARE, AGENTS, START = (
    "Everyday", "Pages", "Structure", "Quality", "Settings and care", "Agents", "First steps",
)  # fmt: skip

# Each command: the module that holds it and the panel of --help it stands in. A module is loaded
# only when one of its commands is called, so that a search starts fast.
COMMANDS: dict[str, tuple[str, str]] = {
    "search": ("search", EVERYDAY),
    "query": ("search", EVERYDAY),
    "open": ("edit", EVERYDAY),
    "capture": ("edit", EVERYDAY),
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
    "supersede": ("provenance", PAGES),
    "dedupe": ("dedupe", PAGES),
    "timeline": ("timeline", STRUCTURE),
    "timeline-add": ("timeline", STRUCTURE),
    "tags": ("structure", STRUCTURE),
    "links": ("structure", STRUCTURE),
    "backlinks": ("structure", STRUCTURE),
    "graph": ("graph", STRUCTURE),
    "why": ("provenance", STRUCTURE),
    "explain": ("explain", QUALITY),
    "eval": ("evaluation", QUALITY),
    "selftest": ("selftest", QUALITY),
    "tune": ("selftest", QUALITY),
    "gaps": ("gaps", QUALITY),
    "verify": ("gaps", QUALITY),
    "train-reranker": ("training", QUALITY),
    "alias": ("settings", CARE),
    "config": ("settings", CARE),
    "profile": ("profiles", CARE),
    "embed": ("embedding", CARE),
    "jobs": ("embedding", CARE),
    "model": ("models", CARE),
    "stats": ("doctor", CARE),
    "doctor": ("doctor", CARE),
    "backup": ("backup", CARE),
    "restore": ("backup", CARE),
    "compact": ("backup", CARE),
    "serve": ("serve", AGENTS),
    "schema": ("schema", AGENTS),
    "init": ("init", START),
    "demo": ("init", START),
    "completion": ("completion", START),
}

# Set to any value, a bug is shown with its traceback, and perhaps with words of a page.
DEBUG = "GBRAIN_DEBUG"
# The exit code of a bug, as sysexits.h names it.
INTERNAL = 70

# What people type who come from other programs.
MEANT = {
    "find": "search", "ask": "query", "show": "get", "cat": "get", "ls": "list", "new": "edit",
    "add": "capture", "note": "capture", "rm": "delete", "remove": "delete", "mv": "rename",
    "settings": "config", "status": "stats", "help": "--help", "mcp": "serve",
}  # fmt: skip


class Commands(TyperGroup):
    """The commands by name, each loaded when it is asked for."""

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
            similar = [MEANT[typed]] if typed in MEANT else similar_names(typed, COMMANDS)
            hint = did_you_mean((f"gbrain {name}" for name in similar), "gbrain -h lists them all.")
            raise UsageError(f"There is no command {typed!r}", hint=hint) from None

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        self.json_wanted, self.words = "--json" in words, words
        return super().main(words, *rest, **{**extra, "prog_name": "gbrain"})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with self._reporting(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with self._reporting(ctx):
            return super().invoke(ctx)

    @contextmanager
    def _reporting(self, ctx: Any) -> Iterator[None]:
        """What goes wrong in the block becomes a message, a hint and an exit code."""
        try:
            yield
        except GbrainError as error:
            report(error, as_json=self.json_wanted)
            raise typer.Exit(error.exit_code) from None
        except UnicodeEncodeError:
            unreadable = GbrainError("An argument is not UTF-8", code="usage", hint=_how(ctx))
            report(unreadable, as_json=self.json_wanted)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            report(_refused(error), as_json=self.json_wanted)
            raise typer.Exit(1) from None
        except (typer.Exit, typer.Abort):
            raise
        except typer.TyperException as error:
            # A group that is called alone has printed its help; there is nothing to add.
            if error.format_message():
                hint = _where(ctx, error) or _how(getattr(error, "ctx", None) or ctx)
                told = GbrainError(error.format_message(), code="usage", hint=hint)
                report(told, as_json=self.json_wanted)
            raise typer.Exit(error.exit_code) from None
        except Exception as error:
            from gbrain.cli.corruption import find_corruption

            damage = find_corruption(error, self.words)
            if damage is None:
                raise
            report(damage, as_json=self.json_wanted)
            raise typer.Exit(1) from None


def report(error: GbrainError, *, as_json: bool) -> None:
    """An error and what to do about it, on standard error."""
    if as_json:
        from gbrain.output.json import error_document

        print(error_document(error), file=sys.stderr)
        return
    from gbrain.output.plain_text import without_newlines

    print(f"Error: {without_newlines(error.message)}", file=sys.stderr)
    print(f"Hint: {without_newlines(error.hint)}", file=sys.stderr)


def _refused(error: OSError) -> GbrainError:
    """What the system did not let gbrain do."""
    what = os.fsdecode(error.filename) if error.filename else "The output"
    return GbrainError(
        f"{what} cannot be read or written: {error.strerror or type(error).__name__}",
        hint="Check that it is there, who may use it, and the room on its disk.",
        code="system",
    )


def _bug(error: Exception) -> GbrainError:
    """What an error that nobody foresaw is to its user: its own words may be those of a page."""
    where = error.__traceback__
    while where and where.tb_next:
        where = where.tb_next
    place = where and f" at {where.tb_frame.f_globals.get('__name__')}:{where.tb_lineno}"
    return GbrainError(
        f"gbrain failed: {type(error).__name__}{place or ''}",
        hint=f"This is a bug in gbrain. {DEBUG}=1 shows all of it, words of your pages perhaps.",
        code="internal",
    )


def _how(ctx: Any) -> str:
    """Where to read how the command is called."""
    named = ctx.parent is None and ctx.invoked_subcommand in COMMANDS
    words = f"gbrain {ctx.invoked_subcommand}" if named else ctx.command_path
    return f"{words} -h shows how it is called."


def _where(ctx: Any, error: typer.TyperException) -> str | None:
    """Where to write an option that was written before the command."""
    option = getattr(error, "option_name", None)
    if option is None or getattr(error, "ctx", None) is not ctx:
        return None
    return f"Options stand after the command: gbrain COMMAND {option}. Only --db may come first."


app = typer.Typer(
    cls=Commands,
    name="gbrain",
    help="A personal knowledge brain in one file: your notes, found by word and by meaning.",
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
        typer.Option("--db", metavar="FILE", help="The brain file, for whichever command follows."),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Show the program's version.")] = False,
) -> None:
    """A personal knowledge brain in one file: your notes, found by word and by meaning."""
    if version:
        from gbrain import __version__

        print(f"gbrain {__version__}")
        raise typer.Exit
    if db is not None:
        # A command that is told no other file asks there.
        os.environ["GBRAIN_DB"] = str(db)
    if ctx.invoked_subcommand is not None:
        return
    from gbrain.output.screen import on_terminal

    if not on_terminal():
        print(ctx.get_help())
        raise typer.Exit(2)
    from gbrain.cli.init import overview

    overview()


def main() -> None:
    """The entry point of the installed program."""
    for stream in (sys.stdout, sys.stderr):
        # A name on the command line may hold bytes that no encoding knows; never fail to print it.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = ended(sys.argv[1:])
    # The brain is closed and all is written: taking the interpreter apart would only cost time.
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        # What could not be written when it was printed has been told then.
        if not code:
            report(_refused(error), as_json="--json" in sys.argv)
            code = 1
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def ended(words: list[str]) -> int:
    """The exit code of the command that the words call; a bug, too, is told in one line."""
    try:
        app(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        report(_bug(error), as_json="--json" in words)
        return INTERNAL
    return 0
