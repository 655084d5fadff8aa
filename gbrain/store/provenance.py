"""Trace a page back to its sources, what it needs, and the pages that cause or link to it."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from gbrain.store import links, page_names, pages
from gbrain.text.links import parse_front_matter_links
from gbrain.text.slug import fold_name

CauseKind = Literal[
    "derived_from", "caused_by", "source", "calls", "imports", "supersedes", "superseded_by", "link"
]
CauseState = Literal["page", "repeated", "missing", "outside"]

# Strongest first: what a page says about itself comes before what others say about it.
CAUSE_KINDS: tuple[CauseKind, ...] = get_args(CauseKind)

_KIND_BY_KEY: dict[str, CauseKind] = {
    "derived_from": "derived_from",
    "derives_from": "derived_from",
    "caused_by": "caused_by",
    "source": "source",
    "sources": "source",
    "calls": "calls",
    "imports": "imports",
    "supersedes": "supersedes",
    "superseded_by": "superseded_by",
}
# The kind of a link from another page's front matter; None if this page is the cause there.
_BACKLINK_KIND_BY_KEY: dict[str, CauseKind | None] = {
    **dict.fromkeys(_KIND_BY_KEY),
    "causes": "caused_by",
    "supersedes": "superseded_by",
    "superseded_by": "supersedes",
}


class Cause(NamedTuple):
    """A page or source that led to a page; `name` is its slug, or as written if it is no page.

    `line` is the line of the link on the linking page, from 1; None for front matter.
    """

    kind: CauseKind
    name: str
    title: str | None
    line: int | None
    state: CauseState


class Origin(NamedTuple):
    """A cause with its own causes, strongest first; `more` is the number of causes left out.

    A page that is elsewhere in the tree has the state `repeated` and no causes here. A plain link
    to such a page is left out.
    """

    cause: Cause
    causes: tuple[Origin, ...]
    more: int


def trace_provenance(connection: sqlite3.Connection, slug: str, depth: int, limit: int) -> Origin:
    """Return what led to a page, `depth` steps back, with at most `limit` causes of each page.

    Every page is followed once, at its shortest distance. Raises NotFound, with similar slugs, if
    there is no such page.
    """
    page = pages.require_page(connection, slug)
    shown: dict[str, list[Cause]] = {}
    left_out: dict[str, int] = {}
    seen = {page.slug}
    waiting = deque([(page.slug, "", 0)])
    while waiting:
        name, child, steps = waiting.popleft()
        causes = _causes(connection, name, child) if steps < depth else []
        # With many links, repeating every link to a page would hide the rest.
        causes = [c for c in causes if c.kind != "link" or c.name not in seen]
        shown[name], left_out[name] = [], max(len(causes) - limit, 0)
        for cause in causes[:limit]:
            if cause.state == "page" and cause.name in seen:
                cause = cause._replace(state="repeated")
            elif cause.state == "page":
                seen.add(cause.name)
                waiting.append((cause.name, name, steps + 1))
            shown[name].append(cause)
    return _build_tree(Cause("link", page.slug, page.title, None, "page"), shown, left_out)


def _build_tree(cause: Cause, shown: dict[str, list[Cause]], left_out: dict[str, int]) -> Origin:
    if cause.state != "page":
        return Origin(cause, (), 0)
    causes = tuple(_build_tree(each, shown, left_out) for each in shown[cause.name])
    return Origin(cause, causes, left_out[cause.name])


def _causes(connection: sqlite3.Connection, slug: str, child: str) -> list[Cause]:
    """Return the causes of a page, each once by its strongest kind, strongest first.

    The page `child`, from which it was reached, is left out: it shows their relation already.
    """
    page = pages.require_page(connection, slug)
    found: dict[str, Cause] = {}
    causes = [*_front_matter_causes(connection, page), *_backlink_causes(connection, page)]
    for cause in sorted(causes, key=lambda cause: CAUSE_KINDS.index(cause.kind)):
        if cause.name not in (page.slug, child):
            found.setdefault(cause.name, cause)
    return list(found.values())


def _front_matter_causes(connection: sqlite3.Connection, page: pages.StoredPage) -> Iterator[Cause]:
    """Yield the causes in the page's front matter, in its order."""
    for key, value in pages.front_matter_values(connection, page.id).items():
        kind = _KIND_BY_KEY.get(key.casefold())
        for written in _written_names(value) if kind else ():
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


def _written_names(value: object) -> Iterator[str]:
    """Yield the names in a value, in order; YAML reads [[x]] without quotes as a nested list."""
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, list):
            pending.extend((each, depth + 1) for each in reversed(item))
        elif isinstance(item, str) and item.strip():
            name = " ".join(item.split())
            yield f"[[{name}]]" if depth > 1 and "[[" not in name else name


def _backlink_causes(connection: sqlite3.Connection, page: pages.StoredPage) -> Iterator[Cause]:
    """Yield the causes in the links of other pages, by slug and line."""
    for link in links.links_to(connection, page):
        key = (link.label or "").casefold() if link.kind == "front_matter" else ""
        kind = _BACKLINK_KIND_BY_KEY.get(key, "link")
        if kind:
            yield Cause(kind, link.slug, link.title, link.line, "page")
