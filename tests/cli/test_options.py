"""Every command has the shared options that apply to it, and --quiet keeps the data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dis import get_instructions
from inspect import isfunction, unwrap
from types import CodeType, FunctionType
from typing import Any

import pytest
from typer import Context
from typer.main import get_command

from gbrain.cli.app import COMMANDS, app


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands that are not groups, with all words of their names."""
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
    """Yield the code of a command and of the functions in `gbrain.cli` that it calls."""
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
    """Return the names that a command looks up and the keywords that it passes."""
    function = unwrap(EVERY[name].callback)
    found: set[str] = set()
    # What is to be confirmed and a log of lost changes are reported even with --quiet.
    for code in codes(function, {"_ask", "say_orphaned_logs"}):
        found |= set(code.co_names)
        found |= {word for part in code.co_consts if isinstance(part, tuple) for word in part}
    return found


def test_subcommands_are_found() -> None:
    assert {"search", "config reset", "jobs list"} <= set(EVERY)


def test_every_command_has_json_output() -> None:
    without = {name for name in EVERY if "--json" not in options(name)}
    assert without == {"serve", "ui", "demo", "completion"}, "servers, a tour and a shell script"


def test_the_help_of_an_option_says_its_default() -> None:
    """The help prints no defaults of its own, because they would not fit 80 columns."""
    given = [
        (name, parameter.opts[0], parameter.help)
        for name in EVERY
        for parameter in EVERY[name].params
        if parameter.param_type_name == "option" and parameter.default not in (None, False)
    ]
    shown = [option for option in given if option[1] not in ("--help", "--selftest")]
    assert ("graph", "--limit", "Maximum number of pages (default 200).") in shown
    assert [option for option in shown if "default" not in option[2]] == []


def test_the_value_of_an_option_has_a_name() -> None:
    """Without one the help would say <int range>."""
    taking = [
        (name, parameter)
        for name in EVERY
        for parameter in EVERY[name].params
        if parameter.param_type_name == "option" and not parameter.is_flag
    ]
    assert len(taking) > 100
    assert [(name, each.opts) for name, each in taking if not each.metavar] == []


def test_paragraphs_of_help_have_no_line_breaks() -> None:
    """Help is wrapped to the width of the terminal, and only once."""
    paragraphs = [part for name in EVERY for part in EVERY[name].help.split("\n\n")]
    assert len(paragraphs) > len(EVERY)
    assert [part for part in paragraphs if "\n" in part] == []


def test_every_command_takes_one_line_of_the_help() -> None:
    """80 columns leave 60 for the summary of a command."""
    summaries = {name: EVERY[name].help.split("\n")[0] for name in EVERY if name in COMMANDS}
    assert summaries["search"] == "Find pages by keyword."
    assert {name: text for name, text in summaries.items() if len(text) > 60} == {}


def test_usage_names_arguments_in_capitals_and_optional_ones_in_brackets() -> None:
    usages = {
        name: command.collect_usage_pieces(Context(command, info_name=name))
        for name, command in EVERY.items()
    }
    assert usages["rename"] == ["[OPTIONS]", "SLUG", "NEW"]
    assert usages["sync"] == ["[OPTIONS]", "[DIR...]"]
    pieces = [piece for usage in usages.values() for piece in usage]
    named = re.compile(r"[A-Z:]+(\.\.\.)?|\[[A-Z:]+(\.\.\.)?\]")
    assert [piece for piece in pieces if not named.fullmatch(piece)] == []


def test_every_command_with_messages_has_quiet() -> None:
    messages = {name for name in EVERY if {"say", "write_table", "show_progress"} & uses(name)}
    assert {"search", "list", "diff", "why", "jobs list", "sync"} <= messages
    loud = {name for name in messages if "--quiet" not in options(name)}
    # The first four print nothing but their list; serve and ui have a message for a person only.
    assert loud == {"history", "profile list", "model list", "schema", "serve", "ui", "demo"}


def test_every_command_with_a_pager_has_no_pager() -> None:
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
        ("doctor", "--json"),
    ],
    ids=" ".join,
)
def test_quiet_prints_the_same_data(run, sample, words: tuple[str, ...]) -> None:
    loud, quiet = run(*words), run(*words, "--quiet")
    times = r"(?s)[\d.]+ ms|\nTime, .*"
    assert re.sub(times, "", quiet.stdout) == re.sub(times, "", loud.stdout)
    assert (quiet.exit_code, quiet.stderr) == (loud.exit_code, "")
