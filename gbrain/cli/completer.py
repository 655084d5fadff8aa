"""What could stand where the cursor is: answers the Tab key without loading the commands.

The scripts of `gbrain completion` run the program with $_GBRAIN_COMPLETE set. A person waits, so
that not even pathlib is loaded.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

TABLE = os.path.join(os.path.dirname(__file__), "shells", "commands.json")

_LONGEST_ABOUT = 72
_FROM_BRAIN = ("slug", "prefix", "hit", "wing", "room", "type", "tag", "model", "alias")


class Candidate(NamedTuple):
    """A whole word that could stand there, and what it is."""

    value: str
    about: str = ""


class Place(NamedTuple):
    """Where the cursor is: in a value of some kind, after `prefix`, or in the name of something.

    `given` are the arguments before it, `db` the file named with --db.
    """

    node: dict[str, Any]
    kind: str | None
    prefix: str
    begin: str
    given: tuple[str, ...]
    db: str | None
    options: bool


def main() -> None:
    """Prints a line for each candidate, and never anything else: a prompt is no place for errors.

    A line that begins with a tab asks the shell for names of files or folders.
    """
    try:
        shell = os.environ["_GBRAIN_COMPLETE"]
        if shell == "bash":
            pass

            words, cursor = read_line(*sys.argv[1:3])
            found = candidates(words)
            lines = [typed(value, cursor) if value else f"\t{about}" for value, about in found]
        else:
            lines = [f"{value}\t{about}" for value, about in candidates(sys.argv[1:])]
        text = "".join(f"{line}\n" for line in lines if line is not None)
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except Exception:
        pass
    os._exit(0)


def candidates(words: Iterable[str]) -> Iterator[Candidate]:
    """What could be the last of `words`, which follow the program's name.

    A candidate without a value stands for `files` or `folders`. One that a shell could not show
    in one piece is left out.
    """
    from json import load

    *before, current = words
    with open(TABLE, encoding="utf-8") as file:
        place = _place(load(file), before, current)
    for value, about in _possible(place):
        if not value:
            yield Candidate("", about or "")
        elif value.isprintable() and (value.startswith(place.begin) or f"/{place.begin}" in value):
            yield Candidate(place.prefix + value, _short(about))


def _place(table: dict[str, Any], before: list[str], current: str) -> Place:
    """Follows the words to the cursor."""
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
        return Place(node, node["options"][pending][0], "", current, tuple(given), db, options)
    name, equals, value = current.partition("=")
    if options and equals and name in node["options"]:
        kind = node["options"][name][0]
        return Place(node, kind, f"{name}=", value, tuple(given), db, options)
    return Place(node, None, "", current, tuple(given), db, options)


def _possible(place: Place) -> Iterable[tuple[str, str | None]]:
    if place.kind is not None:
        return _values(place.kind, place)
    if place.options and place.begin.startswith("-"):
        listed = place.node["options"].items()
        long = place.begin.startswith("--") or place.begin == "-"
        return [(name, about) for name, (_, about) in listed if name.startswith("--") == long]
    if "commands" in place.node:
        return [(name, node["about"]) for name, node in place.node["commands"].items()]
    takes = place.node["takes"]
    if not takes:
        return []
    kind = takes[min(len(place.given), len(takes) - 1)]
    repeats = kind.endswith("...")
    return (
        _values(kind.removesuffix("..."), place) if repeats or len(place.given) < len(takes) else []
    )


def _values(kind: str, place: Place) -> Iterable[tuple[str, str | None]]:
    """The values of a kind; choices are written out, as `a|b`."""
    if "|" in kind:
        return [(choice, "") for choice in kind.split("|")]
    if kind in ("files", "folders"):
        return [("", kind)]
    if kind in _FROM_BRAIN:
        from gbrain.store.completion_values import completion_values

        return completion_values(_brain_file(place.db), kind, place.begin)
    if kind in ("setting", "value"):
        from gbrain.config import all_settings

        known = all_settings()
        if kind == "setting":
            return [(name, setting.help) for name, setting in known.items()]
        setting = known.get(place.given[0]) if place.given else None
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


def _short(about: str | None) -> str:
    line = " ".join((about or "").split())
    plain = "".join(char for char in line if char.isprintable())
    return plain if len(plain) <= _LONGEST_ABOUT else plain[: _LONGEST_ABOUT - 1] + "…"


_BLANK = " \t\n"
# Everything else is written with a backslash; what is not ASCII is no syntax.
_PLAIN = re.compile(r"[\w./@%+=:,^-]")
_IN_DOUBLE_QUOTES = '"\\$`'


class Cursor(NamedTuple):
    """What the shell will replace: what follows `kept` of the last word, inside `quote` if any."""

    kept: str
    quote: str


def read_line(line: str, breaks: str) -> tuple[list[str], Cursor]:
    """The words of a command without the first, the last one perhaps unfinished or empty.

    `breaks` are the characters behind which readline begins a word of its own, $COMP_WORDBREAKS.
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
        elif char in _BLANK:
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


def typed(value: str, cursor: Cursor) -> str | None:
    """`value` as it has to be typed at the cursor; None if it cannot be."""
    if not value.startswith(cursor.kept):
        return None
    rest = value[len(cursor.kept) :]
    if not cursor.quote:
        return "".join(char if _PLAIN.match(char) else f"\\{char}" for char in rest)
    if cursor.quote == "'":
        written = rest.replace("'", "'\\''")
    elif "!" in rest:
        # It calls the history inside double quotes, and no backslash stops it.
        return None
    else:
        written = "".join(f"\\{char}" if char in _IN_DOUBLE_QUOTES else char for char in rest)
    # Readline closes the quote, unless it takes the last character for the end of it.
    return written + cursor.quote if written.endswith(cursor.quote) else written
