"""The page in the browser, in a real one: typing, keys, editing, hostile text, small screens."""

from __future__ import annotations

import re
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gbrain.server.redirect_file import redirect_file

# A served brain; see conftest.py.
Served = Any

WAIT_MS = 10_000

HOSTILE = """---
title: "<img src=x onerror=hacked=1> & <b>bold</b> \\u202Elive"
tags: ["<script>hacked=1</script>"]
---
# <img src=x onerror="hacked=1"> zebra

<script>hacked = 1</script> <svg onload="hacked=1"></svg>
<iframe srcdoc="<script>hacked=1</script>">
<style>body { display: none }</style> <a href="javascript:hacked=1">raw</a>

[one](javascript:hacked=1) [two](JaVaScRiPt:hacked=1)
[three](data:text/html,<script>hacked=1</script>)
[four](vbscript:x) [five](java&#115;cript:hacked=1) <javascript:hacked=1>
[six](//elsewhere.example/)
[[x" onmouseover="hacked=1]] [[<img src=x onerror=hacked=1>]] [[javascript:hacked=1]]
![a" onerror="hacked=1](x.png) ![remote](https://elsewhere.example/track.png)
![[https://elsewhere.example/y.png]]

- [ ] <img src=x onerror=hacked=1> task [[picture|and/or]] due: 2026-11-10
- 2026-11-16 — <img src=x onerror=hacked=1> entry

| <img src=x onerror=hacked=1> |
|---|
| `<script>hacked=1</script>` |

```"><script>hacked=1</script>
</code></pre><script>hacked = 1</script>
```
"""


