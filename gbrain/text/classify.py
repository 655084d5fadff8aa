"""Classify a page by wing (what it is about) and room (the kind of text), each with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from gbrain.messages import plural


@dataclass(frozen=True, slots=True)
class Shape:
    """Counts that describe the text of a page; `lines` are its non-blank lines of any kind."""

    words: int
    lines: int
    headings: tuple[str, ...]  # heading texts, in order, including the title
    bullets: int  # unordered top-level list items of the compiled truth, tasks included
    tasks: int  # '- [ ]' and '- [x]' items
    ordered: int  # ordered top-level items
    code_lines: int  # non-blank lines of code blocks, their fences included
    entries: int  # dated timeline entries
    links: int  # links to pages or the web


@dataclass(frozen=True, slots=True)
class Placement:
    """The name of a wing or room, and a short reason that a person can check."""

    name: str
    reason: str


# A longer `wing` or `room` in front matter is a sentence, not a name.
MAX_NAME_CHARACTERS = 40
MAX_FOLDERS = 4
MAX_HEADINGS = 100
# Every heading in the tables below is shorter.
MAX_KNOWN_HEADING_CHARACTERS = 24


def _invert(table: Mapping[str, str]) -> dict[str, str]:
    return {name: group for group, names in table.items() for name in names.split()}


# Folders, types and tags of each wing, without spaces and dashes.
_WINGS = {
    "people": "person people persons contact contacts",
    "companies": """company companies organisation organisations organization organizations
        org orgs startup firm firms""",
    "meetings": """meeting meetings meetingnote meetingnotes minutes 1on1 1on1s oneonone
        oneonones standup standups""",
    "projects": "project projects initiative initiatives",
    "journal": "journal journals diary daily dailies dailynote dailynotes weeklynote weeklynotes",
    "places": "place places location locations venue venues restaurant restaurants",
    "ideas": "idea ideas brainstorm brainstorms",
    "resources": """resource resources reference references ref book books article articles
        bookmark bookmarks paper til howto howtos tutorial tutorials recipe recipes cheatsheet
        cheatsheets snippet snippets runbook runbooks readinglist""",
    "concepts": "concept concepts topic topics zettel definition definitions mentalmodels",
    "areas": "area areas",
}
# Folders of each wing; as a tag, these words are as often a subject ('startups', 'log').
_WING_FOLDERS = {
    "people": "team teams staff family friends colleagues coworkers crm profiles",
    "companies": """startups business businesses client clients customer customers vendor
        vendors supplier suppliers partners competitors employers""",
    "meetings": "call calls interviews agendas retros",
    "projects": "sideprojects epics campaigns",
    "journal": "diaries log logs logbook worklog weekly weeklies monthly periodicnotes days",
    "places": "city cities country countries travel trips",
    "ideas": "someday sparks",
    "resources": """refs reading papers source sources literature literaturenotes guide guides
        manual manuals docs documentation clippings links podcasts videos courses library""",
    "concepts": """zettels zettelkasten evergreen evergreens evergreennotes permanentnotes
        atomicnotes slipbox knowledge theory glossary principles""",
    "areas": "responsibilities areasofresponsibility",
}
_ROOM_TYPES = {
    "profile": "person people contact company organisation organization org startup firm",
    "meeting": "meeting meetings meetingnote meetingnotes minutes 1on1 oneonone standup",
    "journal": "journal diary daily dailynote weeklynote",
    "index": "index moc mapofcontent hub",
    "how-to": "howto guide tutorial recipe runbook",
    "snippet": "snippet",
    "reference": "reference cheatsheet glossary definition",
    "tasks": "tasks tasklist todo todos checklist",
    "list": "list",
    "essay": "essay",
    "timeline": "timeline",
}
# Groups of headings that reveal what a page is; some groups need two headings.
_HEADINGS = {
    "attendance": "attendees attendants participants minutes meetingnotes whowasthere",
    "agenda": "agenda actionitems",
    "person": "role bio biography email contactdetails contactinfo howwemet birthday",
    "company": """founders funding investors headquarters products customers competitors team
        whattheydo whatitdoes businessmodel""",
    "project": "goal goals status milestones deliverables roadmap nextsteps scope risks",
    "steps": "steps step1 instructions directions method ingredients prerequisites installation",
}

_WING_OF_NAME = _invert(_WINGS)
_WING_OF_FOLDER = _WING_OF_NAME | _invert(_WING_FOLDERS)
_ROOM_OF_TYPE = _invert(_ROOM_TYPES)
_GROUP_OF_HEADING = _invert(_HEADINGS)
_WING_ORDER = tuple(_WINGS)

_NOT_WORD = re.compile(r"[\W_]+")
_DATE_NAME = re.compile(
    r"(?:19|20)[0-9]{2}([-_. ]?)(?:[01][0-9](?:\1[0-3][0-9])?|w[0-5][0-9]|q[1-4])"
    r"(?:[-_. ]+(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6})?",
    re.IGNORECASE,
)


def classify_wing(
    path: str, front: Mapping[str, object], tags: Collection[str], shape: Shape
) -> Placement:
    """Return the wing of the page at `path` (a path or slug with '/' between folders).

    The first of these that is known decides: `wing` in front matter, the first folder, the type,
    the tags, the other folders, the shape.
    """
    if given := _name_from_front_matter(front.get("wing")):
        return Placement(given, "front matter says so")
    folders = path.split("/", MAX_FOLDERS)[:-1]
    if folders and (wing := wing_of_folder(folders[0])):
        return Placement(wing, f"first folder {_quote(folders[0])}")
    for kind in _strings(front.get("type")):
        if wing := _look_up(kind, _WING_OF_NAME):
            return Placement(wing, f"type {_quote(kind)}")
    if tags and (tagged := _wing_of_tags(tags)):
        return tagged
    for folder in folders[1:]:
        if wing := _look_up(folder, _WING_OF_FOLDER):
            return Placement(wing, f"folder {_quote(folder)}")
    page = _PageFeatures(path, "", shape)
    for name, rule in _WING_RULES:
        if reason := rule(page):
            return Placement(name, reason)
    return Placement("general", "no folder, type, tag or shape says more")


def wing_of_folder(name: str) -> str | None:
    """Return the wing of pages below a first folder that do not name one; None if it gives none."""
    return _look_up(name, _WING_OF_FOLDER)


def classify_room(path: str, title: str, front: Mapping[str, object], shape: Shape) -> Placement:
    """Return the room of a page: `room` in front matter, else the first rule that applies.

    A known type ('person' means profile) comes before the rules, unless the page is a stub.
    """
    if given := _name_from_front_matter(front.get("room")):
        return Placement(given, "front matter says so")
    page = _PageFeatures(path, title, shape)
    if reason := _is_stub(page):
        return Placement("stub", reason)
    for kind in _strings(front.get("type")):
        if room := _look_up(kind, _ROOM_OF_TYPE):
            return Placement(room, f"type {_quote(kind)}")
    for name, rule in _ROOM_RULES:
        if reason := rule(page):
            return Placement(name, reason)
    words, lines = _count(shape.words, "word"), _count(shape.lines, "line")
    return Placement("note", f"{words} in {lines}, no clearer shape")


def _name_from_front_matter(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    name = "-".join(value.lower().split())
    return name if len(name) <= MAX_NAME_CHARACTERS and name.isprintable() else None


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, str))


def _look_up(name: str, table: Mapping[str, str]) -> str | None:
    """Look up a name, ignoring case, spaces, punctuation and a leading number ('01 People')."""
    bare = _NOT_WORD.sub("", name).lower()
    return table.get(bare) or table.get(bare.lstrip("0123456789"))


def _wing_of_tags(tags: Collection[str]) -> Placement | None:
    """Return the wing of the tags; of several, the one that comes first in the table."""
    found = [
        (_WING_ORDER.index(wing), tag, wing)
        for tag in tags
        for part in tag.split("/", MAX_FOLDERS)
        if (wing := _look_up(part, _WING_OF_NAME))
    ]
    if not found:
        return None
    _, tag, wing = min(found)
    return Placement(wing, f"tag {_quote(tag)}")


def _quote(text: str) -> str:
    text = " ".join(text.split())
    return (
        f"'{text}'" if len(text) <= MAX_NAME_CHARACTERS else f"'{text[: MAX_NAME_CHARACTERS - 1]}…'"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {plural(number, noun)}"


class _PageFeatures:
    """The properties of a page that the rules use."""

    __slots__ = ("file_name", "known_headings", "shape", "text_lines", "title")

    def __init__(self, path: str, title: str, shape: Shape) -> None:
        file_name = path.rpartition("/")[2]
        self.file_name = file_name[:-3] if file_name[-3:].lower() == ".md" else file_name
        self.title = f" {(title or self.file_name).lower().replace('-', ' ')} "
        self.shape = shape
        self.text_lines = max(0, shape.lines - shape.code_lines - len(shape.headings))
        self.known_headings: dict[str, list[str]] = {}  # group of _HEADINGS -> headings as written
        for heading in shape.headings[:MAX_HEADINGS]:
            if len(heading) <= MAX_KNOWN_HEADING_CHARACTERS and (
                group := _look_up(heading, _GROUP_OF_HEADING)
            ):
                self.known_headings.setdefault(group, []).append(heading)


# Returns the reason why the rule applies, or None.
_Rule = Callable[[_PageFeatures], str | None]


def _has_heading(group: str, at_least: int = 1) -> _Rule:
    """Return a rule for pages with enough headings of a group."""

    def rule(page: _PageFeatures) -> str | None:
        found = page.known_headings.get(group, ())
        if len(found) < at_least:
            return None
        named = " and ".join(_quote(heading) for heading in found[:at_least])
        return f"{plural(at_least, 'heading')} {named}"

    return rule


def _title_contains(*phrases: str) -> _Rule:
    """Return a rule for pages whose title contains one of the phrases."""

    def rule(page: _PageFeatures) -> str | None:
        for phrase in phrases:
            if f" {phrase} " in page.title:
                return f"name says '{phrase}'"
        return None

    return rule


def _is_mostly(what: str, count: Callable[[Shape], int], percent: int) -> _Rule:
    """Return a rule for pages where at least 3 and `percent` of the text lines are of one kind."""

    def rule(page: _PageFeatures) -> str | None:
        number, lines = count(page.shape), page.text_lines
        if number < 3 or number * 100 < lines * percent:
            return None
        return f"{number} of {lines} text lines are {what}"

    return rule


def _is_stub(page: _PageFeatures) -> str | None:
    shape = page.shape
    has_shape = shape.entries or shape.code_lines or shape.tasks or shape.links > 2
    return None if shape.words > 15 or has_shape else f"only {_count(shape.words, 'word')}"


def _is_named_by_date(page: _PageFeatures) -> str | None:
    if _DATE_NAME.fullmatch(page.file_name):
        return f"file name {_quote(page.file_name)} is a date"
    return None


def _is_mostly_links(page: _PageFeatures) -> str | None:
    links, words, lines = page.shape.links, page.shape.words, page.text_lines
    if links < 5 or links * 5 < lines * 3 or words > links * 20 or page.shape.code_lines:
        return None
    return f"{links} links in {_count(lines, 'text line')} and {words} words"


def _is_mostly_code(page: _PageFeatures) -> str | None:
    code, lines = page.shape.code_lines, page.text_lines
    if not code or lines > 5 or code < lines or len(page.shape.headings) > 2:
        return None
    return f"{_count(code, 'code line')} and {_count(lines, 'text line')}"


def _has_code(page: _PageFeatures) -> str | None:
    code, lines = page.shape.code_lines, page.shape.lines
    return f"{code} of {lines} lines are code" if code and code * 6 >= lines else None


def _has_many_short_sections(page: _PageFeatures) -> str | None:
    headings, lines = len(page.shape.headings), page.text_lines
    if headings < 8 or lines > headings * 4:
        return None
    return f"{headings} headings over {_count(lines, 'text line')}"


def _is_long_prose(page: _PageFeatures) -> str | None:
    words, items = page.shape.words, page.shape.bullets
    if words < 200 or words < items * 25:
        return None
    return f"{words} words, {_count(items, 'list item')}"


_WING_RULES: tuple[tuple[str, _Rule], ...] = (
    ("meetings", _has_heading("attendance")),
    ("journal", _is_named_by_date),
    ("meetings", _has_heading("agenda")),
    ("people", _has_heading("person")),
    ("companies", _has_heading("company", 2)),
    ("projects", _has_heading("project", 2)),
    ("resources", _title_contains("how to", "howto", "cheat sheet", "cheatsheet")),
    ("resources", _has_heading("steps")),
    ("resources", _has_code),
)

_ROOM_RULES: tuple[tuple[str, _Rule], ...] = (
    ("meeting", _has_heading("attendance")),
    ("journal", _is_named_by_date),
    ("meeting", _has_heading("agenda")),
    ("profile", _has_heading("person")),
    ("profile", _has_heading("company", 2)),
    ("plan", _has_heading("project", 2)),
    ("tasks", _is_mostly("tasks", lambda shape: shape.tasks, 50)),
    ("timeline", _is_mostly("dated entries", lambda shape: shape.entries, 50)),
    ("index", _is_mostly_links),
    ("how-to", _title_contains("how to", "howto")),
    ("reference", _title_contains("cheat sheet", "cheatsheet", "reference", "glossary")),
    ("how-to", _has_heading("steps")),
    ("snippet", _is_mostly_code),
    ("reference", _has_many_short_sections),
    ("how-to", _is_mostly("numbered steps", lambda shape: shape.ordered, 35)),
    ("how-to", _has_code),
    ("list", _is_mostly("list items", lambda shape: shape.bullets, 60)),
    ("essay", _is_long_prose),
)
