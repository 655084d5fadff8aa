"""Finds every regular expression of the package, and texts that could make one slow."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import random
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

import gbrain
from gbrain.output.code_colours import COLOURED_LANGUAGES

FUNCTIONS = frozenset("compile match fullmatch search split sub subn findall finditer".split())
REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT)
LETTERS = [chr(code) for code in range(128)] + ["é", "Δ", "知", "\u0301", "\u2014", "\U0001f600"]


class FoundPattern(NamedTuple):
    """A pattern and where it is used; `anchored` if it is only matched, never searched."""

    location: str
    pattern: str
    flags: int
    anchored: bool = False


def modules() -> Iterator[ModuleType]:
    """Yield every module of the package except __main__."""
    for module in pkgutil.walk_packages(gbrain.__path__, "gbrain."):
        if not module.name.endswith("__main__"):
            yield importlib.import_module(module.name)


@cache
def patterns() -> tuple[list[FoundPattern], list[str]]:
    """Return all patterns, and the calls whose pattern is built at run time."""
    known: dict[tuple[str, int], FoundPattern] = {}
    uses: dict[tuple[str, int], set[str]] = {}
    unknown: list[str] = []
    for module in modules():
        for value in vars(module).values():
            for key in _patterns_in(value):
                known.setdefault(key, FoundPattern(module.__name__, *key))
        for owner, function, call in _calls(module):
            if owner == "re":
                try:
                    key = _evaluate(call, module)
                except (NameError, TypeError):
                    unknown.append(f"{module.__name__}: {ast.unparse(call.args[0])}")
                    continue
                known[key] = FoundPattern(f"{module.__name__}:{call.lineno}", *key)
            else:
                held = list(_patterns_in(vars(module).get(owner)))
                if len(held) != 1:
                    continue
                key = held[0]
            if function != "compile":
                uses.setdefault(key, set()).add(function)
    anchored = {key for key, function in uses.items() if function <= {"match", "fullmatch"}}
    return [w._replace(anchored=key in anchored) for key, w in known.items()], unknown


def _patterns_in(value: object) -> Iterator[tuple[str, int]]:
    """Yield the patterns in a constant: compiled ones, and strings that look like one."""
    if isinstance(value, re.Pattern):
        yield _as_text(value.pattern), value.flags & ~re.UNICODE
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
            yield from _patterns_in(each)
    elif isinstance(value, dict):
        yield from _patterns_in([*value, *value.values()])


def _calls(module: ModuleType) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield (name, function, call) of every `name.match(…)` and similar call."""
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, function = node.func.value, node.func.attr
            if isinstance(owner, ast.Name) and function in FUNCTIONS:
                yield owner.id, function, node


def _evaluate(call: ast.Call, module: ModuleType) -> tuple[str, int]:
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
    return _as_text(pattern), flags


def _as_text(pattern: str | bytes) -> str:
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


# --- repeats within repeats --------------------------------------------------------------------


def nested_repeats(found: FoundPattern) -> list[str]:
    """Describe repeats within a repeat that can divide their text in more than one way.

    Such a place is harmless if each round contains a character that the inner repeat cannot match.
    Possessive and atomic parts are never retried.
    """
    tree = parser.parse(found.pattern, found.flags)
    return [f"{found.location}: {found.pattern}" for body in _repeated(tree) if _ambiguous(body)]


def _repeated(tree: Any) -> Iterator[Any]:
    """Yield the bodies of all unbounded repeats that can backtrack."""
    for op, given in tree:
        if op in REPEATS and given[1] > 100:
            yield given[2]
        for part in _subtrees(op, given):
            yield from _repeated(part)


def _subtrees(op: Any, given: Any) -> Iterator[Any]:
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
    always = [_matching(op, given) for op, given in _required_items(body) if op in _SINGLE]
    return not all(any(not one & repeat for one in always) for repeat in inner)


_SINGLE = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)


