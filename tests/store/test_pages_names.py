"""Pages found by what they are called."""

from __future__ import annotations

from gbrain.brain import Brain
from gbrain.store.pages import find_by_name, find_similar_names, slugs_by_id


def test_a_page_is_known_by_slug_file_name_title_and_alias(brain: Brain) -> None:
    brain.put("people/alice-chen", b"---\naliases: [Ally, 'A. C.']\n---\n# Dr Alice Chen\n")
    with brain.database.read_transaction() as connection:
        found = {
            key: [(name.slug, name.kind) for name in find_by_name(connection, key)]
            for key in ("people alice chen", "alice chen", "dr alice chen", "ally", "a c", "al")
        }
    page = "people/alice-chen"
    assert found == {
        "people alice chen": [(page, "slug")],
        "alice chen": [(page, "name")],
        "dr alice chen": [(page, "title")],
        "ally": [(page, "alias")],
        "a c": [(page, "alias")],
        "al": [],
    }


def test_the_surest_kind_of_name_comes_first_and_each_page_once(brain: Brain) -> None:
    brain.put("x/river", b"# Other\n")
    brain.put("river", b"# River\n")
    brain.put("y", b"---\naliases: [River]\n---\n# Y\n")
    with brain.database.read_transaction() as connection:
        assert [name.slug for name in find_by_name(connection, "river")] == [
            "river",
            "x/river",
            "y",
        ]


def test_neighbours_share_a_start_or_an_end_and_about_the_length(brain: Brain) -> None:
    for name in ("kubernetes", "kubernetis", "tubernetes", "kube"):
        brain.put(name, b"text\n")
    with brain.database.read_transaction() as connection:
        near = {name.key for name in find_similar_names(connection, "kubernetes", 3)}
    assert near == {"kubernetes", "kubernetis", "tubernetes"}


def test_names_go_with_their_page(brain: Brain) -> None:
    brain.put("a", b"# One\n")
    brain.put("a", b"# Two\n")
    brain.rename("a", "b")
    with brain.database.read_transaction() as connection:
        assert find_by_name(connection, "one") == []
        assert find_by_name(connection, "a") == []
        assert [name.slug for name in find_by_name(connection, "two")] == ["b"]


def test_slugs_by_number(brain: Brain) -> None:
    brain.put("a", b"x")
    with brain.database.read_transaction() as connection:
        number = find_by_name(connection, "a")[0].page_id
        assert slugs_by_id(connection, [number, 999]) == {number: "a"}
