"""Every page gets a wing and a room, and the reason is one that a person can check."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.classify import MAX_NAME_CHARACTERS, Placement, Shape, classify_room, classify_wing

GENERAL = ("general", "no folder, type, tag or shape says more")


def shape(
    words: int = 60,
    lines: int = 10,
    headings: tuple[str, ...] = (),
    bullets: int = 0,
    tasks: int = 0,
    ordered: int = 0,
    code_lines: int = 0,
    entries: int = 0,
    links: int = 0,
) -> Shape:
    return Shape(words, lines, headings, bullets, tasks, ordered, code_lines, entries, links)


def wing(path: str, *tags: str, content: Shape | None = None, **front: object) -> Placement:
    return classify_wing(path, front, tags, content or shape())


def room(
    content: Shape, path: str = "misc/a-page.md", title: str = "A page", **front: object
) -> Placement:
    return classify_room(path, title, front, content)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("people", "people"),
        ("Person", "people"),
        ("contacts", "people"),
        ("Team", "people"),
        ("companies", "companies"),
        ("Orgs", "companies"),
        ("startups", "companies"),
        ("clients", "companies"),
        ("meeting notes", "meetings"),
        ("1-on-1s", "meetings"),
        ("project", "projects"),
        ("Side Projects", "projects"),
        ("Daily Notes", "journal"),
        ("diary", "journal"),
        ("log", "journal"),
        ("places", "places"),
        ("Trips", "places"),
        ("ideas", "ideas"),
        ("someday", "ideas"),
        ("refs", "resources"),
        ("Reading", "resources"),
        ("books", "resources"),
        ("bookmarks", "resources"),
        ("til", "resources"),
        ("how-to", "resources"),
        ("topics", "concepts"),
        ("Zettelkasten", "concepts"),
        ("areas", "areas"),
    ],
)
def test_the_first_folder_names_the_wing(folder: str, name: str) -> None:
    assert wing(f"{folder}/page.md") == Placement(name, f"first folder '{folder}'")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("01 People", "people"),
        ("1-projects", "projects"),
        ("02_areas", "areas"),
        ("30. Resources", "resources"),
        ("10-19 Meetings", "meetings"),
        ("📓 Journal", "journal"),
    ],
)
def test_a_numbered_or_decorated_folder_is_the_same_folder(folder: str, name: str) -> None:
    assert wing(f"{folder}/sub/page.md") == Placement(name, f"first folder '{folder}'")


def test_the_folder_comes_before_type_and_tags() -> None:
    assert wing("people/river.md", "meeting", type="company").name == "people"


@pytest.mark.parametrize(
    ("kind", "name"),
    [("Person", "people"), ("organisation", "companies"), ("recipe", "resources")],
)
def test_the_type_decides_if_the_folder_is_unknown(kind: str, name: str) -> None:
    assert wing("stuff/page.md", "meeting", type=kind) == Placement(name, f"type '{kind}'")


def test_tags_decide_if_folder_and_type_are_unknown() -> None:
    assert wing("stuff/page.md", "meeting", type="draft") == Placement("meetings", "tag 'meeting'")
    assert wing("stuff/page.md", "blue", type="draft") == Placement(*GENERAL)


def test_the_first_known_type_in_a_list_decides() -> None:
    assert wing("page.md", type=[7, "draft", "project"]) == Placement("projects", "type 'project'")


def test_the_order_of_tags_does_not_matter() -> None:
    assert wing("page.md", "blue", "company") == Placement("companies", "tag 'company'")
    assert wing("page.md", "idea", "person/friend") == Placement("people", "tag 'person/friend'")
    assert wing("page.md", "person/friend", "idea") == Placement("people", "tag 'person/friend'")


@pytest.mark.parametrize("subject", ["startups", "log", "family", "travel", "reading"])
def test_ambiguous_words_count_as_folders_but_not_as_tags(subject: str) -> None:
    assert wing("page.md", subject).name == "general"
    assert wing(f"{subject}/page.md").name != "general"


def test_a_deeper_folder_counts_after_tags() -> None:
    assert wing("archive/people/alice.md") == Placement("people", "folder 'people'")
    assert wing("archive/people/alice.md", "company").name == "companies"


@pytest.mark.parametrize(
    ("path", "content", "placed"),
    [
        ("x/a.md", shape(headings=("Sync", "Attendees")), ("meetings", "heading 'Attendees'")),
        ("x/a.md", shape(headings=("1. Agenda:",)), ("meetings", "heading '1. Agenda:'")),
        ("2026-04-03.md", shape(), ("journal", "file name '2026-04-03' is a date")),
        ("2026/2026-W14.md", shape(), ("journal", "file name '2026-W14' is a date")),
        ("20260403 Friday.md", shape(), ("journal", "file name '20260403 Friday' is a date")),
        (
            "2026-04-03",
            shape(headings=("Agenda",)),
            ("journal", "file name '2026-04-03' is a date"),
        ),
        ("a.md", shape(headings=("Bio",)), ("people", "heading 'Bio'")),
        ("a.md", shape(headings=("Team",)), GENERAL),
        (
            "a.md",
            shape(headings=("Team", "Funding")),
            ("companies", "headings 'Team' and 'Funding'"),
        ),
        ("a.md", shape(headings=("Goals", "Risks")), ("projects", "headings 'Goals' and 'Risks'")),
        ("how-to-solder.md", shape(), ("resources", "name says 'how to'")),
        ("show-to-see.md", shape(), GENERAL),
        ("a.md", shape(headings=("Ingredients",)), ("resources", "heading 'Ingredients'")),
        ("sqlite/a.md", shape(lines=20, code_lines=8), ("resources", "8 of 20 lines are code")),
        ("sqlite/a.md", shape(lines=20, code_lines=3), GENERAL),
        ("2026-04-03-trip-to-delft.md", shape(), GENERAL),
        ("1984.md", shape(), GENERAL),
    ],
)
def test_the_shape_decides_last(path: str, content: Shape, placed: tuple[str, str]) -> None:
    assert wing(path, content=content) == Placement(*placed)


def test_front_matter_names_any_wing_or_room() -> None:
    says_so = "front matter says so"
    assert wing("people/a.md", wing="  My Garden ") == Placement("my-garden", says_so)
    assert room(shape(), room="Recipe Box") == Placement("recipe-box", says_so)


@pytest.mark.parametrize("value", [7, None, True, ["people"], {}, "", "  ", "x" * 41, "a\x00b"])
def test_a_long_or_invalid_name_in_front_matter_is_ignored(value: object) -> None:
    assert wing("people/a.md", wing=value) == wing("people/a.md")
    assert room(shape(), room=value) == room(shape())


@pytest.mark.parametrize(
    ("content", "placed"),
    [
        (shape(words=9, lines=1), ("stub", "only 9 words")),
        (shape(words=1, lines=1), ("stub", "only 1 word")),
        (shape(headings=("Participants",)), ("meeting", "heading 'Participants'")),
        (shape(headings=("Action items",)), ("meeting", "heading 'Action items'")),
        (shape(headings=("Ada", "Role")), ("profile", "heading 'Role'")),
        (
            shape(headings=("Acme", "Products", "Customers")),
            ("profile", "headings 'Products' and 'Customers'"),
        ),
        (shape(headings=("Goal", "Status")), ("plan", "headings 'Goal' and 'Status'")),
        (shape(lines=9, tasks=6, bullets=6), ("tasks", "6 of 9 text lines are tasks")),
        (
            shape(lines=14, headings=("Life", "Timeline"), entries=9),
            ("timeline", "9 of 12 text lines are dated entries"),
        ),
        (shape(lines=9, bullets=8, links=8), ("index", "8 links in 9 text lines and 60 words")),
        (shape(headings=("Method",)), ("how-to", "heading 'Method'")),
        (shape(lines=9, code_lines=6), ("snippet", "6 code lines and 3 text lines")),
        (
            shape(lines=30, headings=("A", "B", "C", "D", "E", "F", "G", "H")),
            ("reference", "8 headings over 22 text lines"),
        ),
        (
            shape(lines=9, bullets=4, ordered=4),
            ("how-to", "4 of 9 text lines are numbered steps"),
        ),
        (shape(words=300, lines=40, code_lines=8), ("how-to", "8 of 40 lines are code")),
        (shape(lines=14, bullets=12), ("list", "12 of 14 text lines are list items")),
        (shape(words=640, bullets=1), ("essay", "640 words, 1 list item")),
        (shape(), ("note", "60 words in 10 lines, no clearer shape")),
    ],
)
def test_the_room_is_the_shape_of_the_content(content: Shape, placed: tuple[str, str]) -> None:
    assert room(content) == Placement(*placed)


def test_titles_and_file_names_decide_the_room_too() -> None:
    day = room(shape(), path="log/2026-11-14.md", title="Saturday")
    assert day == Placement("journal", "file name '2026-11-14' is a date")
    how = room(shape(), title="How to bleed a diesel pump")
    assert how == Placement("how-to", "name says 'how to'")
    sheet = room(shape(), title="Regex cheat sheet")
    assert sheet == Placement("reference", "name says 'cheat sheet'")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("person", "profile"),
        ("Company", "profile"),
        ("meeting", "meeting"),
        ("daily", "journal"),
        ("MOC", "index"),
        ("recipe", "how-to"),
        ("checklist", "tasks"),
        ("essay", "essay"),
    ],
)
def test_a_known_type_comes_before_the_rules_for_rooms(kind: str, name: str) -> None:
    assert room(shape(lines=9, code_lines=6), type=kind) == Placement(name, f"type '{kind}'")


def test_an_almost_empty_page_is_a_stub_of_any_type() -> None:
    assert room(shape(words=4, lines=1), type="person") == Placement("stub", "only 4 words")


def test_a_short_page_with_code_or_links_is_not_a_stub() -> None:
    assert room(shape(words=5, lines=4, code_lines=3)).name == "snippet"
    assert room(shape(words=9, lines=3, entries=3)).name == "timeline"


def test_long_paragraphs_full_of_links_are_not_an_index() -> None:
    assert room(shape(words=600, lines=10, links=12)).name == "essay"


def test_a_long_name_is_cut_in_the_reason() -> None:
    folder = "-" * 50 + "people"
    assert wing(f"{folder}/a.md") == Placement("people", f"first folder '{'-' * 39}…'")


counts = st.integers(min_value=0, max_value=10**7)
texts = st.text(max_size=30)
shapes = st.builds(
    Shape,
    words=counts,
    lines=counts,
    headings=st.lists(texts, max_size=5).map(tuple),
    bullets=counts,
    tasks=counts,
    ordered=counts,
    code_lines=counts,
    entries=counts,
    links=counts,
)
values = st.one_of(texts, st.none(), st.integers(), st.lists(texts, max_size=3))
fronts = st.dictionaries(st.sampled_from(["wing", "room", "type"]), values)


@given(texts, texts, fronts, st.sets(texts, max_size=4), shapes)
def test_any_page_has_a_short_name_and_a_one_line_reason(
    path: str, title: str, front: dict[str, object], tags: set[str], content: Shape
) -> None:
    for placed in (
        classify_wing(path, front, tags, content),
        classify_room(path, title, front, content),
    ):
        assert 0 < len(placed.name) <= MAX_NAME_CHARACTERS
        assert placed.name == "-".join(placed.name.lower().split())
        assert placed.reason
        assert len(placed.reason.splitlines()) == 1
