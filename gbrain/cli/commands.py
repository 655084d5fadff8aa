"""Build commands: their registration, the options they share, their input and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sized
from contextlib import ExitStack
from functools import cache, wraps
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from typer.core import TyperCommand
from typer.main import get_command
from typer.models import TyperPath

from gbrain.errors import BadPage, NotFound, UsageError
from gbrain.query_options import QUERY_OPTIONS, QueryOption

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.store.folders import FileResult
    from gbrain.types import Scope


class Command(TyperCommand):
    """A command whose help gives ranges, defaults and requirements in words or not at all.

    Typer would print `[1<=x<=1000]`, `[default: 10]` and `[required]` in separate columns,
    which leaves half a line for the text. An error says which numbers an option takes.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from typer import rich_utils

        rich_utils.RANGE_STRING = rich_utils.REQUIRED_LONG_STRING = ""
        rich_utils.DEFAULT_STRING = ""
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; decline paths in a warm process, which has another current folder."""
        from gbrain.cli.open_brain import Declined, lent_brain

        if lent_brain.get():
            # The file of --db is compared with the one that the process has open.
            paths = (
                p.name for p in self.params if isinstance(p.type, TyperPath) and p.name != "db"
            )
            if any(ctx.params.get(name) for name in paths):
                raise Declined
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; Typer writes {SLUG} for an argument SLUG."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class Commands(typer.Typer):
    """One command, or the subcommands of a group."""

    def __init__(self) -> None:
        super().__init__(
            add_completion=False,
            pretty_exceptions_enable=False,
            rich_markup_mode="rich",
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Register a function as the command `name`; its docstring is the help."""

        def register(function: Any) -> Any:
            added = super(Commands, self).command(
                name, cls=Command, help=_unwrap(function.__doc__), **options
            )
            return added(function)

        return register


class Module:
    """The commands of one module; `module("search")` builds the one called search."""

    def __init__(self) -> None:
        self._apps: dict[str, typer.Typer] = {}
        self._built: dict[str, Any] = {}

    def command(self, name: str, epilog: str | None = None) -> Callable[[Any], Any]:
        """Register a function as the command `name`; `epilog` contains its examples."""

        def register(function: Any) -> Any:
            app = Commands()
            app.command(name, epilog=epilog)(function)
            self._apps[name] = app
            return function

        return register

    def group(
        self,
        name: str,
        help: str,
        epilog: str | None = None,
        default: Callable[..., None] | None = None,
    ) -> Commands:
        """Register a command with subcommands; without one it runs `default`, or prints help.

        `default` takes --quiet, --json and --db.
        """
        app = Commands()
        app.info.name, app.info.epilog = name, epilog

        def run_default(
            ctx: typer.Context, quiet: Quiet = False, json: Json = False, db: Db = None
        ) -> None:
            assert default is not None
            if ctx.invoked_subcommand is None:
                default(quiet=quiet, json=json, db=db)
            elif quiet or json or db:
                from gbrain.errors import UsageError

                raise UsageError(
                    "Options come after the subcommand",
                    hint=f"For example: gbrain {name} {ctx.invoked_subcommand} --json",
                )

        app.callback(
            help=help,
            epilog=epilog,
            no_args_is_help=default is None,
            invoke_without_command=default is not None,
        )(run_default if default else lambda: None)
        self._apps[name] = app
        return app

    def __call__(self, name: str) -> Any:
        # A warm process runs the same commands many times.
        if name not in self._built:
            self._built[name] = get_command(self._apps[name])
            self._built[name].name = name
        return self._built[name]


def _unwrap(text: str | None) -> str:
    """Return a docstring with one line for each paragraph, so that help is wrapped only once."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(text or "").split("\n\n"))


@cache
def examples(*lines: str) -> str:
    """Return the epilog of a command's help: one example per paragraph."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in lines)])


def number_option(*flags: str, help: str, low: int = 1, high: int = 10**9) -> Any:
    """Return an option that takes a whole number from `low` to `high`."""
    return typer.Option(*flags, metavar="N", min=low, max=high, help=help)


Db = Annotated[
    Path | None,
    typer.Option("--db", metavar="FILE", help="Use this brain file or shared brain (a URL)."),
]
NoReplica = Annotated[
    bool,
    typer.Option(
        "--no-replica", help="Search a shared brain on its server, with default settings."
    ),
]
Slug = Annotated[str, typer.Argument(metavar="SLUG", help="Slug, title or alias of a page.")]
PageOrAll = Annotated[
    str | None, typer.Argument(metavar="[SLUG]", help="Page (default: all pages).")
]
Source = Annotated[
    str | None,
    typer.Option("--source", metavar="SOURCE", help="Where the information comes from."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
UpdateLinks = Annotated[
    bool, typer.Option("--update-links", help="Change links to renamed pages to the new name.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Suppress progress and messages.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print long output without a pager.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 3 if nothing is found.")]
Expected = Annotated[
    int | None,
    number_option("--expected-version", help="Fail unless the page is at version N.", low=0),
]

AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="Use the brain as it was on DATE."),
]

