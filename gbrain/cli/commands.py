"""Building one command of a module without building the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import typer
from typer.main import get_command


class Module:
    """The commands of one module by name; `module("search")` builds that one."""

    def __init__(self) -> None:
        self._apps: dict[str, typer.Typer] = {}

    def command(self, name: str, epilog: str | None = None) -> Callable[[Any], Any]:
        """Registers a function as the command `name`; `epilog` holds its examples."""

        def register(function: Any) -> Any:
            app = _app()
            app.command(name, epilog=epilog)(function)
            self._apps[name] = app
            return function

        return register

    def group(self, name: str, help: str, epilog: str | None = None) -> typer.Typer:
        """A command with commands of its own."""
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
    """Examples as the epilog of a command's help, one a paragraph."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in lines)])
