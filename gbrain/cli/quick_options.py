"""Read the words of a `search` or `query` without Typer, whose import takes a third of a search.

Only the usual spelling of the usual options is read. Everything else, such as a mistake, --help or
a query from standard input, is left to Typer, which has the same options.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gbrain.cli.answers import COMMAND_OPTIONS, QueryCommand, RenderOptions
from gbrain.query_options import QUERY_OPTIONS, QueryOption

_SHORT_FLAGS = {"-v": "verbose", "-q": "quiet"}
_FLAGS = {f"--{name.replace('_', '-')}": name for name in RenderOptions._fields} | _SHORT_FLAGS
_LISTS = ("texts", "pairs")
_MAX_DIGITS = 9


class QuickQuery(NamedTuple):
    """A `search` or `query` with its options, as `run_query` takes them."""

    command: QueryCommand
    text: list[str]
    given: dict[str, Any]
    options: RenderOptions
    db: Path | None


def read_query(words: Sequence[str]) -> QuickQuery | None:
    """Return the query that the words of a command line are; None to let Typer read them."""
    command = next((name for name in COMMAND_OPTIONS if [name] == list(words[:1])), None)
    if command is None:
        return None
    names = COMMAND_OPTIONS[command]
    options = {QUERY_OPTIONS[name].flag: QUERY_OPTIONS[name] for name in names}
    options |= {option.short: option for option in options.values() if option.short}
    given: dict[str, Any] = {
        name: False if QUERY_OPTIONS[name].kind == "flag" else None for name in names
    }
    text: list[str] = []
    flags: set[str] = set()
    db = None
    waiting = iter(words[1:])
    for word in waiting:
        if not word.startswith("-"):
            text.append(word)
            continue
        flag, equals, value = word.partition("=")
        option = options.get(flag)
        if flag in _FLAGS or (option and option.kind == "flag"):
            if equals:
                return None
            if option:
                given[option.name] = True
            else:
                flags.add(_FLAGS[flag])
            continue
        if not option and flag != "--db":
            return None
        if not equals:
            value = next(waiting, "")
        # Typer reads `-n=5` as the value `=5`; a value such as --json is probably a mistake.
        if not value or value.startswith("-") or (equals and not flag.startswith("--")):
            return None
        if not option:
            db = Path(value)
        elif not _store(option, value, given):
            return None
    if not text:
        return None
    return QuickQuery(command, text, given, RenderOptions(**dict.fromkeys(flags, True)), db)


def _store(option: QueryOption, value: str, given: dict[str, Any]) -> bool:
    """Add the value of an option to `given`; return whether the option takes such a value."""
    if option.kind in _LISTS:
        given[option.name] = [*(given[option.name] or ()), value]
    elif option.kind == "number":
        digits = value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS
        if not digits or not 1 <= int(value) <= option.maximum:
            return False
        given[option.name] = int(value)
    elif option.kind == "choice" and value not in option.choices:
        return False
    else:
        given[option.name] = value
    return True
