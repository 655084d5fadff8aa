"""Two texts of a page that were changed separately are merged line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.merge import has_markers, keep_style, merge_texts

BASE = "# A\n\none\n\ntwo\n\nthree\n"
LOG = "# Log\n\n## Timeline\n- 2026-01-02 — two\n- 2026-03-04 — four\n"


def test_changes_in_different_places_are_both_kept() -> None:
    merged = merge_texts(BASE, BASE.replace("one", "ONE"), BASE.replace("three", "THREE"))
    assert merged == ("# A\n\nONE\n\ntwo\n\nTHREE\n", 0)


def test_changes_of_neighbouring_lines_are_both_kept() -> None:
    merged = merge_texts("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n")
    assert merged == ("A\nB\nc\n", 0)


@pytest.mark.parametrize(
    ("brain", "file", "wanted"),
    [
        (BASE, BASE + "four\n", BASE + "four\n"),
        (BASE + "four\n", BASE, BASE + "four\n"),
        (BASE + "four\n", BASE + "four\n", BASE + "four\n"),
        ("", BASE, ""),
        (BASE.replace("two\n\n", ""), BASE + "four\n", "# A\n\none\n\nthree\nfour\n"),
    ],
)
def test_what_one_side_changed_is_taken(brain: str, file: str, wanted: str) -> None:
    assert merge_texts(BASE, brain, file) == (wanted, 0)


def test_one_line_changed_twice_is_shown_with_both_texts() -> None:
    merged = merge_texts(BASE, BASE.replace("two", "mine"), BASE.replace("two", "theirs"))
    assert merged.conflicts == 1
    assert "<<<<<<< file\ntheirs\n=======\nmine\n>>>>>>> brain\n" in merged.text
    assert has_markers(merged.text)
    assert not has_markers(BASE)


def test_long_texts_of_repeated_lines_are_merged() -> None:
    lines = [f"{number % 7}\n" for number in range(20_000)]
    brain, file = list(lines), list(lines)
    brain[100] = brain[9000] = "mine\n"
    file[11_000] = file[19_000] = "theirs\n"
    wanted = [a if a != base else b for base, a, b in zip(lines, brain, file, strict=True)]
    merged = merge_texts("".join(lines), "".join(brain), "".join(file))
    assert merged.conflicts == 0
    assert merged.text == "".join(wanted)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_entries_added_on_both_sides_are_kept_by_date(newline: str) -> None:
    log = LOG.replace("\n", newline)
    brain = log + f"- 2026-05-06 — mine{newline}  and more{newline}"
    file = log + f"- 2026-05-01 — theirs{newline}- 2026-07-01 — later{newline}"
    entries = ["- 2026-05-01 — theirs", "- 2026-05-06 — mine", "  and more", "- 2026-07-01 — later"]
    assert merge_texts(log, brain, file) == (log + "".join(f"{e}{newline}" for e in entries), 0)


def test_merged_entries_stay_latest_first() -> None:
    top = "# Log\n\n## Timeline\n"
    rest = "- 2026-03-04 — four\n- 2026-01-02 — two\n"
    merged = merge_texts(
        top + rest, f"{top}- 2026-05-06 — mine\n{rest}", f"{top}- 2026-07-01 — theirs\n{rest}"
    )
    assert merged == (f"{top}- 2026-07-01 — theirs\n- 2026-05-06 — mine\n{rest}", 0)


def test_two_first_entries_share_the_new_heading() -> None:
    head = "# A\n\n---\n## Timeline\n"
    merged = merge_texts("# A\n", f"{head}- 2026-05-06 — mine\n", f"{head}- 2026-05-01 — theirs\n")
    assert merged == (f"{head}- 2026-05-01 — theirs\n- 2026-05-06 — mine\n", 0)


def test_an_entry_that_both_added_is_there_once() -> None:
    same = "- 2026-05-06 — met Bo\n"
    merged = merge_texts(LOG, LOG + same, LOG + "- 2026-05-01 — theirs\n" + same)
    assert merged == (LOG + "- 2026-05-01 — theirs\n" + same, 0)


def test_without_a_base_no_line_of_either_is_dropped() -> None:
    merged = merge_texts(None, "# A\n\none\ntwo\n", "# A\n\ntwo\nthree\n")
    assert merged == ("# A\n\none\ntwo\nthree\n", 0)
    assert merge_texts(None, "# Mine\n", "# Theirs\n").conflicts == 1


def test_the_style_of_the_file_is_kept() -> None:
    base, brain = "# A\n\none\ntwo\n", "# A\n\nONE\ntwo\n"
    assert merge_texts(base, brain, "\ufeff# A\r\n\r\none\r\nTWO") == (
        "\ufeff# A\r\n\r\nONE\r\nTWO", 0,
    )  # fmt: skip
    assert merge_texts("a\nb", "A\nb", "a\nb\n") == ("A\nb\n", 0)
    assert merge_texts("a\nb\n", "A\nb", "a\nb\n") == ("A\nb", 0)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("\ufeffa\r\nb", "a\nc\n", "\ufeffa\r\nc"),
        ("a\r\nb\r\n", "a\nc", "a\r\nc\r\n"),
        ("a\nb\n", "a\r\nc\r\n", "a\nc\n"),
        ("a\r\nb\n", "a\nc\n", "a\nc\n"),
        ("a", "a\n\n", "a\n"),
        ("", "a\r\n", "a\r\n"),
        ("a\n", "", ""),
    ],
)
def test_a_new_text_keeps_the_style_of_the_old(old: str, new: str, wanted: str) -> None:
    assert keep_style(old, new) == wanted
    assert keep_style(old, old) == old


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "- 2026-01-02 — x\n", "c"]), max_size=6).map(
    "".join
)


@given(base=st.none() | TEXTS, brain=TEXTS, file=TEXTS)
def test_every_line_that_a_side_added_is_in_the_merge(
    base: str | None, brain: str, file: str
) -> None:
    merged = merge_texts(base, brain, file)
    lines = merged.text.splitlines()
    for side in (brain, file):
        assert set(side.splitlines()) - set((base or "").splitlines()) - {""} <= set(lines)
    if base is not None:
        assert merge_texts(base, brain, base).text == brain
        assert merge_texts(base, base, file).text == file


@given(
    st.lists(st.sampled_from(["one", "two", "three", ""]), max_size=8),
    st.integers(0, 8),
    st.integers(0, 8),
)
def test_a_paragraph_that_both_sides_added_is_kept_once(
    lines: list[str], place: int, other: int
) -> None:
    """Between blank lines an addition has several places; both sides must see the same."""

    def add(words: str, to: list[str], at: int) -> list[str]:
        return [*to[:at], words, "", *to[at:]]

    brain = add("both", lines, place)
    file = add("mine", brain, other)
    base, brain_text, file_text = ("\n".join([*each, ""]) for each in (lines, brain, file))
    merged = merge_texts(base, brain_text, file_text)
    assert (merged.text, merged.conflicts) == (file_text, 0)
    assert merge_texts(base, file_text, brain_text) == merged
