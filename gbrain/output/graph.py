"""Render a graph of linked pages as JSON, a tree, Graphviz DOT and a web page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple

from gbrain.messages import one_line
from gbrain.output.json import Document, dumps
from gbrain.output.page_html import read_static
from gbrain.store.links import GraphPage, LinkGraph

_TEMPLATE = Path(__file__).with_name("graph.html")
_TO, _FROM, _BOTH = "→", "←", "↔"
_DIRECTION_ORDER = (_BOTH, _TO, _FROM)


def graph_document(graph: LinkGraph, root: str | None) -> Document:
    """Return the graph as JSON; `root` is the slug it starts from, if any."""
    return {
        "root": root,
        "pages": [page._asdict() for page in graph.pages],
        "links": [link._asdict() for link in graph.links],
        "left_out": graph.left_out,
    }


# --- tree ------------------------------------------------------------------------------------


class Branch(NamedTuple):
    """A page in the tree, the direction of its link with the page above, and its branches.

    A page that stands elsewhere in the tree too is `repeated` and has no branches here.
    """

    page: GraphPage
    direction: str
    branches: tuple[Branch, ...]
    repeated: bool = False


def build_tree(graph: LinkGraph, root: str) -> Branch:
    """Return the graph as a tree; a page has its branches where it is nearest to the root."""
    pages = {page.slug: page for page in graph.pages}
    linked = _link_directions(graph)
    parents = _find_parents(linked, root)

    def branch_of(slug: str, direction: str, above: str | None) -> Branch:
        branches = []
        for other in _sort_linked(linked[slug]):
            if other == above:
                continue
            if parents.get(other) == slug:
                branches.append(branch_of(other, linked[slug][other], slug))
            elif (pages[other].distance or 0) > (pages[slug].distance or 0):
                branches.append(Branch(pages[other], linked[slug][other], (), repeated=True))
        return Branch(pages[slug], direction, tuple(branches))

    return branch_of(root, "", None)


def _link_directions(graph: LinkGraph) -> Mapping[str, dict[str, str]]:
    """Return, for each page, the pages linked with it and the direction of the links."""
    linked: dict[str, dict[str, str]] = defaultdict(dict)
    for link in graph.links:
        both = link.target in linked[link.source]
        linked[link.source][link.target] = _BOTH if both else _TO
        linked[link.target][link.source] = _BOTH if both else _FROM
    return linked


def _sort_linked(directions: Mapping[str, str]) -> list[str]:
    """Return slugs: pages linked both ways first, then link targets, then backlinks."""
    return sorted(directions, key=lambda slug: (_DIRECTION_ORDER.index(directions[slug]), slug))


def _find_parents(linked: Mapping[str, Mapping[str, str]], root: str) -> dict[str, str]:
    """Return, for each page, the page before it on the shortest path from the root."""
    parents: dict[str, str] = {root: ""}
    waiting = [root]
    for slug in waiting:
        for other in _sort_linked(linked[slug]):
            if other not in parents:
                parents[other] = slug
                waiting.append(other)
    return parents


def tree_lines(tree: Branch, indent: str = "") -> Iterator[str]:
    """Yield the tree as lines, indented by two spaces for each link."""
    fields = (
        tree.direction,
        tree.page.slug,
        "" if tree.page.missing else tree.page.title,
        _state(tree),
    )
    yield indent + "  ".join(one_line(part) for part in fields if part)
    for branch in tree.branches:
        yield from tree_lines(branch, indent + "  ")


def _state(branch: Branch) -> str:
    if branch.page.missing:
        return "(no such page)"
    return "(elsewhere in this tree)" if branch.repeated else ""


def show_tree(tree: Branch, files: Mapping[str, Path], *, pager: bool = True) -> None:
    """Print the tree on the terminal; titles of pages in `files` open their file."""
    from rich.text import Text
    from rich.tree import Tree

    from gbrain.output.answer_terminal import file_link_style
    from gbrain.output.screen import console, open_pager

    def label(branch: Branch) -> Text:
        page, state = branch.page, _state(branch)
        style = "dim" if branch.repeated or page.missing else "" if branch.direction else "bold"
        text = Text(overflow="fold").append(
            f"{branch.direction} " if branch.direction else "", "dim"
        )
        text.append(one_line(page.title), file_link_style(style, files.get(page.slug)))
        if not page.missing:
            text.append(f"  {one_line(page.slug)}", "cyan")
        return text.append(f"  {state}" if state else "", "dim")

    def add_branches(drawn: Tree, branch: Branch) -> None:
        for each in branch.branches:
            add_branches(drawn.add(label(each)), each)

    drawn = Tree(label(tree), guide_style="dim")
    add_branches(drawn, tree)
    screen = console()
    with open_pager(screen, wanted=pager):
        screen.print(drawn)
        if not tree.branches:
            screen.print(Text("This page has no links and no backlinks.", style="dim"))


# --- Graphviz and web page -------------------------------------------------------------------


def dot_text(graph: LinkGraph, root: str | None) -> str:
    """Return the graph in Graphviz DOT."""
    lines = [
        "digraph gbrain {",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
    ]
    for page in graph.pages:
        attributes = [f"label={_quote_dot(page.title)}", f"tooltip={_quote_dot(page.slug)}"]
        if page.missing:
            attributes.append('style="rounded,dashed"')
        if page.slug == root:
            attributes.append("penwidth=2")
        lines.append(f"  {_quote_dot(page.slug)} [{', '.join(attributes)}];")
    lines += [f"  {_quote_dot(link.source)} -> {_quote_dot(link.target)};" for link in graph.links]
    return "\n".join([*lines, "}"])


def _quote_dot(text: str) -> str:
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def graph_html(graph: LinkGraph, root: str | None) -> str:
    """Return a web page that draws the graph; it is self-contained and works offline."""
    titles = [page.title for page in graph.pages if page.slug == root]
    title = f"{titles[0] if titles else 'All pages'} · gbrain"
    # A page's text must not end the <script> element that contains it.
    data = dumps(graph_document(graph, root)).replace("<", "\\u003c").replace(">", "\\u003e")
    parts = {
        "TITLE": escape(one_line(title)),
        "STYLE": read_static("style.css") + read_static("graph.css"),
        "GRAPH": data.replace("&", "\\u0026"),
        "SCRIPT": read_static("graph.js"),
    }
    # In one pass: a title may be the name of a part.
    return re.sub(r"@([A-Z]+)@", lambda name: parts[name[1]], _TEMPLATE.read_text("utf-8"))
