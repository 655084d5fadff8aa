"""Render a brain as a folder of linked web pages without scripts (`export --format html`)."""

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

# Longer pages are shown as plain text: rendering them takes seconds.
MAX_RENDERED_CHARACTERS = 200_000

_WIKI = re.compile(r"!?\[\[([^\[\]|#\n]*)(?:#([^\[\]|\n]*))?(?:\|([^\[\]\n]*))?\]\]")
_CALLOUT = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*")
_TASK = re.compile(r"\A\[([ xX])\] ")
_BARE_URL = re.compile(r"(https?://[^\s<>\"'`]{1,2000}[^\s<>\"'`.,;:!?)\]])")
_EXTERNAL_SCHEMES = ("http://", "https://", "mailto:")

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
.no-page { text-decoration: underline dotted; }
"""


class _PageRendering(NamedTuple):
    """The page being rendered, and the (slug, title) of the page that each link on it names."""

    page: StoredPage
    targets: Mapping[str, tuple[str, str]]

    def url(self, slug: str, heading: str | None) -> str:
        """Return the relative URL of a page, or of a heading in it."""
        here = posixpath.dirname(_file_path(self.page.slug))
        path = quote(posixpath.relpath(_file_path(slug), here))
        # "^" starts an Obsidian block id, which has no heading.
        if not heading or heading.startswith("^"):
            return path
        return f"{path}#{quote(_heading_id(heading))}"


def render_site(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every file of the site; index.html is first."""
    pages, _ = list_pages(connection, Scope(), None)
    yield "index.html", _index_html(pages)
    renderer = _markdown_renderer()
    for page in pages:
        links = links_from(connection, page)
        targets = {link.target: (link.slug, link.title or "") for link in links if link.slug}
        rendering = _PageRendering(page, targets)
        body = page_body(connection, page.id)
        backlinks = links_to(connection, page)
        yield _file_path(page.slug), _page_html(renderer, rendering, body, backlinks)


def _file_path(slug: str) -> str:
    return f"pages/{slug}.html"


def _heading_id(heading: str) -> str:
    return fold_name(heading).replace(" ", "-")


def _index_html(pages: Sequence[StoredPage]) -> str:
    wings: dict[str, list[StoredPage]] = {}
    for page in sorted(pages, key=lambda page: (page.wing, page.title.casefold(), page.slug)):
        wings.setdefault(page.wing, []).append(page)
    parts = ["<h1>All pages</h1>"]
    for wing, wing_pages in wings.items():
        count = f" <small>{len(wing_pages)}</small>"
        parts.append(f'<h2 class="wing">{escape(wing)}{count}</h2>\n<ul class="pages">')
        parts += [
            f'<li><a href="{quote(_file_path(page.slug))}">{escape(page.title)}</a>'
            f"{_facts_html(page.date, *(f'#{tag}' for tag in page.tags))}</li>"
            for page in wing_pages
        ]
        parts.append("</ul>")
    return _html_document("All pages", "\n".join(parts))


def _facts_html(*facts: str | None) -> str:
    text = " · ".join(escape(fact) for fact in facts if fact)
    return f" <small>{text}</small>" if text else ""


def _page_html(
    renderer: Any, rendering: _PageRendering, body: str, backlinks: Sequence[Backlink]
) -> str:
    page = rendering.page
    top = posixpath.relpath("index.html", posixpath.dirname(_file_path(page.slug)))
    parts = [f'<nav><a href="{quote(top)}">All pages</a></nav>', "<header>"]
    structure = scan_blocks(body)
    if not any(heading.level == 1 for heading in structure.headings):
        parts.append(f"<h1>{escape(page.title)}</h1>")
    tags = (f"#{tag}" for tag in page.tags)
    parts.append(f"<p>{_facts_html(page.wing, page.date, page.type, *tags)}</p>\n</header>\n<main>")
    if len(body) > MAX_RENDERED_CHARACTERS:
        parts.append(f"<pre>{escape(body)}</pre>")
    else:
        hidden = [0, *(at for span in find_comments(body, structure) for at in span), len(body)]
        shown = "".join(body[a:b] for a, b in zip(hidden[::2], hidden[1::2], strict=True))
        parts.append(renderer.render(shown, {"rendering": rendering}))
    parts.append("</main>")
    others = {link.slug: link.title for link in backlinks}
    if others:
        parts.append("<footer>\n<h2>Linked from</h2>\n<ul>")
        parts += [
            f'<li><a href="{rendering.url(slug, None)}">{escape(title)}</a></li>'
            for slug, title in others.items()
        ]
        parts.append("</ul>\n</footer>")
    return _html_document(page.title, "\n".join(parts))


