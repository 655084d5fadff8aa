"""Filters: each means one thing, in a list, for pages and for passages alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gbrain.brain import Brain
from gbrain.types import Scope

PAGES = {
    "people/alice": "---\ntype: Person\ntags: [Founder]\nstatus: active\nage: 40\n---\n# A river\n",
    "people/bob": "---\ntype: person\ntags: [founder, chef]\non: true\nratio: 1.5\n---\nB, river\n",
    "companies/river-ai": "---\ndate: 2026-04\nteam: [al, bob]\nwhere:\n  city: Oslo\n---\nRiver\n",
    "journal/2026-04-03": "# Walk by the river\n",
    "meetings/long": "# Long\n\n---\n## Timeline\n- 2026-05-02 — river one\n- 2025 — river two\n",
    "100%_odd": "# Odd river\n",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    with Brain.open(tmp_path_factory.mktemp("scope") / "brain.db", make=True) as brain:
        for name, text in PAGES.items():
            brain.put(name, text.encode())
        yield brain


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
def test_a_filter_lets_the_same_pages_through_everywhere(
    filled: Brain, scope: Scope, slugs: set[str]
) -> None:
    assert {page.slug for page in filled.list(scope)[0]} == slugs
    assert {hit.slug for hit in filled.search("river walk", scope=scope).hits} == slugs


def test_a_flag_in_front_matter_is_found_by_the_word_it_was_written_with(filled: Brain) -> None:
    assert [p.slug for p in filled.list(Scope(where=(("on", "true"),)))[0]] == ["people/bob"]


def test_a_passage_is_judged_by_its_own_date(filled: Brain) -> None:
    hit = filled.search("river", scope=Scope(since="2026-05-01")).hits[0]
    assert hit.chunk is not None
    assert hit.chunk.date == "2026-05-02"


def test_an_empty_scope_is_no_scope() -> None:
    assert Scope().unlimited
    assert not Scope(exclude=("a",)).unlimited
