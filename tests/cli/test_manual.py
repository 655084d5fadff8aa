"""The man pages and the table of completion are the ones that the commands make."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from gbrain.cli import manual_prose
from gbrain.cli.app import COMMANDS
from gbrain.cli.completer import TABLE
from gbrain.cli.manual import completion_table, manual_pages
from gbrain.config import all_settings
from gbrain.text.query_terms import FIELDS

ROOT = Path(__file__).parents[2]
MAN = ROOT / "man"
RENEW = "run: python -m gbrain.cli.manual man"

PROSE = [
    *manual_prose.PROGRAM,
    *manual_prose.SETTINGS,
    *(section for sections in manual_prose.COMMANDS.values() for section in sections),
]
QUOTED = [name for _, text in PROSE for name in re.findall(r"`([^`]+)`", text)]


def plain(page: str) -> str:
    """A page as it reads, without the marks of its typesetting."""
    text = re.sub(r"\\f[BIR]", "", page).replace(r"\-", "-").replace(r"\(aq", "'")
    return " ".join(text.split())


def test_the_pages_on_file_are_up_to_date() -> None:
    on_file = {str(p.relative_to(MAN)): p.read_text() for p in MAN.rglob("*.[15]")}
    assert on_file == manual_pages(), RENEW


def test_the_table_of_completion_is_up_to_date() -> None:
    assert Path(TABLE).read_text() == completion_table(), RENEW


def test_every_command_and_setting_is_in_the_manual() -> None:
    pages = manual_pages()
    assert {f"man1/gbrain-{name}.1" for name in COMMANDS} <= set(pages)
    settings = plain(pages["man5/gbrain-config.5"])
    assert len(all_settings()) > 50
    for setting in all_settings().values():
        assert f".TP {setting.name} {setting.help.replace('`', '')}." in settings
        assert f"Takes {setting.allowed}; default " in settings
        assert f"From {setting.source}." in settings


def test_what_the_prose_names_is_there() -> None:
    """Commands, options and settings that are gone would be named in vain."""
    pages = manual_pages()
    options = set(re.findall(r"--[a-z-]+", plain(" ".join(pages.values()))))
    for quoted in QUOTED:
        words = quoted.split()
        if words[0] == "gbrain" and len(words) > 1:
            assert words[1] in COMMANDS, quoted
        for option in re.findall(r"(?<!\S)--[a-z-]+", quoted):
            assert option in options, quoted
        if re.fullmatch(r"[a-z]+(_[a-z]+)+", quoted):
            assert quoted in all_settings() or quoted == "superseded_by", quoted


def test_the_query_page_has_the_language_and_every_key() -> None:
    page = plain(manual_pages()["man1/gbrain-query.1"])
    for field in FIELDS:
        assert f"{field}:x" in page
    for key in ("verdict", "fell_back_to_bm25", "bm25_rank", "citation", "stopped"):
        assert f".TP {key} " in page
    assert "mode One of bm25, semantic, hybrid, auto." in page


def test_the_main_page_has_what_a_manual_has() -> None:
    page = manual_pages()["man1/gbrain.1"]
    headings = re.findall(r"^\.SH (.*)", page, re.M)
    assert headings[:5] == ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS"]
    assert {"FILES", "ENVIRONMENT", "EXIT STATUS"} <= set(headings)
    assert headings[-1] == "SEE ALSO"
    for name in COMMANDS:
        assert rf"gbrain-{name}(1)" in plain(page)


# Set for other programs, agreed on with the shells' own scripts, or no variables at all.
NOT_READ = {"_GBRAIN_COMPLETE", "LESS", "LESSCHARSET", "ORT_DISABLE_TELEMETRY"}
NOT_READ |= {"FATAL", "SCRAM"}
NOT_READ |= {"AF_UNIX", "COLUMNS", "LINES", "SC_PAGE_SIZE", "SO_PEERCRED"}
NOT_READ |= {
    "OPENBLAS_NUM_THREADS",
    "FILE",
    "NAME",
    "COMMIT",
    "VACUUM",
    "SIGHUP",
    "SIGTERM",
    "SLUG",
    "SOURCE",
    "ROOM",
    "TYPE",
    "VALUE",
    "WING",
}


def test_every_variable_that_the_program_reads_is_in_the_manual() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "gbrain").rglob("*.py"))
    read = {
        name
        for source in sources
        if "environ" in source and source != Path(manual_prose.__file__).read_text("utf-8")
        for name in re.findall(r'"(_?[A-Z][A-Z_]{3,})"', source)
    }
    told = set(re.findall(r"`([A-Z_]+)`", manual_prose.ENVIRONMENT))
    assert read - NOT_READ <= told
    assert told - read == {"NO_COLOR"}, "which Rich reads"


def test_the_wheel_installs_man_pages_and_completions() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    shared = built["targets"]["wheel"]["shared-data"]
    assert shared["man"] == "share/man"
    assert {path.parent.name + path.suffix for path in MAN.rglob("*.*")} == {"man1.1", "man5.5"}
    for source in shared:
        assert (ROOT / source).exists()
    assert set(shared.values()) > {
        "share/bash-completion/completions/gbrain",
        "share/zsh/site-functions/_gbrain",
        "share/fish/vendor_completions.d/gbrain.fish",
    }


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
@pytest.mark.parametrize(
    ("width", "step"),
    [("80", 6), *(pytest.param(w, 1, marks=pytest.mark.slow) for w in ("80", "200"))],
)
def test_man_renders_the_pages_without_warnings(width: str, step: int) -> None:
    """One function writes all pages: the plain run renders every sixth and the longest ones."""
    longest = [MAN / "man1" / "gbrain.1", MAN / "man1" / "gbrain-query.1"]
    pages = sorted({*list(MAN.rglob("*.[15]"))[::step], *longest, MAN / "man5" / "gbrain-config.5"})
    shown = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", *map(str, pages)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": width, "LC_ALL": "C.UTF-8"},
    )
    assert shown.stderr == ""
    assert shown.stdout.count("SEE ALSO") == len(pages)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_mandoc_finds_nothing_wrong() -> None:
    checked = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *map(str, MAN.rglob("*.[15]"))],
        capture_output=True,
        text=True,
        check=False,
    )
    # Without a date on purpose: the same commands make the same pages.
    found = [line for line in checked.stdout.splitlines() if "missing date" not in line]
    assert found == []
