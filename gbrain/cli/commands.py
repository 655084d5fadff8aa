"""Build one command of a module without building the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import typer
from typer.main import get_command


class Module:
    """The commands of one module; `module("search")` builds the one called search."""

    def __init__(self) -> None:
        self._apps: dict[str, typer.Typer] = {}

    def command(self, name: str, epilog: str | None = None) -> Callable[[Any], Any]:
        """Register a function as the command `name`; `epilog` contains its examples."""

        def register(function: Any) -> Any:
            app = _app()
            app.command(name, epilog=epilog)(function)
            self._apps[name] = app
            return function

        return register

    def group(self, name: str, help: str, epilog: str | None = None) -> typer.Typer:
        """Register a command that has subcommands."""
        app = _app()
        app.info.name, app.info.epilog = name, epilog
        app.callback(help=help, epilog=epilog, no_args_is_help=True)(_nothing)
        self._apps[name] = app
        return app

    def __call__(self, name: str) -> Any:
        command = get_command(self._apps[name])
        command.name = name
        return command


def _app() -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _nothing() -> None:
    pass


@cache
def examples(*lines: str) -> str:
    """Return the epilog of a command's help: one example per paragraph."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in lines)])
