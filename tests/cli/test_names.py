"""A page may be named by its title, an alias or its file name wherever a slug is taken."""

from __future__ import annotations

import shutil

import pytest

from gbrain.brain import Brain

NOON = "2026-11-16T12:00:00"

PEOPLE = {
    "people/priya-raman": b"---\naliases: [PR, 'Pri, the analyst']\n---\n# Priya Raman\n",
    "people/marta": "# Márta Szabó\n#cook [[pr]]\n\n## Timeline\n- 2026-04-03 — Moved\n".encode(),
    "people/jonas-weber": b"---\ntags: [friend]\n---\n# Jonas Weber\n[[marta]]\n",
    "work/weber": b"---\naliases: [Jonas]\n---\n# Weber GmbH\n",
    "family/jonas": b"# Uncle\n",
}


@pytest.fixture(scope="module")
def built_people(empty_brain, tmp_path_factory):
    """A brain with these pages, made once."""
    path = shutil.copy(empty_brain, tmp_path_factory.mktemp("people") / "brain.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GBRAIN_NOW", NOON)
        with Brain.open(path) as brain:
            for slug, text in PEOPLE.items():
                brain.put(slug, text)
    return path


@pytest.fixture
def people(built_people, brain_path):
    return shutil.copy(built_people, brain_path)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Priya Raman", "people/priya-raman"),
        ("priya raman", "people/priya-raman"),
        ("priya-raman", "people/priya-raman"),
        ("pr", "people/priya-raman"),
        ("PRI the analyst", "people/priya-raman"),
        ("[[Priya Raman]]", "people/priya-raman"),
        ("marta", "people/marta"),
        ("MÁRTA", "people/marta"),
        ("people/márta", "people/marta"),
        ("People/Marta.md", "people/marta"),
        ("marta szabo", "people/marta"),
        ("Ma\u0301rta Szabo\u0301", "people/marta"),
        ("Weber GmbH", "work/weber"),
    ],
)
def test_get_takes_any_name_of_a_page(run, people, name, slug):
    assert run("get", name, "--json").json["slug"] == slug


@pytest.mark.parametrize(
    "command",
    [
        ("history",), ("diff",), ("links",), ("backlinks",), ("tags",), ("timeline",), ("why",),
        ("graph", "--dot"),
    ],
)  # fmt: skip
def test_every_command_that_takes_a_slug_takes_a_name(run, people, command):
    by_slug, by_name = (run(*command, name) for name in ("people/marta", "Márta Szabó"))
    assert by_name.exit_code == 0
    assert (by_name.stdout, by_name.stderr) == (by_slug.stdout, by_slug.stderr)
    assert by_name.stdout


def test_why_not_takes_a_name(run, people):
    answer = run("explain", "notes", "--mode", "bm25", "--why-not", "Márta Szabó")
    assert "people/marta was lost" in answer.stdout


def test_writes_reach_the_named_page(run, people):
    run("timeline-add", "Márta Szabó", "Called")
    run("capture", "Wrote", "--to", "marta")
    assert b"Called" in run("get", "people/marta").stdout_bytes
    assert b"Wrote" in run("get", "people/marta").stdout_bytes
    assert run("supersede", "marta", "pr", "--json").json["superseded_by"] == "people/priya-raman"
    assert run("supersede", "--undo", "marta", "--json").json["slug"] == "people/marta"
    renamed = run("rename", "Priya Raman", "work/priya", "--json").json
    assert (renamed["from"], renamed["to"]) == ("people/priya-raman", "work/priya")
    assert run("delete", "Marta", "--json").json["slug"] == "people/marta"
    assert run("get", "people/marta").exit_code == 1


def test_a_name_of_several_pages_lists_them(run, people):
    for command in (("get",), ("delete",), ("timeline-add",), ("edit",), ("history",)):
        words = ("jonas", "text") if command == ("timeline-add",) else ("jonas",)
        answer = run(*command, *words, "--json")
        assert (answer.exit_code, answer.stdout) == (1, "")
        assert answer.error["code"] == "ambiguous_name"
        assert answer.error["message"] == "jonas is the name of 2 pages"
        assert answer.error["hint"].endswith("Give the slug of one: family/jonas, work/weber.")
    assert run("list", "--json").json["total"] == len(PEOPLE)


