"""Rules of an ignore file, as git reads .gitignore, in time linear in the rule and the path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

# In a bracket, a `]` that stands first is one of its characters; nothing matches an open one.
_TOKEN = re.compile(
    r"(?P<star>\*)|(?P<any>\?)|\[(?P<not>[!^]?+)(?P<set>\]?+(?:[^\]\\]|\\.)*+)\]|(?P<open>\[.*)"
    r"|\\?(?P<plain>.)",
    re.DOTALL,
)
_MANY = re.compile(r"\*\*+")
# No path is longer.
_LONGEST = 4096


class _Rule(NamedTuple):
    """`steps` match a path's names in turn; None stands for any number of folders."""

    steps: tuple[re.Pattern[str] | None, ...]
    brings_back: bool
    folders_only: bool


def parse_ignore_rules(lines: Iterable[str]) -> Callable[[str], bool]:
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
    if len(line) > _LONGEST:
        raise ValueError(f"a rule is longer than {_LONGEST} characters")
    written = _without_blanks(line)
    if not written or written.startswith("#"):
        return None
    brings_back = written.startswith("!")
    written = written[1:] if brings_back else written
    folders_only = written.endswith("/")
    path = written.removesuffix("/")
    names = path.removeprefix("/").split("/")
    anchored = path.startswith("/") or len(names) > 1
    if not all(names) or _ends_open(path):
        return None
    steps = tuple(None if _MANY.fullmatch(name) else _step(name) for name in names)
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
    parts = [""]
    for token in _TOKEN.finditer(name):
        if token["star"]:
            parts.append("")
        else:
            parts[-1] += _character(token)
    first, *middle = parts
    last = middle.pop() if middle else None
    found = "".join(f"(?>.*?{part})" for part in middle)
    try:
        return re.compile(first if last is None else f"{first}{found}.*{last}", re.DOTALL)
    except re.error as error:
        raise ValueError(f"the rule {name} cannot be read: {error.msg}") from None


def _character(token: re.Match[str]) -> str:
    if token["any"] or token["open"]:
        return "." if token["any"] else "(?!)"
    if token["set"] is None:
        return re.escape(token["plain"])
    escaped = re.sub(
        r"\\(.)|([\[\]^&~|])", lambda m: "\\" + (m[1] or m[2]), token["set"], flags=re.DOTALL
    )
    return f"[{'^' if token['not'] else ''}{escaped}]"


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
