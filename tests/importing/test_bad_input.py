"""What happens to files that a folder of notes should not contain."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import BadPage
from gbrain.text.page import MAX_LINE_BYTES, MAX_PAGE_BYTES, parse_page


def problem(brain: Brain, tmp_path: Path, data: bytes) -> tuple[str, str, str | None]:
    """(code, reason, hint) of a file that is refused; the file beside it must be taken in."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "bad.md").write_bytes(data)
    (folder / "good.md").write_bytes(b"# Good\n")
    report = brain.import_folder(folder)
    assert [change.slug for change in report.changes] == ["good"]
    assert [found.path for found in report.problems] == ["bad.md"]
    found = report.problems[0]
    return found.code, found.reason, found.hint


def kept(brain: Brain, tmp_path: Path, data: bytes) -> Brain:
    """The brain with the page `page`, whose bytes must come back as they are."""
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "page.md").write_bytes(data)
    assert brain.import_folder(folder).problems == []
    assert brain.text("page").encode() == data
    brain.export(tmp_path / "out")
    assert (tmp_path / "out" / "page.md").read_bytes() == data
    return brain


# --- bytes -----------------------------------------------------------------------------------


def test_text_that_is_not_utf8_is_refused_with_its_line(brain: Brain, tmp_path: Path) -> None:
    assert problem(brain, tmp_path, b"# Caf\xc3\xa9\n\nna\xefve\n") == (
        "not_utf8",
        "line 3: not UTF-8 (byte 0xef at offset 11)",
        "Convert it to UTF-8 first, for example with: iconv -f latin1 -t utf-8",
    )


def test_utf16_is_named_in_the_error(brain: Brain, tmp_path: Path) -> None:
    code, _, hint = problem(brain, tmp_path, "# Hi\n".encode("utf-16"))
    assert (code, hint) == ("not_utf8", "The file looks like UTF-16: convert it to UTF-8 first.")


def test_binary_data_is_refused(brain: Brain, tmp_path: Path) -> None:
    assert problem(brain, tmp_path, b"PK\x03\x04\n\0\0rest") == (
        "binary",
        "line 2: a NUL byte, so this is binary data and not a page",
        "Only Markdown text can be a page.",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf---\ntitle: x\n---\ntext",
        b"---\r\ntitle: x\r\n---\r\n# X\r\n\r\ntext\r\n",
        b"# X\rtext\r",
        b"# no final newline",
    ],
    ids=["empty", "newline", "mark", "mark and front matter", "crlf", "cr", "no final newline"],
)
def test_unusual_text_is_kept_byte_for_byte(brain: Brain, tmp_path: Path, data: bytes) -> None:
    kept(brain, tmp_path, data)


