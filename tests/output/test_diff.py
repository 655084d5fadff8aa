"""A diff is exact: applied to the one text it gives the other, whatever the line ends."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.output import diff
from gbrain.output.diff import unified_diff


def make_diff(old: str, new: str) -> list[str]:
    return list(unified_diff(old, new, "old", "new"))


def applied(old: str, lines: Sequence[str]) -> str:
    """What `patch` makes of a text."""
    source = re.findall(r"[^\n]*\n|[^\n]+$", old)
    result: list[str] = []
    done = 0
    for number, line in enumerate(lines[2:], 2):
        bare = number + 1 < len(lines) and lines[number + 1].startswith("\\")
        words = line[1:].removesuffix("\n") if bare else line[1:]
        if line.startswith("@@"):
            head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@\n", line)
            assert head is not None
            start = int(head[1]) - (head[2] != "0")
            result += source[done:start]
            done = start
        elif line[0] in " -":
            assert source[done] == words
            done += 1
        if line[0] in " +":
            result.append(words)
    return "".join(result + source[done:])


def test_a_changed_line_is_shown_in_context() -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    assert "".join(make_diff(old, old.replace("10\n", "ten\n"))) == (
        "--- old\n+++ new\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_the_same_text_has_no_diff() -> None:
    assert make_diff("a\nb", "a\nb") == []
    assert make_diff("", "") == []


def test_a_missing_last_newline_is_shown() -> None:
    assert make_diff("a\nb", "a\nb\n") == [
        "--- old\n", "+++ new\n", "@@ -1,2 +1,2 @@\n", " a\n",
        "-b\n", "\\ No newline at end of file\n", "+b\n",
    ]  # fmt: skip
    assert make_diff("a", "") == [
        "--- old\n", "+++ new\n", "@@ -1 +0,0 @@\n", "-a\n", "\\ No newline at end of file\n",
    ]  # fmt: skip


def test_only_newlines_end_lines() -> None:
    assert make_diff("a\x0b\u2028b\rc\r\n", "a\x0b\u2028b\rc\n")[3:] == [
        "-a\x0b\u2028b\rc\r\n", "+a\x0b\u2028b\rc\n",
    ]  # fmt: skip


def test_distant_changes_have_separate_hunks() -> None:
    lines = [f"{n}\n" for n in range(40)]
    changed = [*lines[:5], "x\n", *lines[6:11], "y\n", *lines[12:35], *lines[36:]]
    heads = [line for line in make_diff("".join(lines), "".join(changed)) if line.startswith("@@")]
    assert heads == ["@@ -3,13 +3,13 @@\n", "@@ -33,7 +33,6 @@\n"]


def test_repeated_lines_are_matched_too() -> None:
    changed = make_diff("- a\n\n- a\n\nx\n- a\n", "- a\n\n- b\n- a\n\n- a\n")
    assert changed[3:] == [" - a\n", " \n", "+- b\n", " - a\n", " \n", "-x\n", " - a\n"]


TEXTS = st.lists(
    st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d", "e\n", "\u2028\n"]), max_size=25
).map("".join)


@given(TEXTS, TEXTS)
def test_applying_a_diff_gives_the_new_text(old: str, new: str) -> None:
    assert applied(old, make_diff(old, new)) == new


@given(TEXTS, TEXTS)
def test_a_diff_is_exact_when_bounds_are_reached(old: str, new: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff, "MAX_COMPARISONS", 10)
        patch.setattr(diff, "MAX_ANCHOR_DEPTH", 1)
        assert applied(old, make_diff(old, new)) == new


def test_large_unlike_texts_are_shown_as_fully_changed() -> None:
    chance = random.Random(1)
    old, new = ("".join(chance.choice("ab") + "\n" for _ in range(150_000)) for _ in range(2))
    lines = make_diff(f"first\n{old}last\n", f"first\n{new}last\n")
    assert sum(line.startswith("@@") for line in lines) == 1
    assert applied(f"first\n{old}last\n", lines) == f"first\n{new}last\n"


def test_a_small_change_of_a_large_text_is_a_small_diff() -> None:
    lines = [f"{n % 977}\n" for n in range(300_000)]
    changed = [*lines[:1000], "new\n", *lines[1000:]]
    assert len(make_diff("".join(lines), "".join(changed))) == 10


def test_control_characters_never_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = make_diff("[red]a[/red]\r\n", "\x1b[31ma\n")
    diff.show_diff(lines, line_ends=True)
    assert capsys.readouterr().out == (
        "--- old\n+++ new\n@@ -1 +1 @@\n-[red]a[/red]␍\n+\ufffd[31ma\n"
    )
    diff.show_diff(["--- a\n", "+++ b\n", " same\r\n"], line_ends=False)
    assert capsys.readouterr().out == "--- a\n+++ b\n same\n"
