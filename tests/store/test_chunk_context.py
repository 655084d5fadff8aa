"""What stands around chunks: sharing their text, beside them, or a link away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from gbrain.brain import Brain
from gbrain.store.chunk_context import (
    missing_terms_by_chunk,
    related_chunks,
    term_offsets,
    texts_with_next_chunk,
    with_adjacent_chunks,
)
from gbrain.store.chunks import page_chunks
from gbrain.store.pages import page_text, require_page
from gbrain.types import Scope, Term


@pytest.fixture
def connection(brain: Brain) -> Iterator[sqlite3.Connection]:
    talk = "\n".join(f"Line {n} tells of herons and reeds at some length." for n in range(60))
    brain.put("talk", f"# Talk\n{talk}\n## Links\n[[mill]] [[people/ada]] [[mill]]\n".encode())
    brain.put("mill", b"## First\nThe windmill.\n## Second\nIts sails.\n")
    brain.put("people/ada", "Ada keeps 知识管理 notes, see [[talk]].\n".encode())
    with brain.database.read_transaction() as reading:
        yield reading


def chunks(connection: sqlite3.Connection, slug: str) -> list[int]:
    page = require_page(connection, slug)
    return [passage.id for passage in page_chunks(connection, page.id)]


def test_adjacent_chunks_are_returned_in_page_order(connection: sqlite3.Connection) -> None:
    first, second, third, *_, before_last, last = chunks(connection, "talk")
    found = with_adjacent_chunks(connection, [last, second])
    assert [span.id for span in found] == [first, second, third, before_last, last]
    before, own, after = found[:3]
    assert own.start < before.stop <= after.start < own.stop


def test_unknown_chunks_have_no_adjacent_ones(connection: sqlite3.Connection) -> None:
    assert with_adjacent_chunks(connection, [987654]) == []
    assert list(related_chunks(connection, [987654], Scope())) == []


def test_terms_are_found_at_their_bytes(connection: sqlite3.Connection) -> None:
    (ada,) = chunks(connection, "people/ada")
    (text, offsets) = term_offsets(connection, Term(("note",)), [ada])[ada]
    assert [text.encode()[at:].split()[0] for at in offsets] == [b"notes,"]
    (text, offsets) = term_offsets(connection, Term(("管理",)), [ada])[ada]
    assert [text.encode()[at:].decode()[:2] for at in offsets] == ["管理"]
    assert term_offsets(connection, Term(("heron",)), [ada]) == {}


def test_the_next_chunk_of_a_section_is_appended(connection: sqlite3.Connection) -> None:
    page = require_page(connection, "talk")
    first, second, third, *_, last, links = page_chunks(connection, page.id)
    read = texts_with_next_chunk(connection, [second, last, first, links])
    assert list(read) == [second.id, last.id, first.id, links.id]
    assert read[first.id].startswith(first.text)
    assert read[first.id].endswith(second.text)
    assert f"\n{read[first.id]}\n" in page_text(connection, page.id)
    assert read[second.id].endswith(third.text)
    assert (read[last.id], read[links.id]) == (last.text, links.text)


def test_neighbours_come_before_linked_pages(connection: sqlite3.Connection) -> None:
    talk, mill, ada = (chunks(connection, slug) for slug in ("talk", "mill", "people/ada"))
    found = [
        (passage.id, role) for passage, role in related_chunks(connection, [talk[-1]], Scope())
    ]
    assert found == [(talk[-2], "neighbour"), (mill[0], "linked"), (ada[0], "linked")]
    people = [passage.id for passage, _ in related_chunks(connection, talk, Scope(wing="people"))]
    assert people == [ada[0]]


def test_chunks_are_listed_with_the_terms_that_were_missing(connection: sqlite3.Connection) -> None:
    talk, mill, ada = (chunks(connection, slug) for slug in ("talk", "mill", "people/ada"))
    heron, mills, sail, wisdom = (Term((word,)) for word in ("heron", "windmills", "sail", "知识"))
    terms = (heron, mills, sail, wisdom)
    assert missing_terms_by_chunk(connection, terms, talk, [*mill, *ada]) == {
        mill[0]: {mills},
        mill[1]: {sail},
        ada[0]: {wisdom},
    }
    assert missing_terms_by_chunk(connection, terms, [*talk, *mill, *ada], talk) == {}
