"""Keep the search tables of a shared store in step with its pages; check and rebuild them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from gbrain.errors import BadPage
from gbrain.store.keyword_tokens import KeywordTokenizer
from gbrain.store.page_writer import name_keys
from gbrain.store.postgres.word_vectors import make_vector
from gbrain.text.slug import fold_name

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.types import Page

QUESTION = "question"
_REBUILT_AT_ONCE = 200


class PageEntry(NamedTuple):
    """The rows of one page in the search tables; a deleted page has none."""

    slug: str
    page: tuple[object, ...]
    chunks: list[tuple[object, ...]]
    names: list[tuple[str, str]]
    links: list[str]


@cache
def keyword_tokenizer() -> KeywordTokenizer:
    """Return the tokenizer of this process, which remembers stems."""
    return KeywordTokenizer()


def make_entries(texts: Iterable[tuple[str, str, str | None]]) -> list[PageEntry]:
    """Return the entries of pages given as (slug, path, text); the text of a deleted one is None.

    A text that is no page has no rows: it is shared, but not found. Call this before taking locks.
    """
    from gbrain.text.page import parse_page

    entries = []
    for slug, path, text in texts:
        entry = PageEntry(slug, (), [], [], [])
        if text is not None:
            try:
                page = parse_page(path, text.encode())
            except (BadPage, UnicodeEncodeError):
                page = None
            if page is not None and page.slug == slug:
                entry = _make_entry(page)
        entries.append(entry)
    return entries


def _make_entry(page: Page) -> PageEntry:
    from gbrain.text.page import authored_questions

    tags, aliases = "\n".join(page.tags), "\n".join(page.aliases)
    questions = authored_questions(page.meta)
    headings = [json.dumps(chunk.heading_path, ensure_ascii=False) for chunk in page.chunks]
    texts = [
        page.title, aliases, page.slug, tags, page.compiled_truth, page.timeline,
        "\n".join(questions), *headings, *(chunk.text for chunk in page.chunks),
    ]  # fmt: skip
    title, *words = keyword_tokenizer().words(texts)
    of_page = make_vector([title, *words[:5]], "AB")
    asked = make_vector([words[5]])
    of_headings, of_texts = words[6 : 6 + len(headings)], words[6 + len(headings) :]
    chunks: list[tuple[object, ...]] = []
    for position, chunk in enumerate(page.chunks):
        found = make_vector([title, of_headings[position], of_texts[position]], "A")
        chunks.append((
            position, chunk.hash, chunk.date, chunk.first_day, chunk.last_day,
            found.length, found.bounds, found.text,
        ))  # fmt: skip
    row = (
        page.slug, page.type, page.wing, page.room, page.date, page.first_day, page.last_day,
        list(page.tags), _without_nul(page.meta), len(chunks),
        of_page.length, of_page.bounds, asked.length, of_page.text, asked.text,
    )  # fmt: skip
    names = sorted({*name_keys(page), *((fold_name(text), QUESTION) for text in questions)})
    return PageEntry(page.slug, row, chunks, [name for name in names if name[0]],
                     [fold_name(link.target) for link in page.links])  # fmt: skip


def _without_nul(meta: str) -> str:
    """Return JSON that jsonb can store: it has no character U+0000."""
    return meta.replace("\\u0000", "")


_PAGE: LiteralString = (
    "INSERT INTO gbrain.search_pages (slug, type, wing, room, date, first_day, last_day, tags, "
    "meta, chunks, length, bounds, question_length, words, questions, sequence) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s::text[], %s::jsonb, %s, %s, %s::int[], %s, "
    "%s::text::tsvector, %s::text::tsvector, "
    "(SELECT sequence FROM gbrain.pages WHERE slug = %s)) "
    "ON CONFLICT (slug) DO UPDATE SET type = excluded.type, wing = excluded.wing, "
    "room = excluded.room, date = excluded.date, first_day = excluded.first_day, "
    "last_day = excluded.last_day, tags = excluded.tags, meta = excluded.meta, "
    "chunks = excluded.chunks, length = excluded.length, bounds = excluded.bounds, "
    "question_length = excluded.question_length, words = excluded.words, "
    "questions = excluded.questions, sequence = excluded.sequence"
)
_CHUNK: LiteralString = (
    "INSERT INTO gbrain.search_chunks (page, position, hash, date, first_day, last_day, length, "
    "bounds, words) VALUES (%s, %s, %s, %s, %s, %s, %s, %s::int[], %s::text::tsvector)"
)
# Counts of the words on given pages, to add to the statistics or to subtract from them. Rows are
# taken in one order, although whoever changes pages holds the lock on the state.
_TERM_COUNTS: LiteralString = (
    "SELECT term, sum(on_pages) AS on_pages, sum(in_chunks) AS in_chunks FROM ("
    "SELECT unnest(tsvector_to_array(words)) AS term, 1 AS on_pages, 0 AS in_chunks "
    "FROM gbrain.search_pages WHERE {pages} UNION ALL "
    "SELECT unnest(tsvector_to_array(words)), 0, 1 FROM gbrain.search_chunks WHERE {chunks}"
    ") AS counted GROUP BY term"
)
_TOTALS: LiteralString = (
    "SELECT count(*) AS pages, coalesce(sum(chunks), 0) AS chunks, "
    "coalesce(sum(length), 0) AS page_words, coalesce((SELECT sum(c.length) "
    "FROM gbrain.search_chunks c WHERE {chunks}), 0) AS chunk_words, "
    "count(*) FILTER (WHERE question_length > 0) AS question_pages, "
    "coalesce(sum(question_length), 0) AS question_words FROM gbrain.search_pages WHERE {pages}"
)
_SOME: dict[str, LiteralString] = {"pages": "id = ANY(%(ids)s)", "chunks": "page = ANY(%(ids)s)"}
_ALL: dict[str, LiteralString] = {"pages": "true", "chunks": "true"}


def write_entries(cursor: Cursor[Row], entries: Sequence[PageEntry]) -> None:
    """Replace what the search tables have of these pages, in the transaction that writes them.

    Call this after the pages are written. The lock on the state, which that transaction holds, is
    what keeps the counts right with several writers.
    """
    slugs = [entry.slug for entry in entries]
    if not slugs:
        return
    cursor.execute("SELECT 1 FROM gbrain.state FOR UPDATE")
    before = _page_ids(cursor, slugs)
    known = list(before.values())
    unused: list[str] = []
    if known:
        unused = _add_counts(cursor, known, -1)
        for table in ("search_chunks", "search_names", "search_links"):
            cursor.execute(f"DELETE FROM gbrain.{table} WHERE page = ANY(%s)", (known,))
    gone = [entry.slug for entry in entries if not entry.page]
    if gone:
        cursor.execute("DELETE FROM gbrain.search_pages WHERE slug = ANY(%s)", (gone,))
    written = [entry for entry in entries if entry.page]
    if written:
        cursor.executemany(_PAGE, [(*entry.page, entry.slug) for entry in written])
        ids = _page_ids(cursor, [entry.slug for entry in written])
        _write_parts(cursor, [(ids[entry.slug], entry) for entry in written])
        _add_counts(cursor, list(ids.values()), 1)
    if unused:
        cursor.execute(
            "DELETE FROM gbrain.search_terms WHERE term = ANY(%s) AND pages <= 0 AND chunks <= 0",
            (unused,),
        )


def _page_ids(cursor: Cursor[Row], slugs: list[str]) -> dict[str, int]:
    rows = cursor.execute("SELECT slug, id FROM gbrain.search_pages WHERE slug = ANY(%s)", (slugs,))
    return dict(rows.fetchall())


def _write_parts(cursor: Cursor[Row], written: Sequence[tuple[int, PageEntry]]) -> None:
    """Write the chunks, names and links of pages that have none."""
    cursor.executemany(_CHUNK, [(page, *row) for page, entry in written for row in entry.chunks])
    cursor.executemany(
        "INSERT INTO gbrain.search_names (page, key, kind) VALUES (%s, %s, %s)",
        [(page, *name) for page, entry in written for name in entry.names],
    )
    cursor.executemany(
        "INSERT INTO gbrain.search_links (page, position, key) VALUES (%s, %s, %s)",
        [(page, n, key) for page, entry in written for n, key in enumerate(entry.links)],
    )


def _add_counts(cursor: Cursor[Row], ids: list[int], sign: int) -> list[str]:
    """Add the words of these pages to the statistics, or subtract them; return unused words."""
    values = {"ids": ids, "sign": sign}
    rows = cursor.execute(
        "WITH changed AS (INSERT INTO gbrain.search_terms AS known (term, pages, chunks) "
        "SELECT term, on_pages * %(sign)s, in_chunks * %(sign)s "
        f"FROM ({_TERM_COUNTS.format(**_SOME)}) AS found ORDER BY term "
        "ON CONFLICT (term) DO UPDATE SET pages = known.pages + excluded.pages, "
        "chunks = known.chunks + excluded.chunks RETURNING term, pages, chunks) "
        "SELECT term FROM changed WHERE pages <= 0 AND chunks <= 0",
        values,
    )
    unused = [row[0] for row in rows]
    cursor.execute(
        "UPDATE gbrain.search_totals AS known SET pages = known.pages + %(sign)s * found.pages, "
        "chunks = known.chunks + %(sign)s * found.chunks, "
        "page_words = known.page_words + %(sign)s * found.page_words, "
        "chunk_words = known.chunk_words + %(sign)s * found.chunk_words, "
        "question_pages = known.question_pages + %(sign)s * found.question_pages, "
        "question_words = known.question_words + %(sign)s * found.question_words "
        f"FROM ({_TOTALS.format(**_SOME)}) AS found",
        values,
    )
    return unused


# --- check and rebuild -----------------------------------------------------------------------


def check_search_tables(cursor: Cursor[Row]) -> list[str]:
    """Return a sentence for each way in which the search tables differ from the pages.

    Reads all of them.
    """
    questions = (
        ("pages are not in the search tables, or as an earlier version",
         "SELECT count(*) FROM gbrain.pages p LEFT JOIN gbrain.search_pages s USING (slug) "
         "WHERE NOT p.deleted AND s.sequence IS DISTINCT FROM p.sequence"),
        ("pages in the search tables are deleted",
         "SELECT count(*) FROM gbrain.search_pages s LEFT JOIN gbrain.pages p USING (slug) "
         "WHERE p.slug IS NULL OR p.deleted"),
        ("words have wrong counts",
         "SELECT count(*) FROM gbrain.search_terms t FULL JOIN "
         f"({_TERM_COUNTS.format(**_ALL)}) AS found USING (term) "
         "WHERE (t.pages, t.chunks) IS DISTINCT FROM (found.on_pages, found.in_chunks)"),
        ("totals are wrong",
         "SELECT count(*) FROM gbrain.search_totals t FULL JOIN "
         f"({_TOTALS.format(**_ALL)}) AS found USING (pages, chunks, page_words, chunk_words, "
         "question_pages, question_words) WHERE t.only_row IS NULL"),
    )  # fmt: skip
    problems = []
    for problem, statement in questions:
        row = cursor.execute(statement).fetchone()
        if row and row[0]:
            problems.append(f"{row[0]:,} {problem}.")
    return problems


def rebuild_pages(cursor: Cursor[Row], after: str) -> list[str]:
    """Write the next pages after a slug to the search tables again; return their slugs.

    If there are no more, call `rebuild_counts`. A transaction each keeps them short.
    """
    cursor.execute("SELECT 1 FROM gbrain.state FOR UPDATE")
    rows = cursor.execute(
        "SELECT slug, path, CASE WHEN deleted THEN NULL ELSE content END FROM gbrain.pages "
        "WHERE slug > %s ORDER BY slug LIMIT %s",
        (after, _REBUILT_AT_ONCE),
    ).fetchall()
    write_entries(cursor, make_entries(rows))
    return [row[0] for row in rows]


def rebuild_counts(cursor: Cursor[Row]) -> None:
    """Remove pages that no longer exist from the search tables, and count all words again."""
    cursor.execute("SELECT 1 FROM gbrain.state FOR UPDATE")
    cursor.execute(
        "DELETE FROM gbrain.search_pages s WHERE NOT EXISTS "
        "(SELECT 1 FROM gbrain.pages p WHERE p.slug = s.slug AND NOT p.deleted)"
    )
    rebuild_totals(cursor)


def rebuild_totals(cursor: Cursor[Row]) -> None:
    """Count all words in the search tables again."""
    cursor.execute("DELETE FROM gbrain.search_terms")
    cursor.execute(
        f"INSERT INTO gbrain.search_terms (term, pages, chunks) {_TERM_COUNTS.format(**_ALL)}"
    )
    cursor.execute("DELETE FROM gbrain.search_totals")
    cursor.execute(
        "INSERT INTO gbrain.search_totals (pages, chunks, page_words, chunk_words, "
        f"question_pages, question_words) {_TOTALS.format(**_ALL)}"
    )
