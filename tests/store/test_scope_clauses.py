"""Fields and NOTs mean what they say, wherever they stand, in a list of pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.text.query import parse_query
from gbrain.types import Scope

PAGES = {
    "people/alice": "---\ntype: Person\ntags: [founder, big idea]\n---\n# Alice\n\nriver boats\n",
    "people/bob": "---\ntags: [chef]\n---\n# Bob by the river\n\nclouds and k8s\n",
    "notes/old": "---\ndate: 2023-05-01\n---\n# Old\n\nauth and middleware, kubernetes\n",
    "notes/new": "# New\n\nauth-middleware\n\n---\n## Timeline\n- 2026-04-03 — river again\n",
    "notes/chinese": "# 笔记\n\n我的知识库在这里。\n",
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    with Brain.open(tmp_path_factory.mktemp("clauses") / "brain.db", make=True) as brain:
        for name, text in PAGES.items():
            brain.put(name, text.encode())
        yield brain


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
def test_a_demand_lets_its_pages_through(filled: Brain, text: str, slugs: set[str]) -> None:
    assert allowed(filled, text) == slugs


WORDS = ["river", "NOT", "(", ")", "tag:chef", "OR", "AND", '"by the"', "知识", "title:river*"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS)).map(" ".join) | st.text())
@example(" OR ".join(["tag:x"] * 400))
@example("NOT (" * 100 + "a")
@example("tag:x OR " + "a" * 10_000 + "'\"--")
@example("NOT ++ OR tag:\x00")
def test_any_query_is_a_scope(filled: Brain, text: str) -> None:
    assert allowed(filled, text) <= {name.rpartition("/")[2] for name in PAGES}
