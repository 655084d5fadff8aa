"""Check whether cited lines are unchanged, moved, changed or gone."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gbrain.store.history import decompress_version
from gbrain.store.pages import page_text
from gbrain.text.citations import Citation, find_lines_with_hash, lines_hash, split_lines
from gbrain.text.query_terms import fts_expression
from gbrain.types import Term

CitationStatus = Literal["unchanged", "moved", "changed", "gone", "unknown"]

# Versions of a page looked through for what was cited, and pages that may have taken it over.
_VERSIONS = 200
_OTHER_PAGES = 20
# Words that such a page is found by; with fewer the same line may stand there by chance.
_PHRASE_WORDS, _TELLING_WORDS = 8, 4
# Characters compared in search of a text, which may stand anywhere in a page that repeats itself.
_COMPARED = 100_000_000
# Lines hashed in search of a stretch that only its hash tells.
_HASHED_LINES = 1_000_000
# Less than this share of the words' triples left over, and the text is gone from its page.
_LEFT_OVER = 0.3


class CheckedCitation(NamedTuple):
    """A citation with what became of its text.

    `slug` and `lines` say where the text stands now, None when it does not. `version` is the last
    one of the page that held it, and `until` the time that ended.
    """

    citation: Citation
    status: CitationStatus
    slug: str | None = None
    lines: tuple[int, int] | None = None
    version: int | None = None
    until: str | None = None


class _Past(NamedTuple):
    """Cited text as an earlier version held it."""

    text: str
    version: int
    until: str


def verify_citation(connection: sqlite3.Connection, citation: Citation) -> CheckedCitation:
    """What became of a cited text.

    Unchanged: it stands there. Moved: it stands elsewhere, on its page (perhaps renamed) or on
    another. Changed: its page is there and holds only part of it. Gone: its page or the text went
    away. Unknown: the brain never held such a text there.
    """
    first, last = citation.lines
    holders = _holders(connection, citation.slug)
    texts = {page_id: page_text(connection, page_id) for page_id, _ in holders}
    for page_id, slug in holders:
        lines = split_lines(texts[page_id])[first - 1 : last]
        if slug == citation.slug and lines_hash(lines).startswith(citation.hash):
            return CheckedCitation(citation, "unchanged", slug, citation.lines)
    past = _past(connection, citation)
    known = past.text if past else citation.text
    for page_id, slug in holders:
        place = _place(texts[page_id], citation, known)
        if place:
            same = slug == citation.slug and place == citation.lines
            return CheckedCitation(citation, "unchanged" if same else "moved", slug, place)
    if known is None:
        return CheckedCitation(citation, "unknown")
    for page_id, slug in _pages_with(connection, known):
        place = _place(page_text(connection, page_id), citation, known)
        if place:
            return CheckedCitation(citation, "moved", slug, place)
    version, until = (past.version, past.until) if past else (None, None)
    for page_id, slug in holders:
        if _share_left(known, texts[page_id]) >= _LEFT_OVER:
            return CheckedCitation(citation, "changed", slug, None, version, until)
    return CheckedCitation(citation, "gone", None, None, version, until)


def _holders(connection: sqlite3.Connection, slug: str) -> list[tuple[int, str]]:
    """(id, slug now) of the page called `slug`, then of pages that once were."""
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE slug = ?1 OR id IN "
        "(SELECT page_id FROM versions WHERE slug = ?1) ORDER BY slug <> ?1, id",
        (slug,),
    )
    return rows.fetchall()


def _past(connection: sqlite3.Connection, citation: Citation) -> _Past | None:
    """The cited lines in the latest version that held them."""
    first, last = citation.lines
    for content, version, until in connection.execute(
        "SELECT content, version, ended_at FROM versions WHERE page_id IN "
        "(SELECT page_id FROM versions WHERE slug = ?1 "
        "UNION SELECT id FROM pages WHERE slug = ?1) ORDER BY ended_at DESC, version DESC LIMIT ?2",
        (citation.slug, _VERSIONS),
    ):
        lines = split_lines(decompress_version(content))[first - 1 : last]
        if lines_hash(lines).startswith(citation.hash):
            return _Past("\n".join(lines), version, until)
    return None


def _place(page: str, citation: Citation, known: str | None) -> tuple[int, int] | None:
    """The lines of a page that hold the cited text, the nearest to where it was."""
    found = _places_of_text(page, known) if known else _places_of_hash(page, citation)
    first = citation.lines[0]
    return min(found, key=lambda place: (abs(place[0] - first), place), default=None)


def _places_of_hash(page: str, citation: Citation) -> Iterator[tuple[int, int]]:
    lines = split_lines(page)
    count = citation.lines[1] - citation.lines[0] + 1
    if count * (len(lines) - count + 1) > _HASHED_LINES:
        return
    for first in find_lines_with_hash(citation.hash, lines, count):
        yield first, first + count - 1


def _places_of_text(page: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the words of `text` stand one after the other, however lines are broken."""
    wanted = " ".join(text.split())
    numbered = [
        (number, " ".join(line.split()))
        for number, line in enumerate(split_lines(page), 1)
        if line.strip()
    ]
    starts, at = [], 0
    for _, line in numbered:
        starts.append(at)
        at += len(line) + 1
    running = " ".join(line for _, line in numbered)
    start = running.find(wanted) if wanted else -1
    for _ in range(_COMPARED // max(len(wanted), 1)):
        if start < 0:
            return
        stop = start + len(wanted)
        if not (_inside_word(running, start) or _inside_word(running, stop)):
            first = numbered[bisect_right(starts, start) - 1][0]
            last = numbered[bisect_right(starts, stop - 1) - 1][0]
            yield first, last
        start = running.find(wanted, start + 1)


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _pages_with(connection: sqlite3.Connection, text: str) -> list[tuple[int, str]]:
    """(id, slug) of pages that hold the first words of the text's longest line."""
    longest = max(text.split("\n"), key=len)
    words = [word for word in longest.split() if any(map(str.isalnum, word))][:_PHRASE_WORDS]
    if len(words) < _TELLING_WORDS:
        return []
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE id IN (SELECT chunks.page_id FROM chunks_fts "
        "JOIN chunks ON chunks.id = chunks_fts.rowid WHERE chunks_fts MATCH ?) "
        "ORDER BY slug LIMIT ?",
        (fts_expression((Term(tuple(words), quoted=True),)), _OTHER_PAGES),
    )
    return rows.fetchall()


def _share_left(text: str, page: str) -> float:
    """The share of the text's word triples (or words, if it has no more) that a page holds."""
    size = min(3, len(text.split()))
    wanted, there = (_runs(words, size) for words in (text.split(), page.split()))
    return len(wanted & there) / len(wanted) if wanted else 0.0


def _runs(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if size else set()