def _html_document(title: str, content: str) -> str:
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{content}\n</body>\n</html>\n"
    )


# --- Markdown --------------------------------------------------------------------------------


def _markdown_renderer() -> Any:
    """Return a Markdown renderer that links pages and shows HTML tags in a page as text."""
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING_DEPTH})
    renderer.enable(["table", "strikethrough"])
    renderer.inline.ruler.before("link", "wiki_link", _parse_wiki_link)
    renderer.core.ruler.push("adapt_tokens", _adapt_tokens)
    renderer.add_render_rule("wiki_link", _render_wiki_link)
    renderer.add_render_rule("image", _render_image)
    return renderer


def _parse_wiki_link(state: Any, silent: bool) -> bool:
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


def _render_wiki_link(_: Any, tokens: Any, number: int, __: Any, env: Any) -> str:
    meta, rendering = tokens[number].meta, env["rendering"]
    target, heading = meta["target"], meta["heading"]
    slug, title = rendering.targets.get(target, (None, ""))
    # A title is easier to read than a path.
    name = title if "/" in target and title else target
    shown = escape(meta["label"] or " > ".join(filter(None, (name, heading))))
    if slug is None:
        return f'<span class="no-page">{shown}</span>'
    return f'<a href="{rendering.url(slug, heading)}">{shown}</a>'


def _render_image(renderer: Any, tokens: Any, number: int, options: Any, env: Any) -> str:
    """Return a link instead of the image: files are not exported, remote images may track."""
    token = tokens[number]
    source = str(token.attrs.get("src", ""))
    text = escape(renderer.renderInlineAsText(token.children or [], options, env) or source)
    external = source.lower().startswith(_EXTERNAL_SCHEMES)
    return f'<a href="{escape(source)}">{text}</a>' if external else f"<em>{text}</em>"


def _adapt_tokens(state: Any) -> None:
    """Give headings an id, callouts a title, tasks a checkbox, and links the page's file."""
    for before, token in zip([None, *state.tokens], state.tokens, strict=False):
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            before.attrSet("id", _heading_id(token.content))
        for child in token.children or ():
            if child.type == "link_open":
                _resolve_link(child, state.env["rendering"])
        token.children = list(_link_bare_urls(token.children or ()))
    for around, _, token in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        first = token.children[0] if token.type == "inline" and token.children else None
        if first is None or first.type != "text":
            continue
        if around.type == "list_item_open":
            first.content = _TASK.sub(_checkbox, first.content)
        kind = _CALLOUT.match(first.content) if around.type == "blockquote_open" else None
        if kind:
            rest = first.content[kind.end() :]
            first.content = f"{kind[1].capitalize()}{': ' if rest else ''}{rest}"
            around.attrSet("class", "callout")
            token.children = [*_callout_tokens(token.children)]


def _checkbox(task: re.Match[str]) -> str:
    return "☐ " if task[1] == " " else "☑ "


def _callout_tokens(children: Sequence[Any]) -> Iterator[Any]:
    """Yield the tokens of a callout with its first line, the title, in bold."""
    from markdown_it.token import Token

    yield Token("strong_open", "strong", 1)
    ends = next((n for n, child in enumerate(children) if child.type == "softbreak"), None)
    yield from children[:ends]
    yield Token("strong_close", "strong", -1)
    if ends is not None:
        yield Token("hardbreak", "br", 0)
        yield from children[ends + 1 :]


def _link_bare_urls(children: Sequence[Any]) -> Iterator[Any]:
    """Yield the tokens of a line, with bare URLs turned into links."""
    from markdown_it.token import Token

    inside = 0
    for child in children:
        inside += (child.type == "link_open") - (child.type == "link_close")
        if child.type != "text" or inside or "://" not in child.content:
            yield child
            continue
        for number, part in enumerate(_BARE_URL.split(child.content)):
            if number % 2:
                yield Token("link_open", "a", 1, attrs={"href": part})
            yield Token("text", "", 0, content=part)
            if number % 2:
                yield Token("link_close", "a", -1)


def _resolve_link(link: Any, rendering: _PageRendering) -> None:
    """Point a Markdown link to its page's file; remove the link if there is no such page."""
    written = str(link.attrs.get("href", ""))
    found = resolve_page_link(written, rendering.page.path)
    target = rendering.targets.get(found[0]) if found else None
    if found and target:
        link.attrs["href"] = rendering.url(target[0], found[1])
    elif not written.lower().startswith((*_EXTERNAL_SCHEMES, "#")):
        del link.attrs["href"]
