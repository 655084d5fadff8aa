"""Generate the man pages and the table of shell completion from the commands.

`python -m gbrain.cli.manual man` writes the pages to the folder man and the table to the package.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent, fill
from typing import Any

from typer.main import get_command

from gbrain import __version__
from gbrain.cli.app import COMMANDS, app
from gbrain.cli.completer import TABLE
from gbrain.cli.manual_prose import COMMANDS as PROSE
from gbrain.cli.manual_prose import ENVIRONMENT, EXIT_STATUS, PROGRAM, SETTINGS, Section
from gbrain.config import HEADINGS, all_settings, format_value
from gbrain.output.schemas import describe_keys, document_by_command, list_documents

_WIDTH = 72


def _commands() -> tuple[Any, Any, dict[str, Any]]:
    """Return the program, its context, and its commands by name."""
    group = get_command(app)
    context = group.make_context("gbrain", [], resilient_parsing=True)
    return group, context, {name: group.get_command(context, name) for name in COMMANDS}  # type: ignore[attr-defined]


def completion_table() -> str:
    """Return the table that completion reads, as JSON with one command per line."""
    group, _, commands = _commands()
    table = command_table(group, commands)
    lines = [f"{json.dumps(name)}: {json.dumps(node)}" for name, node in table["commands"].items()]
    joined = ",\n".join(lines)
    return f'{{"options": {json.dumps(table["options"])},\n"commands": {{\n{joined}\n}}}}\n'


def manual_pages() -> dict[str, str]:
    """Return the text of every man page, by its path in the folder of man pages."""
    program, context, commands = _commands()
    pages = {
        "man1/gbrain.1": _program(program, context, commands),
        "man5/gbrain-config.5": _settings(),
    }
    for name, command in commands.items():
        pages[f"man1/gbrain-{name}.1"] = _command(name, command, context)
    return pages


def _program(program: Any, context: Any, commands: dict[str, Any]) -> str:
    lines = _head("gbrain", 1, "a personal knowledge brain in one file")
    called = (
        r"\fBgbrain\fR [\fB\-\-db\fR \fIFILE\fR] \fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]"
    )
    lines += [".SH SYNOPSIS", called]
    (first, *rest) = PROGRAM
    lines += _sections((first,))
    lines.append(".SH COMMANDS")
    for panel in dict.fromkeys(panel for _, panel in COMMANDS.values()):
        lines.append(f'.SS "{_roff(panel)}"')
        for name, command in commands.items():
            if COMMANDS[name][1] == panel:
                lines += _item(rf"\fBgbrain\-{_roff(name)}\fR(1)", _summary(command))
    lines += _parameters(program, context)
    lines += _sections(rest)
    lines += _sections((("ENVIRONMENT", ENVIRONMENT), ("EXIT STATUS", EXIT_STATUS)))
    lines += _see_also(*(f"gbrain-{name}(1)" for name in commands), "gbrain-config(5)")
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any, context: Any) -> str:
    about = _summary(command).rstrip(".")
    lines = _head(f"gbrain-{name}", 1, about[0].lower() + about[1:])
    lines += [".SH SYNOPSIS", rf"\fBgbrain {_roff(name)}\fR {_roff(_usage(command))}"]
    lines += [".SH DESCRIPTION", *_text(command.help or "")]
    lines += _parameters(command, context)
    subcommands = getattr(command, "commands", {})
    if subcommands:
        lines.append(".SH COMMANDS")
    for sub in subcommands.values():
        lines.append(f'.SS "gbrain {_roff(name)} {_roff(sub.name)} {_roff(_usage(sub))}"')
        lines += _text(sub.help or "")
        lines += _parameters(sub, context, heading=False)
    lines += _sections(PROSE.get(name, ()))
    lines += _documents(name)
    lines += _examples(command)
    lines += _sections((("EXIT STATUS", EXIT_STATUS),))
    lines += _see_also("gbrain(1)", "gbrain-config(5)")
    return "\n".join(lines) + "\n"


def _head(name: str, section: int, purpose: str) -> list[str]:
    title = f'.TH {_roff(name.upper())} {section} "" "gbrain {__version__}" "gbrain manual"'
    return [title, ".SH NAME", rf"{_roff(name)} \- {_roff(purpose)}"]


def _summary(command: Any) -> str:
    return str(command.help or "").split("\n")[0]


def _usage(command: Any) -> str:
    if getattr(command, "commands", None):
        return "COMMAND ..."
    words = []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = (parameter.metavar or parameter.name.upper()).strip("[]")
            words.append(name if parameter.required else f"[{name}]")
    return " ".join([*words, "[OPTIONS]"])


def _parameters(command: Any, context: Any, *, heading: bool = True) -> list[str]:
    lines: list[str] = []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            names = parameter.metavar or parameter.name.upper()
        else:
            names = parameter.get_help_record(context)[0]
        lines += _item(rf"\fB{_roff(' '.join(names.split()))}\fR", parameter.help or "")
    return [".SH OPTIONS", *lines] if lines and heading else lines


def _documents(name: str) -> list[str]:
    """Return the section about the keys that a command prints with --json."""
    printed = {
        command: document
        for command, document in document_by_command().items()
        if command.split()[0] == name
    }
    lines = [".SH JSON"] if printed else []
    for command, document in printed.items():
        if len(printed) > 1:
            lines.append(f'.SS "gbrain {_roff(command)}"')
        for keys in describe_keys(document):
            lines += [".P", *_lines(f"In `{keys.of}`:")] if keys.of else []
            lines.append(".PD 0")
            for key, about in keys.about:
                lines += _item(rf"\fB{_roff(key)}\fR", about)
            lines.append(".PD")
    if printed:
        lines += [".P", *_lines(f"`gbrain schema {next(iter(printed))}` has it as a JSON Schema.")]
    return lines


def _examples(command: Any) -> list[str]:
    found = [command, *getattr(command, "commands", {}).values()]
    shown = [line for c in found for line in (c.epilog or "").split("\n") if line.startswith("$ ")]
    if not shown:
        return []
    return [".SH EXAMPLES", ".nf", *(_roff(line) for line in shown), ".fi"]


def _settings() -> str:
    lines = _head("gbrain-config", 5, "the settings of a brain")
    lines += [*_sections(SETTINGS), ".SH SETTINGS"]
    for setting in all_settings().values():
        if setting.name in HEADINGS:
            lines.append(f'.SS "{_roff(HEADINGS[setting.name])}"')
        default = format_value(setting.default) or "nothing"
        lines += _item(rf"\fB{_roff(setting.name)}\fR", f"{setting.help}.")
        lines += [".br", *_lines(f"Takes {setting.allowed}; default {default}.")]
        lines += [".br", *_lines(f"From {setting.source}.")]
    lines += _see_also("gbrain(1)", "gbrain-config(1)", "gbrain-profile(1)", "gbrain-tune(1)")
    return "\n".join(lines) + "\n"


def _see_also(*pages: str) -> list[str]:
    named = (
        re.sub(r"\A([^(]*+)(\(\d\))", lambda m: rf"\fB{_roff(m[1])}\fR{m[2]}", p) for p in pages
    )
    return [".SH SEE ALSO", ",\n".join(named)]


def _sections(sections: tuple[Section, ...] | list[Section]) -> list[str]:
    return [line for title, text in sections for line in (f".SH {title}", *_text(dedent(text)))]


def _text(text: str) -> Iterator[str]:
    """Yield the lines of paragraphs, and of items written as `term :: text`."""
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        term, is_item, about = " ".join(paragraph.split()).partition(" :: ")
        if is_item:
            yield from (".TP", _mark_literals(_roff(term)), *_lines(about))
        else:
            yield from ([".P"] if number else [])
            yield from _lines(term)


def _item(term: str, text: str) -> Iterator[str]:
    yield from (".TP", term, *_lines(text))


def _lines(text: str) -> list[str]:
    """Return text as lines of at most 72 characters."""
    filled = fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False) or r"\&"
    return _mark_literals(_roff(filled)).split("\n")


def _mark_literals(text: str) -> str:
    """Return text with the parts between backquotes in bold."""
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)


def _roff(text: str) -> str:
    """Return text with the special characters of man escaped."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return "\n".join(rf"\&{line}" if line.startswith(".") else line for line in plain.split("\n"))


# --- the table of shell completion ---------------------------------------------------------------

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
    ("folders move", "old"): "folders",
    ("folders move", "new"): "folders",
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
        return "|".join(document.name for document in list_documents())
    written = (parameter.metavar or "").strip("[].")
    for where in (name, ""):
        if (where, parameter.name) in _KIND_OF_PARAMETER:
            return _KIND_OF_PARAMETER[where, parameter.name]
    fallback = "files" if type(parameter.type).__name__.endswith("Path") else "text"
    return _KIND_OF_METAVAR.get(written, fallback)


def main() -> None:
    """Write the pages to the folder named on the command line, and the table."""
    folder = Path(sys.argv[1])
    for name, text in manual_pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    Path(TABLE).write_text(completion_table(), "utf-8")


if __name__ == "__main__":
    main()
