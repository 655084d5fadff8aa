"""What completion knows of the commands: names, options and what each value is, as one table.

It is written beside the scripts of the shells, so that the Tab key need not load the commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# What a value is, by the name that help gives it.
_KINDS = {
    "SLUG": "slug",
    "OLD": "slug",
    "WING": "wing",
    "ROOM": "room",
    "TYPE": "type",
    "TAG": "tag",
    "VALUE": "value",
    "DIR": "folders",
}

# Where the same name means different things: by command and parameter, or by parameter alone.
_KINDS_THERE = {
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
    """The program and its commands, each with what it is, its options and what it takes.

    An option has what its value is, "" if it has none, and its help. What a command takes is a
    list, where the last may be repeated if it ends in three dots. Choices stand as `a|b`.
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
    taken = (each for each in command.params if each.param_type_name == "argument")
    return {**node, "takes": [_taken(name, parameter) for parameter in taken]}


def _options(name: str, command: Any) -> dict[str, list[str]]:
    listed: Iterator[Any] = (each for each in command.params if each.param_type_name == "option")
    found = {
        written: ["" if option.is_flag else _kind(name, option), option.help or ""]
        for option in listed
        for written in (*option.opts, *option.secondary_opts)
        if not option.hidden
    }
    return {**found, **_HELP}


def _taken(name: str, parameter: Any) -> str:
    return _kind(name, parameter) + ("..." if parameter.nargs == -1 else "")


def _kind(name: str, parameter: Any) -> str:
    """What a value is; `text` is anything."""
    choices = getattr(parameter.type, "choices", None)
    if choices:
        return "|".join(choices)
    if name == "schema":
        from gbrain.output.schemas import list_documents

        return "|".join(document.name for document in list_documents())
    written = (parameter.metavar or "").rstrip(".").strip("[]")
    for where in (name, ""):
        if (where, parameter.name) in _KINDS_THERE:
            return _KINDS_THERE[where, parameter.name]
    fallback = "files" if type(parameter.type).__name__.endswith("Path") else "text"
    return _KINDS.get(written, fallback)
