"""A brain as web pages: links that lead somewhere, and nothing of a page that runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.output.bounded_markdown import MAX_RENDERED_CHARACTERS
from gbrain.output.code_colours import MAX_COLOURED_CHARACTERS
from gbrain.output.site import render_site

SIGNS = "<>&\"'[]()!`*_#|\\ \na:x/-~^%"


def files(brain: Brain) -> dict[str, str]:
    with brain.database.read_transaction() as connection:
        made = render_site(connection, brain.is_known_folder)
        return {path: data for path, data in made if isinstance(data, str)}


def images(brain: Brain) -> dict[str, bytes]:
    with brain.database.read_transaction() as connection:
        made = render_site(connection, brain.is_known_folder)
        return {path: data for path, data in made if isinstance(data, bytes)}


def body_of(brain: Brain, text: str) -> str:
    """What is made of a page's text, on one line."""
    brain.put("notes/page", text.encode())
    shown = re.search(
        r'<main class="text" dir="auto">\n(.*)</main>', files(brain)["pages/notes/page.html"], re.S
    )
    assert shown
    return " ".join(shown[1].split())


class Reader(HTMLParser):
    """The elements of a page and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        assert all(name in ("href", "id", "class", "charset", "content", "http-equiv", "name",
                            "title", "start", "rel", "type", "placeholder", "aria-label",
                            "hidden", "open", "dir") for name, _ in attrs)  # fmt: skip


def test_every_link_in_the_sample_has_a_target_file(sample: Path) -> None:
    with Brain.open(sample) as brain:
        made = files(brain)
    assert len(made) == 31
    links = [(path, link) for path, text in made.items() for link in Reader(text).links]
    inside = [(path, link) for path, link in links if "://" not in link]
    assert len(inside) > 100
    for path, link in inside:
        assert normpath(join(dirname(path), unquote(link.partition("#")[0]))) in made


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Other Page]]", '<p><a href="../other/page.html">Other Page</a></p>'),
        ("[[other/page|label]]", '<p><a href="../other/page.html">label</a></p>'),
        ("![[other page#Part two]]",
         '<p><a href="../other/page.html#part-two">other page &gt; Part two</a></p>'),
        ("[x](../other/page.md#Part%20two)", '<p><a href="../other/page.html#part-two">x</a></p>'),
        ("[[other/page]]", '<p><a href="../other/page.html">Other Page</a></p>'),
        ("- [ ] a\n- [x] b", '<ul> <li class="task">☐ a</li> <li class="task done">☑ b</li> </ul>'),
        ("[ ] a", "<p>[ ] a</p>"),
        ("See https://example.org/a?b=1&c.",
         '<p>See <a href="https://example.org/a?b=1&amp;c">https://example.org/a?b=1&amp;c</a>.</p>'),
        ("`https://a.org`", "<p><code>https://a.org</code></p>"),
        ("[https://a.org](https://b.org)", '<p><a href="https://b.org">https://a.org</a></p>'),
        ("[[nowhere]]", '<p><span class="no-page">nowhere</span></p>'),
        ("[x](file.txt)", "<p><a>x</a></p>"),
        ("[x](https://example.org/?a=1&b=2)",
         '<p><a href="https://example.org/?a=1&amp;b=2">x</a></p>'),
        ("[x](javascript:alert)", "<p>[x](javascript:alert)</p>"),
        ("![x](https://example.org/i.png)", '<p><a href="https://example.org/i.png">x</a></p>'),
        ("![x](i.png)", "<p><em>x</em></p>"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("`[[other page]]`", "<p><code>[[other page]]</code></p>"),
        ("a\n\n# A `b`", '<p>a</p> <h1 id="a-b">A <code>b</code></h1>'),
        ("a %%hidden%% b", "<p>a b</p>"),
        ("> [!warning]+ Mind *this*\n> text",
         '<blockquote class="callout"> <p><strong>Warning: Mind <em>this</em></strong><br /> '
         "text</p> </blockquote>"),
        ("> [!note]\n> text",
         '<blockquote class="callout"> <p><strong>Note</strong><br /> text</p> </blockquote>'),
        ("> [!note]", '<blockquote class="callout"> <p><strong>Note</strong></p> </blockquote>'),
        ("> plain", "<blockquote> <p>plain</p> </blockquote>"),
        ("- 2026-04-03 — *Met* Ivy",
         '<ul> <li class="entry"><time>2026-04-03</time> <em>Met</em> Ivy</li> </ul>'),
        ("- **2026-04** | chat — Left",
         '<ul> <li class="entry"><time>2026-04</time> chat — Left</li> </ul>'),
        ("| a |\n|---|\n| [[other page]] |",
         '<div class="table"><table> <thead> <tr> <th>a</th> </tr> </thead> <tbody> <tr> '
         '<td><a href="../other/page.html">other page</a></td> </tr> </tbody> </table> </div>'),
        ("| a | b | c |\n|:--|:-:|--:|",
         '<div class="table"><table> <thead> <tr> <th class="left">a</th> '
         '<th class="center">b</th> <th class="right">c</th> </tr> </thead> </table> </div>'),
        ("```py\nx = \"<b>\"\n```",
         '<pre><code class="language-py"><span class="n">x</span> <span class="o">=</span> '
         '<span class="s2">"&lt;b&gt;"</span> </code></pre>'),
        ("```<i>\nx\n```", '<pre><code class="language-&lt;i&gt;">x </code></pre>'),
    ],
)  # fmt: skip
def test_markdown_is_rendered_as_html(brain: Brain, text: str, expected: str) -> None:
    brain.put("other/page", b"# Other Page\n\n## Part two\n")
    assert body_of(brain, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A b\n\ntext\n", '<h1 id="a-b">A b</h1>'),
        ("text\n", "<h1>Page</h1>"),
    ],
)
def test_the_facts_stand_between_title_and_text(brain: Brain, text: str, expected: str) -> None:
    brain.put("notes/page", f"---\ntags: [boat]\n---\n{text}".encode())
    shown = files(brain)["pages/notes/page.html"]
    assert shown.count("<h1") == 1
    assert 0 < shown.index(expected) < shown.index("#boat") < shown.index("<p>text</p>")


def test_a_page_has_its_title_tags_and_backlinks(brain: Brain) -> None:
    brain.put("a & b", b"---\ntags: [<i>]\ndate: 2026-04-03\n---\ntext\n")
    brain.put("c", b"# C\n\n[[a & b]] and again [[a & b]]\n")
    made = files(brain)
    page = made["pages/a-&-b.html"]
    assert "<title>A &amp; b</title>" in page
    assert "<h1>A &amp; b</h1>" in page
    assert "2026-04-03 · #&lt;i&gt;" in page
    assert page.count('<a href="c.html">C</a>') == 1
    assert made["pages/c.html"].count("<h1") == 1
    assert '<a href="pages/a-%26-b.html">A &amp; b</a>' in made["index.html"]


def test_the_index_groups_by_folder_and_the_journal_by_month(brain: Brain) -> None:
    for slug in ("journal/2026-04-03", "journal/2026-04-09", "journal/2026-05-01"):
        brain.put(slug, b"# Day\n")
    brain.put("a/b/deep", b"# Deep\n")
    brain.put("top", b"# Top\n")
    groups = re.findall(r"<summary>(.*?) <small>(\d)", files(brain)["index.html"])
    assert groups == [
        ("2026-05", "1"), ("2026-04", "2"), ("Top of the folder", "1"), ("a/b", "1"),
    ]  # fmt: skip


def test_the_index_contains_the_text_of_pages_for_its_search(brain: Brain) -> None:
    brain.put("a", b"# A\n\n**Bold** [[x]] </script><b> & more\n")
    index = files(brain)["index.html"]
    data = re.search(r'<script type="application/json" id="pages">(.*)</script>\n<script>', index)
    assert data
    assert json.loads(data[1]) == [["pages/a.html", "A", "", "A Bold x </script <b & more"]]


def test_images_of_the_folder_are_part_of_the_site(brain: Brain, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "sub" / "assets").mkdir(parents=True)
    (notes / "sub" / "page.md").write_text(
        "# P\n\n![a](assets/a%20b.png) ![[c.JPG|200]] ![d](../../out.png) ![e](e.png) ![f](no.png)"
    )
    (notes / "sub" / "assets" / "a b.png").write_bytes(b"one")
    (notes / "c.JPG").write_bytes(b"two")
    (tmp_path / "out.png").write_bytes(b"outside")
    (notes / "sub" / "e.png").symlink_to(tmp_path / "out.png")
    brain.import_folder(notes)
    assert "<img" not in files(brain)["pages/sub/page.html"]
    brain.allow_writing(notes)
    page = files(brain)["pages/sub/page.html"]
    found = images(brain)
    assert sorted(found.values()) == [b"one", b"two"]
    assert sorted(re.findall(r'<img src="../../(.*?)"', page)) == sorted(found)
    assert "<em>d</em> <em>e</em> <em>f</em>" in page


def test_long_code_is_not_coloured(brain: Brain) -> None:
    shown = body_of(brain, f"```py\n{'x = 1;' * (MAX_COLOURED_CHARACTERS // 6 + 1)}\n```")
    assert "<span" not in shown
    block = f"```py\n{'x = 1;' * (MAX_COLOURED_CHARACTERS // 6 - 1)}\n```\n\n"
    shown = body_of(brain, block * 8)
    assert [part.count("<span") > 0 for part in shown.split("<pre>")[1:]] == [True] * 4 + [
        False
    ] * 4


def test_a_huge_page_is_shown_as_plain_text(brain: Brain) -> None:
    shown = body_of(brain, "[<b>" * (MAX_RENDERED_CHARACTERS // 4 + 1))
    assert shown.startswith("<pre>[&lt;b&gt;[&lt;b&gt;")


@pytest.fixture(scope="module")
def one_brain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    with Brain.open(tmp_path_factory.mktemp("site") / "brain.db", make=True) as brain:
        yield brain


@settings(max_examples=60)
@given(st.text(st.sampled_from(SIGNS), max_size=120))
def test_page_text_never_becomes_active_html(one_brain: Brain, text: str) -> None:
    one_brain.put("page", f"x {text}".encode())
    made = files(one_brain)
    assert made.pop("style.css")
    assert len(made) == 2
    for page in made.values():
        read = Reader(page)
        assert read.elements.isdisjoint(("img", "iframe", "form", "object", "x"))
        assert page.count("<script") == (2 if "All pages</h1>" in page else 0)
        assert not any(link.lower().startswith("javascript") for link in read.links)