def test_an_exact_slug_comes_before_every_other_name(run, people):
    run("put", "jonas", stdin=b"# Root\n")
    assert run("get", "Jonas", "--json").json["slug"] == "jonas"
    run("put", "weber-gmbh", stdin=b"# Another\n")
    assert run("get", "weber-gmbh", "--json").json["slug"] == "weber-gmbh"
    # Without an exact slug, one that differs in accents only is next.
    run("put", "marta", stdin=b"# Root\n")
    assert run("get", "márta", "--json").json["slug"] == "marta"


def test_a_slash_is_not_a_dash(run, people):
    run("put", "notes/projects-alpha", stdin=b"# Projects Alpha\n")
    assert run("get", "projects/alpha").exit_code == 1
    assert run("get", "notes-projects-alpha").exit_code == 1
    run("put", "music/acdc", stdin=b"---\naliases: [AC/DC]\n---\n# Band\n")
    assert run("get", "ac/dc", "--json").json["slug"] == "music/acdc"


def test_put_creates_a_page_whose_name_another_has(run, people):
    assert run("put", "marta", "--json", stdin=b"# Other\n").json["outcome"] == "created"
    assert run("put", "jonas", "--json", stdin=b"").json["outcome"] == "created"
    assert b"Szab" in run("get", "people/marta").stdout_bytes


def test_put_reaches_the_page_with_a_title_or_alias(run, people):
    put = run("put", "Priya Raman", "--json", stdin=b"---\naliases: [PR]\n---\n# Priya Raman\n")
    assert (put.json["slug"], put.json["outcome"]) == ("people/priya-raman", "updated")
    assert run("put", "PR", "--json", stdin=b"# Priya\n").json["slug"] == "people/priya-raman"
    assert run("put", "Jonas", "--json", stdin=b"# ?\n").error["code"] == "ambiguous_name"
    assert run("put", "Priya", "--json", stdin=b"").error["code"] == "empty_input"
    assert run("put", "Priya.md", "--json", stdin=b"# P\n").json["slug"] == "priya"
    assert run("put", "Nobody Yet", "--json", stdin=b"# N\n").json["slug"] == "nobody-yet"
    assert run("list", "--json").json["total"] == len(PEOPLE) + 2


def test_a_misspelt_name_writes_nothing_and_is_corrected(run, people):
    for words in (("delete", "Marta Sabo"), ("timeline-add", "Marta Sabo", "text")):
        answer = run(*words, "--json")
        assert answer.exit_code == 1
        assert answer.error["message"] == "There is no page marta-sabo"
        assert "Did you mean people/marta?" in answer.error["hint"]


def test_edit_opens_the_named_page_and_makes_no_second_one(run, people, monkeypatch):
    monkeypatch.setenv("EDITOR", "true")
    answer = run("edit", "Jonas Weber")
    assert answer.stderr == "people/jonas-weber: unchanged, version 1\n"
    assert run("list", "--json").json["total"] == len(PEOPLE)


def test_edit_announces_a_new_page(run, people, monkeypatch):
    monkeypatch.setenv("EDITOR", "true")
    assert run("edit", "people/olga").stderr.startswith("New page people/olga.")
    assert run("edit", "marta.md").stderr.startswith("New page marta. Similar pages: people/marta")


def test_a_name_without_letters_is_still_an_error(run, people):
    assert run("get", "???", "--json").error["code"] == "bad_slug"
    run("put", "faces/smile", stdin=b"# :-)\n")
    assert run("get", ":-)", "--json").json["slug"] == "faces/smile"


def test_the_past_of_a_slug_comes_before_a_name(run, people):
    run("put", "marta", stdin=b"root text")
    run("delete", "marta")
    assert run("get", "marta", "--version", "1").stdout == "root text"
    assert run("history", "marta", "--json").json["slug"] == "marta"
    assert run("get", "marta", "--json").json["slug"] == "people/marta"
