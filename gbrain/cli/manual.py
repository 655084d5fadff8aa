"""The man pages, made from the commands themselves: `python -m gbrain.cli.manual man`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from gbrain import __version__
from gbrain.cli.app import COMMANDS, app
from gbrain.config import known_settings, written_value

_EXITS = (
    ("0", "Done."),
    ("1", "Something that you can fix; the message says how."),
    ("2", "The command was called wrongly."),
    ("3", "Nothing found, with --exit-code."),
    ("130", "Interrupted."),
)
_ENVIRONMENT = (
    ("GBRAIN_DB", "The brain file, when --db does not name one."),
    ("NO_COLOR", "No colour on a terminal."),
    ("GBRAIN_NOW", "An ISO time to take for the present: relative dates are read against it."),
)


def manual_pages() -> dict[str, str]:
    """Every man page by its path below the folder of man pages."""
    group = get_command(app)
    context = group.make_context("gbrain", [], resilient_parsing=True)
    commands = {name: group.get_command(context, name) for name in COMMANDS}  # type: ignore[attr-defined]
    pages = {"man1/gbrain.1": _program(commands), "man5/gbrain-config.5": _settings()}
    for name, command in commands.items():
        pages[f"man1/gbrain-{name}.1"] = _command(f"gbrain {name}", command, context)
    return pages


def _program(commands: dict[str, Any]) -> str:
    lines = _head("gbrain", 1, "a personal knowledge brain in one file")
    lines += [".SH SYNOPSIS", ".B gbrain", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]"]
    lines += [
        ".SH DESCRIPTION",
        "Keeps Markdown notes in one SQLite file and finds them by word and by meaning, with no",
        "network and no key. Data goes to standard output and talk to standard error; with",
        r"\fB\-\-json\fR a command prints exactly one document, on failure an error document on",
        "standard error.",
        ".SH COMMANDS",
    ]
    for name, command in commands.items():
        lines += _item(rf"\fBgbrain\-{_roff(name)}\fR(1)", _summary(command))
    lines += _common()
    lines += [".SH SEE ALSO", r"\fBgbrain\-config\fR(5)"]
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any, context: Any) -> str:
    lines = _head(name.replace(" ", "-"), 1, _summary(command).rstrip(".").lower())
    lines += [".SH SYNOPSIS", rf"\fB{_roff(name)}\fR {_roff(_usage(command))}"]
    lines += [".SH DESCRIPTION", _roff(command.help or "")]
    lines += _parameters(command, context)
    for sub in getattr(command, "commands", {}).values():
        lines += [f'.SS "{_roff(name)} {_roff(sub.name)}"', _roff(sub.help or "")]
        lines += [f".P\n\\fB{_roff(name)} {_roff(sub.name)}\\fR {_roff(_usage(sub))}"]
        lines += _parameters(sub, context, heading=False)
    lines += _examples(command)
    lines += _common()
    lines += [".SH SEE ALSO", r"\fBgbrain\fR(1), \fBgbrain\-config\fR(5)"]
    return "\n".join(lines) + "\n"


def _head(name: str, section: int, purpose: str) -> list[str]:
    title = f'.TH {name.upper().replace("-", chr(92) + "-")} {section} "" "gbrain {__version__}"'
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


def _examples(command: Any) -> list[str]:
    found = [command, *getattr(command, "commands", {}).values()]
    shown = [line for c in found for line in (c.epilog or "").split("\n") if line.startswith("$ ")]
    if not shown:
        return []
    return [".SH EXAMPLES", ".nf", *(_roff(line) for line in shown), ".fi"]


def _common() -> list[str]:
    lines = [".SH EXIT STATUS"]
    for code, meaning in _EXITS:
        lines += _item(rf"\fB{code}\fR", meaning)
    lines.append(".SH ENVIRONMENT")
    for name, meaning in _ENVIRONMENT:
        lines += _item(rf"\fB{name}\fR", meaning)
    return lines


def _settings() -> str:
    lines = _head("gbrain-config", 5, "the settings of a brain")
    lines += [
        ".SH DESCRIPTION",
        "Settings live in the brain file and hold from the next command on.",
        r"\fBgbrain config list\fR shows them, \fBgbrain config set\fR changes one and",
        r"\fBgbrain config reset\fR takes a change back.",
        ".SH SETTINGS",
    ]
    for setting in known_settings().values():
        default = written_value(setting.default)
        about = (
            f"{setting.help}. Takes {setting.allowed}; default {default}. From {setting.source}."
        )
        lines += _item(rf"\fB{_roff(setting.name)}\fR", about)
    lines += [".SH SEE ALSO", r"\fBgbrain\fR(1), \fBgbrain\-config\fR(1)"]
    return "\n".join(lines) + "\n"


def _item(term: str, text: str) -> Iterator[str]:
    yield from (".TP", term, _roff(text))


def _roff(text: str) -> str:
    """`text` with what man takes for its own syntax escaped."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return "\n".join(rf"\&{line}" if line.startswith(".") else line for line in plain.split("\n"))


def main() -> None:
    """Writes the pages into the folder named on the command line."""
    folder = Path(sys.argv[1])
    for name, text in manual_pages().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
