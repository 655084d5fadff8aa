"""A graph as a tree, for Graphviz and as a page: nothing in a title can break out of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.output.graph import build_tree, dot_text, graph_document, graph_html, tree_lines
from gbrain.store.links import GraphLink, GraphPage, LinkGraph


def page(slug: str, distance: int = 1, **changed: object) -> GraphPage:
    return GraphPage(slug, slug.title(), "people", None, distance)._replace(**changed)


SQUARE = LinkGraph(
    (page("a", 0), page("b"), page("c"), page("d", 2), page("gone", 1, missing=True)),
    tuple(GraphLink(*ends, 1) for ends in ("ab", "ba", "ca", "bd", "cd")),
    0,
)
SQUARE = SQUARE._replace(links=(*SQUARE.links, GraphLink("a", "gone", 2)))


def test_a_tree_has_each_page_with_its_branches_once() -> None:
    assert list(tree_lines(build_tree(SQUARE, "a"))) == [
        "a  A",
        "  ↔  b  B",
        "    →  d  D",
        "  →  gone  (no such page)",
        "  ←  c  C",
        "    →  d  D  (elsewhere in this tree)",
    ]


def test_a_page_without_links_is_a_tree_of_one() -> None:
    alone = LinkGraph((page("a", 0),), (), 0)
    assert list(tree_lines(build_tree(alone, "a"))) == ["a  A"]


def test_dot_has_a_node_and_an_edge_for_each_link() -> None:
    graph = LinkGraph((page("a", 0, title='say "hi" \\N\n[x]'),), (GraphLink("a", "b", 1),), 0)
    assert dot_text(graph, "a").splitlines()[3:] == [
        r'  "a" [label="say \"hi\" \\N [x]", tooltip="a", penwidth=2];',
        '  "a" -> "b";',
        "}",
    ]


@given(st.text())
def test_quotes_in_names_are_escaped_in_dot(title: str) -> None:
    line = dot_text(LinkGraph((page("a", 0, title=title),), (), 0), None).splitlines()[3]
    assert re.fullmatch(r'  "a" \[label="(?:[^"\\]|\\.)*", tooltip="a"\];', line)


class Reader(HTMLParser):
    """The parts of a page: its scripts, its title, and what it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {"script": [], "title": []}
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]].append(data)


@given(st.text() | st.sampled_from(["</script><img src=x>", "<!--<script>", "@GRAPH@", "&lt;"]))
def test_the_web_page_contains_the_json_document(title: str) -> None:
    graph = SQUARE._replace(pages=(page("a", 0, title=title), *SQUARE.pages[1:]))
    read = Reader(graph_html(graph, "a"))
    data, program = read.texts["script"]
    assert json.loads(data) == json.loads(json.dumps(graph_document(graph, "a")))
    assert read.fetched == []
    assert read.tags == Reader(graph_html(SQUARE, "a")).tags
    assert not re.search(r"^import\b|\bimport\(", program, re.MULTILINE)


def test_the_web_page_forbids_network_requests() -> None:
    text = graph_html(SQUARE, None)
    assert "default-src 'none'" in text
    assert "<title>All pages · gbrain</title>" in text


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_linked_pages_are_drawn_nearer_to_each_other() -> None:
    pages = [{"slug": str(n), "distance": None} for n in range(40)]
    links = [{"source": "0", "target": str(n), "times": 1} for n in range(1, 5)]
    _, program = Reader(graph_html(SQUARE, "a")).texts["script"]
    asked = (
        f"{program.partition('drawGraph(document.body')[0]}\n"
        f"const pages = {json.dumps(pages)}, links = {json.dumps(links)};\n"
        "const at = arrangePages(pages, links), fit = fitView(at, 800, 600, {left: 0, right: 0});\n"
        "const same = JSON.stringify(at) === JSON.stringify(arrangePages(pages, links));\n"
        "console.log(JSON.stringify({at, fit, same, near: [...linkedPages(links)]}));"
    )
    node = ["node", "--input-type=module", "-e", asked]
    ran = subprocess.run(node, capture_output=True, text=True, check=True)
    said = json.loads(ran.stdout)
    places = [(place["x"], place["y"]) for place in said["at"]]

    def apart(a: int, b: int) -> float:
        return float(
            ((places[a][0] - places[b][0]) ** 2 + (places[a][1] - places[b][1]) ** 2) ** 0.5
        )

    assert said["same"]
    assert min(apart(a, b) for a in range(40) for b in range(a)) > 10
    assert max(apart(0, n) for n in range(1, 5)) < max(apart(0, n) for n in range(5, 40))
    fit = said["fit"]
    assert len(places) == 40
    for x, y in places:
        assert 0 <= fit["x"] + fit["scale"] * x <= 800
        assert 0 <= fit["y"] + fit["scale"] * y <= 600
    assert dict(said["near"])["0"] == {"out": ["1", "2", "3", "4"], "back": []}
