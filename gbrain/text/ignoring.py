"""Rules of an ignore file, as git reads .gitignore, in time linear in the rule and the path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

# A bracket with its content: a `]` that stands first in it is one of its characters.
_BRACKET = re.compile(r"\[([!^]?+)(\]?+(?:[^\]\\]|\\.)*+)\]", re.DOTALL)
_MANY = re.compile(r"\*\*+")


class _Rule(NamedTuple):
    """`steps` match a path's names in turn; None stands for any number of folders."""

    steps: tuple[re.Pattern[str] | None, ...]
    brings_back: bool
    folders_only: bool


def ignore_rules(lines: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path below the folder is ignored; that of a folder ends with a slash.

    Whoever asks must not look into a folder that is ignored: rules say nothing of what is inside.
    Raises ValueError for a rule that cannot be read.
    """
    rules = [rule for line in lines if (rule := _rule(line))][::-1]

    def ignored(path: str) -> bool:
        names = path.rstrip("/").split("/")
        for rule in rules:
            if path.endswith("/") >= rule.folders_only and _matches(rule.steps, names):
                return not rule.brings_back
        return False

    return ignored


def _rule(line: str) -> _Rule | None:
    written = _without_blanks(line)
    if not written or written.startswith("#"):
        return None
    brings_back = written.startswith("!")
    written = written[1:] if brings_back else written
    folders_only = written.endswith("/")
    path = written.rstrip("/") if folders_only else written
    names = path.lstrip("/").split("/")
    anchored = path.startswith("/") or len(names) > 1
    if not any(names) or _ends_open(path):
        return None
    steps = tuple(None if _MANY.fullmatch(name) else _step(name) for name in names if name)
    return _Rule(steps if anchored else (None, *steps), brings_back, folders_only)


def _without_blanks(line: str) -> str:
    """The line without the blanks at its end, of which one behind a backslash stays."""
    bare = line.rstrip()
    return bare + line[len(bare) : len(bare) + 1] if _ends_open(bare) else bare


def _ends_open(text: str) -> bool:
    """Whether a text ends with a backslash that something should follow."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _step(name: str) -> re.Pattern[str]:
    """A pattern of one name. Every part between stars is taken at the first place where it fits."""
    first, *others = ("".join(_characters(part)) for part in _parts(name))
    *middle, last = others or [""]
    found = "".join(f"(?>.*?{part})" for part in middle)
    pattern = f"{first}{found}.*{last}" if others else first
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise ValueError(f"the rule {name} cannot be read: {error.msg}") from None


def _parts(name: str) -> Iterator[str]:
    """What stands between the stars that are no characters."""
    start = at = 0
    while at < len(name):
        if name[at] == "\\":
            at += 2
        elif name[at] == "[" and (bracket := _BRACKET.match(name, at)):
            at = bracket.end()
        elif name[at] == "*":
            yield name[start:at]
            start = at = at + 1
        else:
            at += 1
    yield name[start:]


def _characters(part: str) -> Iterator[str]:
    at = 0
    while at < len(part):
        bracket = _BRACKET.match(part, at) if part[at] == "[" else None
        if bracket:
            yield _one_of(bracket[1], bracket[2])
            at = bracket.end()
            continue
        if part[at] == "\\" and at + 1 < len(part):
            at += 1
            yield re.escape(part[at])
        else:
            yield "." if part[at] == "?" else re.escape(part[at])
        at += 1


def _one_of(negated: str, content: str) -> str:
    escaped = re.sub(r"\\(.)|([\[\]^&~|])", lambda m: "\\" + (m[1] or m[2]), content, flags=re.S)
    return f"[{'^' if negated else ''}{escaped}]"


def _matches(steps: tuple[re.Pattern[str] | None, ...], names: list[str]) -> bool:
    """Whether the steps lead from the first of the names to behind the last."""
    reached = {0}
    for number, step in enumerate(steps, 1):
        if step is None:
            # At the end it stands for what is in a folder, not for the folder.
            first = min(reached) + (number == len(steps))
            reached = set(range(first, len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and step.fullmatch(names[at])}
        if not reached:
            return False
    return len(names) in reached
