"""The tools called directly, without the protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gbrain.brain import Brain
from gbrain.config import override_settings
from gbrain.mcp.arguments import check_arguments
from gbrain.mcp.reply import Reply
from gbrain.mcp.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.fixture
def notes(sample: Path):
    with Brain.open(sample) as brain:
        yield brain


def called(brain: Brain, name: str, /, **arguments: Any) -> Reply:
    """Return the reply of a tool, checked against its output schema."""
    tool = BY_NAME[name]
    reply = tool.run(brain, check_arguments(tool.input_schema, arguments))
    jsonschema.validate(reply.document, tool.output_schema)
    return reply


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_every_argument_has_a_description(tool) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
    assert tool.description.endswith(".")
    assert tool.input_schema["properties"] or tool.name == "brain_stats"
    assert all(schema["description"] for schema in tool.input_schema["properties"].values())


def test_names_of_tools_are_unique() -> None:
    assert len(BY_NAME) == len(TOOLS)


# --- asking ----------------------------------------------------------------------------------


def test_the_setting_default_limit_is_bounded(notes: Brain) -> None:
    for number in range(120):
        notes.put(f"many/{number}", f"# Heron {number}\n".encode())
    notes.set("default_limit", "1000")
    notes.set("candidate_pool", "1000")
    with Brain.open(notes.database.path) as brain:
        assert len(called(brain, "brain_search", query="heron").document["results"]) == 100


def test_filters_narrow_an_answer(notes: Brain) -> None:
    found = called(notes, "brain_search", query="backup", wing="resources").document["results"]
    assert {hit["wing"] for hit in found} == {"resources"}
    assert called(notes, "brain_search", query="backup", where={"no": "page"}).text.startswith(
        "Nothing found."
    )


def test_context_stays_within_its_budget(notes: Brain) -> None:
    reply = called(notes, "memory_ask", query="how do I restore a backup?", budget=150)
    assert 0 < reply.document["budget"]["used"] <= 150
    assert reply.document["context"]
    assert all(chunk["citation"] in reply.text for chunk in reply.document["context"])


def test_why_not_recommends_arguments_of_the_tool(notes: Brain) -> None:
    reply = called(notes, "brain_explain", query="backup", why_not="index", limit=1)
    assert reply.document["why_not"]["slug"] == "index"
    assert reply.text.startswith("index: ")
    reply = called(notes, "brain_explain", query="notes", why_not="projects/home-backup", limit=1)
    assert "Ask with limit " in reply.text


def test_explain_recommends_switches_as_arguments(notes: Brain) -> None:
    before = notes.settings
    notes.settings = override_settings(before, {"recency_tau_days": "1", "recency_of": "dated"})
    asked = {"query": "field notebook tablets", "why_not": "projects/field-notebook", "limit": 1}
    try:
        assert "Ask with no_decay, or with limit " in called(notes, "brain_explain", **asked).text
        kept = called(notes, "brain_explain", **asked, no_decay=True, include_superseded=True)
        assert kept.document["why_not"]["stage"] == "shown"
    finally:
        notes.settings = before


@pytest.mark.parametrize(
    "name", ["people/alice-chen", "Alice Chen", "ally", "[[people/alice-chen]]"]
)
def test_a_page_is_recalled_by_any_of_its_names(notes: Brain, name: str) -> None:
    document = called(notes, "memory_recall", name=name).document
    assert document["page"]["slug"] == "people/alice-chen"


@pytest.mark.parametrize("name", ["restoring a copy", "???", "../.."])
def test_recall_queries_for_text_that_is_no_name(notes: Brain, name: str) -> None:
    document = called(notes, "memory_recall", name=name).document
    assert document["page"] is None
    assert document["answer"]["query"] == name


# --- pages -----------------------------------------------------------------------------------


def test_a_long_page_is_read_in_ranges(notes: Brain) -> None:
    text = "# Long\n\n" + "A line of the long page.\n" * 2000
    notes.put("long", text.encode())
    parts, offset = [], 0
    while offset is not None:
        document = called(notes, "brain_get", slug="long", offset=offset).document
        parts.append(document["text"])
        offset = document["next_offset"]
    assert len(parts) == 3
    assert "".join(parts) == text
    assert document["characters"] == len(text)


def test_the_lines_of_a_hit_can_be_read(notes: Brain) -> None:
    hit = called(notes, "brain_search", query='"restore test"').document["results"][0]
    first, last = hit["chunk"]["lines"]
    part = called(notes, "brain_get", slug=hit["slug"], first_line=first, last_line=last)
    assert "restore test" in part.document["text"]
    assert len(part.text.splitlines()) == last - first + 1


def test_an_earlier_version_can_be_read(notes: Brain) -> None:
    notes.put("a", b"one\n")
    notes.put("a", b"two\n")
    assert called(notes, "brain_get", slug="a", version=1).text == "one\n"


def test_long_front_matter_is_cut_with_a_note(notes: Brain) -> None:
    values = "".join(f"key{number}: {number}\n" for number in range(500))
    notes.put("a", f"---\n{values}---\n# A\n".encode())
    document = called(notes, "brain_get", slug="a", limit=10).document
    assert document["truncated"] == ["front_matter: 100 of 500 entries"]
    assert len(document["text"]) == 10


def test_a_page_that_an_agent_reads_was_not_opened(notes: Brain) -> None:
    called(notes, "brain_get", slug="index")
    called(notes, "memory_recall", name="alice chen")
    with notes.database.read_transaction() as connection:
        assert connection.execute("SELECT * FROM page_use").fetchall() == []


def test_why_shows_the_way_back_from_a_page(notes: Brain) -> None:
    notes.put("talk", b"# Talk\n")
    notes.put("draft", b"---\nderives_from: talk\n---\n# Draft\n")
    notes.put("plan", b"---\nderives_from: draft\n---\n# Plan\n")
    reply = called(notes, "brain_why", slug="plan")
    (draft,) = reply.document["causes"]
    assert (draft["kind"], draft["slug"]) == ("derived_from", "draft")
    assert [cause["slug"] for cause in draft["causes"]] == ["talk"]
    assert reply.text.splitlines()[1:] == [
        "  derived_from  draft  Draft",
        "    derived_from  talk  Talk",
    ]
    assert called(notes, "brain_why", slug="plan", depth=1).document["causes"][0]["causes"] == []
    assert called(notes, "brain_why", slug="talk").text.endswith("no page links to it.")


def test_put_names_a_page_that_says_nearly_the_same(notes: Brain) -> None:
    text = notes.text("resources/back-up-a-sqlite-database")
    reply = called(notes, "brain_put", slug="copy", content=text)
    assert reply.document["nearly_the_same"]["slug"] == "resources/back-up-a-sqlite-database"
    assert reply.text.endswith("It says nearly the same as resources/back-up-a-sqlite-database.")


def test_pages_are_listed_in_ranges(notes: Brain) -> None:
    slugs, offset = [], 0
    while offset is not None:
        document = called(notes, "brain_list", limit=7, offset=offset).document
        slugs += [page["slug"] for page in document["pages"]]
        offset = document["next_offset"]
    assert slugs == [page.slug for page in notes.list()[0]]
    assert called(notes, "brain_list", offset=1000).document["pages"] == []


def test_a_page_that_an_agent_writes_is_written_to_its_file(brain: Brain, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    file = folder / "a.md"
    file.write_bytes(b"# A\r\n\r\none\r\n")
    brain.allow_writing(folder)
    brain.import_folder(folder)
    written = called(brain, "brain_put", slug="a", content="# A\n\ntwo\n")
    assert written.document["file"] == {"path": str(file), "outcome": "written", "message": None}
    assert file.read_bytes() == b"# A\r\n\r\ntwo\r\n"
    called(brain, "brain_timeline_add", slug="a", text="Met Bo")
    assert b"Met Bo\r\n" in file.read_bytes()
    called(brain, "brain_put", slug="new", content="# New\n")
    assert (folder / "new.md").read_text() == "# New\n"
    file.write_text("# Changed in Obsidian\n")
    refused = called(brain, "brain_put", slug="a", content="# Changed by an agent\n")
    assert refused.document["file"]["outcome"] == "conflict"
    assert "gbrain resolve a" in refused.text


def test_links_go_both_ways_and_are_cut_with_a_note(notes: Brain) -> None:
    document = called(notes, "brain_links", slug="people/alice-chen", limit=2).document
    assert [link["slug"] for link in document["links"]] == [
        "companies/river-ai", "companies/river-ai",
    ]  # fmt: skip
    assert [link["slug"] for link in document["backlinks"]] == ["companies/river-ai", "index"]
    assert [note.split()[0] for note in document["truncated"]] == ["links:", "backlinks:"]


def test_a_timeline_says_what_each_entry_is(notes: Brain) -> None:
    notes.put("journal/2026-11-14", b"Rain.\n\n## Log\n- 2026-11-12 Soup\n")
    document = called(notes, "brain_timeline", since="2026-11-10", limit=5).document
    assert [(entry["kind"], entry["text"]) for entry in document["entries"]] == [
        ("page", "Rain."), ("list", "Soup"),
    ]  # fmt: skip
    assert document["total"] == 2


def test_a_write_is_undone_and_done_again(notes: Brain) -> None:
    before = notes.text("people/noor-haddad")
    called(notes, "brain_put", slug="people/noor-haddad", content="other\n")
    undone = called(notes, "brain_undo", slug="Noor Haddad").document
    assert (undone["outcome"], undone["version"], undone["restored_version"]) == ("updated", 3, 1)
    assert notes.text("people/noor-haddad") == before
    called(notes, "brain_undo", slug="people/noor-haddad", redo=True)
    assert notes.text("people/noor-haddad") == "other\n"


def test_a_task_is_listed_and_ticked(notes: Brain) -> None:
    called(notes, "brain_put", slug="lists/errands", content="- [ ] Post the letter @2026-11-15\n")
    listed = called(notes, "brain_tasks", slug="errands").document["tasks"]
    assert [(task["text"], task["due"]) for task in listed] == [("Post the letter", "2026-11-15")]
    day = called(notes, "brain_today").document
    assert [task["number"] for task in day["overdue"]] == [listed[0]["number"]]
    ticked = called(notes, "brain_done", number=listed[0]["number"]).document
    assert (ticked["slug"], ticked["outcome"]) == ("lists/errands", "updated")
    assert notes.text("lists/errands") == "- [x] Post the letter @2026-11-15\n"
    assert called(notes, "brain_tasks", slug="errands").document["total"] == 0


def test_an_entry_is_added_once(notes: Brain) -> None:
    entry = {"slug": "people/alice-chen", "text": "Moved", "date": "yesterday", "source": "letter"}
    first = called(notes, "brain_timeline_add", **entry).document
    assert first.pop("file")["outcome"] == "behind"
    assert first == {
        "slug": "people/alice-chen", "version": 2, "outcome": "updated", "date": "2026-11-15",
    }  # fmt: skip
    assert called(notes, "brain_timeline_add", **entry).document["outcome"] == "unchanged"
    assert "- **2026-11-15** | letter — Moved" in notes.text("people/alice-chen")
