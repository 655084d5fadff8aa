"""Print the completions for the word at the cursor, without loading the commands.

The scripts of `gbrain completion` run the program with $_GBRAIN_COMPLETE set. To answer the Tab
key fast, not even pathlib is imported.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

TABLE = os.path.join(os.path.dirname(__file__), "shells", "commands.json")

_MAX_ABOUT_CHARACTERS = 72
_KINDS_IN_BRAIN = ("slug", "prefix", "hit", "wing", "room", "type", "tag", "model", "alias")


class Completion(NamedTuple):
    """A word that can be inserted, and a short description."""

    value: str
    about: str = ""


class Position(NamedTuple):
    """What the cursor is in: a value of some kind, after `prefix`, or a name if `kind` is None.

    `begin` is the typed start of the word, `given` are the arguments before it, `db` is the file
    named with --db.
    """

    node: dict[str, Any]
    kind: str | None
    prefix: str
    begin: str
    given: tuple[str, ...]
    db: str | None
    options: bool


def main() -> None:
    """Print one line per completion, and nothing else: errors would end up in the prompt.

    A line that starts with a tab asks the shell to complete files or folders.
    """
    try:
        shell = os.environ["_GBRAIN_COMPLETE"]
        if shell == "bash":
            words, cursor = split_command_line(*sys.argv[1:3])
            found = completions(words)
            lines = [escape(value, cursor) if value else f"\t{about}" for value, about in found]
        else:
            lines = [f"{value}\t{about}" for value, about in completions(sys.argv[1:])]
        text = "".join(f"{line}\n" for line in lines if line is not None)
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except Exception:
        pass
    os._exit(0)


def completions(words: Iterable[str]) -> Iterator[Completion]:
    """Yield completions of the last of `words`, which are the arguments of the program.

    A completion without a value asks for `files` or `folders`. Values with unprintable characters
    are left out.
    """
    from json import load

    *before, current = words
    with open(TABLE, encoding="utf-8") as file:
        position = _find_position(load(file), before, current)
    for value, about in _possible_values(position):
        if not value:
            yield Completion("", about or "")
        elif value.isprintable() and (
            value.startswith(position.begin) or f"/{position.begin}" in value
        ):
            yield Completion(position.prefix + value, _shorten(about))


def _find_position(table: dict[str, Any], before: list[str], current: str) -> Position:
    """Return what the cursor is in, after following the words before it."""
    node, given, db = table, [], None
    pending, options = "", True
    for word in before:
        name, equals, value = word.partition("=")
        if pending:
            db = word if pending == "--db" else db
            pending = ""
        elif options and word == "--":
            options = False
        elif options and word.startswith("-") and len(word) > 1:
            takes = node["options"].get(name, [""])[0]
            db = value if equals and name == "--db" else db
            pending = name if takes and not equals else ""
        elif word in node.get("commands", {}):
            node = node["commands"][word]
        else:
            given.append(word)
    if pending:
        return Position(node, node["options"][pending][0], "", current, tuple(given), db, options)
    name, equals, value = current.partition("=")
    if options and equals and name in node["options"]:
        kind = node["options"][name][0]
        return Position(node, kind, f"{name}=", value, tuple(given), db, options)
    return Position(node, None, "", current, tuple(given), db, options)


def _possible_values(position: Position) -> Iterable[tuple[str, str | None]]:
    if position.kind is not None:
        return _values(position.kind, position)
    if position.options and position.begin.startswith("-"):
        listed = position.node["options"].items()
        long = position.begin.startswith("--") or position.begin == "-"
        return [(name, about) for name, (_, about) in listed if name.startswith("--") == long]
    if "commands" in position.node:
        return [(name, node["about"]) for name, node in position.node["commands"].items()]
    takes = position.node["takes"]
    if not takes:
        return []
    kind = takes[min(len(position.given), len(takes) - 1)]
    repeats = kind.endswith("...")
    return (
        _values(kind.removesuffix("..."), position)
        if repeats or len(position.given) < len(takes)
        else []
    )


def _values(kind: str, position: Position) -> Iterable[tuple[str, str | None]]:
    """Return the values of a kind, each with a description; `a|b` is a choice of both."""
    if "|" in kind:
        return [(choice, "") for choice in kind.split("|")]
    if kind in ("files", "folders"):
        return [("", kind)]
    if kind in _KINDS_IN_BRAIN:
        from gbrain.store.completion_values import completion_values

        return completion_values(_brain_file(position.db), kind, position.begin)
    if kind in ("setting", "value"):
        from gbrain.config import all_settings

        known = all_settings()
        if kind == "setting":
            return [(name, setting.help) for name, setting in known.items()]
        setting = known.get(position.given[0]) if position.given else None
        choices = () if setting is None else setting.choices
        if setting is not None and setting.kind is bool:
            choices = ("on", "off")
        return [(choice, "") for choice in choices]
    if kind == "profile":
        from gbrain.profiles import PROFILES

        return [(profile.name, profile.help) for profile in PROFILES]
    return []


def _brain_file(db: str | None) -> str:
    named = db or os.environ.get("GBRAIN_DB")
    if named:
        return os.path.expanduser(named)
    from gbrain.paths import default_path

    return str(default_path())


def _shorten(about: str | None) -> str:
    line = " ".join((about or "").split())
    plain = "".join(char for char in line if char.isprintable())
    return (
        plain if len(plain) <= _MAX_ABOUT_CHARACTERS else plain[: _MAX_ABOUT_CHARACTERS - 1] + "…"
    )


_BLANKS = " \t\n"
# Other characters need a backslash; letters outside ASCII do not.
_UNESCAPED = re.compile(r"[\w./@%+=:,^-]")
_ESCAPED_IN_DOUBLE_QUOTES = '"\\$`'


class Cursor(NamedTuple):
    """The part of the last word that readline keeps, and the open quote if there is one."""

    kept: str
    quote: str


def split_command_line(line: str, breaks: str) -> tuple[list[str], Cursor]:
    """Return the arguments of a command line; the last may be unfinished or empty.

    `breaks` are the characters after which readline starts a new word, $COMP_WORDBREAKS.
    """
    words: list[str] = []
    word, quote, kept = "", "", 0
    between, escaped = True, False
    for char in line:
        if escaped:
            word, escaped, between = word + char, False, False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in _BLANKS:
            if not between:
                words.append(word)
            word, kept, between = "", 0, True
        else:
            between = False
            if char in "'\"":
                quote, kept = char, len(word)
                continue
            word += char
            if char in breaks:
                kept = len(word)
    words.append(word)
    return words[1:] or [""], Cursor(word[:kept], quote)


def escape(value: str, cursor: Cursor) -> str | None:
    """Return `value` as it must be typed at the cursor; None if it cannot be typed there."""
    if not value.startswith(cursor.kept):
        return None
    rest = value[len(cursor.kept) :]
    if not cursor.quote:
        return "".join(char if _UNESCAPED.match(char) else f"\\{char}" for char in rest)
    if cursor.quote == "'":
        written = rest.replace("'", "'\\''")
    elif "!" in rest:
        # Bash expands the history inside double quotes, and a backslash does not prevent it.
        return None
    else:
        written = "".join(
            f"\\{char}" if char in _ESCAPED_IN_DOUBLE_QUOTES else char for char in rest
        )
    # Readline closes the quote, unless the value ends with that quote.
    return written + cursor.quote if written.endswith(cursor.quote) else written
