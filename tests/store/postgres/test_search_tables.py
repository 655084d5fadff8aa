"""The search tables of a shared store: counts stay right, words and scores are those of FTS5."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrain.errors import GbrainError
from gbrain.remotes.indexing import index_pages
from gbrain.store import scope as scope_in_file
from gbrain.store.keyword_index import score_chunks, score_pages
from gbrain.store.keyword_tokens import KeywordTokenizer
from gbrain.store.migrations import migrate
from gbrain.store.page_writer import write_page
from gbrain.store.postgres import indexes
from gbrain.store.postgres import scope as shared_scope
from gbrain.store.postgres.connection import SharedStore
from gbrain.store.postgres.indexes import create_indexes
from gbrain.store.postgres.keyword_search import score_rows
from gbrain.store.postgres.pages import PushedPage, push_pages
from gbrain.store.postgres.schema import create_tables
from gbrain.store.postgres.scope import SharedCondition, find_pages, page_condition
from gbrain.store.postgres.search_index import (
    check_search_tables,
    discard_entries,
    keyword_tokenizer,
)
from gbrain.store.postgres.tsqueries import read_expression
from gbrain.store.postgres.vector_search import nearest_chunks
from gbrain.store.postgres.word_indexes import MatchCounts, count_rows, read_state
from gbrain.store.schema import KEYWORD_TOKENIZER
from gbrain.text.page import parse_page
from gbrain.text.query_terms import fts_expression, parse_terms
from gbrain.text.unspaced import index_text
from gbrain.types import Scope

if TYPE_CHECKING:
    from postgres_server import Server

WORDS = (
    "river boats boating Boot café naïve v1.2 auth-middleware 2026-04-18 東京都 it's C++ x".split()
)
# Of title, slug, compiled truth, timeline, tags, aliases; and as the columns of a vector come.
WEIGHTS = (2.0, 1.5, 1.0, 0.5, 3.0, 4.0)
VECTOR_WEIGHTS = (2.0, 4.0, 1.5, 3.0, 1.0, 0.5)


@pytest.fixture
def store(server_url: str) -> Iterator[SharedStore]:
    with SharedStore(server_url) as opened:
        with opened.transaction() as cursor:
            create_tables(cursor)
        yield opened


def push(store: SharedStore, texts: dict[str, str | None]) -> None:
    """Write pages by slug, whatever the store has of them; None deletes."""
    with store.transaction() as cursor:
        known = dict(cursor.execute("SELECT slug, version FROM gbrain.pages").fetchall())
        pages = [
            PushedPage(
                slug, f"{slug}.md", 1, known.get(slug, 0),
                sha256((text or "").encode()).digest(), text,
            )
            for slug, text in texts.items()
        ]  # fmt: skip
        push_pages(cursor, pages, "test")


def problems(store: SharedStore) -> list[str]:
    with store.transaction() as cursor:
        return check_search_tables(cursor)


def random_page(chance: random.Random) -> str:
    words = [" ".join(chance.choices(WORDS, k=chance.randint(1, 4))) for _ in range(4)]
    return (
        f"---\ntags: [{words[0].split()[0].strip('+')}]\naliases: [{chance.choice(WORDS)} alias]\n"
        f"---\n# {words[1]}\n\n{words[2]}\n\n## Part\n\n{words[3]}\n"
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=5))
def test_words_are_those_that_fts5_reads(texts: list[str]) -> None:
    texts = [text.replace("\0", " ").encode(errors="ignore").decode() for text in texts]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE t USING fts5(text, {KEYWORD_TOKENIZER})")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    rows = [(number, index_text(text)) for number, text in enumerate(texts)]
    connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", rows)
    expected: list[list[str]] = [[] for _ in texts]
    for term, number, _ in sorted(
        connection.execute("SELECT term, doc, offset FROM v").fetchall(), key=lambda row: row[1:]
    ):
        expected[number].append(term)
    assert KeywordTokenizer().words(texts) == expected


def test_scores_are_those_of_fts5(store: SharedStore) -> None:
    chance = random.Random(5)
    texts = {f"notes/p{number}": random_page(chance) for number in range(60)}
    texts["notes/long"] = "# Long\n\n" + "boats river " * 400
    for number in (20, 100, 249, 250):
        texts[f"notes/often{number}"] = "# River\n\n" + "x river " * number
    push(store, dict(texts))
    memory = sqlite3.connect(":memory:", isolation_level=None)
    migrate(memory)
    for slug, text in texts.items():
        write_page(memory, parse_page(f"{slug}.md", text.encode()), "2026", enqueue=False)
    slugs = dict(memory.execute("SELECT id, slug FROM pages").fetchall())
    compared = 0
    with store.transaction() as cursor:
        shared = dict(cursor.execute("SELECT id, slug FROM gbrain.search_pages").fetchall())
        totals = read_state(cursor).totals
        for text in (*WORDS, "river boats", "boat*", '"river boats"', "café auth-middleware 東京"):
            match = fts_expression(parse_terms(text))
            query = read_expression(match, keyword_tokenizer().words)
            expected = {
                slugs[page]: score
                for page, score in score_pages(memory, match, WEIGHTS, 1000).items()
            }
            found = score_rows(cursor, "pages", query, VECTOR_WEIGHTS, 1000, totals=totals["pages"])
            # A word counts at most 256 times on a page.
            expected.pop("notes/long", None)
            own = {shared[page]: score for page, _, score in found if shared[page] != "notes/long"}
            assert own == pytest.approx(expected), text
            assert count_rows(cursor, "pages", query) == len(found)
            chunks = score_chunks(memory, match, 2.0, 1000)
            rows = score_rows(
                cursor, "chunks", query, (2.0, 1.0, 1.0), 1000, totals=totals["chunks"]
            )
            assert sorted(row[2] for row in rows) == pytest.approx(
                sorted(chunk.score for chunk in chunks)
            )
            compared += len(own)
    assert compared > 100


def test_counts_are_remembered_until_somebody_writes(store: SharedStore) -> None:
    push(store, {"p1": "# One\n\nA river boat.\n", "p2": "# Two\n\nA boat on the river.\n"})
    counts = MatchCounts()
    texts = ('"boat"', '"river boat"', '"boa"*')
    queries = [read_expression(text, keyword_tokenizer().words) for text in texts]

    def count(*, remembered: bool = False) -> list[int]:
        with store.transaction() as cursor:
            counts.forget_older(read_state(cursor).stamp)
            if remembered:
                cursor.close()
            return [counts.count(cursor, "pages", query) for query in queries]

    assert count() == count(remembered=True) == [2, 1, 2]
    push(store, {"p2": None, "p3": "# Three\n\nThe river boat and another river boat.\n"})
    assert count() == count(remembered=True) == [2, 2, 2]
    push(store, {"p1": None})
    assert count() == [1, 1, 1]


def test_counts_follow_every_change(store: SharedStore) -> None:
    chance = random.Random(2)
    slugs = [f"p{number}" for number in range(12)]
    for _ in range(8):
        changed = chance.sample(slugs, 4)
        push(
            store,
            {slug: random_page(chance) if chance.random() < 0.7 else None for slug in changed},
        )
        assert problems(store) == []
    push(store, dict.fromkeys(slugs))
    with store.transaction() as cursor:
        assert cursor.execute("SELECT count(*) FROM gbrain.search_terms").fetchone() == (0,)
        assert read_state(cursor).totals["pages"] == (0, 0)


def test_counts_are_right_after_two_writers_and_kills(
    store: SharedStore, postgres_server: Server, server_url: str
) -> None:
    database = server_url.rpartition("/")[2]
    lost: list[int] = []

    def write(writer: int) -> None:
        chance = random.Random(writer)
        done = 0
        own = SharedStore(server_url)
        while done < 12:
            try:
                # Both write the page `both`, whose base may then be an old one.
                push(own, {f"{writer}/{done}": random_page(chance), "both": random_page(chance)})
                done += 1
            except GbrainError:
                lost.append(writer)
                own.close()
                own = SharedStore(server_url)
        own.close()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers):
        # A writer that dies loses its transaction, wherever it was.
        postgres_server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            f"AND datname = '{database}' AND state <> 'idle' AND random() < 0.3 "
            "AND query LIKE '%search%'"
        )
        threading.Event().wait(0.05)
    for thread in writers:
        thread.join()
    with SharedStore(server_url) as own:
        assert problems(own) == []
        with own.transaction() as cursor:
            assert cursor.execute("SELECT count(*) FROM gbrain.search_pages").fetchone() == (37,)


def test_wrong_counts_are_found_and_rebuilt(store: SharedStore) -> None:
    chance = random.Random(3)
    push(store, {f"p{number}": random_page(chance) for number in range(5)})
    for damage in (
        "UPDATE gbrain.search_terms SET pages = pages + 1 WHERE term = 'river'",
        "UPDATE gbrain.search_totals SET chunk_words = chunk_words - 1",
        "DELETE FROM gbrain.search_pages WHERE slug = 'p1'",
        "UPDATE gbrain.search_pages SET sequence = 0 WHERE slug = 'p2'",
        "UPDATE gbrain.pages SET deleted = true WHERE slug = 'p3'",
    ):
        with store.transaction() as cursor:
            cursor.execute(damage.encode())
        assert problems(store)
        with store.transaction() as cursor:
            discard_entries(cursor)
        index_pages(store)
        assert problems(store) == []


def test_tags_are_found_in_any_case_and_only_whole(store: SharedStore) -> None:
    tags = ("Urgent", "river-ai", "C++", "💥", "東京都", "été", "it's", "boats", "v1.2")
    texts = {f"n{place}": f"---\ntags: ['{tag}']\n---\n# N\n" for place, tag in enumerate(tags)}
    texts["n6"] = '---\ntags: ["it\'s"]\n---\n# N\n'
    push(store, {**texts, "words": f"# N\n\n{' '.join(tags)}, river and ai\n"})
    tokenize = keyword_tokenizer().words

    def found(tag: str) -> list[str]:
        within = page_condition(Scope(tags=(tag,)), tokenize)
        with store.transaction() as cursor:
            rows = cursor.execute(
                f"SELECT p.slug FROM gbrain.search_pages p WHERE {within.sql}".encode(),
                within.values,
            )
            return [row[0] for row in rows]

    for place, tag in enumerate(tags):
        assert found(tag) == [f"n{place}"], tag
    assert found("URGENT") == found("urgent") == ["n0"]
    assert found("RIVER-ai") == ["n1"]
    for other in ("river", "ai river", "boat", "c", "1.2", "東京", "%"):
        assert found(other) == [], other


@pytest.mark.usefixtures("pgvector")
def test_a_filter_never_hides_chunks_that_exist(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(1)
    texts = {
        f"{'rare' if number % 50 == 0 else 'many'}/n{number}": f"# N{number}\n\nText {number}.\n"
        for number in range(1500)
    }
    push(store, dict(texts))
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO gbrain.models (identity, dimension) VALUES ('m', 24)")
        hashes = [
            row[0] for row in cursor.execute("SELECT DISTINCT hash FROM gbrain.search_chunks")
        ]
        vectors = chance.normal(size=(len(hashes), 24)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cursor.executemany(
            "INSERT INTO gbrain.vectors (model, hash, vector) VALUES (1, %s, %s::halfvec)",
            [(h, str(v.tolist())) for h, v in zip(hashes, vectors, strict=True)],
        )
        # Vectors of texts that no page has any more.
        cursor.executemany(
            "INSERT INTO gbrain.vectors (model, hash, vector) VALUES (1, %s, %s::halfvec)",
            [(bytes([number]), str(vectors[7].tolist())) for number in range(60)],
        )
    query = vectors[7]
    prefixes = {None: 40, "rare/": 30, "many/": 40}

    def nearest(prefix: str | None) -> set[tuple[int, int]]:
        scope = None
        with store.transaction() as cursor:
            if prefix:
                pages = find_pages(cursor, Scope(slug_prefix=prefix), keyword_tokenizer().words)
                scope = (pages, SharedCondition("true", ()))
            indexed = read_state(cursor, 1).has_vector_index
            rows = nearest_chunks(cursor, 1, query, (40, 40), scope, indexed=indexed)
            return {row[:2] for row in rows}

    exact = {prefix: nearest(prefix) for prefix in prefixes}
    monkeypatch.setattr(indexes, "MIN_INDEXED_VECTORS", 100)
    assert create_indexes(store) == ["vectors_nearest_1"]
    assert create_indexes(store) == []
    with store.transaction() as cursor:
        assert read_state(cursor, 1).has_vector_index
        assert not read_state(cursor, 2).has_vector_index
    # Few pages are listed; of more, the index is asked first, and then all if it has found too few.
    for most in (2000, 10):
        monkeypatch.setattr(shared_scope, "_MAX_LISTED_PAGES", most)
        for prefix, expected in exact.items():
            found = nearest(prefix)
            assert len(found) == len(expected) == prefixes[prefix]
            assert len(found & expected) >= 0.9 * len(expected)


def test_front_matter_is_compared_as_in_a_brain_file(store: SharedStore) -> None:
    matter = (
        "status: Done\ntopics: [boats, [deep], 5, true]\nowner: {name: Ann, ids: [7, x]}\n"
        "none: null\nempty: []\nlater: 2026-04-01\nshare: 1.5\n"
    )
    text = f"---\n{matter}---\n# A\n"
    push(store, {"a": text})
    brain = sqlite3.connect(":memory:")
    brain.execute("CREATE TABLE pages (meta)")
    brain.execute("INSERT INTO pages VALUES (?)", (parse_page("a.md", text.encode()).meta,))
    keys = ("status", "topics", "owner", "owner.name", "owner.ids", "none", "empty", "later",
            "share", "other", '"status"')  # fmt: skip
    values = ("done", "BOATS", "5", "true", "Ann", "7", "X", "null", "", "deep", "[]", "2026-04-01",
              "1.5")  # fmt: skip
    found = 0
    for where in product(keys, values):
        ours = page_condition(Scope(where=(where,)), keyword_tokenizer().words)
        theirs = scope_in_file.page_condition(Scope(where=(where,)))
        with store.transaction() as cursor:
            sql = f"SELECT count(*) FROM gbrain.search_pages p WHERE {ours.sql}"
            (count,) = cursor.execute(sql.encode(), ours.values).fetchone() or (None,)
        sql = f"SELECT count(*) FROM pages WHERE {theirs.sql}"
        assert count == brain.execute(sql, theirs.values).fetchone()[0], where
        found += count
    assert found > 8


def test_front_matter_may_have_backslashes(store: SharedStore) -> None:
    push(store, {"a": "---\npath: 'C:\\u0000'\n---\n# A\n"})
    with store.transaction() as cursor:
        rows = cursor.execute("SELECT meta ->> 'path' FROM gbrain.search_pages").fetchall()
    assert rows == [("C:\\u0000",)]


def test_names_that_no_index_can_hold_are_left_out(store: SharedStore) -> None:
    chance = random.Random(3)
    name = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9000))
    push(store, {"a": f"---\naliases: [{name}]\n---\n# A\n", "b": f"# B\n\n[[{name}]] [[a]]\n"})
    assert problems(store) == []
    with store.transaction() as cursor:
        assert cursor.execute("SELECT key FROM gbrain.search_links").fetchall() == [("a",)]


def test_expressions_keep_their_meaning() -> None:
    def read(expression: str) -> str | None:
        tokenize: Callable[..., list[list[str]]] = keyword_tokenizer().words
        return read_expression(expression, tokenize).tsquery

    assert read('"river boats" OR "x"*') == "(('river' <-> 'boat') | 'x':*)"
    assert read('("a" AND "b") NOT "c"') == "(('a' & 'b') & !'c')"
    assert read('{title aliases} : ("a" OR "b")') == "('a':AB | 'b':AB)"
    assert read('"+" OR "a"') == "'a'"
    assert read('"+" AND "a"') is None
    assert read('"it\'s \\"') == "('it' <-> 's')"
