"""A graph of pages as a tree, as a document, for Graphviz and as a page for a browser."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple

from gbrain.output.json import Document, dumps
from gbrain.output.plain_text import one_line
from gbrain.store.graph import GraphPage, LinkGraph

_TEMPLATE = Path(__file__).with_name("graph.html")
_OUT, _BACK, _BOTH = "→", "←", "↔"
_WAYS = (_BOTH, _OUT, _BACK)


def graph_document(graph: LinkGraph, root: str | None) -> Document:
    return {
        "root": root,
        "pages": [page._asdict() for page in graph.pages],
        "links": [link._asdict() for link in graph.links],
        "left_out": graph.left_out,
    }


# --- a tree ----------------------------------------------------------------------------------


class Branch(NamedTuple):
    """A page in the tree: which way the link to it leads, and what is linked with it in turn.

    A page that stands elsewhere in the tree is `repeated`, and has no branches here.
    """

    page: GraphPage
    way: str
    branches: tuple[Branch, ...]
    repeated: bool = False


def build_tree(graph: LinkGraph, root: str) -> Branch:
    """The graph as a tree: each page with branches once, where it is nearest to the root."""
    pages = {page.slug: page for page in graph.pages}
    ways = _ways(graph)
    parents = _parents(ways, root)

    def grown(slug: str, way: str, above: str | None) -> Branch:
        branches = []
        for other in _in_order(ways[slug]):
            if other == above:
                continue
            if parents.get(other) == slug:
                branches.append(grown(other, ways[slug][other], slug))
            elif (pages[other].distance or 0) > (pages[slug].distance or 0):
                branches.append(Branch(pages[other], ways[slug][other], (), repeated=True))
        return Branch(pages[slug], way, tuple(branches))

    return grown(root, "", None)


def _ways(graph: LinkGraph) -> Mapping[str, dict[str, str]]:
    """For each page the pages linked with it, and which way."""
    ways: dict[str, dict[str, str]] = defaultdict(dict)
    for link in graph.links:
        both = link.target in ways[link.source]
        ways[link.source][link.target] = _BOTH if both else _OUT
        ways[link.target][link.source] = _BOTH if both else _BACK
    return ways


def _in_order(ways: Mapping[str, str]) -> list[str]:
    """Pages linked both ways first, then those linked to."""
    return sorted(ways, key=lambda slug: (_WAYS.index(ways[slug]), slug))


def _parents(ways: Mapping[str, Mapping[str, str]], root: str) -> dict[str, str]:
    """The page through which each is reached from the root, by the shortest way."""
    parents: dict[str, str] = {root: ""}
    waiting = [root]
    for slug in waiting:
        for other in _in_order(ways[slug]):
            if other not in parents:
                parents[other] = slug
                waiting.append(other)
    return parents


def tree_lines(tree: Branch, indent: str = "") -> Iterator[str]:
    """The tree as lines, two spaces deeper at each link."""
    named = (tree.way, tree.page.slug, "" if tree.page.missing else tree.page.title, _state(tree))
    yield indent + "  ".join(one_line(part) for part in named if part)
    for branch in tree.branches:
        yield from tree_lines(branch, indent + "  ")


def _state(branch: Branch) -> str:
    if branch.page.missing:
        return "(no such page)"
    return "(elsewhere in this tree)" if branch.repeated else ""


def show_tree(tree: Branch, files: Mapping[str, Path], *, pager: bool = True) -> None:
    """The tree, drawn."""
    from rich.text import Text
    from rich.tree import Tree

    from gbrain.output.answer_terminal import file_link_style
    from gbrain.output.pager import open_pager
    from gbrain.output.screen import console

    def label(branch: Branch) -> Text:
        page, state = branch.page, _state(branch)
        style = "dim" if branch.repeated or page.missing else "" if branch.way else "bold"
        text = Text(overflow="fold").append(f"{branch.way} " if branch.way else "", "dim")
        text.append(one_line(page.title), file_link_style(style, files.get(page.slug)))
        if not page.missing:
            text.append(f"  {one_line(page.slug)}", "cyan")
        return text.append(f"  {state}" if state else "", "dim")

    def grow(drawn: Tree, branch: Branch) -> None:
        for each in branch.branches:
            grow(drawn.add(label(each)), each)

    drawn = Tree(label(tree), guide_style="dim")
    grow(drawn, tree)
    screen = console()
    with open_pager(screen, wanted=pager):
        screen.print(drawn)
        if not tree.branches:
            screen.print(Text("No links lead from it or to it.", style="dim"))


# --- for other programs ----------------------------------------------------------------------


def dot_text(graph: LinkGraph, root: str | None) -> str:
    """The graph in Graphviz's language."""
    lines = [
        "digraph gbrain {",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
    ]
    for page in graph.pages:
        about = [f"label={_quoted(page.title)}", f"tooltip={_quoted(page.slug)}"]
        if page.missing:
            about.append('style="rounded,dashed"')
        if page.slug == root:
            about.append("penwidth=2")
        lines.append(f"  {_quoted(page.slug)} [{', '.join(about)}];")
    lines += [f"  {_quoted(link.source)} -> {_quoted(link.target)};" for link in graph.links]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def graph_page(graph: LinkGraph, root: str | None) -> str:
    """One page of HTML that draws the graph by itself: nothing is fetched, it works offline."""
    titles = [page.title for page in graph.pages if page.slug == root]
    title = f"{titles[0] if titles else 'All pages'} · gbrain"
    # What is in a page must not end the script that holds it.
    data = dumps(graph_document(graph, root)).replace("<", "\\u003c").replace(">", "\\u003e")
    before, _, rest = _TEMPLATE.read_text("utf-8").partition("@TITLE@")
    between, _, after = rest.partition("@GRAPH@")
    return before + escape(one_line(title)) + between + data.replace("&", "\\u0026") + after
