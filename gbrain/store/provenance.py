"""Trace a page back to its sources, the pages it supersedes, and the pages that link to it."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple

from gbrain.store import links, page_names, pages
from gbrain.text.links import parse_front_matter_links
from gbrain.text.slug import fold_name

CauseKind = Literal["derived_from", "source", "supersedes", "superseded_by", "link"]
CauseState = Literal["page", "repeated", "missing", "outside"]

# Strongest first: what a page says of itself comes before what others say of it.
CAUSE_KINDS: tuple[CauseKind, ...] = (
    "derived_from",
    "source",
    "supersedes",
    "superseded_by",
    "link",
)

_OWN: dict[str, CauseKind] = {
    "derived_from": "derived_from",
    "source": "source",
    "sources": "source",
    "supersedes": "supersedes",
    "superseded_by": "superseded_by",
}
# The same relation told from its other end; None where it leads away from the page.
_OF_OTHERS: dict[str, CauseKind | None] = {
    "derived_from": None,
    "source": None,
    "sources": None,
    "supersedes": "superseded_by",
    "superseded_by": "supersedes",
}


class Cause(NamedTuple):
    """One step back: `name` is a slug, or what is written where that is no page of the brain.

    `line` counts from 1 on the page that holds the link: a linking page's own, else the child's.
    """

    kind: CauseKind
    name: str
    title: str | None
    line: int | None
    state: CauseState


class Origin(NamedTuple):
    """A page with what led to it, strongest first; `more` causes are there and left out.

    A page that stands elsewhere in the tree is `repeated` and has nothing below it; where only a
    link leads to it again, that is left out.
    """

    cause: Cause
    causes: tuple[Origin, ...]
    more: int


def trace_provenance(connection: sqlite3.Connection, slug: str, depth: int, limit: int) -> Origin:
    """What led to a page, `depth` steps back, at most `limit` causes of each page.

    Every page is followed once, where it is nearest. Raises NotFound with the nearest slugs.
    """
    page = pages.require_page(connection, slug)
    shown: dict[str, list[Cause]] = {}
    left_out: dict[str, int] = {}
    seen = {page.slug}
    waiting = deque([(page.slug, "", 0)])
    while waiting:
        name, child, steps = waiting.popleft()
        causes = _causes(connection, name, child) if steps < depth else []
        # In a vault that links much, telling each link to a page again would bury the rest.
        causes = [c for c in causes if c.kind != "link" or c.name not in seen]
        shown[name], left_out[name] = [], max(len(causes) - limit, 0)
        for cause in causes[:limit]:
            if cause.state == "page" and cause.name in seen:
                cause = cause._replace(state="repeated")
            elif cause.state == "page":
                seen.add(cause.name)
                waiting.append((cause.name, name, steps + 1))
            shown[name].append(cause)
    return _tree(Cause("link", page.slug, page.title, None, "page"), shown, left_out)


def _tree(cause: Cause, shown: dict[str, list[Cause]], left_out: dict[str, int]) -> Origin:
    if cause.state != "page":
        return Origin(cause, (), 0)
    causes = tuple(_tree(each, shown, left_out) for each in shown[cause.name])
    return Origin(cause, causes, left_out[cause.name])


def _causes(connection: sqlite3.Connection, slug: str, child: str) -> list[Cause]:
    """Each page or source that led to a page once, by its strongest kind, strongest first.

    `child`, which it was reached from, is left out: their relation is told there.
    """
    page = pages.require_page(connection, slug)
    found: dict[str, Cause] = {}
    causes = [*_own(connection, page), *_of_others(connection, page)]
    for cause in sorted(causes, key=lambda cause: CAUSE_KINDS.index(cause.kind)):
        if cause.name not in (page.slug, child):
            found.setdefault(cause.name, cause)
    return list(found.values())


def _own(connection: sqlite3.Connection, page: pages.StoredPage) -> Iterator[Cause]:
    """What the page's front matter says, in its order."""
    for key, value in pages.front_matter_values(connection, page.id).items():
        kind = _OWN.get(key.casefold())
        for written in _names(value) if kind else ():
            assert kind is not None
            inside = next(parse_front_matter_links({key: written}, {}), None)
            if inside is None:
                yield Cause(kind, written, None, None, "outside")
                continue
            known = page_names.find_by_name(connection, fold_name(inside.target))
            if known:
                title = pages.require_page(connection, known[0].slug).title
                yield Cause(kind, known[0].slug, title, None, "page")
            elif kind == "source" and "[[" not in written:
                yield Cause(kind, written, None, None, "outside")
            else:
                yield Cause(kind, inside.target, None, None, "missing")


def _names(value: object) -> Iterator[str]:
    """The names in a value, in its order; YAML reads [[x]] without quotes as a list in a list."""
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, list):
            pending.extend((each, depth + 1) for each in reversed(item))
        elif isinstance(item, str) and item.strip():
            name = " ".join(item.split())
            yield f"[[{name}]]" if depth > 1 and "[[" not in name else name


def _of_others(connection: sqlite3.Connection, page: pages.StoredPage) -> Iterator[Cause]:
    """What the links on other pages say, by slug and line."""
    for link in links.links_to(connection, page):
        key = (link.label or "").casefold() if link.kind == "front_matter" else ""
        kind = _OF_OTHERS.get(key, "link")
        if kind is not None:
            yield Cause(kind, link.slug, link.title, link.line, "page")
