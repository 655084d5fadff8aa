"""What the page in the browser shows of a page: its text as HTML, and its images."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple
from urllib.parse import quote

from gbrain.brain import Brain
from gbrain.errors import BadPage
from gbrain.mcp.arguments import Arguments
from gbrain.output.json import Document
from gbrain.output.page_html import heading_id, markdown_renderer, render_page
from gbrain.text.markdown import scan_blocks
from gbrain.text.slug import slug_from_path


class _BrowserPage(NamedTuple):
    """A page in the browser; see PageMarkup. Addresses are those of its script, `#/page/SLUG`."""

    path: str
    targets: Mapping[str, tuple[str, str]]
    first_line: int

    def page_url(self, slug: str, heading: str | None) -> str:
        # "^" starts an Obsidian block id, which has no heading.
        named = heading and not heading.startswith("^")
        return f"#/page/{quote(slug)}" + (
            f"?heading={quote(heading_id(heading or ''))}" if named else ""
        )

    def missing_page_html(self, target: str, text: str) -> str:
        try:
            slug = slug_from_path(target)
        except BadPage:
            return f'<span class="no-page">{text}</span>'
        return f'<a class="no-page" href="#/edit/{escape(quote(slug))}">{text}</a>'

    def image_html(self, source: str, text: str) -> str:
        return f'<img data-path="{escape(source)}" alt="{text}">'

    def checkbox_html(self, done: bool) -> str:
        return f'<input type="checkbox"{" checked" if done else ""}>'


def rendered(brain: Brain, arguments: Arguments) -> Document:
    """Return the text of a page as HTML, without its front matter."""
    page = brain.get(arguments["slug"])
    body, text = brain.body(page.slug), brain.text(page.slug)
    targets = {
        link.target: (link.slug, link.title or "") for link in brain.links(page.slug) if link.slug
    }
    first_line = text.count("\n", 0, len(text) - len(body)) + 1
    markup = _BrowserPage(page.path, targets, first_line)
    html = render_page(markdown_renderer(), markup, body, scan_blocks(body))
    return {"slug": page.slug, "version": page.version, "html": html}
