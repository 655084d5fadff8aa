"""A brain as a folder of web pages: each stands alone, links lead to the others, nothing runs."""

from __future__ import annotations

import posixpath
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

from gbrain.store.links import Backlink, links_from, links_to
from gbrain.store.pages import StoredPage, list_pages, page_body
from gbrain.text.dialects import find_comments
from gbrain.text.links import PAGE_FILE_ENDING, resolve_page_link
from gbrain.text.markdown import MAX_NESTING_DEPTH, scan_blocks
from gbrain.text.slug import fold_name
from gbrain.types import Scope

# Longer pages are shown as they are written: nobody reads them, and rendering takes seconds.
MAX_RENDERED_CHARACTERS = 200_000

_WIKI = re.compile(r"!?\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_CALLOUT = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*")
_TASK = re.compile(r"\A\[([ xX])\] ")
_ADDRESS = re.compile(r"(https?://[^\s<>\"'`]{1,2000}[^\s<>\"'`.,;:!?)\]])")
_OUTWARD = ("http://", "https://", "mailto:")

_STYLE = """
:root { color-scheme: light dark; --quiet: color-mix(in srgb, currentColor 60%, transparent);
  --line: color-mix(in srgb, currentColor 20%, transparent); --shade: rgb(128 128 128 / 12%); }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; }
a { color: light-dark(#0a58ca, #8ab4f8); text-underline-offset: .15em; }
nav, small { font-size: .875rem; color: var(--quiet); }
header p { margin: 0; } header + main > h1:first-child { margin-top: .3rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); font-size: .875rem; }
footer h2 { font-size: 1rem; }
h2.wing { text-transform: capitalize; font-size: 1.15rem; } ul.pages { padding-left: 1.2rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; background: var(--shade); }
code { padding: .1em .3em; border-radius: .3em; }
pre { padding: .7rem 1rem; border-radius: .4rem; overflow-x: auto; } pre code { all: unset; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: .2rem .6rem; }
blockquote { margin: 1rem 0; padding: .1rem 1rem; border-left: .2rem solid var(--line); }
blockquote.callout { background: var(--shade); border-color: currentColor; }
hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0; }
.nowhere { text-decoration: underline dotted; }
"""


class _Place(NamedTuple):
    """Where a page is rendered: its own file, and the pages that the links on it name.

    Each target has a slug and a title.
    """

    page: StoredPage
    targets: Mapping[str, tuple[str, str]]

    def url(self, slug: str, heading: str | None) -> str:
        here = posixpath.dirname(_file(self.page.slug))
        part = f"#{quote(_anchor(heading))}" if heading and not heading.startswith("^") else ""
        return quote(posixpath.relpath(_file(slug), here)) + part


def render_site(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """(path, text) of every file of the site, the list of all pages first."""
    pages, _ = list_pages(connection, Scope(), None)
    yield "index.html", _index(pages)
    renderer = _renderer()
    for page in pages:
        links = links_from(connection, page)
        targets = {link.target: (link.slug, link.title or "") for link in links if link.slug}
        place = _Place(page, targets)
        body = page_body(connection, page.id)
        yield _file(page.slug), _page(renderer, place, body, links_to(connection, page))


def _file(slug: str) -> str:
    return f"pages/{slug}.html"


def _anchor(heading: str) -> str:
    return fold_name(heading).replace(" ", "-")


def _index(pages: Sequence[StoredPage]) -> str:
    wings: dict[str, list[StoredPage]] = {}
    for page in sorted(pages, key=lambda page: (page.wing, page.title.casefold(), page.slug)):
        wings.setdefault(page.wing, []).append(page)
    parts = ["<h1>All pages</h1>"]
    for wing, held in wings.items():
        count = f" <small>{len(held)}</small>"
        parts.append(f'<h2 class="wing">{escape(wing)}{count}</h2>\n<ul class="pages">')
        parts += [
            f'<li><a href="{quote(_file(page.slug))}">{escape(page.title)}</a>'
            f"{_about(page.date, *(f'#{tag}' for tag in page.tags))}</li>"
            for page in held
        ]
        parts.append("</ul>")
    return _document("All pages", "\n".join(parts))


def _about(*facts: str | None) -> str:
    said = " · ".join(escape(fact) for fact in facts if fact)
    return f" <small>{said}</small>" if said else ""


def _page(renderer: Any, place: _Place, body: str, backlinks: Sequence[Backlink]) -> str:
    page = place.page
    top = posixpath.relpath("index.html", posixpath.dirname(_file(page.slug)))
    parts = [f'<nav><a href="{quote(top)}">All pages</a></nav>', "<header>"]
    structure = scan_blocks(body)
    if not any(heading.level == 1 for heading in structure.headings):
        parts.append(f"<h1>{escape(page.title)}</h1>")
    tags = (f"#{tag}" for tag in page.tags)
    parts.append(f"<p>{_about(page.wing, page.date, page.type, *tags)}</p>\n</header>\n<main>")
    if len(body) > MAX_RENDERED_CHARACTERS:
        parts.append(f"<pre>{escape(body)}</pre>")
    else:
        hidden = [0, *(at for span in find_comments(body, structure) for at in span), len(body)]
        shown = "".join(body[a:b] for a, b in zip(hidden[::2], hidden[1::2], strict=True))
        parts.append(renderer.render(shown, {"place": place}))
    parts.append("</main>")
    others = {link.slug: link.title for link in backlinks}
    if others:
        parts.append("<footer>\n<h2>Linked from</h2>\n<ul>")
        parts += [
            f'<li><a href="{place.url(slug, None)}">{escape(title)}</a></li>'
            for slug, title in others.items()
        ]
        parts.append("</ul>\n</footer>")
    return _document(page.title, "\n".join(parts))


def _document(title: str, content: str) -> str:
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{content}\n</body>\n</html>\n"
    )


