"""Options that commands share: each has those that make sense for what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dis import get_instructions
from inspect import isfunction, unwrap
from types import CodeType, FunctionType
from typing import Any

import pytest
from typer.main import get_command

from gbrain.cli.app import COMMANDS, app


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """The commands that do something, by all of their words."""
    below = getattr(command, "commands", None)
    if not below:
        yield name, command
    for word, each in (below or {}).items():
        yield from leaves(f"{name} {word}", each)


PROGRAM = get_command(app)
EVERY = dict(
    leaf
    for name in COMMANDS
    for leaf in leaves(name, PROGRAM.get_command(None, name))  # type: ignore[attr-defined]
)


def options(name: str) -> set[str]:
    return {written for parameter in EVERY[name].params for written in parameter.opts}


def codes(function: FunctionType, seen: set[str]) -> Iterator[CodeType]:
    """What a command runs of its own: its function, and those of `gbrain.cli` that it calls."""
    if function.__qualname__ in seen or not function.__module__.startswith("gbrain.cli"):
        return
    seen.add(function.__qualname__)
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [part for part in code.co_consts if isinstance(part, CodeType)]
        for step in get_instructions(code):
            called = function.__globals__.get(step.argval) if "GLOBAL" in step.opname else None
            if isfunction(called):
                yield from codes(called, seen)


def uses(name: str) -> set[str]:
    """The names that a command looks up and the keywords that it passes."""
    function = unwrap(EVERY[name].callback)
    found: set[str] = set()
    # Not the question whether to run a command that came with the brain.
    for code in codes(function, {"_confirm_command"}):
        found |= set(code.co_names)
        found |= {word for part in code.co_consts if isinstance(part, tuple) for word in part}
    return found


def test_commands_are_found_with_their_subcommands() -> None:
    assert {"search", "config reset", "jobs list"} <= set(EVERY)


def test_every_command_that_prints_prints_json() -> None:
    without = {name for name in EVERY if "--json" not in options(name)}
    assert without == {"serve", "demo", "completion"}, "a protocol, a show and a script"


def test_every_command_that_talks_can_be_told_not_to() -> None:
    talks = {name for name in EVERY if {"say", "write_table", "progress"} & uses(name)}
    assert {"search", "list", "diff", "why", "jobs list", "sync"} <= talks
    loud = {name for name in talks if "--quiet" not in options(name)}
    # Those have always something to list; serve talks to a person who starts it by hand.
    assert loud == {"history", "profile list", "model list", "schema", "serve", "demo"}


def test_every_command_that_pages_can_be_told_not_to() -> None:
    pages = {name for name in EVERY if "pager" in uses(name) and name != "demo"}
    assert {"search", "query", "get", "list", "diff", "explain", "timeline", "graph"} <= pages
    assert pages == {name for name in EVERY if "--no-pager" in options(name)}


@pytest.mark.parametrize(
    "words",
    [
        ("query", "river", "--mode", "semantic"),
        ("search", "zymurgy"),
        ("explain", "river", "--mode", "semantic"),
        ("list", "-n", "1"),
        ("timeline", "-n", "1"),
        ("diff", "index"),
        ("diff", "index", "--since", "2020"),
        ("why", "packing-list"),
        ("jobs", "list", "-n", "1"),
        ("gaps",),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_quiet_leaves_the_data_alone(run, sample, words: tuple[str, ...]) -> None:
    loud, quiet = run(*words), run(*words, "--quiet")
    times = r"(?s)[\d.]+ ms|\nTime, .*"
    assert re.sub(times, "", quiet.stdout) == re.sub(times, "", loud.stdout)
    assert (quiet.exit_code, quiet.stderr) == (loud.exit_code, "")
