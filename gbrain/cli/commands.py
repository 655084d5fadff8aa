"""Build one command of a module without building the others, with help that fits 80 columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command


class Command(TyperCommand):
    """A command whose help gives ranges, defaults and requirements in words or not at all.

    Typer would print `[1<=x<=1000]`, `[default: 10]` and `[required]` in columns of their own,
    which leaves half a line for the text. An error says which numbers an option takes.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from typer import rich_utils

        rich_utils.RANGE_STRING = rich_utils.REQUIRED_LONG_STRING = ""
        rich_utils.DEFAULT_STRING = ""
        super().format_help(ctx, formatter)


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

    def command(self, name: str, epilog: str | None = None) -> Callable[[Any], Any]:
        """Register a function as the command `name`; `epilog` contains its examples."""

        def register(function: Any) -> Any:
            app = Commands()
            app.command(name, epilog=epilog)(function)
            self._apps[name] = app
            return function

        return register

    def group(self, name: str, help: str, epilog: str | None = None) -> Commands:
        """Register a command that has subcommands."""
        app = Commands()
        app.info.name, app.info.epilog = name, epilog
        app.callback(help=help, epilog=epilog, no_args_is_help=True)(_nothing)
        self._apps[name] = app
        return app

    def __call__(self, name: str) -> Any:
        command = get_command(self._apps[name])
        command.name = name
        return command


def _nothing() -> None:
    pass


def _unwrap(text: str | None) -> str:
    """Return a docstring with one line for each paragraph, so that help is wrapped only once."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(text or "").split("\n\n"))


@cache
def examples(*lines: str) -> str:
    """Return the epilog of a command's help: one example per paragraph."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in lines)])
