"""`config` and `alias` as a person and a script use them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.config import HEADINGS, all_settings
from gbrain.output.settings import setting_row, show_settings

Run = Callable[..., Any]


@pytest.fixture
def empty(brain_path: Path) -> Path:
    """A brain without pages, closed."""
    Brain.open(brain_path, make=True).close()
    return brain_path


# --- config ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("empty")
def test_list_has_every_setting_with_all_that_is_known_of_it(run: Run) -> None:
    run("config", "set", "rrf_k", "20")
    listed = run("config", "list", "--json").json["settings"]
    assert [setting["name"] for setting in listed] == list(all_settings())
    assert next(setting for setting in listed if setting["name"] == "rrf_k") == {
        "name": "rrf_k",
        "value": 20,
        "default": 60,
        "type": "int",
        "allowed": "1 to 1000",
        "source": "jeffs-brain",
        "set": True,
        "help": "rrf: the constant k in weight / (k + rank); higher makes first ranks count less",
    }
    assert [setting["name"] for setting in listed if setting["set"]] == ["rrf_k"]


@pytest.mark.usefixtures("empty")
def test_list_in_a_pipe_is_a_line_a_setting(run: Run) -> None:
    run("config", "set", "short_circuit", "no")
    rows = [line.split("\t") for line in run("config", "list").stdout.splitlines()]
    assert len(rows) == len(all_settings())
    row = next(row for row in rows if row[0] == "short_circuit")
    assert row[1:6] == ["off", "on", "on | off", "gigabrain", "set"]
    assert {row[5] for row in rows} == {"set", "default"}


def test_on_a_terminal_no_line_is_longer_than_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_settings([setting_row(s, {"rrf_k": "20"}) for s in all_settings().values()])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert ["rrf_k", "20", "1", "to", "1000"] in [line.split() for line in lines]
    assert "first ranks count less (default 60)" in " ".join(" ".join(lines).split())
    assert [line.rstrip() for line in lines if "settings" in line or line.startswith("Expert")] == [
        *HEADINGS.values()
    ]


@pytest.mark.usefixtures("empty")
def test_set_holds_from_the_next_command_until_it_is_reset(run: Run) -> None:
    done = run("config", "set", "default_limit", "3")
    assert (done.stdout, done.exit_code) == ("", 0)
    assert done.stderr == "default_limit is now 3; it takes effect on the next command.\n"
    assert run("config", "get", "default_limit").stdout == "3\n"
    assert run("config", "reset", "default_limit").stderr == (
        "Reset to the default: default_limit.\n"
    )
    assert run("config", "get", "default_limit").stdout == "10\n"


@pytest.mark.usefixtures("sample")
def test_a_setting_changes_what_search_does(run: Run) -> None:
    assert len(run("search", "the", "--json").json["results"]) > 2
    run("config", "set", "default_limit", "2")
    assert len(run("search", "the", "--json").json["results"]) == 2


@pytest.mark.usefixtures("empty")
def test_get_and_set_as_json(run: Run) -> None:
    document = {"name": "both_bonus", "value": 0.25, "default": 0.6, "set": True}
    assert run("config", "set", "both_bonus", ".25", "--json").json == document
    assert run("config", "get", "both_bonus", "--json").json == document
    assert run("config", "get", "short_circuit", "--json").json == {
        "name": "short_circuit",
        "value": True,
        "default": True,
        "set": False,
    }


@pytest.mark.usefixtures("empty")
def test_quiet_says_nothing(run: Run) -> None:
    for words in (("set", "rrf_k", "9"), ("reset", "rrf_k"), ("reset", "rrf_k")):
        done = run("config", *words, "--quiet")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.usefixtures("empty")
def test_reset_of_one_and_of_all(run: Run) -> None:
    run("config", "set", "rrf_k", "9")
    run("config", "set", "both_bonus", "1")
    run("config", "set", "search_mode", "bm25")
    assert run("config", "reset", "rrf_k", "--json").json == {"reset": ["rrf_k"]}
    assert run("config", "reset", "rrf_k", "--json").json == {"reset": []}
    assert run("config", "reset", "--all", "--json").json == {
        "reset": ["both_bonus", "search_mode"]
    }
    assert run("config", "reset", "--all").stderr == (
        "Nothing to reset: the defaults are in use.\n"
    )


@pytest.mark.usefixtures("empty")
def test_reset_of_several(run: Run) -> None:
    for name, value in (("rrf_k", "9"), ("both_bonus", "0.7"), ("search_mode", "bm25")):
        run("config", "set", name, value)
    refused = run("config", "reset", "rrf_k", "moods")
    assert refused.exit_code == 1
    assert run("config", "get", "rrf_k").stdout == "9\n", "all of them or none"
    names = ("search_mode", "default_limit", "rrf_k", "rrf_k")
    assert run("config", "reset", *names, "--json").json == {"reset": ["search_mode", "rrf_k"]}
    assert run("config", "get", "both_bonus").stdout == "0.7\n"


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("set", "rrf", "3"), 1,
         "Error: There is no setting 'rrf'\nHint: Did you mean rrf_k?\n"),
        (("get", "moods"), 1,
         "Error: There is no setting 'moods'\nHint: gbrain config list shows them all.\n"),
        (("reset", "default_limits"), 1,
         "Error: There is no setting 'default_limits'\nHint: Did you mean default_limit?\n"),
        (("set", "rrf_k", "-1"), 1,
         "Error: rrf_k cannot be '-1'\nHint: Allowed: 1 to 1000. The default is 60.\n"),
        (("set", "rrf_k", "2.5"), 1,
         "Error: rrf_k cannot be '2.5'\nHint: Allowed: 1 to 1000. The default is 60.\n"),
        (("set", "search_mode", "magic"), 1,
         "Error: search_mode cannot be 'magic'\n"
         "Hint: Allowed: auto | hybrid | bm25 | semantic. The default is auto.\n"),
        (("set", "short_circuit", "perhaps"), 1,
         "Error: short_circuit cannot be 'perhaps'\nHint: Allowed: on | off. The default is on.\n"),
        (("reset",), 2,
         "Error: Name the settings to reset, or use --all\n"
         "Hint: gbrain config reset default_limit\n"),
        (("reset", "rrf_k", "--all"), 2,
         "Error: Name the settings to reset, or use --all\n"
         "Hint: gbrain config reset default_limit\n"),
    ],
)  # fmt: skip
def test_what_config_refuses(run: Run, words: tuple[str, ...], code: int, said: str) -> None:
    refused = run("config", *words)
    assert (refused.exit_code, refused.stdout, refused.stderr) == (code, "", said)


@pytest.mark.usefixtures("empty")
def test_an_error_is_a_document_too(run: Run) -> None:
    assert run("config", "set", "rrf_k", "many", "--json").error == {
        "code": "bad_setting",
        "message": "rrf_k cannot be 'many'",
        "hint": "Allowed: 1 to 1000. The default is 60.",
    }


def test_an_invalid_value_can_be_reset(run: Run, empty: Path) -> None:
    with closing(sqlite3.connect(empty)) as raw, raw:
        raw.execute("INSERT INTO config VALUES ('rrf_k', 'many'), ('mood', 'sunny')")
    assert run("config", "get", "rrf_k").stdout == "60\n"
    assert run("config", "reset", "rrf_k", "--json").json == {"reset": ["rrf_k"]}
    assert run("config", "reset", "mood", "--json").json == {"reset": ["mood"]}
    assert run("search", "anything", "--json").exit_code == 0


@pytest.mark.usefixtures("brain_path")
@pytest.mark.parametrize(
    "words", [("config", "list"), ("alias", "list"), ("alias", "add", "a", "b")]
)
def test_without_a_brain_the_hint_is_to_make_one(run: Run, words: tuple[str, ...]) -> None:
    refused = run(*words)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("Error: There is no brain at ")


# --- alias -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("brain_path")
def test_an_alias_finds_a_page_that_says_it_otherwise(run: Run) -> None:
    run("put", "ops/cluster", stdin=b"# The cluster\n\nWe run kubernetes on three machines.\n")
    run("put", "ops/other", stdin=b"# Another\n\nNothing of the kind.\n")
    assert run("search", "k8s", "--json").json["results"] == []
    assert run("alias", "add", "K8s", "kubernetes", "kube cluster").stderr == (
        "Queries for k8s also find kube cluster, kubernetes.\n"
    )
    for text in ("k8s", "K8S", "k8s?"):
        found = run("search", text, "--json").json["results"]
        assert [hit["slug"] for hit in found] == ["ops/cluster"]
    assert run("alias", "remove", "k8s").stderr == "Removed the synonyms of k8s.\n"
    assert run("search", "k8s", "--json").json["results"] == []


@pytest.mark.usefixtures("empty")
def test_aliases_are_listed_by_word(run: Run) -> None:
    assert run("alias", "list", "--json").json == {"aliases": []}
    assert run("alias", "add", "k8s", "kubernetes", "--json").json == {
        "aliases": [{"word": "k8s", "expansions": ["kubernetes"]}]
    }
    run("alias", "add", "gcp", "google  cloud")
    assert run("alias", "add", "k8s", "kube cluster", "kubernetes", "--json").json == {
        "aliases": [{"word": "k8s", "expansions": ["kube cluster", "kubernetes"]}]
    }
    assert run("alias", "list", "--json").json == {
        "aliases": [
            {"word": "gcp", "expansions": ["google cloud"]},
            {"word": "k8s", "expansions": ["kube cluster", "kubernetes"]},
        ]
    }
    assert run("alias", "list").stdout == "gcp\tgoogle cloud\nk8s\tkube cluster, kubernetes\n"
    assert run("alias", "remove", "gcp", "--json").json == {
        "removed": [{"word": "gcp", "expansions": ["google cloud"]}]
    }


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("word", ["c++", "C#", "straße", "v1.2", "auth-middleware", "日本", "who"])
def test_any_word_that_a_query_can_hold_can_be_an_alias(run: Run, word: str) -> None:
    run("put", "found", stdin=b"# Found\n\nThe zebra stands here.\n")
    assert run("alias", "add", word, "zebra").exit_code == 0
    found = run("search", word, "--json").json["results"]
    assert [hit["slug"] for hit in found] == ["found"]


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("word", ["two words", "", " ", "...", '"quoted"', "a\tb", "\u200b"])
def test_an_alias_is_one_word(run: Run, word: str) -> None:
    refused = run("alias", "add", word, "thing", "--json")
    assert refused.exit_code == 2
    assert refused.error["message"] == f"An alias is one word, not {word!r}"
    assert refused.error["hint"] == 'gbrain alias add k8s kubernetes "kube cluster"'


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize(
    ("expansion", "message"),
    [
        ("", "'' contains no word"),
        ("?!", "'?!' contains no word"),
        ("K8S", "k8s cannot be a synonym of itself"),
    ],
)
def test_an_expansion_says_something_else(run: Run, expansion: str, message: str) -> None:
    refused = run("alias", "add", "k8s", "kubernetes", expansion, "--json")
    assert (refused.exit_code, refused.error["message"]) == (2, message)
    assert run("alias", "list", "--json").json == {"aliases": []}


@pytest.mark.usefixtures("empty")
def test_removing_what_is_not_there_names_the_nearest(run: Run) -> None:
    run("alias", "add", "kubes", "kubernetes")
    refused = run("alias", "remove", "kube")
    assert refused.exit_code == 1
    assert refused.stderr == "Error: There is no alias 'kube'\nHint: Did you mean kubes?\n"
    assert run("alias", "remove", "zzz").stderr == (
        "Error: There is no alias 'zzz'\nHint: gbrain alias list shows them all.\n"
    )


def test_questions_are_found_once_the_setting_is_on(run, brain_path):
    run("put", "knots", stdin=b"---\nquestions: [how to tie a boat]\n---\n# Bowline\n\nA loop.\n")
    assert run("search", "boat", "--json").json["results"][0]["slug"] == "knots"
    run("config", "set", "hypothetical_questions", "off")
    assert run("search", "boat", "--json").json["results"] == []
    run("config", "reset", "--all")
    assert run("search", "boat", "--json").json["results"][0]["slug"] == "knots"
