"""Tags, links and backlinks of the sample pages and of small ones."""

from __future__ import annotations

import pytest


@pytest.fixture
def linked(run, brain_path):
    """Three pages that name each other."""
    run("put", "a", stdin=b"---\ntags: [One, two]\n---\nSee [[b#Part|the other]], [[lost]].\n")
    run("put", "b", stdin=b"---\ntags: one\nrelated: a\n---\n# Bee\n\n[back](a.md) #two #three\n")
    run("put", "c", stdin=b"---\ntags: one\n---\nNothing.\n")


def test_tags_most_used_first(run, linked):
    assert run("tags").stdout == "one\t3\ntwo\t2\nthree\t1\n"
    counted = run("tags", "--json").json["tags"]
    assert counted[0] == {"tag": "one", "pages": 3}
    assert [tag["pages"] for tag in counted] == [3, 2, 1]


def test_tags_of_a_page(run, linked):
    assert run("tags", "a").stdout == "One\ntwo\n"
    assert run("tags", "a", "--json").json == {"slug": "a", "tags": ["One", "two"]}
    assert run("tags", "nosuch").exit_code == 1


def test_links_and_where_they_lead(run, linked):
    assert run("links", "a").stdout == ("4\twiki\tb#Part\tb\tthe other\n4\twiki\tlost\t\t\n")
    assert run("links", "a", "--json").json == {
        "slug": "a",
        "links": [
            {
                "line": 4, "kind": "wiki", "target": "b", "heading": "Part",
                "label": "the other", "slug": "b", "title": "Bee",
            },
            {
                "line": 4, "kind": "wiki", "target": "lost", "heading": None,
                "label": None, "slug": None, "title": None,
            },
        ],
    }  # fmt: skip


def test_backlinks(run, linked):
    assert run("backlinks", "a").stdout.splitlines() == [
        "b\tBee\t3\tfront_matter\trelated",
        "b\tBee\t7\tmarkdown\tback",
    ]
    assert run("backlinks", "b", "--json").json == {
        "slug": "b",
        "backlinks": [
            {"slug": "a", "title": "A", "line": 4, "kind": "wiki", "label": "the other"},
        ],
    }


def test_nothing_found(run, linked):
    for words in (("links", "c"), ("backlinks", "c")):
        assert run(*words).stdout == ""
        assert run(*words).exit_code == 0
        assert run(*words, "--exit-code").exit_code == 3
    run("put", "d", stdin=b"plain\n")
    assert run("tags", "d", "--exit-code").exit_code == 3


def test_a_page_that_is_not_there(run, sample):
    for name in ("links", "backlinks", "tags"):
        answer = run(name, "people/alice-chn", "--json")
        assert answer.error["hint"] == "Did you mean people/alice-chen?"


def test_every_link_of_the_sample_leads_somewhere(run, sample):
    pages = run("list", "--json").json["pages"]
    assert len(pages) == 29
    for page in pages:
        links = run("links", page["slug"], "--json").json["links"]
        assert [link["target"] for link in links if link["slug"] is None] == []
