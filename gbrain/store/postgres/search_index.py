"""Keep the search tables of a shared store in step with its pages; check and rebuild them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from gbrain.errors import BadPage
from gbrain.store.keyword_tokens import KeywordTokenizer, Words
from gbrain.store.page_writer import name_keys
from gbrain.store.postgres.indexes import drop_word_indexes
from gbrain.store.postgres.schema import lock_state
from gbrain.store.postgres.word_vectors import make_vector
from gbrain.text.page import authored_questions, parse_page
from gbrain.text.slug import fold_name

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row
    from gbrain.types import Page

QUESTION = "question"

# An entry of an index has at most 2,704 bytes, other columns included. A longer name, or link to
# one, is left out; its words are found.
_MAX_KEY_BYTES = 2_000


class PageEntry(NamedTuple):
    """The rows of one page in the search tables, as COPY takes them; a deleted page has none."""

    slug: str
    page: tuple[object, ...] = ()
    chunks: Sequence[tuple[object, ...]] = ()
    names: Sequence[tuple[str, str]] = ()
    links: Sequence[str] = ()


@cache
def keyword_tokenizer() -> KeywordTokenizer:
    """Return the tokenizer of this process, which remembers stems."""
    return KeywordTokenizer()


def parse_text(slug: str, path: str, text: str | None) -> Page | None:
    """Return the page of a text; None for a deleted one, or a text that is shared but no page."""
    if text is None:
        return None
    try:
        page = parse_page(path, text.encode())
    except (BadPage, UnicodeEncodeError):
        return None
    return page if page.slug == slug else None


def make_entries(pages: Iterable[tuple[str, Page | None]]) -> list[PageEntry]:
    """Return the entries of pages by slug; None for one that is deleted or no page.

    Call this before taking locks.
    """
    given = list(pages)
    texts = [_texts(page) if page else [] for _, page in given]
    words = iter(keyword_tokenizer().words(list(chain.from_iterable(texts))))
    return [
        _make_entry(page, list(islice(words, len(own)))) if page else PageEntry(slug)
        for (slug, page), own in zip(given, texts, strict=True)
    ]


def _texts(page: Page) -> list[str]:
    """Return the indexed texts of a page: its columns, its questions, headings, chunks."""
    headings = [json.dumps(chunk.heading_path, ensure_ascii=False) for chunk in page.chunks]
    return [
        page.title, "\n".join(page.aliases), page.slug, "\n".join(page.tags),
        page.compiled_truth, page.timeline, "\n".join(authored_questions(page.meta)),
        *headings, *(chunk.text for chunk in page.chunks),
    ]  # fmt: skip


def _make_entry(page: Page, words: list[Words]) -> PageEntry:
    """Return the entry of a page, given the words of its texts."""
    title, of_page, asked = words[0], make_vector(words[:6], "AB"), make_vector([words[6]])
    headings, texts = words[7 : 7 + len(page.chunks)], words[7 + len(page.chunks) :]
    chunks: list[tuple[object, ...]] = []
    for position, chunk in enumerate(page.chunks):
        found = make_vector([title, headings[position], texts[position]], "A")
        chunks.append((
            position, chunk.hash, chunk.date, chunk.first_day, chunk.last_day,
            found.length, found.bounds, found.data,
        ))  # fmt: skip
    row = (
        page.slug, page.type, page.wing, page.room, page.date, page.first_day, page.last_day,
        list(page.tags), _binary_jsonb(page.meta), len(chunks),
        of_page.length, of_page.bounds, asked.length, of_page.data, asked.data,
    )  # fmt: skip
    questions = ((fold_name(text), QUESTION) for text in authored_questions(page.meta))
    names = sorted({*name_keys(page), *questions})
    keys = (fold_name(link.target) for link in page.links)
    return PageEntry(page.slug, row, chunks, [name for name in names if _fits_index(name[0])],
                     [key for key in keys if _fits_index(key)])  # fmt: skip


def _fits_index(key: str) -> bool:
    return 0 < len(key.encode()) <= _MAX_KEY_BYTES


def _binary_jsonb(meta: str) -> bytes:
    """Return JSON in PostgreSQL's binary format. It has no U+0000: front matter may not either."""
    return b"\1" + meta.encode()


# The columns of each table in the order of its rows, and their types. A tsvector and jsonb are in
# their binary formats already.
_COPIED: dict[LiteralString, tuple[LiteralString, LiteralString]] = {
    "search_pages": (
        "id, sequence, slug, type, wing, room, date, first_day, last_day, tags, meta, chunks, "
        "length, bounds, question_length, words, questions",
        "int8 int8 text text text text text text text text[] bytea int4 "
        "int4 int4[] int4 bytea bytea",
    ),
    "search_chunks": (
        "page, position, hash, date, first_day, last_day, length, bounds, words",
        "int8 int4 bytea text text text int4 int4[] bytea",
    ),
    "search_names": ("page, key, kind", "int8 text text"),
    "search_links": ("page, position, key", "int8 int4 text"),
}
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