def test_a_byte_order_mark_does_not_hide_the_front_matter(brain: Brain, tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf---\r\ntitle: Marked\r\ntags: [a]\r\n---\r\ntext\r\n"
    page = kept(brain, tmp_path, data).get("page")
    assert (page.title, page.tags) == ("Marked", ("a",))


def test_an_empty_file_is_a_page_titled_by_its_name(brain: Brain, tmp_path: Path) -> None:
    assert kept(brain, tmp_path, b"").get("page").title == "Page"
    assert [hit.slug for hit in brain.search("page").hits] == ["page"]


# --- front matter ----------------------------------------------------------------------------


def test_front_matter_without_an_end_is_refused(brain: Brain, tmp_path: Path) -> None:
    assert problem(brain, tmp_path, b"---\ntitle: x\n\n# Text\n") == (
        "bad_page",
        "front matter starts on line 1 and has no end",
        "End the front matter with a line that contains only ---.",
    )


def test_invalid_yaml_is_refused_with_its_line(brain: Brain, tmp_path: Path) -> None:
    _, reason, _ = problem(brain, tmp_path, b"---\ntitle: x\nother: [a\n---\n")
    assert reason == "line 3: this front matter is not valid YAML"


def test_expanded_yaml_anchors_count_towards_the_limit(brain: Brain, tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    _, reason, _ = problem(brain, tmp_path, f"---\n{bomb}---\n".encode())
    assert "more than 10000 values" in reason


@pytest.mark.parametrize(
    "yaml",
    ["a: " + "[" * 200 + "]" * 200, "a: " + "{a: " * 200 + "1" + "}" * 200],
    ids=["lists", "maps"],
)
def test_front_matter_nested_200_deep_is_refused(brain: Brain, tmp_path: Path, yaml: str) -> None:
    _, reason, _ = problem(brain, tmp_path, f"---\n{yaml}\n---\n".encode())
    assert reason == "line 2: front matter is nested more than 50 levels deep"


@pytest.mark.parametrize("mark", ["- ", "> ", "1. ", "* > "])
def test_text_nested_200_deep_is_kept(brain: Brain, tmp_path: Path, mark: str) -> None:
    data = (mark * 200 + "heron\n").encode()
    assert kept(brain, tmp_path, data).search("heron").hits[0].slug == "page"


# --- size ------------------------------------------------------------------------------------


def test_a_page_of_10_mb_is_kept_and_one_byte_more_is_not(brain: Brain, tmp_path: Path) -> None:
    line = (
        b"some words on a line of an enormous page that nobody will ever read in full, heron\n" * 12
    )
    data = (line + b"\n") * (MAX_PAGE_BYTES // (len(line) + 1))
    data += b"x" * (MAX_PAGE_BYTES - len(data))
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "large.md").write_bytes(data)
    (folder / "larger.md").write_bytes(data + b"x")
    report = brain.import_folder(folder)
    assert [change.slug for change in report.changes] == ["large"]
    assert [(p.path, p.code) for p in report.problems] == [("larger.md", "page_too_large")]
    assert "10,000,001 bytes; the limit is 10,000,000" in report.problems[0].reason
    assert brain.text("large").encode() == data


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("letter", ["x", "知", "x "])
def test_a_line_of_1_mb_is_kept(letter: str, end: str) -> None:
    line = letter * (MAX_LINE_BYTES // len(letter.encode()))
    assert parse_page("a.md", f"# A\n\n{line}{end}".encode()).text == f"# A\n\n{line}{end}"


@pytest.mark.parametrize("letter", ["x", "知"])
def test_a_line_beyond_1_mb_is_refused_with_its_number(letter: str) -> None:
    line = letter * (MAX_LINE_BYTES // len(letter.encode()) + 1)
    with pytest.raises(BadPage, match=r"line 3 .*longer than 1,000,000 bytes") as caught:
        parse_page("a.md", f"# A\n\n{line}\n".encode())
    assert caught.value.code == "line_too_long"


def test_a_line_too_long_is_counted_from_the_top_of_the_page() -> None:
    text = "---\ntitle: x\n---\n\n" + "x" * (MAX_LINE_BYTES + 1)
    with pytest.raises(BadPage, match="line 5 "):
        parse_page("a.md", text.encode())


def test_100_000_timeline_entries_are_kept_and_one_more_is_not() -> None:
    full = "## Timeline\n" + "- 2026 — x\n" * 100_000
    page = parse_page("a.md", full.encode())
    assert sum(1 for chunk in page.chunks if chunk.kind == "timeline") == 100_000
    with pytest.raises(
        BadPage, match="The page has 100,001 timeline entries; the limit is 100,000"
    ):
        parse_page("a.md", (full + "- 2026 — one more\n").encode())


def test_100_000_headings_are_kept_and_one_more_is_not() -> None:
    full = "# a\nb\n" * 100_000
    assert len(parse_page("a.md", full.encode()).chunks) == 100_000
    with pytest.raises(BadPage, match="The page has 100,001 headings; the limit is 100,000"):
        parse_page("a.md", (full + "# a\n").encode())


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("two words.md", "two-words"),
        ('say "hi" & it\'s.md', "say-hi-&-its"),
        ("🚀🚀.md", "🚀🚀"),
        ("two..dots.md", "two..dots"),
        ("...three.md", None),
        ("-rf.md", "rf"),
        ("--json.md", "json"),
        ("line\nbreak.md", "line-break"),
        ("tab\there.md", "tab-here"),
        ("back\\slash.md", "back-slash"),
        ("\x1b[31mred.md", "31mred"),
        (unicodedata.normalize("NFD", "café.md"), "café"),
        ("%s%n.md", "s-n"),
        ("; DROP TABLE pages.md", "drop-table-pages"),
    ],
)
def test_unusual_file_names_are_imported_and_exported(
    brain: Brain, tmp_path: Path, name: str, slug: str | None
) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / name).write_bytes(b"# X\n")
    report = brain.import_folder(folder)
    assert report.problems == []
    if slug is None:
        assert report.changes == []
        return
    assert [change.slug for change in report.changes] == [slug]
    brain.export(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]


@pytest.mark.parametrize("name", ["---.md", "!!.md", "'.md", "\u200b.md"])
def test_a_name_that_leaves_no_slug_is_reported(brain: Brain, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / name).write_bytes(b"# X\n")
    report = brain.import_folder(folder)
    assert [(p.path, p.code) for p in report.problems] == [(name, "bad_slug")]


def test_a_file_name_that_is_not_utf8_is_reported_printably(brain: Brain, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "vault")
    os.mkdir(folder)
    with open(folder + b"/caf\xe9.md", "wb") as file:
        file.write(b"# X\n")
    report = brain.import_folder(tmp_path / "vault")
    assert [(p.path, p.code) for p in report.problems] == [("caf?.md", "bad_name")]