# --- Markdown --------------------------------------------------------------------------------


def _renderer() -> Any:
    """Markdown to HTML with links between pages; tags of HTML that a page holds become text."""
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING_DEPTH})
    renderer.enable(["table", "strikethrough"])
    renderer.inline.ruler.before("link", "wiki_link", _read_wiki_link)
    renderer.core.ruler.push("between_pages", _between_pages)
    renderer.add_render_rule("wiki_link", _show_wiki_link)
    renderer.add_render_rule("image", _show_image)
    return renderer


def _read_wiki_link(state: Any, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    found = _WIKI.match(state.src, state.pos)
    if found is None or not found[1].strip():
        return False
    if not silent:
        state.push("wiki_link", "", 0).meta = {
            "target": PAGE_FILE_ENDING.sub("", found[1].strip()),
            "heading": found[2],
            "label": found[3],
        }
    state.pos = found.end()
    return True


def _show_wiki_link(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    meta, place = tokens[number].meta, env["place"]
    target, heading = meta["target"], meta["heading"]
    slug, title = place.targets.get(target, (None, ""))
    # A path is for programs; a person reads the title.
    name = title if "/" in target and title else target
    shown = escape(meta["label"] or " > ".join(filter(None, (name, heading))))
    if slug is None:
        return f'<span class="nowhere">{shown}</span>'
    return f'<a href="{place.url(slug, heading)}">{shown}</a>'


def _show_image(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    """A link in place of the picture, which is not in the brain and may be anybody's."""
    token = tokens[number]
    source = str(token.attrs.get("src", ""))
    words = escape(renderer.renderInlineAsText(token.children or [], options, env) or source)
    outward = source.lower().startswith(_OUTWARD)
    return f'<a href="{escape(source)}">{words}</a>' if outward else f"<em>{words}</em>"


def _between_pages(state: Any) -> None:
    """Gives headings a name, callouts their title, tasks a box, and links what they lead to."""
    for before, token in zip([None, *state.tokens], state.tokens, strict=False):
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            before.attrSet("id", _anchor(token.content))
        for child in token.children or ():
            if child.type == "link_open":
                _lead(child, state.env["place"])
        token.children = list(_with_addresses(token.children or ()))
    for around, _, token in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        first = token.children[0] if token.type == "inline" and token.children else None
        if first is None or first.type != "text":
            continue
        if around.type == "list_item_open":
            first.content = _TASK.sub(_box, first.content)
        kind = _CALLOUT.match(first.content) if around.type == "blockquote_open" else None
        if kind:
            rest = first.content[kind.end() :]
            first.content = f"{kind[1].capitalize()}{': ' if rest else ''}{rest}"
            around.attrSet("class", "callout")
            token.children = [*_titled(token.children)]


def _box(task: re.Match[str]) -> str:
    return "☐ " if task[1] == " " else "☑ "


def _titled(children: Sequence[Any]) -> Iterator[Any]:
    """A callout's first line, which is its title, and below it the rest."""
    from markdown_it.token import Token

    yield Token("strong_open", "strong", 1)
    ends = next((n for n, child in enumerate(children) if child.type == "softbreak"), None)
    yield from children[:ends]
    yield Token("strong_close", "strong", -1)
    if ends is not None:
        yield Token("hardbreak", "br", 0)
        yield from children[ends + 1 :]


def _with_addresses(children: Sequence[Any]) -> Iterator[Any]:
    """What stands in a line, where a bare address is a link too."""
    from markdown_it.token import Token

    inside = 0
    for child in children:
        inside += (child.type == "link_open") - (child.type == "link_close")
        if child.type != "text" or inside or "://" not in child.content:
            yield child
            continue
        for number, part in enumerate(_ADDRESS.split(child.content)):
            if number % 2:
                yield Token("link_open", "a", 1, attrs={"href": part})
            yield Token("text", "", 0, content=part)
            if number % 2:
                yield Token("link_close", "a", -1)


def _lead(link: Any, place: _Place) -> None:
    """Points a Markdown link to the page's file; one that leads nowhere is no link any more."""
    written = str(link.attrs.get("href", ""))
    found = resolve_page_link(written, place.page.path)
    known = place.targets.get(found[0]) if found else None
    if found and known:
        link.attrs["href"] = place.url(known[0], found[1])
    elif not written.lower().startswith((*_OUTWARD, "#")):
        del link.attrs["href"]
