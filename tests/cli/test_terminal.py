"""The program on a real terminal: colour, links, the pager and the first words it says."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\|\x1b[=>]")


def plain(shown: str) -> str:
    return ESCAPES.sub("", shown)


@pytest.mark.parametrize("columns", [40, 100, 250])
def test_every_line_of_an_answer_fits(at_terminal, sample, columns):
    code, shown = at_terminal("search", "river", "--no-pager", columns=columns)
    assert code == 0
    assert max(cell_len(line) for line in plain(shown).splitlines()) <= columns
    assert "10 pages in" in plain(shown)


def test_the_summary_breaks_between_its_hints(at_terminal, embedded):
    _, shown = at_terminal("query", "backup sqlite", "--no-pager", columns=80)
    first, second = plain(shown).splitlines()[-2:]
    assert re.fullmatch(r"\d+ pages in \d+ ms, by keyword and vector; --all lists .*", first)
    assert second == "gbrain open N opens one"
    _, shown = at_terminal("query", "backup sqlite", "--no-pager", columns=120)
    assert plain(shown).splitlines()[-1].endswith("; gbrain open N opens one")


def test_five_hits_fit_on_a_small_screen_without_a_pager(run, at_terminal, sample):
    _, shown = at_terminal("search", "river", columns=80, rows=24, GBRAIN_PAGER="false")
    lines = plain(shown).splitlines()
    assert 10 < len(lines) < 24
    assert [line[:3] for line in lines if line[:2].strip()][:5] == [
        " 1 ",
        " 2 ",
        " 3 ",
        " 4 ",
        " 5 ",
    ]
    assert re.search(
        r"10 pages in \d+ ms, by keyword; --all lists 5 more hits; gbrain open N", lines[-1]
    )
    assert len(run("search", "river", "--json").json["results"]) == 10
    for chosen in (("--all",), ("--limit", "7")):
        _, shown = at_terminal("search", "river", *chosen, "--no-pager")
        assert re.search(r"^ 7 ", plain(shown), re.M)
    run("config", "set", "default_limit", "7")
    _, shown = at_terminal("search", "river", "--no-pager")
    assert re.search(r"^ 7 ", plain(shown), re.M)


def test_titles_lead_to_the_files(at_terminal, sample):
    from gbrain.cli.init import SAMPLE

    _, shown = at_terminal("search", "river", "--limit", "1")
    assert f";{(SAMPLE / 'companies' / 'river-ai.md').as_uri()}\x1b\\" in shown


def test_no_colour_on_request(at_terminal, sample):
    _, coloured = at_terminal("search", "backup", "--limit", "1")
    _, without = at_terminal("search", "backup", "--limit", "1", NO_COLOR="1")
    assert re.search(r"\x1b\[[0-9;]*3[0-9]", coloured)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", without)


def test_what_is_too_tall_goes_through_the_pager(at_terminal, sample, tmp_path: Path):
    seen = tmp_path / "seen"
    program = f"import sys; open({str(seen)!r}, 'wb').write(sys.stdin.buffer.read())"
    pager = shlex.join([sys.executable, "-c", program])
    at_terminal("search", "river", "--limit", "1", GBRAIN_PAGER=pager)
    at_terminal("search", "river", "--all", "--no-pager", rows=20, GBRAIN_PAGER=pager)
    assert not seen.exists()
    _, shown = at_terminal("search", "river", "--all", rows=20, GBRAIN_PAGER=pager)
    assert shown == ""
    assert "10 pages in" in plain(seen.read_text())
    assert "\x1b]8;" not in seen.read_text()
    assert "\x1b[" in seen.read_text()


def test_a_pager_that_is_not_there_loses_nothing(at_terminal, sample):
    _, shown = at_terminal("search", "river", "--all", rows=20, GBRAIN_PAGER="/no/such/pager")
    assert "10 pages in" in plain(shown)


def test_a_page_is_rendered_and_paged(at_terminal, sample):
    _, shown = at_terminal("get", "people/alice-chen", rows=10, GBRAIN_PAGER="head -n 2")
    assert 0 < len(plain(shown).splitlines()) <= 2


def test_front_matter_stands_line_by_line_above_the_page(at_terminal, sample):
    _, shown = at_terminal("get", "people/alice-chen", "--no-pager")
    lines = plain(shown).splitlines()
    assert lines[:2] == ["title: Alice Chen", "type: person"]
    assert "---" not in lines


def test_a_narrow_table_is_stacked(at_terminal, sample):
    _, shown = at_terminal("list", "--wing", "people", "-n", "1", columns=40)
    assert [line.rstrip() for line in plain(shown).splitlines()[:2]] == [
        "people/alice-chen",
        "  Alice Chen · people/profile ·",
    ]
    _, wide = at_terminal("list", "--wing", "people", "-n", "1")
    assert "Wing/room" in plain(wide)


def test_a_slug_in_a_table_is_not_broken_if_there_is_room(run, at_terminal, sample):
    slug = "meetings/2026-11-10-atlas-weekly"
    run("put", slug, stdin=b"# Atlas\n\n- [ ] Ask legal about the data processing agreement\n")
    _, shown = at_terminal("tasks", columns=80)
    assert slug in plain(shown)
    _, shown = at_terminal("tasks", columns=64)
    assert slug not in plain(shown)
    assert max(cell_len(line) for line in plain(shown).splitlines()) <= 64


def test_context_is_shown_with_its_receipt(at_terminal, embedded):
    _, shown = at_terminal(
        "query", "why not lanternworks", "--depth", "auto", "--budget", "200", "--no-pager"
    )
    assert "of 200 tokens, until the budget was full" in plain(shown)
    assert "[companies/lanternworks#L" in plain(shown)


def test_an_answer_left_superseded_pages_out(run, at_terminal, sample):
    run("put", "old", stdin=b"---\nsuperseded_by: new\n---\nzymurgy\n")
    run("put", "new", stdin=b"zymurgy\n")
    _, shown = at_terminal("search", "zymurgy")
    assert "1 superseded page left out; --include-superseded shows them." in plain(shown)
    _, shown = at_terminal("search", "zymurgy", "--include-superseded")
    assert "2 pages in" in plain(shown)


def test_the_chronicle(at_terminal, sample):
    _, shown = at_terminal("timeline", "--since", "2026-06", "--limit", "5", columns=60)
    assert re.search(r"^[A-Z][a-z]+ 2026$", plain(shown), re.M)


def test_allowed_values_of_a_setting_wrap_in_their_column(at_terminal, sample):
    _, shown = at_terminal("config", "list", "--no-pager", columns=80)
    lines = plain(shown).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("rerank  "))
    column = lines[at].index("off | cross-encoder")
    assert lines[at + 1][:column].strip() == ""
    assert lines[at + 1].strip().endswith("cross-encoder+learned")


# --- the program alone -----------------------------------------------------------------------


def test_alone_it_says_what_is_there(at_terminal, sample):
    code, shown = at_terminal(columns=60)
    assert code == 0
    assert str(sample) in plain(shown).replace("\n", "")
    assert "29 pages · 0 % of" in plain(shown)
    assert "gbrain embed" in shown


def test_alone_and_without_a_brain_it_says_how_to_begin(at_terminal, brain_path):
    code, shown = at_terminal()
    assert code == 0
    assert "There is no brain yet at" in plain(shown)
    assert "gbrain demo" in shown
    assert not brain_path.exists()


def test_alone_in_a_pipe_it_prints_help(run, sample):
    shown = run()
    assert shown.exit_code == 2
    assert "Everyday" in shown.stdout


def test_version(run):
    from gbrain import __version__

    assert run("--version").stdout == f"gbrain {__version__}\n"


# --- help and errors -------------------------------------------------------------------------


def test_the_everyday_commands_stand_first(run):
    panels = re.findall(r"╭─ ([A-Z][a-z ]+?) ─", run("--help").stdout)
    assert panels[-8:] == [
        "Everyday", "Pages", "Structure", "Several machines", "Quality",
        "Settings and maintenance", "Agents", "First steps",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("serch", "search"), ("qury", "query"), ("find", "search"), ("ls", "list"), ("rm", "delete")],
)
def test_an_unknown_command_suggests_the_nearest(run, typed, meant):
    refused = run(typed, "--json")
    assert refused.exit_code == 2
    assert refused.error["message"] == f"There is no command {typed!r}"
    assert refused.error["hint"] == f"Did you mean gbrain {meant}?"


def test_one_that_is_near_nothing(run):
    assert run("xyzzyx", "--json").error["hint"] == "gbrain -h lists them all."


def test_words_from_elsewhere_mean_commands_that_are_there():
    from gbrain.cli.app import COMMANDS, OTHER_NAMES

    assert set(OTHER_NAMES.values()) - {"--help"} <= set(COMMANDS)
    assert not set(OTHER_NAMES) & set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("search",), 'For example: gbrain search "river ai"'),
        (("embed", "--max-seconds", "x"), "gbrain embed -h shows the options and examples."),
        (("list", "--nonsense"), "gbrain list -h shows the options and examples."),
    ],
)
def test_wrong_usage_has_a_next_step(run, sample, words, hint):
    assert run(*words, "--json").error["hint"] == hint