def write_entries(
    cursor: Cursor[Row], entries: Sequence[tuple[int, PageEntry]], *, count: bool
) -> None:
    """Replace what the search tables have of these pages, given with their sequence numbers.

    The transaction must hold the lock on the state. Without `count` the statistics of words are
    left as they are, for `rebuild_counts`.
    """
    slugs = [entry.slug for _, entry in entries]
    rows = cursor.execute("SELECT slug, id FROM gbrain.search_pages WHERE slug = ANY(%s)", (slugs,))
    ids: dict[str, int] = dict(rows.fetchall())
    before = list(ids.values())
    unused: list[str] = []
    if before:
        unused = _add_counts(cursor, before, -1) if count else []
        _delete_rows(cursor, before)
    written = [(sequence, entry) for sequence, entry in entries if entry.page]
    new = [entry.slug for _, entry in written if entry.slug not in ids]
    ids.update(zip(new, _new_ids(cursor, len(new)), strict=True))
    _copy_rows(cursor, [(ids[entry.slug], sequence, entry) for sequence, entry in written])
    if count and written:
        _add_counts(cursor, [ids[entry.slug] for _, entry in written], 1)
    if unused:
        cursor.execute(
            "DELETE FROM gbrain.search_terms WHERE term = ANY(%s) AND pages <= 0 AND chunks <= 0",
            (unused,),
        )


def _delete_rows(cursor: Cursor[Row], ids: list[int]) -> None:
    """Delete the rows of pages from all search tables."""
    if ids:
        for table in ("search_links", "search_names", "search_chunks"):
            cursor.execute(f"DELETE FROM gbrain.{table} WHERE page = ANY(%s)", (ids,))
        cursor.execute("DELETE FROM gbrain.search_pages WHERE id = ANY(%s)", (ids,))


def _new_ids(cursor: Cursor[Row], count: int) -> list[int]:
    """Return ids for pages that are not in the search tables yet."""
    if not count:
        return []
    rows = cursor.execute(
        "SELECT nextval(pg_get_serial_sequence('gbrain.search_pages', 'id')) "
        "FROM generate_series(1, %s)",
        (count,),
    )
    return [row[0] for row in rows]


def _copy_rows(cursor: Cursor[Row], written: Sequence[tuple[int, int, PageEntry]]) -> None:
    """Write the rows of pages, given as (id, sequence number, entry), that have none."""
    rows: dict[LiteralString, Iterable[tuple[object, ...]]] = {
        "search_pages": ((page, sequence, *entry.page) for page, sequence, entry in written),
        "search_chunks": ((page, *row) for page, _, entry in written for row in entry.chunks),
        "search_names": ((page, *name) for page, _, entry in written for name in entry.names),
        "search_links": (
            (page, *link) for page, _, entry in written for link in enumerate(entry.links)
        ),
    }
    for table, own in rows.items():
        first = next(iterator := iter(own), None)
        if first is None:
            continue
        columns, types = _COPIED[table]
        with cursor.copy(
            f"COPY gbrain.{table} ({columns}) FROM STDIN WITH (FORMAT BINARY)"
        ) as copy:
            copy.set_types(types.split())
            for row in chain((first,), iterator):
                copy.write_row(row)


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


# --- pages that were pushed without their entries ---------------------------------------------


class UnindexedPage(NamedTuple):
    """A page whose entry is to be written; the text of a deleted one is None."""

    slug: str
    path: str
    sequence: int
    text: str | None


def unindexed_pages(
    cursor: Cursor[Row], after: int, *, max_pages: int, batch_bytes: int
) -> list[UnindexedPage]:
    """Return the next pages after a sequence number, at most about `batch_bytes`, at least one."""
    rows = cursor.execute(
        "SELECT slug, path, sequence, CASE WHEN deleted THEN NULL ELSE content END FROM "
        "(SELECT *, sum(octet_length(content)) OVER (ORDER BY sequence) - octet_length(content) "
        "AS bytes_before FROM (SELECT * FROM gbrain.pages WHERE sequence > %s ORDER BY sequence "
        "LIMIT %s) AS next) AS next WHERE bytes_before < %s ORDER BY sequence",
        (after, max_pages, batch_bytes),
        binary=True,
    )
    return [UnindexedPage(*row) for row in rows]


def begin_filling(cursor: Cursor[Row]) -> None:
    """Prepare for writing most of the search tables: without indexes and statistics of words."""
    lock_state(cursor)
    cursor.execute("UPDATE gbrain.state SET is_counted = false")
    drop_word_indexes(cursor)


def add_entries(
    cursor: Cursor[Row], entries: Sequence[tuple[int, PageEntry]], after: int, to: int
) -> bool:
    """Write the entries of all pages after a sequence number and up to another.

    Returns False, and writes nothing, if somebody else has written them meanwhile.
    """
    state = lock_state(cursor)
    if state.indexed_to != after:
        return False
    write_entries(cursor, entries, count=state.is_counted)
    cursor.execute("UPDATE gbrain.state SET indexed_to = %s", (to,))
    return True


def finish_filling(cursor: Cursor[Row]) -> bool:
    """Make the statistics right if all pages have entries; return whether nothing is left to do."""
    state = lock_state(cursor)
    if state.indexed_to != state.sequence:
        return False
    if not state.is_counted:
        rebuild_counts(cursor)
    cursor.execute("UPDATE gbrain.state SET is_counted = true")
    return True


def discard_entries(cursor: Cursor[Row]) -> None:
    """Let the entries of all pages be written again."""
    lock_state(cursor)
    cursor.execute("UPDATE gbrain.state SET indexed_to = 0, is_counted = false")


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


def rebuild_counts(cursor: Cursor[Row]) -> None:
    """Remove pages that no longer exist from the search tables, and count all words again.

    The transaction must hold the lock on the state.
    """
    rows = cursor.execute(
        "SELECT id FROM gbrain.search_pages s WHERE NOT EXISTS "
        "(SELECT 1 FROM gbrain.pages p WHERE p.slug = s.slug AND NOT p.deleted)"
    )
    _delete_rows(cursor, [row[0] for row in rows])
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
