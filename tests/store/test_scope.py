"""Filters, fields and NOT select the same pages in a list and in a search."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.store.scope import (
    chunk_row_condition,
    pages_in_scope,
    scope_has_more_than,
    select_pages,
)
from gbrain.text.query import parse_query
from gbrain.types import Scope

PAGES = {
    "people/alice": "---\ntype: Person\ntags: [Founder]\nstatus: active\nage: 40\n---\n# A river\n",
    "people/bob": "---\ntype: person\ntags: [founder, chef]\non: true\nratio: 1.5\n---\nB, river\n",
    "companies/river-ai": "---\ndate: 2026-04\nteam: [al, bob]\nwhere:\n  city: Oslo\n---\nRiver\n",
    "journal/2026-04-03": "# Walk by the river\n",
    "meetings/long": "# Long\n\n---\n## Timeline\n- 2026-05-02 — river one\n- 2025 — river two\n",
    "100%_odd": "# Odd river\n",
}


TREE_PAGES = {
    "people/alice": "---\ntype: Person\ntags: [founder, big idea]\n---\n# Alice\n\nriver boats\n",
    "people/bob": "---\ntags: [chef]\n---\n# Bob by the river\n\nclouds and k8s\n",
    "notes/old": "---\ndate: 2023-05-01\n---\n# Old\n\nauth and middleware, kubernetes\n",
    "notes/new": "# New\n\nauth-middleware\n\n---\n## Timeline\n- 2026-04-03 — river again\n",
    "notes/chinese": "# 笔记\n\n我的知识库在这里。\n",
}


@pytest.fixture(scope="module")
def tagged(make_brain: Callable[..., Brain]) -> Brain:
    """A brain for queries with fields and NOT."""
    return make_brain(TREE_PAGES)


@pytest.mark.parametrize(
    ("scope", "slugs"),
    [
        (Scope(wing="people"), {"people/alice", "people/bob"}),
        (Scope(type="PERSON"), {"people/alice", "people/bob"}),
        (Scope(tags=("founder",)), {"people/alice", "people/bob"}),
        (Scope(tags=("founder", "chef")), {"people/bob"}),
        (Scope(slug_prefix="people/"), {"people/alice", "people/bob"}),
        (Scope(slug_prefix="100_"), set()),
        (Scope(slug_prefix="%"), set()),
        (Scope(where=(("status", "ACTIVE"),)), {"people/alice"}),
        (Scope(where=(("age", "40"),)), {"people/alice"}),
        (Scope(where=(("ratio", "1.5"),)), {"people/bob"}),
        (Scope(where=(("team", "bob"),)), {"companies/river-ai"}),
        (Scope(where=(("where.city", "oslo"),)), {"companies/river-ai"}),
        (Scope(where=(("no", "x"),)), set()),
        (Scope(where=(('a"b\\', "x"),)), set()),
        (Scope(where=((".", "x"),)), set()),
        (Scope(where=(("$[0]", "x"),)), set()),
        (
            Scope(since="2026-04-03", until="2026-04-03"),
            {"companies/river-ai", "journal/2026-04-03"},
        ),
        (Scope(since="2026-05-01"), {"meetings/long"}),
        (Scope(until="2025-12-31"), {"meetings/long"}),
        (Scope(wing="people", exclude=("people/bob",)), {"people/alice"}),
    ],
)
def test_a_filter_selects_the_same_pages_in_list_and_search(
    filled: Brain, scope: Scope, slugs: set[str]
) -> None:
    assert {page.slug for page in filled.list(scope)[0]} == slugs
    assert {hit.slug for hit in filled.search("river walk", scope=scope).hits} == slugs
    with filled.database.read_transaction() as connection:
        names = dict(connection.execute("SELECT id, slug FROM pages").fetchall())
        assert {names[page_id] for page_id in pages_in_scope(connection, names, scope)} == slugs
        assert not scope_has_more_than(connection, scope, len(slugs))
        assert not slugs or scope_has_more_than(connection, scope, len(slugs) - 1)


COMBINED = [
    Scope(),
    Scope(tags=("founder",)),
    Scope(tags=("founder", "chef")),
    Scope(tags=("founder",), type="person"),
    Scope(since="2026-04-01", until="2026-04-30"),
    Scope(since="2025-06-01", wing="meetings"),
    Scope(until="2026-04-03", tags=("founder",)),
    Scope(periods=(("2026-04-01", "2026-04-30"),), exclude=("journal/2026-04-03",)),
    Scope(since="2026-04-01", slug_prefix="companies/"),
    Scope(where=(("status", "active"),)),
]


@pytest.mark.parametrize("scope", COMBINED)
def test_pages_with_chunks_in_scope_are_those_of_the_list(filled: Brain, scope: Scope) -> None:
    with filled.database.read_transaction() as connection:
        listed, row = select_pages(scope), chunk_row_condition(scope)
        by_row = f"SELECT DISTINCT page_id FROM chunks WHERE {row.sql}"
        found = sorted(connection.execute(by_row, row.values).fetchall())
        assert found == sorted(set(connection.execute(listed.sql, listed.values).fetchall()))
        pages = len(found)
        assert not scope_has_more_than(connection, scope, pages)
        assert pages == 0 or scope_has_more_than(connection, scope, pages - 1)


def test_a_boolean_in_front_matter_is_matched_as_true(filled: Brain) -> None:
    assert [p.slug for p in filled.list(Scope(where=(("on", "true"),)))[0]] == ["people/bob"]


def test_a_chunk_is_filtered_by_its_own_date(filled: Brain) -> None:
    hit = filled.search("river", scope=Scope(since="2026-05-01")).hits[0]
    assert hit.chunk is not None
    assert hit.chunk.date == "2026-05-02"


def test_an_empty_scope_is_unlimited() -> None:
    assert Scope().unlimited
    assert not Scope(exclude=("a",)).unlimited


def scope_of(text: str) -> Scope:
    return parse_query(text, {"k8s": ("kubernetes",)}, date(2026, 11, 16), Scope(), 10).scope


def allowed(brain: Brain, text: str) -> set[str]:
    return {page.slug.rpartition("/")[2] for page in brain.list(scope_of(text))[0]}


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("NOT river", {"old", "chinese"}),
        ("x NOT (river AND clouds)", {"alice", "new", "old", "chinese"}),
        ("x NOT (river clouds)", {"old", "chinese"}),
        ("NOT riv*", {"old", "chinese"}),
        ('NOT "river again"', {"alice", "bob", "old", "chinese"}),
        ("NOT auth-middleware", {"alice", "bob", "old", "chinese"}),
        ("NOT k8s", {"alice", "new", "chinese"}),
        ("NOT 知识", {"alice", "bob", "old", "new"}),
        ("wing:people", {"alice", "bob"}),
        ("NOT wing:people", {"old", "new", "chinese"}),
        ("type:PERSON", {"alice"}),
        ("NOT type:person", {"bob", "old", "new", "chinese"}),
        ("tag:founder OR tag:chef", {"alice", "bob"}),
        ('tag:"big idea"', {"alice"}),
        ("tag:(founder OR chef) NOT clouds", {"alice"}),
        ("tag:founder OR clouds", {"alice", "bob"}),
        ("(tag:founder clouds) OR tag:chef", {"bob"}),
        ("(tag:founder boats) OR tag:chef", {"alice", "bob"}),
        ("title:river", {"bob"}),
        ("NOT title:river", {"alice", "old", "new", "chinese"}),
        ("title:笔", {"chinese"}),
        ("after:2024", {"new"}),
        ("before:2024", {"old"}),
        ("before:2023-05-01", set()),
        ("before:2023-05-02", {"old"}),
        ("NOT before:2024", {"alice", "bob", "new", "chinese"}),
        ("after:2024 OR tag:chef", {"bob", "new"}),
        ("before:2024 OR title:笔记", {"old", "chinese"}),
        ("room:nowhere", set()),
        ("river OR boats", {"alice", "bob", "old", "new", "chinese"}),
    ],
)
def test_fields_and_not_select_pages(tagged: Brain, text: str, slugs: set[str]) -> None:
    assert allowed(tagged, text) == slugs


WORDS = ["river", "NOT", "(", ")", "tag:chef", "OR", "AND", '"by the"', "知识", "title:river*"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS)).map(" ".join) | st.text())
@example(" OR ".join(["tag:x"] * 400))
@example("NOT (" * 100 + "a")
@example("tag:x OR " + "a" * 10_000 + "'\"--")
@example("NOT ++ OR tag:\x00")
def test_any_query_is_a_scope(tagged: Brain, text: str) -> None:
    assert allowed(tagged, text) <= {name.rpartition("/")[2] for name in TREE_PAGES}
