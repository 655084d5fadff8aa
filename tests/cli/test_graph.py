"""`graph` as a tree, for Graphviz, for a browser and for scripts."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_a_tree_in_a_pipe(run, sample):
    lines = run("graph", "people/ivy-marlow").stdout.splitlines()
    assert lines[0] == "people/ivy-marlow  Ivy Marlow"
    assert "  ↔  projects/boat-shed-library  Boat Shed Library" in lines
    assert "  ←  journal/2026-04-03  Friday 2026-04-03" in lines
    deeper = run("graph", "people/ivy-marlow", "--depth", "2").stdout.splitlines()
    assert "    →  people/alice-chen  Alice Chen" in deeper


def test_a_tree_on_a_terminal(at_terminal, sample):
    code, shown = at_terminal("graph", "people/ivy-marlow", columns=60, NO_COLOR="1")
    assert code == 0
    assert "├── " in shown
    assert "↔ " in shown


def test_a_document(run, sample):
    document = run("graph", "people/ivy-marlow", "--json").json
    assert list(document) == ["root", "pages", "links", "left_out"]
    assert document["root"] == "people/ivy-marlow"
    assert document["pages"][0] == {
        "slug": "people/ivy-marlow", "title": "Ivy Marlow", "wing": "people",
        "date": document["pages"][0]["date"], "distance": 0, "missing": False,
    }  # fmt: skip
    known = {page["slug"] for page in document["pages"]}
    assert document["links"]
    assert all({link["source"], link["target"]} <= known for link in document["links"])


def test_the_whole_brain(run, sample):
    document = run("graph", "--json").json
    assert document["root"] is None
    assert len(document["pages"]) == run("list", "--json").json["total"]
    some = run("graph", "--dot", "--limit", "3")
    assert "26 more pages not shown" in some.stderr
    assert some.stdout.startswith("digraph gbrain {")


def test_a_page_for_a_browser(run, sample, tmp_path: Path):
    file = tmp_path / "graph.html"
    said = run("graph", "people/ivy-marlow", "--html", file)
    assert (said.stdout, said.stderr) == ("", f"Wrote {file}; open it in a browser.\n")
    assert "Boat Shed Library" in file.read_text()
    assert run("graph", "people/ivy-marlow", "--html", "-").stdout == file.read_text()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("people/ivy-marlow", "--dot", "--json"), 2),
        (("people/ivy-marlow", "--depth", "0"), 2),
        (("people/ivy",), 1),
        (("people/ivy-marlow", "--html", "/no/such/folder/x.html"), 1),
    ],
)
def test_what_cannot_be_drawn(run, sample, words, code):
    assert run("graph", *words).exit_code == code


def test_the_tree_stands_out_from_its_guides(at_terminal, sample):
    _, shown = at_terminal("graph", "people/alice-chen", "--no-pager")
    assert "\x1b[2m├── \x1b[0m\x1b[2m↔ \x1b[0m" in shown
    assert "\x1b[1;2m" not in shown, "the page's own title is not dim"
