"""Ignore rules: as git reads them, and never slower than the path is long."""

from __future__ import annotations

import pytest

from gbrain.text.gitignore import parse_ignore_file, parse_ignore_rules


# What git check-ignore says.
@pytest.mark.parametrize(
    ("rule", "ignored", "kept"),
    [
        ("a.md", ["a.md", "x/a.md"], ["b.md", "a.mdx"]),
        ("/a.md", ["a.md"], ["x/a.md"]),
        ("x/a.md", ["x/a.md"], ["y/x/a.md"]),
        ("tmp/", ["tmp/", "x/tmp/"], ["tmp", "tmps/"]),
        ("*.md", ["a.md", "x/a.md", ".md"], ["a.mdx"]),
        ("a*b*c", ["abc", "axbxc", "abcbc"], ["acb", "abcx"]),
        ("x/*", ["x/a.md"], ["x", "x/y/a.md"]),
        ("x/**", ["x/a.md", "x/y/a.md"], ["x", "y/x/a.md"]),
        ("**/x", ["x", "a/x", "a/b/x"], ["xy"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "ab", "a/bc"]),
        ("***/a", ["a", "x/a"], ["b"]),
        ("a?c", ["abc"], ["ac", "abbc"]),
        ("[a-c]1", ["a1", "c1"], ["d1", "-1"]),
        ("[!a]1", ["b1"], ["a1"]),
        ("[]a]1", ["]1", "a1"], ["b1"]),
        ("[a", [], ["[a", "a"]),
        ("[[:digit:]]", ["7"], ["x", "d", "[:digit:]"]),
        ("[[:alpha:]_-]x", ["ax", "Zx", "_x", "-x"], ["1x", ":x", "x"]),
        ("[![:space:][:digit:]]", ["a"], [" ", "7"]),
        ("[[:upper:]][[:lower:]]*", ["Ab", "Abc"], ["ab", "AB"]),
        ("[[:punct:]]", ["!", "~", "]", "\\"], ["a", "7"]),
        ("[[:xdigit:]]", ["f", "F", "0"], ["g"]),
        ("[a[:]", ["a", "[", ":"], ["b"]),
        ("priv\u00e9/", ["priv\u00e9/", "prive\u0301/"], ["prive/"]),
        ("prive\u0301/", ["priv\u00e9/", "prive\u0301/"], ["prive/"]),
        (r"\*a", ["*a"], ["xa"]),
        (r"\#a", ["#a"], []),
        (r"\!a", ["!a"], []),
        ("a\\ ", ["a "], ["a"]),
        ("a  ", ["a"], ["a  "]),
        ("# a", [], ["a", "# a"]),
        ("a\\", [], ["a", "a\\"]),
        ("/", [], ["a"]),
        ("", [], ["a"]),
    ],
)
def test_rules_ignore_the_paths_that_git_ignores(
    rule: str, ignored: list[str], kept: list[str]
) -> None:
    is_ignored = parse_ignore_rules([rule])
    assert [path for path in ignored if not is_ignored(path)] == []
    assert [path for path in kept if is_ignored(path)] == []


def test_the_last_matching_rule_decides() -> None:
    is_ignored = parse_ignore_rules(["*.md", "!keep.md", "/keep.md"])
    assert is_ignored("a.md")
    assert is_ignored("keep.md")
    assert not is_ignored("x/keep.md")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[z-a].md", "bad character range"),
        (b"[[:letter:]]", "no class"),
        ("private/\n".encode("utf-16"), "not UTF-8"),
        ("private/\n".encode("utf-16-le"), "NUL"),
        (b"priv\xe9/\n", "not UTF-8"),
    ],
)
def test_rules_that_cannot_be_read_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_ignore_file(data)


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfprivate/\n", b"private/\r\na", b"a\rprivate/"])
def test_a_byte_order_mark_and_all_line_ends_are_read(data: bytes) -> None:
    assert parse_ignore_file(data)("private/")


def test_only_line_ends_separate_rules() -> None:
    is_ignored = parse_ignore_file("a\u2028b\x0bc\n".encode())
    assert is_ignored("a\u2028b\x0bc")
    assert not is_ignored("a")


def test_case_is_ignored_where_the_file_system_ignores_it() -> None:
    assert parse_ignore_file(b"Private/", ignore_case=True)("pRIVATE/")
    assert not parse_ignore_file(b"Private/")("private/")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("*" * 1000 + "b", "a" * 250),
        ("*a" * 200 + "b", "a" * 250),
        ("[a]*" * 200 + "b", "a" * 250),
        ("**/a/" * 40 + "b", "a/" * 1000 + "c"),
    ],
)
def test_a_rule_with_many_stars_is_fast(rule: str, path: str) -> None:
    """Tried in all places that each star may end at, they would take longer than the sun lasts."""
    assert not parse_ignore_rules([rule])(path)
