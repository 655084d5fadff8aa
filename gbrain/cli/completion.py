"""`completion`: the script that lets a shell complete what one types."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.output import screen

command = Module()

SCRIPTS = Path(__file__).parent / "shells"


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
    shell: Annotated[Shell | None, typer.Argument(help="Else the shell you are in.")] = None,
) -> None:
    """Print a script that completes commands, options, slugs, tags and settings in your shell."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    known = name if name in Shell.__members__ else Shell.bash
    screen.write((SCRIPTS / f"gbrain.{known}").read_text("utf-8"))
