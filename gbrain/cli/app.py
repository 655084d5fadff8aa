"""The program: load and run a command, turn errors into a message, a hint and an exit code."""

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

EVERYDAY, PAGES, STRUCTURE, QUALITY = "Everyday", "Pages", "Structure", "Quality"
MAINTENANCE, AGENTS, START = "Settings and maintenance", "Agents", "First steps"

# Each command with its module in gbrain/cli and its panel in --help. A module is loaded only when
# one of its commands runs, so that a search starts fast.
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
    "verify": ("citations", QUALITY),
    "train-reranker": ("training", QUALITY),
    "alias": ("settings", MAINTENANCE),
    "config": ("settings", MAINTENANCE),
    "profile": ("settings", MAINTENANCE),
    "embed": ("embedding", MAINTENANCE),
    "jobs": ("embedding", MAINTENANCE),
    "model": ("models", MAINTENANCE),
    "stats": ("doctor", MAINTENANCE),
    "doctor": ("doctor", MAINTENANCE),
    "backup": ("backup", MAINTENANCE),
    "restore": ("backup", MAINTENANCE),
    "compact": ("backup", MAINTENANCE),
    "serve": ("serve", AGENTS),
    "schema": ("schema", AGENTS),
    "init": ("init", START),
    "demo": ("init", START),
    "completion": ("completion", START),
}

# If this variable is set, a bug is shown with its traceback, which may contain text of pages.
DEBUG_VARIABLE = "GBRAIN_DEBUG"
# EX_SOFTWARE of sysexits.h.
EXIT_INTERNAL_ERROR = 70

# Command names of other programs, with the command that does the same here.
OTHER_NAMES = {
    "find": "search", "ask": "query", "show": "get", "cat": "get", "ls": "list", "new": "edit",
    "add": "capture", "note": "capture", "rm": "delete", "remove": "delete", "mv": "rename",
    "settings": "config", "status": "stats", "help": "--help", "mcp": "serve",
}  # fmt: skip


class Commands(TyperGroup):
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
        return super().main(words, *rest, **{**extra, "prog_name": "gbrain"})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with self._reporting(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with self._reporting(ctx):
            return super().invoke(ctx)

    @contextmanager
    def _reporting(self, ctx: Any) -> Iterator[None]:
        """Turn errors of the block into a message, a hint and an exit code."""
        try:
            yield
        except GbrainError as error:
            report(error, as_json=self.json_wanted)
            raise typer.Exit(error.exit_code) from None
        except UnicodeEncodeError:
            unreadable = GbrainError("An argument is not UTF-8", code="usage", hint=_help_hint(ctx))
            report(unreadable, as_json=self.json_wanted)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            report(_system_error(error), as_json=self.json_wanted)
            raise typer.Exit(1) from None
        except (typer.Exit, typer.Abort):
            raise
        except typer.TyperException as error:
            # A group without a subcommand has already printed its help.
            if error.format_message():
                hint = _position_hint(ctx, error) or _help_hint(getattr(error, "ctx", None) or ctx)
                usage = GbrainError(error.format_message(), code="usage", hint=hint)
                report(usage, as_json=self.json_wanted)
            raise typer.Exit(error.exit_code) from None
        except Exception as error:
            from gbrain.cli.corruption import find_corruption

            damage = find_corruption(error, self.words)
            if damage is None:
                raise
            report(damage, as_json=self.json_wanted)
            raise typer.Exit(1) from None


def report(error: GbrainError, *, as_json: bool) -> None:
    """Print an error and its hint to standard error."""
    if as_json:
        from gbrain.output.json import error_document

        print(error_document(error), file=sys.stderr)
        return
    from gbrain.output.plain_text import without_newlines

    print(f"Error: {without_newlines(error.message)}", file=sys.stderr)
    print(f"Hint: {without_newlines(error.hint)}", file=sys.stderr)


def _system_error(error: OSError) -> GbrainError:
    """Return an error of the operating system as an error of gbrain."""
    what = os.fsdecode(error.filename) if error.filename else "The output"
    return GbrainError(
        f"{what} cannot be read or written: {error.strerror or type(error).__name__}",
        hint="Check that it exists, its permissions, and the free disk space.",
        code="system",
    )


def _internal_error(error: Exception) -> GbrainError:
    """Return an unexpected error without its message, which may contain text of a page."""
    where = error.__traceback__
    while where and where.tb_next:
        where = where.tb_next
    place = where and f" at {where.tb_frame.f_globals.get('__name__')}:{where.tb_lineno}"
    return GbrainError(
        f"gbrain failed: {type(error).__name__}{place or ''}",
        hint=f"This is a bug in gbrain. {DEBUG_VARIABLE}=1 shows the traceback, "
        "which may contain text of your pages.",
        code="internal",
    )


def _help_hint(ctx: Any) -> str:
    """Return a hint that names the help of the command."""
    named = ctx.parent is None and ctx.invoked_subcommand in COMMANDS
    words = f"gbrain {ctx.invoked_subcommand}" if named else ctx.command_path
    return f"{words} -h shows the options and examples."


def _position_hint(ctx: Any, error: typer.TyperException) -> str | None:
    """Return a hint for an option that was written before the command."""
    option = getattr(error, "option_name", None)
    if option is None or getattr(error, "ctx", None) is not ctx:
        return None
    return f"Put options after the command: gbrain COMMAND {option}. Only --db may come before."


app = typer.Typer(
    cls=Commands,
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
        typer.Option("--db", metavar="FILE", help="Brain file for the command that follows."),
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


def main() -> None:
    """Run the program; the entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        # A file name may contain bytes that are not valid in any encoding.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = run_command(sys.argv[1:])
    # The brain is closed, and the normal shutdown of the interpreter would only cost time.
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        # An error while printing has already been reported.
        if not code:
            report(_system_error(error), as_json="--json" in sys.argv)
            code = 1
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def run_command(words: list[str]) -> int:
    """Run the command and return its exit code; an unexpected error is reported in one line."""
    try:
        app(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        report(_internal_error(error), as_json="--json" in words)
        return EXIT_INTERNAL_ERROR
    return 0