def png() -> bytes:
    """Return an image of 3 x 2 pixels."""

    def part(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 3, 2, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0\1\2\3\0\4\5\6")
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", pixels) + part(b"IEND", b"")


@pytest.fixture(scope="module")
def served(
    serve: Callable[[Path, Path], Served],
    browser: Any,
    embedded_sample: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Served:
    """The sample, a page with an image and tasks, and a hostile page."""
    home = tmp_path_factory.mktemp("browser")
    shutil.copy(embedded_sample, home / "brain.db")
    (home / "notes" / "assets").mkdir(parents=True)
    (home / "notes" / "assets" / "boat.png").write_bytes(png())
    (home / "notes" / "picture.md").write_text(
        "# Picture\n\n![The boat](assets/boat.png) ![gone](gone.png)\n\n"
        "- [ ] buy rope\n- [x] wax the hull\n"
    )
    (home / "notes" / "hostile.md").write_text(HOSTILE)
    return serve(home / "brain.db", home / "notes")


Open = Callable[..., Any]


@pytest.fixture
def open_page(served: Served, browser: Any) -> Iterator[Open]:
    """`open_page("#/tasks", width=390)` opens the page, signed in; it must make no errors.

    All requests go to the server, and nothing breaks the content security policy.
    """
    contexts, problems = [], []

    def open_(fragment: str = "", *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        context.add_init_script(f"sessionStorage.setItem('gbrain-token', '{served.token}')")
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else 0)
        page.on(
            "request",
            lambda sent: (
                None
                if sent.url.startswith((served.url, f"blob:{served.url}"))
                else problems.append(sent.url)
            ),
        )
        page.goto(served.url + fragment)
        page.wait_for_selector(".list .hit")
        return page

    yield open_
    for context in contexts:
        context.close()
    # A request that the server refuses, such as a conflict, is logged by the browser itself.
    assert [text for text in problems if "Failed to load resource" not in text] == []


# --- signing in --------------------------------------------------------------------------------


def test_the_address_works_once(served: Served, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    # As gbrain ui hands it over.
    with redirect_file(served.address, 60) as file:
        page.goto(file.as_uri())
        page.wait_for_selector(".list .hit")
    assert page.url == served.url
    other_tab = context.new_page()
    other_tab.goto(served.url)
    other_tab.wait_for_selector(".list .hit")
    context.close()
    stranger = browser.new_page()
    stranger.goto(served.address)
    stranger.wait_for_selector("text=Run gbrain ui in a terminal")
    stranger.close()


# --- search ------------------------------------------------------------------------------------


def test_typing_shows_keyword_hits_at_once_then_both_lanes(open_page: Open) -> None:
    page = open_page()
    held: list[Any] = []
    page.route("**/api/query", lambda route: held.append(route))
    page.keyboard.type("retrieval in the clou")
    page.wait_for_selector("mark:has-text('cloud')")
    assert "keyword #1" in page.inner_text(".hit >> nth=0")
    assert "vector" not in page.inner_text(".list")
    while not held:
        page.wait_for_timeout(20)
    assert len(held) == 1
    held[0].continue_()
    page.wait_for_selector(".why:has-text('vector #1')")
    page.click("summary:has-text('Why')")
    assert "answered in" in page.inner_text(".summary details")


def test_an_answer_to_earlier_letters_does_not_replace_a_later_one(open_page: Open) -> None:
    page = open_page()
    page.route(
        "**/api/search?q=riv*", lambda route: (page.wait_for_timeout(300), route.continue_())
    )
    page.keyboard.type("riv")
    page.fill("[role=combobox]", "sourdough")
    page.wait_for_selector(".hit >> nth=0 >> text=Sourdough starter")
    page.wait_for_timeout(500)
    assert "Sourdough starter" in page.inner_text(".hit >> nth=0")


def test_keys_choose_open_edit_and_close(open_page: Open) -> None:
    page = open_page()
    page.keyboard.type("river ai")
    page.wait_for_selector(".why:has-text('vector')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    chosen = page.inner_text(".hit[aria-selected=true] .title")
    assert chosen == page.inner_text(".hit >> nth=1 >> .title")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"main h1:has-text('{chosen}')")
    page.keyboard.press("e")
    page.wait_for_selector("textarea:focus")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.wait_for_selector("article.text")
    page.keyboard.press("h")
    page.wait_for_selector(".diff .added")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.value") == "river ai"
    page.keyboard.press("Escape")
    page.wait_for_selector(".summary:has-text('31 pages')")


def test_filters_narrow_the_list_and_the_hits(open_page: Open) -> None:
    page = open_page()
    page.select_option("select[aria-label=Wing]", "people")
    page.wait_for_selector(".summary:text-is('5 pages')")
    page.keyboard.press("/")
    page.keyboard.type("storage")
    page.wait_for_selector(".why:has-text('vector')")
    assert {row.split(" · ")[0] for row in page.locator(".where").all_inner_texts()} == {"people"}
    page.click("text=Clear filters")
    page.fill("[role=combobox]", "")
    page.fill("input[aria-label=Tag]", "vendor")
    page.press("input[aria-label=Tag]", "Enter")
    page.wait_for_selector(".summary:text-is('2 pages')")
    page.click("text=Clear filters")
    page.wait_for_function("() => document.querySelectorAll('.hit').length > 15")
    page.fill(".filters label:has-text('from') input", "2026-10-01")
    page.dispatch_event(".filters label:has-text('from') input", "change")
    page.wait_for_function("() => document.querySelectorAll('.hit').length < 15")
    dates = [row.split(" · ")[-1] for row in page.locator(".where").all_inner_texts()]
    assert dates
    assert min(dates) >= "2026-10"


# --- pages -------------------------------------------------------------------------------------


def test_links_lead_to_pages_and_back(open_page: Open) -> None:
    page = open_page("#/page/people/alice-chen")
    page.click("article a:has-text('Field Notebook')")
    page.wait_for_selector("main h1:has-text('Field Notebook')")
    page.click(".related a:has-text('Alice Chen')")
    page.wait_for_selector("main h1:has-text('Alice Chen')")
    assert page.locator("li.entry time").first.inner_text() == "2026-10-02"
    page.go_back()
    page.wait_for_selector("main h1:has-text('Field Notebook')")
    page.click(".facts button >> nth=0")
    page.wait_for_selector("text=Clear filters")


def test_images_are_shown_and_tasks_ticked(open_page: Open, served: Served) -> None:
    page = open_page("#/page/picture")
    page.wait_for_function("() => document.querySelector('article img')?.naturalWidth === 3")
    page.wait_for_selector("article em:has-text('gone (There is no image')")
    page.check("li.task:has-text('buy rope') input")
    page.wait_for_selector("text=Task done.")
    assert "- [x] buy rope" in served.text("picture")
    page.uncheck("li.task:has-text('wax the hull') input")
    page.wait_for_selector("text=Task open again.")
    assert "- [ ] wax the hull" in served.text("picture")


def test_a_graph_names_its_hubs(open_page: Open) -> None:
    page = open_page("#/graph")
    page.wait_for_selector(".graph .node text:visible")
    hubs = page.locator(".graph .node:not(.unlabelled) text").all_text_contents()
    assert "River AI" in hubs
    page.fill(".graph input", "alice chen")
    page.click(".graph aside button:has-text('Open this page')")
    page.wait_for_selector("main h1:has-text('Alice Chen')")


def test_the_context_is_that_of_the_command(open_page: Open, served: Served) -> None:
    # First the command: it embeds what other tests have written.
    printed = served.run("query", "who looks after the storage engine", "--depth", "auto")
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.keyboard.type("who looks after the storage engine")
    page.click(".summary a[href*='engine']:has-text('Context')")
    page.click("button:has-text('Copy'):enabled")
    page.wait_for_selector("text=Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == printed.rstrip("\n")


def test_a_thought_is_captured_and_a_due_task_listed(open_page: Open, served: Served) -> None:
    page = open_page()
    assert "2026-11-10 task" not in page.inner_text("main")
    page.wait_for_selector("text=Overdue")
    page.fill(".capture input", "Ask Ivy about flour")
    page.press(".capture input", "Enter")
    page.wait_for_selector("text=Added to inbox.")
    assert "Ask Ivy about flour" in served.text("inbox")


def test_a_late_task_is_marked_and_links_have_their_labels(open_page: Open) -> None:
    page = open_page("#/tasks")
    page.wait_for_selector(".rows li.late:has-text('task and/or')")


# --- editing -----------------------------------------------------------------------------------


def test_an_edit_is_saved_as_a_version(open_page: Open, served: Served) -> None:
    page = open_page("#/page/concepts/evergreen-notes")
    page.wait_for_selector("article")
    page.keyboard.press("e")
    page.wait_for_selector("textarea:focus")
    page.keyboard.press("Control+End")
    page.keyboard.type("One more line.\n")
    page.keyboard.press("Control+s")
    page.wait_for_selector("text=Saved as version 2.")
    page.wait_for_selector("article:has-text('One more line.')")
    page.keyboard.press("h")
    page.wait_for_selector(".diff .added:has-text('One more line.')")
    assert served.text("concepts/evergreen-notes").endswith("One more line.\n")


@pytest.mark.parametrize("way", ["Combine both", "Save mine as version", "Take the other"])
def test_a_conflict_shows_both_texts_and_loses_none(
    open_page: Open, served: Served, way: str
) -> None:
    slug = f"conflicts/{way.split()[0].lower()}"
    served.put(slug, "# Shared\n\nfirst\n")
    page = open_page(f"#/edit/{slug}")
    page.wait_for_selector("textarea:focus")
    page.fill("textarea", "# Shared\n\nfirst\n\nmine\n")
    served.put(slug, "# Shared\n\nfirst\n\ntheirs\n")
    page.click("button:has-text('Save')")
    page.wait_for_selector("text=changed while you were editing")
    assert page.input_value("textarea").endswith("mine\n")
    assert page.inner_text(".other .added").strip() == "theirs"
    page.reload()
    page.wait_for_selector("text=changed while you were editing")
    assert page.input_value("textarea").endswith("mine\n")
    page.click(f"button:has-text('{way}')")
    if way == "Combine both":
        page.wait_for_selector("text=Tidy up")
        page.keyboard.press("Control+s")
    page.wait_for_selector("article:has-text('first')")
    expected = {"Combine": ["theirs", "mine"], "Save": ["mine"], "Take": ["theirs"]}
    assert served.text(slug).split()[3:] == expected[way.split()[0]]


def test_a_page_that_does_not_exist_can_be_written(open_page: Open, served: Served) -> None:
    page = open_page("#/page/new/idea")
    page.click("text=Write this page")
    page.wait_for_selector("text=new page")
    page.fill("textarea", "# New idea\n\nSee [[new/second idea]].\n")
    page.keyboard.press("Control+s")
    page.wait_for_selector("text=Saved as version 1.")
    page.click("article a.no-page")
    page.wait_for_selector("text=new/second-idea · new page")


def test_a_read_only_page_offers_no_change(
    serve: Callable[..., Served], browser: Any, embedded_sample: Path, tmp_path: Path
) -> None:
    shutil.copy(embedded_sample, tmp_path / "brain.db")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "rope.md").write_text("# Rope\n\n- [ ] buy rope\n\n[[no such page]]\n")
    served = serve(tmp_path / "brain.db", tmp_path / "notes", "--read-only")
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_selector("text=Written this week")
    assert page.locator("text=Capture").count() == 0
    page.goto(f"{served.url}#/tasks")
    page.wait_for_selector("main:has-text('buy rope')")
    assert page.locator("main input[type=checkbox]:enabled").count() == 0
    # Another tab learns it from this one.
    other = context.new_page()
    other.goto(f"{served.url}#/page/rope")
    other.wait_for_selector("article:has-text('buy rope')")
    assert other.locator("article input[type=checkbox]").is_disabled()
    assert other.locator(".bar >> text=History").count() == 1
    assert other.locator(".bar >> text=Edit").count() == 0
    other.click("article a.no-page")
    other.wait_for_selector("main:has-text('no-such-page')")
    assert other.locator("textarea").count() == 0
    assert other.locator("text=Write this page").count() == 0
    context.close()


# --- what goes wrong -----------------------------------------------------------------------------


def test_a_slow_answer_is_not_shown_under_a_later_address(open_page: Open) -> None:
    page = open_page()
    held: list[Any] = []
    page.route("**/api/pages/picture", lambda route: held.append(route))
    with page.expect_request("**/api/pages/picture"):
        page.evaluate("location.hash = '#/page/picture'")
    page.evaluate("location.hash = '#/page/people/alice-chen'")
    page.wait_for_timeout(200)
    held[0].continue_()
    page.wait_for_selector("main h1:has-text('Alice Chen')")
    page.wait_for_timeout(200)
    assert page.inner_text("main h1") == "Alice Chen"


def test_a_view_that_fails_does_not_show_the_one_before(open_page: Open) -> None:
    page = open_page("#/history/people/alice-chen")
    page.wait_for_selector(".diff .added")
    page.evaluate("location.hash = '#/history/no/such-page'")
    page.wait_for_selector(".notice:has-text('There is no page no/such-page. ')")
    assert page.locator(".diff").count() == 0
    page.evaluate("location.hash = '#/history/people/alice-chen'")
    page.wait_for_selector(".diff .added")


def test_a_page_whose_server_started_again_says_so(open_page: Open) -> None:
    page = open_page()
    refused = {"status": 401, "body": "{}"}
    page.route("**/api/pages/picture", lambda route: route.fulfill(**refused))
    page.evaluate("location.hash = '#/page/picture'")
    page.wait_for_selector("main:has-text('Run gbrain ui in a terminal, then reload this page.')")
    assert page.evaluate("sessionStorage.getItem('gbrain-token')") is None


# --- hostile text --------------------------------------------------------------------------------


def test_no_script_of_a_page_runs_in_any_view(open_page: Open) -> None:
    page = open_page("#/page/hostile")
    page.wait_for_selector("article:has-text('zebra'), h1:has-text('zebra')")
    links = page.eval_on_selector_all("main a[href]", "all => all.map(link => link.href)")
    assert links
    assert all(re.match(r"https?://", link) for link in links)
    for link in page.query_selector_all("main article a[href^='http']"):
        assert link.get_attribute("rel") == "noopener noreferrer"
    assert page.locator("article :is(script, iframe, svg, style, object, form)").count() == 0
    found = page.evaluate(
        "[...document.querySelectorAll('main *')].flatMap(each => each.getAttributeNames())"
        ".filter(name => name.startsWith('on'))"
    )
    assert found == []
    page.fill("[role=combobox]", "zebra")
    page.wait_for_selector(".why:has-text('vector')")
    for view in ("history/hostile", "graph/hostile", "graph", "tasks", "timeline", "today",
                 "context?q=zebra", "edit/hostile", "page/<img src=x onerror=hacked=1>",
                 "edit/%22%3E%3Cscript%3Ehacked=1%3C/script%3E", "nowhere/%"):  # fmt: skip
        page.evaluate("address => { location.hash = address; }", f"#/{view}")
        page.wait_for_timeout(150)
        assert page.evaluate("typeof hacked") == "undefined"


def test_a_title_does_not_reorder_what_follows_it(open_page: Open) -> None:
    page = open_page("#/page/picture")
    ends = page.locator(".related a", has_text="bold").bounding_box()
    starts = page.locator(".related small", has_text="hostile").bounding_box()
    assert ends["x"] + ends["width"] <= starts["x"]


def test_the_policy_of_the_server_forbids_foreign_code(open_page: Open) -> None:
    page = open_page()
    policy = page.request.get(page.url.partition("#")[0]).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


# --- screens -------------------------------------------------------------------------------------

VIEWS = ("", "#/page/companies/river-ai", "#/edit/people/alice-chen", "#/history/people/alice-chen",
         "#/graph/people/alice-chen", "#/tasks", "#/timeline", "#/context?q=cloud")  # fmt: skip


def test_every_view_fits_a_phone(open_page: Open) -> None:
    page = open_page(width=390, has_touch=True)
    for view in VIEWS:
        page.evaluate("address => { location.hash = address; }", view)
        page.wait_for_timeout(150)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        columns = [page.locator(each).is_visible() for each in (".finder", "main")]
        assert columns == [view == "", view != ""]


def test_dark_mode_follows_the_system(open_page: Open) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        page = open_page(color_scheme=scheme)
        script = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        colours[scheme] = sum(page.evaluate(script))
    assert colours["light"] > 600
    assert colours["dark"] < 150


# --- the HTML export ---------------------------------------------------------------------------


def test_an_exported_site_can_be_searched_from_a_file(
    served: Served, browser: Any, tmp_path: Path
) -> None:
    served.run("export", str(tmp_path / "site"), "--format", "html")
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda said: problems.append(said.text))
    page.goto((tmp_path / "site" / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("waterproof notes tablet")
    page.wait_for_selector("#results p")
    page.fill("input", "sourdough")
    page.wait_for_selector("#results a:text-is('Sourdough starter')")
    assert page.locator("#groups").is_hidden()
    page.fill("input", "picture")
    page.click("#results a >> nth=0")
    page.wait_for_function("() => document.querySelector('img')?.naturalWidth === 3")
    assert page.evaluate("getComputedStyle(document.body).maxWidth") != "none"
    page.goto((tmp_path / "site" / "pages" / "hostile.html").as_uri())
    assert page.evaluate("typeof hacked") == "undefined"
    assert problems == []
    page.close()
