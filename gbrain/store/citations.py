"""Check whether cited lines are unchanged, moved, changed or gone."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gbrain.store.history import decompress_version, sequence_of_end
from gbrain.store.pages import page_text
from gbrain.text.citations import Citation, find_lines_with_hash, lines_hash, split_lines
from gbrain.text.query_terms import fts_expression
from gbrain.types import Term

CitationStatus = Literal["unchanged", "moved", "changed", "gone", "unknown"]

# Earlier versions, and other pages, in which the cited text is searched.
_MAX_VERSIONS = 200
_MAX_OTHER_PAGES = 20
# Words of the phrase by which other pages are found; a shorter one may be there by chance.
_PHRASE_WORDS, _MIN_PHRASE_WORDS = 8, 4
# Bounds on the work for a page that repeats itself: characters compared, lines hashed.
_MAX_COMPARED_CHARACTERS = 100_000_000
_MAX_HASHED_LINES = 1_000_000
# With a smaller share of the word triples left on its page, the text is gone, not changed.
_MIN_SHARE_LEFT = 0.3


class CheckedCitation(NamedTuple):
    """A citation and the status of its text.

    `slug` and `lines` say where the text is now, None if nowhere. `version` is the last version
    of the page that contained it, `until` the time when that version ended.
    """

    citation: Citation
    status: CitationStatus
    slug: str | None = None
    lines: tuple[int, int] | None = None
    version: int | None = None
    until: str | None = None


class _CitedVersion(NamedTuple):
    """The cited text in an earlier version of its page."""

    text: str
    version: int
    until: str


def verify_citation(connection: sqlite3.Connection, citation: Citation) -> CheckedCitation:
    """Return whether a cited text is still where it was cited.

    Unchanged: it is. Moved: it is elsewhere on its page (which may be renamed) or on another page.
    Changed: only a part of it is left on its page. Gone: the page or the text was deleted.
    Unknown: the brain has never had this text there.
    """
    candidates = _pages_with_slug(connection, citation.slug)
    texts = {page_id: page_text(connection, page_id) for page_id, _ in candidates}
    for page_id, slug in candidates:
        if slug == citation.slug and _has_cited_lines(texts[page_id], citation):
            return CheckedCitation(citation, "unchanged", slug, citation.lines)
    past = _find_version(connection, citation)
    known = past.text if past else citation.text
    for page_id, slug in candidates:
        place = _find_lines(texts[page_id], citation, known)
        if place:
            same = slug == citation.slug and place == citation.lines
            return CheckedCitation(citation, "unchanged" if same else "moved", slug, place)
    if known is None:
        return CheckedCitation(citation, "unknown")
    for page_id, slug in _pages_with_phrase(connection, known):
        place = _find_lines(page_text(connection, page_id), citation, known)
        if place:
            return CheckedCitation(citation, "moved", slug, place)
    version, until = (past.version, past.until) if past else (None, None)
    for page_id, slug in candidates:
        if _share_left(known, texts[page_id]) >= _MIN_SHARE_LEFT:
            return CheckedCitation(citation, "changed", slug, None, version, until)
    return CheckedCitation(citation, "gone", None, None, version, until)


def _has_cited_lines(page: str, citation: Citation) -> bool:
    """Tell whether the cited lines have the cited hash, and the quoted text if there is one."""
    first, last = citation.lines
    lines = split_lines(page)
    cited = lines[first - 1 : last]
    if last > len(lines) or not any(cited) or not lines_hash(cited).startswith(citation.hash):
        return False
    return " ".join((citation.text or "").split()) in " ".join(" ".join(cited).split())


def _pages_with_slug(connection: sqlite3.Connection, slug: str) -> list[tuple[int, str]]:
    """Return (id, slug) of the page with this slug, then of pages that once had it."""
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE slug = ?1 OR id IN "
        "(SELECT page_id FROM versions WHERE slug = ?1) ORDER BY slug <> ?1, id",
        (slug,),
    )
    return rows.fetchall()


def _find_version(connection: sqlite3.Connection, citation: Citation) -> _CitedVersion | None:
    """Return the cited lines from the latest version that has them; None if none has."""
    first, last = citation.lines
    for content, version, until in connection.execute(
        "SELECT content, version, ended_at FROM versions WHERE page_id IN "
        "(SELECT page_id FROM versions WHERE slug = ?1 "
        "UNION SELECT id FROM pages WHERE slug = ?1) "
        f"ORDER BY {sequence_of_end('versions')} DESC LIMIT ?2",
        (citation.slug, _MAX_VERSIONS),
    ):
        lines = split_lines(decompress_version(content))[first - 1 : last]
        if lines_hash(lines).startswith(citation.hash):
            return _CitedVersion("\n".join(lines), version, until)
    return None


def _find_lines(page: str, citation: Citation, known: str | None) -> tuple[int, int] | None:
    """Return the (first, last) lines with the cited text that are nearest to the cited lines."""
    found = _lines_with_text(page, known) if known else _lines_with_hash(page, citation)
    first = citation.lines[0]
    return min(found, key=lambda place: (abs(place[0] - first), place), default=None)


def _lines_with_hash(page: str, citation: Citation) -> Iterator[tuple[int, int]]:
    lines = split_lines(page)
    count = citation.lines[1] - citation.lines[0] + 1
    if count * (len(lines) - count + 1) > _MAX_HASHED_LINES:
        return
    for first in find_lines_with_hash(citation.hash, lines, count):
        yield first, first + count - 1


def _lines_with_text(page: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the (first, last) lines that contain the words of `text`, ignoring line breaks."""
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
    for _ in range(_MAX_COMPARED_CHARACTERS // max(len(wanted), 1)):
        if start < 0:
            return
        stop = start + len(wanted)
        if not (_is_inside_word(running, start) or _is_inside_word(running, stop)):
            first = numbered[bisect_right(starts, start) - 1][0]
            last = numbered[bisect_right(starts, stop - 1) - 1][0]
            yield first, last
        start = running.find(wanted, start + 1)


def _is_inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _pages_with_phrase(connection: sqlite3.Connection, text: str) -> list[tuple[int, str]]:
    """Return (id, slug) of pages with the first words of the text's longest line, by slug."""
    longest = max(text.split("\n"), key=len)
    words = [word for word in longest.split() if any(map(str.isalnum, word))][:_PHRASE_WORDS]
    if len(words) < _MIN_PHRASE_WORDS:
        return []
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE id IN (SELECT chunks.page_id FROM chunks_fts "
        "JOIN chunks ON chunks.id = chunks_fts.rowid WHERE chunks_fts MATCH ?) "
        "ORDER BY slug LIMIT ?",
        (fts_expression((Term(tuple(words), quoted=True),)), _MAX_OTHER_PAGES),
    )
    return rows.fetchall()


def _share_left(text: str, page: str) -> float:
    """Return the share of the text's word triples (shorter runs if it is shorter) on a page."""
    size = min(3, len(text.split()))
    wanted, there = (_word_runs(words, size) for words in (text.split(), page.split()))
    return len(wanted & there) / len(wanted) if wanted else 0.0


def _word_runs(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if size else set()
