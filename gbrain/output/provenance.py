"""Render the causes of a page (`gbrain why`) as JSON, indented lines and a terminal tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gbrain.output.json import Document
from gbrain.output.plain_text import one_line
from gbrain.store.provenance import Cause, Origin

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

_STATE_NOTES = {
    "repeated": "elsewhere in this tree",
    "missing": "no such page",
    "page": None,
    "outside": None,
}


def origin_document(origin: Origin) -> Document:
    """Return the page and its causes, nested, as JSON."""
    return {
        "slug": origin.cause.name,
        "title": origin.cause.title,
        "causes": [_cause_document(cause) for cause in origin.causes],
        "more": origin.more,
    }


def _cause_document(origin: Origin) -> Document:
    cause = origin.cause
    known = cause.state in ("page", "repeated")
    return {
        "kind": cause.kind,
        "slug": cause.name if known else None,
        "name": cause.name,
        "title": cause.title,
        "line": cause.line,
        "state": cause.state,
        "causes": [_cause_document(each) for each in origin.causes],
        "more": origin.more,
    }


def origin_lines(origin: Origin) -> list[str]:
    """Return the tree as lines, indented by two spaces for each step back."""
    return [_join_fields(origin.cause.name, origin.cause.title), *_lines_below(origin, "  ")]


def _lines_below(origin: Origin, indent: str) -> Iterator[str]:
    for each in origin.causes:
        yield f"{indent}{each.cause.kind}  {_join_fields(*_describe_cause(each.cause))}"
        yield from _lines_below(each, indent + "  ")
    if origin.more:
        yield f"{indent}and {origin.more} more"


def _describe_cause(cause: Cause) -> tuple[str | None, ...]:
    where = f"line {cause.line}" if cause.line is not None else None
    state = _STATE_NOTES[cause.state]
    return cause.name, cause.title, where, f"({state})" if state else None


def _join_fields(*parts: str | None) -> str:
    return "  ".join(one_line(part) for part in parts if part)


def show_origin(origin: Origin, *, pager: bool = True) -> None:
    """Print the tree on the terminal."""
    from rich.text import Text
    from rich.tree import Tree

    from gbrain.output.pager import open_pager
    from gbrain.output.screen import console

    top = origin.cause
    root = Tree(Text.assemble((one_line(top.title), "bold"), "  ", (top.name, "cyan")))
    _add_causes(root, origin)
    with open_pager(terminal := console(), wanted=pager):
        terminal.print(root)


def _add_causes(tree: Tree, origin: Origin) -> None:
    from rich.text import Text

    for each in origin.causes:
        _add_causes(tree.add(_label(each.cause)), each)
    if origin.more:
        tree.add(Text(f"and {origin.more} more", style="dim"))


def _label(cause: Cause) -> Text:
    from rich.text import Text

    name, title, where, state = (one_line(part) if part else "" for part in _describe_cause(cause))
    known = cause.state in ("page", "repeated")
    parts = [(cause.kind, "dim"), (name, "cyan" if known else ""), (title, ""), (where, "dim")]
    return Text("  ").join(Text(*part) for part in [*parts, (state, "yellow")] if part[0])
