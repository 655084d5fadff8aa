"""The way back from a page to what led to it."""

from __future__ import annotations

import pytest

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.store.provenance import Origin, trace_provenance


def told(origin: Origin) -> list[object]:
    """A tree as nested lists of kind, name and state."""
    return [
        (each.cause.kind, each.cause.name, each.cause.state, *told(each)) for each in origin.causes
    ]


def why(brain: Brain, slug: str, depth: int = 9, limit: int = 99) -> Origin:
    with brain.database.read_transaction() as connection:
        return trace_provenance(connection, slug, depth, limit)


def test_the_strongest_kinds_come_first(brain: Brain):
    brain.put("z-links", b"see [[plan]]")
    brain.put("old", b"---\nsuperseded_by: plan\n---\n")
    brain.put("talk", b"# Talk")
    brain.put(
        "plan", b"---\nsources: [talk, 'https://example.org/x']\nderived_from: talk-notes\n---\n"
    )
    brain.put("later", b"---\nderived_from: plan\n---\n")
    assert told(why(brain, "plan")) == [
        ("derived_from", "talk-notes", "missing"),
        ("source", "talk", "page"),
        ("source", "https://example.org/x", "outside"),
        ("supersedes", "old", "page"),
        ("link", "z-links", "page"),
    ]


def test_links_in_front_matter_need_no_quotes(brain: Brain):
    brain.put("talk", b"# Talk")
    brain.put("walk", b"# Walk")
    brain.put(
        "plan",
        b"---\nderived_from: [[talk]]\nsource: [[gone]]\nsources:\n  - [[walk|A walk]]\n"
        b"supersedes: [old, older]\n---\n",
    )
    assert told(why(brain, "plan")) == [
        ("derived_from", "talk", "page"),
        ("source", "gone", "missing"),
        ("source", "walk", "page"),
        ("supersedes", "old", "missing"),
        ("supersedes", "older", "missing"),
    ]


def test_both_ends_tell_the_same_relation_once(brain: Brain):
    brain.put("old", b"---\nsuperseded_by: new\n---\n")
    brain.put("new", b"---\nsupersedes: old\n---\nfrom [[old]]")
    assert told(why(brain, "new")) == [("supersedes", "old", "page")]
    assert told(why(brain, "old")) == [("superseded_by", "new", "page")]


def test_the_depth_is_the_number_of_steps(brain: Brain):
    for name, source in (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")):
        brain.put(name, f"---\nsource: '[[{source}]]'\n---\n".encode())
    assert told(why(brain, "a", 1)) == [("source", "b", "page")]
    assert told(why(brain, "a", 2)) == [("source", "b", "page", ("source", "c", "page"))]
    assert told(why(brain, "c")) == [("source", "d", "page", ("source", "e", "missing"))]


def test_circles_are_cut(brain: Brain):
    for name, source in (("a", "b"), ("b", "c"), ("c", "a")):
        brain.put(name, f"---\nderived_from: {source}\n---\n".encode())
    assert told(why(brain, "a")) == [
        (
            "derived_from",
            "b",
            "page",
            ("derived_from", "c", "page", ("derived_from", "a", "repeated")),
        )
    ]


def test_a_page_is_followed_once_where_it_is_nearest(brain: Brain):
    brain.put("root", b"x")
    brain.put("a", b"[[root]]")
    brain.put("b", b"[[root]] [[a]] [[a]]")
    assert told(why(brain, "root")) == [("link", "a", "page"), ("link", "b", "page")]


def test_links_have_their_line_and_too_many_are_counted(brain: Brain):
    brain.put("hub", b"x")
    for number in range(5):
        brain.put(f"n{number}", b"\n\n[[hub]]")
    origin = why(brain, "hub", limit=2)
    assert [(each.cause.name, each.cause.line) for each in origin.causes] == [("n0", 3), ("n1", 3)]
    assert origin.more == 3


def test_a_source_in_words_is_no_missing_page(brain: Brain):
    brain.put("a", b"---\nsource: a talk with Bo\nderived_from: 7\n---\n")
    assert told(why(brain, "a")) == [("source", "a talk with Bo", "outside")]


def test_no_such_page(brain: Brain):
    with pytest.raises(NotFound):
        why(brain, "nothing")


def test_causal_relations_lead_back_to_the_cause(brain: Brain):
    brain.put("outage", b"# Outage")
    brain.put("full-disk", b"---\ncauses: outage\n---\n# Full disk")
    brain.put("report", b"---\nderives_from: [[outage]]\ncalls: parser\nimports: numpy\n---\n")
    brain.put("parser", b"# Parser")
    assert told(why(brain, "report")) == [
        ("derived_from", "outage", "page", ("caused_by", "full-disk", "page")),
        ("calls", "parser", "page"),
        ("imports", "numpy", "missing"),
    ]
    assert told(why(brain, "full-disk")) == []
    assert told(why(brain, "parser")) == []