# The values of the options that `with_options` adds to a command, by name.
Given = dict[str, Any]

_ANNOTATIONS: dict[str, Any] = {
    "text": str | None,
    "texts": list[str] | None,
    "pairs": list[str] | None,
    "flag": bool,
    "number": int | None,
}


def with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the query options `names` to a command, which gets their values as `given`.

    Its help lists the options at the position of its parameter `given`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        added = [_parameter(QUERY_OPTIONS[name]) for name in names]
        own = signature(function, eval_str=True)
        parameters: list[Parameter] = []
        for parameter in own.parameters.values():
            parameters += added if parameter.name == "given" else [parameter]

        @wraps(function)
        def collect(**values: Any) -> None:
            given = {name: values.pop(name) for name in names}
            function(given=given, **values)

        collect.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return collect

    return decorate


def _parameter(option: QueryOption) -> Parameter:
    flags = (option.flag, option.short) if option.short else (option.flag,)
    info = typer.Option(
        *flags,
        metavar=option.metavar,
        help=option.help,
        min=1 if option.maximum else None,
        max=option.maximum or None,
        rich_help_panel="Filters" if option.parse else option.panel,
    )
    annotation = option.literal | None if option.literal else _ANNOTATIONS[option.kind]
    return Parameter(
        option.name,
        Parameter.POSITIONAL_OR_KEYWORD,
        default=False if option.kind == "flag" else None,
        annotation=Annotated[annotation, info],
    )


def report_file(file: FileResult | None, *, quiet: bool, json: bool) -> None:
    """Say what happened to the file of a page; exit with 1 if the user has to do something."""
    from gbrain.output.screen import say

    if file is None:
        return
    if file.message and not json and (file.needs_user or not quiet):
        say(file.message)
    if file.needs_user:
        raise typer.Exit(1)


def refuse_together(given: Mapping[str, bool]) -> None:
    """Raise UsageError if more than one of these options, by flag, is given."""
    if sum(given.values()) > 1:
        *others, last = given
        raise UsageError(
            f"{', '.join(others)} and {last} cannot be combined", hint="Use one of them."
        )


def say_filter_hints(brain: Brain, scope: Scope) -> None:
    """Say which filters no page can match, after a list with filters came out empty."""
    from gbrain.output.screen import say

    for hint in brain.filter_hints(scope):
        say(hint)


def exit_if_nothing(found: Sized, exit_code: bool) -> None:
    """Exit with 3 if --exit-code is given and nothing was found."""
    if exit_code and not len(found):
        raise typer.Exit(3)


def is_stream(file: Path | None) -> bool:
    """Tell whether a text can be read only once: standard input, a pipe, a deleted file."""
    if file is None or str(file) == "-":
        return True
    try:
        status = file.stat()
    except OSError:
        return True
    return not (S_ISREG(status.st_mode) and status.st_nlink)


def read_input(file: Path | None) -> bytes:
    """Return the bytes of `file` or of standard input; raises BadPage if they are too many."""
    from gbrain.text.page import MAX_PAGE_BYTES

    try:
        with ExitStack() as opened:
            if file is None or str(file) == "-":
                source: BinaryIO = sys.stdin.buffer
            else:
                source = opened.enter_context(file.open("rb"))
            data = source.read(MAX_PAGE_BYTES + 1)
            if len(data) > MAX_PAGE_BYTES:
                raise _too_large(file, data, source)
    except OSError as error:
        raise NotFound(
            f"Cannot read {file or 'standard input'}: {error.strerror}",
            hint="Check the path; - means standard input.",
            code="cannot_read",
        ) from None  # fmt: skip
    return data


def _too_large(file: Path | None, data: bytes, source: BinaryIO) -> BadPage:
    """Return the error for too many bytes; what is in no file is kept."""
    from gbrain.text.page import MAX_PAGE_BYTES

    error = BadPage(
        f"{file or 'Standard input'} has more than {MAX_PAGE_BYTES:,} bytes",
        hint="Split it into several pages.",
        code="page_too_large",
    )
    if is_stream(file):
        from gbrain.cli.drafts import keep_rest

        keep_rest(error, data, source)
    return error
