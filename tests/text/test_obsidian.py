"""Comments: where they begin and end, and what is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.markdown import scan_blocks
from gbrain.text.obsidian import find_comments, is_attachment


def hidden(text: str) -> list[str]:
    return [text[start:stop] for start, stop in find_comments(text, scan_blocks(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a %%b%% c %%d%%", ["%%b%%", "%%d%%"]),
        ("%%\none\n\ntwo\n%%\nthree", ["%%\none\n\ntwo\n%%"]),
        ("  %% one\ntwo %% three", ["%% one\ntwo %%"]),
        ("%%a%% b %%c%%", ["%%a%%", "%%c%%"]),
        ("%% it's ` odd %% `code`", ["%% it's ` odd %%"]),
        ("- item\n%%a\n- item\n%%\n", ["%%a\n- item\n%%"]),
        ("%%%%", ["%%%%"]),
    ],
)
def test_a_comment_at_the_start_of_a_line_may_be_long_and_one_inside_ends_there(
    text: str, expected: list[str]
) -> None:
    assert hidden(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "100%% sure\n\nand 50%% of it",
        "%% never closed",
        "`%%` and `%%`",
        "```\n%%\n```\n[[link]]\n```\n%%\n```",
        "    %%\n\n    %%",
        "100% and 50%",
    ],
)
def test_two_percent_signs_alone_are_no_comment(text: str) -> None:
    assert hidden(text) == []


@given(st.text(st.sampled_from("%`a \n\r#-"), max_size=60))
def test_comments_are_in_order_and_lie_between_marks(text: str) -> None:
    found = list(find_comments(text, scan_blocks(text)))
    assert all(first[1] <= second[0] for first, second in pairwise(found))
    assert all(text[a : a + 2] == text[b - 2 : b] == "%%" and b - a >= 4 for a, b in found)


@pytest.mark.parametrize(
    ("target", "expected"),
    [("a.png", True), ("dir/a.PDF", True), ("a.md", False), ("node.js", False), ("png", False)],
)
def test_attachments_are_told_by_their_ending(target: str, expected: bool) -> None:
    assert is_attachment(target) is expected
