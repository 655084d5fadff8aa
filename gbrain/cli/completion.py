"""`completion`: print the completion script of a shell; and build the table its Tab key reads.

The table is generated into shells/commands.json, so that completer.py need not load the commands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

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
    shell: Annotated[Shell | None, typer.Argument(help="Shell (default: $SHELL).")] = None,
) -> None:
    """Print a script that completes commands, options, slugs, tags and settings in your shell."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    known = name if name in Shell.__members__ else Shell.bash
    screen.write((SCRIPTS / f"gbrain.{known}").read_text("utf-8"))


# --- the table -------------------------------------------------------------------------------

# The kind of a value, by its metavar.
_KIND_OF_METAVAR = {
    "SLUG": "slug",
    "OLD": "slug",
    "WING": "wing",
    "ROOM": "room",
    "TYPE": "type",
    "TAG": "tag",
    "VALUE": "value",
    "DIR": "folders",
}

# The kind of a value by command and parameter ("" means any command), checked before the metavar.
_KIND_OF_PARAMETER = {
    ("", "slug_prefix"): "prefix",
    ("", "profile"): "profile",
    ("open", "number"): "hit",
    ("rename", "new_slug"): "prefix",
    ("supersede", "new"): "slug",
    ("alias remove", "word"): "alias",
    ("config get", "name"): "setting",
    ("config set", "name"): "setting",
    ("config reset", "names"): "setting",
    ("profile show", "name"): "profile",
    ("profile use", "name"): "profile",
    ("model verify", "name"): "model",
    ("model use", "name"): "model",
    ("model remove", "name"): "model",
}

_HELP = {"-h": ["", "Show this message and exit."], "--help": ["", "Show this message and exit."]}


def command_table(program: Any, commands: Mapping[str, Any]) -> dict[str, Any]:
    """Return the program and its commands, each with its summary, options and arguments.

    An option has the kind of its value ("" for a flag) and its help. The arguments are a list of
    kinds; the last ends in three dots if it can be repeated. Choices are written as `a|b`.
    """
    return {
        "options": _options("", program),
        "commands": {name: _node(name, command) for name, command in commands.items()},
    }


def _node(name: str, command: Any) -> dict[str, Any]:
    node: dict[str, Any] = {
        "about": (command.help or "").split("\n")[0],
        "options": _options(name, command),
    }
    if getattr(command, "commands", None):
        below = command.commands.items()
        return {**node, "commands": {sub: _node(f"{name} {sub}", each) for sub, each in below}}
    arguments = (each for each in command.params if each.param_type_name == "argument")
    return {**node, "takes": [_argument_kind(name, parameter) for parameter in arguments]}


def _options(name: str, command: Any) -> dict[str, list[str]]:
    listed: Iterator[Any] = (each for each in command.params if each.param_type_name == "option")
    found = {
        written: ["" if option.is_flag else _kind(name, option), option.help or ""]
        for option in listed
        for written in (*option.opts, *option.secondary_opts)
        if not option.hidden
    }
    return {**found, **_HELP}


def _argument_kind(name: str, parameter: Any) -> str:
    return _kind(name, parameter) + ("..." if parameter.nargs == -1 else "")


def _kind(name: str, parameter: Any) -> str:
    """Return the kind of a parameter's value; `text` means anything."""
    choices = getattr(parameter.type, "choices", None)
    if choices:
        return "|".join(choices)
    if name == "schema":
        from gbrain.output.schemas import list_documents

        return "|".join(document.name for document in list_documents())
    written = (parameter.metavar or "").rstrip(".").strip("[]")
    for where in (name, ""):
        if (where, parameter.name) in _KIND_OF_PARAMETER:
            return _KIND_OF_PARAMETER[where, parameter.name]
    fallback = "files" if type(parameter.type).__name__.endswith("Path") else "text"
    return _KIND_OF_METAVAR.get(written, fallback)
