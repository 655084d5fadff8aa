"""One key goes in and out of front matter, and no other byte moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.errors import BadPage
from gbrain.text.front_matter_edit import with_key, without_key
from gbrain.text.frontmatter import split

KEY = "superseded_by"


def page_or_none(text: str) -> str | None:
    """A text that is a page without the key, or None."""
    try:
        return None if KEY in split(text)[0].values else text
    except BadPage:
        return None


@pytest.mark.parametrize(
    ("page", "edited"),
    [
        ("# Plan\n", "---\nsuperseded_by: new/plan\n---\n# Plan\n"),
        ("", "---\nsuperseded_by: new/plan\n---\n"),
        ("one\r\ntwo\n", "---\r\nsuperseded_by: new/plan\r\n---\r\none\r\ntwo\n"),
        ("\ufeff# Plan", "\ufeff---\nsuperseded_by: new/plan\n---\n# Plan"),
        ("---\na rule first\n", "---\nsuperseded_by: new/plan\n---\n---\na rule first\n"),
        ("---\ntitle: x\n---\n", "---\ntitle: x\nsuperseded_by: new/plan\n---\n"),
        ("---\r\na: 1\r\n...\r\nb", "---\r\na: 1\r\nsuperseded_by: new/plan\r\n...\r\nb"),
        ("---\n---\nempty", "---\nsuperseded_by: 'new/plan'\n---\nempty"),
        ("---\n# note\n---\n", "---\n# note\nsuperseded_by: new/plan\n---\n"),
        ("---\n  a: 1\n---\n", "---\n  a: 1\n  superseded_by: new/plan\n---\n"),
        ("---\na: |\n  x\n\n---\n", "---\na: |\n  x\n\nsuperseded_by: new/plan\n---\n"),
        ("---\na:\n  - b\n---\n", "---\na:\n  - b\nsuperseded_by: new/plan\n---\n"),
        ("---\n{a: 1}\n---\n", "---\n{superseded_by: new/plan, a: 1}\n---\n"),
    ],
)
def test_where_the_key_goes_and_back(page, edited):
    assert with_key(page, KEY, "new/plan") == edited
    assert split(edited)[0].values[KEY] == "new/plan"
    assert without_key(edited, KEY) == page


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("new/plan", "new/plan"),
        ("日記/計画", "日記/計画"),
        ("true", '"true"'),
        ("No", '"No"'),
        ("2026-04-03", '"2026-04-03"'),
        ("a=b&c", '"a=b&c"'),
        ("@home", '"@home"'),
    ],
)
def test_a_value_is_quoted_where_a_reader_of_yaml_could_mistake_it(value, written):
    edited = with_key("x", KEY, value)
    assert edited == f"---\n{KEY}: {written}\n---\nx"
    assert split(edited)[0].values[KEY] == value
    assert without_key(edited, KEY) == "x"


def test_another_value_takes_the_place_of_the_first():
    once = with_key("---\na: 1\n---\nx", KEY, "one")
    assert with_key(once, KEY, "one") == once
    assert with_key(once, KEY, "two") == "---\na: 1\nsuperseded_by: two\n---\nx"


@pytest.mark.parametrize(
    ("page", "edited"),
    [
        ("---\nsuperseded_by: b # really\ntitle: x\n---\n", "---\ntitle: x\n---\n"),
        ("---\nsuperseded_by:\n  - b\n\n  - c\ntitle: x\n---\n", "---\ntitle: x\n---\n"),
        ("---\nsuperseded_by:\n- b\n---\ny", "---\n---\ny"),
        ("---\nsuperseded_by: b\n---\n---\na: 1\n---\n", "---\n---\n---\na: 1\n---\n"),
        ("no front matter", "no front matter"),
    ],
)
def test_what_a_person_wrote_is_taken_out_too(page, edited):
    assert without_key(page, KEY) == edited


@pytest.mark.parametrize(
    "page",
    [
        "---\nsuperseded_by: &x b\nalso: *x\n---\n",
        '---\n{a: 1,\n "superseded_by": b}\n---\n',
    ],
)
def test_what_cannot_be_told_apart_is_refused_with_its_line(page):
    with pytest.raises(BadPage, match="superseded_by cannot be taken out"):
        without_key(page, KEY)


LINES = st.lists(
    st.sampled_from(
        ["---", "...", "title: x", "tags: [a, b]", "text: |", "  indented", "- item", "# c", "",
         " ", "{a: 1}", "a: &x 1", "b: *x", "words", "\ufeff", "'q': \"r\"", "? k", ": v", "\t"]
    ),
    max_size=9,
)  # fmt: skip
SLUGS = st.from_regex(r"[\w./&=+~-]{1,12}", fullmatch=True) | st.sampled_from(["null", "a/b", "~"])


@given(
    LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["---", "", "\ufeff---"]), SLUGS
)
def test_out_again_gives_the_same_bytes(lines, newline, first, slug):
    page = page_or_none(newline.join([first, *lines]))
    if page is None:
        return
    before, body = split(page)
    edited = with_key(page, KEY, slug)
    after, rest = split(edited)
    assert dict(after.values) == {**before.values, KEY: slug}
    assert rest == body
    assert without_key(edited, KEY) == page


@given(st.text(max_size=60))
def test_any_text_keeps_its_characters(text):
    page = page_or_none(text)
    if page is not None:
        assert without_key(with_key(page, KEY, "a/b"), KEY) == page
