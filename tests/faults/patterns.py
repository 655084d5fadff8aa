"""Every regular expression of the package, found in its source, and what might make one slow."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import random
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

import gbrain

FUNCTIONS = frozenset("compile match fullmatch search split sub subn findall finditer".split())
REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT)
LETTERS = [chr(code) for code in range(128)] + ["é", "Δ", "知", "\u0301", "\u2014", "\U0001f600"]


class Written(NamedTuple):
    """A pattern and the place where it is used or made; `anchored` if it is never searched for."""

    place: str
    pattern: str
    flags: int
    anchored: bool = False


def modules() -> Iterator[ModuleType]:
    """Every module of the package but those that run when they are imported."""
    for found in pkgutil.walk_packages(gbrain.__path__, "gbrain."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


@cache
def patterns() -> tuple[list[Written], list[str]]:
    """All patterns, and the calls whose pattern only a run of the program knows."""
    known: dict[tuple[str, int], Written] = {}
    uses: dict[tuple[str, int], set[str]] = {}
    unknown: list[str] = []
    for module in modules():
        for value in vars(module).values():
            for found in _inside(value):
                known.setdefault(found, Written(module.__name__, *found))
        for owner, how, call in _calls(module):
            if owner == "re":
                try:
                    found = _evaluated(call, module)
                except (NameError, TypeError):
                    unknown.append(f"{module.__name__}: {ast.unparse(call.args[0])}")
                    continue
                known[found] = Written(f"{module.__name__}:{call.lineno}", *found)
            else:
                held = list(_inside(vars(module).get(owner)))
                if len(held) != 1:
                    continue
                found = held[0]
            if how != "compile":
                uses.setdefault(found, set()).add(how)
    anchored = {found for found, how in uses.items() if how <= {"match", "fullmatch"}}
    return [w._replace(anchored=found in anchored) for found, w in known.items()], unknown


def _inside(value: object) -> Iterator[tuple[str, int]]:
    """The patterns that a constant holds: compiled ones, or texts that can only be one."""
    if isinstance(value, re.Pattern):
        yield _of_characters(value.pattern), value.flags & ~re.UNICODE
    elif isinstance(value, str) and re.search(r"\(\?[:!=<aiPms>(]|\[\^|\\[bdsw]|\]\+", value):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                re.compile(value)
        except (re.error, Warning):
            return
        yield value, 0
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _inside(each)
    elif isinstance(value, dict):
        yield from _inside([*value, *value.values()])


def _calls(module: ModuleType) -> Iterator[tuple[str, str, ast.Call]]:
    """(name, function, call) of every `name.match(…)` and the like."""
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, how = node.func.value, node.func.attr
            if isinstance(owner, ast.Name) and how in FUNCTIONS:
                yield owner.id, how, node


def _evaluated(call: ast.Call, module: ModuleType) -> tuple[str, int]:
    names = dict(vars(module)) | {"re": re}
    given = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    if call.func.attr == "compile" and len(call.args) > 1:  # type: ignore[attr-defined]
        given.append(call.args[1])
    parts = [call.args[0], *given]
    values = [eval(compile(ast.Expression(part), "", "eval"), names) for part in parts]
    pattern, flags = values[0], int(sum(values[1:]))
    if isinstance(pattern, re.Pattern):
        pattern, flags = pattern.pattern, pattern.flags & ~re.UNICODE
    if not isinstance(pattern, str | bytes):
        raise TypeError(pattern)
    return _of_characters(pattern), flags


def _of_characters(pattern: str | bytes) -> str:
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


# --- repeats within repeats --------------------------------------------------------------------


def nested_repeats(written: Written) -> list[str]:
    """Repeats within a repeat that may share their text in more than one way, as descriptions.

    One such place is harmless if what is repeated always holds a character that the inner repeat
    cannot match: it tells where each round ends. What is possessive or atomic is never retried.
    """
    tree = parser.parse(written.pattern, written.flags)
    return [f"{written.place}: {written.pattern}" for body in _repeated(tree) if _ambiguous(body)]


def _repeated(tree: Any) -> Iterator[Any]:
    """The bodies of all unbounded repeats that are tried again when what follows fails."""
    for op, given in tree:
        if op in REPEATS and given[1] > 100:
            yield given[2]
        for part in _parts(op, given):
            yield from _repeated(part)


def _parts(op: Any, given: Any) -> Iterator[Any]:
    if op in (*REPEATS, ops.POSSESSIVE_REPEAT):
        yield given[2]
    elif op is ops.SUBPATTERN:
        yield given[3]
    elif op is ops.BRANCH:
        yield from given[1]
    elif op in (ops.ASSERT, ops.ASSERT_NOT):
        yield given[1]
    elif op is ops.ATOMIC_GROUP:
        yield given
    elif op is ops.GROUPREF_EXISTS:
        yield from (part for part in given[1:] if part)


def _ambiguous(body: Any) -> bool:
    inner = [_characters(repeat) for repeat in _repeated(body)]
    always = [_matched(op, given) for op, given in _flat(body) if op in _SINGLE]
    return not all(any(not one & repeat for one in always) for repeat in inner)


_SINGLE = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)


def _flat(body: Any) -> Iterator[tuple[Any, Any]]:
    """What is always there in a body, groups opened."""
    for op, given in body:
        if op is ops.SUBPATTERN:
            yield from _flat(given[3])
        elif op in (*REPEATS, ops.POSSESSIVE_REPEAT) and given[0] > 0:
            yield from _flat(given[2])
        else:
            yield op, given


def _characters(tree: Any) -> set[str]:
    """All of LETTERS that some single character of a tree may match."""
    found: set[str] = set()
    for op, given in tree:
        if op in _SINGLE:
            found |= _matched(op, given)
        for part in _parts(op, given):
            found |= _characters(part)
    return found


def _matched(op: Any, given: Any) -> set[str]:
    if op is ops.LITERAL:
        return {chr(given)}
    if op is ops.NOT_LITERAL:
        return set(LETTERS) - {chr(given)}
    if op is ops.ANY:
        return set(LETTERS) - {"\n"}
    return {letter for letter in LETTERS if _in_set(given, letter)}


def _in_set(items: list[tuple[Any, Any]], letter: str) -> bool:
    code, negated, inside = ord(letter), False, False
    for op, given in items:
        if op is ops.NEGATE:
            negated = True
        elif op is ops.LITERAL:
            inside |= given == code
        elif op is ops.RANGE:
            inside |= given[0] <= code <= given[1]
        else:
            inside |= re.match(_CATEGORIES[given], letter) is not None
    return inside != negated


_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_NOT_DIGIT: r"\D",
    ops.CATEGORY_SPACE: r"\s", ops.CATEGORY_NOT_SPACE: r"\S",
    ops.CATEGORY_WORD: r"\w", ops.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


# --- texts that make a slow pattern hang ---------------------------------------------------------


def attacks(written: Written, size: int, seed: int = 0) -> Iterator[str]:
    """Texts of about `size` characters, each one repeat of the pattern pumped up, then spoilt."""
    chance = random.Random(f"{written.pattern}{seed}")
    tree = parser.parse(written.pattern, written.flags)
    pumped = list(_pumps(tree, "", chance))
    for before, again in pumped:
        if again:
            many = again * (size // len(again))
            for spoiler in ("", "\0", "\n", "!"):
                yield before + many + spoiler
            # As many beginnings as there is room for: what a search tries again at each of them.
            start = before + again
            yield start * (size // len(start))
            yield start[0] * size


def _pumps(tree: Any, before: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """(what leads to it, one round) of every repeat in a tree."""
    for op, given in tree:
        for part in _parts(op, given):
            yield from _pumps(part, before, chance)
        if op in (*REPEATS, ops.POSSESSIVE_REPEAT) and given[1] > 100:
            yield before, _sample(given[2], chance)
        before += _sample([(op, given)], chance)


def _sample(tree: Any, chance: random.Random) -> str:
    """A text that a tree may match, lookarounds aside."""
    return "".join(_sample_of(op, given, chance) for op, given in tree)


def _sample_of(op: Any, given: Any, chance: random.Random) -> str:
    if op in _SINGLE:
        return chance.choice(sorted(_matched(op, given)) or ["\ufffd"])
    if op in (*REPEATS, ops.POSSESSIVE_REPEAT):
        return _sample(given[2], chance) * max(given[0], 1)
    if op is ops.BRANCH:
        return _sample(chance.choice(given[1]), chance)
    if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
        return _sample(given[3] if op is ops.SUBPATTERN else given, chance)
    return ""


def main() -> None:
    """Tries every pattern on its attacks; says which one it is at, for whoever waits too long."""
    size, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    texts = 0
    for written in patterns()[0]:
        print(f"{written.place}: {written.pattern!r}", flush=True)
        compiled = re.compile(written.pattern, written.flags)
        for text in attacks(written, size, seed):
            if written.anchored:
                compiled.match(text)
                compiled.fullmatch(text)
            else:
                for _ in compiled.finditer(text):
                    pass
            texts += 1
    print(f"{texts} texts")


if __name__ == "__main__":
    main()
