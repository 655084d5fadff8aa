"""Citations: written, found in any text, and hashed whatever ends the lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.text.citations import (
    Citation,
    find_citations,
    find_lines_with_hash,
    hash_enclosing_lines,
    lines_hash,
    parse_citations,
    split_lines,
)
from gbrain.text.slug import slug_from_path

ALICE = Citation("people/alice", (12, 18), "ab12cd34ef56")
PIECE = {"slug": "people/alice", "lines": [12, 18], "hash": "ab12cd34ef56" + "0" * 20}


def test_a_citation_is_formatted_with_lines_and_hash() -> None:
    assert str(ALICE) == "[people/alice#L12-18 ab12cd34ef56]"
    long = Citation("notes/x", (3, 3), "0123456789abcdef0123456789abcdef")
    assert str(long) == "[notes/x#L3 0123456789ab]"


@pytest.mark.parametrize(
    "text",
    [
        "[people/alice#L12-18 ab12cd34ef56]",
        "She joined (people/alice#L12-18 ab12cd34ef56).",
        "see people/alice#L12-L18@AB12CD34EF56, and more",
        "**people/alice#L12–18: ab12cd34ef56**",
        "| `people/alice#L12-18 ab12cd34ef56` |",
    ],
)
def test_citations_are_found_in_an_answer(text: str) -> None:
    assert list(find_citations(text)) == [ALICE]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no citation at all",
        "people/alice#L12-18",
        "people/alice#L12-18 abc",
        "people/alice#L18-12 ab12cd34ef56",
        "people/alice#L0 ab12cd34ef56",
        "#L12 ab12cd34ef56",
        "x#L1 ab12cd34ef56ghi",
        '{"slug": "a", "lines": [1, 2], "hash": 5}',
        '{"slug": "a", "lines": [2, 1], "hash": "ab12cd34ef56"}',
        '{"slug": "a", "lines": "1-2", "hash": "ab12cd34ef56"}',
        '{"slug": "a", "lines": [1, 2], "hash": "not hexadecimal"}',
        "[" * 100_000,
    ],
)
def test_other_text_is_not_a_citation(text: str) -> None:
    assert parse_citations(text) == []


@pytest.mark.parametrize(
    "document",
    [
        json.dumps(PIECE),
        json.dumps([PIECE, PIECE]),
        json.dumps({"query": "x", "results": [], "context": [PIECE], "budget": {"limit": 1}}),
        f"{json.dumps(PIECE)}\n\n{json.dumps(PIECE)}\n",
    ],
)
def test_citations_are_found_in_json(document: str) -> None:
    assert parse_citations(document) == [ALICE._replace(hash=PIECE["hash"])]


def test_json_finds_citations_and_keeps_quoted_text() -> None:
    found = parse_citations(json.dumps([{**PIECE, "text": "Said so."}, {"answer": f"So {ALICE}"}]))
    assert found == [ALICE._replace(hash=PIECE["hash"], text="Said so."), ALICE]


slugs = st.from_regex(r"[a-z0-9é漢._'/-]{1,30}", fullmatch=True)


@given(slugs, st.integers(1, 10**6), st.integers(0, 500), st.binary(min_size=6, max_size=16))
def test_a_formatted_citation_parses_to_itself(
    name: str, first: int, more: int, digest: bytes
) -> None:
    try:
        slug = slug_from_path(name)
    except Exception:
        return
    written = Citation(slug, (first, first + more), digest.hex()[:12])
    assert parse_citations(f"As it says: {written}, or not.") == [written]


@given(st.text())
def test_any_text_can_be_searched_for_citations(text: str) -> None:
    for citation in parse_citations(text):
        assert citation.lines[0] <= citation.lines[1]


lines = st.lists(st.from_regex(r"[a-c]{0,3}", fullmatch=True), min_size=1, max_size=12)


@given(lines, st.data(), st.sampled_from(["\n", "\r\n", "\r", " \n", "\t\r\n"]))
def test_the_hash_of_lines_ignores_line_endings(
    page: list[str], data: st.DataObject, end: str
) -> None:
    written = [at for at, line in enumerate(page) if line]
    if not written:
        return
    first = data.draw(st.sampled_from(written))
    last = data.draw(st.sampled_from([at for at in written if at >= first]))
    text = end.join(page)
    assert split_lines(text) == page
    start = sum(len(line) + len(end) for line in page[:first])
    stop = sum(len(line) + len(end) for line in page[:last]) + len(page[last])
    expected = lines_hash(page[first : last + 1])
    assert hash_enclosing_lines(text.encode(), start, stop) == expected
    inner = data.draw(st.integers(start, start + len(page[first]) - 1))
    assert hash_enclosing_lines(text.encode(), inner, max(inner + 1, stop)) == expected
    assert first + 1 in find_lines_with_hash(expected[:12], page, last - first + 1)
