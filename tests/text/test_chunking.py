"""Chunks: whole units that cover their section, and ranges that lead back to the bytes."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gbrain.text.chunking import (
    MAX_CHUNK_TOKENS,
    MAX_UNSPLIT_TOKENS,
    MAX_WORD_CHARACTERS,
    content_hash,
    embedding_text,
    estimate_tokens,
    find_long_words,
    split_section,
)
from gbrain.text.page import parse_page
from gbrain.types import Chunk, Section

_PIECES = [
    "word ",
    "word " * 70,
    "One sentence here. ",
    "Another one? ",
    "\n",
    "\n\n",
    "\r\n\r\n",
    "- item\n",
    "x" * 500,
    "x," * 250,
    ("aB3/" * 20 + "\n\n") * 4,
    "知识管理。" * 40,
    "🚀",
    "a" * 7,
    "   ",
    "\t",
    "1) first\n",
    "`code`\n",
    "> q\n",
    "éü " * 50,
]
bodies = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=20)), max_size=25).map(
    "".join
)

_PAGE_LINES = [
    "",
    "# Title",
    "## Part",
    "## Timeline",
    "---",
    "- 2026-04-03 — Joined",
    "  more",
    "- plain",
    "word " * 90,
    "One sentence. " * 30,
    "知" * 200,
    "```",
    "Ünï 🚀",
    "x" * 400,
    "title: x",
    "\ufeff",
]
pages = st.lists(
    st.tuples(
        st.one_of(
            st.sampled_from(_PAGE_LINES),
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
        ),
        st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    ),
    max_size=20,
).map(lambda lines: "# Page\n" + "".join(line + end for line, end in lines))


def spans(text: str, start: int = 0, text_start: int = 0) -> tuple[tuple[int, int], ...]:
    section = Section("truth", (), start, text_start, len(text))
    return split_section(text, section, find_long_words(text))


def chunks(text: str) -> tuple[Chunk, ...]:
    return parse_page("page.md", text.encode()).chunks


def test_a_short_section_is_one_chunk() -> None:
    text = "A few words. And a few more.\n\nAnother paragraph."
    assert spans(text) == ((0, len(text)),)


def test_a_long_section_splits_at_paragraphs_with_an_overlap() -> None:
    paragraphs = [f"{name} " + "word " * 49 + "\n\n" for name in ("One", "Two", "Three", "Four")]
    text = "".join(paragraphs)
    cut = [text[start:stop] for start, stop in spans(text)]
    assert cut == ["".join(paragraphs[n : n + 2]) for n in (0, 1, 2)]


def test_a_long_paragraph_splits_at_sentences() -> None:
    text = "".join(f"Sentence number {n} says a little something here. " for n in range(40))
    cut = spans(text)
    assert len(cut) > 1
    for start, stop in cut:
        assert text[start:stop].startswith("Sentence number")
        assert text[start:stop].rstrip().endswith("here.")


def test_text_without_sentences_splits_at_spaces_or_anywhere() -> None:
    for text in ("word " * 2000, "x," * 5_000, "知" * 2000):
        cut = spans(text)
        assert len(cut) > 5
        assert all(estimate_tokens(text[a:b]) <= 2 * MAX_CHUNK_TOKENS for a, b in cut)


@given(bodies, st.integers(0, 50))
@example("word " * 131, 0)
def test_chunks_cover_their_section_in_order(text: str, heading: int) -> None:
    text_start = min(heading, len(text))
    cut = spans(text, 0, text_start)
    assert cut[0][0] == 0
    assert cut[-1][1] == len(text)
    for (start, stop), (next_start, next_stop) in pairwise(cut):
        assert start < next_start <= stop < next_stop


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40))
def test_chunks_overlap_by_at_most_one_sentence(lengths: list[int]) -> None:
    sentences = [f"Start{n} " + "word " * length + "end. " for n, length in enumerate(lengths)]
    text = "".join(sentences)
    edges = {sum(map(len, sentences[:n])): n for n in range(len(sentences) + 1)}
    for (_, stop), (next_start, _) in pairwise(spans(text)):
        assert edges[stop] - edges[next_start] in (0, 1)


@given(bodies)
def test_there_are_no_more_chunks_than_needed(text: str) -> None:
    if estimate_tokens(text) <= MAX_UNSPLIT_TOKENS:
        assert len(spans(text)) == 1


@given(pages)
def test_bytes_and_lines_of_a_chunk_point_to_its_text(text: str) -> None:
    data = text.encode()
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    for chunk in chunks(text):
        cut = data[chunk.byte_start : chunk.byte_stop].decode()
        assert cut.strip().endswith(chunk.text)
        assert 1 <= chunk.first_line <= chunk.last_line <= len(lines)
        assert chunk.text in "".join(lines[chunk.first_line - 1 : chunk.last_line])


@given(pages)
def test_sections_and_parts_are_numbered_without_gaps(text: str) -> None:
    found = chunks(text)
    places = [(chunk.section, chunk.part) for chunk in found]
    assert places == sorted(set(places))
    for (section, part), (next_section, next_part) in pairwise(places):
        assert (next_section, next_part) in ((section, part + 1), (section + 1, 0))


@given(st.lists(st.tuples(st.sampled_from(["", "# ", "#### ", "- ", "> "]), st.integers(1, 200))))
def test_every_word_is_in_a_chunk_or_a_heading_path(paragraphs: list[tuple[str, int]]) -> None:
    blocks = [
        mark + " ".join(f"w{n}x{word}" for word in range(length))
        for n, (mark, length) in enumerate(paragraphs)
    ]
    text = "\n\n".join([*blocks, "The end."])
    found = chunks(text)
    said = {word for chunk in found for word in chunk.text.split()}
    named = {word for chunk in found for name in chunk.heading_path for word in name.split()}
    for block, (mark, _) in zip(blocks, paragraphs, strict=True):
        words = block.removeprefix(mark).split()
        assert mark.startswith("#") or said.issuperset(words)
    assert blocks == [] or not blocks[-1].startswith("#") or blocks[-1].split()[1] in named


def test_an_entry_is_a_chunk_with_its_date_and_path() -> None:
    text = "# Alice\n\nFounder.\n\n---\n## Timeline\n- **2026-03** | podcast — Lukewarm\n  on RAG\n"
    entry = chunks(text)[-1]
    assert (entry.kind, entry.date, entry.first_day, entry.last_day) == (
        "timeline",
        "2026-03",
        "2026-03-01",
        "2026-03-31",
    )
    assert entry.heading_path == ("Alice", "Timeline")
    assert (entry.first_line, entry.last_line) == (7, 8)
    assert entry.text == "- **2026-03** | podcast — Lukewarm\n  on RAG"


def test_front_matter_counts_in_bytes_and_lines() -> None:
    text = "---\ntitle: Ünï\n---\n# Ünï\n\nWörds.\n"
    chunk = chunks(text)[0]
    assert (chunk.first_line, chunk.last_line, chunk.text) == (4, 6, "Wörds.")
    assert text.encode()[chunk.byte_start : chunk.byte_stop].decode() == "# Ünï\n\nWörds.\n"


def test_a_bare_heading_is_a_chunk_only_if_it_is_the_whole_page() -> None:
    assert [chunk.heading_path for chunk in chunks("# A\n## B\nb\n")] == [("A", "B")]
    assert [chunk.heading_path for chunk in chunks("# A\n")] == [("A",)]
    assert [chunk.text for chunk in chunks("# A\na\n\n---\n## Timeline\n- 2026 — x\n")] == [
        "a",
        "- 2026 — x",
    ]
    assert chunks("") == ()


def test_embedded_text_starts_with_title_date_and_headings() -> None:
    assert (
        embedding_text("Alice", ("Alice", "Role"), "2026", "Words") == "Alice · 2026 · Role\nWords"
    )
    assert embedding_text("Alice", (), None, "Words") == "Alice\nWords"


URL = "https://docs.example.org/d/1aB3xQ9" + "aB3xQ9%20" * 90 + "?usp=sharing&ouid=117"
IMAGE = "data:image/png;base64,iVBORw0KGgo" + "aB3/xQ9+" * 2000
NOTE = (
    f"# Roof\n\nThe roofer starts in April. [Offer with prices]({URL}) — he asks for a third of "
    f"the sum.\n\nIt is above the kitchen:\n![damage]({IMAGE}) as seen from the ladder, very wet.\n"
)


def test_no_chunk_ends_inside_a_long_url_or_an_image() -> None:
    texts = [chunk.text for chunk in chunks(NOTE)]
    assert len(texts) < 8
    for whole in (f"[Offer with prices]({URL})", f"![damage]({IMAGE})"):
        assert sum(whole in text for text in texts) == 1
    for sentence in ("he asks for a third of the sum.", "as seen from the ladder, very wet."):
        assert any(sentence in text for text in texts)


@pytest.mark.parametrize("between", ["\n", "\r\n", "\n\n", "\n    "])
def test_lines_of_encoded_data_stay_in_one_chunk(between: str) -> None:
    data = between.join(["aB3/xQ9+" * 8] * 100)
    found = chunks(f"# Key\n\nOf the server in the cellar.\n\n```\n{data}\n```\n\nKeep it.\n")
    assert sum(data in chunk.text for chunk in found) == 1
    assert len(found) < 4
    assert len(embedding_text("Key", (), None, data)) < 2 * MAX_WORD_CHARACTERS


def test_only_the_start_of_a_long_url_or_image_is_embedded() -> None:
    assert embedding_text("Roof", (), None, f"Offer: {URL} by mail") == (
        f"Roof\nOffer: {URL[:MAX_WORD_CHARACTERS]} by mail"
    )
    found = chunks(NOTE)
    embedded = [embedding_text("Roof", (), None, chunk.text) for chunk in found]
    assert [chunk.hash for chunk in found] == [content_hash(text) for text in embedded]
    assert max(map(len, embedded)) < 2 * MAX_WORD_CHARACTERS + 200


@pytest.mark.parametrize(
    "text",
    [
        "https://en.wikipedia.org/wiki/Chester_Hill,_New_South_Wales#History",
        "知识管理。" * 100,
        "见https://example.org/a?b=c。" + "知识管理。" * 100,
        ",".join(f"item-{number}" for number in range(100)),
        '{"event":"stopped","reason":"' + "disk full, " * 40 + '"}',
        "word " * 100,
        "src/store/read_pages.py\n" * 100,
        "\n".join(["aB3/xQ9+" * 8] * 3),
    ],
)
def test_other_text_is_embedded_whole(text: str) -> None:
    assert find_long_words(text) == []
    assert embedding_text("Title", (), None, text) == f"Title\n{text}"


def test_the_same_text_has_the_same_hash_anywhere() -> None:
    one, other = "# T\n\nSame words.\n", "# T\n\n## New\n\nnew\n\n# T\n\nSame words.\n"
    assert chunks(one)[0].hash == chunks(other)[-1].hash == content_hash("T\nSame words.")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), (" \n\t", 0), ("river", 1), ("the river, wide", 4), ("2026-04-03", 6), ("知识", 2)],
)
def test_words_digits_and_signs_are_counted(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_token_counts_of_separate_texts_add_up(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n{other}") == estimate_tokens(one) + estimate_tokens(other)


@given(st.text())
def test_there_are_never_more_tokens_than_characters(text: str) -> None:
    assert estimate_tokens(text) <= len(text)
