"""Slugs as a person would guess them, and keys that do not care how a name is typed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gbrain.errors import BadPage
from gbrain.text.query_terms import normalise_query
from gbrain.text.slug import (
    MAX_SLUG_CHARACTERS,
    fold_name,
    normalise_unicode,
    path_from_name,
    slug_from_path,
)


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("people/alice-chen.md", "people/alice-chen"),
        ("Notes/My Page.md", "notes/my-page"),
        ("Notes/My  Page.MARKDOWN", "notes/my-page"),
        ('it\'s "quoted".md', "its-quoted"),
        ("Über/Straße.md", "über/straße"),
        ("Cafe\u0301.md", "café"),
        ("İstanbul.md", "i̇stanbul"),
        ("日本/東京.md", "日本/東京"),
        ("🚀 launch.md", "🚀-launch"),
        ("-dash.md", "dash"),
        ("a (draft) [2].md", "a-draft-2"),
        ("v1.2.md", "v1.2"),
        ("snake_case.md", "snake_case"),
        ("zero\u200bwidth.md", "zerowidth"),
        ("no extension", "no-extension"),
    ],
)
def test_a_slug_is_made_from_the_path(path: str, slug: str) -> None:
    assert slug_from_path(path) == slug


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../a.md", "a/../b.md", "/etc/passwd", "a//b", "a/", "---.md", ".md"]
)
def test_a_path_outside_its_folder_or_without_name_is_refused(path: str) -> None:
    with pytest.raises(BadPage) as caught:
        slug_from_path(path)
    assert caught.value.code == "bad_slug"


def test_the_length_of_a_slug_is_limited() -> None:
    assert slug_from_path("a" * MAX_SLUG_CHARACTERS) == "a" * MAX_SLUG_CHARACTERS
    with pytest.raises(BadPage, match="longer than 400"):
        slug_from_path("a" * (MAX_SLUG_CHARACTERS + 1))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@example("a.md.md")
@example("a.md'")
@example("a-.md-")
@example("İ/ẞ.md")
@example("e'\u0301.md")
@example(".md'")
def test_the_slug_of_a_slug_is_itself(path: str) -> None:
    try:
        slug = slug_from_path(path)
    except BadPage:
        return
    assert slug_from_path(slug) == slug
    assert slug == unicodedata.normalize("NFC", slug)
    assert not slug.startswith("/")
    assert ".." not in slug.split("/")
    assert slug.isprintable()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Alice Chen", "alice chen"),
        ("people/alice-chen", "people alice chen"),
        ("  ALICE\tchen ", "alice chen"),
        ("Café", "cafe"),
        ("Straße", "strasse"),
        ("O'Neil", "oneil"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("#tag", "tag"),
        ("snake_case", "snake case"),
        ("🚀", "🚀"),
    ],
)
def test_a_key_ignores_case_accents_and_punctuation(name: str, key: str) -> None:
    assert fold_name(name) == key


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)


@given(st.text(st.sampled_from("aé\u0301\u0316\u0344知"), max_size=30))
def test_a_long_text_is_normalised(text: str) -> None:
    long = text + "." * 1000
    assert normalise_unicode("NFC", long) == unicodedata.normalize("NFC", long)
    assert normalise_unicode("NFKD", long) == unicodedata.normalize("NFKD", long)


def test_a_million_marks_on_one_letter_are_fast() -> None:
    """Python sorts them by pairs: it would take hours."""
    marks = "\u0301\u0316" * 500_000
    assert fold_name(f"a{marks}b") == "ab"
    assert slug_from_path(f"a{marks}b").startswith("á\u0316")
    assert normalise_query(f"a{marks} b").endswith(" b")


@given(st.text(min_size=1, max_size=80))
@example("a\0b")
@example("a\x1b[31mb\nc")
@example("a\u202eb.m\0d")
@example("\u00e9" * 127)
@example("\U0001f469\u200d\U0001f4bb")
def test_the_file_of_a_new_page_can_be_written(name: str) -> None:
    try:
        slug, path = slug_from_path(name), path_from_name(name)
    except BadPage:
        return
    assert slug_from_path(path) == slug
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in path)
    assert all(len(part.encode()) <= 255 for part in path.split("/"))


def test_invisible_characters_of_a_file_name_are_kept() -> None:
    for name in ("\U0001f469\u200d\U0001f4bb.md", "a\u00a0b.md", "re\u0301sume\u0301.md"):
        assert path_from_name(name) == name
    assert path_from_name("a\tb\u202ec\x1b") == "a bc.md"