def _required_items(body: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the items that every match of a body contains, with groups flattened."""
    for op, given in body:
        if op is ops.SUBPATTERN:
            yield from _required_items(given[3])
        elif op in (*REPEATS, ops.POSSESSIVE_REPEAT) and given[0] > 0:
            yield from _required_items(given[2])
        else:
            yield op, given


def _characters(tree: Any) -> set[str]:
    """Return all of LETTERS that some single item of a tree can match."""
    characters: set[str] = set()
    for op, given in tree:
        if op in _SINGLE:
            characters |= _matching(op, given)
        for part in _subtrees(op, given):
            characters |= _characters(part)
    return characters


def _matching(op: Any, given: Any) -> set[str]:
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


def attacks(found: FoundPattern, size: int, seed: int = 0) -> Iterator[str]:
    """Yield texts of about `size` characters: many rounds of one repeat, then a mismatch."""
    rng = random.Random(f"{found.pattern}{seed}")
    tree = parser.parse(found.pattern, found.flags)
    pumped = list(_pumps(tree, "", rng))
    for before, again in pumped:
        if again:
            many = again * (size // len(again))
            for spoiler in ("", "\0", "\n", "!"):
                yield before + many + spoiler
            # Many possible starts: a search tries again at each of them.
            start = before + again
            yield start * (size // len(start))
            yield start[0] * size


def _pumps(tree: Any, before: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield (text before it, text of one round) of every repeat in a tree."""
    for op, given in tree:
        for part in _subtrees(op, given):
            yield from _pumps(part, before, rng)
        if op in (*REPEATS, ops.POSSESSIVE_REPEAT) and given[1] > 100:
            yield before, _sample(given[2], rng)
        before += _sample([(op, given)], rng)


def _sample(tree: Any, rng: random.Random) -> str:
    """Return a text that a tree can match, ignoring lookarounds."""
    return "".join(_sample_of(op, given, rng) for op, given in tree)


def _sample_of(op: Any, given: Any, rng: random.Random) -> str:
    if op in _SINGLE:
        return rng.choice(sorted(_matching(op, given)) or ["\ufffd"])
    if op in (*REPEATS, ops.POSSESSIVE_REPEAT):
        return _sample(given[2], rng) * max(given[0], 1)
    if op is ops.BRANCH:
        return _sample(rng.choice(given[1]), rng)
    if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
        return _sample(given[3] if op is ops.SUBPATTERN else given, rng)
    return ""


# --- lexers that colour code --------------------------------------------------------------------

# Of the six texts that attack a repeat: one that ends in a mismatch, and one of many starts.
ATTACKS_ON_REPEAT = (1, 4)


def lexer_attacks(language: str, size: int) -> Iterator[tuple[Any, tuple[str, ...], str]]:
    """Yield (lexer, states, code) that could make the lexer of a language slow."""
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language)
    states_of: dict[tuple[str, int], str] = {}
    for state, rules in getattr(lexer, "_tokens", {}).items():
        for match, *_ in rules:
            pattern = getattr(match, "__self__", None)
            if isinstance(pattern, re.Pattern):
                states_of.setdefault((pattern.pattern, pattern.flags & ~re.UNICODE), state)
    for (pattern, flags), state in states_of.items():
        states = ("root",) if state == "root" else ("root", state)
        for number, text in enumerate(attacks(FoundPattern(language, pattern, flags), size)):
            if number % 6 in ATTACKS_ON_REPEAT:
                yield lexer, states, text + "\n"
    for unit in CODE_UNITS:
        yield lexer, ("root",), unit * (size // len(unit)) + "\n"
        yield lexer, ("root",), "a=" + unit * (size // len(unit)) + "\n"


CODE_UNITS = (
    *"[*`<(|>\n \t#=:-@&%$~^.,;/{}'\"\\a0é知",
    *("![ <!-- <? <% ${ a: a( a= <<A /* // r' f\" %w( <a </ url( a- b' \\\n a\n".split(" ")),
)


def colour(lexer: Any, states: tuple[str, ...], code: str) -> None:
    """Read code with a lexer that is in the given states."""
    from pygments.lexer import ExtendedRegexLexer, RegexLexer

    if isinstance(lexer, RegexLexer) and not isinstance(lexer, ExtendedRegexLexer):
        # Some lexers have a method of their own, which takes no states.
        for _ in RegexLexer.get_tokens_unprocessed(lexer, code, states):
            pass
    for _ in lexer.get_tokens(code):
        pass


def attack_lexers(size: int, languages: Iterable[str]) -> None:
    """Run the lexers of languages on their attacks; the last line printed names one that hangs."""
    texts = 0
    for language in languages:
        for lexer, states, code in lexer_attacks(language, size):
            print(f"{language} {states}: {code[:40]!r}", flush=True)
            with suppress(IndexError):
                # In a state that is never the last one.
                colour(lexer, states, code)
            texts += 1
    print(f"{texts} texts")


def main() -> None:
    """Run every pattern on its attacks; the last line printed names one that hangs."""
    if sys.argv[1] == "lexers":
        attack_lexers(int(sys.argv[2]), sys.argv[3:] or sorted(COLOURED_LANGUAGES))
        return
    size, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    texts = 0
    for found in patterns()[0]:
        print(f"{found.location}: {found.pattern!r}", flush=True)
        compiled = re.compile(found.pattern, found.flags)
        for text in attacks(found, size, seed):
            if found.anchored:
                compiled.match(text)
                compiled.fullmatch(text)
            else:
                for _ in compiled.finditer(text):
                    pass
            texts += 1
    print(f"{texts} texts")


if __name__ == "__main__":
    main()
