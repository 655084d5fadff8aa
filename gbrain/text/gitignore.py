"""Match paths against .gitignore rules as git does, in linear time for any rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gbrain.text.slug import normalise_unicode

# A `]` right after the opening bracket is a member of the set; an unclosed bracket never matches.
_TOKEN = re.compile(
    r"(?P<star>\*)|(?P<any>\?)"
    r"|\[(?P<not>[!^]?+)(?P<set>\]?+(?:\[:[^\]:]*+:\]|[^\]\\]|\\.)*+)\]"
    r"|(?P<open>\[.*)|\\?(?P<plain>.)",
    re.DOTALL,
)
_MEMBER = re.compile(
    r"\[:(?P<class>[^\]:]*+):\]|\\(?P<escaped>.)|(?P<special>[\[\]^&~|])", re.DOTALL
)
# Of ASCII characters only, as in git.
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r"\ \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-\\~",
    "lower": "a-z",
    "print": r"\ -\~",
    "punct": r"!-/:-@\[-`{-\~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_DOUBLE_STAR = re.compile(r"\*\*+")
# No path is longer.
_MAX_RULE_CHARACTERS = 4096


class _Rule(NamedTuple):
    """A rule; `steps` match the names of a path in order, None matches any number of folders."""

    steps: tuple[re.Pattern[str] | None, ...]
    negated: bool
    folders_only: bool


def parse_ignore_file(data: bytes, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Return `parse_ignore_rules` of a file's content; raise ValueError if it cannot be read."""
    try:
        # A byte order mark is skipped, as git does.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the text is not UTF-8") from None
    if "\0" in text:
        raise ValueError("the text contains NUL characters, as UTF-16 does")
    return parse_ignore_rules(re.split(r"\r\n?|\n", text), ignore_case=ignore_case)


def parse_ignore_rules(lines: Iterable[str], *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Return a function that tells whether a relative path is ignored; a folder ends with a slash.

    Files inside an ignored folder are not matched: do not descend into it. Composed and decomposed
    letters are the same: macOS decomposes names. Raises ValueError for an invalid rule.
    """

    def fold(text: str) -> str:
        composed = normalise_unicode("NFC", text)
        return composed.lower() if ignore_case else composed

    rules = [rule for line in lines if (rule := _parse_rule(fold(line)))][::-1]

    def is_ignored(path: str) -> bool:
        names = fold(path).rstrip("/").split("/")
        for rule in rules:
            if path.endswith("/") >= rule.folders_only and _matches(rule.steps, names):
                return not rule.negated
        return False

    return is_ignored


def _parse_rule(line: str) -> _Rule | None:
    if len(line) > _MAX_RULE_CHARACTERS:
        raise ValueError(f"a rule is longer than {_MAX_RULE_CHARACTERS} characters")
    written = _strip_trailing_blanks(line)
    if not written or written.startswith("#"):
        return None
    negated = written.startswith("!")
    written = written[1:] if negated else written
    folders_only = written.endswith("/")
    path = written.removesuffix("/")
    names = path.removeprefix("/").split("/")
    anchored = path.startswith("/") or len(names) > 1
    if not all(names) or _ends_with_escape(path):
        return None
    steps = tuple(None if _DOUBLE_STAR.fullmatch(name) else _compile_name(name) for name in names)
    return _Rule(steps if anchored else (None, *steps), negated, folders_only)


def _strip_trailing_blanks(line: str) -> str:
    """Return the line without trailing blanks, except one that is escaped by a backslash."""
    bare = line.rstrip()
    return bare + line[len(bare) : len(bare) + 1] if _ends_with_escape(bare) else bare


def _ends_with_escape(text: str) -> bool:
    """Tell whether a text ends with a backslash that is not escaped itself."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _compile_name(name: str) -> re.Pattern[str]:
    """Return the pattern of one name; text between stars matches at its first occurrence."""
    parts = [""]
    for token in _TOKEN.finditer(name):
        if token["star"]:
            parts.append("")
        else:
            parts[-1] += _character_pattern(token)
    first, *middle = parts
    last = middle.pop() if middle else None
    between = "".join(f"(?>.*?{part})" for part in middle)
    try:
        return re.compile(first if last is None else f"{first}{between}.*{last}", re.DOTALL)
    except re.error as error:
        raise ValueError(f"the rule {name} is invalid: {error.msg}") from None


def _character_pattern(token: re.Match[str]) -> str:
    if token["any"] or token["open"]:
        return "." if token["any"] else "(?!)"
    if token["set"] is None:
        return re.escape(token["plain"])
    return f"[{'^' if token['not'] else ''}{_MEMBER.sub(_member_pattern, token['set'])}]"


def _member_pattern(member: re.Match[str]) -> str:
    """Return the pattern of a class, or of a character that has a meaning in a set."""
    name = member["class"]
    if name is None:
        return "\\" + (member["escaped"] or member["special"])
    if name not in _CLASSES:
        raise ValueError(f"there is no class [:{name}:]")
    return _CLASSES[name]


def _matches(steps: tuple[re.Pattern[str] | None, ...], names: list[str]) -> bool:
    """Tell whether the steps match all names of a path."""
    reached = {0}
    for number, step in enumerate(steps, 1):
        if step is None:
            # A final ** matches what is in the folder, not the folder itself.
            first = min(reached) + (number == len(steps))
            reached = set(range(first, len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and step.fullmatch(names[at])}
        if not reached:
            return False
    return len(names) in reached
