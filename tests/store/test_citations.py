"""What became of a cited text: every way a page can change under a citation."""

from __future__ import annotations

import pytest

from gbrain.brain import Brain
from gbrain.store.citations import CheckedCitation, verify_citation
from gbrain.text.citations import Citation, lines_hash, split_lines

PAGE = """---
title: Alice Chen
---
# Alice Chen

## Role
Founder of the notebook company by the harbour.
She designs its storage, and writes about it.

## Likes
Tea at four, long walks along the canal.
"""
ROLE = "## Role\nFounder of the notebook company by the harbour.\nShe designs its storage"


def cite(text: str, first: int, last: int, slug: str = "people/alice") -> Citation:
    return Citation(slug, (first, last), lines_hash(split_lines(text)[first - 1 : last])[:12])


@pytest.fixture
def alice(brain: Brain) -> Brain:
    brain.put("people/alice", PAGE.encode())
    return brain


def check(brain: Brain, citation: Citation) -> CheckedCitation:
    with brain.database.read_transaction() as connection:
        return verify_citation(connection, citation)


def test_unchanged(alice: Brain) -> None:
    citation = cite(PAGE, 6, 8)
    assert check(alice, citation) == CheckedCitation(citation, "unchanged", "people/alice", (6, 8))


def test_unchanged_while_other_lines_change(alice: Brain) -> None:
    alice.put("people/alice", PAGE.replace("Tea at four", "Coffee at five").encode())
    assert check(alice, cite(PAGE, 6, 8)).status == "unchanged"


def test_unchanged_when_only_line_ends_and_trailing_blanks_do(alice: Brain) -> None:
    alice.put("people/alice", PAGE.replace("\n", "  \r\n").encode())
    assert check(alice, cite(PAGE, 6, 8)).status == "unchanged"


def test_moved_down_its_page(alice: Brain) -> None:
    alice.put("people/alice", PAGE.replace("## Role", "New line.\n\n## Role").encode())
    found = check(alice, cite(PAGE, 6, 8))
    assert (found.status, found.slug, found.lines) == ("moved", "people/alice", (8, 10))


def test_moved_with_its_page_to_another_name(alice: Brain) -> None:
    alice.rename("people/alice", "people/alice-chen")
    found = check(alice, cite(PAGE, 6, 8))
    assert (found.status, found.slug, found.lines) == ("moved", "people/alice-chen", (6, 8))


def test_moved_though_its_old_name_is_used_again(alice: Brain) -> None:
    alice.rename("people/alice", "people/alice-chen")
    alice.put("people/alice", b"# Another Alice\n\nA potter.\n")
    found = check(alice, cite(PAGE, 6, 8))
    assert (found.status, found.slug) == ("moved", "people/alice-chen")


def test_moved_to_another_page_after_its_own_was_deleted(alice: Brain) -> None:
    alice.put("people/team", b"# Team\n\n" + "\n".join(PAGE.split("\n")[5:8]).encode() + b"\n")
    alice.delete("people/alice")
    found = check(alice, cite(PAGE, 6, 8))
    assert (found.status, found.slug, found.lines) == ("moved", "people/team", (3, 5))


def test_moved_when_a_paragraph_is_wrapped_anew(alice: Brain) -> None:
    citation = cite(PAGE, 7, 8)
    alice.put(
        "people/alice", PAGE.replace("harbour.\nShe designs", "harbour. She\ndesigns").encode()
    )
    found = check(alice, citation)
    assert (found.status, found.lines) == ("unchanged", (7, 8))
    alice.put("people/alice", PAGE.replace("harbour.\nShe", "harbour. She").encode())
    found = check(alice, citation)
    assert (found.status, found.lines) == ("moved", (7, 7))


def test_changed_says_until_when_it_stood(alice: Brain) -> None:
    alice.put("people/alice", PAGE.replace("its storage", "its search").encode())
    found = check(alice, cite(PAGE, 6, 8))
    assert (found.status, found.slug, found.lines, found.version) == (
        "changed",
        "people/alice",
        None,
        1,
    )
    assert found.until == "2026-11-16T12:00:00.000Z"


def test_gone_from_its_page_and_gone_with_it(alice: Brain) -> None:
    alice.put("people/alice", b"# Alice Chen\n\nNothing is known of her.\n")
    assert check(alice, cite(PAGE, 6, 8)).status == "gone"
    alice.delete("people/alice")
    found = check(alice, cite(PAGE, 6, 8))
    assert (found.status, found.slug, found.version) == ("gone", None, 1)


@pytest.mark.parametrize(
    "citation",
    [
        cite("Invented.\n" * 9, 6, 8),
        cite(PAGE, 6, 8, "people/nobody"),
        Citation("people/alice", (900, 950), "0" * 12),
    ],
)
def test_what_never_stood_there_is_unknown(alice: Brain, citation: Citation) -> None:
    assert check(alice, citation) == CheckedCitation(citation, "unknown")


def test_wrong_lines_with_the_right_hash_are_found_on_the_page(alice: Brain) -> None:
    found = check(alice, cite(PAGE, 6, 8)._replace(lines=(1, 3)))
    assert (found.status, found.lines) == ("moved", (6, 8))


def test_a_quoted_part_of_a_line_is_found_by_its_words(alice: Brain) -> None:
    quote = Citation("people/alice", (6, 8), "f" * 32, ROLE)
    found = check(alice, quote)
    assert (found.status, found.lines) == ("unchanged", (6, 8))
    alice.put("people/alice", ("\n" + PAGE.split("---\n", 2)[2]).encode())
    found = check(alice, quote)
    assert (found.status, found.lines) == ("moved", (4, 6))


def test_the_nearest_of_several_places_is_named(brain: Brain) -> None:
    text = "# List\n\n" + "".join(f"Number {n}.\n\nThe same line again.\n\n" for n in range(9))
    brain.put("list", text.encode())
    citation = cite(text, 21, 21, "list")
    brain.put("list", text.replace("Number 0.\n", "Number 0.\nMore.\n").encode())
    assert check(brain, citation).lines == (22, 22)


def test_a_word_inside_a_word_is_not_that_word(brain: Brain) -> None:
    brain.put("answers", b"# Answers\n\nyes\n")
    citation = cite("# Answers\n\nyes\n", 3, 3, "answers")
    brain.put("answers", b"# Answers\n\nyesterday\n")
    assert check(brain, citation).status == "gone"


def test_a_long_quotation_from_a_page_that_repeats_itself(brain: Brain) -> None:
    """Each of its many places would have to be compared over its whole length."""
    brain.put("again", b"again and\n" * 60_000)
    citation = Citation("again", (1, 2), "f" * 32, "again and " * 30_000)
    found = check(brain, citation)
    assert (found.status, found.lines) == ("moved", (1, 30_000))


@pytest.mark.parametrize("lines", [(6, 900), (700, 900)])
def test_lines_beyond_the_end_are_not_unchanged(alice: Brain, lines: tuple[int, int]) -> None:
    cited = split_lines(PAGE)[lines[0] - 1 : lines[1]]
    citation = Citation("people/alice", lines, lines_hash(cited))
    assert check(alice, citation).status != "unchanged"


def test_a_quotation_with_other_words_is_not_unchanged(alice: Brain) -> None:
    cited = cite(PAGE, 6, 8)
    words = "\n".join(split_lines(PAGE)[5:8])
    assert check(alice, cited._replace(text=words)).status == "unchanged"
    assert check(alice, cited._replace(text=words[3:-3])).status == "unchanged"
    forged = "Bob is a thief and will pay for all of it."
    assert check(alice, cited._replace(text=forged)).status == "gone"
