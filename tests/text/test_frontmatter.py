"""Where front matter ends, what its YAML says, and what is refused."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gbrain.errors import BadPage
from gbrain.text.frontmatter import (
    FrontMatter,
    FrontMatterValue,
    remove_key,
    set_key,
    split_front_matter,
)

QUOTE = (
    "Close every bracket and quote; put quotes around text that contains ': ' or ' #', or starts "
    "with one of {[*&!|>%@`."
)
TABS = "Indent with spaces: YAML does not allow tabs."
SMALLER = "Move long or deep data out of the front matter, into the page or another file."
REMOVE = "Remove it."
PERCENT = "Remove the line that starts with %."
KEEP_ONE = "Remove one of the two."
MAP = "Write front matter as 'key: value' lines."
CLOSE = "End the front matter with a line that contains only ---."


def values(source: str) -> dict[str, FrontMatterValue]:
    return dict(split_front_matter(f"---\n{source}\n---\n")[0].values)


def refusal(page: str) -> tuple[str, str | None]:
    with pytest.raises(BadPage) as caught:
        split_front_matter(page)
    return caught.value.message, caught.value.hint


def test_a_page_is_split_after_the_closing_line() -> None:
    page = "---\ntitle: Ada\n# who\ntags:\n  - maths\n  - poetry\n---\n\n# Ada\n"
    assert split_front_matter(page) == (
        FrontMatter(
            raw="---\ntitle: Ada\n# who\ntags:\n  - maths\n  - poetry\n---\n",
            values={"title": "Ada", "tags": ["maths", "poetry"]},
            lines={"title": 2, "tags": 4},
        ),
        "\n# Ada\n",
    )


@pytest.mark.parametrize(
    ("page", "raw", "found"),
    [
        ("---\na: 1\n---\nx", "---\na: 1\n---\n", {"a": 1}),
        ("---\r\na: 1\r\n---\r\nx", "---\r\na: 1\r\n---\r\n", {"a": 1}),
        ("---\ra: 1\r---\rx", "---\ra: 1\r---\r", {"a": 1}),
        ("\ufeff---\na: 1\n---\nx", "\ufeff---\na: 1\n---\n", {"a": 1}),
        ("--- \t\na: 1\n... \nx", "--- \t\na: 1\n... \n", {"a": 1}),
        ("---\na: 1\n---", "---\na: 1\n---", {"a": 1}),
        ("---\na: 1\n---\nx\n---\n", "---\na: 1\n---\n", {"a": 1}),
        ("---\na: |\n  ---\n---\nx", "---\na: |\n  ---\n---\n", {"a": "---\n"}),
        ("---\n---\n", "---\n---\n", {}),
        ("---\n---", "---\n---", {}),
        ("---\n\n# nothing yet\n---\nx", "---\n\n# nothing yet\n---\n", {}),
    ],
)
def test_delimiters_may_have_any_line_ending(
    page: str, raw: str, found: dict[str, FrontMatterValue]
) -> None:
    front, rest = split_front_matter(page)
    assert (front.raw, front.values) == (raw, found)
    assert front.raw + rest == page


@pytest.mark.parametrize(
    "page",
    [
        "",
        "\n---\na: 1\n---\n",
        "----\na: 1\n---\n",
        "--- a\nb: 1\n---\n",
        "---",
        "---\n",
        "---\n\nText after a rule, and no other rule.\n",
        "---\nSome text\n---\n",
        "---\nSome text\n\nof two paragraphs\n---\n",
        '---\n"Quoted" it begins.\n---\n',
        "---\n" + "long text " * 200_000 + "\n---\n",
    ],
)
def test_a_page_may_have_no_front_matter(page: str) -> None:
    assert split_front_matter(page) == (FrontMatter("", {}, {}), page)
    assert split_front_matter("\ufeff" + page) == (FrontMatter("\ufeff", {}, {}), page)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", None), ("~", None), ("null", None), ("Null", None), ("NULL", None),
        ("true", True), ("True", True), ("FALSE", False),
        ("0", 0), ("-12", -12), ("9223372036854775807", 2**63 - 1), ("1.5", 1.5), ("-.5", -0.5),
        ("1e3", 1000.0), ("1.", 1.0),
        ("[1, a, [true]]", [1, "a", [True]]), ("{a: 1, b: {c: ~}}", {"a": 1, "b": {"c": None}}),
    ],
)  # fmt: skip
def test_unquoted_json_values_keep_their_type(written: str, value: FrontMatterValue) -> None:
    found = values(f"key: {written}")["key"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "written",
    [
        "yes", "no", "on", "off", "y", "tRUE", "12:30", "2026-04-03", "2026-04-03T10:30:00Z",
        "0x1F", "0o17", "007", "+15551234567", "1_000", "1e999", ".inf", "-.inf", ".nan", "\u0661",
        "9223372036854775808", "-9223372036854775809", "1" * 5000, "=", "<<",
    ],
)  # fmt: skip
def test_other_unquoted_values_stay_text(written: str) -> None:
    assert values(f"key: {written}") == {"key": written}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'1'", "1"), ('"true"', "true"), ("''", ""), ("|\n  1", "1\n"), (">-\n  a\n  b", "a b"),
        ("!!int '3'", "3"), ("!!bool true", "true"), ("! 1", "1"), ("!!binary aGk=", "aGk="),
        ("!!python/object/apply:os.system [ls]", ["ls"]), ("!!python/name:os.system x", "x"),
        ("!!set {a, b}", {"a": None, "b": None}), ('"\\u00e9\\L"', "\u00e9\u2028"),
    ],
)  # fmt: skip
def test_quoted_and_tagged_values_are_text_and_never_run(
    written: str, value: FrontMatterValue
) -> None:
    assert values(f"key: {written}") == {"key": value}


def test_keys_are_their_source_text() -> None:
    source = "1: a\n1.50: b\ntrue: c\n~: d\n2026-04-03: e\n'5': f\n<<: {g: h}"
    assert list(values(source)) == ["1", "1.50", "true", "~", "2026-04-03", "5", "<<"]


def test_an_alias_repeats_the_value_above_it() -> None:
    assert values("a: &x [1, {b: c}]\nd: *x\n&k e: *k") == {
        "a": [1, {"b": "c"}],
        "d": [1, {"b": "c"}],
        "e": "e",
    }


def test_unicode_line_separators_do_not_end_a_line() -> None:
    front, _ = split_front_matter("---\na: x\u2028y\x85z\u2029\U0010ffff\nb: 2\n---\n")
    assert front.values == {"a": "x\u2028y\x85z\u2029\U0010ffff", "b": 2}
    assert front.lines == {"a": 2, "b": 3}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_numbers_count_from_the_top_of_the_page(end: str) -> None:
    page = end.join(["\ufeff---", "", "a: |", "  x", "", "? b", ": 1", "c: [", "]", "---", ""])
    assert split_front_matter(page)[0].lines == {"a": 3, "b": 6, "c": 8}


@pytest.mark.parametrize("page", ["---\ntitle: Ada\n", "\ufeff---\r\n'title':", "---\na-b : 1"])
def test_front_matter_without_an_end_is_refused(page: str) -> None:
    assert refusal(page) == ("front matter starts on line 1 and has no end", CLOSE)


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("- a\n- b", "line 2: front matter is a list, not a map", MAP),
        ("a: 1\nb: 2\na: 3", "line 4: a duplicate key, first on line 2", KEEP_ONE),
        ("a:\n  b: 1\n  'b': 2", "line 4: a duplicate key, first on line 3", KEEP_ONE),
        ("a: 1\nt: {{title}}", "line 3: a key must be text, not a list, a map or an alias", QUOTE),
        ("? [a]\n: 1", "line 2: a key must be text, not a list, a map or an alias", QUOTE),
        ("a: &x 1\n*x : 2", "line 3: a key must be text, not a list, a map or an alias", QUOTE),
        ("a: *x", "line 2: an alias without an anchor above it", QUOTE),
        ("a: &x 1\nb: &x [*x]", "line 3: an alias without an anchor above it", QUOTE),
        ("a: 1\n--- b", "line 3: a second YAML document starts here", CLOSE),
        ("a: 1\nb: x\0y", "line 3: the character U+0000 is not allowed in front matter", REMOVE),
        ("a: 1\r\n\r\x1b", "line 4: the character U+001B is not allowed in front matter", REMOVE),
        ('a: 1\nb: "\\0"', "line 3: the character U+0000 is not allowed in front matter", REMOVE),
        ("a: \ufffe", "line 2: the character U+FFFE is not allowed in front matter", REMOVE),
        ("%YAML 1.2\na: 1", "line 2: front matter must not contain YAML directives", PERCENT),
        ("# x\n\n%TAG ! x\na: 1", "line 4: front matter must not contain YAML directives", PERCENT),
    ],
)  # fmt: skip
def test_unsupported_yaml_is_refused_with_line_and_hint(
    source: str, message: str, hint: str
) -> None:
    assert refusal(f"---\n{source}\n---\n") == (message, hint)


@pytest.mark.parametrize(
    ("source", "line", "hint"),
    [
        ("a: 1\ntitle: one: two", 3, QUOTE),
        ("a: 1\nb: 'open\nc: 3\n", 3, QUOTE),
        ("a: 1\nb: [1, 2\nc: 3", 3, QUOTE),
        ("a: 1\nforgotten\nb: 2", 3, QUOTE),
        ("a: 1\nb: @home", 3, QUOTE),
        ("a: 1\n**bold**", 3, QUOTE),
        ("a: 1\nb: 2\n c: 3", 4, QUOTE),
        ('a: 1\nb: "\\UFFFFFFFF"', 3, QUOTE),
        ("a:\n\tb: 1", 3, TABS),
        ("a: 1\n\tb: 1", 3, TABS),
    ],
)
@pytest.mark.parametrize("has_libyaml", [True, False])
def test_malformed_yaml_names_the_line_of_the_page(
    source: str, line: int, hint: str, has_libyaml: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_libyaml:
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    message, given_hint = refusal(f"---\n{source}\n---\n")
    assert message.startswith(f"line {line}: ")
    assert given_hint == hint


def test_the_message_for_malformed_yaml_is_plain() -> None:
    message, _ = refusal("---\na: 1\nforgotten\nb: 2\n---\n")
    assert message == "line 3: this front matter is not valid YAML"


def nested(depth: int) -> str:
    """A map with lists in it, `depth` levels in all."""
    return "a: " + "[" * (depth - 1) + "]" * (depth - 1)


def test_nesting_is_limited_to_fifty_levels() -> None:
    assert values(nested(50))
    too_deep = ("line 2: front matter is nested more than 50 levels deep", SMALLER)
    assert refusal(f"---\n{nested(51)}\n---\n") == too_deep
    assert refusal("---\na: " + "[" * 900_000 + "\n---\n") == too_deep
    assert refusal("---\na:\n" + "- " * 400_000 + "\n---\n")[0].endswith("more than 50 levels deep")


def test_the_depth_limit_counts_expanded_aliases() -> None:
    lists = "a: &x " + "[" * 25 + "]" * 25 + "\nb: "
    assert values(lists + "[" * 24 + "*x" + "]" * 24)
    assert refusal("---\n" + lists + "[" * 25 + "*x" + "]" * 25 + "\n---\n") == (
        "line 3: front matter is nested more than 50 levels deep",
        SMALLER,
    )


def test_values_are_limited_to_ten_thousand() -> None:
    # The map, its key, the list and 9 997 items.
    assert len(str(values("a: [" + "x," * 9_997 + "]"))) > 9_997
    assert refusal("---\na:\n" + "- x\n" * 9_998 + "---\n") == (
        "line 10000: front matter has more than 10000 values with aliases expanded",
        SMALLER,
    )


def test_a_billion_laughs_attack_is_refused() -> None:
    lines = ["a0: &a0 ha"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert refusal("\n".join(["---", *lines, "---"])) == (
        "line 6: front matter has more than 10000 values with aliases expanded",
        SMALLER,
    )


def test_front_matter_is_limited_to_one_megabyte() -> None:
    fixed = len("---\na: \n---\n")
    longest = "---\na: " + "é" * ((1_000_000 - fixed) // 2) + "\n---\n"
    assert split_front_matter(longest + "rest")[0].raw == longest
    assert refusal(longest.replace("a", "abc")) == (
        "line 1: front matter is longer than 1 MB",
        SMALLER,
    )


PIECES = [
    "---", "...", "--- ", "\n", "\n", "\n  ", "\r\n", "\r", "\t", " ", "a: ", "b:", "- ", "? ",
    ": ", ",", "[", "]", "{", "}", "#", "&x ", "*x", "! ", "!!int ", "|\n ", ">", "'", '"', "\\",
    "\\u2028", "%", "@", "`", "\0", "\x85", "\u2028", "\ufeff", "\ud800", "1", "-1.5e3", "~",
    "true", "<<", "é",
]  # fmt: skip


def split_or_refusal(page: str) -> tuple[FrontMatter, str] | BadPage:
    try:
        return split_front_matter(page)
    except BadPage as error:
        return error


@pytest.mark.parametrize("has_libyaml", [True, False])
def test_any_text_is_split_without_loss_or_refused(has_libyaml: bool) -> None:
    @given(
        st.lists(st.sampled_from(PIECES)).map("".join) | st.text(),
        st.sampled_from(["", "---\n", "\ufeff---\r\nk: "]),
        st.sampled_from(["", "\n---\n", "\r...\r\nrest"]),
    )
    def check(middle: str, start: str, end: str) -> None:
        page = start + middle + end
        outcome = split_or_refusal(page)
        if isinstance(outcome, BadPage):
            assert "line " in outcome.message
            assert outcome.hint
            return
        front, rest = outcome
        assert front.raw + rest == page
        assert json.loads(json.dumps(front.values)) == front.values
        assert list(front.lines) == list(front.values)
        assert list(front.lines.values()) == sorted(front.lines.values())

    with pytest.MonkeyPatch.context() as patch:
        if not has_libyaml:
            patch.delattr(yaml, "CSafeLoader", raising=False)
        check()


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_json_in_front_matter_is_read_as_json(data: dict[str, FrontMatterValue]) -> None:
    def dumped(value: FrontMatterValue) -> str:
        return json.dumps(value, ensure_ascii=False)

    assert values("\n".join(f"{dumped(key)}: {dumped(data[key])}" for key in data)) == data


KEY = "superseded_by"


def page_or_none(text: str) -> str | None:
    """A text that is a page without the key, or None."""
    try:
        return None if KEY in split_front_matter(text)[0].values else text
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
def test_a_key_is_added_and_removed_again(page, edited):
    assert set_key(page, KEY, "new/plan") == edited
    assert split_front_matter(edited)[0].values[KEY] == "new/plan"
    assert remove_key(edited, KEY) == page


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
def test_a_value_is_quoted_if_yaml_could_misread_it(value, written):
    edited = set_key("x", KEY, value)
    assert edited == f"---\n{KEY}: {written}\n---\nx"
    assert split_front_matter(edited)[0].values[KEY] == value
    assert remove_key(edited, KEY) == "x"


def test_setting_a_key_again_replaces_its_value():
    once = set_key("---\na: 1\n---\nx", KEY, "one")
    assert set_key(once, KEY, "one") == once
    assert set_key(once, KEY, "two") == "---\na: 1\nsuperseded_by: two\n---\nx"


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
def test_a_key_written_by_a_person_is_removed_too(page, edited):
    assert remove_key(page, KEY) == edited


@pytest.mark.parametrize(
    "page",
    [
        "---\nsuperseded_by: &x b\nalso: *x\n---\n",
        '---\n{a: 1,\n "superseded_by": b}\n---\n',
    ],
)
def test_a_key_that_cannot_be_removed_is_refused(page):
    with pytest.raises(BadPage, match="superseded_by cannot be removed"):
        remove_key(page, KEY)


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
def test_adding_and_removing_a_key_restores_the_bytes(lines, newline, first, slug):
    page = page_or_none(newline.join([first, *lines]))
    if page is None:
        return
    before, body = split_front_matter(page)
    edited = set_key(page, KEY, slug)
    after, rest = split_front_matter(edited)
    assert dict(after.values) == {**before.values, KEY: slug}
    assert rest == body
    assert remove_key(edited, KEY) == page


@given(st.text(max_size=60))
def test_editing_a_key_keeps_all_other_text(text):
    page = page_or_none(text)
    if page is not None:
        assert remove_key(set_key(page, KEY, "a/b"), KEY) == page
